"""Ranks by counting on the processor: a block of scores is computed, compared with the wanted ones and thrown away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray, NumberArray
from ranklens.models.embeddings.judged_ranks import Places, TieOrder, Wanted
from ranklens.models.embeddings.spaces import Block, NotFiniteError, ScoreBlock, Space
from ranklens.models.embeddings.vectors import Documents, Documents_contra

QUERY_ROWS = 1024  # queries that are scored at once
_FEW_CANDIDATES = 4  # one candidate in this many scores makes it worth taking them out
_MANY_WANTED = 24  # of one query: from here on, sorting scores is faster than comparing them so often

Block_contra = TypeVar("Block_contra", contravariant=True)


class Reader(Protocol[Documents_contra]):
    """A consumer of every block of scores."""

    def read(self, scores: ScoreBlock, rows: IntArray, first_doc: int, documents: Documents_contra) -> None:
        """``rows`` are the queries that the rows of the block belong to, rising."""


class Sieve(Protocol[Documents_contra, Block_contra]):
    """A consumer of a block before it is scored in full."""

    def spread(self, work: Callable[[int, Documents], None], blocks: Iterable[tuple[int, Documents]]) -> None:
        """Do the work for every block, perhaps for several at a time."""

    def read(
        self, block: Block_contra, rows: IntArray, first_doc: int, documents: Documents_contra
    ) -> IntArray:
        """The queries that are left to score."""


def read_blocks(
    space: Space[Documents, Block],
    blocks: Iterable[tuple[int, Documents]],
    readers: Iterable[Reader[Documents]],
    refuse: Callable[[int], Exception],
    sieve: Sieve[Documents, Block] | None = None,
) -> None:
    """Show all scores to the readers, block by block; ``refuse`` makes the error for a document that is not a number."""

    def read(first_doc: int, documents: Documents) -> None:
        try:
            opened = space.open(documents)
        except NotFiniteError as wrong:
            raise refuse(first_doc + wrong.row) from None
        for rows in _slices(len(space)):
            left = rows if sieve is None else sieve.read(opened, rows, first_doc, documents)
            if len(left):
                scores = space.scores(opened, left)
                for reader in readers:
                    reader.read(scores, left, first_doc, documents)

    if sieve is not None:
        sieve.spread(read, blocks)
        return
    for block in blocks:
        read(*block)


def _slices(size: int) -> Iterator[IntArray]:
    return (np.arange(first, min(first + QUERY_ROWS, size)) for first in range(0, size, QUERY_ROWS))


class Counter(Generic[Documents, Block]):
    """Counts, for each wanted pair, the documents that score higher or the same; also in several threads."""

    def __init__(self, space: Space[Documents, Block], wanted: Wanted, order: TieOrder) -> None:
        self.space, self.wanted, self.order = space, wanted, order
        self.places = Places(len(wanted))
        self._places_lock = Lock()

    def read(self, scores: ScoreBlock, rows: IntArray, first_doc: int, documents: Documents) -> None:
        pair, row = self.pairs(rows)
        low, high = around(
            self.wanted.score[pair] + scores.shift[row], scores.margin[row], scores.values.dtype
        )
        above, near, doc = compare(scores.values, row, low, high)
        self.add(pair, above, near, doc, scores.margin[row[near]] > 0, first_doc, documents)

    def pairs(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The wanted pairs of some queries, and which of these queries each belongs to."""
        first, last = (np.searchsorted(self.wanted.query, rows, side) for side in ("left", "right"))
        row = np.repeat(np.arange(len(rows)), last - first)
        return np.arange(len(row)) + (first - np.cumsum(last - first) + last - first)[row], row

    def add(
        self,
        pair: IntArray,
        above: IntArray,
        near: IntArray,
        doc: IntArray,
        unsure: BoolArray,
        first_doc: int,
        documents: Documents,
    ) -> None:
        """Add what :func:`compare` found. Documents whose scores are too close to tell are scored again, in float64."""
        with self._places_lock:
            self.places.above[pair] += above
        if not len(near):
            return
        close = pair[near]
        itself = doc + first_doc == self.wanted.doc[close]  # a document ties with itself
        score = self.wanted.score[close].copy()
        others = np.flatnonzero(unsure & ~itself)
        score[others] = self.space.exact(documents, self.wanted.query[close[others]], doc[others])
        with self._places_lock:
            self.places.settle(self.wanted, close, doc + first_doc, score, self.order)


def around(centre: FloatArray, margin: FloatArray, kind: np.dtype[Any]) -> tuple[NumberArray, NumberArray]:
    """The interval in which a score cannot be told from the wanted one, in the number type of the scores, rounded outwards."""
    low, high = (centre - margin).astype(kind), (centre + margin).astype(kind)
    exact = (margin == 0) & (low == centre)  # whole numbers: only the same score is the same
    return (
        np.where(exact, low, np.nextafter(low, kind.type(-np.inf))),
        np.where(exact, high, np.nextafter(high, kind.type(np.inf))),
    )


def compare(
    values: NumberArray, row: IntArray, low: NumberArray, high: NumberArray
) -> tuple[IntArray, IntArray, IntArray]:
    """How many scores lie above each interval; and which lie within: the interval's number, and the column."""
    above = np.zeros(len(row), np.int64)
    pairs: list[int] = []
    columns: list[IntArray] = []
    buffer, every = np.empty(values.shape[1], bool), np.arange(values.shape[1])
    several = np.bincount(row, minlength=len(values))[row] >= 2
    reached = (
        values.max(axis=1)[row] >= low
    )  # few blocks have a document as good as the judged ones, if these rank high
    for i in np.flatnonzero(reached & ~several).tolist():
        scores = values[row[i]]
        above[i] = np.count_nonzero(np.greater(scores, high[i], out=buffer))
        if np.count_nonzero(np.greater_equal(scores, low[i], out=buffer)) > above[i]:
            pairs.append(i)
            columns.append(np.flatnonzero(buffer & (scores <= high[i])))
    for number in np.unique(row[reached & several]).tolist():
        members = slice(*np.searchsorted(row, [number, number + 1]).tolist())
        # What lies below all intervals is neither counted nor sorted: if judged documents rank high, nearly everything.
        np.greater_equal(values[number], low[members].min(), out=buffer)
        candidates, scores = every, values[number]
        if _FEW_CANDIDATES * np.count_nonzero(buffer) < len(buffer):
            candidates = np.flatnonzero(buffer)
            scores = scores[candidates]
        if members.stop - members.start < _MANY_WANTED:
            here = buffer[: len(scores)]
            higher = [np.count_nonzero(np.greater(scores, one, out=here)) for one in high[members]]
            not_lower = [np.count_nonzero(np.greater_equal(scores, one, out=here)) for one in low[members]]
            above[members], near = higher, np.flatnonzero(np.greater(not_lower, higher))
        else:
            ordered = np.sort(scores)
            start, end = (
                np.searchsorted(ordered, low[members]),
                np.searchsorted(ordered, high[members], "right"),
            )
            above[members], near = len(ordered) - end, np.flatnonzero(end > start)
        for i in (near + members.start).tolist():
            pairs.append(i)
            columns.append(candidates[(scores >= low[i]) & (scores <= high[i])])
    if not pairs:
        return above, np.zeros(0, np.int64), np.zeros(0, np.int64)
    return above, np.repeat(pairs, [len(part) for part in columns]), np.concatenate(columns)
