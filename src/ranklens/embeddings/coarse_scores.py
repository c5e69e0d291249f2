"""Coarse scores, of numbers that newer processors multiply faster than float32; torch can do that, NumPy cannot.

Both kinds say between which of their scores an exact one may lie, so that what they cannot tell can be looked at again.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.embeddings import similarity as dense
from ranklens.embeddings.counting import around
from ranklens.embeddings.similarity import SINGLE, Prepared
from ranklens.embeddings.spaces import Dense, Opened
from ranklens.embeddings.transfer import load_torch

_ROUNDING = 2.0**-8  # of a bfloat16
_LARGEST = 127  # of an int8
_MOST_NUMBERS = 1 << 15  # of a vector: sums of more products might not fit an int32
_ROWS = 1024  # documents that are rounded at once, in the processor's cache


class CoarseScores(Protocol):
    """Scores of queries with a block of documents."""

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> Any:
        """Some queries and all documents, or the first ones; in memory that the next block takes again."""

    def highest(self, scores: Any) -> Any:
        """At least the highest score of each query."""

    def readable(self, scores: Any) -> Any:
        """Scores as NumPy compares them."""

    def interval(self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray) -> tuple[Any, Any]:
        """The scores that documents with an exact one may have; ``row`` says which of the queries each belongs to."""


def _knows(*names: str) -> bool:
    """Whether the processor has any of these instructions, and torch uses them."""
    torch = load_torch()
    if not torch.backends.mkldnn.is_available():
        return False
    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(known.get(name) or getattr(torch.cpu, f"_is_{name}_supported", bool)() for name in names)


class HalfScores:
    """Products of bfloat16, twice as fast as float32 where the processor knows them."""

    def __init__(self, space: Dense) -> None:
        self.torch, self.space = load_torch(), space
        self._queries = self._rounded(space.single)
        lost = self._queries.double() - self.torch.from_numpy(space.single.vectors)
        self._lost = self.torch.linalg.vector_norm(lost, dim=1).numpy() * 1.001
        self._block: Opened | None = None
        self._documents: Any = None
        self._buffer = self.torch.empty(0, dtype=self.torch.bfloat16)

    @staticmethod
    def are_fast() -> bool:
        return _knows("avx512_bf16", "amx_bf16")

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> Any:
        if self._block is not block:
            self._block, self._documents = block, self._rounded(block.documents, self._documents)
        documents = self._documents[:most]
        self._buffer, scores = _place(self._buffer, len(rows), len(documents))
        self.torch.mm(_chosen(self._queries, rows), documents.T, out=scores)
        return scores.view(self.torch.int16).numpy()  # NumPy does not know bfloat16

    def highest(self, scores: Any) -> Any:
        """As whole numbers, the bits of positive scores have the same order."""
        return self.readable(np.maximum(scores.max(axis=1), 0))

    def readable(self, scores: Any) -> Any:
        """As float32, which has the same bits and more."""
        return (scores.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)

    def interval(self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray) -> tuple[Any, Any]:
        margin = self.margin(block.documents, rows)[row]
        margin += _ROUNDING * (np.abs(exact) + margin) + 2.0**-125  # scores are rounded, too
        return around(exact, margin, np.dtype(np.float32))

    def margin(self, documents: Prepared, rows: IntArray) -> FloatArray:
        """For each query: by how much a score may differ from the formula before it is rounded itself."""
        queries, lost = self.space.single[rows], self._lost[rows]
        size, numbers = float(documents.lengths.max(initial=0)), queries.vectors.shape[1]
        # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|; sums are cut off rather than rounded.
        inputs = lost * size + (queries.lengths + lost) * _ROUNDING * size
        steps = 4 * SINGLE * (numbers + 16) * 1.01 * (queries.lengths + lost) * size
        tiny = numbers * 2.0**-125 * (1 + queries.lengths + size)
        found: FloatArray = dense.margin(queries, documents, self.space.similarity) + inputs + steps + tiny
        return found

    def _rounded(self, vectors: Prepared, buffer: Any = None) -> Any:
        """Vectors in bfloat16, in the memory of others where that fits."""
        single = self.torch.from_numpy(vectors.vectors)
        if buffer is None or buffer.shape != single.shape:
            buffer = self.torch.empty(single.shape, dtype=self.torch.bfloat16)
        return buffer.copy_(single)


class ByteScores:
    """Products of int8, four times as fast as float32. They are exact, only the vectors are rounded.

    What documents have in common says nothing about their order, so their centre is taken off before: that leaves less to round.
    """

    def __init__(self, space: Dense) -> None:
        self.torch, self.space = load_torch(), space
        single = self.torch.from_numpy(space.single.vectors)
        steps = single.abs().amax(1).double() / _LARGEST
        steps = steps.where(steps > 0, 1.0)
        self._queries = self.torch.round(single / steps[:, None]).to(self.torch.int8)
        lost = single.double() - self._queries * steps[:, None]
        self._steps, self._lost = steps.numpy(), self.torch.linalg.vector_norm(lost, dim=1).numpy() * 1.001
        self._centre: Any = None
        self._step = 0.0
        self._block: Opened | None = None
        self._documents: Any = None
        self._buffer = self.torch.empty(0, dtype=self.torch.int32)

    @staticmethod
    def are_fast() -> bool:
        return _knows("avx512_vnni", "avx_vnni", "amx_int8", "vnni") and _multiplies_bytes()

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> Any:
        self._open(block)
        documents = self._documents[:most]
        self._buffer, scores = _place(self._buffer, len(rows), len(documents))
        self.torch._int_mm(_chosen(self._queries, rows), documents.T, out=scores)  # noqa: SLF001  torch has no other
        return scores.numpy()

    def highest(self, scores: Any) -> Any:
        return scores.max(axis=1)

    def readable(self, scores: Any) -> Any:
        return scores

    def interval(self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray) -> tuple[Any, Any]:
        self._open(block)
        unit = self._steps[rows[row]] * self._step
        centre, margin = exact - self._shift[rows[row]], self.margin(block.documents, rows)[row]
        low, high = np.floor((centre - margin) / unit) - 1, np.ceil((centre + margin) / unit) + 1
        most = np.iinfo(np.int32).max
        return np.clip(low, -most, most).astype(np.int32), np.clip(high, -most, most).astype(np.int32)

    def margin(self, documents: Prepared, rows: IntArray) -> FloatArray:
        """For each query: by how much a score may differ from the formula, if it is taken times the steps and the centre is added."""
        queries, lost = self.space.single[rows], self._lost[rows]
        inputs = lost * self._size + (queries.lengths + lost) * self._spoilt
        found: FloatArray = dense.margin(queries, documents, self.space.similarity) + inputs
        return found

    def _open(self, block: Opened) -> None:
        """Round the documents, and find the length of the longest and of what rounding took at most."""
        if self._block is block:
            return
        torch, vectors = self.torch, self.torch.from_numpy(block.documents.vectors)
        if self._centre is None:
            self._find_centre(vectors)
        if self._documents is None or self._documents.shape != vectors.shape:
            self._documents = torch.empty(vectors.shape, dtype=torch.int8)
        size = spoilt = 0.0
        for first in range(0, len(vectors), _ROWS):
            part = vectors[first : first + _ROWS] - self._centre
            size = max(size, float(torch.linalg.vector_norm(part, dim=1).max()))
            whole = (part * (1 / self._step)).round_().clamp_(-_LARGEST, _LARGEST)
            self._documents[first : first + _ROWS] = whole
            part -= whole.mul_(self._step)
            spoilt = max(spoilt, float(torch.linalg.vector_norm(part, dim=1).max()))
        # Both were computed in float32, in which squares of tiny numbers are zero.
        tiny = vectors.shape[1] * 2.0**-62
        self._size, self._spoilt = size * 1.01 + tiny, spoilt * 1.01 + size * 2.0**-20 + tiny
        self._block = block

    def _find_centre(self, vectors: Any) -> None:
        """From the first block. Any centre and step are right; those that fit leave little to round."""
        self._centre = vectors.mean(0) if len(vectors) else vectors.sum(0)
        farthest = max(
            (float((part - self._centre).abs().max()) for part in vectors.split(_ROWS) if part.numel()),
            default=0.0,
        )
        self._step = max(farthest / _LARGEST, 2.0**-90)
        centre = self._centre.double().numpy()
        parts = range(0, len(self.space), _ROWS)
        given = self.space.single.vectors
        self._shift = np.concatenate(
            [np.zeros(0), *(given[first : first + _ROWS].astype(np.float64) @ centre for first in parts)]
        )


@cache
def _multiplies_bytes() -> bool:
    """Whether torch has the product, and gives it exactly: older processors cut sums off."""
    torch = load_torch()
    given = torch.full((64, 256), _LARGEST, dtype=torch.int8)
    given[::2] = -_LARGEST
    try:
        found = torch._int_mm(given, given.T, out=torch.empty((64, 64), dtype=torch.int32))  # noqa: SLF001
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool((found.double() == given.double() @ given.double().T).all())


def _place(buffer: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """A buffer that is large enough, and its part of this shape."""
    if len(buffer) < rows * columns:
        buffer = load_torch().empty(rows * columns, dtype=buffer.dtype)
    return buffer, buffer[: rows * columns].reshape(rows, columns)


def _chosen(queries: Any, rows: IntArray) -> Any:
    """Some rows, without a copy where they are neighbours."""
    part = queries[rows[0] : rows[-1] + 1]
    return part if len(part) == len(rows) else queries[load_torch().from_numpy(rows)]


def fast_kinds(numbers: int) -> list[type[HalfScores | ByteScores]]:
    """What this processor multiplies faster than float32, fastest first, for vectors of so many numbers."""
    kinds: list[type[HalfScores | ByteScores]] = []
    if numbers <= _MOST_NUMBERS and ByteScores.are_fast():
        kinds.append(ByteScores)
    if HalfScores.are_fast():
        kinds.append(HalfScores)
    return kinds
