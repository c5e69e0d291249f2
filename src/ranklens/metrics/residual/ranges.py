"""The lowest and the highest value that a measure could have if unjudged documents were judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ranklens.errors import MeasureError, Option, PolicyError
from ranklens.judging.hits import Hits
from ranklens.metrics.catalog import Unbounded
from ranklens.metrics.formulas.cascade import rank_biased_residual
from ranklens.metrics.formulas.gain import worth
from ranklens.metrics.instances import parameters
from ranklens.metrics.residual.average_precision import ap_ends
from ranklens.metrics.residual.completion import Completion, completions
from ranklens.metrics.residual.cumulated_gain import ndcg_ends

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.judging.judged import Judged
    from ranklens.metrics import Measure

Ends: TypeAlias = "tuple[FloatArray, FloatArray]"


@dataclass(frozen=True, eq=False)
class Range:
    """What the mean over queries could be, between ``low`` and ``high``, and each query's value in ``per_query``.

    ``open`` counts the queries whose value is not settled.
    """

    measure: str
    low: float
    high: float
    per_query: pl.DataFrame  # query, low, high
    open: int

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"


def ends(measure: Measure, judged: Judged) -> Ends:
    """For each query the lowest and highest value over all grades that its unjudged retrieved documents could have.

    Grades are those in the judgments. Documents that were not retrieved stay as they are.
    """
    _refuse(measure, judged)
    parts = [_part_ends(measure, part) for part in completions(judged)]
    if not parts:
        return np.zeros(0), np.zeros(0)
    low, high = (np.concatenate(side) for side in zip(*parts, strict=True))
    return low, high


def is_defined(measure: Measure, judged: Judged) -> bool:
    """Whether :func:`ends` has an answer."""
    try:
        _refuse(measure, judged)
    except (MeasureError, PolicyError):
        return False
    return True


def _part_ends(measure: Measure, part: Completion) -> Ends:
    rule, params = measure.definition.bounds, parameters(measure)
    if rule == "normalised gain":
        wanted = ("k", "gain", "gains", "discount", "log_base")
        return ndcg_ends(part, **{name: params[name] for name in wanted})
    if rule == "average precision" and set(dict(measure.params)) <= {"rel"}:
        return ap_ends(part, params["rel"])
    if rule in ("monotone", "rank-biased") or (rule == "monotone without k" and measure.k is None):
        return _monotone_ends(measure, part)
    return _by_rank_ends(measure, part, None if rule == "by rank at any depth" else measure.k)


def _monotone_ends(measure: Measure, part: Completion) -> Ends:
    least, most = _extreme_grades(measure, part)
    one = measure(part.filled(np.full(len(part.hits), least)))
    other = measure(part.filled(np.full(len(part.hits), most)))
    low, high = np.minimum(one, other), np.maximum(one, other)
    if (
        measure.definition.bounds == "rank-biased" and measure.k is None
    ):  # this user also reads on where the ranking ends
        params = parameters(measure)
        most = part.top if params["gain"] == "raw" else 1.0
        high = low + most * rank_biased_residual(part.judged, p=params["p"])
    return low, high


def _extreme_grades(measure: Measure, part: Completion) -> tuple[float, float]:
    """The grades that are worth least and most: a table of gains may value the highest grade less than another."""
    if "gains" not in measure.definition.parameters:
        return 0.0, part.top
    params, zeros = parameters(measure), np.zeros(len(part.levels), dtype=np.int64)
    gains = worth(Hits(zeros, zeros + 1, part.levels, 1), params["gain"], params["gains"]).grade
    return float(part.levels[gains.argmin()]), float(part.levels[gains.argmax()])


def _by_rank_ends(measure: Measure, part: Completion, k: int | None) -> Ends:
    """The first n unjudged documents relevant, for every n; and the last n, beyond the cutoff all of them."""
    place, count = part.place(k)
    beyond = part.unjudged & (place == 0)
    left = count[part.hits.query] - place  # unjudged documents after this one, in the top k

    def value(relevant: BoolArray) -> FloatArray:
        return measure(part.filled(np.where(relevant, part.top, 0.0)))

    high, low = value(np.zeros(len(place), dtype=bool)), value(beyond)
    for number in range(1, int(count.max(initial=0)) + 1):
        high = np.maximum(high, value((place > 0) & (place <= number)))
        low = np.minimum(low, value(beyond | ((place > 0) & (left < number))))
    return np.minimum(low, high), high


def _refuse(measure: Measure, judged: Judged) -> None:
    if dict(measure.params).get("judged_only") or judged.policy.judged_only:
        raise PolicyError(
            f"The bounds of {measure} are not defined with ",
            Option("judged_only"),
            ": unjudged documents are left out, so nothing depends on them.",
        )
    if judged.hits.spread is not None:
        raise PolicyError(
            f"The bounds of {measure} are not defined with ",
            Option("ties", "average"),
            ": they need one order of the documents. Choose ",
            Option("ties", "descending", "ascending", "input"),
            ".",
        )
    if judged.policy.empty == "one":
        raise PolicyError(
            f"The bounds of {measure} are not defined with ",
            Option("empty", "one"),
            ": a query without relevant documents has the best value, and a worse one as soon as there are any. Choose ",
            Option("empty", "zero", "skip"),
            ".",
        )
    why = _why_not(measure, judged)
    if why:
        raise MeasureError(f"The bounds of {measure} are not defined: {why}.")


def _why_not(measure: Measure, judged: Judged) -> str:
    rule, params = measure.definition.bounds, parameters(measure)
    if params.get("residual"):
        return "it is about the judgments themselves"
    if isinstance(rule, Unbounded):
        return rule.why
    if rule == "rank-biased" and (params["gain"], params["scale"]) == ("linear", "query"):
        return "a higher grade of one document lowers what the others of its query are worth"
    if rule == "normalised gain":
        table = params["gains"] or {}
        odd = table.get(0, 0) or min(table.values(), default=0) < 0
        return "a gain of its table is below 0, or that of grade 0 is not 0" if odd else ""
    if rule == "by rank if binary":
        some = judged.ideal.grade[judged.ideal.grade > 0]
        several = len(some) and some.min() < some.max()
        return "with more than one grade above 0, its best case cannot be found by rank" if several else ""
    return ""
