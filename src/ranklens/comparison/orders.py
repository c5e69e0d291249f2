"""How far two orders of the same systems agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.arrays import FloatArray


@dataclass(frozen=True)
class OrderAgreement:
    """Kendall's tau-b (None if one order has only ties), and the number of pairs that swapped places."""

    tau: float | None
    swaps: int


def agreement(one: Sequence[float], other: Sequence[float]) -> OrderAgreement:
    """How far the orders by two means agree.

    >>> agreement([0.3, 0.2, 0.1], [0.3, 0.1, 0.2])
    OrderAgreement(tau=0.3333333333333333, swaps=1)
    """
    first, second = _signs(np.asarray(one)), _signs(np.asarray(other))
    untied = float((first != 0).sum()) * float((second != 0).sum())
    tau = float((first * second).sum() / untied**0.5) if untied else None
    return OrderAgreement(tau, int((first * second < 0).sum()))


def worst_agreement(values: FloatArray, lower_is_better: bool) -> tuple[OrderAgreement, list[int]]:
    """Systems × queries: the least agreement of the means with those without one query, and who leads without each."""
    n = values.shape[1]
    means = values.mean(axis=1)
    first = np.argmin if lower_is_better else np.argmax
    if n < 2:
        return agreement(means, means), [int(first(means))] * n
    without = (values.sum(axis=1, keepdims=True) - values) / (n - 1)
    found = [agreement(means, column) for column in without.T]
    leaders = first(without, axis=0).tolist()
    return min(found, key=lambda one: (1.0 if one.tau is None else one.tau, -one.swaps)), leaders


def _signs(means: FloatArray) -> FloatArray:
    """Of each two systems, which has the higher mean; equal up to rounding is equal."""
    rows, columns = np.triu_indices(len(means), 1)
    gaps = means[rows] - means[columns]
    size = np.maximum(np.abs(means[rows]), np.abs(means[columns]))
    return np.where(np.abs(gaps) <= 1e-12 * size, 0.0, np.sign(gaps))
