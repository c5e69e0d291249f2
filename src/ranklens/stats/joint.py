"""Intervals that hold together, and tests that never disagree with them: the largest t of all pairs (single-step max-t)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import bounded, inputs
from ranklens.stats.bounded import with_imagined_pair

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

RESAMPLES = 10_000
_CELLS = 1 << 22  # numbers held at once
_OUTLYING = 2.5  # standard deviations


@dataclass(frozen=True)
class Simultaneous:
    """Differences of pairs with intervals that all hold at once with probability ``level``, and their adjusted p-values.

    No interval is without width. An interval excludes 0 exactly if ``adjusted_p`` is at most ``1 - level``. ``critical`` is the number of standard errors.
    """

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    adjusted_p: FloatArray
    critical: float
    level: float


def simultaneous(
    scores: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    level: float = 0.95,
    parts: int = 1,
    reach: float = np.inf,
    rng: Rng = None,
    resamples: int = RESAMPLES,
) -> Simultaneous:
    """Intervals of the differences between rows of ``scores`` (systems × queries) that hold together.

    The largest t of all pairs is drawn from the multivariate t distribution with the pairs' own correlations (single-step max-t, as in
    Hothorn, Bretz and Westfall 2008). So pairs that share a system need less correction than Bonferroni's, and a single pair gets
    Student's interval. Where few queries differ, or all by the same, two more are imagined, one that each system wins, as in
    :func:`effect_size`; no difference is larger than ``reach``. ``parts`` is the number of such families (slices) that hold together.

    >>> scores = np.array([[0.1, 0.4, 0.3, 0.5], [0.2, 0.4, 0.5, 0.9], [0.3, 0.3, 0.4, 0.4]])
    >>> found = simultaneous(scores, np.array([0, 0, 1]), np.array([1, 2, 2]), rng=0)
    >>> bool(((found.low > 0) | (found.high < 0)).any()), found.difference.round(3).tolist()
    (False, [0.175, 0.025, -0.15])
    """
    values = inputs.matrix(scores, "scores")
    alpha = 1 - inputs.share(level, "level")
    if values.shape[1] < 2:
        raise InputError("Simultaneous intervals need at least two queries.")
    change = inputs.differences(values[first], values[second])
    centre, error, shape = _studentised(change, reach)
    # The largest absolute t of all pairs in each draw: normal numbers with the pairs' correlations, over one common error.
    freedom, draws, generator = (
        values.shape[1] - 1,
        inputs.count(resamples, "resamples"),
        inputs.generator(rng),
    )
    at_once, maxima = max(1, min(draws, _CELLS // max(shape.shape, default=1))), []
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        normal = np.abs(generator.standard_normal((rows, shape.shape[1])) @ shape.T).max(axis=1, initial=0.0)
        maxima.append(normal / (generator.chisquare(freedom, rows) / freedom) ** 0.5)
    largest = np.sort(np.concatenate(maxima))
    t = np.abs(centre) / error
    # The sample itself counts as one of the draws, so that p is never 0.
    p = parts * (len(largest) - np.searchsorted(largest, t * (1 - 1e-12)) + 1) / (len(largest) + 1)
    place = int(np.floor(alpha / parts * (len(largest) + 1)))  # this many may be as large
    critical = float(largest[-place]) if 0 < place <= len(largest) else np.inf
    half = np.full(len(error), np.inf)
    np.multiply(critical, error, out=half, where=np.isfinite(error))
    low, high = np.maximum(centre - half, -reach), np.minimum(centre + half, reach)
    return Simultaneous(change.mean(axis=1), low, high, np.minimum(p, 1.0), critical, level)


def _studentised(change: FloatArray, reach: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each row, the centre of its interval, the standard error, and its deviations with length 1, whose products are correlations.

    The error is infinite where no query differs and differences have no limit, so that nothing is known of their size.
    """
    n, mean = change.shape[1], change.mean(axis=1)
    sparse = bounded.is_sparse(np.count_nonzero(change, axis=1), np.ptp(change, axis=1), n)
    outlying = np.abs(change - mean[:, None]).max(axis=1) > _OUTLYING * change.std(axis=1, ddof=1)
    imagined = np.where(
        sparse[:, None], with_imagined_pair(change, reach), with_imagined_pair(change, np.inf)
    )
    centre = np.where(sparse, imagined.mean(axis=1), mean)
    shape = imagined - imagined.mean(axis=1, keepdims=True)
    plain = ~sparse & ~outlying
    shape[plain] = np.pad(change[plain] - mean[plain, None], ((0, 0), (0, 2)))
    count, squares = np.where(plain, n, n + 2), (shape**2).sum(axis=1)
    error = np.where(squares > 0, (squares / (count - 1) / count) ** 0.5, np.inf)
    return centre, error, shape / np.maximum(squares, 1e-300)[:, None] ** 0.5
