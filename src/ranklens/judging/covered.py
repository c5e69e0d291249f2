"""What measures of coverage see: the evidence that each chunk adds to those above it, as :class:`~ranklens.judging.hits.Hits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.evidence.contexts import Contexts
from ranklens.errors import MeasureError
from ranklens.judging.hits import Hits
from ranklens.judging.views import Richer

if TYPE_CHECKING:
    from typing_extensions import Self

    from ranklens.judging.judged import Judged


@dataclass(frozen=True)
class Covered(Richer):
    """Rankings of chunks, and passages that the chunks contain in full, in part or together."""

    needs: ClassVar[str] = "passages"

    judged: Judged
    contexts: Contexts

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.contexts is None:
            raise MeasureError(
                f'{name} needs passages, and chunks with their texts or spans: pass a golden set such as [{{"question": …, "passages": '
                '["text", …]}] and a log whose retrieved items have a text. With passages under another name, such as expected_texts, '
                "also pass match=ByEvidence() (--match evidence)."
            )
        return cls(judged, details.contexts)

    @property
    def context(self) -> Hits:
        """All chunks, each with its length as its grade."""
        return self._chunks(self.contexts.cover.tokens)

    @property
    def repeated(self) -> Hits:
        """All chunks, each with how much of it is in chunks above."""
        return self._chunks(self.contexts.cover.seen)

    def evidence(self, rel: float) -> Hits:
        """Chunks with the length of the evidence that each adds, from passages of at least that grade."""
        cover, contexts = self.contexts.cover, self.contexts
        piece = np.flatnonzero(contexts.grade[cover.passage] >= rel)
        new = np.bincount(cover.chunk[piece], cover.owned[piece], len(contexts.query))
        return self._chunks(new.astype(np.float64))

    def passages(self, threshold: float | None) -> Hits:
        """Passages at the ranks where enough of each is covered."""
        rank, owner = self.contexts.found(threshold), self.contexts.owner
        row = np.flatnonzero(rank)
        row = row[np.lexsort((rank[row], owner[row]))]
        return Hits(owner[row], rank[row], self.contexts.grade[row], len(self.judged))

    def count(self, rel: float) -> FloatArray:
        """How many passages each query has."""
        return self._total(np.ones(len(self.contexts.owner)), rel)

    def expected(self, rel: float) -> FloatArray:
        """The length of the evidence of each query; what passages have in common counts once."""
        return self._total(self.contexts.cover.own, rel)

    def depth(self, k: int | None, budget: int | None, step: int | None) -> IntArray:
        """How many chunks of each query are read."""
        return self.contexts.depth(k, budget, step)

    def _chunks(self, values: FloatArray) -> Hits:
        return Hits(self.contexts.query, self.contexts.rank, values, len(self.judged))

    def _total(self, values: FloatArray, rel: float) -> FloatArray:
        kept = self.contexts.grade >= rel
        return np.bincount(self.contexts.owner[kept], values[kept], len(self.judged)).astype(np.float64)
