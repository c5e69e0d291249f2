"""Tests of two systems over the same queries: from their differences, whose noise was removed, to a p-value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.intervals import bootstrap_weights
from ranklens.stats.randomization import sign_flip_p

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray

# Up to this many differences all sums of ranks are counted, as in SciPy; then they are all but normal.
_COUNTED_RANKS = 50


@dataclass(frozen=True)
class TestResult:
    """A two-sided test of ``b - a``.

    ``statistic`` is positive where b is better: the mean difference (randomization), t (t, bootstrap, welch), the sum of
    signed ranks (wilcoxon), wins minus losses (sign, mcnemar). ``exact`` says that every outcome was counted, ``resamples`` how
    many were drawn. ``method`` is the test that was done, see :func:`paired_test`.
    """

    __test__ = False  # not a test of ours, whatever pytest thinks

    p_value: float
    statistic: float
    method: str
    n: int
    exact: bool = False
    resamples: int | None = None


def randomization(change: FloatArray, rng: np.random.Generator, resamples: int) -> TestResult:
    """Signs of the differences are flipped."""
    p, exact = sign_flip_p(change, rng, resamples)
    drawn = None if exact else resamples
    return TestResult(p, float(change.mean()), "randomization", len(change), exact, drawn)


def student_test(change: FloatArray) -> TestResult:
    """Student's; the sign test where differences do not vary."""
    if inputs.constant(change):
        return sign(change)
    t, p = student(change)
    return TestResult(float(p), float(t), "t", len(change))


def student(change: FloatArray) -> tuple[FloatArray, FloatArray]:
    """T and its two-sided p-value over the last axis."""
    return student_of(change.mean(axis=-1), change.std(axis=-1, ddof=1), change.shape[-1])


def student_of(mean: FloatArray, deviation: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The same from the mean and the standard deviation of n differences."""
    from scipy.special import stdtr

    t = mean / (deviation / n**0.5)
    return t, 2 * stdtr(n - 1, -np.abs(t))


def sign_p(wins: int, losses: int) -> float:
    """Two-sided, of as many wins against losses, binomial."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def sign_ps(wins: IntArray, losses: IntArray) -> FloatArray:
    """The same for many pairs."""
    from scipy.special import bdtr

    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(wins, losses), wins + losses, 0.5)))


def sign(change: FloatArray) -> TestResult:
    """Wins against losses, binomial."""
    wins, losses = int((change > 0).sum()), int((change < 0).sum())
    return TestResult(sign_p(wins, losses), float(wins - losses), "sign", len(change), exact=True)


def mcnemar(change: FloatArray) -> TestResult:
    """The same with mid-p."""
    wins, losses = int((change > 0).sum()), int((change < 0).sum())
    p = float(mid_p(np.array([wins]), np.array([losses]))[0])
    return TestResult(p, float(wins - losses), "mcnemar", len(change), exact=True)


def mid_p(wins: IntArray, losses: IntArray) -> FloatArray:
    """Two-sided mid-p of as many wins against losses, binomial (M. W. Fagerland and others 2013)."""
    from scipy.special import bdtr

    n, fewer = wins + losses, np.minimum(wins, losses)
    below = np.where(fewer > 0, bdtr(np.maximum(fewer - 1, 0), n, 0.5), 0.0)
    return np.asarray(np.where(wins == losses, 1.0, below + bdtr(fewer, n, 0.5)))


def wilcoxon(change: FloatArray) -> TestResult:
    """Signed ranks."""
    ranks, statistic = _signed_ranks(change)
    p = _rank_sum_p(ranks, statistic)
    return TestResult(p, statistic, "wilcoxon", len(change), exact=len(ranks) <= _COUNTED_RANKS)


def wilcoxon_ps(changes: FloatArray) -> FloatArray:
    """The p-values of many rows of differences."""
    return np.array([_rank_sum_p(*_signed_ranks(change)) for change in changes])


def _rank_sum_p(ranks: FloatArray, statistic: float) -> float:
    from scipy.special import ndtr

    if not len(ranks):
        return 1.0
    if len(ranks) <= _COUNTED_RANKS:
        # The share of sign patterns whose sum is as far from 0, counted sum by sum; shared ranks end in .5.
        ways = _ways_to_rank_sums(tuple(sorted(np.rint(2 * ranks).astype(int).tolist())))
        signed = np.arange(len(ways)) - (len(ways) - 1) / 2
        return float(ways[np.abs(signed) >= abs(statistic)].sum() / ways.sum())
    return float(2 * ndtr(-abs(statistic) / np.sqrt((ranks**2).sum())))


def _signed_ranks(change: FloatArray) -> tuple[FloatArray, float]:
    """The ranks of the differences that are not 0, and their sum with signs; equal but for noise, they share their mean rank."""
    changes = change[change != 0]
    if not len(changes):
        return changes, 0.0
    sizes = np.abs(changes)
    order, group = sizes.argsort(kind="stable"), np.zeros(len(sizes), int)
    group[order[1:]] = np.cumsum(np.diff(sizes[order]) > inputs.NOISE * sizes.max())
    members = np.bincount(group)
    ranks = (members.cumsum() - (members - 1) / 2)[group]
    return ranks, float((np.sign(changes) * ranks).sum())


@lru_cache(maxsize=128)  # pairs without ties have the same ranks
def _ways_to_rank_sums(ranks: tuple[int, ...]) -> FloatArray:
    """In how many ways of choosing signs the positive ranks have each sum."""
    ways, reached = np.zeros(sum(ranks) + 1), 0
    ways[0] = 1.0
    for rank in ranks:
        ways[rank : reached + rank + 1] += ways[: reached + 1].copy()
        reached += rank
    return ways


def bootstrap(change: FloatArray, rng: np.random.Generator, resamples: int) -> TestResult:
    """Student's t, its distribution from samples; the sign test where differences do not vary."""
    if inputs.constant(change):
        return sign(change)
    t, p = float(student(change)[0]), float(bootstrap_p(change[None], rng, resamples)[0])
    return TestResult(p, t, "bootstrap", len(change), resamples=resamples)


def bootstrap_p(changes: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """For each row of differences, how often a sample of them, shifted to mean 0, has a t as far off; the same samples for all."""
    n, observed = changes.shape[1], np.abs(student(changes)[0])
    centred = changes - changes.mean(axis=1, keepdims=True)
    noise = inputs.NOISE * np.abs(changes).max(axis=1)  # equal but for rounding is as far
    columns, far = np.concatenate([centred, centred**2]).T, np.zeros(len(changes), np.int64)
    for weights in bootstrap_weights(n, rng, resamples):
        mean, square = np.split(weights @ columns / n, 2, axis=1)
        error = np.sqrt(np.maximum(square - mean**2, 0) / (n - 1))
        far += (np.abs(mean) >= observed * error - noise).sum(axis=0)
    return np.asarray((far + 1) / (resamples + 1))


def welch(a: FloatArray, b: FloatArray) -> TestResult:
    """As if a and b came from different queries."""
    from scipy.special import stdtr

    n, sizes, gap = min(len(a), len(b)), np.array([len(a), len(b)]), float(b.mean() - a.mean())
    if inputs.constant(a) and inputs.constant(b):
        # No way to deal the values into two samples puts them farther apart than two constant samples are.
        differ = abs(gap) > inputs.NOISE * max(np.abs(a).max(), np.abs(b).max())
        p = min(1.0, 2 / comb(len(a) + len(b), len(a))) if differ else 1.0
        return TestResult(p, gap if differ else 0.0, "permutation", n, exact=True)
    if n < 2:
        return TestResult(1.0, 0.0, "welch", n)  # with one value the variance is unknown
    parts = np.array([a.var(ddof=1), b.var(ddof=1)]) / sizes
    t = gap / float(np.sqrt(parts.sum()))
    freedom = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum()
    return TestResult(float(2 * stdtr(freedom, -abs(t))), t, "welch", n)
