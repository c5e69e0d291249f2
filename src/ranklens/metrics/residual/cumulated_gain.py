"""The lowest and highest nDCG that complete judgments could give: a relevant document helps the ranking and its ideal.

Write the gain of a document as a sum of steps, one for each level of gain that it reaches. Then both DCG and ideal DCG are sums over
the levels: of what the documents that reach it contribute by their ranks, and of the first n discounts. Best is to give the
higher gains to the first unjudged documents. The highest ratio is found by Dinkelbach's method: maximise DCG - t ideal DCG,
which can be done level by level, and take the ratio as the next t. The ratio is quasi-concave in the gains, so it is lowest
where every gain is 0 or the largest, and that for the last documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.judging.hits import Hits
from ranklens.metrics.formulas.gain import Discount, Gain, discounts, worth
from ranklens.metrics.formulas.ratio import ratio as ratio_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.metrics.residual.completion import Completion

_STEPS = 100  # of Dinkelbach's method, which needs about five


def ndcg_ends(
    part: Completion,
    *,
    k: int | None,
    gain: Gain,
    gains: Mapping[float, float] | None,
    discount: Discount | None,
    log_base: float | None,
) -> tuple[FloatArray, FloatArray]:
    """For each query the lowest and the highest nDCG; parameters are those of the measure."""
    longest = int(part.judged.retrieved.max(initial=0)) + int(
        np.bincount(part.judged.ideal.query).max(initial=0)
    )
    ranks = np.arange(1, max(longest, 1) + 1)
    worth_of_rank = 1 / discounts(Hits(ranks * 0, ranks, np.ones(len(ranks)), 1), discount, log_base)
    if k is not None:
        worth_of_rank[k:] = 0.0
    first = np.concatenate([[0.0], np.cumsum(worth_of_rank)])  # DCG of n documents of gain 1 at the top
    levels = np.unique(worth(Hits(ranks[:1], ranks[:1], part.levels, 1), gain, gains).grade)
    hits, ideal = worth(part.hits, gain, gains), worth(part.judged.ideal, gain, gains)
    low, high = np.zeros(len(part.judged)), np.zeros(len(part.judged))
    row, best = (
        np.searchsorted(hits.query, range(len(low) + 1)),
        np.searchsorted(ideal.query, range(len(low) + 1)),
    )
    for query in range(len(low)):
        rows = slice(row[query], row[query + 1])
        at, open_, judged = worth_of_rank[: rows.stop - rows.start], part.unjudged[rows], hits.grade[rows]
        reached = ideal.grade[best[query] : best[query + 1]]
        one = _Query(
            first=first,
            steps=np.diff(levels),
            known=np.array([(reached >= level).sum() for level in levels[1:]]),
            judged=float((judged * at)[~open_].sum()),
            unjudged=at[open_],
        )
        low[query], high[query] = one.lowest(), one.highest()
    return low, high


class _Query:
    """One query: discounts ``first``, summed over n, the ``steps`` between gains, how many judged documents reach each
    (``known``), the DCG of the ``judged`` documents, and the discounts of the ``unjudged`` ones, best first.
    """

    def __init__(
        self, first: FloatArray, steps: FloatArray, known: IntArray, judged: float, unjudged: FloatArray
    ) -> None:
        self.first, self.steps, self.known, self.judged, self.unjudged = first, steps, known, judged, unjudged

    def ideal(self, reached: IntArray) -> FloatArray:
        """The ideal DCG if n unjudged documents reach each level: the last axis."""
        return np.asarray((self.steps * self.first[self.known + reached]).sum(axis=-1))

    def lowest(self) -> float:
        """The last n unjudged documents have the largest gain."""
        added = np.concatenate([[0.0], np.cumsum(self.unjudged[::-1])])
        best = self.ideal(np.arange(len(added))[:, None])
        return float(ratio_of(self.judged + self.steps.sum() * added, best).min())

    def highest(self) -> float:
        """For each level, the first n unjudged documents reach it."""
        useful = self.unjudged[self.unjudged > 0]
        added = np.concatenate([[0.0], np.cumsum(useful)])
        ideal_of = self.first[self.known[:, None] + np.arange(len(added))]  # levels × how many reach it
        ratio = 0.0
        for _ in range(_STEPS):
            chosen = (added - ratio * ideal_of).argmax(axis=1)
            better = float(ratio_of(self.judged + (self.steps * added[chosen]).sum(), self.ideal(chosen)))
            if better <= ratio:
                break
            ratio = better
        return ratio
