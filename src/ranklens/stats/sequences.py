"""Intervals that stay valid however often you look: for those who peek while judging or running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs
from ranklens.stats.intervals import Bounds, Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray

_GRID = 1000  # candidate means
_MOST = 0.5  # of the capital is the most that a bet may lose


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """An interval of the mean after each query; all of them hold at once with probability ``level``.

    So you may stop at any time, for any reason, and report the last one.
    """

    low: FloatArray
    high: FloatArray
    level: float
    method: str = "betting"

    def __len__(self) -> int:
        return len(self.low)

    @property
    def last(self) -> Interval:
        """After all queries."""
        return Interval(float(self.low[-1]), float(self.high[-1]), self.level, self.method)

    def first_excluding(self, value: float = 0.0) -> int | None:
        """After how many queries the interval excluded ``value``; None if it never did."""
        outside = np.flatnonzero((self.low > value) | (self.high < value))
        return int(outside[0]) + 1 if len(outside) else None


def confidence_sequence(
    values: npt.ArrayLike, *, level: float = 0.95, bounds: Bounds | tuple[float, float] = (0.0, 1.0)
) -> ConfidenceSequence:
    """Intervals of the mean of bounded values, one after each, that are valid together, however often you look.

    ``values`` come in a random order: scores between 0 and 1, or differences with ``bounds=(-1, 1)``. For every candidate mean, two
    gamblers bet that values are above it and below it; a candidate is excluded once one of them is rich (Waudby-Smith and
    Ramdas 2024, hedged capital with predictable plug-in bets). Nothing is assumed about the shape of the values.

    >>> rng = np.random.default_rng(0)
    >>> found = confidence_sequence(rng.uniform(0.1, 0.5, 200))
    >>> print(found.last, found.first_excluding(0.5))
    [0.2880, 0.3450] 21
    """
    inputs.share(level, "level")
    low, high = (inputs.finite(end, "bounds") for end in bounds)
    numbers = inputs.not_empty(values, "values")
    slack = inputs.NOISE * max(abs(low), abs(high))
    for position in np.flatnonzero((numbers < low - slack) | (numbers > high + slack))[:1]:
        raise InputError(
            f"values[{position}] is {numbers[position]:g}, outside the bounds from {low:g} to {high:g}: "
            "pass bounds=(lowest, highest) that the values can take."
        )
    least, most = _bet(np.clip((numbers - low) / (high - low), 0.0, 1.0), 1 - level)
    return ConfidenceSequence(low + (high - low) * least, low + (high - low) * most, level)


def _bet(values: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """The lowest and highest mean that no gambler has excluded so far, after each value."""
    means = np.linspace(0, 1, _GRID + 1)
    t = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    # How much to bet on each value, from what was seen before it.
    bets = np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log(t + 1)))
    up, down = np.zeros(len(means)), np.zeros(len(means))  # logarithms of the capital
    left = np.ones(len(means), dtype=bool)
    ends = np.empty((2, len(values)))
    with np.errstate(divide="ignore"):
        most_up, most_down = _MOST / means, _MOST / (1 - means)
    for i, (value, bet) in enumerate(zip(values.tolist(), bets.tolist(), strict=True)):
        up += np.log1p(np.minimum(bet, most_up) * (value - means))
        down += np.log1p(-np.minimum(bet, most_down) * (value - means))
        left &= np.maximum(up, down) < np.log(2 / alpha)  # each has half of the capital
        candidates = np.flatnonzero(left)
        if not len(candidates):  # happens with probability below alpha: the values drift, or fate is unkind
            ends[:, i:] = ends[:, i - 1 : i]
            break
        # A mean between two candidates may still be in.
        ends[0, i], ends[1, i] = candidates[0] - 1, candidates[-1] + 1
    return np.clip(ends[0] / _GRID, 0, 1), np.clip(ends[1] / _GRID, 0, 1)
