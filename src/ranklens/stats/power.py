"""What a query set can show: the smallest detectable difference, the number of queries that a difference needs, and how sure that is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import inputs
from ranklens.stats.clusters import Clusters, cluster_interval
from ranklens.stats.distributions import noncentral_t_tail
from ranklens.stats.intervals import Bounds, Interval, interval
from ranklens.stats.paired import mid_p
from ranklens.stats.randomization import EXACT_UP_TO
from ranklens.stats.student import root

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

_MANY = 1_000_000  # queries, with which Student's t is normal to the last query

_FEW_PATTERNS = 3  # of signs, for which Student's t does not tell the power of the randomisation test
_UNLIKELY = 1e-7
_COUNTED_WINS = 50  # differing queries, up to which the power of McNemar's test is counted
_TRIMMED = 4  # values, from which on Bonett's centre is a trimmed mean
_LEAST = 1e-9  # standard deviations; a smaller difference would need more than 10**18 queries


def detectable_difference(deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest mean difference that a paired t test over n queries finds with probability ``power``.

    ``deviation`` is the standard deviation of the differences by query. One query finds nothing: the answer is infinity.

    >>> round(detectable_difference(0.2, 50), 4)
    0.0808
    """
    _check(alpha, power)
    spread = _deviation(deviation)
    return spread * _detectable_effect(n, alpha, power) if inputs.count(n, "n") > 1 else np.inf


def queries_needed(difference: float, deviation: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """The number of queries with which a paired t test finds the mean difference with probability ``power``.

    ``deviation`` is the standard deviation of the differences by query.

    >>> queries_needed(0.05, 0.2)
    128
    """
    from scipy.special import ndtri

    _check(alpha, power)
    gap, spread = abs(inputs.finite(difference, "difference")), _deviation(deviation)
    if gap <= _LEAST * spread or not gap:
        raise InputError(
            f"difference={difference!r} is not allowed: no number of queries can show a difference of 0."
        )
    normal = ((ndtri(1 - alpha / 2) + ndtri(power)) * spread / gap) ** 2
    if normal > _MANY:
        return int(np.ceil(normal))
    if not spread:
        return 2
    effect, low, high = gap / spread, 1, 2
    while _power(effect, high, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(effect, middle, alpha) >= power else (middle, high)
    return high


def power_of(difference: float, deviation: float, n: int, *, alpha: float = 0.05) -> float:
    """The probability with which a paired t test over n queries finds the mean difference.

    >>> round(power_of(0.05, 0.2, 128), 3)
    0.802
    """
    inputs.share(alpha, "alpha", 0.05)
    gap, spread = abs(inputs.finite(difference, "difference")), _deviation(deviation)
    if inputs.count(n, "n") < 2:
        return alpha
    if not spread:
        return 1.0 if gap else alpha
    return min(1.0, _power(gap / spread, n, alpha))


def default_test_power(
    difference: float,
    deviation: float,
    n: int,
    *,
    alpha: float = 0.05,
    differing: float = 1.0,
    binary: bool = False,
) -> float:
    """The probability with which the test that comparisons choose by default finds the mean difference over n queries.

    With few queries, randomisation has few p-values: six queries that all favour one system give 0.031, and any other outcome is more
    than 0.05. ``differing`` is the share of queries in which two systems differ at all; the others say nothing. ``binary`` scores are
    compared by McNemar's mid-p test. With many queries, both have the power of the paired t test.

    >>> [round(default_test_power(0.2, 0.1, n), 3) for n in (5, 6, 10, 1000)]
    [0.0, 0.871, 1.0, 1.0]
    """
    gap = abs(difference)
    share = min(1.0, max(differing, gap)) if binary else differing
    if n * share > (_COUNTED_WINS if binary else EXACT_UP_TO):
        return power_of(gap, deviation, n, alpha=alpha)
    from scipy.special import bdtr

    counts = np.arange(n + 1)
    chances = np.diff(bdtr(counts, n, share), prepend=0.0)  # that this many queries differ
    mean = gap / share
    spread = max((deviation**2 + gap**2) / share - mean**2, 0.0) ** 0.5
    total = 0.0
    for m in counts[chances > _UNLIKELY].tolist():
        if binary:  # how likely m differences of 1 or -1 have a mid-p of at most alpha
            wins = np.arange(m + 1)
            of_wins = np.diff(bdtr(wins, m, (1 + min(mean, 1.0)) / 2), prepend=0.0)
            power = float(of_wins[mid_p(wins, m - wins) <= alpha].sum())
        else:
            power = _sign_flip_power(mean, spread, m, alpha)
        total += chances[m] * power
    return float(min(1.0, total))


def queries_for_default_test(
    difference: float,
    deviation: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    differing: float = 1.0,
    binary: bool = False,
) -> int:
    """The number of queries with which the default test finds the mean difference with probability ``power``.

    >>> queries_for_default_test(0.2, 0.1), queries_needed(0.2, 0.1)
    (6, 5)
    """
    most = int((_COUNTED_WINS if binary else EXACT_UP_TO) / differing) + 1
    low, high = 1, max(queries_needed(difference, deviation, alpha=alpha, power=power), most)
    while high - low > 1:
        middle = (low + high) // 2
        at_middle = default_test_power(
            difference, deviation, middle, alpha=alpha, differing=differing, binary=binary
        )
        low, high = (low, middle) if at_middle >= power else (middle, high)
    return high


@lru_cache(maxsize=256)  # a comparison asks for the same queries again and again
def _detectable_effect(n: int, alpha: float, power: float) -> float:
    """The smallest difference in standard deviations."""
    high = n**-0.5
    while _power(high, n, alpha) < power:
        high *= 2
    return root(lambda effect: _power(effect, n, alpha) - power, 0, high)


def _power(effect: float, n: int, alpha: float) -> float:
    """Of a two-sided paired t test: t falls beyond either limit."""
    from scipy.special import stdtrit

    limit, shift = float(stdtrit(n - 1, 1 - alpha / 2)), effect * n**0.5
    return noncentral_t_tail(limit, n - 1, shift) + noncentral_t_tail(limit, n - 1, -shift)


def _sign_flip_power(mean: float, spread: float, n: int, alpha: float) -> float:
    """The power over n normal differences other than 0, of all sign patterns the most extreme of which are significant."""
    from scipy.special import ndtr

    patterns = int(alpha * 2.0 ** (n - 1) + 1e-9) if n <= EXACT_UP_TO else _FEW_PATTERNS + 1
    if n < 1 or not patterns or not spread:
        return float(n >= 1 and patterns > 0)
    if patterns > _FEW_PATTERNS:
        level = patterns / 2.0 ** (n - 1) if n <= EXACT_UP_TO else alpha
        return _power(mean / spread, n, level)
    # All differences have one sign, or all but the smallest, or all but the second smallest.
    u, width = np.linspace(0, 10, 2001, retstep=True)
    power = 0.0
    for effect in (mean / spread, -mean / spread):
        above = ndtr(effect - u)
        density = np.exp(-((u + effect) ** 2) / 2) / (2 * np.pi) ** 0.5
        parts = [
            float(above[0]) ** n,
            float(n * width * (density * above ** (n - 1)).sum()),
            float(n * (n - 1) * width * (density * (above[0] - above) * above ** max(n - 2, 0)).sum()),
        ]
        power += sum(parts[:patterns])
    return power


def _check(alpha: float, power: float) -> None:
    inputs.share(alpha, "alpha", 0.05)
    inputs.share(power, "power", 0.8)
    if power <= alpha:
        raise InputError(
            Given("power", power), " is not above ", Given("alpha", alpha), ": chance alone finds that much."
        )


def _deviation(deviation: float) -> float:
    if inputs.finite(deviation, "deviation") < 0:
        raise InputError(f"deviation={deviation!r} is not allowed: a standard deviation is 0 or more.")
    return float(deviation)


def deviation_interval(
    changes: FloatArray, *, level: float = 0.95, most: float = np.inf, clusters: Clusters | None = None
) -> Interval:
    """The interval of the root mean square of the standard deviations of rows.

    ``most`` is the largest difference there can be: the squared deviations then have known ends, and the interval is that of
    their mean (:func:`~ranklens.stats.interval`), which holds even if a few queries cause nearly all of the variance. Without it, it is
    Bonett's (2006), which allows for the kurtosis observed. The chi-square interval holds for normal differences only.

    >>> print(deviation_interval(np.array([[0.1, -0.05, 0.2, 0.0, 0.15, -0.1]]), most=1.0))
    [0.0152, 0.6814]
    """
    n = changes.shape[1]
    apart = changes - changes.mean(axis=1, keepdims=True)
    squares = (apart**2).mean(axis=0) * n / (n - 1)
    if not np.isfinite(most):
        return _kurtosis_interval(changes, apart, level)
    bounds = Bounds(0.0, most**2)
    squares = np.minimum(squares, bounds.high)
    if clusters is None:
        around = interval(squares, level=level, bounds=bounds)
    else:
        around = cluster_interval(squares, clusters, level=level, bounds=bounds)
    return Interval(max(around.low, 0.0) ** 0.5, around.high**0.5, level, around.method)


def _kurtosis_interval(changes: FloatArray, apart: FloatArray, level: float) -> Interval:
    """D. G. Bonett: Approximate confidence interval for standard deviation of nonnormal distributions, 2006."""
    from scipy.special import ndtri

    n, z = changes.shape[1], float(ndtri((1 + level) / 2))
    cut = int(n * 0.5 / (n - _TRIMMED) ** 0.5) if n > _TRIMMED + 1 else 0
    centre = np.sort(changes, axis=1)[:, cut : n - cut].mean(axis=1, keepdims=True)
    kurtosis = changes.size * ((changes - centre) ** 4).sum() / (apart**2).sum() ** 2
    scale = n / max(n - z, 1.0)
    error = scale * (max(kurtosis - (n - 3) / n, 0.0) / (n - 1)) ** 0.5
    variance = float(changes.var(axis=1, ddof=1).mean())
    low, high = (float(np.exp((np.log(scale * variance) + side * z * error) / 2)) for side in (-1, 1))
    return Interval(low, high, level, "bonett")
