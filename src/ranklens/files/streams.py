"""Tables that are too large to hold: read one after the other, worked on in threads, walked as often as needed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ranklens.errors import InputError
from ranklens.files.forking import polars_is_used

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
ReadTable: TypeAlias = "Callable[[], pl.DataFrame]"
_in_a_thread: ContextVar[bool] = ContextVar("in_a_thread", default=False)  # of :func:`ahead`


def threads() -> int:
    """How many tables are worked on at a time: ``RANKLENS_THREADS``, else one more than this process may use processors.

    One more, because while one table is in Python, the others keep all processors busy; not many more, because each is held in
    memory. Polars knows the processors that affinity and the CPU quota of a container (cgroups) leave: it asks Rust's
    ``available_parallelism``.
    """
    import polars as pl

    given = os.environ.get("RANKLENS_THREADS", "").strip()
    if not given:
        return min(pl.thread_pool_size() + 1, 8)
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
        polars_is_used()
        rows = 0
        for count, result in ahead(partial(_apply, function, read) for read in self.tables()):
            rows += count
            yield result
        if not rows:
            raise InputError(f"{self.name}: the file contains no data.")

    def then(self, function: Callable[[pl.DataFrame], pl.DataFrame]) -> TableStream:
        """The same with each table changed."""
        return TableStream(
            self.name, lambda: (partial(_changed, function, read) for read in self.tables()), self.once
        )


def _changed(function: Callable[[pl.DataFrame], pl.DataFrame], read: ReadTable) -> pl.DataFrame:
    return function(read())


def _apply(function: Callable[[pl.DataFrame], T], read: ReadTable) -> tuple[int, T]:
    table = read()
    return len(table), function(table)


def ahead(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of the tasks in order; a few of them are begun before they are asked for.

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
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(most) as pool:
        try:
            for task in tasks:
                context = copy_context()  # where warnings are heard
                context.run(_in_a_thread.set, True)
                waiting.append(pool.submit(context.run, task))
                del task
                if len(waiting) > most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or if the caller stops early
            for future in waiting:
                future.cancel()
