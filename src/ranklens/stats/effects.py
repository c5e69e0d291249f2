"""How large a difference is, not only whether there is one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.distributions import shift_of_tail
from ranklens.stats.intervals import Bounds, Interval, interval
from ranklens.stats.ratios import share_interval

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.stats.inputs import Rng


@dataclass(frozen=True)
class EffectSize:
    """How much better b is than a: by the mean difference, in standard deviations, and in queries.

    ``cohen_dz`` is the mean difference over the standard deviation of the differences, ``hedges_g`` the same without its
    bias in small samples; both are infinite where all differences are equal but not 0, and 0 for one query.
    ``probability`` of improvement is the share of queries where b wins, ties counted half.
    """

    difference: float
    interval: Interval
    cohen_dz: float
    hedges_g: float
    probability: float
    probability_interval: Interval
    wins: int
    ties: int
    losses: int

    @cached_property
    def hedges_g_interval(self) -> Interval:
        """All g for which a t as extreme as the observed one would not be rare; computed on access, because it is slow."""
        return _hedges_interval(self.cohen_dz, self.wins + self.ties + self.losses, self.interval.level)


def effect_size(
    a: Any,
    b: Any,
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    method: str = "t",
    rng: Rng = None,
) -> EffectSize:
    """How much better b is than a over the same queries.

    ``bounds`` are those of the measure: differences then reach from low - high to high - low. ``method`` and ``rng`` are for
    the interval of the mean difference, as in :func:`interval`. The interval of Hedges' g inverts the noncentral t
    distribution; that of the probability is Wilson's, which is somewhat wide where there are many ties.

    >>> effect = effect_size([0.2, 0.4, 0.1, 0.3], [0.3, 0.6, 0.4, 0.3])
    >>> effect.wins, effect.ties, effect.losses, effect.probability
    (3, 1, 0, 0.875)
    >>> print(round(effect.difference, 4), effect.interval, round(effect.hedges_g, 4), effect.hedges_g_interval)
    0.15 [-0.0554, 0.3554] 0.8407 [-0.1458, 1.7640]
    """
    change = inputs.differences(*inputs.pair(a, b))
    reach = bounds.high - bounds.low
    n, wins, losses = len(change), int((change > 0).sum()), int((change < 0).sum())
    probability = (n + wins - losses) / (2 * n)
    dz, small_sample = _cohen_dz(change), _hedges_factor(n)
    return EffectSize(
        difference=float(change.mean()),
        interval=interval(change, method=method, level=level, bounds=Bounds(-reach, reach), rng=rng),
        cohen_dz=dz,
        hedges_g=small_sample * dz,
        probability=probability,
        probability_interval=share_interval(probability, n, level=level),
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
    )


def _cohen_dz(change: FloatArray) -> float:
    if len(change) < 2 or not change.any():
        return 0.0
    if inputs.constant(change):
        return float(np.copysign(np.inf, change[0]))
    return float(change.mean() / change.std(ddof=1))


@lru_cache(maxsize=64)
def _hedges_factor(n: int) -> float:
    """What takes the bias out of dz; for two queries, whose dz has no expected value, 1."""
    from scipy.special import gammaln

    half = (n - 1) / 2
    return float(np.exp(gammaln(half) - gammaln(half - 0.5)) / half**0.5) if n > 2 else 1.0


def _hedges_interval(dz: float, n: int, level: float) -> Interval:
    if n < 2:
        return Interval(-np.inf, np.inf, level, "noncentral t")
    if np.isinf(dz):
        return Interval(dz, dz, level, "noncentral t")
    shifts = [shift_of_tail(dz * n**0.5, n - 1, share) for share in ((1 - level) / 2, (1 + level) / 2)]
    low, high = (shift * _hedges_factor(n) / n**0.5 for shift in shifts)
    return Interval(low, high, level, "noncentral t")
