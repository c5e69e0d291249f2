"""A user who reads down the ranking and stops somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Above, Chance, Cutoff, Rel, formula, measure, working
from ranklens.metrics.catalog import Columns, Unbounded
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.metrics.cuts import View

TITLE = "A user who reads down the ranking"
WHEN = "For a user who reads from the top and stops when satisfied, or tired."

MaxGrade: TypeAlias = Annotated[float | None, Above(0)]
Satisfaction: TypeAlias = Literal["exp", "linear"]


def _still_looking(view: View) -> FloatArray:
    hits = view.judged.hits
    ranks = np.union1d(hits.rank, view.ranks)
    grades = np.zeros(len(ranks))
    grades[np.searchsorted(ranks, hits.rank)] = hits.grade
    every = Hits(np.zeros(len(ranks), dtype=np.int64), ranks, grades, 1)
    stop = satisfied(every, highest_grade(view.judged, view.params["max_grade"]), view.params["gain"])
    return every.survival(stop)[np.searchsorted(ranks, view.ranks)]


SATISFACTION: Columns = {
    "satisfied": lambda view: satisfied(
        view.alone, highest_grade(view.judged, view.params["max_grade"]), view.params["gain"]
    ),
    "still looking": _still_looking,
}


def _weight(view: View) -> FloatArray:
    rel = view.params["rel"]
    return rank_biased_precision(view.alone_with(rel), p=view.params["p"], rel=rel)


WEIGHT: Columns = {"weight": _weight}


@measure("RR", "MRR", "recip_rank", "reciprocal_rank", average_ties=True, bounds="monotone")
@formula(r"\max_{i \le k} \frac{r_i}{i}", "voorhees1999")
@working("1 / rank of the first relevant document", FOUND, ideal="grade")
def reciprocal_rank(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """1 / rank of the first relevant document in the top k; 0 if there is none. The mean over queries is MRR."""
    hits = judged.relevant(rel).top(k)
    return hits.sum(hits.first() / hits.rank)


@measure("ERR", average_ties=True, bounds="monotone")
@formula(
    r"\sum_{i=1}^{k} \frac{s_i}{i} \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}",
    "chapelle2009",
)
@working("sum of satisfied · still looking / rank", SATISFACTION, ideal="grade")
def expected_reciprocal_rank(
    judged: Judged, *, k: Cutoff = None, max_grade: MaxGrade = None, gain: Satisfaction = "exp"
) -> FloatArray:
    """Expected reciprocal rank of the document that satisfies the user (Chapelle et al. 2009).

    A document of grade g satisfies with chance (2^g - 1) / 2^max_grade.

    ``gain=linear`` takes g / (max_grade + 1), as NTCIREVAL has it.

    ``max_grade`` defaults to the highest grade in the judgments (gdeval uses 4); higher grades count as ``max_grade``.
    """
    return _err(judged.hits.top(k), judged, max_grade, gain)


@measure("nERR", average_ties=True, like="ERR", bounds="by rank if binary")
@formula(r"\frac{\mathrm{ERR}_k}{\mathrm{ERR}^*_k}", "chapelle2009")
@working("{ERR} / {ideal ERR}", SATISFACTION, ideal="grade")
def normalized_expected_reciprocal_rank(
    judged: Judged, *, k: Cutoff = None, max_grade: MaxGrade = None, gain: Satisfaction = "exp"
) -> FloatArray:
    """ERR divided by the ERR of the ideal ranking cut at k."""
    best = _err(judged.ideal.top(k), judged, max_grade, gain)
    return ratio(_err(judged.hits.top(k), judged, max_grade, gain), best)


@measure("iRBU", average_ties=True, bounds="monotone")
@formula(
    r"\sum_{i=1}^{k} p^i s_i \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}", "sakai2019"
)
@working("sum of satisfied · still looking · p^rank", SATISFACTION, ideal="grade")
def intentwise_rank_biased_utility(
    judged: Judged,
    *,
    p: Chance = 0.99,
    k: Cutoff = None,
    max_grade: MaxGrade = None,
    gain: Satisfaction = "exp",
) -> FloatArray:
    """The chance that a document satisfies the user, who stops as in ERR, times p^rank for the effort (Sakai and Zeng 2019)."""
    hits, stop = satisfying(judged.hits.top(k), judged, max_grade, gain)
    return hits.sum(stop * hits.survival(stop) * np.power(p, hits.rank))


@measure(
    "RBP", {"rbp": {"p": 0.9, "gain": "linear", "scale": "query"}}, average_ties=True, bounds="rank-biased"
)
@formula(r"(1-p) \sum_{i=1}^{k} r_i\, p^{i-1}", "moffat2008")
@working("sum of the weights (1 - p) p^(rank - 1) of relevant documents", WEIGHT, ideal="grade")
def rank_biased_precision(
    judged: Judged,
    *,
    p: Chance = 0.8,
    k: Cutoff = None,
    rel: Rel = 1,
    gain: Literal["binary", "linear", "raw"] = "binary",
    scale: Literal["all", "query"] = "all",
    max_grade: MaxGrade = None,
) -> FloatArray:
    """Rank-biased precision: (1 - p) times the sum of p^(rank - 1) over the relevant documents (Moffat and Zobel 2008).

    ``gain=linear`` adds up grade / max_grade instead; ``max_grade`` defaults to the highest grade in the judgments, or
    with ``scale=query`` in those of the query, as trec_eval's rbp has it (with p = 0.9).

    ``gain=raw`` adds up the grades as they are, as ranx does, so that values can exceed 1.
    """
    hits = judged.hits.top(k)
    if gain == "raw":
        worth = np.where(hits.grade >= rel, hits.grade, 0.0)
    elif gain == "linear":
        best = judged.ideal.top(1)
        of_query = np.maximum(best.max(best.grade), 1.0)[hits.query]
        highest = of_query if scale == "query" else highest_grade(judged, max_grade)
        worth = np.clip(hits.grade / highest, 0, 1)
    else:
        worth = (hits.grade >= rel).astype(np.float64)
    return (1 - p) * hits.sum(worth * np.power(p, hits.rank - 1.0))


@measure(
    "RBPres",
    {"rbp_resid": {"p": 0.9}},
    better="neither",
    bounds=Unbounded("it is about the judgments themselves"),
)
@formula(
    r"(1-p) \sum_{i \le n :\, \text{unjudged}} p^{i-1} + p^n, \quad 0 \text{ if all are judged}", "moffat2008"
)
def rank_biased_residual(
    judged: Judged, *, p: Chance = 0.8, tail: Literal["unjudged", "always"] = "unjudged"
) -> FloatArray:
    """How much RBP could rise if every unjudged document, retrieved or beyond the end, were relevant.

    0 if every retrieved document is judged, as in trec_eval's rbp_resid.

    ``tail=always`` then also counts the documents beyond the end of the ranking.
    """
    hits = judged.hits.where(judged.hits.grade >= 0)
    powers = np.multiply.accumulate(np.append(1.0, np.full(judged.longest, p)))
    ends = np.cumsum(np.bincount(hits.query, minlength=len(judged)))
    residual = np.zeros(len(judged))
    for query, (retrieved, ranks) in enumerate(
        zip(judged.retrieved.tolist(), np.split(hits.rank, ends), strict=False)
    ):
        if len(ranks) < retrieved or tail == "always":
            # One power after the other, as trec_eval adds them.
            unjudged = np.append(powers[:retrieved], 0.0)
            unjudged[ranks - 1] = 0.0
            residual[query] = powers[retrieved] + (1 - p) * np.add.accumulate(unjudged)[-1]
    return residual


def _err(hits: Hits, judged: Judged, max_grade: float | None, gain: Satisfaction) -> FloatArray:
    hits, stop = satisfying(hits, judged, max_grade, gain)
    return hits.sum(stop * hits.survival(stop) / hits.rank)


def satisfying(
    hits: Hits, judged: Judged, max_grade: float | None, gain: Satisfaction
) -> tuple[Hits, FloatArray]:
    """The documents that may satisfy the user, and the chance that each does."""
    hits = hits.where(hits.grade > 0)
    return hits, satisfied(hits, highest_grade(judged, max_grade), gain)


def satisfied(hits: Hits, highest: float, gain: Satisfaction = "exp") -> FloatArray:
    """The chance that a document satisfies the user, who then stops."""
    if gain == "linear":
        return np.clip(hits.grade, 0, highest) / (highest + 1)
    stop: FloatArray = np.exp2(np.clip(hits.grade, 0, highest) - highest) - np.exp2(-highest)
    return stop


def highest_grade(judged: Judged, max_grade: float | None) -> float:
    """The grade that counts as the best: the one given, else the highest of the judgments."""
    return max_grade or judged.max_grade or 1.0
