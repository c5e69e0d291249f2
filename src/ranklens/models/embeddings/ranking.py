"""The places of the judged documents among all documents, counted on the processor or on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings import host
from ranklens.models.embeddings.coarse import coarse_sieve
from ranklens.models.embeddings.corpus import Corpus
from ranklens.models.embeddings.counting import Counter, Reader, read_blocks
from ranklens.models.embeddings.judged_ranks import Places, TieOrder, Wanted
from ranklens.models.embeddings.model import Model
from ranklens.models.embeddings.nearest import Best, Nearest
from ranklens.models.embeddings.spaces import NotFiniteError, Space
from ranklens.models.embeddings.task import Ids, Task
from ranklens.policy import Ties

_BLOCK = 16_384  # documents that are compared at once
_COARSE_BLOCK = 4_096  # of these, each core holds one
_TOKEN_BLOCK = 256  # of many vectors each


class Run(dict[str, dict[str, float]]):
    """``{query: {document: score}}`` of the best k, best first; and the other documents that tie with the last of them."""

    def __init__(self, ids: Ids) -> None:
        super().__init__()
        self._ids = ids
        self._tied: dict[str, IntArray] = {}
        self.lacks_ties: set[str] = set()  # queries with more ties than were kept

    def add(self, query: str, best: Best, k: int) -> None:
        """The best documents of a query; the first ``k`` are the run."""
        names = self._ids.of(best.doc[:k].tolist())
        self[query] = dict(zip(names, best.score[:k].tolist(), strict=True))
        if len(best.doc) > k:
            self._tied[query] = best.doc[k:][best.score[k:] == best.score[k - 1]]
        if best.lacks_ties:
            self.lacks_ties.add(query)

    def tied(self, query: str) -> set[str]:
        """The documents beyond the best that tie with the last of them."""
        return set(self._ids.of(self._tied.get(query, np.zeros(0, np.int64)).tolist()))


@dataclass(frozen=True)
class Ranking:
    """What is wanted of a model: the places of judged documents and, with ``top``, the best ones."""

    task: Task
    query_ids: Ids
    doc_ids: Ids
    ties: Ties
    batch: int | None = None
    device: Any = None
    top: int | None = None

    def of(self, model: Model) -> tuple[Places, Run | None]:
        """Places, and the best documents if they are wanted."""
        queries = model.chosen(self.task.query_rows)
        device = self._device(model)
        if device is None:
            _ = self.task.gold  # grades that are no numbers are refused before the work
            places, best = self._on_host(model, self._space(model, queries))
        else:
            places, best = self._on_device(model, queries, device)
        return places, None if best is None else self._named(best)

    def _space(self, model: Model, queries: Any) -> Space:
        try:
            return model.make(queries)
        except NotFiniteError as wrong:
            raise self._query_not_finite(wrong.row) from None

    def _step(self, model: Model) -> int:
        return self.batch or (_TOKEN_BLOCK if model.similarity == "maxsim" else _BLOCK)

    def _on_host(self, model: Model, space: Space) -> tuple[Places, list[Best] | None]:
        step, order, corpus = self._step(model), TieOrder(self.ties, self.doc_ids.names), model.corpus
        wanted = self._wanted(space, corpus, step)
        counter = Counter(space, wanted, order)
        best = None if self.top is None else Nearest(space, self.top + self._most_excluded(), order)
        readers: list[Reader] = [counter, *([best] if best else [])]
        # The best documents need scores that are as good as the judged ones' anyway.
        sieve = None if best else coarse_sieve(space, counter, len(corpus), asked=self.device == "cpu")
        block = (self.batch or _COARSE_BLOCK) if sieve else step
        read_blocks(space, corpus.blocks(block), readers, self._document_not_finite, sieve)
        self._leave_out(counter.places, space, wanted, corpus, step)
        return counter.places, None if best is None else best.best(corpus, step)

    def _on_device(self, model: Model, queries: Any, device: Any) -> tuple[Places, list[Best] | None]:
        from ranklens.models.embeddings import streaming, transfer
        from ranklens.models.embeddings.device import DeviceCounter
        from ranklens.models.embeddings.device_nearest import best_on_device

        task, corpus = self.task, model.corpus
        wanted = Wanted(task.pair_query, task.pair_doc, np.full(len(task.pair_doc), np.nan))
        judged = corpus.take(task.pair_doc, streaming.READ, raw=True)
        order = TieOrder(self.ties, self.doc_ids.names)
        counter = DeviceCounter(queries, judged, wanted, model.similarity, order, device)
        for row in (~counter.norms.isfinite()).nonzero()[:1, 0].tolist():
            raise self._query_not_finite(row)
        resident = corpus.tensor is not None and corpus.tensor.device == device

        def chunks() -> Iterator[tuple[int, Any]]:
            if resident:
                return transfer.resident_chunks(corpus.tensor, self.batch or transfer.RESIDENT)
            return streaming.streamed_chunks(corpus.raw(self.batch or streaming.READ), device, self.batch)

        counter.read(chunks(), self._document_not_finite, resident=resident, meanwhile=lambda: task.gold)
        if len(task.excluded_doc):
            scored = Wanted(wanted.query, wanted.doc, counter.target.cpu().numpy())
            self._leave_out(counter.places, self._space(model, queries), scored, corpus, _BLOCK)
        if self.top is None:
            return counter.places, None
        k = self.top + self._most_excluded()
        best, cut_off = best_on_device(counter, chunks, k, self._document_not_finite)
        if len(cut_off):
            self._look_at_all(model, best, cut_off, k)
        return counter.places, best

    def _look_at_all(self, model: Model, best: list[Best], rows: IntArray, k: int) -> None:
        """Find the best of some queries on the processor: so many tie that the device could not keep them."""
        space = self._space(model, model.chosen(self.task.query_rows[rows]))
        nearest = Nearest(space, k, TieOrder(self.ties, self.doc_ids.names))
        read_blocks(space, model.corpus.blocks(_BLOCK), [nearest], self._document_not_finite)
        for row, found in zip(rows.tolist(), nearest.best(model.corpus, _BLOCK), strict=True):
            best[row] = found

    def _device(self, model: Model) -> Any:
        """The GPU to count on: the one asked for, or the one that holds the documents; None for the processor."""
        tensor = model.corpus.tensor
        if self.device in ("cpu", None) and not host.on_gpu(tensor):
            return None
        from ranklens.models.embeddings.transfer import check_device

        if not model.dense:
            raise InputError(
                f"device={self.device!r} counts dense vectors; leave device out for sparse vectors and for similarity='maxsim'."
            )
        return check_device(tensor.device if self.device in ("cpu", None) else self.device)

    def _wanted(self, space: Space, corpus: Corpus, step: int) -> Wanted:
        """The pairs with their exact scores."""
        task = self.task
        rows = np.unique(task.pair_doc)
        vectors = corpus.take(rows, step)
        exact = space.exact(vectors, task.pair_query, np.searchsorted(rows, task.pair_doc))
        return Wanted(task.pair_query, task.pair_doc, exact)

    def _leave_out(self, places: Places, space: Space, wanted: Wanted, corpus: Corpus, step: int) -> None:
        """Take the excluded documents out of the counts."""
        task = self.task
        if not len(task.excluded_doc):
            return
        rows = np.unique(task.excluded_doc)
        vectors = corpus.take(rows, step)
        exact = space.exact(vectors, task.excluded_query, np.searchsorted(rows, task.excluded_doc))
        # Every excluded document meets every wanted one of its query.
        first = np.searchsorted(wanted.query, task.excluded_query, "left")
        count = np.searchsorted(wanted.query, task.excluded_query, "right") - first
        pair = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        doc, score = np.repeat(task.excluded_doc, count), np.repeat(exact, count)
        places.remove(wanted, pair, doc, score, TieOrder(self.ties, self.doc_ids.names))

    def _most_excluded(self) -> int:
        return int(np.bincount(self.task.excluded_query, minlength=1).max(initial=0))

    def _named(self, best: Iterable[Best]) -> Run:
        """The best documents by name, without the excluded ones."""
        task = self.task
        gone = set(zip(task.excluded_query.tolist(), task.excluded_doc.tolist(), strict=True))
        names = [name for name, there in zip(task.queries, task.present, strict=True) if there]
        run = Run(self.doc_ids)
        assert self.top is not None
        for place, (name, found) in enumerate(zip(names, best, strict=True)):
            if gone:
                kept = [i for i, doc in enumerate(found.doc.tolist()) if (place, doc) not in gone]
                found = found._replace(doc=found.doc[kept], score=found.score[kept])  # noqa: PLW2901
            run.add(name, found, self.top)
        return run

    def _query_not_finite(self, place: int) -> InputError:
        name = self.query_ids.name(int(self.task.query_rows[place]))
        return _not_finite("query", name, query=name)

    def _document_not_finite(self, row: int) -> InputError:
        name = self.doc_ids.name(row)
        return _not_finite("document", name, document=name)


def _not_finite(what: str, name: str, **where: Any) -> InputError:
    return InputError(
        f"The vector of {what} {name!r} holds NaN, infinity or numbers too large to be squared. "
        "A model that gives such vectors cannot be ranked: find out why, or leave the row out.",
        **where,
    )
