"""The first documents of every query, scored again: :func:`rerank`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from ranklens.data.files import corpus as corpora
from ranklens.data.files.queries import read_queries
from ranklens.data.qrels import Qrels
from ranklens.data.run import read_run
from ranklens.errors import Given, InputError, warn
from ranklens.fusion.fusing import blocks, one_measure
from ranklens.retrieval.asking import AskArguments, AskOptions
from ranklens.retrieval.session import Session
from ranklens.retrieval.store import Store
from ranklens.scores.evaluation import evaluate
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.metrics import Measure

Scores: TypeAlias = "Sequence[float]"
Scorer: TypeAlias = "Callable[[str, Sequence[str]], Scores | Awaitable[Scores]] | CrossEncoder"
Candidates: TypeAlias = "Mapping[str, Mapping[str, float]]"


@runtime_checkable
class CrossEncoder(Protocol):
    """What scores pairs of query and document, as the cross-encoders of sentence-transformers do."""

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Scores: ...


class Reranked(dict[str, dict[str, float]]):
    """A run ``{query: {document: score}}`` whose first documents were scored again; made by :func:`rerank`.

    The others follow in the order that they had. ``failed`` names the queries that could not be reranked and keep their order.
    """

    def __init__(
        self,
        first_stage: Candidates,
        again: Candidates,
        depth: int,
        failed: Mapping[str, str],
        seconds: float,
    ) -> None:
        self.first_stage, self.again, self.depth = first_stage, again, depth
        self.failed, self.seconds = failed, seconds
        super().__init__(self.cut(depth))

    def cut(self, depth: int) -> dict[str, dict[str, float]]:
        """The run if only the first ``depth`` documents had been reranked; asks nothing again."""
        return {
            query: _joined(docs, self.again.get(query, {}), depth) for query, docs in self.first_stage.items()
        }

    def curve(
        self, qrels: object, measure: str | Measure, depths: Sequence[int] | None = None
    ) -> pl.DataFrame:
        """Quality against depth and cost: columns depth, mean, low, high and documents (scored per query)."""
        import polars as pl

        one = one_measure(measure)
        steps = depths or sorted(
            {0, *(step for step in (5, 10, 20, 50, 100, 200, 500) if step < self.depth), self.depth}
        )
        rows = []
        for depth in steps:
            scores = evaluate(qrels, self.cut(depth), [one])
            interval = scores.interval(one)
            scored = sum(min(depth, len(docs)) for docs in self.again.values()) / max(
                len(self.first_stage), 1
            )
            rows.append((depth, scores.mean[str(one)], interval.low, interval.high, scored))
        return pl.DataFrame(rows, schema=["depth", "mean", "low", "high", "documents"], orient="row")


def rerank(
    run: object,
    scorer: Scorer,
    depth: int = 100,
    *,
    queries: object = None,
    corpus: object = None,
    name: str = "reranked",
    store: str | Path | Store | None = None,
    **options: Unpack[AskArguments],
) -> Reranked:
    """Score the first ``depth`` documents of every query again, and put them in the new order.

    ``scorer`` takes the text of a query and a list of document texts and returns one score each, or is an object with
    ``predict(pairs)``; it may be asynchronous. ``queries`` and ``corpus`` hold the texts, in any shape that reports take; without them, ids
    are passed. It is called as retrievers are: with ``concurrency``, ``timeout``, ``retries``, ``rate_limit``, and a ``store`` that
    keeps answers, so that an interrupted run resumes.

    >>> rerank({"q": ["a", "bb", "ccc"]}, lambda query, texts: [len(text) for text in texts], depth=2)
    {'q': {'bb': 2.0, 'a': 1.0, 'ccc': 0.0}}
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise InputError(Given("depth", depth), " is not allowed; it is a whole number from 1.")
    first_stage = _ranked(run)
    head = {query: list(docs)[:depth] for query, docs in first_stage.items() if docs}
    texts = read_queries(queries).texts if queries is not None else {}
    wanted = {doc for docs in head.values() for doc in docs}
    known = corpora.texts(corpus, wanted) if corpus is not None else {}
    if corpus is not None and (lost := len(wanted) - len(known)):
        warn(
            f"{counted(lost, 'document')} of {len(wanted):,} to rerank {'is' if lost == 1 else 'are'} not in the corpus; ids are passed instead."
        )
    jobs = {
        query: json.dumps([texts.get(query, query), docs], ensure_ascii=False) for query, docs in head.items()
    }
    chosen = AskOptions.of({"k": depth, "depends_on": scorer, **options}, None)
    kept = Store(store) if isinstance(store, (str, Path)) else store
    session = Session.start(name, _as_retriever(scorer, known), jobs, kept, chosen)
    session.run()
    answered = session.result({})
    again = {
        query: {
            doc: score
            for doc, score in zip(answer.ids, answer.scores or (), strict=True)
            if score is not None
        }
        for query, answer in answered.answers.items()
        if answer.status == "ok"
    }
    if answered.errors:
        query, error = next(iter(answered.errors.items()))
        warn(
            f"{counted(len(answered.errors), 'query', 'queries')} could not be reranked, so the order of the first stage stays, e.g. {query}: {error}"
        )
    return Reranked(first_stage, again, depth, answered.errors, sum(answered.seconds.values()))


def _ranked(run: object) -> dict[str, dict[str, float]]:
    """The run as ``{query: {document: score}}``, best first."""
    opened = {"": read_run(run, Qrels({}))}
    ranked: dict[str, dict[str, float]] = {}
    for block in blocks(opened):
        order = block.order(block.scores[:, 0])
        for query, doc, score in zip(
            block.query[order].tolist(), block.ids(order), block.scores[order, 0].tolist(), strict=True
        ):
            ranked.setdefault(block.queries[query], {})[doc] = score
    return ranked


def _as_retriever(scorer: Scorer, texts: Mapping[str, corpora.Text]) -> Callable[[str], object]:
    """A retriever whose text is a query with the documents to score."""

    def documents(text: str) -> tuple[str, list[str], list[str]]:
        query, docs = json.loads(text)
        return query, docs, [texts[doc].text if doc in texts else doc for doc in docs]

    def best_first(docs: Sequence[str], scores: Scores) -> list[tuple[str, float]]:
        numbers = [*map(float, scores)]
        if len(numbers) != len(docs):
            raise ValueError(f"the scorer returned {len(numbers)} scores for {len(docs)} documents")
        return sorted(zip(docs, numbers, strict=True), key=lambda pair: pair[1], reverse=True)

    if isinstance(scorer, CrossEncoder):

        def rerank_pairs(text: str) -> object:
            query, docs, contents = documents(text)
            return best_first(docs, scorer.predict([(query, content) for content in contents]))

        return rerank_pairs
    if inspect.iscoroutinefunction(scorer):

        async def rerank_later(text: str) -> object:
            query, docs, contents = documents(text)
            return best_first(docs, await scorer(query, contents))

        return rerank_later

    def rerank_now(text: str) -> object:
        query, docs, contents = documents(text)
        scores = scorer(query, contents)
        if isinstance(scores, Awaitable):  # of a callable object, whose call does not look asynchronous

            async def later() -> object:
                return best_first(docs, await scores)

            return later()
        return best_first(docs, scores)

    return rerank_now


def _joined(docs: Mapping[str, float], again: Mapping[str, float], depth: int) -> dict[str, float]:
    """The first documents in their new order, then the others in their old one, with scores that fall."""
    head = {doc: again[doc] for doc in islice(docs, depth) if doc in again}
    if not head:
        return dict(docs)
    rest = [doc for doc in docs if doc not in head]
    lowest = min(head.values())
    return {
        **dict(sorted(head.items(), key=itemgetter(1), reverse=True)),
        **{doc: lowest - place for place, doc in enumerate(rest, 1)},
    }
