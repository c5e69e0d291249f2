"""Quantiles of Student's t, needed for the interval of every mean; and where a function of one number is 0.

SciPy has both too (and the tests compare), but importing it takes longer than evaluating a small collection.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSE = 1e-13  # of the size of the root, or of 1 if it is smaller
_MOST = 200  # steps to a root
_MANY = 1000  # degrees of freedom from which a series is exact to the last digits


@lru_cache(maxsize=64)
def t_quantile(freedom: float, probability: float) -> float:
    """The value below which Student's t falls with this probability.

    >>> round(t_quantile(4, 0.975), 4), round(t_quantile(6979, 0.975), 4)  # the tables' 2.776 and 1.960
    (2.7764, 1.9603)
    """
    if probability < 0.75:  # where differences of nearly equal numbers would cost digits; no caller needs it
        from scipy.special import stdtrit

        return float(stdtrit(freedom, probability))
    z = normal_quantile(probability)
    terms = (  # Abramowitz and Stegun 26.7.5: around the normal quantile, in powers of 1 / freedom
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    quantile = z + sum(term / freedom**power for power, term in enumerate(terms, 1))
    if freedom > _MANY:
        return quantile
    density = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    density /= math.sqrt(freedom * math.pi)
    for _ in range(100):  # Newton's method; the series starts it on the side from which it converges
        slope = density * (1 + quantile**2 / freedom) ** (-(freedom + 1) / 2)
        step = (_tail(quantile, freedom) - (1 - probability)) / slope
        quantile += step
        if abs(step) <= 1e-14 * quantile:
            break
    return quantile


@lru_cache(maxsize=64)
def normal_quantile(probability: float) -> float:
    """The value below which a standard normal value falls with this probability."""
    z = 0.0
    for _ in range(100):
        excess = 0.5 * math.erfc(z / math.sqrt(2)) - (1 - probability)
        step = excess * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
        z += step
        if abs(step) <= 1e-15 * abs(z):
            break
    return z


def _tail(t: float, freedom: float) -> float:
    """The probability that Student's t is above ``t``: half an incomplete beta function."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + t * t)
    front = 0.0
    if 0 < x < 1:
        scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return 0.5 * front * _continued_fraction(a, b, x) / a
    return 0.5 * (1 - front * _continued_fraction(b, a, 1 - x) / b)


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + numerator * d), 1 + numerator / c
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a continuous function between two numbers at which its signs differ.

    False position, where an end that stays counts half the next time (the Illinois rule), so that both ends move.

    >>> round(root(lambda x: x**3 - 2, 0, 2), 10)
    1.2599210499
    """
    at_low, at_high = function(low), function(high)
    for _ in range(_MOST):
        if not at_high or abs(high - low) <= _CLOSE * max(1.0, abs(high)):
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = function(middle)
        if at_middle * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at_middle
    return high
