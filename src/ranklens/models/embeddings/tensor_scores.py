"""The formula of :mod:`ranklens.models.embeddings.similarity` in torch, bit for bit, so that a device decides ties as the processor does.

Sums, products and quotients are rounded as IEEE 754 says, on a processor as on a GPU; only the order of a sum is left open. So
numbers are added here in the order in which NumPy adds them.
"""

from __future__ import annotations

import numpy as np

from ranklens.models.embeddings.similarity import Similarity
from ranklens.models.embeddings.tensors import Tensor, load_torch

_LANES, _LONGEST = 8, 128  # of NumPy's sum: it adds up to 128 numbers in 8 lanes, and halves what is longer


def exact_scores(queries: Tensor, documents: Tensor, similarity: Similarity) -> Tensor:
    """The score of each row of ``queries`` with the same row of ``documents``, both in float64."""
    if similarity == "euclidean":
        difference = documents - queries
        return -add(difference * difference)
    scores = add(queries * documents)
    if similarity == "cosine":
        lengths = _root(add(queries * queries)) * _root(add(documents * documents))
        scores = load_torch().where(lengths > 0, scores / lengths, 0.0)
    return scores


def _root(numbers: Tensor) -> Tensor:
    """By NumPy: torch's root is sometimes off by one unit in the last place on a processor."""
    return load_torch().from_numpy(np.sqrt(numbers.cpu().numpy())).to(numbers.device)


def add(rows: Tensor) -> Tensor:
    """The sum of each row, as ``np.sum(rows, axis=1)`` rounds it."""
    count, size = rows.shape
    if size > _LONGEST:
        half = size // 2 - size // 2 % _LANES
        if 2 * half == size:  # both halves at once
            rows = add(rows.reshape(2 * count, half)).reshape(count, 2)
            return rows[:, 0] + rows[:, 1]
        return add(rows[:, :half]) + add(rows[:, half:])
    whole = size - size % _LANES
    if not whole:
        return _one_by_one(rows[:, 0], rows[:, 1:]) if size else rows.sum(1)
    lanes = rows[:, :_LANES]
    for first in range(_LANES, whole, _LANES):
        lanes = lanes + rows[:, first : first + _LANES]
    while lanes.shape[1] > 1:
        lanes = lanes[:, ::2] + lanes[:, 1::2]
    return _one_by_one(lanes[:, 0], rows[:, whole:])


def _one_by_one(total: Tensor, rest: Tensor) -> Tensor:
    for column in range(rest.shape[1]):
        total = total + rest[:, column]
    return total
