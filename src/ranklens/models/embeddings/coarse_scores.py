"""Coarse scores, of numbers that newer processors multiply faster than float32; torch can do that, NumPy cannot.

Both kinds say between which of their scores an exact one may lie, so that what they cannot tell can be looked at again.
"""

from __future__ import annotations

from functools import cache
from threading import Lock, local
from typing import Protocol

import numpy as np

from ranklens.arrays import FloatArray, IntArray, NumberArray
from ranklens.models.embeddings import similarity as dense
from ranklens.models.embeddings.counting import around
from ranklens.models.embeddings.similarity import SINGLE, Prepared
from ranklens.models.embeddings.spaces import Dense, Memory, Opened
from ranklens.models.embeddings.tensors import Tensor, load_torch

_ROUNDING = 2.0**-8  # of a bfloat16
_LARGEST = 127  # of an int8
_MOST_NUMBERS = 1 << 15  # of a vector: sums of more products might not fit an int32


class CoarseScores(Protocol):
    """Scores of queries with a block of documents."""

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> NumberArray:
        """Some queries and all documents, or the first ones; in memory that the next block takes again."""

    def highest(self, scores: NumberArray) -> NumberArray:
        """At least the highest score of each query."""

    def readable(self, scores: NumberArray) -> NumberArray:
        """Scores as NumPy compares them."""

    def interval(
        self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray
    ) -> tuple[NumberArray, NumberArray]:
        """The scores that documents with an exact one may have; ``row`` says which of the queries each belongs to."""


def _knows(*names: str) -> bool:
    """Whether the processor has any of these instructions, and torch uses them."""
    torch = load_torch()
    if not torch.backends.mkldnn.is_available():
        return False
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(
        capabilities.get(name) or getattr(torch.cpu, f"_is_{name}_supported", bool)() for name in names
    )


class HalfScores:
    """Products of bfloat16, twice as fast as float32 where the processor knows them."""

    def __init__(self, space: Dense) -> None:
        self.torch, self.space = load_torch(), space
        self._queries = self._rounded(space.single)
        single = space.single.vectors
        self._lost = np.empty(len(single))
        for rows in dense.cached_parts(single):
            self._lost[rows] = dense.lengths(self._queries[rows].double().numpy() - single[rows]) * 1.001
        self._opened = _HalfBlock()

    @staticmethod
    def are_fast() -> bool:
        return _knows("avx512_bf16", "amx_bf16")

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> NumberArray:
        opened = self._opened
        if opened.documents is None or opened.block is not block:
            opened.block, opened.documents = block, self._rounded(block.documents, opened.documents)
        documents = opened.documents[:most]
        scores = self.space.memory.room((len(rows), len(documents)), np.int16)  # NumPy does not know bfloat16
        out = self.torch.from_numpy(scores).view(self.torch.bfloat16)
        self.torch.mm(_chosen(self._queries, rows), documents.T, out=out)
        return scores

    def highest(self, scores: NumberArray) -> NumberArray:
        """As whole numbers, the bits of positive scores have the same order."""
        return self.readable(np.maximum(scores.max(axis=1), 0))

    def readable(self, scores: NumberArray) -> NumberArray:
        """As float32, which has the same bits and more."""
        return self.torch.from_numpy(scores).view(self.torch.bfloat16).to(self.torch.float32).numpy()

    def interval(
        self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray
    ) -> tuple[NumberArray, NumberArray]:
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
        return np.asarray(dense.margin(queries, documents, self.space.similarity) + inputs + steps + tiny)

    def _rounded(self, vectors: Prepared, buffer: Tensor | None = None) -> Tensor:
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
        self._queries = self.torch.empty(space.single.vectors.shape, dtype=self.torch.int8)
        self._steps, self._lost, self._lengths, self._shift = np.zeros((4, len(space)))
        self._centre: NumberArray | None = None
        self._scale = np.float32(1)
        self._fitting = Lock()
        self._memory, self._opened = Memory(), _ByteBlock()

    @staticmethod
    def are_fast() -> bool:
        return _knows("avx512_vnni", "avx_vnni", "amx_int8", "vnni") and _multiplies_bytes()

    def product(self, block: Opened, rows: IntArray, most: int | None = None) -> NumberArray:
        documents = self.torch.from_numpy(self._open(block).documents[:most])
        scores = self.space.memory.room((len(rows), len(documents)), np.int32)
        self.torch._int_mm(_chosen(self._queries, rows), documents.T, out=self.torch.from_numpy(scores))  # noqa: SLF001  torch has no other
        return scores

    def highest(self, scores: NumberArray) -> NumberArray:
        highest: NumberArray = scores.max(axis=1)
        return highest

    def readable(self, scores: NumberArray) -> NumberArray:
        return scores

    def interval(
        self, block: Opened, rows: IntArray, row: IntArray, exact: FloatArray
    ) -> tuple[NumberArray, NumberArray]:
        margin = self.margin(block, rows)[row]
        unit, centre = self._steps[rows[row]], exact - self._shift[rows[row]]
        low, high = np.floor((centre - margin) / unit) - 1, np.ceil((centre + margin) / unit) + 1
        most = np.iinfo(np.int32).max
        return np.clip(low, -most, most).astype(np.int32), np.clip(high, -most, most).astype(np.int32)

    def margin(self, block: Opened, rows: IntArray) -> FloatArray:
        """For each query: by how much a score, times the query's step and with the centre's added, may differ from the formula."""
        opened, lost, length = self._open(block), self._lost[rows], self._lengths[rows]
        # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|.
        with np.errstate(invalid="ignore"):
            inputs = lost * opened.size + (length + lost) * opened.spoilt
        inputs[np.isnan(inputs)] = np.inf  # 0 times infinity
        return dense.margin(self.space.single[rows], block.documents, self.space.similarity) + inputs

    @np.errstate(over="ignore")  # infinite lengths mean that nothing can be told
    def _open(self, block: Opened) -> _ByteBlock:
        """Round the documents, and find the length of the longest and the most that rounding took from one."""
        opened = self._opened
        if opened.block is block:
            return opened
        vectors = block.documents.vectors
        with self._fitting:
            if self._centre is None:
                self._centre = self._fit(vectors)
            centre = self._centre
        if opened.documents.shape != vectors.shape:
            opened.documents = np.empty(vectors.shape, np.int8)
        size, spoilt = np.empty((2, len(vectors)), np.float32)
        for rows in dense.cached_parts(vectors):
            part, whole = self._memory.room((2, *vectors[rows].shape), np.float32)
            np.subtract(vectors[rows], centre, out=part)
            part *= self._scale
            size[rows] = dense.squares(part)
            np.clip(np.rint(part, out=whole), -_LARGEST, _LARGEST, out=whole)
            opened.documents[rows] = whole
            part -= whole
            spoilt[rows] = dense.squares(part)
        longest, most = (float(np.sqrt(squared.max(initial=0))) for squared in (size, spoilt))
        # All of this was computed in float32.
        opened.size, opened.spoilt = longest * 1.01 + 2.0**-40, most * 1.01 + longest * 2.0**-20 + 2.0**-40
        opened.block = block
        return opened

    def _fit(self, documents: NumberArray) -> NumberArray:
        """Find centre and scale from the first block, and round the queries. Any would be right; these fit."""
        centre: NumberArray = documents.mean(axis=0)
        parts = (documents[rows] - centre for rows in dense.cached_parts(documents))
        farthest = max((float(np.abs(part).max(initial=0)) for part in parts), default=0.0)
        self._scale = np.float32(_LARGEST / max(farthest, 2.0**-90))
        for here in dense.cached_parts(self.space.single.vectors):
            double = self.space.single.vectors[here].astype(np.float64)
            self._shift[here] = double @ centre.astype(np.float64)
            double /= float(self._scale)
            step = np.abs(double).max(axis=1, initial=0) / _LARGEST
            step[step == 0] = 1
            whole = np.rint(double / step[:, None])
            self._queries[here] = self.torch.from_numpy(whole)
            self._steps[here], self._lengths[here] = step, np.linalg.norm(double, axis=1)
            self._lost[here] = np.linalg.norm(double - whole * step[:, None], axis=1) * 1.001
        return centre


class _HalfBlock(local):
    """The documents that a thread has rounded last."""

    block: Opened | None = None
    documents: Tensor | None = None


class _ByteBlock(local):
    """The documents that a thread has rounded last, and at most: the length of the longest, and of what rounding took from one."""

    block: Opened | None = None
    documents: NumberArray = np.empty((0, 0), np.int8)
    size = spoilt = 0.0


@cache
def _multiplies_bytes() -> bool:
    """Whether torch has the product, and gives it exactly: older processors cut sums off."""
    torch = load_torch()
    numbers = torch.full((64, 256), _LARGEST, dtype=torch.int8)
    numbers[::2] = -_LARGEST
    try:
        product = torch._int_mm(numbers, numbers.T, out=torch.empty((64, 64), dtype=torch.int32))  # noqa: SLF001
    except (AttributeError, RuntimeError, TypeError):
        return False
    return bool(product.double().eq(numbers.double() @ numbers.double().T).all())


def _chosen(queries: Tensor, rows: IntArray) -> Tensor:
    """Some rows, without a copy where they are neighbours."""
    part = queries[rows[0] : rows[-1] + 1]
    return part if len(part) == len(rows) else queries[load_torch().from_numpy(rows)]


def fast_kinds(numbers: int) -> list[type[HalfScores | ByteScores]]:
    """What this processor multiplies faster than float32, fastest first, for vectors of this size."""
    kinds: list[type[HalfScores | ByteScores]] = []
    if numbers <= _MOST_NUMBERS and ByteScores.are_fast():
        kinds.append(ByteScores)
    if HalfScores.are_fast():
        kinds.append(HalfScores)
    return kinds
