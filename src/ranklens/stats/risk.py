"""Risk: how much a system loses against a baseline where it loses, which a mean does not show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import Given, InputError

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray


def urisk(values: Sequence[float], baseline: Sequence[float], alpha: float = 1.0) -> float:
    """The mean gain over the baseline, with losses counted 1 + alpha times (Wang et al. 2012; gdeval's ``-baseline``).

    >>> urisk([0.5, 0.2], [0.4, 0.4], alpha=1)
    -0.15
    """
    return float(np.mean(_weighted(values, baseline, alpha)).round(15))


def trisk(values: Sequence[float], baseline: Sequence[float], alpha: float = 1.0) -> float:
    """URisk divided by its standard error (Dinçer et al. 2014).

    This is not a test of whether a system is worse: losses count more than gains, so the TRisk of equally good systems is negative, and
    the more queries there are, the more so. Test the difference itself, as :func:`ranklens.compare` does.
    """
    weighted = _weighted(values, baseline, alpha)
    if len(weighted) < 2:
        raise InputError("trisk needs the values of two queries or more.")
    error = float(np.std(weighted, ddof=1)) / math.sqrt(len(weighted))
    return float(np.mean(weighted)) / error if error else 0.0


def georisk(systems: Mapping[str, Sequence[float]], alpha: float = 1.0) -> dict[str, float]:
    """Effectiveness and risk in one for each of several systems, without a baseline (Dinçer et al. 2016).

    The geometric mean of a system's mean and of the normal probability of its ZRisk, which compares each value with what the system's
    mean and the query's mean over systems make one expect, losses counted 1 + alpha times.

    >>> {name: round(value, 4) for name, value in georisk({"a": [0.5, 0.1], "b": [0.3, 0.3]}).items()}
    {'a': 0.3644, 'b': 0.3801}
    """
    table = np.array([list(values) for values in systems.values()], dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1 or (table < 0).any():
        raise InputError("georisk needs values of 0 or more for the same queries of each system.")
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / max(table.sum(), 1e-300)
    z = np.divide(table - expected, np.sqrt(expected), out=np.zeros_like(table), where=expected > 0)
    zrisk = np.where(z > 0, z, (1 + alpha) * z).sum(axis=1)
    chance = np.array([0.5 * math.erfc(-one / table.shape[1] / math.sqrt(2)) for one in zrisk.tolist()])
    return dict(zip(systems, np.sqrt(table.mean(axis=1) * chance).tolist(), strict=True))


def _weighted(values: Sequence[float], baseline: Sequence[float], alpha: float) -> FloatArray:
    gain = np.asarray(values, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    if gain.ndim != 1 or not len(gain):
        raise InputError("Values and baseline must be lists of numbers for the same queries.")
    if alpha < 0:
        raise InputError(Given("alpha", alpha), " is not allowed; it is 0 or more.")
    return np.where(gain < 0, (1 + alpha) * gain, gain)
