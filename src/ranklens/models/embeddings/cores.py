"""Blocks of documents on all cores: a thread for each, which prepares, multiplies and compares by itself.

One block on all cores would leave them waiting for each other after every step, and most of them idle in steps that only one can do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from ranklens.models.embeddings.transfer import load_torch

_MOST = 16  # threads: each needs memory of its own, and Python runs in one of them at a time

Block = tuple[int, Any]


def on_all_cores(work: Callable[[int, Any], None], blocks: Iterable[Block]) -> None:
    """Do the work for every block, on as many cores as torch may use; of several blocks that fail, the error of the first is raised."""
    torch = load_torch()
    cores = torch.get_num_threads()
    threads = min(cores, _MOST)
    if threads == 1:
        for block in blocks:
            work(*block)
        return
    waiting: deque[Future[None]] = deque()
    try:
        with ThreadPoolExecutor(
            threads, "ranklens", initializer=torch.set_num_threads, initargs=(cores // threads,)
        ) as pool:
            try:
                for block in blocks:
                    waiting.append(pool.submit(copy_context().run, work, *block))
                    if len(waiting) > threads:  # one block is read ahead
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
            finally:  # after an error
                for future in waiting:
                    future.cancel()
    finally:
        torch.set_num_threads(cores)  # the threads' own number became that of the process, too
