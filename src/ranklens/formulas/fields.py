"""Measures of single fields: image-text retrieval, re-identification, landmarks."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.precision import success
from ranklens.formulas.ratio import ratio
from ranklens.judging.judged import Judged
from ranklens.registry import Cutoff, Rel, measure


@measure("CMC", average_ties=True)
def cumulative_match(judged: Judged, *, k: Cutoff = 1, rel: Rel = 1) -> FloatArray:
    """Cumulative matching characteristic: 1 if a right match is in the top k, else 0. Re-identification's name for Success.

    Images of the same person by the same camera are taken out first: give them as ``junk``.
    """
    return success(judged, k=k, rel=rel)


@measure("MnR", "mean_rank", high=np.inf, better="lower")
def mean_rank(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """The rank of the first relevant document; one below the last if none was retrieved. Averaged over queries, it is MnR."""
    hits = judged.relevant(rel)
    found = hits.sum(hits.first() * hits.rank)
    return np.where(found > 0, found, judged.retrieved + 1.0)


@measure("AP_R", "map_at_r")
def average_precision_at_r(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP within the first R ranks, R being the number of relevant documents: stricter than AP, and than precision at R."""
    total = judged.total(rel)
    hits = judged.relevant(rel).top(total.astype(np.int64))
    return ratio(hits.sum(hits.position() / hits.rank), total)
