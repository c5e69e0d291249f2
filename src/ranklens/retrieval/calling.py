"""Many calls at once, each with a timeout, retries and a rate limit; a call that hangs does not hold up the end.

Asynchronous retrievers run on an event loop. Synchronous ones run in separate threads, which are abandoned when a call
takes too long: daemon threads, because the interpreter waits at exit for those of an executor. One synchronous call at
a time without a timeout needs neither: it is made in the caller's thread, where things such as an SQLite connection may
be used.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ranklens.data.readers.retrieved import Reading
from ranklens.errors import InputError
from ranklens.retrieval.adapters import Caller
from ranklens.retrieval.loops import HangingCallsError, run_on_loop, run_without_loop
from ranklens.retrieval.workers import Abandoned, InPlace, InThread, OnLoop, Outcome, TurnsOutAsync, Worker

T = TypeVar("T")
_LONGEST_PAUSE = 30.0  # seconds between two attempts


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on the calls to a retriever.

    ``concurrency`` calls run at the same time, and at most ``rate_limit`` start per second (a retry is a call, and so is a batch).
    A call that takes longer than ``timeout`` seconds fails. Up to ``retries`` further attempts follow, the first after ``backoff``
    seconds, the next after twice as many, and so on. Each pause is shortened at random by up to a half, so that clients do not
    come back together.
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
class Work(Generic[T]):
    """Calls to make: jobs, each with its payload, and the function that takes their outcomes."""

    caller: Caller
    reading: Reading
    limits: Limits
    jobs: Iterator[tuple[T, Any]]
    deliver: Callable[[T, Outcome], None]


def call_all(work: Work[Any]) -> None:
    """Make all calls and deliver each outcome as it arrives, even where an event loop is already running."""
    limits = work.limits
    try:
        if work.caller.is_async or limits.concurrency > 1 or limits.timeout is not None:
            run_on_loop(_run_workers(work), limits.timeout if work.caller.is_async else None)
        else:
            run_without_loop(_work_through(InPlace(work.caller, work.reading), _Pace(limits), work))
    except _EndsItAllError as ends:
        raise ends.error from None


async def acall_all(work: Work[Any]) -> None:
    """The same on the running event loop."""
    try:
        await _run_workers(work)
    except _EndsItAllError as ends:
        raise ends.error from None


async def _run_workers(work: Work[Any]) -> None:
    timeout, pace, abandoned = work.limits.timeout, _Pace(work.limits), Abandoned()

    def make_worker() -> Worker:
        if work.caller.is_async:
            return OnLoop(work.caller, work.reading, timeout)
        return InThread(work.caller, work.reading, timeout, abandoned)

    workers = [make_worker() for _ in range(work.limits.concurrency)]
    tasks = [asyncio.ensure_future(_work_through(worker, pace, work)) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in workers:
            worker.close()


async def _work_through(worker: Worker, pace: _Pace, work: Work[Any]) -> None:
    """Do one job after another until none is left; other workers take from the same ones."""
    for job, payload in work.jobs:
        work.deliver(job, await _attempts(worker, pace, payload, work.limits))


async def _attempts(worker: Worker, pace: _Pace, payload: Any, limits: Limits) -> Outcome:
    for attempt in range(1, limits.retries + 2):
        await pace.turn(worker)
        outcome = await worker.call(payload)
        if isinstance(outcome.error, (TurnsOutAsync, HangingCallsError)):
            raise outcome.error
        if not isinstance(outcome.error, (Exception, SystemExit, type(None))):  # sys.exit() is a failed call
            raise _EndsItAllError(outcome.error)
        if outcome.error is None or attempt > limits.retries:
            break
        await worker.sleep(limits.pause(attempt))
    return replace(outcome, attempts=attempt)


class _Pace:
    """Gives each call its turn: all workers together start at most ``rate_limit`` calls per second."""

    def __init__(self, limits: Limits) -> None:
        self._gap = 1 / limits.rate_limit if limits.rate_limit else 0.0
        self._next = 0.0

    async def turn(self, worker: Worker) -> None:
        if not self._gap:
            return
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._gap
        await worker.sleep(turn - now)


class _EndsItAllError(Exception):
    """Carries KeyboardInterrupt and its like from a retriever to the top; raised as they are, they would tear down the event loop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
