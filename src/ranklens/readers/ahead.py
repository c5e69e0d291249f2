"""Reading ahead: the next piece is read in a thread while the caller works on the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of the tasks in order, each begun before the one before it is handed out.

    >>> list(ahead(lambda i=i: i * i for i in range(4)))
    [0, 1, 4, 9]
    """
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[T] | None = None
        for task in tasks:
            begun = pool.submit(task)
            if waiting is not None:
                yield waiting.result()
            waiting = begun
        if waiting is not None:
            yield waiting.result()
