"""Progress of reading: readers report it, and watchers receive it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Watcher: TypeAlias = Callable[[str, int, int], None]  # the file's name, what is done, and all there is

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Tell ``watcher`` how far reading is, while the block runs.

    >>> with watching(lambda name, done, total: print(f"{name}: {done} of {total}")):
    ...     report("run.txt", 5, 10)
    run.txt: 5 of 10
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(name: str, done: int, total: int) -> None:
    """Say how many bytes or rows of a file have been handed out."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(name, done, total)
