"""The columns that show measures at work, next to rank and grade: one number per rank of one query.

Every number comes from the functions that compute the measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics.formulas import cascade, counts, gain, ntcir, precision
from ranklens.report.explanation.cuts import upto
from ranklens.report.explanation.terms import Params


@dataclass(frozen=True)
class View:
    """Some ranks of one query: what is judged there, and what is judged down to there."""

    judged: Judged  # ties broken
    ranks: IntArray
    grades: FloatArray  # at these ranks; below any grade where nobody judged
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


Column: TypeAlias = Callable[[View], FloatArray]
Columns: TypeAlias = Mapping[str, Column]  # by heading, from left to right


def _found(view: View) -> FloatArray:
    return counts.number_relevant_retrieved(view.above, rel=view.params["rel"])


def _precision(view: View) -> FloatArray:
    return precision.precision(view.above, rel=view.params["rel"])


def _recall(view: View) -> FloatArray:
    return precision.recall(view.above, rel=view.params["rel"])


def _irrelevant_above(view: View) -> FloatArray:
    return counts.number_irrelevant_judged_retrieved(view.above, rel=view.params["rel"])


def _gain(view: View) -> FloatArray:
    return gain.worth(view.alone, view.params.get("gain", "linear"), view.params["gains"]).grade


def _discount(view: View) -> FloatArray:
    return gain.discounts(view.alone, view.params["discount"], view.params["log_base"])


def _discounted(view: View) -> FloatArray:
    return _gain(view) / _discount(view)


def _weight(view: View) -> FloatArray:
    rel, p = view.params["rel"], view.params["p"]
    return cascade.rank_biased_precision(view.alone_with(rel), p=p, rel=rel)


def _satisfaction(view: View) -> tuple[float, cascade.Satisfaction]:
    return cascade.highest_grade(view.judged, view.params["max_grade"]), view.params["gain"]


def _satisfied(view: View) -> FloatArray:
    return cascade.satisfied(view.alone, *_satisfaction(view))


def _still_looking(view: View) -> FloatArray:
    hits = view.judged.hits
    ranks = np.union1d(hits.rank, view.ranks)
    grades = np.zeros(len(ranks))
    grades[np.searchsorted(ranks, hits.rank)] = hits.grade
    every = Hits(np.zeros(len(ranks), dtype=np.int64), ranks, grades, 1)
    stop = cascade.satisfied(every, *_satisfaction(view))
    return every.survival(stop)[np.searchsorted(ranks, view.ranks)]


def _blended_ratio(view: View) -> FloatArray:
    judged, rel = ntcir.with_gains(view.judged, view.params["rel"], view.params.get("gains"))
    hits = judged.relevant(rel)
    values = ntcir.blended_ratio(judged, hits, rel, view.params["beta"])
    at = dict(zip(hits.rank.tolist(), values.tolist(), strict=True))
    return np.array([at.get(rank, np.nan) for rank in view.ranks.tolist()])


FOUND: Columns = {"found": _found}
PRECISION: Columns = {**FOUND, "precision": _precision}
RECALL_AND_PRECISION: Columns = {**FOUND, "recall": _recall, "precision": _precision}
GAIN: Columns = {"gain": _gain}
DISCOUNTED_GAIN: Columns = {**GAIN, "discount": _discount, "gain / discount": _discounted}
SATISFACTION: Columns = {"satisfied": _satisfied, "still looking": _still_looking}
WEIGHT: Columns = {"weight": _weight}
IRRELEVANT_ABOVE: Columns = {**FOUND, "irrelevant above": _irrelevant_above}
BLENDED_RATIO: Columns = {**FOUND, "blended ratio": _blended_ratio}
