"""Which queries a result rests on: the difference and the test with one query left out at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.clusters import Clusters
from ranklens.stats.randomization import EXACT_UP_TO, sign_flip_p
from ranklens.stats.significance import SIGNIFICANCE_TESTS, paired_test

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

_CELLS = 1 << 22  # signed sums held at once
_WORK = 1 << 27  # signs drawn in all


@dataclass(frozen=True)
class Influence:
    """For each query: the mean difference and the p-value without it; ``p_value`` is that of all queries, from the same draws."""

    difference: FloatArray
    difference_without: FloatArray
    p_without: FloatArray
    p_value: float

    @property
    def order(self) -> IntArray:
        """The queries, the most influential first."""
        moved = np.abs(self.difference_without - self.difference.mean())
        return np.argsort(-moved, kind="stable")


def influence(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    method: str = "t",
    clusters: Clusters | None = None,
    rng: Rng = 0,
    resamples: int = 100_000,
) -> Influence:
    """What is left of the difference ``b - a`` without each query, and how significant it still is.

    ``method`` is randomization, mcnemar, wilcoxon, sign or welch, which takes the query from both systems; any other test is judged by
    t, which is close to it. Removing a query takes it out of its cluster.

    >>> found = influence([0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.4, 1.0])
    >>> found.order[:2], found.difference_without.round(3)
    (array([3, 1]), array([0.233, 0.267, 0.233, 0.067]))
    """
    change = inputs.differences(*inputs.pair(a, b))
    groups = clusters or Clusters.of(range(len(change)))
    n = len(change)
    without = (change.sum() - change) / (n - 1) if n > 1 else np.full(n, np.nan)
    if n < 3:
        return Influence(change, without, np.ones(n), 1.0)
    test = SIGNIFICANCE_TESTS.get(method, SIGNIFICANCE_TESTS["t"])
    if test.shared_draws == "signs":
        p, base = _by_signs(change, groups, inputs.generator(rng), resamples)
    elif test.compares:
        p, base = _by_rank(change, groups, method)
    elif (
        test.p_of_wins is not None
    ):  # the number of wins and losses is enough; values of 0 and 1 are not clustered
        won, lost = change > 0, change < 0
        p = test.p_of_wins(np.append(won.sum() - won, won.sum()), np.append(lost.sum() - lost, lost.sum()))
        p, base = p[:-1], float(p[-1])
    elif test.of_samples is not None:
        first, second = inputs.pair(a, b)
        rests = ((np.delete(first, i), np.delete(second, i)) for i in range(n))
        p = np.array([paired_test(*rest, method=method).p_value for rest in rests])
        base = paired_test(first, second, method=method).p_value
    else:
        p, base = _by_t(change, groups)
    return Influence(change, without, p, base)


def mean_without(change: FloatArray, most: int = 2) -> tuple[IntArray, float]:
    """The ``most`` queries that speak loudest for the difference, and the mean difference without them.

    >>> mean_without(np.array([0.0, 0.1, 0.9, -0.2, 0.6]))
    (array([2, 4]), -0.0333...)
    """
    loudest = np.argsort(-change * np.sign(change.sum() or 1.0), kind="stable")[:most]
    rest = np.delete(change, loudest)
    return loudest, float(rest.mean()) if len(rest) else float("nan")


def _by_t(change: FloatArray, groups: Clusters) -> tuple[FloatArray, float]:
    """One-sample t tests of what the clusters add, in closed form: a query leaves its cluster, or takes it along."""
    from scipy.special import stdtr

    totals = groups.sums(change)
    own = totals[groups.index]
    count = np.append(len(groups) - (groups.sizes[groups.index] == 1), len(groups)).astype(float)
    total = np.append(totals.sum() - change, totals.sum())
    squares = (totals**2).sum() + np.append((own - change) ** 2 - own**2, 0.0)
    noise = inputs.NOISE * np.maximum(squares, 1e-300)
    spread = squares - total**2 / count
    error = np.sqrt(np.maximum(spread, 0) / (count - 1) / count)
    t = np.where(np.abs(total) <= noise, 0.0, np.inf)
    np.divide(np.abs(total) / count, error, out=t, where=spread > noise)
    p = np.asarray(2 * stdtr(count - 1, -t))
    return p[:-1], float(p[-1])


def _by_rank(change: FloatArray, groups: Clusters, method: str) -> tuple[FloatArray, float]:
    def p_value(left: FloatArray, index: IntArray) -> float:
        means = Clusters.of(index.tolist()).means(left)
        return paired_test(np.zeros_like(means), means, method=method).p_value

    each = [p_value(np.delete(change, i), np.delete(groups.index, i)) for i in range(len(change))]
    return np.array(each), p_value(change, groups.index)


def _by_signs(
    change: FloatArray, groups: Clusters, rng: np.random.Generator, resamples: int
) -> tuple[FloatArray, float]:
    totals = groups.sums(change)
    if np.count_nonzero(totals) <= EXACT_UP_TO:
        queries = [*zip(groups.index.tolist(), change.tolist(), strict=True)]
        p_of: dict[tuple[int, float], float] = {}
        for group, value in dict.fromkeys(queries):  # equal queries of a cluster leave the same behind
            rest = totals.copy()
            rest[group] -= value
            p_of[group, value] = sign_flip_p(rest, rng, 1)[0]
        return np.array([p_of[query] for query in queries]), sign_flip_p(totals, rng, 1)[0]
    n = len(change)
    draws = int(np.clip(_WORK // n, 10_000, max(resamples, 10_000)))
    limit = np.abs(np.append(totals.sum() - change, totals.sum())) - 1e-9 * np.abs(change).sum()
    far, at_once = np.zeros(n + 1), max(1, _CELLS // n)
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        signs = rng.integers(0, 2, (rows, len(groups)), dtype=np.int8) * 2.0 - 1.0
        sums = signs @ totals
        far[:-1] += (np.abs(sums[:, None] - signs[:, groups.index] * change) >= limit[:-1]).sum(axis=0)
        far[-1] += (np.abs(sums) >= limit[-1]).sum()
    p = (far + 1) / (draws + 1)
    return p[:-1], float(p[-1])
