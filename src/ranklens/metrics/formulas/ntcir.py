"""Sakai's measures, as NTCIREVAL defines them: the blended ratio of precision and normalised cumulated gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import BoolArray, FloatArray
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Chance, Cutoff, Gains, Rel, Within, formula, measure, working
from ranklens.metrics.catalog import Beside, Columns, Params
from ranklens.metrics.formulas.cascade import MaxGrade, Satisfaction, satisfying
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.gain import worth
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.metrics.cuts import View

TITLE = "NTCIR"
WHEN = "For grades, where precision and gain should count in one number; results of NTCIR tasks use them."

Beta: TypeAlias = Annotated[float, Within(0, float("inf"))]
_BLENDED = r"\mathrm{BR}(i) = \frac{\sum_{j \le i} r_j + \beta \sum_{j \le i} \gamma_j}{i + \beta \sum_{j \le i} \gamma^*_j}"


def _blended_ratio(view: View) -> FloatArray:
    judged, rel = with_gains(view.judged, view.params["rel"], view.params.get("gains"))
    hits = judged.relevant(rel)
    values = blended_ratio(judged, hits, rel, view.params["beta"])
    at = dict(zip(hits.rank.tolist(), values.tolist(), strict=True))
    return np.array([at.get(rank, np.nan) for rank in view.ranks.tolist()])


def _ideal_by_grade(params: Params) -> Beside:
    """A table of gains may order documents in another way than grades do."""
    return None if params["gains"] else "grade"


BLENDED_RATIO: Columns = {**FOUND, "blended ratio": _blended_ratio}


@measure("Q", "Q-measure", "q_measure", average_ties=True, bounds="by rank if binary")
@formula(
    rf"\frac{{1}}{{\min(R, k)}} \sum_{{i=1}}^{{k}} r_i\, \mathrm{{BR}}(i), \quad {_BLENDED}, \quad R \text{{ for }} \min(R, k) \text{{ without a cutoff}}",
    "sakai2007",
)
@working(
    lambda params: (
        "sum of the blended ratio at each relevant document / "
        + ("min(all relevant, k)" if params["k"] else "all relevant")
    ),
    BLENDED_RATIO,
    ideal=_ideal_by_grade,
)
def q_measure(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, beta: Beta = 1, gains: Gains = None
) -> FloatArray:
    """Q-measure: AP with the blended ratio in place of precision.

    The blended ratio at rank r is (relevant so far + beta gain so far) / (r + beta ideal gain so far). It divides by
    R, and with a cutoff by min(R, k). The gain is the grade.

    ``beta=0`` is AP.

    ``gains={1: 2, 2: 3}`` takes the gain of each grade from a table.
    """
    judged, rel = with_gains(judged, rel, gains)
    hits = judged.relevant(rel)
    value = blended_ratio(judged, hits, rel, beta)
    inside = np.ones(len(hits), dtype=bool) if k is None else hits.rank <= k
    total = judged.total(rel)
    return ratio(hits.where(inside).sum(value[inside]), total if k is None else np.minimum(total, k))


@measure("O", "o_measure", "O-measure", average_ties=True, like="Q")
@formula(rf"\mathrm{{BR}}(i_1), \quad i_1 = \min \{{i : r_i = 1\}}, \quad {_BLENDED}", "sakai2007")
@working("the blended ratio at the first relevant document", BLENDED_RATIO, ideal=_ideal_by_grade)
def o_measure(judged: Judged, *, rel: Rel = 1, beta: Beta = 1, gains: Gains = None) -> FloatArray:
    """O-measure: the blended ratio at the first relevant document."""
    judged, rel = with_gains(judged, rel, gains)
    hits = judged.relevant(rel)
    return hits.sum(hits.first() * (1 + beta * hits.grade) / _ideal_effort(judged, hits, rel, beta))


@measure("P_plus", "P+", "P-plus", like="Q")
@formula(
    rf"\frac{{1}}{{\sum_{{i \le i_p}} r_i}} \sum_{{i \le i_p}} r_i\, \mathrm{{BR}}(i), \quad i_p = \min \{{i : g_i = \max_j g_j\}}, \quad {_BLENDED}",
    "sakai2006",
)
@working(columns=BLENDED_RATIO)
def p_plus(judged: Judged, *, rel: Rel = 1, beta: Beta = 1, gains: Gains = None) -> FloatArray:
    """P-plus: the mean blended ratio over the relevant documents down to the first of the best retrieved grade."""
    judged, rel = with_gains(judged, rel, gains)
    hits = judged.relevant(rel)
    best_so_far = hits.scan(np.maximum, hits.grade)
    best = hits.max(hits.grade)[hits.query]
    wanted = (best_so_far < best) | _first_best(hits)
    value = blended_ratio(judged, hits, rel, beta)
    return ratio(hits.where(wanted).sum(value[wanted]), hits.where(wanted).sum())


@measure("P_measure", "P-measure", like="Q")
@formula(rf"\mathrm{{BR}}(i_p), \quad i_p = \min \{{i : g_i = \max_j g_j\}}, \quad {_BLENDED}", "sakai2007")
@working("the blended ratio at the first document of the best retrieved grade", BLENDED_RATIO)
def p_measure(judged: Judged, *, rel: Rel = 1, beta: Beta = 1, gains: Gains = None) -> FloatArray:
    """P-measure: the blended ratio at the first document of the best retrieved grade."""
    judged, rel = with_gains(judged, rel, gains)
    hits = judged.relevant(rel)
    wanted = _first_best(hits)
    return hits.where(wanted).sum(blended_ratio(judged, hits, rel, beta)[wanted])


@measure(
    "NCU",
    {
        "NCUguP": {"stop": "gu", "utility": "P"},
        "NCUguBR": {"stop": "gu", "utility": "BR"},
        "NCUrbP": {"stop": "rb", "utility": "P"},
        "NCUrbBR": {"stop": "rb", "utility": "BR"},
    },
    like="Q",
)
@formula(
    r"\sum_i \Pr(i)\, U(i), \quad \Pr(i) = \frac{r_i}{R}, \quad U = \mathrm{BR} \text{ or } P, \quad \text{gu: } \Pr(i) = \frac{\gamma_i}{\sum_j \gamma^*_j}, \quad \text{rb: } \Pr(i) = \frac{r_i\, c^{\sum_{j<i} r_j} (1 - c)}{1 - c^R}, \ c \text{ is gamma}",
    "sakai2008",
)
@working("sum of the chance to stop · utility over relevant documents")
def normalised_cumulative_utility(
    judged: Judged,
    *,
    stop: Literal["u", "gu", "rb"] = "u",
    utility: Literal["BR", "P"] = "BR",
    rel: Rel = 1,
    beta: Beta = 1,
    gamma: Chance = 0.95,
    gains: Gains = None,
    stops: Gains = None,
) -> FloatArray:
    """Normalised cumulative utility: the utility at each relevant document times the chance to stop there (Sakai and Robertson 2008).

    The chance is the same for all relevant documents, and the utility is the blended ratio of Q. NTCIREVAL's names such as NCUguBR are
    understood.

    ``stop=gu`` takes a chance that goes by grade, or by a table ``stops={1: 2, 2: 4}``; ``stop=rb`` one that falls by ``gamma`` from
    one relevant document to the next.

    ``utility=P`` takes precision in place of the blended ratio.
    """
    levels, every = judged.relevant(rel), worth(judged.ideal.relevant(rel), "linear", stops)
    judged, rel = with_gains(judged, rel, gains)
    hits = judged.relevant(rel)
    value = blended_ratio(judged, hits, rel, beta if utility == "BR" else 0)
    if stop == "gu":
        weight = worth(levels, "linear", stops).grade
        return ratio(hits.sum(value * weight), every.sum(every.grade))
    if stop == "rb":
        total = judged.total(rel)
        return ratio(
            hits.sum(value * np.power(gamma, hits.position() - 1)), (1 - np.power(gamma, total)) / (1 - gamma)
        )
    return ratio(hits.sum(value), judged.total(rel))


@measure("EBR")
@formula(
    rf"\sum_{{i=1}}^{{k}} \mathrm{{BR}}(i)\, s_i \prod_{{j<i}} (1 - s_j), \quad s_i = \frac{{2^{{g_i}} - 1}}{{2^{{g_{{\max}}}}}}, \quad {_BLENDED}",
    "sakai2019",
)
@working("sum of satisfied · still looking · blended ratio", BLENDED_RATIO, ideal="grade")
def expected_blended_ratio(
    judged: Judged,
    *,
    k: Cutoff = None,
    rel: Rel = 1,
    beta: Beta = 1,
    max_grade: MaxGrade = None,
    gain: Satisfaction = "exp",
) -> FloatArray:
    """The blended ratio at the document that satisfies the user, who stops as in ERR (Sakai and Zeng 2019)."""
    hits, stop = satisfying(judged.relevant(rel), judged, max_grade, gain)
    value = stop * hits.survival(stop) * blended_ratio(judged, hits, rel, beta)
    inside = hits.rank <= (k or np.inf)
    return hits.where(inside).sum(value[inside])


def blended_ratio(judged: Judged, hits: Hits, rel: float, beta: float) -> FloatArray:
    """Precision and normalised cumulated gain in one, at each of the relevant ``hits``."""
    return (hits.position() + beta * hits.cumulative(hits.grade)) / _ideal_effort(judged, hits, rel, beta)


def _ideal_effort(judged: Judged, hits: Hits, rel: float, beta: float) -> FloatArray:
    """R + beta times the ideal gain of the first r ranks: the denominator of the blended ratio."""
    ideal = judged.ideal.relevant(rel)
    return hits.rank + beta * ideal.upto(ideal.grade, hits.query, hits.rank)


def _first_best(hits: Hits) -> BoolArray:
    """Where the first document of the best retrieved grade is."""
    best = hits.max(hits.grade)[hits.query]
    seen = hits.cumulative((hits.grade == best).astype(np.float64))
    is_first: BoolArray = (hits.grade == best) & (seen == 1)
    return is_first


def with_gains(judged: Judged, rel: float, gains: Mapping[float, float] | None) -> tuple[Judged, float]:
    """The relevant documents alone, with gains in place of grades; and the level from which they count: any."""
    if gains is None:
        return judged, rel
    ideal = worth(judged.ideal.relevant(rel), "linear", gains)
    ideal = replace(ideal, grade=ideal.grade[np.lexsort((-ideal.grade, ideal.query))])
    hits = worth(judged.relevant(rel), "linear", gains)
    return replace(judged, hits=hits, ideal=replace(ideal, rank=ideal.ordinal()), _cache={}), -np.inf
