"""Corrections for multiple tests: if you look often enough, you find a small p-value by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

CORRECTIONS = ("bonferroni", "holm", "hochberg", "hommel", "bh", "by", "none")


def adjust(p_values: Any, *, method: str = "holm") -> FloatArray:
    """The p-values of several tests, made larger so that they can be compared with alpha as if there were one.

    ``bonferroni``, ``holm``, ``hochberg`` and ``hommel`` keep the chance of any false discovery below alpha; ``bh`` and ``by``
    (Benjamini with Hochberg, with Yekutieli) the expected share of false discoveries.

    >>> adjust([0.01, 0.04, 0.03], method="holm")
    array([0.03, 0.06, 0.06])
    """
    inputs.choice(method, "method", CORRECTIONS)
    p = inputs.numbers(p_values, "p_values")
    for position in np.flatnonzero((p < 0) | (p > 1))[:1]:
        raise InputError(f"p_values[{position}] is {p[position]}: a p-value lies between 0 and 1.")
    m, order = len(p), np.argsort(p, kind="stable")
    place = np.arange(1, m + 1)
    if method == "none":
        return p.copy()
    if method == "bonferroni":
        return np.minimum(p * m, 1)
    rising = p[order]
    if method == "holm":
        adjusted = np.maximum.accumulate(rising * (m + 1 - place))
    elif method == "hommel":
        adjusted = _hommel(rising)
    else:
        weights = {"hochberg": m + 1.0 - place, "bh": m / place, "by": m / place * (1 / place).sum()}[method]
        adjusted = np.minimum.accumulate((rising * weights)[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(adjusted, 1)
    return result


def share_of_look(look: int) -> float:
    """The share of alpha for one look at data that keep coming in; the shares of all looks, without end, add up to 1.

    >>> [round(share_of_look(look), 3) for look in (1, 2, 10)]
    [0.608, 0.152, 0.006]
    """
    return 6 / (np.pi * look) ** 2


def _hommel(rising: FloatArray) -> FloatArray:
    """Simes' test of every set of hypotheses that holds the one in question (Hommel 1988; the algorithm is Wright's, 1992)."""
    m = len(rising)
    place = np.arange(1, m + 1)
    adjusted = np.full(m, (m * rising / place).min(initial=1.0))
    for size in range(m - 1, 1, -1):
        small, large = rising[: m - size + 1], rising[m - size + 1 :]
        least = (size * large / np.arange(2, size + 1)).min()
        floor = np.concatenate((np.minimum(size * small, least), np.full(size - 1, 0.0)))
        floor[m - size + 1 :] = floor[m - size]
        adjusted = np.maximum(adjusted, floor)
    return np.asarray(np.maximum(adjusted, rising))
