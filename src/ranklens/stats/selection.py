"""What the best of several is worth: its own mean is too high, because it was picked for being high."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.stats.inputs import Rng

_FOLDS, _SPLITS = 10, 20


def cross_fitted(
    values: FloatArray, *, better: str = "higher", folds: int = _FOLDS, splits: int = _SPLITS, rng: Rng = 0
) -> FloatArray:
    """For each query (column), the value of the row that is best on other queries; the mean is that of an honestly picked row.

    Queries are split into ``folds``; on each, the row counts that has the best mean on the others. That is repeated for some random
    splits and averaged. The mean is nearly unbiased; an interval of these values would be too narrow, because they share the picks.

    >>> values = np.random.default_rng(0).random((30, 50))  # thirty equal rows with a true mean of 0.5
    >>> round(float(values.mean(axis=1).max()), 2), round(float(cross_fitted(values).mean()), 2)
    (0.58, 0.46)
    """
    n = values.shape[1]
    generator, sign = inputs.generator(rng), -1.0 if better == "lower" else 1.0
    parts = min(folds, n)
    values_of_picked = np.zeros(n)
    for _ in range(splits):
        fold = generator.permutation(n) % parts
        inside = np.stack([sign * values[:, fold == part].sum(axis=1) for part in range(parts)], axis=1)
        picked = (inside.sum(axis=1, keepdims=True) - inside).argmax(axis=0)
        values_of_picked += values[picked[fold], np.arange(n)]
    return values_of_picked / splits
