"""Two distributions by quadrature, because SciPy's noncentral t is NaN in thin tails and its studentised range takes 10 ms per value."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.student import root

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ranklens.arrays import FloatArray

_FAR = 9.0  # standard deviations, beyond which a normal distribution has nothing that a float could show
_WIDEST = 18.0  # a range of normal values beyond which the same holds
_STEPS = 12  # after which a root is searched for between two ends
_legendre: Callable[[int], tuple[FloatArray, FloatArray]] = cache(np.polynomial.legendre.leggauss)
_ENDLESS = 100_000  # degrees of freedom, from which on the standard deviation counts as known


def noncentral_t_tail(limit: float, freedom: float, shift: float) -> float:
    """P(T > limit) for limit >= 0, where T = (Z + shift) / S with Z normal and S the root of a chi square over its freedom.

    Integrates P(S < (z + shift) / limit) over z, with knots where that share rises.

    >>> round(noncentral_t_tail(2.0, 49, 2.8), 6)  # scipy.stats.nct.sf(2.0, 49, 2.8)
    0.786478
    """
    return _tail_and_slope(limit, freedom, shift)[0]


def _tail_and_slope(limit: float, freedom: float, shift: float) -> tuple[float, float]:
    """The tail, and how it grows with the shift."""
    from scipy.special import gammainc, ndtr

    if limit == 0:
        return float(ndtr(shift)), float(_normal_density(np.asarray(shift)))
    low, rise, width = max(-shift, -_FAR), limit - shift, 8 * limit / (2 * freedom) ** 0.5
    if low >= _FAR:
        return 0.0, 0.0
    z, weights = _gauss(np.unique(np.clip([low, rise - width, rise, rise + width, _FAR], low, _FAR)))
    risen = gammainc(freedom / 2, freedom / 2 * ((z + shift) / limit) ** 2)
    mass = weights * _normal_density(z) * risen
    return float(mass.sum()), float((mass * z).sum())


def shift_of_tail(limit: float, freedom: float, share: float) -> float:
    """The shift for which P(T > limit) is the share; the two ends of an interval of the shift, given an observed t."""
    from scipy.special import ndtri

    if limit < 0:
        return -shift_of_tail(-limit, freedom, 1 - share)
    share = min(max(share, 1e-12), 1 - 1e-12)  # what the quadrature can distinguish from 0 and 1
    # Newton's method, from where the shift would be if T were normal: mostly four steps.
    shift = limit + float(ndtri(share)) * (1 + limit**2 / (2 * freedom)) ** 0.5
    for _ in range(_STEPS):
        tail, slope = _tail_and_slope(limit, freedom, shift)
        if not slope > 0:
            break
        step = float((tail - share) / slope)
        shift -= step
        if abs(step) <= 1e-8 * max(1.0, abs(shift)):  # the next one would be about the square of it
            return float(shift)
    farthest = _FAR + limit * (1 + _FAR / (2 * freedom) ** 0.5 + _FAR / freedom)
    return root(lambda shift: noncentral_t_tail(limit, freedom, shift) - share, -_FAR, farthest)


def studentized_range_tail(limits: FloatArray, count: int, freedom: int) -> FloatArray:
    """P(range of ``count`` normal values > limit × S), for each of the limits.

    >>> studentized_range_tail(np.array([3.877]), 3, 10).round(4)  # the 5% point in tables is 3.877
    array([0.05])
    """
    from scipy.special import gammaln, xlogy

    range_tail = _normal_range_tail(count)
    if freedom > _ENDLESS:
        return np.asarray(range_tail(np.minimum(limits, _WIDEST)))
    width = 12 / (2 * freedom) ** 0.5
    low, high = max(0.0, 1 - width), 1 + width
    top = np.clip(_WIDEST / np.maximum(limits, 1e-9), low, high)  # above, no range is as wide
    s, weights = _gauss(np.stack([np.full_like(top, low), np.minimum(top, 1), top], axis=-1))
    tails, half = range_tail(np.minimum(limits[:, None, None] * s, _WIDEST)), freedom / 2
    # The density of the root of a chi square over its freedom.
    density = 2 * np.exp(half * np.log(half) - gammaln(half) + xlogy(freedom - 1, s) - half * s**2)
    return np.asarray(np.clip((weights * density * tails).sum(axis=(-2, -1)), 0, 1))


@lru_cache(maxsize=16)
def _normal_range_tail(count: int) -> Callable[[FloatArray], FloatArray]:
    """P(range of ``count`` normal values > w) as a function of w up to 18, interpolated between 1,801 points."""
    from scipy.interpolate import CubicSpline
    from scipy.special import ndtr

    widths = np.linspace(0, _WIDEST, 1801)
    # Of the largest value; the others lie at most w below.
    z, weights = _gauss(np.linspace(-_FAR, _FAR, 8), 24)
    within = ndtr(z) - ndtr(z - widths[:, None, None])
    tails = 1 - (count * weights * _normal_density(z) * within ** (count - 1)).sum(axis=(-2, -1))
    interpolated: Callable[[FloatArray], FloatArray] = CubicSpline(widths, tails)
    return interpolated


def _normal_density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5)


def _gauss(knots: npt.ArrayLike, nodes: int = 64) -> tuple[FloatArray, FloatArray]:
    """Points and weights of Gauss' quadrature between each two knots."""
    ends = np.asarray(knots, dtype=float)
    points, weights = _legendre(nodes)
    half = np.diff(ends)[..., None] / 2
    return ends[..., :-1, None] + half * (1 + points), half * weights
