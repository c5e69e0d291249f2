"""Tests of two systems over the same queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.randomization import sign_flip_p

if TYPE_CHECKING:
    from ranklens.judged import FloatArray
    from ranklens.stats.inputs import Rng

TESTS = ("randomization", "t", "wilcoxon", "sign", "bootstrap", "welch")
_CELLS = 1 << 22  # numbers drawn at once, so that memory stays bounded
_EXACT_RANKS = 50  # up to so many differences the distribution of signed ranks is counted, as in SciPy


@dataclass(frozen=True)
class TestResult:
    """A two-sided test of ``b - a``.

    ``statistic`` is positive where b is better: the mean difference (randomization), t (t, bootstrap, welch), the sum of
    signed ranks (wilcoxon), wins less losses (sign).
    """

    __test__ = False  # not a test of ours, whatever pytest thinks

    p_value: float
    statistic: float
    method: str
    n: int
    exact: bool = False
    resamples: int | None = None


def paired_test(
    a: Any, b: Any, *, method: str = "randomization", rng: Rng = None, resamples: int = 100_000
) -> TestResult:
    """How likely so large a difference between a and b would be if the two were equally good.

    >>> result = paired_test([0.2, 0.4, 0.1, 0.3, 0.5], [0.3, 0.6, 0.4, 0.7, 1.0])
    >>> result.p_value, result.exact
    (0.0625, True)
    """
    inputs.choice(method, "method", TESTS)
    inputs.count(resamples, "resamples")
    first, second = inputs.pair(a, b)
    if method == "welch":
        return _welch(first, second)
    change = inputs.differences(first, second)
    if method == "randomization":
        p, exact = sign_flip_p(change, inputs.generator(rng), resamples)
        return TestResult(p, float(change.mean()), method, len(change), exact, None if exact else resamples)
    if method == "wilcoxon":
        return _wilcoxon(change)
    if method == "sign" or (change == change[0]).all():
        return _sign(change)
    if method == "t":
        return _student(change)
    return _bootstrap(change, inputs.generator(rng), resamples)


def _student(change: FloatArray) -> TestResult:
    from scipy.special import stdtr

    n = len(change)
    t = change.mean() / (change.std(ddof=1) / n**0.5)
    return TestResult(float(2 * stdtr(n - 1, -abs(t))), float(t), "t", n)


def _sign(change: FloatArray) -> TestResult:
    """The binomial test of wins against losses; ties are left out."""
    from scipy.special import bdtr

    wins, losses = int((change > 0).sum()), int((change < 0).sum())
    p = min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0
    return TestResult(p, float(wins - losses), "sign", len(change), exact=True)


def _wilcoxon(change: FloatArray) -> TestResult:
    """Wilcoxon's signed ranks; ties between systems are left out, equal differences share their ranks."""
    from scipy.special import ndtr
    from scipy.stats import rankdata

    steps = inputs.whole_steps(change)
    steps = steps[steps != 0]
    ranks = rankdata(np.abs(steps))
    statistic = float((np.sign(steps) * ranks).sum())
    if not len(ranks):
        p, exact = 1.0, True
    else:
        p, exact = float(2 * ndtr(-abs(statistic) / np.sqrt((ranks**2).sum()))), False
    return TestResult(p, statistic, "wilcoxon", len(change), exact)


def _bootstrap(change: FloatArray, rng: np.random.Generator, resamples: int) -> TestResult:
    """The studentised bootstrap: how often t of a resample, shifted to mean 0, is as far from 0 as t observed."""
    n, far = len(change), 0
    observed = _student(change).statistic
    batch = max(1, _CELLS // n)
    for start in range(0, resamples, batch):
        drawn = change[rng.integers(0, n, (min(batch, resamples - start), n))]
        error = drawn.std(axis=1, ddof=1) / n**0.5
        far += int((np.abs(drawn.mean(axis=1) - change.mean()) >= abs(observed) * error).sum())
    return TestResult((far + 1) / (resamples + 1), observed, "bootstrap", n, resamples=resamples)


def _welch(a: FloatArray, b: FloatArray) -> TestResult:
    from scipy.special import stdtr

    n = len(a)
    parts = np.array([a.var(ddof=1), b.var(ddof=1)]) / n if n > 1 else np.zeros(2)
    if not parts.sum():
        return _sign(inputs.differences(a, b))
    t = (b.mean() - a.mean()) / np.sqrt(parts.sum())
    freedom = parts.sum() ** 2 / (parts**2 / (n - 1)).sum()
    return TestResult(float(2 * stdtr(freedom, -abs(t))), float(t), "welch", n)
