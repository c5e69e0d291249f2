"""Event loops: run a coroutine from synchronous code, wherever that is, without waiting for calls that hang."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_GRACE = 1.0  # seconds that cancelled calls have to end
_POLL = 0.1  # seconds between two looks whether to stop


def run_without_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits for anything but its own calls."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("This coroutine must not be suspended.")


def run_on_loop(work: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run, but in a separate thread if a loop is already running here, and without waiting for calls that hang."""
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_ThreadPerCall())
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
    except (KeyboardInterrupt, asyncio.CancelledError):  # raised here, but the work is in the other thread
        loop.call_soon_threadsafe(task.cancel)
        raise


def _wait_for(ended: Future[None]) -> None:
    """Block a running loop until the end. asyncio.run turns Ctrl-C into a mere request to cancel, so look for that."""
    here = asyncio.current_task()
    while not wait([ended], timeout=_POLL).done:
        if here is not None and hasattr(here, "cancelling") and here.cancelling():  # Python 3.11
            raise asyncio.CancelledError
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
    """Gives each call of ``asyncio.to_thread`` a daemon thread, as many as a retriever likes, and never waits for them."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        Thread(target=_fulfil, args=(future, fn, *args), kwargs=kwargs, daemon=True).start()
        return future


def _fulfil(future: Future[Any], function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001  the code that waits for the future raises it
        future.set_exception(error)
    else:
        future.set_result(result)


def abandon(task: asyncio.Future[Any]) -> None:
    """Cancel a task without waiting for it: it may refuse to end."""
    task.cancel()
    # Its exception is looked at, or asyncio complains that nobody did.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
