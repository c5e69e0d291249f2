"""Tests of many pairs of systems over the same queries, with the random numbers shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.stats import inputs
from ranklens.stats.paired import bootstrap_p, sign
from ranklens.stats.randomization import EXACT_UP_TO, random_sums, sign_flip_p
from ranklens.stats.resampling_counts import COUNTED, bootstrap_p_of_counts, counts_of
from ranklens.stats.significance import DEFAULT_TEST, SIGNIFICANCE_TESTS, paired_test

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

_CELLS = 1 << 17  # differences held at once; more would not stay in the cache
_NEARLY = 1e-9  # of the largest score


def pairwise_p(
    scores: Sequence[FloatArray],
    first: IntArray,
    second: IntArray,
    *,
    method: str = DEFAULT_TEST,
    rng: Rng = None,
    resamples: int = 100_000,
) -> list[FloatArray]:
    """The p-values of :func:`~ranklens.stats.paired_test` for pairs of rows, for several measures of the same systems.

    ``scores`` holds one matrix per measure, systems × queries. The randomisation test draws its signs once for all systems and
    measures and keeps the signed sum of each *system*: those of the pairs are their differences. The bootstrap draws its
    samples once for all pairs and measures; with very many queries it draws from the counts of equal differences of each pair.

    >>> scores = np.array([[0.2, 0.4, 0.1, 0.3, 0.5], [0.3, 0.6, 0.4, 0.7, 1.0], [0.2, 0.5, 0.1, 0.3, 0.5]])
    >>> pairwise_p([scores], np.array([0, 0]), np.array([1, 2]))
    [array([0.0625, 1.    ])]
    """
    test = SIGNIFICANCE_TESTS[method]
    if test.shared_draws == "signs":
        return _sign_flips(scores, first, second, inputs.generator(rng), resamples)
    if test.shared_draws == "samples":
        return _bootstrap(scores, first, second, inputs.generator(rng), resamples)
    how = {"method": method, "rng": rng, "resamples": resamples}
    return [_of_rows(values, first, second, how) for values in scores]


def _of_rows(values: FloatArray, first: IntArray, second: IntArray, how: dict[str, Any]) -> FloatArray:
    test, p, rest = SIGNIFICANCE_TESTS[how["method"]], np.ones(len(first)), np.ones(len(first), dtype=bool)
    p_of_wins, p_of_rows = test.p_of_wins, test.p_of_rows
    if p_of_wins is not None:

        def p_of_rows(change: FloatArray) -> FloatArray:
            return p_of_wins((change > 0).sum(axis=1), (change < 0).sum(axis=1))

    if p_of_rows is not None and values.shape[1] > 1:
        nearly = _NEARLY * np.abs(values).max()
        for part in _parts(len(first), values.shape[1]):
            if test.needs_variation:
                change = values[second[part]] - values[first[part]]
                # Differences that hardly vary are left to the test of single pairs, which knows what to do.
                rest[part] = np.ptp(change, axis=1) <= nearly
            else:
                change, rest[part] = inputs.differences(values[first[part]], values[second[part]]), False
            p[part][~rest[part]] = p_of_rows(change[~rest[part]])
    for pair in np.flatnonzero(rest):
        p[pair] = paired_test(values[first[pair]], values[second[pair]], **how).p_value
    return p


def _bootstrap(
    scores: Sequence[FloatArray],
    first: IntArray,
    second: IntArray,
    rng: np.random.Generator,
    resamples: int,
) -> list[FloatArray]:
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    changes = np.stack([inputs.differences(values[i], values[j]) for values in scores for i, j in pairs])
    varies = np.array([not inputs.constant(change) for change in changes])
    p = np.ones(len(changes))
    if varies.any() and changes.shape[1] > COUNTED:
        p[varies] = [bootstrap_p_of_counts(*counts_of(row), rng, resamples) for row in changes[varies]]
    elif varies.any():
        p[varies] = bootstrap_p(changes[varies], rng, resamples)
    for row in np.flatnonzero(~varies):
        p[row] = sign(changes[row]).p_value
    return np.split(p, len(scores))


def _sign_flips(
    scores: Sequence[FloatArray],
    first: IntArray,
    second: IntArray,
    rng: np.random.Generator,
    resamples: int,
) -> list[FloatArray]:
    p_values = [np.ones(len(first)) for _ in scores]
    drawn: list[IntArray] = []  # the pairs of each measure that are too long to be counted exactly
    for p, values in zip(p_values, scores, strict=True):
        long = []
        for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            change = inputs.differences(values[i], values[j])
            if np.count_nonzero(change) > EXACT_UP_TO:
                long.append(pair)
            else:
                p[pair] = sign_flip_p(change, rng, resamples)[0]
        drawn.append(np.array(long, dtype=np.int64))
    if any(len(pairs) for pairs in drawn):
        counts = _count_far(scores, first, second, drawn, rng, resamples)
        for p, pairs, far in zip(p_values, drawn, counts, strict=True):
            p[pairs] = (far + 1) / (resamples + 1)
    return p_values


def _count_far(
    scores: Sequence[FloatArray],
    first: IntArray,
    second: IntArray,
    drawn: Sequence[IntArray],
    rng: np.random.Generator,
    resamples: int,
) -> list[IntArray]:
    """How many random sign patterns give each pair a sum at least as far from 0 as the one observed."""
    systems, queries = scores[0].shape
    steps = np.concatenate([inputs.whole_steps(values) for values in scores])
    a, b = (
        np.concatenate([side[pairs] + m * systems for m, pairs in enumerate(drawn)])
        for side in (first, second)
    )
    changes = steps.sum(axis=1)[b] - steps.sum(axis=1)[a]
    limits, far = (
        np.abs(changes) - 2 * queries,
        np.zeros(len(a), np.int64),
    )  # equal but for rounding is as far
    if len(a) <= len(steps):  # few pairs: their differences, not the systems themselves
        for sums in random_sums(steps[b] - steps[a], rng, resamples):
            far += [np.count_nonzero(np.abs(row) >= limit) for row, limit in zip(sums, limits, strict=True)]
    else:
        for sums in random_sums(steps, rng, resamples):
            for part in _parts(len(a), sums.shape[1]):
                apart = np.abs(sums[b[part]] - sums[a[part]])
                far[part] += (apart >= limits[part, None]).sum(axis=1)
    return list(np.split(far, np.cumsum([len(pairs) for pairs in drawn])[:-1]))


def _parts(pairs: int, resamples: int) -> Iterator[slice]:
    at_once = max(1, _CELLS // resamples)
    return (slice(start, start + at_once) for start in range(0, pairs, at_once))
