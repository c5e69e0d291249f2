"""Reading ahead: pieces are read in threads while the caller works on earlier ones."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

# One more than there are processors: while one piece is in Python, the others keep all of them busy. Not many more, because
# each holds a piece in memory.
_THREADS = min((os.cpu_count() or 1) + 1, 8)


def ahead(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of the tasks in order; a few of them are begun before they are asked for.

    >>> list(ahead(lambda i=i: i * i for i in range(4)))
    [0, 1, 4, 9]
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > _THREADS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or if the caller stops early
            for future in waiting:
                future.cancel()
