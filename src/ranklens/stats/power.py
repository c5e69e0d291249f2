"""What a query set can show: the smallest detectable difference, and the number of queries that a difference needs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import inputs
from ranklens.stats.distributions import noncentral_t_tail
from ranklens.stats.roots import root

_MANY = 1_000_000  # queries, with which Student's t is normal to the last query

_LEAST = 1e-9  # standard deviations; a smaller difference would need more than 10**18 queries


def detectable_difference(deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest mean difference that a paired t test over n queries finds with probability ``power``.

    ``deviation`` is the standard deviation of the differences by query. One query finds nothing: the answer is infinity.

    >>> round(detectable_difference(0.2, 50), 4)
    0.0808
    """
    _check(alpha, power)
    spread = _deviation(deviation)
    return spread * _detectable_effect(n, alpha, power) if inputs.count(n, "n") > 1 else np.inf


def queries_needed(difference: float, deviation: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """The number of queries with which a paired t test finds the mean difference with probability ``power``.

    ``deviation`` is the standard deviation of the differences by query.

    >>> queries_needed(0.05, 0.2)
    128
    """
    from scipy.special import ndtri

    _check(alpha, power)
    gap, spread = abs(inputs.finite(difference, "difference")), _deviation(deviation)
    if gap <= _LEAST * spread or not gap:
        raise InputError(
            f"difference={difference!r} is not allowed: no number of queries can show a difference of 0."
        )
    normal = ((ndtri(1 - alpha / 2) + ndtri(power)) * spread / gap) ** 2
    if normal > _MANY:
        return int(np.ceil(normal))
    if not spread:
        return 2
    effect, low, high = gap / spread, 1, 2
    while _power(effect, high, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(effect, middle, alpha) >= power else (middle, high)
    return high


def power_of(difference: float, deviation: float, n: int, *, alpha: float = 0.05) -> float:
    """The probability with which a paired t test over n queries finds the mean difference.

    >>> round(power_of(0.05, 0.2, 128), 3)
    0.802
    """
    inputs.share(alpha, "alpha", 0.05)
    gap, spread = abs(inputs.finite(difference, "difference")), _deviation(deviation)
    if inputs.count(n, "n") < 2:
        return alpha
    if not spread:
        return 1.0 if gap else alpha
    return min(1.0, _power(gap / spread, n, alpha))


@lru_cache(maxsize=256)  # a comparison asks for the same queries again and again
def _detectable_effect(n: int, alpha: float, power: float) -> float:
    """The smallest difference in standard deviations."""
    high = n**-0.5
    while _power(high, n, alpha) < power:
        high *= 2
    return root(lambda effect: _power(effect, n, alpha) - power, 0, high)


def _power(effect: float, n: int, alpha: float) -> float:
    """Of a two-sided paired t test: t falls beyond either limit."""
    from scipy.special import stdtrit

    limit, shift = float(stdtrit(n - 1, 1 - alpha / 2)), effect * n**0.5
    return noncentral_t_tail(limit, n - 1, shift) + noncentral_t_tail(limit, n - 1, -shift)


def _check(alpha: float, power: float) -> None:
    inputs.share(alpha, "alpha", 0.05)
    inputs.share(power, "power", 0.8)
    if power <= alpha:
        raise InputError(
            Given("power", power), " is not above ", Given("alpha", alpha), ": chance alone finds that much."
        )


def _deviation(deviation: float) -> float:
    if inputs.finite(deviation, "deviation") < 0:
        raise InputError(f"deviation={deviation!r} is not allowed: a standard deviation is 0 or more.")
    return float(deviation)
