"""Estimates from judgments of a random sample of the pool: what AP and nDCG would be if all of it had been judged."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.hits import Hits
from ranklens.judging.views import Sampled, Stratified
from ranklens.metrics import Cutoff, Inner, Rel, formula, measure, parse, working
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Judgments of a sample"
WHEN = (
    "For pools with judgments of a random sample only: values estimate those of the whole pool. "
    "See [judgments that know more](richer-judgments.md#judgments-of-a-sample)."
)

_EPSILON = 1e-5
_STRATA = r"\hat R = \sum_d r_d N_{s(d)} / n_{s(d)}, \quad N_s, n_s \text{ pooled and sampled documents of stratum } s"


@measure("xinfAP", "extended_infAP")
@formula(
    rf"\begin{{gathered}} \frac{{1}}{{\hat R}} \sum_{{i :\, r_i = 1}} \frac{{N_{{s(i)}}}}{{n_{{s(i)}}}} \cdot \frac{{1}}{{i}} \Big( 1 + \sum_s m_s \frac{{\rho_s + \varepsilon}}{{\nu_s + 3 \varepsilon}} \Big), \quad {_STRATA} \\ m_s, \nu_s, \rho_s \text{{ pooled, sampled and relevant ones above rank }} i, \ \varepsilon = 10^{{-5}} \end{{gathered}}",
    "yilmaz2008",
)
@working(
    "sum of the estimated precision at each relevant document · documents it represents / relevant, as estimated"
)
def extended_inferred_average_precision(pool: Stratified, *, rel: Rel = 1) -> FloatArray:
    """AP estimated from a pool in strata, each with its own rate of sampling (Yilmaz, Kanoulas and Aslam 2008).

    The precision at a sampled relevant document counts the pooled documents of each stratum above it, relevant as often as the sampled
    ones above it. Each document stands for all of its stratum that were not sampled. Values equal infAP of NIST's sample_eval.pl, as
    long as no more than 1,000 relevant documents are estimated.
    """
    hits, place = pool.hits, pool.stratum - np.searchsorted(pool.query, pool.hits.query)
    relevant, judged = hits.grade >= rel, hits.grade >= 0
    above = np.zeros(len(hits))
    for number in range(int(place.max(initial=-1)) + 1):
        pooled, found, seen = (
            hits.cumulative(which.astype(np.float64)) - which
            for which in (place == number, (place == number) & relevant, (place == number) & judged)
        )
        above += pooled * (found + _EPSILON) / (seen + 3 * _EPSILON)
    worth = pool.worth[pool.stratum]
    estimated = hits.where(relevant).sum(((1 + above) / hits.rank * worth)[relevant])
    return ratio(estimated, _relevant(pool.sampled, rel))


@measure("infNDCG", "inferred_nDCG", "inf_nDCG", high=np.inf)
@formula(
    r"\begin{gathered} \frac{1}{\mathrm{DCG}^*} \sum_s \frac{m_s}{\nu_s} \sum_{i \le k,\, s(i) = s} \frac{\max(g_i, 0)}{\log_2 (i+1)}, \quad m_s, \nu_s \text{ pooled and sampled ones of stratum } s \text{ in the top } k \\ \mathrm{DCG}^* \text{ of } \big\lfloor \textstyle\sum_{d :\, g_d = g} N_{s(d)} / n_{s(d)} + 1/2 \big\rfloor \text{ documents of each grade } g \end{gathered}",
    "yilmaz2008",
)
@working("estimated DCG / DCG of the estimated ideal ranking")
def inferred_ndcg(
    pool: Stratified, *, k: Cutoff = None, rounding: Literal["nearest", "down"] = "nearest"
) -> FloatArray:
    """The nDCG estimated from a pool in strata, each with its own rate of sampling (Yilmaz, Kanoulas and Aslam 2008).

    DCG adds up, for each stratum, the retrieved documents times the mean discounted gain of those that were sampled. The ideal ranking
    has as many documents of each grade as are estimated, rounded. The gain is the grade. Values are those of NIST's sample_eval.pl, which
    stops at k = 1000. An estimate can be above 1.

    ``rounding=down`` gives the ideal ranking of sample_eval.pl before October 2011: whole documents, at ranks that go on from fractions.
    """
    counted = np.ones(len(pool.hits), dtype=bool) if k is None else pool.hits.rank <= k
    stratum, grade, rank = pool.stratum[counted], pool.hits.grade[counted], pool.hits.rank[counted]
    n = len(pool.query)
    gain = np.bincount(stratum, np.maximum(grade, 0) / np.log2(rank + 1.0), n).astype(np.float64, copy=False)
    mean = ratio(gain, np.bincount(stratum[grade >= 0], minlength=n).astype(np.float64))
    dcg = np.bincount(pool.query, np.bincount(stratum, minlength=n) * mean, len(pool.judged))
    return ratio(
        dcg.astype(np.float64, copy=False), _ideal(pool.sampled, k, 0.5 if rounding == "nearest" else 0.0)
    )


def _ideal(sampled: Sampled, k: int | None, rounding: float) -> FloatArray:
    """The DCG of a ranking with as many documents of each grade as are estimated, best first."""
    n = len(sampled.judged)
    ideal, above = np.zeros(n), np.zeros(n)
    for grade in np.unique(sampled.sample.grade[sampled.sample.grade > 0])[::-1].tolist():
        here = sampled.sample.grade == grade
        estimated = np.bincount(sampled.sample.query[here], sampled.sample_weight[here], n)
        many = np.floor(estimated + rounding)
        sizes = many.astype(np.int64)
        query = np.repeat(np.arange(n), sizes)
        rank = above[query] + Hits(query, query, np.ones(len(query)), n).ordinal()
        counted = rank <= (k or np.inf)
        ideal += grade * np.bincount(query[counted], 1 / np.log2(rank[counted] + 1), n)
        above += many if rounding else estimated
    return ideal


@measure("statAP", "stat_AP", high=np.inf)
@formula(
    r"\frac{1}{\hat R} \sum_{i :\, r_i = 1} \frac{1}{\pi_i} \cdot \frac{1}{i} \Big( 1 + \sum_{j < i} \frac{r_j}{\pi_j} \Big), \quad \hat R = \sum_d \frac{r_d}{\pi_d}, \quad \pi \text{ probability of being sampled}",
    "pavlu2007",
)
@working(
    "sum of the estimated precision at each relevant document / its probability / relevant, as estimated"
)
def stat_average_precision(sample: Sampled, *, rel: Rel = 1) -> FloatArray:
    """AP estimated from documents that were drawn with known probabilities (Pavlu and Aslam 2007).

    A document that was drawn with probability p stands for 1 / p documents, in the precision at each rank and in the number of relevant
    documents. Values are those of statAP_MQ_eval.pl (TREC's Million Query and Web tracks). An estimate can be above 1.
    """
    relevant = sample.hits.grade >= rel
    hits, weight = sample.hits.where(relevant), sample.weight[relevant]
    precision = (1 + hits.cumulative(weight) - weight) / hits.rank
    return ratio(hits.sum(precision * weight), _relevant(sample, rel))


# Those whose numerator is a sum over documents, each by its rank and grade alone.
ADDITIVE = ("CG", "nCG", "DCG", "nDCG", "P", "R", "RBP", "SetP", "SetR")


@measure("HT", "horvitz_thompson", high=np.inf)
@formula(
    r"\sum_i \frac{M_i}{\pi_i}, \quad M_i \text{ what document } i \text{ adds to the measure}, \ \pi_i \text{ its probability of being sampled}",
    "horvitz1952",
)
@working("the measure, with each sampled document counted as often as it represents others")
def horvitz_thompson(sample: Sampled, *, of: Inner) -> FloatArray:
    """Any measure that adds up documents, estimated from a random sample of the pool: ``HT(nDCG@10)`` (Horvitz and Thompson 1952).

    A document that was drawn with probability p stands for 1 / p documents, in the ranking and among all judged documents, so that the number of
    relevant documents and the ideal ranking are estimates as well. Sums such as DCG are right on average; ratios such as nDCG and R are so for
    large samples. An estimate can be above 1. Available for CG, nCG, DCG, nDCG, P, R, RBP, SetP and SetR.
    """
    inner = parse(of)
    if inner.name not in ADDITIVE:
        raise MeasureError(
            f"HT({inner}) is not available: {inner.name} is no sum over documents. Choose one of {', '.join(ADDITIVE)}; xinfAP and statAP estimate AP."
        )
    return inner(sample.estimated)


def _relevant(sample: Sampled, rel: float) -> FloatArray:
    """How many relevant documents there are, as estimated."""
    relevant = sample.sample.grade >= rel
    return sample.sample.where(relevant).sum(sample.sample_weight[relevant])
