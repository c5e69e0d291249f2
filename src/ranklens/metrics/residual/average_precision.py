"""The lowest and highest AP that complete judgments could give, of a whole ranking.

Of all ways to choose n unjudged documents, the first ones are the best, the last ones the worst. From one number to the next, a
document is added: it brings its own precision, and raises that of every relevant document below it. So all numbers take one pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.metrics.formulas.ratio import ratio as ratio_of

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.metrics.residual.completion import Completion


def ap_ends(part: Completion, rel: float) -> tuple[FloatArray, FloatArray]:
    """For each query the lowest and the highest AP without a cutoff."""
    n = len(part.judged)
    low, high = np.zeros(n), np.zeros(n)
    edges = np.searchsorted(part.hits.query, range(n + 1))
    ideal = part.judged.ideal
    relevant = np.bincount(ideal.query[ideal.grade >= rel], minlength=n)
    is_relevant = part.hits.grade >= rel
    for query in range(n):
        rows = slice(edges[query], edges[query + 1])
        open_ = part.unjudged[rows] if part.top >= rel else np.zeros(rows.stop - rows.start, dtype=bool)
        low[query], high[query] = _ends(is_relevant[rows], open_, int(relevant[query]))
    return low, high


def _ends(relevant: BoolArray, unjudged: BoolArray, known: int) -> tuple[float, float]:
    """``known`` counts all relevant documents, also those that were not retrieved."""
    rank = np.arange(1, len(relevant) + 1)
    share = np.where(relevant, 1 / rank, 0.0)
    above = np.cumsum(relevant)  # relevant documents so far
    below = share.sum() - np.cumsum(
        share
    )  # what one more relevant document adds to the precision of those below it
    now, place = float((above * share).sum()), np.flatnonzero(unjudged)
    number = np.arange(1, len(place) + 1)
    # From the top, all documents added before are above; from the bottom, all are below.
    first = (above[place] + number) / rank[place] + below[place]
    from_below = place[::-1]
    added = np.cumsum(1 / rank[from_below]) - 1 / rank[from_below]
    last = (above[from_below] + 1) / rank[from_below] + below[from_below] + added
    total = known + np.arange(len(place) + 1)
    best = ratio_of(now + np.concatenate([[0.0], np.cumsum(first)]), total)
    worst = ratio_of(now + np.concatenate([[0.0], np.cumsum(last)]), total)
    return float(min(worst.min(), best.min())), float(max(best.max(), worst.max()))
