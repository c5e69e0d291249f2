"""Sakai's measures, as NTCIREVAL defines them: the blended ratio of precision and normalised cumulated gain."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.cascade import MaxGrade, Satisfaction, satisfying
from ranklens.formulas.ratio import ratio
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.registry import Cutoff, Rel, Within, measure

Beta: TypeAlias = Annotated[float, Within(0, float("inf"))]


@measure("Q", "Q-measure", "q_measure", average_ties=True)
def q_measure(judged: Judged, *, k: Cutoff = None, rel: Rel = 1, beta: Beta = 1) -> FloatArray:
    """Q-measure: AP with the blended ratio in place of precision.

    The blended ratio at rank r is (relevant so far + beta gain so far) / (r + beta ideal gain so far). It divides by
    R, and with a cutoff by min(R, k). ``beta=0`` is AP.
    """
    hits = judged.relevant(rel)
    value = blended_ratio(judged, hits, rel, beta)
    inside = np.ones(len(hits), dtype=bool) if k is None else hits.rank <= k
    total = judged.total(rel)
    return ratio(hits.where(inside).sum(value[inside]), total if k is None else np.minimum(total, k))


@measure("O", "o_measure", "O-measure", average_ties=True)
def o_measure(judged: Judged, *, rel: Rel = 1, beta: Beta = 1) -> FloatArray:
    """O-measure: the blended ratio at the first relevant document."""
    hits = judged.relevant(rel)
    return hits.sum(hits.first() * (1 + beta * hits.grade) / _ideal_effort(judged, hits, rel, beta))


@measure("P_plus", "P+", "P-plus")
def p_plus(judged: Judged, *, rel: Rel = 1, beta: Beta = 1) -> FloatArray:
    """P-plus: the mean blended ratio over the relevant documents down to the first of the best retrieved grade."""
    hits = judged.relevant(rel)
    best_so_far = hits.scan(np.maximum, hits.grade)
    best = hits.max(hits.grade)[hits.query]
    wanted = (best_so_far < best) | ((hits.grade == best) & (_repeats(hits, best) == 1))
    value = blended_ratio(judged, hits, rel, beta)
    return ratio(hits.where(wanted).sum(value[wanted]), hits.where(wanted).sum())


@measure("EBR")
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


def _repeats(hits: Hits, best: FloatArray) -> FloatArray:
    """How many documents of the best grade have been seen, this one included."""
    return hits.cumulative((hits.grade == best).astype(np.float64))
