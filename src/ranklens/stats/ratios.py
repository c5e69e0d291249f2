"""Intervals of shares and of relative changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.bounded import wilson_ends
from ranklens.stats.intervals import Interval, bootstrap_samples

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.stats.inputs import Rng


def share_interval(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval of a share of ``n``: sensible also where the share is 0 or 1.

    >>> print(share_interval(1.0, 10))
    [0.7225, 1.0000]
    """
    inputs.count(n, "n")
    low, high = wilson_ends(np.asarray(share), n, inputs.share(level, "level"))
    return Interval(float(low), float(high), level, "wilson")


def relative_interval(
    a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95, rng: Rng = None, resamples: int = 10_000
) -> Interval:
    """The interval of mean(b) / mean(a) - 1 over the same queries: percentiles of its bootstrap, queries drawn together.

    A resample in which all of a is 0 counts as an infinite change where b is above 0, else as none; so the interval may be
    open above where a is 0 for most queries. With one query it is everything from -1 on.

    >>> print(relative_interval([0.2, 0.4, 0.4, 0.2], [0.4, 0.4, 0.6, 0.3], rng=0))
    [0.1250, 0.8000]
    """
    inputs.share(level, "level")
    before, after = inputs.pair(a, b)
    if len(before) < 2:
        return Interval(-1.0, float("inf"), level, "percentile")
    queries: npt.NDArray[Any] = np.arange(
        len(before)
    )  # resampled in place of values, so that both systems get the same
    drawn = bootstrap_samples(queries, inputs.generator(rng), inputs.count(resamples, "resamples"))
    means = [(before[rows].mean(axis=1), after[rows].mean(axis=1)) for rows in drawn]
    first, second = map(np.concatenate, zip(*means, strict=True))
    change = np.where(second > 0, np.inf, 0.0)
    np.divide(second - first, first, out=change, where=first > 0)
    # not interpolated: between two infinite values there is no number
    low, high = np.quantile(change, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return Interval(float(low), float(high), level, "percentile")
