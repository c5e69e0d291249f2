"""Embeddings + judgments + measures → :class:`EmbeddingScores`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.embeddings import host
from ranklens.embeddings.corpus import Corpus, as_corpus, open_corpus, spool
from ranklens.embeddings.counting import Counter, Reader, read_blocks
from ranklens.embeddings.nearest import Nearest
from ranklens.embeddings.places import Places, TieOrder, Wanted
from ranklens.embeddings.similarity import Similarity, lengths
from ranklens.embeddings.spaces import Dense, LateInteraction, Space, Sparse
from ranklens.embeddings.task import Ids, Task, make_task
from ranklens.embeddings.tokens import as_tokens
from ranklens.errors import InputError, nearest
from ranklens.evaluation import score, with_rel
from ranklens.judging.assembly import assemble
from ranklens.policy import Policy, make_policy
from ranklens.registry import Measure, parse_many
from ranklens.scores import Scores, Sources

Measures = str | Measure | Sequence[str | Measure]
_BLOCK = 16_384  # documents that are compared at once
_TOKEN_BLOCK = 256  # of many vectors each


@dataclass(frozen=True, repr=False)
class EmbeddingScores(Scores):
    """:class:`~ranklens.Scores` of a model; ``run`` holds the best documents of each query if ``top`` asked for them."""

    @property
    def run(self) -> Mapping[str, Mapping[str, float]] | None:
        """``{query: {document: score}}``, best first."""
        return None if self.sources is None else self.sources.run


def evaluate_embeddings(
    queries: Any,
    documents: Any,
    qrels: Any,
    measures: Measures = "rag",
    policy: Policy | None = None,
    *,
    similarity: Similarity = "dot",
    query_ids: Sequence[Any] | None = None,
    doc_ids: Sequence[Any] | None = None,
    exclude: Any = None,
    dims: Sequence[int] | None = None,
    top: int | None = None,
    batch: int | None = None,
    device: str | None = None,
    vectors: str | None = None,
    **options: Any,
) -> Any:
    """Score a model by its embeddings: every judged document is ranked among *all* documents, never a top k.

    ``queries`` and ``documents`` hold one vector per row: arrays or tensors of any library, SciPy sparse rows, or, with
    ``similarity="maxsim"``, one list of vectors per item. Documents may also be a ``.npy``, ``.safetensors`` or Parquet file, a
    folder of such files (``vectors`` names the column or tensor if there are several), or an iterator of blocks; they need not fit
    into memory. ``qrels`` are judgments of any shape, by row number or, if given, by ``query_ids`` and ``doc_ids``.

    Ranks are those of float64 scores, whatever the precision of the vectors. ``exclude`` leaves documents out of rankings:
    ``"self"`` (the one with the query's id), ``{query: [documents]}`` or pairs. ``top=k`` also keeps the best k documents of each
    query, for the report and for :attr:`EmbeddingScores.run`. ``dims=[64, 768]`` evaluates vectors cut to their first numbers and
    returns a :class:`~ranklens.embeddings.matryoshka.Matryoshka`. ``batch`` is the number of documents compared at once.
    ``device="cuda"`` counts on a GPU, which tensors that are there need not be told. Policies are given as everywhere.

    >>> import numpy as np
    >>> documents = np.array([[1, 0], [0.9, 0.1], [0, 1]])
    >>> scores = evaluate_embeddings(np.array([[1, 0], [0, 1]]), documents, {0: {1: 1}, 1: {2: 1}}, ["RR", "R@1"])
    >>> scores.mean
    {'RR': 0.75, 'R@1': 0.5}
    """
    if similarity not in get_args(Similarity):
        raise InputError(
            f"similarity={similarity!r} is not allowed: {nearest(str(similarity), get_args(Similarity))}"
        )
    chosen = make_policy(policy, options)
    wanted = [with_rel(measure, chosen.rel) for measure in parse_many(measures)]
    with ExitStack() as stack:
        model = _read(queries, documents, similarity, vectors, stack)
        q_ids = Ids(query_ids, model.size, "query_ids")
        d_ids = Ids(
            doc_ids if doc_ids is not None else model.corpus.ids and model.corpus.ids(),
            len(model.corpus),
            "doc_ids",
        )
        task = make_task(qrels, q_ids, d_ids, exclude, chosen)
        job = _Job(model, task, q_ids, d_ids, chosen, wanted, qrels, batch, device, top)
        if dims is None:
            return job.scores(None)
        from ranklens.embeddings.matryoshka import Matryoshka

        return Matryoshka({size: job.scores(size) for size in _sizes(dims, model.corpus.size)})


def _sizes(dims: Sequence[int], most: int) -> list[int]:
    found = sorted({int(size) for size in dims})
    if not found or found[0] < 1 or found[-1] > most:
        raise InputError(
            f"dims={list(dims)!r} is not allowed: sizes go from 1 to {most}, the size of these vectors."
        )
    return found


@dataclass(frozen=True)
class _Model:
    """Queries and documents, read."""

    queries: Any
    corpus: Corpus
    similarity: Similarity
    make: Callable[[Any], Space]

    @property
    def size(self) -> int:
        return int(self.queries.shape[0])


def _read(
    queries: Any, documents: Any, similarity: Similarity, vectors: str | None, stack: ExitStack
) -> _Model:
    if similarity == "maxsim":
        model = _Model(
            as_tokens(queries, "queries"),
            as_corpus(as_tokens(documents, "documents")),
            similarity,
            LateInteraction,
        )
    elif host.is_sparse(documents) or host.is_sparse(queries):
        both = [one.tocsr() if host.is_sparse(one) else _sparse(one) for one in (queries, documents)]
        model = _Model(both[0], as_corpus(both[1]), similarity, lambda some: Sparse(some, similarity))
    else:
        corpus = open_corpus(documents, vectors, lambda blocks: spool(blocks, stack))
        model = _Model(
            host.as_matrix(queries, "queries"), corpus, similarity, lambda some: Dense(some, similarity)
        )
    if model.size and len(model.corpus) and model.queries.shape[1] != model.corpus.size:
        raise InputError(
            f"queries have vectors of {model.queries.shape[1]} numbers, documents of {model.corpus.size}; "
            "both must come from the same model."
        )
    return model


def _sparse(vectors: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array(host.as_matrix(vectors, "vectors"))


@dataclass(frozen=True)
class _Job:
    """One evaluation, for any number of dimensions."""

    model: _Model
    task: Task
    query_ids: Ids
    doc_ids: Ids
    policy: Policy
    measures: Sequence[Measure]
    qrels: Any
    batch: int | None
    device: str | None
    top: int | None

    def scores(self, dims: int | None) -> EmbeddingScores:
        queries, corpus = self.model.queries[self.task.query_rows], self.model.corpus
        if dims is not None and dims != corpus.size:
            queries, corpus = queries[:, :dims], corpus.cut(dims)
        self._check_queries(queries)
        space = self.model.make(queries)
        places, run = self._count(space, corpus)
        judged = assemble(self.task.standings(places), self.policy)
        found = score(judged, self.measures)
        sources = None if run is None else Sources(self.qrels, run)
        return EmbeddingScores(found.measures, judged, found.values, sources)

    def _count(self, space: Space, corpus: Corpus) -> tuple[Places, dict[str, dict[str, float]] | None]:
        order = TieOrder(self.policy.ties, self.doc_ids.names)
        step = self.batch or (_TOKEN_BLOCK if self.model.similarity == "maxsim" else _BLOCK)
        wanted = self._wanted(space, corpus, step)
        device = self._device(corpus)
        if device is not None and self.top is None:
            places = self._count_on(device, space, corpus, wanted, order)
            self._leave_out(places, space, wanted, corpus, step, order)
            return places, None
        counter = Counter(space, wanted, order)
        best = None if self.top is None else Nearest(space, self.top + self._most_excluded(), order)
        readers: list[Reader] = [counter, *([best] if best else [])]
        read_blocks(space, corpus.blocks(step), readers, self._not_finite)
        self._leave_out(counter.places, space, wanted, corpus, step, order)
        return counter.places, None if best is None else self._run(best.best(corpus.blocks(step)))

    def _device(self, corpus: Corpus) -> Any:
        """The GPU to count on: the one asked for, or the one that holds the documents; None for the processor."""
        if self.device in ("cpu", None) and not host.on_gpu(corpus.tensor):
            return None
        from ranklens.embeddings.device import check_device

        if not isinstance(self.model.queries, np.ndarray):
            raise InputError(
                f"device={self.device!r} counts dense vectors; leave device out for sparse vectors and for similarity='maxsim'."
            )
        return check_device(corpus.tensor.device if self.device in ("cpu", None) else self.device)

    def _count_on(self, device: Any, space: Space, corpus: Corpus, wanted: Wanted, order: TieOrder) -> Places:
        from ranklens.embeddings.device import CHUNK, DeviceCounter, resident_chunks, streamed_chunks

        assert isinstance(space, Dense)
        counter = DeviceCounter(space.queries, wanted, self.model.similarity, order, device)
        step = self.batch or CHUNK
        if corpus.tensor is not None and corpus.tensor.device == device:
            counter.read(resident_chunks(corpus.tensor, step), self._not_finite, resident=True)
        else:
            counter.read(streamed_chunks(corpus.raw(step), device), self._not_finite, resident=False)
        return counter.places

    def _wanted(self, space: Space, corpus: Corpus, step: int) -> Wanted:
        """The pairs with their exact scores."""
        task = self.task
        rows = np.unique(task.pair_doc)
        vectors = corpus.take(rows, step)
        exact = space.exact(vectors, task.pair_query, np.searchsorted(rows, task.pair_doc))
        return Wanted(task.pair_query, task.pair_doc, exact)

    def _leave_out(
        self, places: Places, space: Space, wanted: Wanted, corpus: Corpus, step: int, order: TieOrder
    ) -> None:
        """Take the excluded documents out of the counts."""
        task = self.task
        if not len(task.excluded_doc):
            return
        rows = np.unique(task.excluded_doc)
        exact = space.exact(
            corpus.take(rows, step), task.excluded_query, np.searchsorted(rows, task.excluded_doc)
        )
        # Every excluded document meets every wanted one of its query.
        first = np.searchsorted(wanted.query, task.excluded_query, "left")
        count = np.searchsorted(wanted.query, task.excluded_query, "right") - first
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pair = np.repeat(first, count) + inside
        places.remove(wanted, pair, np.repeat(task.excluded_doc, count), np.repeat(exact, count), order)

    def _most_excluded(self) -> int:
        return int(np.bincount(self.task.excluded_query, minlength=1).max(initial=0))

    def _run(self, best: Iterable[tuple[IntArray, FloatArray]]) -> dict[str, dict[str, float]]:
        """The best documents by name, without the excluded ones."""
        task, most = self.task, self.top or 0
        gone = set(zip(task.excluded_query.tolist(), task.excluded_doc.tolist(), strict=True))
        names = [name for name, there in zip(task.queries, task.present, strict=True) if there]
        run: dict[str, dict[str, float]] = {}
        for place, (name, (docs, scores)) in enumerate(zip(names, best, strict=True)):
            kept = [
                (self.doc_ids.name(doc), value)
                for doc, value in zip(docs.tolist(), scores.tolist(), strict=True)
                if (place, doc) not in gone
            ]
            run[name] = dict(kept[:most])
        return run

    def _check_queries(self, queries: Any) -> None:
        if self.model.similarity == "maxsim" or host.is_sparse(queries):
            return
        for row in np.flatnonzero(~np.isfinite(lengths(queries)))[:1].tolist():
            name = self.query_ids.name(int(self.task.query_rows[row]))
            raise _not_finite("query", name)

    def _not_finite(self, row: int) -> InputError:
        return _not_finite("document", self.doc_ids.name(row))


def _not_finite(what: str, name: str) -> InputError:
    return InputError(
        f"The vector of {what} {name!r} holds NaN, infinity or numbers too large to be squared. "
        "A model that gives such vectors cannot be ranked: find out why, or leave the row out.",
        query=name if what == "query" else None,
        document=name if what == "document" else None,
    )
