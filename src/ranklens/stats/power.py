"""What a query set can show: the smallest difference for so many queries, and the queries that a difference needs."""

from __future__ import annotations

from ranklens.errors import InputError
from ranklens.stats import inputs


def detectable_difference(deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest mean difference that a paired t test over n queries finds with the given power.

    ``deviation`` is the standard deviation of the differences by query.

    >>> round(detectable_difference(0.2, 50), 4)
    0.0808
    """
    from scipy.optimize import brentq

    inputs.share(alpha, "alpha")
    inputs.share(power, "power")
    if n < 2:
        return float("inf")
    high = 1.0
    while _power(high, n, alpha) < power:
        high *= 2
    return float(deviation * brentq(lambda d: _power(d, n, alpha) - power, 0, high))


def queries_needed(difference: float, deviation: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """The number of queries with which a paired t test finds the difference with the given power.

    >>> queries_needed(0.05, 0.2)
    128
    """
    inputs.share(alpha, "alpha")
    inputs.share(power, "power")
    if not difference:
        raise InputError(
            "difference=0 is not allowed: no number of queries shows a difference where there is none."
        )
    effect, low, high = abs(difference) / deviation, 1, 2
    while _power(effect, high, alpha) < power:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(effect, middle, alpha) >= power else (middle, high)
    return high


def _power(effect: float, n: int, alpha: float) -> float:
    from scipy.special import nctdtr, stdtrit

    limit, shift = stdtrit(n - 1, 1 - alpha / 2), effect * n**0.5
    wrong_side = (
        nctdtr(n - 1, shift, -limit) if shift < 8 else 0.0
    )  # less than 1e-15, where it is hard to calculate
    return float(1 - nctdtr(n - 1, shift, limit) + wrong_side)
