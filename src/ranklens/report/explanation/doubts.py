"""Conditions under which the number of another tool cannot be computed here; conventions name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.metrics.about import parameters

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.report.explanation.one_query import OneQuery


@dataclass(frozen=True)
class Doubt:
    """Whether a tool's number for a query is not known, and why, as the end of a sentence."""

    why: str
    applies: Callable[[OneQuery, Measure], bool]


def _tied(data: OneQuery, measure: Measure) -> bool:
    """Whether a judged document ties."""
    del measure
    return bool((data.listed["tied"] & data.listed["grade"].is_not_null()).any())


def _ties_across(data: OneQuery, measure: Measure) -> bool:
    scores, k = data.listed["score"], measure.k
    return k is not None and len(scores) > k and bool(scores[k - 1] == scores[k])


def _no_irrelevant(data: OneQuery, measure: Measure) -> bool:
    """Whether all judged documents are relevant, and one was retrieved."""
    rel = float(parameters(measure)["rel"])
    return data.judged.found(rel)[0] > 0 and all(grade >= rel for grade in data.grades.values())


def _several_grades(data: OneQuery, measure: Measure) -> bool:
    del measure
    return len({grade for grade in data.grades.values() if grade > 0}) > 1


def _short(data: OneQuery, measure: Measure) -> bool:
    """Whether the ideal ranking of the documents returned is shorter than the one that counts."""
    relevant = sum(grade > 0 for grade in data.grades.values())
    return data.ranked < min(relevant, measure.k or relevant)


def _scores_below(data: OneQuery, measure: Measure) -> bool:
    del measure
    scores = data.listed["score"].to_numpy()
    if (scores == -np.arange(len(scores))).all():  # of a list, whose documents have no scores
        return False
    return bool((scores[data.listed["grade"].fill_null(0).to_numpy() > 0] <= 0).any())


def _one_class(data: OneQuery, measure: Measure) -> bool:
    del measure
    relevant = int(np.sum(data.judged.hits.relevant(1).sum()))
    return relevant in (0, data.ranked)


DOUBTS: Mapping[str, Doubt] = {
    "ties": Doubt("it leaves the order of tied documents open", _tied),
    "cut ties": Doubt("it leaves open which of the documents that tie across the cutoff count", _ties_across),
    "no irrelevant": Doubt("it divides by 0 if no judged document is irrelevant", _no_irrelevant),
    "several grades": Doubt(
        "its ideal ranking depends on the order in which labels are given", _several_grades
    ),
    "short": Doubt("its ideal ranking is cut at the documents returned", _short),
    "score": Doubt("relevant documents with a score of 0 or less count as irrelevant there", _scores_below),
    "one class": Doubt("it is not defined without both relevant and irrelevant documents", _one_class),
}
