"""One query's ranking, cut after some of its ranks: the value of a measure after one document, after two, and so on.

Every measure is a function over :class:`~ranklens.judging.judged.Judged`. Cut rankings, laid side by side as if they were queries,
give its value step by step in one call, so explanations need no second copy of a formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics.catalog import Params
from ranklens.metrics.formulas.gain import Gain, worth

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray


def only(judged: Judged, query: str) -> Judged:
    """The same for one query alone; the highest grade remains that of all queries."""
    index = list(judged.queries).index(query)
    return replace(
        judged,
        queries=[query],
        hits=_rows(judged.hits, judged.hits.query == index),
        ideal=_rows(judged.ideal, judged.ideal.query == index),
        retrieved=judged.retrieved[index : index + 1],
        further=judged.further and _rows(judged.further, judged.further.query == index),
        ties=None,
        details=judged.details and judged.details.take(np.array([index])),
        _cache={},
    )


def upto(judged: Judged, ranks: IntArray, *, growing: bool = False) -> Judged:
    """One query becomes one for each of ``ranks``: what is judged down to that rank, and nothing below it.

    The number of retrieved documents stays the same, and with it what a measure divides by, unless it is ``growing`` with
    the rank.

    >>> import ranklens as rl
    >>> judged = rl.judge({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]})
    >>> rl.measure("P@5")(upto(judged, np.array([0, 1, 2, 3])))
    array([0. , 0.2, 0.2, 0.4])
    """
    ideal, n = judged.ideal, len(ranks)
    retrieved = np.repeat(judged.retrieved, n)
    return replace(
        judged,
        queries=list(judged.queries) * n,
        hits=_cut(judged.hits, ranks),
        further=judged.further and _cut(judged.further, ranks),
        ideal=Hits(np.repeat(np.arange(n), len(ideal)), np.tile(ideal.rank, n), np.tile(ideal.grade, n), n),
        retrieved=np.minimum(ranks, retrieved) if growing else retrieved,
        details=judged.details and judged.details.take(np.zeros(n, dtype=np.int64), ranks),
        _cache={},
    )


@dataclass(frozen=True)
class View:
    """Some ranks of one query: what is judged there, and what is judged down to there."""

    judged: Judged  # ties broken
    ranks: IntArray
    grades: FloatArray  # at these ranks; below any grade where unjudged
    params: Params

    @cached_property
    def above(self) -> Judged:
        """For each rank, the ranking that ends there."""
        return upto(self.judged, self.ranks, growing=True)

    @cached_property
    def alone(self) -> Hits:
        """The documents at these ranks, each as if it were the only one of a query."""
        return Hits(np.arange(len(self.ranks)), self.ranks, self.grades, len(self.ranks))

    def alone_with(self, grade: float) -> Judged:
        """For each rank, a ranking with one document of that grade there."""
        hits = replace(self.alone, grade=np.full(len(self.ranks), float(grade)))
        return replace(self.above, hits=hits, _cache={})


def ideally(judged: Judged, gain: Gain = "linear", gains: Mapping[float, float] | None = None) -> Judged:
    """One query with its ideal ranking instead of the actual one: all judged documents, the most valuable first."""
    worths = worth(judged.ideal, gain, gains).grade
    best = np.argsort(-worths, kind="stable")
    hits = Hits(judged.ideal.query, judged.ideal.rank, judged.ideal.grade[best], judged.ideal.n_queries)
    return replace(judged, hits=hits, further=None, _cache={})


def _cut(hits: Hits, ranks: IntArray) -> Hits:
    step, row = np.nonzero(hits.rank[None, :] <= ranks[:, None])
    spread = hits.spread and hits.spread.take(row)
    return Hits(step, hits.rank[row], hits.grade[row], len(ranks), spread)


def _rows(hits: Hits, keep: BoolArray) -> Hits:
    rows = hits.where(keep)
    return replace(rows, query=np.zeros(len(rows), dtype=np.int64), n_queries=1)
