"""Several vectors per item, one for each token: all of them in one array, and where each item starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings import host


@dataclass(frozen=True)
class Tokens:
    """The vectors of all items, one after the other; item i has the rows from ``starts[i]`` to ``starts[i + 1]``."""

    vectors: Any
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.vectors.shape[1])

    def one(self, item: int) -> FloatArray:
        """The vectors of one item, in float64."""
        return np.array(self.vectors[self.starts[item] : self.starts[item + 1]], np.float64)

    def __getitem__(self, rows: slice | IntArray | tuple[slice, slice]) -> Tokens:
        if isinstance(rows, tuple):  # the first numbers of every vector
            return Tokens(self.vectors[:, rows[1]], self.starts)
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self))
            edges = self.starts[first : last + 1]
            return Tokens(self.vectors[edges[0] : edges[-1]], edges - edges[0])
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        inside = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        return Tokens(self.vectors[np.repeat(self.starts[rows], counts) + inside], starts)


def as_tokens(items: Any, name: str) -> Tokens:
    """A list with one array per item, or an array of three dimensions whose rows of zeros are padding.

    >>> as_tokens([[[1, 0], [0, 1]], [[1, 1]]], "queries").starts
    array([0, 2, 3])
    """
    if isinstance(items, Tokens):
        return items
    if getattr(items, "ndim", 0) == 3:
        padded = host.as_array(items, name)
        items = [one[(one != 0).any(axis=1)] for one in padded]
    if not isinstance(items, Sequence):
        raise InputError(
            f"{name}: similarity='maxsim' takes a list with one array of vectors per item, or three dimensions; "
            f"{type(items).__name__} was given."
        )
    arrays = [host.as_matrix(one, f"{name}[{i}]") for i, one in enumerate(items)]
    for i, one in enumerate(arrays):
        if not len(one):
            raise InputError(f"{name}[{i}] has no vectors: leave the item out, or give it at least one.")
        if one.shape[1] != arrays[0].shape[1]:
            raise InputError(
                f"{name}[{i}] has vectors of {one.shape[1]} numbers, {name}[0] of {arrays[0].shape[1]}."
            )
    if not arrays:
        return Tokens(np.zeros((0, 0), np.float32), np.zeros(1, np.int64))
    counts = [len(one) for one in arrays]
    return Tokens(np.concatenate(arrays), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
