"""Is a drop smaller than a limit, larger, or is that open? Two one-sided tests, and the interval that belongs to them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ranklens.stats import Clusters, Interval
from ranklens.stats.margins import careful_p

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.guard.verdicts import Status

_HALVINGS = 50
_DOUBLINGS = 60
NO_CHANGE = "no change"  # how the interval is made where no query changed


def decide(
    gain: FloatArray,
    unit: FloatArray,
    allowed: float,
    confidence: float,
    clusters: Clusters | None = None,
) -> Status:
    """Whether the mean of ``gain`` (new minus old, positive where the new is better) is above ``-allowed`` times that of ``unit``.

    It passes if the one-sided test of :func:`~ranklens.stats.margin_test` shows it at this confidence, fails if the opposite test
    does, and is undecided otherwise, so each mistake has about a probability of one minus the confidence at most. Where no query
    changed, there is nothing to decide: it passes.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> gain, one = rng.normal(-0.1, 0.2, 200), np.ones(200)
    >>> [decide(gain, one, allowed, 0.95) for allowed in (0.01, 0.1, 0.2)]
    ['failed', 'undecided', 'passed']
    """
    if not gain.any():
        return "passed"
    gain, unit = _by_cluster(gain, unit, clusters)
    if careful_p(gain, allowed * unit) <= 1 - confidence:
        return "passed"
    return "failed" if careful_p(-gain, -allowed * unit) <= 1 - confidence else "undecided"


def placed(operator: str, limit: float, around: Interval) -> Status:
    """Where the interval of a mean lies."""
    good, bad = (
        (around.low >= limit, around.high < limit)
        if operator == ">="
        else (around.high <= limit, around.low > limit)
    )
    return "passed" if good else "failed" if bad else "undecided"


def change_interval(
    gain: FloatArray, unit: FloatArray, confidence: float, clusters: Clusters | None = None
) -> Interval:
    """The interval of the change that belongs to :func:`decide`, in units of the limit: negative is worse.

    Each end has this confidence by itself, so a rule passes if the allowed change is below the interval.
    """
    level = 2 * confidence - 1
    if not gain.any():
        return Interval(0.0, 0.0, level, NO_CHANGE)
    gain, unit = _by_cluster(gain, unit, clusters)
    low, high = _bound(gain, unit, 1 - confidence), -_bound(-gain, unit, 1 - confidence)
    return Interval(low, high, level, "one-sided tests")


def _by_cluster(
    gain: FloatArray, unit: FloatArray, clusters: Clusters | None
) -> tuple[FloatArray, FloatArray]:
    return (gain, unit) if clusters is None else (clusters.shares(gain), clusters.shares(unit))


def _bound(gain: FloatArray, unit: FloatArray, alpha: float) -> float:
    """The largest share of ``unit`` that the mean of ``gain`` is surely above: where the p-value of the test crosses alpha."""
    scale = float(unit.mean())
    if scale <= 0:
        return -inf

    def surely_above(share: float) -> bool:
        return bool(careful_p(gain, -share * unit) <= alpha)

    top: float = float(gain.mean()) / scale
    step: float = max(float(gain.std()) / len(gain) ** 0.5 / scale, 1e-12)
    bottom: float = top - step
    for _ in range(_DOUBLINGS):
        if surely_above(bottom):
            break
        top, step = bottom, 2 * step
        bottom -= step
    else:
        return -inf
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        bottom, top = (middle, top) if surely_above(middle) else (bottom, middle)
    return bottom
