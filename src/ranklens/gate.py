"""Whether a number is good enough: pure functions, so that thresholds and gates mean the same everywhere."""

from __future__ import annotations

_SHOWN = 4  # decimals in every table


def reaches(value: float, floor: float) -> bool:
    """Whether ``value`` is at least ``floor``, as far as tables show it: what reads 0.8000 passes a floor of 0.8.

    >>> reaches(0.79996, 0.8), reaches(0.79994, 0.8)
    (True, False)
    """
    return round(value, _SHOWN) >= floor or value >= floor
