"""Conditions under which the number of another tool cannot be computed here; conventions name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.metrics.instances import parameters

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.report.explanation.one_query import OneQuery


@dataclass(frozen=True)
class Doubt:
    """Whether a tool's number for a query is not known, and why, as the end of a sentence."""

    why: str
    applies: Callable[[OneQuery, Measure], bool]


def _level(measure: Measure) -> float:
    return float(parameters(measure)["rel"])


def _scores_below(data: OneQuery, measure: Measure) -> bool:
    del measure
    scores = data.listed["score"].to_numpy()
    if (scores == -np.arange(len(scores))).all():  # of a list, whose documents have no scores
        return False
    return bool((scores[data.listed["grade"].fill_null(0).to_numpy() > 0] <= 0).any())


DOUBTS: Mapping[str, Doubt] = {
    "ties": Doubt(
        "it leaves the order of tied documents open",
        lambda data, _: bool((data.listed["tied"] & data.listed["grade"].is_not_null()).any()),
    ),
    "cut ties": Doubt(
        "it leaves open which of the documents that tie across the cutoff count",
        # The first score below the cutoff does not differ from the one before it.
        lambda data, measure: bool(
            (data.listed["score"] == data.listed["score"].shift())
            .slice(measure.k or len(data.listed), 1)
            .any()
        ),
    ),
    "no irrelevant": Doubt(
        "it divides by 0 if no judged document is irrelevant",
        lambda data, measure: (
            data.judged.found(_level(measure))[0] > 0 and min(data.grades.values()) >= _level(measure)
        ),
    ),
    "several grades": Doubt(
        "its ideal ranking depends on the order in which labels are given",
        lambda data, _: len({grade for grade in data.grades.values() if grade > 0}) > 1,
    ),
    "short": Doubt(
        "its ideal ranking is cut at the documents returned",
        lambda data, measure: (
            data.ranked
            < min(relevant := sum(grade > 0 for grade in data.grades.values()), measure.k or relevant)
        ),
    ),
    "score": Doubt("relevant documents with a score of 0 or less count as irrelevant there", _scores_below),
    "one class": Doubt(
        "it is not defined without both relevant and irrelevant documents",
        lambda data, _: int(np.sum(data.judged.hits.relevant(1).sum())) in (0, data.ranked),
    ),
}
