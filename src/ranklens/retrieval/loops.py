"""Event loops: run a coroutine from synchronous code, wherever that is, without waiting for calls that hang."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from ranklens.errors import InputError

T = TypeVar("T")
MOST_HANGING = 100  # calls that never come back; each keeps a thread
_MOST_THREADS = 1_000  # of asyncio.to_thread at the same time
_STUCK = 30.0  # seconds after its timeout that a call may keep the loop from running
_GRACE = 1.0  # seconds that cancelled calls have to end
_POLL = 0.1  # seconds between two looks whether to stop


class HangingCallsError(InputError):
    """Too many calls hang; further ones would only cost memory."""


def run_without_loop(work: Coroutine[object, object, None]) -> None:
    """Run a coroutine that never waits for anything but its own calls."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("This coroutine must not be suspended.")


def run_on_loop(work: Coroutine[object, object, None], timeout: float | None = None) -> None:
    """Like asyncio.run, but in a separate thread if a loop is already running here, and without waiting for calls that hang.

    With a ``timeout`` of each call, a loop that is blocked for much longer is given up; it then runs in a separate thread, too.
    """
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_ThreadPerCall())
    task = loop.create_task(work)
    if timeout is None and not _is_loop_running():
        _run(loop, task)
        return
    pulse, ended = _Pulse(loop, timeout), Future[None]()
    run = contextvars.copy_context().run
    Thread(target=run, args=(_fulfil, ended, _run, loop, task), daemon=True).start()
    try:
        _wait_for(ended, pulse)
    except (KeyboardInterrupt, asyncio.CancelledError):  # raised here, but the work is in the other thread
        loop.call_soon_threadsafe(task.cancel)
        raise


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Pulse:
    """Whether a loop still runs: it reports it again and again, unless a call blocks it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout: float | None) -> None:
        self._loop, self._timeout, self._last = loop, timeout, time.monotonic()
        if timeout is not None:
            loop.call_soon(self._beat)  # before the loop runs

    def _beat(self) -> None:
        self._last = time.monotonic()
        self._loop.call_later(_POLL, self._beat)

    def check(self) -> None:
        if self._timeout is not None and time.monotonic() - self._last > self._timeout + _STUCK:
            raise HangingCallsError(
                f"An asynchronous retriever has blocked the event loop for more than {self._timeout + _STUCK:g} s, so no timeout "
                "can end its call; the run was stopped. Await inside of it, or make it a plain function, which runs in a thread."
            )


def _wait_for(ended: Future[None], pulse: _Pulse) -> None:
    """Block a running loop until the end. asyncio.run turns Ctrl-C into a mere request to cancel, so look for that."""
    here = asyncio.current_task() if _is_loop_running() else None
    while not wait([ended], timeout=_POLL).done:
        if here is not None and hasattr(here, "cancelling") and here.cancelling():  # Python 3.11
            raise asyncio.CancelledError
        pulse.check()
    ended.result()


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    try:
        loop.run_until_complete(task)
    finally:
        left = asyncio.all_tasks(loop)
        for one in left:
            abandon(one)
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class _ThreadPerCall(ThreadPoolExecutor):
    """Gives each call of ``asyncio.to_thread`` a daemon thread and never waits for them; too many at a time are refused."""

    def __init__(self) -> None:
        super().__init__()
        self._living: list[Thread] = []

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        self._living = [thread for thread in self._living if thread.is_alive()]
        if len(self._living) >= _MOST_THREADS:
            raise HangingCallsError(
                f"{_MOST_THREADS:,} threads of the retriever are still at work; the run was stopped. Give what they call a timeout."
            )
        future: Future[T] = Future()
        thread = Thread(target=_fulfil, args=(future, fn, *args), kwargs=kwargs, daemon=True)
        self._living.append(thread)
        thread.start()
        return future


def _fulfil(
    future: Future[object], function: Callable[..., object], /, *args: object, **kwargs: object
) -> None:
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  the code that waits for the future raises it
        with suppress(InvalidStateError):  # cancelled in the meantime
            future.set_exception(error)
    else:
        with suppress(InvalidStateError):
            future.set_result(result)


def abandon(task: asyncio.Future[T]) -> None:
    """Cancel a task without waiting for it: it may refuse to end."""
    task.cancel()
    # Retrieve its exception, or asyncio warns that it was never retrieved.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
