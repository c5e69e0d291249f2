"""How many digits tables show, and what follows for limits."""

from __future__ import annotations

SHOWN = 4  # decimals in every table


def reaches(value: float, floor: float) -> bool:
    """Whether ``value`` is at least ``floor``, as far as tables show it: what reads 0.8000 passes a floor of 0.8.

    >>> reaches(0.79996, 0.8), reaches(0.79994, 0.8)
    (True, False)
    """
    return round(value, SHOWN) >= floor or value >= floor
