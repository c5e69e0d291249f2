"""Resampling of values that are given with their counts: how often each is there, not where.

Ten million queries have few different values of most measures. A sample drawn from all of them with replacement is a draw of how
often each value comes (multinomial), and flipping signs at random is a draw of how many of each value are flipped (binomial). So
the work depends on the number of different values, not on that of queries, and the distribution is exactly the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.intervals import Bounds, Interval, bootstrap_ends, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

COUNTED = 200_000  # queries, beyond which the bootstrap draws from counts of equal differences
BINS = 1 << 12  # different values at most; more are put into as many bins
_DRAWN = 1 << 20  # numbers at once


def counts_of(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different values and how often each occurs; if there are too many, the means of bins of equal width.

    >>> counts_of(np.array([0.5, 0.0, 0.5]))
    (array([0. , 0.5]), array([1, 2]))
    """
    different, counts = np.unique(values, return_counts=True)
    if len(different) <= BINS:
        return different, counts
    low, high = different[0], different[-1]
    place = np.minimum(((different - low) * (BINS / (high - low))).astype(np.int64), BINS - 1)
    place[different == 0] = BINS  # queries in which systems do not differ stay apart
    members = np.bincount(place, counts, BINS + 1)
    filled = np.flatnonzero(members)
    sums = np.bincount(place, different * counts, BINS + 1)
    return sums[filled] / members[filled], members[filled].astype(np.int64)


def sign_flip_p_of_counts(
    values: FloatArray, counts: IntArray, rng: np.random.Generator, resamples: int
) -> float:
    """The share of random signs with a sum at least as far from 0 as the observed one, which is counted with them.

    >>> values, counts = np.array([-0.1, 0.1, 0.2]), np.array([300, 310, 20])
    >>> p = sign_flip_p_of_counts(values, counts, np.random.default_rng(0), 2000)
    >>> 0.01 < p < 0.15
    True
    """
    sizes, place = np.unique(np.abs(values), return_inverse=True)
    of_size = np.bincount(place, counts).astype(np.int64)
    observed = abs(float(values @ counts))
    noise = inputs.NOISE * float(sizes @ of_size)  # equal but for rounding is as far
    far = 0
    for rows in _in_parts(resamples, len(sizes)):
        flipped = rng.binomial(of_size, 0.5, (rows, len(sizes)))
        far += int((np.abs((of_size - 2 * flipped) @ sizes) >= observed - noise).sum())
    return (far + 1) / (resamples + 1)


def bootstrap_p_of_counts(
    values: FloatArray, counts: IntArray, rng: np.random.Generator, resamples: int
) -> float:
    """How often a sample of the values, shifted to mean 0, has a t as far off as the observed one."""
    n = int(counts.sum())
    mean = float(values @ counts) / n
    centred = values - mean
    deviation = float((centred**2 @ counts) / (n - 1)) ** 0.5
    observed, noise = abs(mean) / deviation * n**0.5, inputs.NOISE * np.abs(values).max()
    far = 0
    for drawn in _samples(counts, rng, resamples):
        means, squares = drawn @ centred / n, drawn @ centred**2 / n
        error = np.sqrt(np.maximum(squares - means**2, 0) / (n - 1))
        far += int((np.abs(means) >= observed * error - noise).sum())
    return (far + 1) / (resamples + 1)


def bootstrap_interval_of_counts(
    values: FloatArray,
    counts: IntArray,
    *,
    method: str = "percentile",
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    rng: Rng = None,
    resamples: int = 10_000,
) -> Interval:
    """As :func:`ranklens.stats.interval` with ``percentile`` or ``bca`` gives it for the values one by one.

    >>> print(bootstrap_interval_of_counts(np.array([0.0, 1.0]), np.array([50, 50]), rng=0))
    [0.4000, 0.6000]
    """
    n = int(counts.sum())
    drawn = _samples(counts, inputs.generator(rng), resamples)
    means = np.concatenate([part @ values / n for part in drawn])
    return within(bounds, bootstrap_ends(values, means, method, level, counts))


def _samples(counts: IntArray, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    """How often each value is in a sample of as many values: one sample per row, some rows at a time."""
    n = int(counts.sum())
    for rows in _in_parts(resamples, len(counts)):
        yield rng.multinomial(n, counts / n, rows).astype(np.float64)


def _in_parts(resamples: int, width: int) -> Iterator[int]:
    at_once = max(1, _DRAWN // width)
    for start in range(0, resamples, at_once):
        yield min(at_once, resamples - start)
