"""Coefficients of agreement, from counts: all work on the last axes, so that thousands of samples are computed at once.

Cohen (1960, 1968), Fleiss (1971), Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

LEVELS = ("nominal", "ordinal", "interval")
WEIGHTS = ("none", "linear", "quadratic")


def kappa(counts: FloatArray, weights: str = "none", values: FloatArray | None = None) -> FloatArray:
    """Cohen's kappa of tables of counts, first assessor × second; NaN where both always say the same one thing.

    ``weights`` say how much worse it is to be two grades apart than one: not at all, twice (``linear``) or four times (``quadratic``). ``values`` are
    the grades, by default 0, 1, 2 …

    >>> table = np.array([[30, 8, 2, 0], [6, 12, 5, 1], [1, 4, 10, 5], [0, 1, 3, 12]])
    >>> [round(float(kappa(table, weights)), 4) for weights in WEIGHTS]
    [0.5022, 0.6647, 0.7947]
    """
    inputs.choice(weights, "weights", WEIGHTS)
    grades = np.arange(counts.shape[-1]) if values is None else values
    apart = np.abs(grades[:, None] - grades).astype(np.float64)
    cost = {"none": (apart > 0) * 1.0, "linear": apart, "quadratic": apart**2}[weights]
    expected = counts.sum(axis=-1)[..., :, None] * counts.sum(axis=-2)[..., None, :]
    total = counts.sum(axis=(-1, -2))
    return _one_minus((cost * counts).sum(axis=(-1, -2)) * total, (cost * expected).sum(axis=(-1, -2)))


def fleiss(agreed: FloatArray, categories: FloatArray) -> FloatArray:
    """Fleiss' kappa from the mean share of agreeing pairs of assessors and the share of each category."""
    by_chance = (categories**2).sum(axis=-1)
    return _one_minus(1 - agreed, 1 - by_chance)


def coincidences(counts: FloatArray) -> FloatArray:
    """The coincidences of values, grade × grade, of each document from how often each grade was given to it.

    A document that one assessor judged has none, as there is nothing to compare.
    """
    given = counts.sum(axis=-1)[:, None, None]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[-1])
    return np.asarray(pairs / np.maximum(given - 1, 1) * (given > 1))


def alpha(coincident: FloatArray, level: str = "ordinal", values: FloatArray | None = None) -> FloatArray:
    """Krippendorff's alpha of tables of coincidences; NaN if every assessor always gives the same single grade.

    ``level`` is how grades are to be read: ``nominal`` (the same or not), ``ordinal`` (by how many documents lie between two grades) or
    ``interval`` (by their difference). ``values`` are the grades, by default 0, 1, 2 …
    """
    inputs.choice(level, "level", LEVELS)
    totals = coincident.sum(axis=-1)
    grades = np.arange(coincident.shape[-1]) if values is None else values
    if level == "ordinal":
        upto = totals.cumsum(axis=-1) - totals / 2  # the middle of each grade, in documents
        distance = (upto[..., :, None] - upto[..., None, :]) ** 2
    else:
        apart = np.abs(grades[:, None] - grades).astype(np.float64)
        distance = apart**2 if level == "interval" else (apart > 0) * 1.0
    expected = totals[..., :, None] * totals[..., None, :]
    n = totals.sum(axis=-1)
    return _one_minus(
        (n - 1) * (coincident * distance).sum(axis=(-1, -2)), (expected * distance).sum(axis=(-1, -2))
    )


def _one_minus(seen: FloatArray, by_chance: FloatArray) -> FloatArray:
    """1 - seen / by chance; NaN where nothing could differ by chance."""
    known = by_chance > inputs.NOISE
    share = np.divide(seen, by_chance, out=np.full(np.shape(by_chance), np.nan), where=known)
    return np.asarray(1 - share)
