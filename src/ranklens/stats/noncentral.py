"""The noncentral t distribution: what t is when there is a difference. (SciPy's gives up, as NaN, where tails are thin.)"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ranklens.judged import FloatArray

_FAR = 9.0  # standard deviations, beyond which a normal distribution has nothing that a float could tell


def tail(limit: float, freedom: float, shift: float) -> float:
    """P(T > limit) for limit >= 0, where T = (Z + shift) / S with Z normal and S the root of a chi square over its freedom.

    Integrates P(S < (z + shift) / limit) over z, with knots where that share rises.

    >>> round(tail(2.0, 49, 2.8), 6)  # scipy.stats.nct.sf(2.0, 49, 2.8)
    0.786478
    """
    from scipy.special import gammainc, ndtr

    if limit == 0:
        return float(ndtr(shift))
    low, rise, width = max(-shift, -_FAR), limit - shift, 8 * limit / (2 * freedom) ** 0.5
    if low >= _FAR:
        return 0.0
    knots = np.unique(np.clip([low, rise - width, rise, rise + width, _FAR], low, _FAR))
    points, weights = _nodes()
    half = np.diff(knots)[:, None] / 2
    z = knots[:-1, None] + half * (1 + points)
    density = np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5
    risen = gammainc(freedom / 2, freedom / 2 * ((z + shift) / limit) ** 2)
    return float((half * weights * density * risen).sum())


def shift_of_tail(limit: float, freedom: float, share: float) -> float:
    """The shift for which P(T > limit) is the share; the two ends of an interval of the shift, given an observed t."""
    from scipy.optimize import brentq

    if limit < 0:
        return -shift_of_tail(-limit, freedom, 1 - share)
    farthest = _FAR + limit * (1 + _FAR / (2 * freedom) ** 0.5 + _FAR / freedom)
    return float(brentq(lambda shift: tail(limit, freedom, shift) - share, -_FAR, farthest))


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(64)
