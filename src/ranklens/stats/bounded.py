"""Intervals for means of values that lie between two ends, and for differences of such values.

Student's t fails where most values are at an end: eight successes of eight have no variance, yet the ninth query may fail.
``benchmarks/simulation.py`` counts how often each interval holds the truth.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.student import normal_quantile, root, t_quantile

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray

    Ends = tuple[FloatArray, FloatArray]

_NEAR = 3  # half-widths of the t interval: a mean closer to an end than that is near it
_PSEUDO = 0.5  # of a query, half of it at each end, is added to the variance
_FEW = 15  # queries that differ; with more, t is fine
_RARE = 3  # successes, or failures, that make Wilson's interval too sure of the end next to them


def student_half(deviation: FloatArray, n: int, level: float) -> FloatArray:
    """Half the width of Student's interval of a mean of n values with this standard deviation."""
    return np.asarray(t_quantile(n - 1, (1 + level) / 2) * deviation / n**0.5)


def wilson_ends(share: FloatArray, n: float | FloatArray, level: float) -> Ends:
    """Both ends of Wilson's interval of each share of n."""
    return wilson(np.asarray(share), n, normal_quantile((1 + level) / 2))


def wilson(share: FloatArray, n: float | FloatArray, z: float) -> Ends:
    """Wilson's interval with a quantile of one's own."""
    centre, half = share + z * z / (2 * n), z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    shrink = 1 + z * z / n
    low, high = (centre - half) / shrink, (centre + half) / shrink
    # Rounding must not leave the share outside.
    return np.maximum(np.minimum(low, share), 0.0), np.minimum(np.maximum(high, share), 1.0)


def modified_wilson_ends(hits: int, n: int, level: float) -> tuple[float, float]:
    """Both ends of Wilson's interval of a share, the one next to one, two or three hits or misses moved outwards.

    They count as a Poisson number: the farther end is the least rate that reaches it with a chance of 1 - level. At a level of 0.95, from
    25 queries on, Wilson's own interval covers some shares close to 0 or 1 in 0.837 of all samples; this one any share in 0.918 or more.

    L. D. Brown, T. T. Cai, A. DasGupta: Interval estimation for a binomial proportion, 2001. They take up to two for n up to 50.
    """
    low, high = (float(end) for end in wilson_ends(np.asarray(hits / n), n, level))
    if 0 < hits <= min(_RARE, n // 4):
        low = min(low, _least_rate(hits, 1 - level) / n)
    if 0 < n - hits <= min(_RARE, n // 4):
        high = max(high, 1 - _least_rate(n - hits, 1 - level) / n)
    return low, high


@lru_cache(maxsize=64)
def _least_rate(count: int, chance: float) -> float:
    """Of a Poisson distribution that is at ``count`` or above with this chance."""

    def excess(rate: float) -> float:
        below = math.exp(-rate) * sum(rate**i / math.factorial(i) for i in range(count))
        return 1 - below - chance

    return root(excess, 0, count + 40)


def score_ends(values: FloatArray, level: float, low: float, high: float) -> Ends:
    """Wilson's interval for values between two ends, over the last axis.

    A mean m of values between 0 and 1 has at most the variance m (1 - m) of values that are 0 or 1. So n such values say as much
    as n / c values that are 0 or 1, where c is the ratio of the variances. Half a query, divided between the two ends, is
    added to the variance, as what has not been seen yet; without it, a sample that misses the rare values would be too sure.
    """
    n, span = values.shape[-1], high - low
    shares = (values - low) / span
    quantile = t_quantile(n - 1, (1 + level) / 2)
    ends = moment_ends(shares.mean(axis=-1), (shares**2).mean(axis=-1), n, quantile)
    return low + span * ends[0], low + span * ends[1]


def moment_ends(mean: FloatArray, square: FloatArray, n: float, quantile: float) -> Ends:
    """The same for values between 0 and 1 of which the means of n, and of their squares, are known."""
    total = n + _PSEUDO
    centre = (n * mean + _PSEUDO / 2) / total
    variance = (n * square + _PSEUDO / 2) / total - centre**2
    ratio = np.clip(variance / (centre * (1 - centre)), 0, 1)
    return wilson(np.clip(mean, 0, 1), n / ratio, quantile)


def is_near(mean: FloatArray, half: FloatArray, low: float, high: float) -> BoolArray:
    """Whether a mean, with the half-width of its t interval, is so near an end that t is not to be trusted."""
    return np.asarray((mean - _NEAR * half < low) | (mean + _NEAR * half > high))


def is_binary(values: FloatArray, low: float, high: float) -> bool:
    """Whether all values are at one of the two ends."""
    return bool(np.isfinite(high - low) and ((values == low) | (values == high)).all())


def is_sparse(differ: IntArray, spread: FloatArray, n: int) -> BoolArray:
    """Whether so few of n queries differ that the variance of the differences is hardly known; or all by the same."""
    return np.asarray(((differ <= _FEW) & (2 * differ <= n)) | (spread == 0))


def sparse_ends(changes: FloatArray, level: float, reach: float) -> Ends:
    """Student's interval of each row of differences with two more queries, one that each system wins by a large difference.

    How large: the largest seen, and more if few were seen: 1 / (m + 1) of what is left up to ``reach`` for m differences.
    """
    padded = with_imagined_pair(changes, reach)
    mean, half = padded.mean(axis=-1), student_half(padded.std(axis=-1, ddof=1), padded.shape[-1], level)
    return mean - half, mean + half


def with_imagined_pair(changes: FloatArray, reach: float) -> FloatArray:
    """Each row of differences with two more queries, one that each system wins by a large difference, as :func:`sparse_ends` says."""
    largest, seen = np.abs(changes).max(axis=-1), np.count_nonzero(changes, axis=-1)
    if np.isfinite(reach):
        largest = largest + (reach - largest) / (seen + 1)
    return np.concatenate([changes, largest[..., None], -largest[..., None]], axis=-1)


def paired_proportion_ends(wins: IntArray, losses: IntArray, n: int, level: float) -> Ends:
    """Bonett and Price's interval for the difference of two paired proportions: Wald's with one more win and one more loss.

    D. G. Bonett, R. M. Price: Adjusted Wald confidence interval for a difference of binomial proportions based on paired data, 2012.
    """
    more, less = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = normal_quantile((1 + level) / 2) * np.sqrt((more + less - (more - less) ** 2) / (n + 2))
    return more - less - half, more - less + half
