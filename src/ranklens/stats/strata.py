"""The mean of group means, where each group of queries counts the same, however many queries it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.intervals import Bounds, Interval, interval

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray


def macro_interval(
    groups: Sequence[FloatArray],
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
) -> Interval:
    """Student's t interval of the mean of group means, with Welch's degrees of freedom.

    The groups are taken as they are: other queries of the same groups are what it speaks about. A group of one query has no
    variance and uses the pooled one; where all are such, the interval is that of the plain mean.

    >>> macro_interval([np.array([0.2, 0.4]), np.array([0.6, 0.8, 0.7])])
    Interval(low=0.2011..., high=0.7988..., level=0.95, method='t', clipped=False)
    """
    sizes = np.array([len(group) for group in groups])
    if len(groups) == 1 or (sizes == 1).all():
        return interval(np.concatenate(list(groups)), level=level, bounds=bounds)
    from scipy.special import stdtrit

    squares = np.array([((group - group.mean()) ** 2).sum() for group in groups])
    pooled = squares.sum() / (sizes - 1).sum()
    variance = np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), pooled) / sizes
    freedom = np.where(sizes > 1, sizes - 1, (sizes - 1).sum())
    mean = float(np.mean([group.mean() for group in groups]))
    half = 0.0
    if variance.any():
        error = variance.sum() ** 0.5 / len(groups)
        half = float(error * stdtrit(variance.sum() ** 2 / (variance**2 / freedom).sum(), (1 + level) / 2))
    low, high = max(bounds.low, mean - half), min(bounds.high, mean + half)
    return Interval(float(low), float(high), level, clipped=bool(low > mean - half or high < mean + half))
