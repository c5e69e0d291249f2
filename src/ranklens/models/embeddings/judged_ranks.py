"""The judged documents whose places are wanted, and the places that counting gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.judging.order import tie_key
from ranklens.policy import Ties


@dataclass(frozen=True)
class Wanted:
    """Pairs of a query and a document, as row numbers, sorted by query; and the score of each in float64."""

    query: IntArray
    doc: IntArray
    score: FloatArray

    def __len__(self) -> int:
        return len(self.query)

    def ordinal(self) -> IntArray:
        """0, 1, 2 … within each query."""
        return np.arange(len(self)) - np.searchsorted(self.query, self.query)


class Places:
    """For each wanted pair: how many documents score higher, how many the same, and how many of these come first."""

    def __init__(self, size: int) -> None:
        self.above, self.same, self.before = (np.zeros(size, np.int64) for _ in range(3))

    @property
    def rank(self) -> IntArray:
        return self.above + self.before + 1

    def settle(
        self, wanted: Wanted, pair: IntArray, doc: IntArray, score: FloatArray, order: TieOrder
    ) -> None:
        """Count documents whose scores are known exactly, each against the wanted pair that it was close to."""
        self._add(wanted, pair, doc, score, order, 1)

    def remove(
        self, wanted: Wanted, pair: IntArray, doc: IntArray, score: FloatArray, order: TieOrder
    ) -> None:
        """Take documents out again that do not belong to the ranking."""
        self._add(wanted, pair, doc, score, order, -1)

    def tie(self, wanted: Wanted, pair: IntArray, doc: IntArray, order: TieOrder, step: int = 1) -> None:
        """Count documents that have just the score of the wanted one."""
        np.add.at(self.same, pair, step)
        np.add.at(self.before, pair[order.precedes(doc, wanted.doc[pair])], step)

    def _add(
        self, wanted: Wanted, pair: IntArray, doc: IntArray, score: FloatArray, order: TieOrder, step: int
    ) -> None:
        higher, equal = score > wanted.score[pair], score == wanted.score[pair]
        np.add.at(self.above, pair[higher], step)
        self.tie(wanted, pair[equal], doc[equal], order, step)


class TieOrder:
    """The order of documents with the same score: by row, or by id as text; without ids, the row numbers are the ids.

    >>> TieOrder("descending").precedes(np.array([9, 3]), np.array([10, 4])).tolist()
    [True, False]
    """

    def __init__(self, ties: Ties, ids: Sequence[object] | IntArray | None = None) -> None:
        self.by, self.descending = tie_key(ties)
        self.ids = ids

    def precedes(self, doc: IntArray, other: IntArray) -> BoolArray:
        """Whether each document comes before the other one, both given as row numbers."""
        left, right = self._keys(doc), self._keys(other)
        return np.asarray(left > right if self.descending else left < right)

    def place(self, docs: IntArray) -> IntArray:
        """0 for the document that comes first, 1 for the next, and so on."""
        rising = np.argsort(self._keys(docs), kind="stable")
        place = np.empty(len(docs), np.int64)
        place[rising[::-1] if self.descending else rising] = np.arange(len(docs))
        return place

    def _keys(self, rows: IntArray) -> npt.NDArray[Any]:
        if self.by == "row":
            return rows
        # NumPy compares code points, which is the order of UTF-8 bytes.
        if self.ids is None:
            return rows.astype(str)
        return np.array([str(self.ids[row]) for row in rows.tolist()], dtype=str)
