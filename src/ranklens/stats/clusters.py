"""Queries that belong together: paraphrases, turns of a conversation, questions of one user or about one document.

They tend to succeed or fail together, so a hundred of them say less than a hundred independent queries.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs
from ranklens.stats.intervals import Bounds, Interval, interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which queries belong together: the number of the cluster of each query, and the sizes of the clusters.

    >>> found = Clusters.of(["a", "a", "b"])
    >>> len(found), found.sizes
    (2, array([2, 1]))
    """

    index: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, labels: Sequence[Hashable]) -> Clusters:
        """One label per query."""
        place: dict[Hashable, int] = {}
        index = np.array([place.setdefault(label, len(place)) for label in labels], dtype=np.int64)
        return cls(index, np.bincount(index, minlength=len(place)))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.index)

    @property
    def are_single(self) -> bool:
        """Whether every query is a cluster of its own."""
        return len(self) == self.n

    def sums(self, values: FloatArray) -> FloatArray:
        """The sums over the last axis, one per cluster."""
        order = np.argsort(self.index, kind="stable")
        first = np.cumsum(self.sizes) - self.sizes
        return np.asarray(np.add.reduceat(np.asarray(values)[..., order], first, axis=-1))

    def means(self, values: FloatArray) -> FloatArray:
        """The means over the last axis, one per cluster."""
        return self.sums(values) / self.sizes

    def shares(self, values: FloatArray) -> FloatArray:
        """What each cluster adds to the mean: one value per cluster, whose mean is the mean over all queries.

        Where the mean is 0, as that of differences is under the null hypothesis, these are independent with mean 0, whatever the
        sizes. So every test of independent values becomes a test of clusters.

        >>> Clusters.of(["a", "a", "b"]).shares(np.array([0.5, 1.0, 0.6]))
        array([1. , 0.4])
        """
        return self.sums(values) * (len(self) / self.n)

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of :meth:`error`: the number of clusters minus 1, or fewer if some are much larger than others.

        Bell and McCaffrey's, for clusters whose queries all say the same.
        """
        size, n = self.sizes.astype(float), float(self.n)
        weight, spread = 1 / np.maximum(n - size, 1e-9), size**2
        u, v, own = weight * size, weight * spread, weight**2 * spread
        total = spread.sum()
        # The residuals' covariance is diag(own) + a matrix of rank two, so that two traces take one pass.
        trace = own.sum() + total / n**2 * (u @ u) - 2 / n * (u @ v)
        low_rank = (total / n**2) ** 2 * (u @ u) ** 2 + 2 / n**2 * ((u @ u) * (v @ v) + (u @ v) ** 2)
        low_rank -= 4 * total / n**3 * (u @ u) * (u @ v)
        squares = (own**2).sum() + 2 * (own * (total / n**2 * u**2 - 2 / n * u * v)).sum() + low_rank
        return float(np.clip(trace**2 / squares, 1.0, len(self) - 1))

    def error(self, values: FloatArray) -> FloatArray:
        """The standard error of the mean over the last axis: the jackknife, leaving out one cluster at a time.

        For clusters of one size that is the standard error of the mean of their means. One cluster has none: infinity.
        """
        if len(self) < 2:
            return np.full(np.shape(values)[:-1], np.inf)
        mean = np.asarray(values).mean(axis=-1, keepdims=True)
        moved = self.sums(np.asarray(values) - mean) / (self.n - self.sizes)
        return np.asarray(np.sqrt((len(self) - 1) / len(self) * (moved**2).sum(axis=-1)))


def intraclass_correlation(values: npt.ArrayLike, clusters: Clusters) -> float:
    """How much of the variance lies between clusters: 1 if the queries of a cluster all say the same, 0 if they are independent.

    From the analysis of variance, so that chance may make it negative; NaN where no cluster has two queries or nothing varies.

    >>> round(intraclass_correlation([0.9, 0.8, 0.1, 0.2], Clusters.of(["a", "a", "b", "b"])), 3)
    0.98
    """
    numbers = inputs.sample(values, "values")
    _refuse_other_length(numbers, clusters)
    groups, n, sizes = len(clusters), clusters.n, clusters.sizes
    if groups < 2 or clusters.are_single or inputs.constant(numbers):
        return float("nan")
    means = clusters.means(numbers)
    between = (sizes * (means - numbers.mean()) ** 2).sum() / (groups - 1)
    within = ((numbers - means[clusters.index]) ** 2).sum() / (n - groups)
    usual = (n - (sizes**2).sum() / n) / (groups - 1)
    return float((between - within) / (between + (usual - 1) * within))


def effective_queries(values: npt.ArrayLike, clusters: Clusters) -> float:
    """The number of independent queries that say as much: at most the number of queries, at least about that of clusters.

    >>> round(effective_queries([0.9, 0.8, 0.1, 0.2], Clusters.of(["a", "a", "b", "b"])), 2)
    2.02
    """
    correlation = intraclass_correlation(values, clusters)
    if np.isnan(correlation):
        return float(clusters.n if clusters.are_single else len(clusters))
    return clusters.n / design_effect(correlation, float((clusters.sizes**2).sum() / clusters.n))


def design_effect(correlation: float, size: float) -> float:
    """How many times as many queries are needed if they come in clusters of this (query-weighted mean) size; Kish's."""
    return 1 + max(size - 1, 0.0) * max(correlation, 0.0)


def cluster_interval(
    scores: npt.ArrayLike,
    clusters: Clusters | Sequence[Hashable],
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
) -> Interval:
    """The interval of a mean whose queries belong together; ``clusters`` is one label per query.

    Student's t with the jackknife over clusters; within bounds it is taken of the logit of the mean, so that it stays inside and
    covers where scores are skewed. Where clusters do not vary, it is the interval of their means.

    >>> print(cluster_interval([0.9, 0.8, 0.1, 0.2, 0.5, 0.6], ["a", "a", "b", "b", "c", "c"]))
    [-0.3557, 1.3891]
    >>> print(cluster_interval([0.9, 0.8, 0.1, 0.2, 0.5, 0.6], ["a", "a", "b", "b", "c", "c"], bounds=Bounds(0, 1)))
    [0.0315, 0.9724]
    """
    values = inputs.not_empty(scores, "scores")
    groups = clusters if isinstance(clusters, Clusters) else Clusters.of(clusters)
    _refuse_other_length(values, groups)
    inputs.share(level, "level")
    low, high, clipped = cluster_ends(values, groups, level, bounds)
    if len(groups) > 1 and low == high:
        return interval(groups.means(values), level=level, bounds=bounds)
    if len(groups) > 1 and np.isfinite(bounds).all():
        from scipy.special import expit, logit, stdtrit

        width = bounds.high - bounds.low
        share = (values.mean() - bounds.low) / width
        error = groups.error(values) / width / (share * (1 - share))
        half = error * stdtrit(groups.freedom, (1 + level) / 2)
        start, end = (float(bounds.low + width * expit(logit(share) + side)) for side in (-half, half))
        return Interval(start, end, level, "cluster t of logits")
    return Interval(float(low), float(high), level, "cluster t", bool(clipped))


def cluster_ends(
    values: FloatArray, clusters: Clusters, level: float, bounds: Bounds
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Both ends of the intervals over the last axis, and whether they were cut."""
    from scipy.special import stdtrit

    mean = values.mean(axis=-1)
    half = clusters.error(values) * (stdtrit(clusters.freedom, (1 + level) / 2) if len(clusters) > 1 else 1.0)
    low, high = np.maximum(mean - half, bounds.low), np.minimum(mean + half, bounds.high)
    return low, high, np.asarray((low > mean - half) | (high < mean + half)) & (len(clusters) > 1)


def _refuse_other_length(values: FloatArray, clusters: Clusters) -> None:
    if len(values) != clusters.n:
        raise InputError(
            f"There are {len(values):,} values and {clusters.n:,} labels of clusters: pass one label per query."
        )
