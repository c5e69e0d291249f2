"""Preferences between judged documents: measures for incomplete judgments."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.ratio import ratio
from ranklens.judging.judged import Judged
from ranklens.registry import Rel, measure


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
