"""Where a function of one number is 0; SciPy's search takes longer to import than most comparisons take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSE = 1e-13  # of the size of the root, or of 1 if it is smaller
_MOST = 200  # steps


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
        found = function(middle)
        if found * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, found
    return high
