"""Tukey's honest significant difference: all pairs of systems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs
from ranklens.stats.distributions import studentized_range_tail
from ranklens.stats.randomization import range_p

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray
    from ranklens.stats.inputs import Rng

_KNOTS = 1000  # more statistics than this are interpolated between this many


@dataclass(frozen=True)
class TukeyResult:
    """A p-value for each pair of systems, corrected for their number.

    ``p_values[i, j]`` belongs to ``differences[i, j]``, the mean of system j minus that of system i. ``method`` is the
    test that was done: ``tukey``, ``unpaired tukey`` or ``randomized tukey``.
    """

    p_values: FloatArray
    differences: FloatArray
    method: str
    n: int
    resamples: int | None = None


def tukey_hsd(
    scores: npt.ArrayLike,
    *,
    paired: bool = True,
    randomized: bool = False,
    rng: Rng = None,
    resamples: int = 10_000,
) -> TukeyResult:
    """Test all pairs of systems (rows of ``scores``) over the same queries (columns); no other correction is needed.

    Paired, the difficulty of queries is taken out (two-way analysis of variance), and the differences are assumed to be
    normal with one variance for all pairs; ``randomized`` assumes neither. Where nothing varies but systems and queries,
    or there is only one query, there is no variance to use, and the randomised test is used instead.

    >>> tukey_hsd([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.9, 0.8, 0.7]]).p_values.round(3)
    array([[1.   , 1.   , 0.007],
           [1.   , 1.   , 0.007],
           [0.007, 0.007, 1.   ]])
    """
    values = inputs.matrix(scores, "scores")
    inputs.count(resamples, "resamples")
    if randomized and not paired:
        raise InputError(
            "randomized=True shuffles systems within a query, so it is paired: omit paired=False."
        )
    means = values.mean(axis=1)
    gaps = means - means[:, None]
    systems, queries = values.shape
    rest = values - values.mean(axis=1, keepdims=True)
    if paired:
        rest = rest - rest.mean(axis=0)
    freedom, error = (systems - 1 if paired else systems) * (queries - 1), 0.0
    if freedom and np.abs(rest).max() > inputs.NOISE * np.abs(values).max():  # else it is noise of rounding
        error = float(np.sqrt((rest**2).sum() / freedom / queries))  # of a system's mean
    if randomized or not error:
        p = range_p([values], inputs.generator(rng), resamples)[0]
        return TukeyResult(p, gaps, "randomized tukey", queries, resamples)
    p = np.ones_like(gaps)
    above, below = np.triu_indices(systems, 1), np.tril_indices(systems, -1)
    p[above] = _range_tail(np.abs(gaps[above]) / error, systems, freedom)
    p[below] = p.T[below]
    return TukeyResult(p, gaps, "tukey" if paired else "unpaired tukey", queries)


def _range_tail(statistics: FloatArray, systems: int, freedom: int) -> FloatArray:
    distinct, place = np.unique(statistics, return_inverse=True)
    if len(distinct) <= _KNOTS:
        return studentized_range_tail(distinct, systems, freedom)[place]
    from scipy.interpolate import PchipInterpolator

    knots = np.sinh(np.linspace(0, np.arcsinh(statistics.max()), _KNOTS))
    tails = np.maximum(studentized_range_tail(knots, systems, freedom), 1e-14)  # a logarithm must exist
    return np.asarray(np.exp(PchipInterpolator(knots, np.log(tails))(statistics)))
