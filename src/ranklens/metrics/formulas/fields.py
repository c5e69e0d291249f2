"""Measures of single fields: image-text retrieval, re-identification, landmarks, zero-shot benchmarks."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.judging.judged import Judged
from ranklens.judging.views import Surveyed
from ranklens.metrics import Cutoff, Rel, formula, measure, working
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.precision import PRECISION, success
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Single fields: images, re-identification"
WHEN = "For images, people and landmarks; presets hold the measures that these fields report."


@measure("CMC", average_ties=True, bounds="monotone")
@formula(r"\max_{i \le k} r_i")
@working("1 if a relevant document was found, else 0", FOUND, ideal="grade")
def cumulative_match(judged: Judged, *, k: Cutoff = 1, rel: Rel = 1) -> FloatArray:
    """Cumulative matching characteristic: 1 if a right match is in the top k, else 0. Re-identification's name for Success.

    Images of the same person by the same camera are taken out first: give them as ``junk``.
    """
    return success(judged, k=k, rel=rel)


@measure("MnR", "mean_rank", high=np.inf, better="lower")
@formula(r"\min \big( \{i : r_i = 1\} \cup \{n + 1\} \big)")
@working("the rank of the first relevant document", FOUND)
def mean_rank(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """The rank of the first relevant document; one below the last if none was retrieved. Averaged over queries, it is MnR."""
    hits = judged.relevant(rel)
    first = hits.sum(hits.first() * hits.rank)
    return np.where(first > 0, first, judged.retrieved + 1.0)


@measure("MedR", "median_rank", "med_r", aggregate="median", low=1, high=np.inf, better="lower")
@formula(r"\operatorname{median}_q \min \big( \{i : r_{qi} = 1\} \cup \{n_q + 1\} \big)")
@working("the rank of the first relevant document", FOUND)
def median_rank(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """The rank of the first relevant document, as in MnR; over queries, the median is taken, not the mean.

    Code that rounds the median down (vsepp, CLIP4Clip) differs where it lies halfway between two ranks.
    """
    return mean_rank(judged, rel=rel)


@measure("AP_R", "map_at_r", bounds="by rank")
@formula(r"\frac{1}{R} \sum_{i=1}^{R} r_i\, P_i", "musgrave2020")
@working(
    "sum of the precision at each relevant document in the top R / all relevant", PRECISION, ideal="grade"
)
def average_precision_at_r(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP within the first R ranks, R being the number of relevant documents: stricter than AP, and than precision at R."""
    total = judged.total(rel)
    hits = judged.relevant(rel).top(total.astype(np.int64))
    passages = judged.passages(hits, rel)
    return ratio(hits.sum(hits.position() / hits.rank * (1.0 if passages is None else passages)), total)


@measure("Hole", "hole_rate", better="neither")
@formula(
    r"\frac{|\{i \le k : \text{the document at rank } i \text{ is judged for no query}\}|}{k}", "thakur2021"
)
@working("retrieved documents that are judged for no query / k", every_rank_counts=True)
def hole(surveyed: Surveyed, *, k: Cutoff = 10) -> FloatArray:
    """The share of the top k that is judged for no query at all (BEIR's Hole), divided by k even if fewer were retrieved.

    Unjudged@k asks for judgments of the same query, and is never lower.
    """
    listing = surveyed.listing.top(k)
    holes = listing.sum((~surveyed.judged_anywhere[listing.doc]).astype(np.float64))
    return ratio(holes, surveyed.judged.retrieved if k is None else float(k))
