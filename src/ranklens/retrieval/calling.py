"""Many calls at once, each with a timeout, retries and a rate limit; a call that hangs does not hold up the end.

Asynchronous retrievers run on an event loop. Synchronous ones run in separate threads, which are abandoned when a call
takes too long: daemon threads, because the interpreter waits at exit for those of an executor. One synchronous call at
a time without a timeout needs neither: it is made in the caller's thread, where things such as an SQLite connection may
be used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ranklens.data.readers.retrieved import Reading
from ranklens.retrieval.adapters import Caller
from ranklens.retrieval.asking import AskOptions
from ranklens.retrieval.loops import HangingCallsError, run_on_loop, run_without_loop
from ranklens.retrieval.workers import Abandoned, InPlace, InThread, OnLoop, Outcome, TurnsOutAsync, Worker

T = TypeVar("T")


@dataclass(frozen=True)
class Work(Generic[T]):
    """Calls to make: jobs, each with its payload, and the function that takes their outcomes."""

    caller: Caller
    reading: Reading
    options: AskOptions
    jobs: Iterator[tuple[T, object]]
    deliver: Callable[[T, Outcome], None]


def call_all(work: Work[T]) -> None:
    """Make all calls and deliver each outcome as it arrives, even where an event loop is already running."""
    options = work.options
    try:
        if work.caller.is_async or options.concurrency > 1 or options.timeout is not None:
            run_on_loop(_run_workers(work), options.timeout if work.caller.is_async else None)
        else:
            run_without_loop(_work_through(InPlace(work.caller, work.reading), _Pace(options), work))
    except _EndsItAllError as ends:
        raise ends.error from None


async def acall_all(work: Work[T]) -> None:
    """The same on the running event loop."""
    try:
        await _run_workers(work)
    except _EndsItAllError as ends:
        raise ends.error from None


async def _run_workers(work: Work[T]) -> None:
    timeout, pace, abandoned = work.options.timeout, _Pace(work.options), Abandoned()

    def make_worker() -> Worker:
        if work.caller.is_async:
            return OnLoop(work.caller, work.reading, timeout)
        return InThread(work.caller, work.reading, timeout, abandoned)

    workers = [make_worker() for _ in range(work.options.concurrency)]
    tasks = [asyncio.ensure_future(_work_through(worker, pace, work)) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in workers:
            worker.close()


async def _work_through(worker: Worker, pace: _Pace, work: Work[T]) -> None:
    """Do one job after another until none is left; other workers take from the same ones."""
    for job, payload in work.jobs:
        work.deliver(job, await _attempts(worker, pace, payload, work.options))


async def _attempts(worker: Worker, pace: _Pace, payload: object, options: AskOptions) -> Outcome:
    for attempt in range(1, options.retries + 2):
        await pace.turn(worker)
        outcome = await worker.call(payload)
        if isinstance(outcome.error, (TurnsOutAsync, HangingCallsError)):
            raise outcome.error
        if not isinstance(outcome.error, (Exception, SystemExit, type(None))):  # sys.exit() is a failed call
            raise _EndsItAllError(outcome.error)
        if outcome.error is None or attempt > options.retries:
            break
        await worker.sleep(options.pause(attempt))
    return replace(outcome, attempts=attempt)


class _Pace:
    """Gives each call its turn: all workers together start at most ``rate_limit`` calls per second."""

    def __init__(self, options: AskOptions) -> None:
        self._gap = 1 / options.rate_limit if options.rate_limit else 0.0
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
