"""A first look in bfloat16, which newer processors multiply twice as fast as float32; torch can do that, NumPy cannot.

Its scores are coarse. But where judged documents rank high, few others come near them, and only what comes near is scored again.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.embeddings import similarity as dense
from ranklens.embeddings.counting import Counter, around, compare
from ranklens.embeddings.similarity import SINGLE, Prepared
from ranklens.embeddings.spaces import Dense, Opened, Space
from ranklens.embeddings.transfer import load_torch

_ROUNDING = 2.0**-8  # of a bfloat16
_SAMPLE = 512  # documents that queries are tried on first
_SMALL = 1 << 30  # multiplications of an evaluation that takes no time anyway
_FEW = 8  # documents near a judged one; if more come near, and more than one in 1,024, float32 is faster


def coarse_sieve(space: Space, counter: Counter, documents: int, *, asked: bool) -> CoarseSieve | None:
    """A first look where it is worth it: if torch is loaded, or ``asked`` for, and fast at bfloat16 on this processor."""
    if not isinstance(space, Dense) or space.similarity == "euclidean":
        return None
    if len(space) * documents * space.queries.shape[1] < _SMALL:
        return None
    if "torch" not in sys.modules and not (asked and find_spec("torch")):
        return None
    return CoarseSieve(space, counter) if is_fast() else None


def is_fast() -> bool:
    """Whether torch multiplies bfloat16 faster than float32 on this processor."""
    torch = load_torch()
    if not torch.backends.mkldnn.is_available():
        return False
    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    older = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return bool(known.get("avx512_bf16") or known.get("amx_bf16") or older())


class CoarseSieve:
    """Counts what bfloat16 can tell, and leaves other queries to float32."""

    def __init__(self, space: Dense, counter: Counter) -> None:
        self.torch, self.space, self.counter = load_torch(), space, counter
        self._queries = self._rounded(space.single)
        lost = self._queries.double() - self.torch.from_numpy(space.single.vectors)
        self._lost = self.torch.linalg.vector_norm(lost, dim=1).numpy() * 1.001
        self._tried = np.zeros(len(space), bool)
        self._hard = np.zeros(len(space), bool)  # queries that too many documents come near
        self._block: Opened | None = None
        self._documents: Any = None
        self._buffer = self.torch.empty(0, dtype=self.torch.bfloat16)

    def read(self, block: Opened, rows: IntArray, first_doc: int, documents: Any) -> IntArray:
        """Count a block for some queries; returns those that are left to float32."""
        if block.double:
            return rows
        self._try(block, rows[~self._tried[rows]])
        easy = rows[~self._hard[rows]]
        if not len(easy):
            return rows
        bits = self._product(block, easy)
        pair, row, low, high = self._intervals(block, easy)
        reached = np.zeros(len(easy), bool)
        reached[row[_highest(bits)[row] >= low]] = True
        some = np.flatnonzero(reached[row])
        if len(some):
            at = np.cumsum(reached) - 1
            above, near, doc = compare(_widened(bits[reached]), at[row[some]], low[some], high[some])
            crowded = np.bincount(row[some][near], minlength=len(easy)) > max(_FEW, bits.shape[1] // 1024)
            self._hard[easy[crowded]] = True
            told = ~crowded[row[some]]
            here = told[near]
            near, doc = (np.cumsum(told) - 1)[near[here]], doc[here]
            unsure = np.ones(len(near), bool)
            self.counter.add(pair[some[told]], above[told], near, doc, unsure, first_doc, documents)
        return rows[self._hard[rows]]

    def _try(self, block: Opened, rows: IntArray) -> None:
        """Queries on a few documents: those that many of these come near are not worth a look at the rest."""
        self._tried[rows] = True
        if not len(rows):
            return
        scores = _widened(self._product(block, rows, _SAMPLE))
        _, row, low, high = self._intervals(block, rows)
        near = ((scores[row] >= low[:, None]) & (scores[row] <= high[:, None])).sum(axis=1)
        self._hard[rows] = np.bincount(row, near, len(rows)) > _FEW

    def _intervals(self, block: Opened, rows: IntArray) -> tuple[IntArray, IntArray, Any, Any]:
        """The wanted pairs of some queries, whose they are, and where a score cannot be told from theirs."""
        pair, row = self.counter.pairs(rows)
        centre, margin = self.counter.wanted.score[pair], self._margin(block.documents, rows)[row]
        margin += _ROUNDING * (np.abs(centre) + margin) + 2.0**-125  # scores are rounded, too
        return pair, row, *around(centre, margin, np.dtype(np.float32))

    def _product(self, block: Opened, rows: IntArray, most: int | None = None) -> Any:
        """The bits of coarse scores, in memory that the next block takes again."""
        if self._block is not block:
            self._block, self._documents = block, self._rounded(block.documents, self._documents)
        documents = self._documents[:most]
        shape = (len(rows), len(documents))
        if len(self._buffer) < shape[0] * shape[1]:
            self._buffer = self.torch.empty(shape[0] * shape[1], dtype=self.torch.bfloat16)
        scores = self._buffer[: shape[0] * shape[1]].reshape(shape)
        queries = self._queries[rows[0] : rows[-1] + 1]
        if len(queries) != len(rows):
            queries = self._queries[self.torch.from_numpy(rows)]
        self.torch.mm(queries, documents.T, out=scores)
        return scores.view(self.torch.int16).numpy()

    def _rounded(self, vectors: Prepared, buffer: Any = None) -> Any:
        """Vectors in bfloat16, in the memory of others where that fits."""
        single = self.torch.from_numpy(vectors.vectors)
        if buffer is None or buffer.shape != single.shape:
            buffer = self.torch.empty(single.shape, dtype=self.torch.bfloat16)
        return buffer.copy_(single)

    def _margin(self, documents: Prepared, rows: IntArray) -> FloatArray:
        """For each query: by how much a score may differ from the formula before it is rounded itself."""
        queries, lost = self.space.single[rows], self._lost[rows]
        size, numbers = float(documents.lengths.max(initial=0)), queries.vectors.shape[1]
        # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|; sums are cut off rather than rounded.
        inputs = lost * size + (queries.lengths + lost) * _ROUNDING * size
        steps = 4 * SINGLE * (numbers + 16) * 1.01 * (queries.lengths + lost) * size
        tiny = numbers * 2.0**-125 * (1 + queries.lengths + size)
        found: FloatArray = dense.margin(queries, documents, self.space.similarity) + inputs + steps + tiny
        return found


def _widened(bits: Any) -> Any:
    """bfloat16 as float32, which has the same bits and more."""
    return (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _highest(bits: Any) -> Any:
    """At least the highest score of each row: as whole numbers, the bits of positive scores have the same order."""
    return _widened(np.maximum(bits.max(axis=1), 0))
