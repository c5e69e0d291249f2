"""Many calls at once, each with a time-out, retries and a rate limit; nothing that hangs holds up the end.

Asynchronous retrievers run on an event loop. Synchronous ones run in threads of their own, which are left behind when a call
takes too long: daemon threads, because the interpreter waits for those of an executor at its exit. One synchronous call at
a time without a time-out needs neither, so it is made right here, in the caller's thread, where things such as
an SQLite connection may be used.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from ranklens.errors import InputError
from ranklens.retrieval.adapters import Caller
from ranklens.retrieval.responses import Reading

T = TypeVar("T")
_LONGEST_PAUSE = 30.0  # seconds between two attempts
_GRACE = 1.0  # seconds that cancelled calls get to come to an end
_LOOK = 0.1  # seconds between two looks whether to stop


@dataclass(frozen=True)
class Limits:
    """How hard a retriever is pressed.

    ``concurrency`` calls run at the same time, ``rate_limit`` calls start a second at most (retries are calls, and so is a batch). A
    call that takes longer than ``timeout`` seconds fails; the next of up to ``retries`` further attempts comes after ``backoff``
    seconds, then twice as many, and so on, each shortened at random by up to a half so that clients do not come back together.
    """

    concurrency: int = 1
    timeout: float | None = None
    retries: int = 0
    rate_limit: float | None = None
    backoff: float = 0.5

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("retries", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name}={value!r} is not allowed; it is a whole number from {least}.")
        for name in ("timeout", "rate_limit"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, (int, float)) or not value > 0):
                raise InputError(
                    f"{name}={value!r} is not allowed; it is a number above 0, or None for no limit."
                )
        if not isinstance(self.backoff, (int, float)) or not self.backoff >= 0:
            raise InputError(f"backoff={self.backoff!r} is not allowed; it is a number of seconds from 0.")

    def pause(self, attempt: int) -> float:
        """Seconds before the attempt that follows this one, counted from 1."""
        longest = min(self.backoff * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
        return longest * random.uniform(0.5, 1)  # noqa: S311  no secret


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value or an error, and the seconds of the last attempt.

    The value of a batch is a list, with an error in the place of a text that failed alone.
    """

    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    attempts: int = 1
    timed_out: bool = False


class TurnsOutAsync(Exception):  # noqa: N818  tells, does not fail
    """A plain callable returned something to await: it has to be called on an event loop."""


class _EndsItAllError(Exception):
    """Carries SystemExit or KeyboardInterrupt from a retriever to the top; raised itself, it would tear the event loop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Line(Protocol):
    """One way to make calls, one after the other."""

    async def call(self, payload: Any) -> Outcome: ...

    async def sleep(self, seconds: float) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Work(Generic[T]):
    """Everything about a series of calls: jobs with what to call for each, and whom to give the outcomes."""

    caller: Caller
    reading: Reading
    limits: Limits
    jobs: Iterator[tuple[T, Any]]
    deliver: Callable[[T, Outcome], None]


def call_all(work: Work[Any]) -> None:
    """Make all calls and hand each outcome over as it arrives; also where an event loop runs already."""
    limits = work.limits
    try:
        if work.caller.is_async or limits.concurrency > 1 or limits.timeout is not None:
            _on_a_loop(_serve_all(work))
        else:
            _without_a_loop(_serve(_Here(work.caller, work.reading), _Pace(limits), work))
    except _EndsItAllError as ends:
        raise ends.error from None


async def acall_all(work: Work[Any]) -> None:
    """The same on the running event loop."""
    try:
        await _serve_all(work)
    except _EndsItAllError as ends:
        raise ends.error from None


async def _serve_all(work: Work[Any]) -> None:
    kind = _OnLoop if work.caller.is_async else _InThread
    timeout, pace = work.limits.timeout, _Pace(work.limits)
    lines: list[Line] = [kind(work.caller, work.reading, timeout) for _ in range(work.limits.concurrency)]
    servers = [asyncio.ensure_future(_serve(line, pace, work)) for line in lines]
    try:
        await asyncio.gather(*servers)
    finally:
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
        for line in lines:
            line.close()


async def _serve(line: Line, pace: _Pace, work: Work[Any]) -> None:
    """Do one job after the other, as long as there are any; others may take from the same ones."""
    for job, payload in work.jobs:
        work.deliver(job, await _attempts(line, pace, payload, work.limits))


async def _attempts(line: Line, pace: _Pace, payload: Any, limits: Limits) -> Outcome:
    for attempt in range(1, limits.retries + 2):
        await pace.turn(line)
        outcome = await line.call(payload)
        if isinstance(outcome.error, TurnsOutAsync):
            raise outcome.error
        if not isinstance(outcome.error, (Exception, type(None))):
            raise _EndsItAllError(outcome.error)
        if outcome.error is None or attempt > limits.retries:
            break
        await line.sleep(limits.pause(attempt))
    return replace(outcome, attempts=attempt)


class _Pace:
    """Gives each call its turn: those of all lines together start at most ``rate_limit`` times a second."""

    def __init__(self, limits: Limits) -> None:
        self._gap = 1 / limits.rate_limit if limits.rate_limit else 0.0
        self._next = 0.0

    async def turn(self, line: Line) -> None:
        if not self._gap:
            return
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._gap
        await line.sleep(turn - now)


def _timed(caller: Caller, reading: Reading, payload: Any) -> Outcome:
    """Call now. What generators do counts as part of the call."""
    start = time.perf_counter()
    try:
        value = caller.call(payload)
        if inspect.isawaitable(value) or hasattr(value, "__anext__"):
            if inspect.iscoroutine(value):
                value.close()  # or Python complains that nobody awaited it
            return Outcome(error=TurnsOutAsync())
        collected = _collect(caller, reading, value)
    except BaseException as error:  # noqa: BLE001  may be in another thread; whoever gets it raises what is no failure
        return Outcome(error=error, seconds=time.perf_counter() - start)
    return _checked(caller, payload, collected, time.perf_counter() - start)


def _collect(caller: Caller, reading: Reading, value: Any) -> Any:
    if caller.batch_size is None:
        return reading.collect(value)
    return [reading.collect(one) for one in value] if hasattr(value, "__iter__") else value


def _checked(caller: Caller, payload: Any, value: Any, seconds: float) -> Outcome:
    """None is a failure: a retriever that finds nothing returns an empty list."""
    if value is None:
        return Outcome(error=_returned_none(), seconds=seconds)
    if caller.batch_size is None:
        return Outcome(value, seconds=seconds)
    if isinstance(value, list) and len(value) == len(payload):
        return Outcome([_returned_none() if one is None else one for one in value], seconds=seconds)
    given = f"{len(value)} results" if isinstance(value, list) else f"a {type(value).__name__}"
    error = InputError(
        f"The retriever returned {given} for a batch of {len(payload)} texts; return a list with one result a text."
    )
    return Outcome(error=error, seconds=seconds)


def _returned_none() -> InputError:
    return InputError("The retriever returned None; return an empty list where nothing is found.")


class _Here:
    """Calls in this thread."""

    def __init__(self, caller: Caller, reading: Reading) -> None:
        self._caller, self._reading = caller, reading

    async def call(self, payload: Any) -> Outcome:
        return _timed(self._caller, self._reading, payload)

    async def sleep(self, seconds: float) -> None:
        time.sleep(max(seconds, 0))

    def close(self) -> None:
        """Nothing to do."""


class _OnLoop:
    """Calls of an asynchronous retriever."""

    def __init__(self, caller: Caller, reading: Reading, timeout: float | None) -> None:
        self._caller, self._reading, self._timeout = caller, reading, timeout

    async def call(self, payload: Any) -> Outcome:
        task = asyncio.ensure_future(self._timed(payload))
        try:
            await asyncio.wait({task}, timeout=self._timeout)
        except asyncio.CancelledError:
            _leave(task)
            raise
        if not task.done():
            _leave(task)  # without waiting for it: it may not want to end
            return _too_late(self._timeout)
        if task.cancelled():
            return Outcome(error=RuntimeError("The retriever cancelled its own call."))
        return task.result()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        """Nothing to do."""

    async def _timed(self, payload: Any) -> Outcome:
        start = time.perf_counter()
        try:
            value = self._caller.call(payload)
            if inspect.isawaitable(value):
                value = await value
            if self._caller.batch_size is None:
                value = await self._reading.acollect(value)
            else:
                value = _collect(self._caller, self._reading, value)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  not one that cancels
            return Outcome(error=error, seconds=time.perf_counter() - start)
        return _checked(self._caller, payload, value, time.perf_counter() - start)


def _leave(task: asyncio.Future[Any]) -> None:
    task.cancel()
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, so nobody complains


def _too_late(timeout: float | None) -> Outcome:
    error = TimeoutError(f"There was no answer within {timeout:g} s.")
    return Outcome(error=error, seconds=timeout or 0.0, timed_out=True)


class _InThread:
    """Calls of a synchronous retriever, in a thread that is replaced when a call hangs."""

    def __init__(self, caller: Caller, reading: Reading, timeout: float | None) -> None:
        self._call = lambda payload: _timed(caller, reading, payload)
        self._timeout = timeout
        self._thread: _Server | None = None

    async def call(self, payload: Any) -> Outcome:
        self._thread = self._thread or _Server()
        answer = self._thread.submit(self._call, payload)
        try:
            await asyncio.wait({answer}, timeout=self._timeout)
        finally:
            if not answer.done():
                self.close()
        return answer.result() if answer.done() else _too_late(self._timeout)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        if self._thread is not None:
            self._thread.stop()
            self._thread = None


class _Server:
    """A daemon thread that serves one call after the other until it is told to stop."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Callable[[Any], Any], Any, asyncio.Future[Any]] | None] = SimpleQueue()
        Thread(target=contextvars.copy_context().run, args=(self._serve,), daemon=True).start()

    def submit(self, function: Callable[[Any], Any], argument: Any) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._work.put((function, argument, answer))
        return answer

    def stop(self) -> None:
        self._work.put(None)

    def _serve(self) -> None:
        while (job := self._work.get()) is not None:
            function, argument, answer = job
            result = function(argument)
            try:
                answer.get_loop().call_soon_threadsafe(_give, answer, result)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits any more
                return


def _give(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


def _without_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits for anything but its own calls."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("this coroutine was not to be suspended")


def _on_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run, but in a thread of its own if a loop runs here already, and without waiting for what hangs."""
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_LeavesThreads())
    task = loop.create_task(work)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _run(loop, task)
        return
    ended: Future[None] = Future()
    run = contextvars.copy_context().run
    Thread(target=run, args=(_fulfil, ended, _run, loop, task), daemon=True).start()
    try:
        _wait_for(ended)
    except (KeyboardInterrupt, asyncio.CancelledError):  # it came here, but the work is in the other thread
        loop.call_soon_threadsafe(task.cancel)
        raise


def _wait_for(ended: Future[None]) -> None:
    """Wait inside of a running loop, which cannot run meanwhile. asyncio.run turns Ctrl-C into a mere request to cancel: look for it."""
    here = asyncio.current_task()
    while not wait([ended], timeout=_LOOK).done:
        if here is not None and hasattr(here, "cancelling") and here.cancelling():  # Python 3.11
            raise asyncio.CancelledError
    ended.result()


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    try:
        loop.run_until_complete(task)
    finally:
        left = asyncio.all_tasks(loop)
        for one in left:
            _leave(one)
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class _LeavesThreads(ThreadPoolExecutor):
    """Runs what asynchronous retrievers hand to threads (``asyncio.to_thread``), as many as they like, and leaves them behind."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        Thread(target=_fulfil, args=(future, fn, *args), kwargs=kwargs, daemon=True).start()
        return future


def _fulfil(future: Future[Any], function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  whoever waits for the future raises it
        future.set_exception(error)
    else:
        future.set_result(result)
