"""Preferences between judged documents: measures for incomplete judgments."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.ratio import ratio
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.registry import Cutoff, Rel, measure


@measure("Bpref")
def binary_preference(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """How often relevant documents rank above judged irrelevant ones (Buckley and Voorhees 2004), as in trec_eval.

    The mean over all R relevant documents of 1 - min(irrelevant above it, R) / min(irrelevant, R). Documents that are
    unjudged, or pooled but not judged (negative grade), do not count.
    """
    hits, total = judged.hits, judged.total(rel)
    irrelevant = (hits.grade >= 0) & (hits.grade < rel)
    above = hits.cumulative(irrelevant.astype(np.float64))
    bound = np.minimum(judged.total(0) - total, total)[hits.query]
    kept = 1 - ratio(np.minimum(above, total[hits.query]), bound)
    relevant = hits.grade >= rel
    return ratio(hits.where(relevant).sum(kept[relevant]), total)


@measure("gm_Bpref", aggregate="geometric")
def geometric_binary_preference(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Bpref per query, averaged over queries by the geometric mean with a floor of 0.00001."""
    return binary_preference(judged, rel=rel)


@measure("AUC", "roc_auc", "PairAccuracy", "pairwise_accuracy")
def area_under_curve(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The chance that a relevant document of the top k ranks above one that is not: the area under the ROC curve.

    It covers what was retrieved; unjudged documents count as not relevant, unless ``judged_only=true``. 0 if no relevant
    document was found, 1 if nothing else was. ir_measures calls it Accuracy.
    """
    return np.where(judged.relevant(rel).top(k).sum() > 0, 1 - ranking_loss(judged, k=k, rel=rel), 0.0)


@measure("RankingLoss", "label_ranking_loss", better="lower")
def ranking_loss(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The share of pairs of a relevant and another document in the top k that are in the wrong order: 1 - AUC.

    0 where there is no such pair, as in scikit-learn.
    """
    hits = judged.relevant(rel).top(k)
    retrieved = judged.retrieved if k is None else np.minimum(k, judged.retrieved)
    others = retrieved - hits.sum()
    return ratio(hits.sum(hits.rank - hits.position()), hits.sum() * others)


@measure("OPA", "ordered_pair_accuracy")
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


@measure("CoverageError", "coverage_error", high=np.inf, better="lower")
def coverage_error(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """How far down one has to read to see every relevant document that was retrieved: the rank of the last; 0 if there is none."""
    hits: Hits = judged.relevant(rel)
    return hits.max(hits.rank.astype(np.float64))
