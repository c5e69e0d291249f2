"""The randomisation test of differences: if the systems were equal, each difference could as well have the other sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.inputs import whole_steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.judged import FloatArray

EXACT_UP_TO = 20  # differences other than 0; a million ways to set the signs take milliseconds
_RESAMPLES, _BYTES = (
    1 << 14,
    1 << 10,
)  # done at once: sums that stay in the cache, and some megabytes of random signs


def sign_flip_p(differences: FloatArray, rng: np.random.Generator, resamples: int) -> tuple[float, bool]:
    """The share of sign patterns with a mean at least as far from 0, two-sided, and whether all patterns were counted.

    Beyond 20 differences the patterns are drawn, and the one observed is counted among them, so that p is never 0.

    >>> sign_flip_p(np.array([0.1, 0.2, 0.3]), np.random.default_rng(0), 1000)
    (0.25, True)
    """
    steps = whole_steps(differences[differences != 0])
    threshold = abs(int(steps.sum())) - len(steps)  # what is equal but for rounding counts as equal
    if len(steps) <= EXACT_UP_TO:
        return float((np.abs(_all_sums(steps)) >= threshold).mean()), True
    far = sum(
        int((np.abs(sums) >= threshold).sum())
        for sums in (
            _random_sums(steps, rng, min(_RESAMPLES, resamples - start))
            for start in range(0, resamples, _RESAMPLES)
        )
    )
    return (far + 1) / (resamples + 1), False


def _all_sums(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sums of all sign patterns of the first sign; the others are their negatives."""
    sums = steps[:1] if len(steps) else np.zeros(1, np.int64)
    for step in steps[1:]:
        sums = np.concatenate((sums + step, sums - step))
    return sums


def _random_sums(
    steps: npt.NDArray[np.int64], rng: np.random.Generator, resamples: int
) -> npt.NDArray[np.int64]:
    """Sums under random signs; a random byte decides eight signs at once, by looking their sum up."""
    sums = np.zeros(resamples, np.int64)
    for start in range(0, len(steps), 8 * _BYTES):
        tables = _sums_by_byte(steps[start : start + 8 * _BYTES])
        drawn = np.frombuffer(rng.bytes(len(tables) * resamples), np.uint8).reshape(len(tables), resamples)
        for table, signs in zip(tables, drawn, strict=True):
            sums += table.take(signs)
    return sums


def _sums_by_byte(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each eight steps, their sum under each of the 256 ways to set their signs."""
    eights = np.zeros((-(-len(steps) // 8), 8), np.int64)
    eights.ravel()[: len(steps)] = steps
    signs = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    return eights @ signs.T
