"""A first look at coarse scores: where judged documents rank high, few others come near them, and only what comes near is scored again.

A query that too many documents come near gets the next finer scores; those that none can tell are left to float32. Every core has a
block of its own, which it prepares, multiplies and compares: one block on all cores would leave them waiting for each other after every
step, and most of them idle in steps that only one can do.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from importlib.util import find_spec
from threading import Lock
from typing import TypeVar

import numpy as np

from ranklens.arrays import BoolArray, IntArray, NumberArray
from ranklens.models.embeddings.coarse_scores import CoarseScores, fast_kinds
from ranklens.models.embeddings.counting import Counter, compare
from ranklens.models.embeddings.spaces import Dense, Opened
from ranklens.models.embeddings.tensors import load_torch

Block = TypeVar("Block")
_SAMPLE = 512  # documents that queries are tried on first
_SMALL = 1 << 30  # multiplications of an evaluation that takes no time anyway
_FEW = 8  # documents near a judged one; if more come near, and more than one in 512, finer scores pay
_MOST_THREADS = 16  # each needs memory of its own, and Python runs in one of them at a time


def coarse_sieve(counter: Counter[NumberArray, Opened], documents: int, *, asked: bool) -> CoarseSieve | None:
    """A first look where it is worth it: if torch is loaded, or ``asked`` for, and this processor is fast at coarse scores."""
    space = counter.space
    if not isinstance(space, Dense) or space.similarity == "euclidean":
        return None
    numbers = space.queries.shape[1]
    if len(space) * documents * numbers < _SMALL:
        return None
    if "torch" not in sys.modules and not (asked and find_spec("torch")):
        return None
    kinds = fast_kinds(numbers)
    return CoarseSieve([kind(space) for kind in kinds], counter) if kinds else None


class CoarseSieve:
    """Counts what coarse scores can tell, and leaves other queries to float32."""

    def __init__(self, looks: Sequence[CoarseScores], counter: Counter[NumberArray, Opened]) -> None:
        self.looks, self.counter = looks, counter
        # Twice the level of the scores that each query needs, plus 1 once it was tried with them. It only rises.
        self._stage = np.zeros(len(counter.space), np.int64)
        self._noting = Lock()

    def spread(self, work: Callable[[int, Block], None], blocks: Iterable[tuple[int, Block]]) -> None:
        on_all_cores(work, blocks)

    def read(self, block: Opened, rows: IntArray, first_doc: int, documents: NumberArray) -> IntArray:
        """Count a block for some queries; returns those that are left to float32."""
        if block.double:
            return rows
        # Threads share what they learn about queries without waiting: a query that two meet at the same time is tried by both.
        stage = self._stage[rows]
        for level, look in enumerate(self.looks):
            untried = np.flatnonzero(stage == 2 * level)
            if len(untried):
                stage[untried] += 1 + self._try(look, block, rows[untried])
                self._note(rows, stage)
            here = np.flatnonzero(stage == 2 * level + 1)
            if len(here):
                stage[here] += self._count(look, block, rows[here], first_doc, documents)
        self._note(rows, stage)
        left: IntArray = rows[stage == 2 * len(self.looks)]
        return left

    def _note(self, rows: IntArray, stage: IntArray) -> None:
        with self._noting:
            self._stage[rows] = np.maximum(self._stage[rows], stage)

    def _try(self, look: CoarseScores, block: Opened, rows: IntArray) -> BoolArray:
        """Queries on a few documents: which of them have too many near for a look at the rest."""
        scores = look.readable(look.product(block, rows, _SAMPLE))
        _, row, low, high = self._intervals(look, block, rows)
        near = ((scores[row] >= low[:, None]) & (scores[row] <= high[:, None])).sum(axis=1)
        crowded: BoolArray = np.bincount(row, near, len(rows)) > _FEW
        return crowded

    def _count(
        self, look: CoarseScores, block: Opened, rows: IntArray, first_doc: int, documents: NumberArray
    ) -> BoolArray:
        """Count for all queries but those that too many documents come near; which these are is returned."""
        scores = look.product(block, rows)
        pair, row, low, high = self._intervals(look, block, rows)
        reached = np.zeros(len(rows), bool)
        reached[row[look.highest(scores)[row] >= low]] = True
        some = np.flatnonzero(reached[row])
        if not len(some):
            return reached
        at = np.cumsum(reached) - 1
        above, near, doc = compare(look.readable(scores[reached]), at[row[some]], low[some], high[some])
        crowded: BoolArray = np.bincount(row[some][near], minlength=len(rows)) > max(
            _FEW, scores.shape[1] // 512
        )
        decided = ~crowded[row[some]]
        here = decided[near]
        near, doc = (np.cumsum(decided) - 1)[near[here]], doc[here]
        self.counter.add(
            pair[some[decided]], above[decided], near, doc, np.ones(len(near), bool), first_doc, documents
        )
        return crowded

    def _intervals(
        self, look: CoarseScores, block: Opened, rows: IntArray
    ) -> tuple[IntArray, IntArray, NumberArray, NumberArray]:
        """The wanted pairs of some queries, whose they are, and where a score cannot be decided from theirs."""
        pair, row = self.counter.pairs(rows)
        return pair, row, *look.interval(block, rows, row, self.counter.wanted.score[pair])


def on_all_cores(work: Callable[[int, Block], None], blocks: Iterable[tuple[int, Block]]) -> None:
    """Do the work for every block, on as many cores as torch may use; of several blocks that fail, the error of the first is raised."""
    torch = load_torch()
    cores = torch.get_num_threads()
    threads = min(cores, _MOST_THREADS)
    if threads == 1:
        for first, documents in blocks:
            work(first, documents)
        return
    waiting: deque[Future[None]] = deque()
    try:
        with ThreadPoolExecutor(
            threads, "ranklens", initializer=torch.set_num_threads, initargs=(cores // threads,)
        ) as pool:
            try:
                for first, documents in blocks:
                    waiting.append(pool.submit(copy_context().run, work, first, documents))
                    if len(waiting) > threads:  # one block is read ahead
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
            finally:  # after an error
                for future in waiting:
                    future.cancel()
    finally:
        torch.set_num_threads(cores)  # the threads' own number became that of the process, too
