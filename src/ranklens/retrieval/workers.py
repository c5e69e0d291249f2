"""Workers make one call after another: in the caller's thread, on an event loop, or in a separate thread.

A worker never raises what a retriever raised: every call ends in an :class:`Outcome`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from ranklens.data.readers.retrieved import Reading
from ranklens.errors import InputError
from ranklens.retrieval.adapters import Caller
from ranklens.retrieval.loops import MOST_HANGING, HangingCallsError, abandon


@dataclass(frozen=True)
class Outcome:
    """What a call returned: a value or an error, and the seconds of the last attempt.

    The value of a batch is a list, with an error in place of each text that failed alone.
    """

    value: object = None
    error: BaseException | None = None
    seconds: float = 0.0
    attempts: int = 1
    timed_out: bool = False


class TurnsOutAsync(Exception):  # noqa: N818  a signal, not a failure
    """A plain callable returned an awaitable: it must be called on an event loop."""


class Abandoned:
    """Threads that were left behind in calls that hang. Each costs memory, so there is an end to it."""

    def __init__(self) -> None:
        self._threads: list[_CallThread] = []

    def add(self, thread: _CallThread) -> None:
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        if len(self._threads) >= MOST_HANGING:
            raise HangingCallsError(
                f"{len(self._threads)} calls hang, and none of them has come back; the run was stopped. "
                "Give the retriever's own client a timeout, so that its calls end."
            )


class Worker(Protocol):
    """Makes one call after another."""

    async def call(self, payload: object) -> Outcome: ...

    async def sleep(self, seconds: float) -> None: ...

    def close(self) -> None: ...


class InPlace:
    """Calls in the caller's thread."""

    def __init__(self, caller: Caller, reading: Reading) -> None:
        self._caller, self._reading = caller, reading

    async def call(self, payload: object) -> Outcome:
        return _timed(self._caller, self._reading, payload)

    async def sleep(self, seconds: float) -> None:
        time.sleep(max(seconds, 0))

    def close(self) -> None:
        """Has nothing to close."""


class OnLoop:
    """Awaits the calls of an asynchronous retriever."""

    def __init__(self, caller: Caller, reading: Reading, timeout: float | None) -> None:
        self._caller, self._reading, self._timeout = caller, reading, timeout

    async def call(self, payload: object) -> Outcome:
        task = asyncio.ensure_future(self._timed(payload))
        try:
            await asyncio.wait({task}, timeout=self._timeout)
        except asyncio.CancelledError:
            abandon(task)
            raise
        if not task.done():
            abandon(task)
            return _too_late(self._timeout)
        if task.cancelled():
            return Outcome(error=RuntimeError("The retriever cancelled its own call."))
        outcome = task.result()
        # A coroutine that blocks the loop is done before the clock can be read.
        late = self._timeout is not None and outcome.error is None and outcome.seconds > self._timeout
        return replace(_too_late(self._timeout), seconds=outcome.seconds) if late else outcome

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        """Has nothing to close."""

    async def _timed(self, payload: object) -> Outcome:
        start = time.perf_counter()
        try:
            value = self._caller.call(payload)
            if inspect.isawaitable(value):
                value = await value
            if self._caller.batch_size is None:
                value = await self._reading.acollect(value)
            else:
                value = _collect(self._caller, self._reading, value)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  but not CancelledError
            return Outcome(error=error, seconds=time.perf_counter() - start)
        return _checked(self._caller, payload, value, time.perf_counter() - start)


class InThread:
    """Calls a synchronous retriever in a thread, which is replaced when a call hangs."""

    def __init__(self, caller: Caller, reading: Reading, timeout: float | None, abandoned: Abandoned) -> None:
        self._call = lambda payload: _timed(caller, reading, payload)
        self._timeout, self._abandoned = timeout, abandoned
        self._thread: _CallThread | None = None

    async def call(self, payload: object) -> Outcome:
        self._thread = self._thread or _CallThread()
        answer = self._thread.submit(self._call, payload)
        thread = self._thread
        try:
            await asyncio.wait({answer}, timeout=self._timeout)
        finally:
            if not answer.done():
                self.close()
        if answer.done():
            return answer.result()
        self._abandoned.add(thread)
        return _too_late(self._timeout)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        if self._thread is not None:
            self._thread.stop()
            self._thread = None


class _CallThread:
    """A daemon thread that makes one call after another until it is stopped."""

    def __init__(self) -> None:
        self._work: SimpleQueue[
            tuple[Callable[[object], Outcome], object, asyncio.Future[Outcome]] | None
        ] = SimpleQueue()
        self._thread = Thread(target=contextvars.copy_context().run, args=(self._serve,), daemon=True)
        self._thread.start()

    def submit(self, function: Callable[[object], Outcome], argument: object) -> asyncio.Future[Outcome]:
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._work.put((function, argument, answer))
        return answer

    def stop(self) -> None:
        self._work.put(None)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _serve(self) -> None:
        while (job := self._work.get()) is not None:
            function, argument, answer = job
            result = function(argument)
            try:
                answer.get_loop().call_soon_threadsafe(_give, answer, result)
            except RuntimeError:  # the loop was closed, so no one waits for the result
                return


def _give(answer: asyncio.Future[Outcome], result: Outcome) -> None:
    if not answer.done():
        answer.set_result(result)


def _timed(caller: Caller, reading: Reading, payload: object) -> Outcome:
    """Call now. The work of a generator is part of the call."""
    start = time.perf_counter()
    try:
        value = caller.call(payload)
        if inspect.isawaitable(value) or hasattr(value, "__anext__"):
            if inspect.iscoroutine(value):
                value.close()  # or Python warns that it was never awaited
            return Outcome(error=TurnsOutAsync())
        collected = _collect(caller, reading, value)
    except BaseException as error:  # noqa: BLE001  may be in another thread; calling raises what is not a failure
        return Outcome(error=error, seconds=time.perf_counter() - start)
    return _checked(caller, payload, collected, time.perf_counter() - start)


def _collect(caller: Caller, reading: Reading, value: object) -> object:
    if caller.batch_size is None:
        return reading.collect(value)
    return [reading.collect(one) for one in value] if hasattr(value, "__iter__") else value


def _checked(caller: Caller, payload: object, value: object, seconds: float) -> Outcome:
    """None is a failure: a retriever that finds nothing returns an empty list."""
    if value is None:
        return Outcome(error=_returned_none(), seconds=seconds)
    if caller.batch_size is None:
        return Outcome(value, seconds=seconds)
    asked = len(payload) if isinstance(payload, list) else 1
    if isinstance(value, list) and len(value) == asked:
        return Outcome([_returned_none() if one is None else one for one in value], seconds=seconds)
    given = f"{len(value)} results" if isinstance(value, list) else f"a {type(value).__name__}"
    error = InputError(
        f"The retriever returned {given} for a batch of {asked} texts; return a list with one result per text."
    )
    return Outcome(error=error, seconds=seconds)


def _returned_none() -> InputError:
    return InputError("The retriever returned None; return an empty list if nothing is found.")


def _too_late(timeout: float | None) -> Outcome:
    error = TimeoutError(f"No answer within {timeout:g} s")
    return Outcome(error=error, seconds=timeout or 0.0, timed_out=True)
