"""How large a difference is, not only whether there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.intervals import Bounds, Interval, interval

if TYPE_CHECKING:
    from ranklens.stats.inputs import Rng


@dataclass(frozen=True)
class EffectSize:
    """How much better b is than a: by the mean difference, in standard deviations, and in queries."""

    difference: float
    interval: Interval
    cohen_dz: float
    hedges_g: float
    hedges_g_interval: Interval
    probability: float
    probability_interval: Interval
    wins: int
    ties: int
    losses: int


def effect_size(
    a: Any,
    b: Any,
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    method: str = "t",
    rng: Rng = None,
) -> EffectSize:
    """How much better b is than a; ``bounds`` are those of the measure.

    >>> effect = effect_size([0.2, 0.4, 0.1, 0.3], [0.3, 0.6, 0.4, 0.3])
    >>> effect.difference, effect.wins, effect.ties, effect.losses
    (0.15, 3, 1, 0)
    """
    change = inputs.differences(*inputs.pair(a, b))
    reach = bounds.high - bounds.low
    n = len(change)
    wins, losses = int((change > 0).sum()), int((change < 0).sum())
    probability = (wins + (n - wins - losses) / 2) / n
    deviation = change.std(ddof=1) if n > 1 else 0.0
    dz = (
        float(change.mean() / deviation)
        if deviation
        else float(np.sign(change.mean()) * np.inf)
        if change.any()
        else 0.0
    )
    g = dz * (1 - 3 / (4 * (n - 1) - 1)) if n > 2 else dz
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    half = z * float(np.sqrt(1 / n + g**2 / (2 * n)))
    return EffectSize(
        difference=float(change.mean()),
        interval=interval(change, method=method, level=level, bounds=Bounds(-reach, reach), rng=rng),
        cohen_dz=dz,
        hedges_g=g,
        hedges_g_interval=Interval(g - half, g + half, level, "normal"),
        probability=probability,
        probability_interval=_wilson(probability, n, z, level),
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
    )


def _wilson(share: float, n: int, z: float, level: float) -> Interval:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return Interval(centre - half, centre + half, level, "wilson")
