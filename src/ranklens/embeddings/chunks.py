"""Documents on a device, a chunk at a time, and the product that torch takes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ranklens.arrays import IntArray
from ranklens.embeddings.transfer import load_torch

_SCORES = 1 << 28  # scores that are held at once


@dataclass
class Chunk:
    """Documents on the device, and what was started on them."""

    first: int
    documents: Any
    norms: Any
    longest: Any  # length of the longest vector, as the product has it
    scale: Any = None
    bias: Any = None
    counts: Any = None


@dataclass(frozen=True)
class Product:
    """All scores of some queries with a chunk, as torch computes them; and what their error depends on."""

    queries: Any
    documents: Any
    scale: Any
    bias: Any
    before: Any
    size: Any
    unit: float
    device: Any

    def scores(self, rows: IntArray) -> Iterator[tuple[IntArray, Any]]:
        """A few queries at a time: their rows, and the scores."""
        torch, kind = load_torch(), self.documents.dtype
        step = max(_SCORES // max(len(self.documents), 1), 1)
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            scores = self.queries[torch.as_tensor(some, device=self.device)] @ self.documents.T
            if self.scale is not None:
                scores *= self.scale.to(kind)
            if self.bias is not None:
                scores = 2 * scores - self.bias.to(kind)
            yield some, scores
