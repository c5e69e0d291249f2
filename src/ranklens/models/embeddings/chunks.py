"""Documents on a device, a chunk at a time, and the product that torch takes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ranklens.arrays import IntArray
from ranklens.models.embeddings.transfer import Arriving, load_torch

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
    counts: Arriving | None = None  # and the longest length
    reach: float | None = None  # the longest length on the host, once it was asked for

    def find_reach(self) -> float:
        """The longest length, on the host."""
        if self.reach is None:
            self.reach = float(self.longest if self.counts is None else self.counts.get()[1])
        return self.reach


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

    @property
    def kind(self) -> Any:
        """The number type of the scores: float32, or float64 if the vectors are."""
        torch = load_torch()
        return torch.float64 if self.documents.dtype == torch.float64 else torch.float32

    def scores(self, rows: IntArray) -> Iterator[tuple[IntArray, Any]]:
        """A few queries at a time: their rows, and the scores."""
        torch = load_torch()
        step = max(_SCORES // max(len(self.documents), 1), 1)
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            scores = self._multiply(self.queries[torch.as_tensor(some, device=self.device)])
            if self.scale is not None:
                scores *= self.scale.to(scores.dtype)
            if self.bias is not None:
                scores = 2 * scores - self.bias.to(scores.dtype)
            yield some, scores

    def _multiply(self, queries: Any) -> Any:
        if self.documents.dtype == self.kind:
            return queries @ self.documents.T
        return load_torch().mm(queries, self.documents.T, out_dtype=self.kind)
