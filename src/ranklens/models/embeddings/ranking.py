"""The places of the judged documents among all documents, counted on the processor or on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings.counting import Counter, read_blocks
from ranklens.models.embeddings.judged_ranks import Places, TieOrder, Wanted
from ranklens.models.embeddings.model import Corpus, DenseModel, Model
from ranklens.models.embeddings.nearest import Best, Nearest, exact_of
from ranklens.models.embeddings.spaces import Block, NotFiniteError, Space
from ranklens.models.embeddings.task import Ids, Task
from ranklens.models.embeddings.vectors import Documents, on_gpu, taken

if TYPE_CHECKING:
    from ranklens.models.embeddings.tensors import Device, Tensor

_COARSE_BLOCK = 4_096  # documents that are compared at once in coarse scores: each core holds one block
_NOT_FINITE = (
    "The vector of {} {!r} contains NaN, infinity or numbers too large to be squared. "
    "A model that gives such vectors cannot be ranked: find out why, or leave the row out."
)


class Run(dict[str, dict[str, float]]):
    """``{query: {document: score}}`` of the best k, best first; and the other documents that tie with the last of them."""

    def __init__(self, ids: Ids) -> None:
        super().__init__()
        self._ids = ids
        self._tied: dict[str, IntArray] = {}
        self.lacks_ties: set[str] = set()  # queries with more ties than were kept

    def add(self, query: str, best: Best, k: int) -> None:
        """The best documents of a query; the first ``k`` are the run."""
        names = self._ids.names_of(best.doc[:k].tolist())
        self[query] = dict(zip(names, best.score[:k].tolist(), strict=True))
        if len(best.doc) > k:
            self._tied[query] = best.doc[k:][best.score[k:] == best.score[k - 1]]
        if best.lacks_ties:
            self.lacks_ties.add(query)

    def tied(self, query: str) -> set[str]:
        """The documents beyond the best that tie with the last of them."""
        return set(self._ids.names_of(self._tied.get(query, np.zeros(0, np.int64)).tolist()))


@dataclass(frozen=True)
class Ranking:
    """What is wanted of a model: the places of judged documents and, with ``top``, the best ones."""

    task: Task
    query_ids: Ids
    doc_ids: Ids
    order: TieOrder
    batch: int | None = None
    device: str | None = None
    top: int | None = None

    def of(self, model: Model[Documents, Block]) -> tuple[Places, Run | None]:
        """Places, and the best documents if they are wanted."""
        device = self._device(model)
        if device is not None and isinstance(model, DenseModel):
            places, best = self._on_device(model, device)
        else:
            _ = self.task.gold  # grades that are no numbers are refused before the work
            places, best = self._on_host(model)
        return places, None if best is None else self._named(best)

    def _space(self, model: Model[Documents, Block], rows: IntArray) -> Space[Documents, Block]:
        try:
            return model.space(rows)
        except NotFiniteError as wrong:
            raise self._query_not_finite(wrong.row) from None

    def _on_host(self, model: Model[Documents, Block]) -> tuple[Places, list[Best] | None]:
        corpus, space = model.corpus, self._space(model, self.task.query_rows)
        step = self.batch or model.documents_at_once
        task = self.task
        exact = exact_of(space, corpus, task.pair_query, task.pair_doc, step)
        wanted = Wanted(task.pair_query, task.pair_doc, exact)
        counter = Counter(space, wanted, self.order)
        if self.top is not None:
            nearest = Nearest(space, self.top + self._most_excluded(), self.order)
            read_blocks(space, corpus.blocks(step), [counter, nearest], self._document_not_finite)
        else:  # the best documents need scores that are as good as the judged ones' anyway
            sieve = model.sieve(counter, asked=self.device == "cpu")
            block = (self.batch or _COARSE_BLOCK) if sieve else step
            read_blocks(space, corpus.blocks(block), [counter], self._document_not_finite, sieve)
        self._leave_out(counter.places, space, wanted, corpus, step)
        return counter.places, None if self.top is None else nearest.best(corpus, step)

    def _on_device(self, model: DenseModel, device: Device) -> tuple[Places, list[Best] | None]:
        from ranklens.models.embeddings import streaming
        from ranklens.models.embeddings.device import DeviceCounter
        from ranklens.models.embeddings.device_nearest import best_on_device

        task, corpus, tensor = self.task, model.corpus, model.tensor
        wanted = Wanted(task.pair_query, task.pair_doc, np.full(len(task.pair_doc), np.nan))
        judged = (
            corpus.take(task.pair_doc, streaming.READ) if tensor is None else taken(tensor, task.pair_doc)
        )
        queries = model.chosen(task.query_rows)
        counter = DeviceCounter(queries, judged, wanted, model.similarity, self.order, device)
        for row in (~counter.norms.isfinite()).nonzero()[:1, 0].tolist():
            raise self._query_not_finite(row)
        resident = tensor is not None and tensor.device == device

        def chunks() -> Iterator[tuple[int, Tensor]]:
            if tensor is not None and resident:
                return streaming.resident_chunks(tensor, self.batch or streaming.RESIDENT)
            step = self.batch or streaming.READ
            blocks = corpus.blocks(step) if tensor is None else streaming.resident_chunks(tensor, step)
            return streaming.streamed_chunks(blocks, device, self.batch)

        counter.read(chunks(), self._document_not_finite, resident=resident, meanwhile=lambda: task.gold)
        if len(task.excluded_doc):
            scored = Wanted(wanted.query, wanted.doc, counter.target.cpu().numpy())
            space = self._space(model, task.query_rows)
            self._leave_out(counter.places, space, scored, corpus, model.documents_at_once)
        if self.top is None:
            return counter.places, None
        k = self.top + self._most_excluded()
        best, cut_off = best_on_device(counter, chunks, k, self._document_not_finite)
        if len(cut_off):  # more documents tie than the device could keep: the processor finds the best
            step, space = model.documents_at_once, self._space(model, task.query_rows[cut_off])
            nearest = Nearest(space, k, self.order)
            read_blocks(space, corpus.blocks(step), [nearest], self._document_not_finite)
            for row, ranking in zip(cut_off.tolist(), nearest.best(corpus, step), strict=True):
                best[row] = ranking
        return counter.places, best

    def _device(self, model: Model[Documents, Block]) -> Device | None:
        """The GPU to count on: the one asked for, or the one that holds the documents; None for the processor."""
        tensor = model.tensor if isinstance(model, DenseModel) else None
        device: str | Device | None = None if self.device == "cpu" else self.device
        if device is None and tensor is not None and on_gpu(tensor):
            device = tensor.device
        if device is None:
            return None
        from ranklens.models.embeddings.tensors import check_device

        if not isinstance(model, DenseModel):
            raise InputError(
                f"device={self.device!r} counts dense vectors; leave device out for sparse vectors and for similarity='maxsim'."
            )
        return check_device(device)

    def _leave_out(
        self,
        places: Places,
        space: Space[Documents, Block],
        wanted: Wanted,
        corpus: Corpus[Documents],
        step: int,
    ) -> None:
        """Take the excluded documents out of the counts."""
        task = self.task
        if not len(task.excluded_doc):
            return
        exact = exact_of(space, corpus, task.excluded_query, task.excluded_doc, step)
        # Every excluded document meets every wanted one of its query.
        first = np.searchsorted(wanted.query, task.excluded_query, "left")
        count = np.searchsorted(wanted.query, task.excluded_query, "right") - first
        pair = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        doc, score = np.repeat(task.excluded_doc, count), np.repeat(exact, count)
        places.remove(wanted, pair, doc, score, self.order)

    def _most_excluded(self) -> int:
        return int(np.bincount(self.task.excluded_query, minlength=1).max(initial=0))

    def _named(self, best: Iterable[Best]) -> Run:
        """The best documents by name, without the excluded ones."""
        task = self.task
        gone = set(zip(task.excluded_query.tolist(), task.excluded_doc.tolist(), strict=True))
        names = [name for name, there in zip(task.queries, task.present, strict=True) if there]
        run = Run(self.doc_ids)
        assert self.top is not None
        for place, (name, ranking) in enumerate(zip(names, best, strict=True)):
            if gone:
                left = [i for i, doc in enumerate(ranking.doc.tolist()) if (place, doc) not in gone]
                ranking = ranking._replace(doc=ranking.doc[left], score=ranking.score[left])  # noqa: PLW2901
            run.add(name, ranking, self.top)
        return run

    def _query_not_finite(self, place: int) -> InputError:
        name = self.query_ids.name(int(self.task.query_rows[place]))
        return InputError(_NOT_FINITE.format("query", name), query=name)

    def _document_not_finite(self, row: int) -> InputError:
        name = self.doc_ids.name(row)
        return InputError(_NOT_FINITE.format("document", name), document=name)
