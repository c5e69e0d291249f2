"""Sums that come out the same in any order: what values add up to that are met a part at a time, in many places.

Floating-point sums depend on the order of their terms, so the mean of values that are spread over a cluster would change with
the number of machines. Here values are added as whole numbers, which is exact; one rounding at the end makes them a float again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import bounded, inputs
from ranklens.stats.intervals import ANALYTIC, Bounds, Interval, interval_of_share, within
from ranklens.stats.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranklens.arrays import FloatArray

_LOWEST_BIT = 1126  # 2^-1126 is the last bit of the smallest number, written with a mantissa of 53 bits
_HALF = 26  # bits of a mantissa that are added apart, so that 64 bits hold the sum


def exact_sum(values: FloatArray) -> int:
    """The sum in units of 2^-1126, without any rounding.

    >>> numbers = np.array([1e100, 1.0, -1e100])
    >>> exact_sum(numbers) == exact_sum(numbers[::-1]) == exact_sum(np.array([1.0]))
    True
    """
    fraction, exponent = np.frexp(values)
    mantissa = (fraction * 2.0**53).astype(np.int64)
    total = 0
    for power in {*exponent.tolist()}:
        some = mantissa[exponent == power]
        upper, lower = int((some >> _HALF).sum()), int((some & ((1 << _HALF) - 1)).sum())
        total += ((upper << _HALF) + lower) << (power - 53 + _LOWEST_BIT)
    return total


@dataclass(frozen=True)
class Moments:
    """What the mean, its interval and its test need of any number of values.

    >>> halves = [Moments.of(np.array(part), Bounds(0, 1)) for part in ([0.5, 1.0], [0.0, 0.1])]
    >>> both = halves[0] + halves[1]
    >>> both.n, both.mean, both.at_high, round(both.deviation, 4)
    (4, 0.4, 1, 0.4546)
    """

    n: int = 0
    total: int = 0  # in units of 2^-1126, as exact_sum gives it
    squares: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    at_low: int = 0  # values at the bounds of the measure
    at_high: int = 0

    @classmethod
    def of(cls, values: FloatArray, bounds: Bounds = Bounds()) -> Moments:  # noqa: B008  immutable
        """Of finite numbers."""
        if not len(values):
            return cls()
        at_low, at_high = (int(np.count_nonzero(values == end)) for end in bounds)
        lowest, highest = float(values.min()), float(values.max())
        total, squares = exact_sum(values), exact_sum(values * values)
        return cls(len(values), total, squares, lowest, highest, at_low, at_high)

    def __add__(self, other: Moments) -> Moments:
        sums = self.n + other.n, self.total + other.total, self.squares + other.squares
        ends = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return Moments(*sums, *ends, self.at_low + other.at_low, self.at_high + other.at_high)

    @property
    def sum(self) -> float:
        return value_of(self.total)

    @property
    def mean(self) -> float:
        """0 without values."""
        return float(_as_fraction(self.total) / self.n) if self.n else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation, as of a sample; 0 for values that are all the same."""
        if self.n < 2 or self.lowest == self.highest:
            return 0.0
        apart = _as_fraction(self.squares) - _as_fraction(self.total) ** 2 / self.n
        return math.sqrt(max(float(apart / (self.n - 1)), 0.0))

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same, but for rounding."""
        largest = max(abs(self.lowest), abs(self.highest))
        return self.highest - self.lowest <= inputs.NOISE * largest

    def interval(self, level: float = 0.95, bounds: Bounds = Bounds(), method: str = "auto") -> Interval:  # noqa: B008
        """As :func:`ranklens.stats.interval` gives it for the values themselves; the methods that resample need these.

        >>> from ranklens.stats import interval
        >>> values = np.linspace(0.2, 0.9, 50)
        >>> print(Moments.of(values).interval(), interval(values))
        [0.4908, 0.6092] [0.4908, 0.6092]
        """
        inputs.choice(method, "method", ANALYTIC)
        inputs.share(level, "level")
        if self.n < 2:
            return Interval(float(bounds.low), float(bounds.high), level, "t" if method == "auto" else method)
        is_finite = bool(np.isfinite(bounds.high - bounds.low))
        is_binary = is_finite and self.at_low + self.at_high == self.n
        if method == "wilson" and not is_binary:
            raise InputError(
                f"method='wilson' is for scores that are {bounds.low:g} or {bounds.high:g}: choose 'score' or 't'."
            )
        if method == "wilson" or (method == "auto" and is_binary):
            return within(bounds, interval_of_share(self.at_high, self.n, method, level, bounds))
        half = float(bounded.student_half(np.asarray(self.deviation), self.n, level))
        is_near = bounded.is_near(np.asarray(self.mean), np.asarray(half), *bounds).any()
        if method == "t" or (method == "auto" and not (is_finite and (self.is_constant or is_near))):
            return within(bounds, Interval(self.mean - half, self.mean + half, level))
        # The score interval, of fractions, so that no digit is lost.
        low, span = Fraction(bounds.low), Fraction(bounds.high) - Fraction(bounds.low)
        mean = (_as_fraction(self.total) / self.n - low) / span
        squares = _as_fraction(self.squares) - 2 * low * _as_fraction(self.total) + self.n * low * low
        square, quantile = (
            np.asarray(float(squares / self.n / span**2)),
            t_quantile(self.n - 1, (1 + level) / 2),
        )
        ends = bounded.moment_ends(np.asarray(float(mean)), square, self.n, quantile)
        start, end = (float(bounds.low + float(span) * end) for end in ends)
        return within(bounds, Interval(start, end, level, "score"))

    def to_dict(self) -> dict[str, float]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Moments:
        return cls(**content)


def _as_fraction(units: int) -> Fraction:
    return Fraction(units, 1 << _LOWEST_BIT)


def value_of(units: int) -> float:
    """What :func:`exact_sum` gives, as a float."""
    return float(_as_fraction(units))
