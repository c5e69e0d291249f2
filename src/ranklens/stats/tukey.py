"""Tukey's honest significant difference: all pairs of systems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.judged import FloatArray
    from ranklens.stats.inputs import Rng


@dataclass(frozen=True)
class TukeyResult:
    """A p-value for each pair of systems, corrected for all of them.

    ``p_values[i, j]`` belongs to ``differences[i, j]``, the mean of system j less that of system i.
    """

    p_values: FloatArray
    differences: FloatArray
    method: str
    n: int
    resamples: int | None = None


def tukey_hsd(
    scores: Any, *, paired: bool = True, randomized: bool = False, rng: Rng = None, resamples: int = 10_000
) -> TukeyResult:
    """Tukey's HSD over all pairs of systems.

    >>> tukey_hsd([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.9, 0.8, 0.7]]).p_values.round(3)
    array([[1.   , 1.   , 0.007],
           [1.   , 1.   , 0.007],
           [0.007, 0.007, 1.   ]])
    """
    values = inputs.matrix(scores, "scores")
    k, n = values.shape
    means = values.mean(axis=1)
    gaps = means - means[:, None]
    if randomized:
        p = _randomized(values, np.abs(gaps), inputs.generator(rng), inputs.count(resamples, "resamples"))
        return TukeyResult(p, gaps, "randomized tukey", n, resamples)
    from scipy.stats import studentized_range

    residuals = values - means[:, None]
    if paired:
        residuals = residuals - residuals.mean(axis=0)
    freedom = (k - 1) * (n - 1) if paired else k * (n - 1)
    p = np.ones((k, k))
    error = np.sqrt((residuals**2).sum() / freedom / n) if freedom else 0.0
    if error:
        upper = np.triu_indices(k, 1)
        p[upper] = studentized_range.sf(np.abs(gaps[upper]) / error, k, freedom)
        p = np.minimum(p, p.T)
    return TukeyResult(p, gaps, "tukey" if paired else "unpaired tukey", n)


def _randomized(values: FloatArray, gaps: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    ranges = np.empty(resamples)
    for i in range(resamples):
        ranges[i] = np.ptp(rng.permuted(values, axis=0).mean(axis=1))
    ranges.sort()
    far = resamples - np.searchsorted(ranges, gaps - 1e-12)
    p: FloatArray = (far + 1) / (resamples + 1)
    np.fill_diagonal(p, 1)
    return p
