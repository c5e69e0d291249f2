"""Intervals that hold together, and tests that never disagree with them: the largest t of all pairs (single-step max-t)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

RESAMPLES = 10_000
_CELLS = 1 << 22  # t values held at once


@dataclass(frozen=True)
class Simultaneous:
    """Differences of pairs with intervals that all hold at once with probability ``level``, and their adjusted p-values.

    An interval excludes 0 exactly if ``adjusted_p`` is at most ``1 - level``. ``critical`` is the number of standard errors.
    """

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    adjusted_p: FloatArray
    critical: float
    level: float


def simultaneous(
    scores: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    level: float = 0.95,
    parts: int = 1,
    rng: Rng = None,
    resamples: int = RESAMPLES,
) -> Simultaneous:
    """Intervals of the differences between rows of ``scores`` (systems × queries) that hold together.

    Signs of the queries' deviations are drawn at random, the same for all pairs, and the largest t of all pairs is kept (the wild
    bootstrap; Westfall and Young's single step). So pairs that share a system need less correction than Bonferroni's.
    ``parts`` is the number of such families (slices) that hold together.

    >>> scores = np.array([[0.1, 0.4, 0.3, 0.5], [0.2, 0.4, 0.5, 0.9], [0.3, 0.3, 0.4, 0.4]])
    >>> found = simultaneous(scores, np.array([0, 0, 1]), np.array([1, 2, 2]), rng=0)
    >>> bool(((found.low > 0) | (found.high < 0)).any()), found.difference.round(3).tolist()
    (False, [0.175, 0.025, -0.15])
    """
    values = inputs.matrix(scores, "scores")
    alpha = 1 - inputs.share(level, "level")
    if values.shape[1] < 2:
        raise InputError("Simultaneous intervals need at least two queries.")
    change = inputs.differences(values[first], values[second])
    n, mean, error = change.shape[1], change.mean(axis=1), change.std(axis=1, ddof=1) / change.shape[1] ** 0.5
    varies = error > 0
    largest = np.sort(_largest_t(change[varies], inputs.generator(rng), inputs.count(resamples, "resamples")))
    t = np.where(mean == 0, 0.0, np.inf)
    np.divide(np.abs(mean), error, out=t, where=varies)
    # The sample itself counts as one of the draws, so that p is never 0.
    p = parts * (len(largest) - np.searchsorted(largest, t * (1 - 1e-12)) + 1) / (len(largest) + 1)
    p[~varies & (mean != 0)] = min(
        1.0, parts * len(change) * 2.0 ** (1 - n)
    )  # by signs: t knows no variation
    p = np.minimum(p, 1.0)
    place = int(np.floor(alpha / parts * (len(largest) + 1)))  # so many may be as large
    critical = float(largest[-place]) if 0 < place <= len(largest) else np.inf
    half = np.where(varies, critical * error, 0.0) if np.isfinite(critical) else np.full(len(change), np.inf)
    return Simultaneous(mean, mean - half, mean + half, p, critical, level)


def _largest_t(change: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """The largest absolute t of all rows, for random signs of the columns of centred differences."""
    if not len(change):
        return np.zeros(resamples)
    return np.concatenate(list(_largest_parts(change, rng, resamples)))


def _largest_parts(change: FloatArray, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    n = change.shape[1]
    centred = change - change.mean(axis=1, keepdims=True)
    squares = (centred**2).sum(axis=1)
    at_once = max(1, min(resamples, _CELLS // max(len(change), n)))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        signs = rng.integers(0, 2, (rows, n), dtype=np.int8) * 2.0 - 1.0
        sums = signs @ centred.T
        spread = np.maximum(squares - sums**2 / n, 1e-300) / (n - 1)  # signs do not change the squares
        yield np.sqrt((sums**2 / n / spread).max(axis=1))
