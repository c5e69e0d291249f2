"""How well the standard deviation of differences is known, on which the size of an evaluation depends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.clusters import Clusters, cluster_interval
from ranklens.stats.intervals import Bounds, Interval, interval

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

_TRIMMED = 4  # values, from which on Bonett's centre is a trimmed mean


def deviation_interval(
    changes: FloatArray, *, level: float = 0.95, most: float = np.inf, clusters: Clusters | None = None
) -> Interval:
    """The interval of the root mean square of the standard deviations of rows.

    ``most`` is the largest difference there can be: the squared deviations then have known ends, and the interval is that of
    their mean (:func:`~ranklens.stats.interval`), which holds even if a few queries cause nearly all of the variance. Without it, it is
    Bonett's (2006), which allows for the kurtosis observed. The chi-square interval holds for normal differences only.

    >>> print(deviation_interval(np.array([[0.1, -0.05, 0.2, 0.0, 0.15, -0.1]]), most=1.0))
    [0.0152, 0.6814]
    """
    n = changes.shape[1]
    apart = changes - changes.mean(axis=1, keepdims=True)
    squares = (apart**2).mean(axis=0) * n / (n - 1)
    if not np.isfinite(most):
        return _kurtosis_interval(changes, apart, level)
    bounds = Bounds(0.0, most**2)
    squares = np.minimum(squares, bounds.high)
    found = (
        interval(squares, level=level, bounds=bounds)
        if clusters is None
        else cluster_interval(squares, clusters, level=level, bounds=bounds)
    )
    return Interval(max(found.low, 0.0) ** 0.5, found.high**0.5, level, found.method)


def _kurtosis_interval(changes: FloatArray, apart: FloatArray, level: float) -> Interval:
    """D. G. Bonett: Approximate confidence interval for standard deviation of nonnormal distributions, 2006."""
    from scipy.special import ndtri

    n, z = changes.shape[1], float(ndtri((1 + level) / 2))
    cut = int(n * 0.5 / (n - _TRIMMED) ** 0.5) if n > _TRIMMED + 1 else 0
    centre = np.sort(changes, axis=1)[:, cut : n - cut].mean(axis=1, keepdims=True)
    kurtosis = changes.size * ((changes - centre) ** 4).sum() / (apart**2).sum() ** 2
    scale = n / max(n - z, 1.0)
    error = scale * (max(kurtosis - (n - 3) / n, 0.0) / (n - 1)) ** 0.5
    variance = float(changes.var(axis=1, ddof=1).mean())
    low, high = (float(np.exp((np.log(scale * variance) + side * z * error) / 2)) for side in (-1, 1))
    return Interval(low, high, level, "bonett")
