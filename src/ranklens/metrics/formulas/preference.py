"""Preferences between judged documents: measures for incomplete judgments."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Chance, Cutoff, Rel, formula, measure, working
from ranklens.metrics.catalog import Unbounded
from ranklens.metrics.formulas.counts import FOUND, IRRELEVANT_ABOVE
from ranklens.metrics.formulas.ratio import ratio
from ranklens.metrics.formulas.tied import Groups, groups_for_last, last_rank
from ranklens.metrics.formulas.tied import ranking_loss as tied_loss

TITLE = "Preferences"
WHEN = "For judgments with holes, for pairs in which one document is better, and for scores that should order pairs."

ANY = float(np.nextafter(0, 1))  # the lowest grade that counts


@measure("Bpref", bounds=Unbounded("it leaves unjudged documents out by design"))
@formula(
    r"\frac{1}{R} \sum_i r_i \left( 1 - \frac{\min(R, \bar r_{<i})}{\min(R, N)} \right), \quad N \text{ judged irrelevant, } \bar r_{<i} \text{ of them above } i",
    "buckley2004",
)
@working(
    "sum of 1 - min(irrelevant above, R) / min(irrelevant, R) over relevant documents / R",
    IRRELEVANT_ABOVE,
    ideal="grade",
)
def binary_preference(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """How often relevant documents rank above judged irrelevant ones (Buckley and Voorhees 2004), as in trec_eval.

    The mean over all R relevant documents of 1 - min(irrelevant above it, R) / min(irrelevant, R). Documents that are
    unjudged, or pooled but not judged (negative grade), do not count.
    """
    hits, total = judged.hits, judged.total(rel)
    irrelevant = (hits.grade >= 0) & (hits.grade < rel)
    above = hits.cumulative(irrelevant.astype(np.float64))
    bound = np.minimum(judged.total(0) - total, total)[hits.query]
    credit = 1 - ratio(np.minimum(above, total[hits.query]), bound)
    relevant = hits.grade >= rel
    relevant_hits = hits.where(relevant)
    passages = judged.passages(relevant_hits, rel)
    return ratio(
        relevant_hits.sum(credit[relevant] if passages is None else credit[relevant] * passages), total
    )


@measure("gm_Bpref", aggregate="geometric", bounds=Unbounded("it leaves unjudged documents out by design"))
@formula(r"\exp \frac{1}{|Q|} \sum_{q \in Q} \ln \max(\mathrm{Bpref}_q, 10^{-5})", "buckley2004")
@working(columns=IRRELEVANT_ABOVE, ideal="grade")
def geometric_binary_preference(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Bpref per query, averaged over queries by the geometric mean with a floor of 0.00001."""
    return binary_preference(judged, rel=rel)


@measure("AUC", "roc_auc", "PairAccuracy", "pairwise_accuracy", average_ties=True)
@formula(
    r"\frac{|\{(i, j) : i < j,\ r_i = 1,\ r_j = 0\}|}{|\{(i, j) : r_i = 1,\ r_j = 0\}|}, \quad i, j \le \min(k, n), \quad 1 \text{ if all are relevant}"
)
@working("1 - pairs in the wrong order / pairs", FOUND, every_rank_counts=True)
def area_under_curve(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, only_relevant: Literal["one", "zero"] = "one"
) -> FloatArray:
    """The chance that a relevant document of the top k ranks above one that is not: the area under the ROC curve.

    It covers what was retrieved; unjudged documents count as not relevant, unless ``judged_only=true``. 0 if no relevant
    document was found, 1 if nothing else was. ir_measures calls it Accuracy. With ``ties="average"``, a pair that ties counts half.

    ``only_relevant=zero`` is 0 where nothing else was found, as in torchmetrics.
    """

    def value(relevant: FloatArray, others: FloatArray, loss: FloatArray) -> FloatArray:
        kept = (relevant > 0) & ((others > 0) | (only_relevant == "one"))
        return np.where(kept, 1 - loss, 0.0)

    if judged.hits.spread is not None:

        def of_groups(groups: Groups) -> FloatArray:
            relevant = groups.total(groups.relevant)
            return value(relevant, groups.cut - relevant, tied_loss(groups))

        return Groups.of(judged, k, rel).expected(of_groups)
    relevant_hits = judged.relevant(rel).top(k).sum()
    retrieved = judged.retrieved if k is None else np.minimum(k, judged.retrieved)
    return value(relevant_hits, retrieved - relevant_hits, ranking_loss(judged, k=k, rel=rel))


@measure("RankingLoss", "label_ranking_loss", "ranking_loss", average_ties=True, better="lower")
@formula(
    r"\frac{|\{(i, j) : j < i,\ r_i = 1,\ r_j = 0\}|}{|\{(i, j) : r_i = 1,\ r_j = 0\}|}, \quad i, j \le \min(k, n)"
)
@working("pairs in the wrong order / pairs", FOUND, every_rank_counts=True)
def ranking_loss(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, tied: Literal["last"] | None = None
) -> FloatArray:
    """The share of pairs of a relevant and another document in the top k that are in the wrong order: 1 - AUC.

    0 where there is no such pair, as in scikit-learn. With ``ties="average"``, a pair that ties counts half.

    ``tied=last`` counts it in full, as scikit-learn does; it needs ``ties="average"``.
    """
    if tied == "last":
        return tied_loss(groups_for_last(judged, k, rel, "RankingLoss"), last=True)
    if judged.hits.spread is not None:
        return Groups.of(judged, k, rel).expected(tied_loss)
    hits = judged.relevant(rel).top(k)
    retrieved = judged.retrieved if k is None else np.minimum(k, judged.retrieved)
    others = retrieved - hits.sum()
    return ratio(hits.sum(hits.rank - hits.position()), hits.sum() * others)


@measure("OPA", "ordered_pair_accuracy")
@formula(
    r"\frac{|\{(i, j) : i < j \le k,\ g_i > g_j\}|}{|\{(i, j) : i < j \le k,\ g_i \ne g_j\}|}, \quad i, j \text{ judged}"
)
@working("pairs in the right order / pairs with different grades")
def ordered_pair_accuracy(judged: Judged, *, k: Cutoff = None) -> FloatArray:
    """The share of pairs of judged documents in the top k with different grades that are in the right order.

    TF-Ranking's OPA; 0 where there is no such pair.
    """
    hits = judged.relevant(0).top(k)
    right, pairs = np.zeros(len(judged)), np.zeros(len(judged))
    for grade in np.unique(hits.grade).tolist():
        lower, here = hits.grade < grade, hits.grade == grade
        below = hits.where(lower).sum()[hits.query] - hits.cumulative(lower.astype(np.float64))
        right += hits.where(here).sum(below[here])
        pairs += hits.where(here).sum() * hits.where(lower).sum()
    return ratio(right, pairs)


@measure("CoverageError", "coverage_error", high=np.inf, average_ties=True, better="lower")
@formula(r"\max \{ i : r_i = 1 \}")
@working("the rank of the last relevant document", FOUND)
def coverage_error(judged: Judged, *, rel: Rel = 1, tied: Literal["last"] | None = None) -> FloatArray:
    """How far down one has to read to see every relevant document that was retrieved: the rank of the last; 0 if there is none.

    ``tied=last`` gives tied documents the last rank of their group, as scikit-learn does; it needs ``ties="average"``.
    """
    if tied == "last":
        return last_rank(groups_for_last(judged, None, rel, "CoverageError"), last=True)
    if judged.hits.spread is not None:
        return Groups.of(judged, None, rel).expected(last_rank)
    hits: Hits = judged.relevant(rel)
    return hits.max(hits.rank.astype(np.float64))


@measure("Compat", "compatibility")
@formula(
    r"\max_{I} \frac{\sum_i p^{i-1} |S_{1:i} \cap I_{1:i}| / i}{\sum_i p^{i-1} |I_{1:i}| / i}, \quad i \le \max(n, |I|), \quad I \text{ over ideal rankings}",
    "clarke2020",
    "clarke2021",
)
@working("rank-biased overlap with the closest ideal ranking / that of the ideal ranking with itself")
def compatibility(judged: Judged, *, p: Chance = 0.95, normalize: bool = True) -> FloatArray:
    """The rank-biased overlap of the ranking with the ideal one that is closest to it (Clarke et al. 2020).

    The ideal ranking holds the documents with a positive grade, best first, those of one grade in the order of the run.
    The overlap is divided by that of the ideal ranking with itself, so that 1 can be reached.

    ``normalize=false`` gives the overlap itself.
    """
    hits, ideal = judged.relevant(ANY), judged.ideal.relevant(ANY)
    length = np.bincount(ideal.query, minlength=len(judged))
    depth = np.maximum(judged.retrieved, length)
    ranks = np.arange(1, int(depth.max(initial=1)) + 1)
    # A document is in both rankings from the later of its two ranks on: what that adds is a difference of two sums.
    weight = np.concatenate([np.zeros(1), np.cumsum(np.power(p, ranks - 1.0) / ranks)])
    later = np.maximum(hits.rank, _ideal_rank(hits, ideal))
    overlap = hits.sum(weight[depth[hits.query]] - weight[later - 1])
    whole = ideal.sum(weight[depth[ideal.query]] - weight[ideal.rank - 1])
    every = (1 - np.power(p, depth)) / (1 - p)
    return ratio(overlap, whole if normalize else every)


def _ideal_rank(hits: Hits, ideal: Hits) -> IntArray:
    """The rank of each document in the ideal ranking, in which documents of one grade are in the order of ``hits``."""
    order = np.lexsort((hits.rank, -hits.grade, hits.query))
    query, grade = hits.query[order], hits.grade[order]
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(grade, prepend=np.nan) != 0)
    first = np.flatnonzero(new)
    within = np.arange(len(order)) - first[np.cumsum(new) - 1]
    better = np.zeros(len(order), np.int64)
    for level in np.unique(grade).tolist():
        here = grade == level
        better[here] = np.bincount(ideal.query[ideal.grade > level], minlength=hits.n_queries)[query[here]]
    rank = np.empty(len(order), np.int64)
    rank[order] = better + within + 1
    return rank
