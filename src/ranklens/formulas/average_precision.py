"""Precision at the relevant documents, averaged in several ways."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.ratio import ratio
from ranklens.judging.judged import Judged
from ranklens.registry import Cutoff, Levels, Rel, Share, measure

RECALL_LEVELS = tuple(level / 10 for level in range(11))
_INFAP_EPSILON = 0.00001  # trec_eval's smoothing of an empty judged sample


@measure("AP", "MAP", "average_precision", "mean_average_precision", average_ties=True)
def average_precision(
    judged: Judged,
    *,
    k: Cutoff = None,
    rel: Rel = 1,
    norm: Literal["all", "min", "k"] = "all",
    interpolation: Literal["none", "trapezoid"] = "none",
) -> FloatArray:
    """The sum of the precision at each relevant document in the top k, divided by all relevant documents R.

    The mean over queries is MAP.

    ``norm=min`` divides by min(R, k) instead, so that 1 can be reached; ``norm=k`` by k.

    ``interpolation=trapezoid`` takes the mean of the precision just before and at each relevant document, the area under the curve of
    precision and recall, as landmark retrieval does.
    """
    whole: FloatArray = judged.total(rel)
    if norm == "min" and k:
        whole = np.minimum(whole, k)
    elif norm == "k" and k:
        whole = np.full(len(judged), float(k))
    if interpolation == "trapezoid":
        return ratio(_trapezoids(judged, rel, k), whole)
    return ratio(_precision_sum(judged, rel, k), whole)


def _trapezoids(judged: Judged, rel: float, k: int | None) -> FloatArray:
    hits = judged.relevant(rel).top(k)
    position, rank = hits.position(), hits.rank.astype(np.float64)
    before = np.where(rank == 1, 1.0, (position - 1) / np.maximum(rank - 1, 1))
    return hits.sum((before + position / rank) / 2)


@measure("LRAP", "label_ranking_average_precision")
def label_ranking_average_precision(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The mean precision at the relevant documents that were found in the top k.

    Documents that were not found do not count: scikit-learn's LRAP, and what torchmetrics calls MAP.
    """
    return ratio(_precision_sum(judged, rel, k), judged.relevant(rel).top(k).sum())


@measure("gm_AP", "gm_MAP", "GMAP", aggregate="geometric", average_ties=True)
def geometric_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP per query, averaged over queries by the geometric mean with a floor of 0.00001 (trec_eval's gm_map)."""
    return average_precision(judged, rel=rel)


@measure("IPrec", "iprec_at_recall", "iprec")
def interpolated_precision(
    judged: Judged, *, recall: Share, rel: Rel = 1, rounding: Literal["nearest", "trec9"] = "nearest"
) -> FloatArray:
    """The best precision at any rank at or beyond the given recall.

    A recall level becomes a number of documents by rounding half up, as in trec_eval 10.

    ``rounding=trec9`` takes int(r R + 0.9), as trec_eval 9 and pytrec_eval do.
    """
    hits = judged.relevant(rel)
    position = hits.position()
    wanted = recall * judged.total(rel)
    needed = np.floor(wanted + 0.9) if rounding == "trec9" else _round_half_up(wanted)
    enough = position >= needed[hits.query]
    return hits.where(enough).max((position / hits.rank)[enough])


@measure("AP11", "11pt_avg", "11pt")
def eleven_point_average(
    judged: Judged, *, rel: Rel = 1, levels: Levels = None, rounding: Literal["nearest", "trec9"] = "nearest"
) -> FloatArray:
    """The mean of the interpolated precision at recall 0, 0.1, … 1, or at the given ``levels``."""
    total = np.zeros(len(judged))
    for recall in reversed(levels or RECALL_LEVELS):  # from the end, as trec_eval adds up
        total += interpolated_precision(judged, recall=recall, rel=rel, rounding=rounding)
    return total / len(levels or RECALL_LEVELS)


@measure("infAP", "inferred_AP")
def inferred_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP estimated from a judged random sample of a pool (Yilmaz and Aslam 2006).

    A negative grade marks a document that was pooled but not judged; it is assumed to be relevant as often as the
    judged documents above it.
    """
    hits = judged.hits
    relevant = hits.grade >= rel
    pooled_above = hits.position() - 1
    judged_above = hits.cumulative((hits.grade >= 0).astype(np.float64)) - 1
    relevant_above = hits.cumulative(relevant.astype(np.float64)) - 1
    share_relevant = (relevant_above + _INFAP_EPSILON) / (judged_above + 2 * _INFAP_EPSILON)
    rank = hits.rank.astype(np.float64)
    # trec_eval multiplies and divides by the number of documents above, which decides about the last digit.
    expected = 1 / rank + (rank - 1) / rank * ratio(pooled_above, rank - 1) * share_relevant
    return ratio(hits.where(relevant).sum(expected[relevant]), judged.total(rel))


@measure("yaap", low=-np.inf, high=np.inf)
def yet_another_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP on a logarithmic scale: log((1 + s) / (1 + R - s)), with s the sum of precisions (Robertson 2012)."""
    total = _precision_sum(judged, rel)
    return np.log((1 + total) / (1 + judged.total(rel) - total))


def _precision_sum(judged: Judged, rel: float, k: int | None = None) -> FloatArray:
    hits = judged.relevant(rel).top(k)
    return hits.sum(hits.position() / hits.rank)


def _round_half_up(values: FloatArray) -> FloatArray:
    # Not floor(x + 0.5): the largest number below 0.5 plus 0.5 is 1 in floating point.
    whole = np.floor(values)
    return whole + (values - whole >= 0.5)
