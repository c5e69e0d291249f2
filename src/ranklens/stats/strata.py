"""The mean of group means, where each group of queries counts the same, however many queries it has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import bounded, inputs
from ranklens.stats.clusters import Clusters
from ranklens.stats.intervals import Bounds, Interval, interval, within
from ranklens.stats.student import t_quantile

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray


_FEW = 5  # queries of a group, below which its own variance is too uncertain to be used
_PSEUDO = 4  # queries with the share of all groups are added to each group of successes for its variance


def macro_interval(
    groups: Sequence[FloatArray],
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    clusters: Sequence[Sequence[Hashable]] | None = None,
) -> Interval:
    """The interval of the mean of group means: Student's t with Welch's degrees of freedom, or Wilson's near an end of the range.

    The groups are taken as they are: other queries of the same groups are what it speaks about. Groups of fewer than five
    queries share one variance, which counts once. Where nearly all have one query, the interval is that of the groups' means.
    Values that are all at one of the two ends get Wilson's interval. ``clusters`` holds one label per value, group by group: what
    belongs together then counts as one observation, even if a cluster has queries in several groups.

    >>> macro_interval([np.array([0.2, 0.4, 0.3, 0.3, 0.4]), np.array([0.6, 0.8, 0.7, 0.6, 0.7])])
    Interval(low=0.4389..., high=0.5610..., level=0.95, method='t', clipped=False)
    >>> print(macro_interval([np.ones(2), np.array([1.0, 0, 1, 1, 1, 1])], bounds=Bounds(0, 1)))
    [0.5397, 0.9904]
    """
    if clusters is not None:
        groups = _by_cluster(groups, clusters)
    sizes = np.array([len(group) for group in groups])
    values = np.concatenate(list(groups))
    if len(groups) == 1 or sizes.max() == 1:
        return interval(values, level=level, bounds=bounds)
    if bounded.is_binary(values, *bounds):
        return _interval_of_shares(groups, sizes, level, bounds)
    if inputs.constant(values):
        return interval(values, level=level, bounds=bounds)
    means = np.array([group.mean() for group in groups])
    mean, is_known = float(means.mean()), (sizes - 1).sum() >= min(_FEW, len(groups) - 1)
    variance, freedom = _variance_of_macro_mean(groups, sizes) if is_known else (0.0, 1.0)
    if not variance:  # how values vary within groups is hardly known, or they do not
        return interval(means, level=level, bounds=bounds)
    quantile = t_quantile(freedom, (1 + level) / 2)
    half = variance**0.5 * quantile
    span = bounds.high - bounds.low
    if np.isfinite(span) and bounded.is_near(np.asarray(mean), np.asarray(half), *bounds):
        share, n = np.asarray((mean - bounds.low) / span), len(groups) ** 2 / float((1 / sizes).sum())
        low, high = bounded.moment_ends(share, n * variance / span**2 + share**2, n, quantile)
        return Interval(float(bounds.low + span * low), float(bounds.low + span * high), level, "score")
    return within(bounds, Interval(mean - half, mean + half, level))


def _by_cluster(groups: Sequence[FloatArray], labels: Sequence[Sequence[Hashable]]) -> list[FloatArray]:
    """One value per cluster, whose mean is that of the group: the group's mean, moved by what the cluster deviates in all.

    If some cluster has queries in several groups, groups are not independent: there is one group of all clusters then, whose mean is
    the mean of the groups' means.
    """
    means, moved = [float(group.mean()) for group in groups], []
    for group, own in zip(groups, labels, strict=True):
        # What each query moves the mean of its group; more in large clusters, which pull the mean towards themselves (the jackknife's).
        clusters = Clusters.of(own)
        others = np.maximum(clusters.n - clusters.sizes[clusters.index], 1)
        moved.append((group - group.mean()) / others * (len(clusters) - 1) / len(clusters))
    if sum(len({*own}) for own in labels) > len({label for own in labels for label in own}):
        moved, means = [np.concatenate(moved) / len(groups)], [float(np.mean(means))]
        labels = [[label for own in labels for label in own]]
    by_cluster = []
    for deviations, own, mean in zip(moved, labels, means, strict=True):
        clusters = Clusters.of(own)
        values = len(clusters) * clusters.sums(deviations)
        by_cluster.append(mean + values - values.mean())
    return by_cluster


def _interval_of_shares(
    groups: Sequence[FloatArray], sizes: IntArray, level: float, bounds: Bounds
) -> Interval:
    """Wilson's, with as many queries as would say as much if all had one share.

    Groups that always succeed seem not to vary. So queries with the share of all groups are added to each before its variance is
    taken; with that share, the mean of the groups' or the one in which a group counts by its error, that varies more.
    """
    span, error = bounds.high - bounds.low, 1 / sizes
    shares = np.array([(group == bounds.high).mean() for group in groups])
    mean = shares.mean()
    common = max(mean, (shares * error).sum() / error.sum(), key=lambda share: share * (1 - share))
    moved = (sizes * shares + _PSEUDO * common) / (sizes + _PSEUDO)
    expected = mean * (1 - mean) * error.sum()
    ratio = (moved * (1 - moved) * error).sum() / expected if expected else 1.0
    low, high = bounded.wilson_ends(mean, len(groups) ** 2 / error.sum() / ratio, level)
    return Interval(float(bounds.low + span * low), float(bounds.low + span * high), level, "wilson")


def _variance_of_macro_mean(groups: Sequence[FloatArray], sizes: IntArray) -> tuple[float, float]:
    """And its degrees of freedom (Satterthwaite). The shared variance of small groups is one part, however many these are."""
    squares = np.array([((group - group.mean()) ** 2).sum() for group in groups])
    small, freedom = sizes < _FEW, sizes - 1
    parts = [squares[~small] / freedom[~small] / sizes[~small]]
    freedoms = [freedom[~small]]
    if small.any():
        # That of all groups is shared if it is larger, or the small ones have no degrees of freedom.
        overall, own = squares.sum() / freedom.sum(), int(freedom[small].sum())
        shared = squares[small].sum() / own if own else overall
        shared = max(shared, overall) if own < _FEW else shared
        parts.append(np.array([shared * (1 / sizes[small]).sum()]))
        freedoms.append(np.array([own or int(freedom.sum())]))
    of_parts, of_freedom = np.concatenate(parts), np.concatenate(freedoms)
    total = of_parts.sum()
    if not total:
        return 0.0, 1.0
    return float(total) / len(groups) ** 2, float(total**2 / (of_parts**2 / of_freedom).sum())
