"""Few values that people judged, and many that a model judged: means that use both, and promise no more than the first allow.

Prediction-powered inference (Angelopoulos and others, "PPI++: Efficient Prediction-Powered Inference", 2023): the mean by the model over all queries,
corrected by what the model gets wrong where people judged the same queries. A weight says how far the model is listened to; it is chosen
so that the variance is as small as possible, so that a useless model does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import bounded, inputs
from ranklens.stats.clusters import Clusters
from ranklens.stats.intervals import Bounds, Interval, within
from ranklens.stats.student import normal_quantile, t_quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray

LEAST, FEW = (
    10,
    20,
)  # queries that people judged: below the first nothing is promised, below the second there is a warning
METHOD = "ppi++"
_MOST = 0.5  # leverage: a single query far from all others would decide the variance alone
_NAMES = ("human", "machine_on_human", "machine_only")


@dataclass(frozen=True)
class Powered:
    """Prediction-powered means, one per row."""

    estimate: FloatArray
    error: FloatArray  # standard error
    weight: FloatArray
    alone: FloatArray  # the standard error of the mean of people's judgments alone
    freedom: float  # degrees of freedom

    @property
    def gain(self) -> FloatArray:
        """How many times as many judgments by people would be needed without the model."""
        known = self.error > 0
        return np.where(known, self.alone**2 / np.where(known, self.error, 1.0) ** 2, 1.0)

    def ends(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Both ends of Student's intervals."""
        half = t_quantile(self.freedom, (1 + level) / 2) * self.error
        return self.estimate - half, self.estimate + half

    def tail(self, null: float | FloatArray = 0.0) -> FloatArray:
        """One-sided p-values: how likely an estimate this far above ``null`` is if that is the truth."""
        from scipy.special import stdtr

        gap = self.estimate - null
        t = np.divide(gap, self.error, out=np.copysign(np.inf, gap), where=self.error > 0)
        return np.asarray(np.where(gap == 0, 0.5, stdtr(self.freedom, -t)))

    @property
    def p_values(self) -> FloatArray:
        """Two-sided, of the estimate being 0."""
        upper = self.tail()
        return np.asarray(np.minimum(1.0, 2 * np.minimum(upper, 1 - upper)))


def joined(parts: Sequence[Powered]) -> Powered:
    """All rows of several."""
    first, *others = parts
    if not others:
        return first
    return Powered(
        np.concatenate([part.estimate for part in parts]),
        np.concatenate([part.error for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.alone for part in parts]),
        first.freedom,
    )


@dataclass(frozen=True)
class Labels:
    """Values by query: those that people judged, those of the same queries by the model, and those that only the model judged.

    The last axis are queries; others are systems or pairs. ``shared`` are the clusters with queries of both kinds, by their places among
    those of each kind.
    """

    human: FloatArray
    on_human: FloatArray
    only: FloatArray
    groups: tuple[Clusters, Clusters] | None = None  # of both kinds of queries
    shared: tuple[Sequence[int], Sequence[int]] = ((), ())

    def rows(self, places: npt.NDArray[np.int64] | int) -> Labels:
        """Those of some systems."""
        return self.changed(lambda values: values[places])

    def differences(self, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Labels:
        """By how much systems ``b`` are ahead of ``a``, for each source of judgments."""
        return self.changed(lambda values: inputs.differences(values[a], values[b]))

    def changed(self, change: Callable[[FloatArray], FloatArray]) -> Labels:
        """The same with other values, made of each source in the same way."""
        human, on_human, only = map(change, (self.human, self.on_human, self.only))
        return replace(self, human=human, on_human=on_human, only=only)


def powered(labels: Labels, weight: float | None = None, *, reach: float = np.inf) -> Powered:
    """PPI++ over the last axis, with the variance of what is independent: queries, or clusters of them.

    A weight that was estimated costs a degree of freedom, and its own error counts, as that of the slope of a regression line does.
    ``reach`` is by how much people and model can differ at most. Where they differ in so few queries that the variance is hardly known, it is that of two
    more queries, one that the model rates too high and one that it rates too low.
    """
    y, f, u = labels.human, labels.on_human, labels.only
    mean, on_human, only = (values.mean(axis=-1) for values in (y, f, u))
    error, n_queries = y - f, y.shape[-1]
    freedom: float = n_queries - 1
    if labels.groups is not None:
        first, second = labels.groups
        middle = np.concatenate([f, u], axis=-1).mean(axis=-1)
        y, f, u = _units(y, first, mean), _units(f, first, middle), _units(u, second, middle)
        freedom = first.freedom
    n, more = y.shape[-1], u.shape[-1]
    chosen = _weight(y, f, u) if weight is None else np.full(y.shape[:-1], float(weight))
    rest = y - chosen[..., None] * f
    rest = rest - rest.mean(axis=-1, keepdims=True)
    variance = rest.var(axis=-1, ddof=1) / n
    if weight is None and n > 2:
        freedom -= 1
        variance = _of_line(rest, f, only - on_human)
    if np.isfinite(reach):
        few = bounded.is_sparse(np.count_nonzero(error, axis=-1), np.ptp(error, axis=-1), n_queries)
        extra = bounded.with_imagined_pair(error, reach)[..., -2:] * (n / n_queries)
        padded = np.concatenate([rest, extra], axis=-1).var(axis=-1, ddof=1) / (n + 2)
        variance = np.where(few & (chosen > 0), np.maximum(padded, variance), variance)
    variance = variance + chosen**2 * u.var(axis=-1, ddof=1) / more
    variance = variance + 2 * chosen * _covariance(rest, u, labels.shared)
    return Powered(
        mean + chosen * (only - on_human),
        np.sqrt(np.maximum(variance, 0.0)),
        chosen,
        y.std(axis=-1, ddof=1) / n**0.5,
        freedom,
    )


def _units(values: FloatArray, clusters: Clusters, middle: FloatArray) -> FloatArray:
    """What each cluster adds to the mean of deviations from the middle: as independent as clusters are, and with the variance of the mean."""
    return clusters.shares(values - middle[..., None])


def _covariance(
    rest: FloatArray, only: FloatArray, shared: tuple[Sequence[int], Sequence[int]]
) -> FloatArray:
    """Of both means, where some clusters have queries of both kinds."""
    here, there = shared
    if not len(here):
        return np.zeros(rest.shape[:-1])
    first, second = (values - values.mean(axis=-1, keepdims=True) for values in (rest, only))
    together = (first[..., list(here)] * second[..., list(there)]).sum(axis=-1)
    return np.asarray(together / ((rest.shape[-1] - 1) * (only.shape[-1] - 1)))


def _of_line(rest: FloatArray, f: FloatArray, step: FloatArray) -> FloatArray:
    """The variance of a value on a regression line, a ``step`` from the middle, by its residuals (HC3: they may vary more where the model's values do)."""
    far = f - f.mean(axis=-1, keepdims=True)
    spread = (far**2).sum(axis=-1, keepdims=True)
    far = np.divide(far, spread, out=np.zeros_like(far), where=spread > 0)
    share = 1 / rest.shape[-1]
    leverage = np.minimum(share + far**2 * spread, _MOST)
    return np.asarray((((share + step[..., None] * far) * rest / (1 - leverage)) ** 2).sum(axis=-1))


def _weight(y: FloatArray, f: FloatArray, u: FloatArray) -> FloatArray:
    """The weight that makes the variance smallest, between 0 and 1; 0 where the model says the same of every query.

    The covariance is divided by n, as in ppi-python: with few queries the model is listened to a little less.
    """
    n, more = y.shape[-1], u.shape[-1]
    shared = ((y - y.mean(axis=-1, keepdims=True)) * (f - f.mean(axis=-1, keepdims=True))).mean(axis=-1)
    spread = (1 + n / more) * np.concatenate([f, u], axis=-1).var(axis=-1, ddof=1)
    best: FloatArray = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.clip(best, 0.0, 1.0)


@dataclass(frozen=True)
class PpiMean:
    """A mean that uses both kinds of judgments; made by :func:`ppi_mean`.

    ``weight`` is lambda: how far the model is listened to. ``effective`` is the number of queries that people would have to judge for an
    interval as narrow without the model; ``human`` queries they have judged, and ``machine`` more the model.
    """

    estimate: float
    low: float
    high: float
    weight: float
    error: float
    human: int
    machine: int
    effective: float
    level: float = 0.95
    clipped: bool = False

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high, self.level, METHOD, self.clipped)


def ppi_mean(
    human: npt.ArrayLike,
    machine_on_human: npt.ArrayLike,
    machine_only: npt.ArrayLike,
    *,
    weight: float | None = None,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    quantiles: str = "t",
    clusters: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
) -> PpiMean:
    """The mean over all queries, from a few that people judged and more that only a model judged (PPI++).

    ``human`` has one value per query that people judged, ``machine_on_human`` that of the same queries by the model's judgments, and
    ``machine_only`` those of queries that the model alone judged. The queries that people judged must be a random sample of all. The interval is
    Student's with n - 2 degrees of freedom (n - 1 if the weight is given); near an end of ``bounds`` it is Wilson's of as many queries as the estimate is worth.
    ``weight`` is chosen from the data unless it is given: 1 is plain prediction-powered inference, 0 leaves the model out.
    ``quantiles="normal"`` gives the interval of ppi-python, which is too narrow for few queries. ``clusters`` are the labels of queries that
    belong together, of both kinds of queries.

    >>> found = ppi_mean([1, 0, 1, 1, 0, 1, 0, 1], [.9, .2, .7, .6, .4, .8, .1, .5], [.9, .8, .3, .4, .6, .7, .2, .1, .5, .95, .85, .15])
    >>> round(found.estimate, 6), round(found.weight, 2), found.interval
    (0.634825, 0.79, Interval(low=0.2390..., high=1.0305..., level=0.95, method='ppi++', clipped=False))
    """
    inputs.share(level, "level")
    values = [
        inputs.sample(one, name)
        for one, name in zip((human, machine_on_human, machine_only), _NAMES, strict=True)
    ]
    y, f, u = values
    for one, name in zip(values, _NAMES, strict=True):
        if len(one) < 2:
            raise InputError(f"{name} has {len(one)} values; a variance needs at least two.")
    if len(y) != len(f):
        raise InputError(
            f"human has {len(y):,} values and machine_on_human {len(f):,}: pass one for each query that people judged, in the same order."
        )
    if weight is not None and not 0 <= inputs.finite(weight, "weight") <= 1:
        raise InputError(Given("weight", weight), " is not allowed: it is between 0 and 1.")
    inputs.choice(quantiles, "quantiles", ("t", "normal"))
    found = powered(grouped(y, f, u, clusters), weight, reach=bounds.high - bounds.low)
    if quantiles == "normal":
        error = float(np.sqrt((y - found.weight * f).var() / len(y) + found.weight**2 * u.var() / len(u)))
        half = normal_quantile((1 + level) / 2) * error
        found = replace(found, error=np.array(error), alone=np.array((y.var() / len(y)) ** 0.5))
        middle = float(found.estimate)
        around = within(bounds, Interval(middle - half, middle + half, level, METHOD))
    else:
        around = powered_interval(found, y, level, bounds)
    return PpiMean(
        float(found.estimate),
        around.low,
        around.high,
        float(found.weight),
        float(found.error),
        len(y),
        len(u),
        float(len(y) * found.gain),
        level,
        around.clipped,
    )


def grouped(
    human: FloatArray,
    on_human: FloatArray,
    only: FloatArray,
    clusters: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
) -> Labels:
    """The values with the clusters of their queries, if these have any."""
    if clusters is None:
        return Labels(human, on_human, only)
    groups = Clusters.of(clusters[0]), Clusters.of(clusters[1])
    for group, values, name in zip(groups, (human, only), ("human", "machine_only"), strict=True):
        if group.n != values.shape[-1]:
            raise InputError(
                f"{name} has {values.shape[-1]:,} values and {group.n:,} labels of clusters: pass one label per query."
            )
        if len(group) < 2:
            raise InputError(f"All queries of {name} are in one cluster, which says nothing about others.")
    first, second = (
        {label: place for place, label in enumerate(dict.fromkeys(labels))} for labels in clusters
    )
    both = [label for label in first if label in second]
    return Labels(
        human, on_human, only, groups, ([first[one] for one in both], [second[one] for one in both])
    )


def powered_interval(found: Powered, human: FloatArray, level: float, bounds: Bounds) -> Interval:
    """Student's interval of one mean; near an end of the range Wilson's, as of human judgments alone, of as many queries as it is worth."""
    low, high = found.ends(level)
    width = bounds.high - bounds.low
    is_flat = inputs.constant(human) or bounded.is_near(found.estimate, (high - low) / 2, *bounds)
    if np.isfinite(width) and is_flat:
        share, square = np.clip((found.estimate - bounds.low) / width, 0, 1), human.var(ddof=1) / width**2
        quantile = t_quantile(found.freedom, (1 + level) / 2)
        ends = bounded.moment_ends(share, share**2 + square, float(len(human) * found.gain), quantile)
        low, high = (bounds.low + width * end for end in ends)
    return within(bounds, Interval(float(low), float(high), level, METHOD))
