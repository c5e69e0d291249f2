"""Judgments made complete: every retrieved document gets a grade, those of unjudged documents are filled in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray

_ROWS = 1 << 20  # retrieved documents at once, so that memory stays bounded


@dataclass(frozen=True)
class Completion:
    """All retrieved documents of some queries, by rank; a grade below 0 means pooled but not judged."""

    judged: Judged
    hits: Hits
    unjudged: BoolArray  # of the rows of hits
    levels: FloatArray  # the grades that a document can have, rising from 0

    @property
    def top(self) -> float:
        return float(self.levels[-1])

    @property
    def is_binary(self) -> bool:
        """Whether a document is either relevant or not."""
        return len(self.levels) == 2

    def place(self, k: int | None) -> tuple[IntArray, IntArray]:
        """1, 2, 3 … for the unjudged documents of each query in the top k (0 for other rows), and how many there are."""
        counted = self.unjudged if k is None else self.unjudged & (self.hits.rank <= k)
        some = self.hits.where(counted)
        place = np.zeros(len(self.hits), dtype=np.int64)
        place[counted] = some.ordinal()
        return place, np.bincount(some.query, minlength=self.hits.n_queries)

    def filled(self, grades: FloatArray) -> Judged:
        """With these grades for all rows; those of judged documents do not change."""
        hits = replace(self.hits, grade=np.where(self.unjudged, grades, self.hits.grade))
        known = self.judged.ideal.where(self.judged.ideal.grade >= 0)
        query = np.concatenate([known.query, hits.query[self.unjudged]])
        grade = np.concatenate([known.grade, hits.grade[self.unjudged]])
        order = np.lexsort((-grade, query))
        ideal = Hits(query[order], np.ones(len(order), dtype=np.int64), grade[order], hits.n_queries)
        return replace(
            self.judged, hits=hits, ideal=replace(ideal, rank=ideal.ordinal()), ties=None, _cache={}
        )


def completions(judged: Judged) -> Iterator[Completion]:
    """All queries in order, some at a time."""
    levels = _levels(judged)
    ends = np.cumsum(judged.retrieved)
    first = 0
    while first < len(judged):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _ROWS, side="right")))
        yield _completion(_some_queries(judged, first, last), levels)
        first = last


def _levels(judged: Judged) -> FloatArray:
    """0 and all grades in the judgments; 1 if there is no other."""
    levels = np.array(sorted({0.0, *judged.ideal.grade[judged.ideal.grade > 0].tolist()}))
    return levels if len(levels) > 1 else np.array([0.0, 1.0])


def _some_queries(judged: Judged, first: int, last: int) -> Judged:
    if last - first == len(judged):
        return judged
    return replace(
        judged,
        queries=judged.queries[first:last],
        hits=judged.hits.of_queries(first, last),
        ideal=judged.ideal.of_queries(first, last),
        retrieved=judged.retrieved[first:last],
        _cache={},
    )


def _completion(judged: Judged, levels: FloatArray) -> Completion:
    query = np.repeat(np.arange(len(judged)), judged.retrieved)
    every = Hits(query, np.zeros(len(query), dtype=np.int64), np.full(len(query), -1.0), len(judged))
    every = replace(every, rank=every.ordinal())
    start = np.cumsum(judged.retrieved) - judged.retrieved
    every.grade[start[judged.hits.query] + judged.hits.rank - 1] = judged.hits.grade
    return Completion(judged, every, every.grade < 0, levels)
