"""Tables that are too large to hold: read one after the other, worked on in threads, walked as often as needed."""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ranklens.data.files.forking import polars_is_used
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
ReadTable: TypeAlias = "Callable[[], pl.DataFrame]"
_in_a_thread: ContextVar[bool] = ContextVar("in_a_thread", default=False)  # of :func:`ahead`


def threads() -> int:
    """How many tables are worked on at a time: ``RANKLENS_THREADS``, else as many as this process may use processors.

    Not more, because each is held in memory, and memory that one thread has freed is not at once there for another. Polars knows the processors that affinity and the CPU quota of a container (cgroups) leave: it asks Rust's
    ``available_parallelism``.
    """
    import polars as pl

    given = os.environ.get("RANKLENS_THREADS", "").strip()
    if not given:
        return min(pl.thread_pool_size(), 8)
    if not given.isdecimal() or int(given) < 1:
        raise InputError(f"RANKLENS_THREADS={given} is not allowed; it is a number of threads, 1 or more.")
    return int(given)


@dataclass(frozen=True)
class TableStream:
    """The tables of a file: its name for messages, and how to read each of them; ``once`` if that can be done only once."""

    name: str
    tables: Callable[[], Iterator[ReadTable]]
    once: bool = False

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return self.map(lambda table: table)

    def map(self, function: Callable[[pl.DataFrame], T]) -> Iterator[T]:
        """What the function makes of each table, in order; it runs in the thread that has read the table."""
        import polars as pl

        polars_is_used()
        rows = 0
        try:
            for count, result in ahead(partial(_apply, function, read) for read in self.tables()):
                rows += count
                yield result
        except pl.exceptions.PanicException as error:  # which is no Exception
            reason = next(iter(str(error).splitlines()), "")
            raise InputError(f"{self.name} cannot be read as a table: {reason}.", path=self.name) from None
        if not rows:
            raise InputError(f"{self.name} contains no data.")

    def then(self, function: Callable[[pl.DataFrame], pl.DataFrame]) -> TableStream:
        """The same with each table changed."""
        return TableStream(
            self.name, lambda: (partial(_changed, function, read) for read in self.tables()), self.once
        )

    def held(self) -> TableStream:
        """The same, whose tables are held after the first walk to their end: further walks read nothing."""
        tables: dict[int, pl.DataFrame] = {}
        count: list[int] = []  # once it is known

        def hold(number: int, read: ReadTable) -> pl.DataFrame:
            tables[number] = read()
            return tables[number]

        def walk() -> Iterator[ReadTable]:
            if count and len(tables) == count[0]:
                yield from (partial(tables.__getitem__, number) for number in range(count[0]))
                return
            number = 0
            for number, read in enumerate(self.tables(), 1):
                yield partial(hold, number - 1, read)
            count[:] = [number]

        return TableStream(self.name, walk, self.once)


def _changed(function: Callable[[pl.DataFrame], pl.DataFrame], read: ReadTable) -> pl.DataFrame:
    return function(read())


def _apply(function: Callable[[pl.DataFrame], T], read: ReadTable) -> tuple[int, T]:
    table = read()
    return len(table), function(table)


def ahead(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of the tasks in order; a few of them are begun before they are asked for. The thread that asks does its share.

    There is one layer of threads: a task that itself goes ahead does so in its own thread, so none of them ever waits for another.

    >>> list(ahead(lambda i=i: i * i for i in range(4)))
    [0, 1, 4, 9]
    """
    most, tasks = threads(), iter(tasks)
    first_two = list(islice(tasks, 2))
    several = len(first_two) > 1
    tasks = chain(iter(first_two), tasks)  # of an iterator, which forgets the list at its end
    del first_two  # a task may hold its table
    # A thread for one table takes longer than it saves.
    if most == 1 or _in_a_thread.get() or not several:
        yield from (task() for task in tasks)
        return
    waiting: deque[_Task[T]] = deque()
    helpers = _Helpers(most - 1)
    try:
        for task in tasks:
            waiting.append(_Task(task))
            del task
            helpers.give(waiting[-1])
            if len(waiting) > most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except GeneratorExit:  # the caller stops early, or Python gives the walk up
        raise
    except BaseException:  # what other threads still read must not be removed before they have read it
        _forget(waiting)
        helpers.dismiss(wait=True)
        raise
    finally:
        _forget(waiting)
        helpers.dismiss()


class _Helpers:
    """Threads that work on tasks until they are dismissed.

    A walk that was given up is closed whenever Python looks for cycles, perhaps while this very thread starts another one and holds the
    locks for that. To wait for a thread there would take forever, as leaving a ``ThreadPoolExecutor`` did once; a message to its queue is safe.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: SimpleQueue[_Task[Any] | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def give(self, task: _Task[Any]) -> None:
        self._tasks.put(task)
        if len(self._threads) < self._most:
            thread = Thread(target=_help, args=(self._tasks,), name="ranklens", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # memory is short; the thread that asks for results does the work
                self._most = len(self._threads)
            else:
                self._threads.append(thread)

    def dismiss(self, *, wait: bool = False) -> None:
        threads, self._threads = self._threads, []
        for _ in threads:
            self._tasks.put(None)
        if wait:
            for thread in threads:
                thread.join()


def _help(tasks: SimpleQueue[_Task[Any] | None]) -> None:
    _at_work[current_thread()] = tasks
    while (task := tasks.get()) is not None:
        with suppress(BaseException):  # which its result holds
            task.work()
        del task
    del _at_work[current_thread()]


_at_work: dict[Thread, SimpleQueue[_Task[Any] | None]] = {}


@atexit.register
def _let_all_end() -> None:
    """Polars must not be at work when Python ends."""
    for tasks in list(_at_work.values()):
        tasks.put(None)
    for thread in list(_at_work):
        thread.join(timeout=10)


def _forget(waiting: deque[_Task[T]]) -> None:
    while waiting:
        waiting.pop().forget()


class _Task(Generic[T]):
    """A task for whichever thread comes first; forgotten once it is begun, because it may hold its table."""

    def __init__(self, task: Callable[[], T]) -> None:
        context = copy_context()  # where warnings are heard
        context.run(_in_a_thread.set, True)
        self._result: Future[T] = Future()
        # They leave the list together: a thread that took the task, and looked for the result only then, could find another one.
        self._to_do: list[tuple[Callable[[], T], Future[T]]] = [
            (lambda: context.run(task), self._result),
        ]

    def is_done(self) -> bool:
        return self._result.done()

    def work(self) -> bool:
        """Do it, unless another thread has begun; whether it was done here."""
        try:
            task, result = self._to_do.pop()
        except IndexError:
            return False
        try:
            found = task()
        except BaseException as error:
            result.set_exception(error)
            if not isinstance(error, Exception):  # Ctrl-C does not wait for its turn
                raise
        else:
            result.set_result(found)
        finally:
            del self, task, result  # see take
        return True

    def take(self) -> T:
        """What came of it, which is then forgotten: an error refers to the frames that it came through, and these to this task."""
        result, self._result = self._result, Future()
        try:
            return result.result()
        finally:
            del result

    def forget(self) -> None:
        self._to_do.clear()
        self._result = Future()


def _first(waiting: deque[_Task[T]]) -> T:
    """The result of the first task; while another thread works on it, this one does what is not yet begun."""
    while not waiting[0].is_done() and any(task.work() for task in waiting):
        pass
    return waiting.popleft().take()
