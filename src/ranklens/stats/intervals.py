"""Intervals of a mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranklens.stats import inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens.judged import FloatArray
    from ranklens.stats.inputs import Rng

INTERVALS = ("t", "percentile", "bca")
_CELLS = 1 << 22  # numbers drawn at once, so that memory stays bounded


class Bounds(NamedTuple):
    """The values that a measure can take."""

    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Interval:
    """Where the mean over all queries like these plausibly lies.

    ``clipped`` tells that the method reached beyond what the measure can be and was cut there.
    """

    low: float
    high: float
    level: float = 0.95
    method: str = "t"
    clipped: bool = False

    def __iter__(self) -> Iterator[float]:
        """``low, high = scores.interval("RR")``."""
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"


def interval(
    scores: Any,
    *,
    method: str = "t",
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    rng: Rng = None,
    resamples: int = 10_000,
) -> Interval:
    """The interval of a mean: Student's ``t``, or of the ``percentile`` or ``bca`` bootstrap.

    One score says nothing about the next, so the interval is then everything that the measure can be. Where all scores
    are equal it has no width, and ``bca``, which needs variation, answers as ``percentile``.

    >>> interval([0.2, 0.4, 0.6])
    Interval(low=-0.0968..., high=0.8968..., level=0.95, method='t', clipped=False)
    >>> interval([0.2], bounds=Bounds(0, 1))
    Interval(low=0.0, high=1.0, level=0.95, method='t', clipped=False)
    >>> print(interval([0.0, 0.0, 0.1, 0.2, 1.0], method="bca", rng=0))
    [0.0400, 0.8000]
    """
    inputs.share(level, "level")
    inputs.choice(method, "method", INTERVALS)
    values = inputs.sample(scores, "scores")
    if len(values) < 2:
        return Interval(float(bounds.low), float(bounds.high), level, method)
    if method == "t":
        found = _student(values, level)
    else:
        means = _bootstrap_means(values, inputs.generator(rng), inputs.count(resamples, "resamples"))
        found = _percentile(means, level) if method == "percentile" else _bca(values, means, level)
    low, high = max(bounds.low, found.low), min(bounds.high, found.high)
    return replace(
        found, low=float(low), high=float(high), clipped=bool(low > found.low or high < found.high)
    )


def _student(values: FloatArray, level: float) -> Interval:
    from scipy.special import stdtrit

    n = len(values)
    mean, half = values.mean(), stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / n**0.5
    return Interval(mean - half, mean + half, level)


def _percentile(means: FloatArray, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low, high, level, "percentile")


def _bca(values: FloatArray, means: FloatArray, level: float) -> Interval:
    """Efron's bias-corrected and accelerated interval; of a mean, the acceleration is the skewness / (6 sqrt n)."""
    from scipy.special import ndtr, ndtri

    mean, centred = values.mean(), values - values.mean()
    spread = (centred**2).sum()
    below = ((means < mean).mean() + (means <= mean).mean()) / 2
    if not spread or not 0 < below < 1:
        return _percentile(means, level)
    bias, acceleration = ndtri(below), (centred**3).sum() / (6 * spread**1.5)
    reach = bias + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    low, high = np.quantile(means, ndtr(bias + reach / (1 - acceleration * reach)))
    return Interval(low, high, level, "bca")


def _bootstrap_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    n, means = len(values), np.empty(resamples)
    batch = max(1, _CELLS // n)
    for start in range(0, resamples, batch):
        part = means[start : start + batch]
        part[:] = values[rng.integers(0, n, (len(part), n))].mean(axis=1)
    return means
