"""Randomisation: if the systems were equally good, their names could be exchanged in any query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.inputs import whole_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from ranklens.arrays import FloatArray

    IntArray = npt.NDArray[np.int64]

EXACT_UP_TO = 20  # differences other than 0; a million ways to set their signs take milliseconds
_AT_ONCE = 1 << 14  # resamples, so that their sums stay in the cache
_BYTES = 1 << 10  # of random signs for each of them, so that memory is bounded
_SUMS = 1 << 24  # held at once
_DEALT = 1 << 18  # scores at once


def sign_flip_p(differences: FloatArray, rng: np.random.Generator, resamples: int) -> tuple[float, bool]:
    """The share of sign patterns with a mean at least as far from 0, and whether all patterns were counted.

    Beyond 20 differences the patterns are drawn, and the one observed is counted with them, so that p is never 0.

    >>> sign_flip_p(np.array([0.1, 0.2, 0.3]), np.random.default_rng(0), 1000)
    (0.25, True)
    """
    steps = whole_steps(differences[differences != 0])  # the sign of 0 does not matter
    limit = abs(int(steps.sum())) - len(steps)  # equal but for rounding is as far
    if len(steps) <= EXACT_UP_TO:
        return float((np.abs(_all_sums(steps)) >= limit).mean()), True
    far = sum(int((np.abs(sums) >= limit).sum()) for sums in random_sums(steps[None], rng, resamples))
    return (far + 1) / (resamples + 1), False


def _all_sums(steps: IntArray) -> IntArray:
    """The sums of all sign patterns with the first sign as it is; the other half are their negatives."""
    sums = steps[:1] if len(steps) else np.zeros(1, np.int64)
    for step in steps[1:]:
        sums = np.concatenate((sums + step, sums - step))
    return sums


def random_sums(steps: IntArray, rng: np.random.Generator, resamples: int) -> Iterator[IntArray]:
    """The sum of each row under random signs of the columns, some resamples at a time: rows × resamples.

    A random byte decides eight signs at once, and their sum is looked up.
    """
    at_once = max(1, min(_AT_ONCE, _SUMS // len(steps)))
    for start in range(0, resamples, at_once):
        sums = np.zeros((len(steps), min(at_once, resamples - start)), np.int64)
        for first in range(0, steps.shape[1], 8 * _BYTES):
            part = steps[:, first : first + 8 * _BYTES]
            width = -(-part.shape[1] // 8)
            drawn = np.frombuffer(rng.bytes(width * sums.shape[1]), np.uint8).reshape(width, -1)
            for row, numbers in enumerate(part):
                for table, signs in zip(_sums_by_byte(numbers), drawn, strict=True):
                    sums[row] += table.take(signs)
        yield sums


def _sums_by_byte(steps: IntArray) -> IntArray:
    """For each eight steps, their sum under each of the 256 ways to set their signs."""
    eights = np.zeros((-(-len(steps) // 8), 8), np.int64)
    eights.ravel()[: len(steps)] = steps
    signs = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    return eights @ signs.T


def range_p(scores: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """For each pair of systems (rows), how often the best and the worst are as far apart when names are shuffled.

    In every query the systems' scores are shuffled among the systems (Carterette 2012). Comparing a pair with the *range*
    of all systems is what corrects for having many pairs.
    """
    steps = whole_steps(scores - np.median(scores, axis=0))  # a query's difficulty does not matter
    totals = steps.sum(axis=1)
    limits = np.abs(totals - totals[:, None]) - 2 * scores.shape[1]  # equal but for rounding is as far
    ranges = np.sort(np.concatenate(list(_dealt_ranges(steps.T, rng, resamples))))
    p = (resamples - np.searchsorted(ranges, limits) + 1) / (resamples + 1)
    np.fill_diagonal(p, 1)
    return np.asarray(p)


def _dealt_ranges(steps: IntArray, rng: np.random.Generator, resamples: int) -> Iterator[IntArray]:
    """Ranges of the systems' totals with the scores of each query (rows) shuffled."""
    at_once = max(1, _DEALT // steps.size)
    for start in range(0, resamples, at_once):
        dealt = np.repeat(steps[None], min(at_once, resamples - start), axis=0)
        yield np.ptp(rng.permuted(dealt, axis=2, out=dealt).sum(axis=1), axis=1)
