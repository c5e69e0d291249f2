"""From a retriever to numbers: ask it every query, keep its answers, and judge them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ranklens.errors import InputError, nearest, warn
from ranklens.matching.rules import Matching, chunk_separator
from ranklens.registry import parse_many
from ranklens.retrieval.answers import STATUSES, RetrieverRun, counted
from ranklens.retrieval.judged_queries import JudgedQueries, read_judged_queries
from ranklens.retrieval.session import RunOptions, Session
from ranklens.retrieval.store import Store

if TYPE_CHECKING:
    from ranklens.comparison.systems import Comparison
    from ranklens.registry import Measure
    from ranklens.retrieval.scores import RetrieverScores
    from ranklens.scores import Scores
    from ranklens.tables.table import Table

Failed = Literal["zero", "skip"]


class Benchmark:
    """Queries with judgments, and what retrievers answered to them.

    ``queries`` are ``{id: text}``, a list of dicts, a table, or the path of a file or a BEIR folder (which brings judgments and
    corpus along); ``qrels`` are whatever :func:`ranklens.judge` takes. Without ``queries``, the ids of the judgments are the texts.
    With ``store``, every answer is kept in that folder, and an interrupted run resumes where it stopped. ``match`` says how
    retrieved and judged ids belong together (:mod:`ranklens.matching`); ``corpus`` holds texts for reports.

    Only queries that have both a text and judgments are asked; the others are counted.

    >>> bench = Benchmark()
    >>> bench.add_query("q1", "what is rag?", {"rag_1"})
    >>> bench.run("mine", lambda text, k: ["rag_1", "ml_1"][:k], k=5)
    RetrieverRun('mine', k=5: 1 ok)
    >>> bench.evaluate("RR, R@5")["mine"].mean
    {'RR': 1.0, 'R@5': 1.0}
    """

    def __init__(
        self,
        queries: Any = None,
        qrels: Any = None,
        *,
        store: str | Path | Store | None = None,
        corpus: Any = None,
        match: Matching | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.results: dict[str, RetrieverRun] = {}
        self.match = match
        self._judged = JudgedQueries()
        self.corpus = corpus
        if queries is not None or qrels is not None:
            self._judged = read_judged_queries(queries, qrels, columns)
            self.corpus = corpus if corpus is not None else self._judged.corpus
        self.store = store if isinstance(store, Store) or store is None else Store(store)

    def add_query(self, query_id: str, query_text: str, relevant_docs: Any, **fields: Any) -> None:
        """Add a query with what is relevant for it: a set or list of ids, or a dict with grades.

        Further ``fields`` (a type, a language) can be used to compare by group.
        """
        self._judged.add(str(query_id), query_text, relevant_docs, fields)

    @property
    def unjudged(self) -> int:
        """How many queries are not asked because nobody judged them."""
        return self._judged.unjudged

    @property
    def without_text(self) -> int:
        """How many judged queries cannot be asked because they have no text."""
        return self._judged.without_text

    @property
    def queries(self) -> dict[str, str]:
        """The texts of the queries that are asked, by id."""
        return dict(self._judged.texts)

    @property
    def qrels(self) -> dict[str, dict[str, float]]:
        """The judgments of these queries."""
        return {query: dict(grades) for query, grades in self._judged.qrels.items()}

    def run(
        self,
        name: str,
        retriever: Any,
        *,
        k: int = 10,
        concurrency: int = 1,
        timeout: float | None = None,
        retries: int = 0,
        rate_limit: float | None = None,
        backoff: float = 0.5,
        id_from: Any = None,
        score_from: Any = None,
        batch_size: int | None = None,
        version: str = "",
        params: Mapping[str, Any] | None = None,
        match: Matching | None = None,
        resume: bool = True,
        progress: bool | None = None,
    ) -> RetrieverRun:
        """Ask a retriever every query and keep its answers under ``name``.

        Functions, async functions and the retrievers of RAG libraries are recognised (:mod:`ranklens.retrieval.adapters`), and so are ids
        in what they return; ``id_from="metadata.source"`` or a callable says where else to find them. The order of the results is
        the ranking, and the first ``k`` count. ``concurrency`` calls run at a time (synchronous ones in threads), each for
        at most ``timeout`` seconds and with up to ``retries`` further attempts after growing pauses from ``backoff`` seconds;
        at most ``rate_limit`` calls start per second. Latency is that of the call alone, and of the last attempt. A call that
        timed out counts with the time waited; one that failed otherwise does not count.

        A query that fails is kept with its error and counted; it does not stop the run. In a store, an answer belongs to
        ``name``, ``version``, ``params``, ``k`` and the query. When the retriever changes, change ``version`` or ``params``, or
        ask again with ``resume=False``.
        """
        options = RunOptions(
            k=k,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            rate_limit=rate_limit,
            backoff=backoff,
            id_from=id_from,
            score_from=score_from,
            batch_size=batch_size,
            version=version,
            params=params,
            match=match or self.match,
            resume=resume,
            progress=progress,
        )
        session = Session.start(name, retriever, self._judged.texts, self.store, options)
        session.run()
        return self._keep(session)

    async def arun(self, name: str, retriever: Any, **options: Any) -> RetrieverRun:
        """:meth:`run`, with the same options, on the running event loop: for clients that belong to it."""
        known = [option.name for option in dataclasses.fields(RunOptions)]
        wrong = next((name for name in options if name not in known), None)
        if wrong is not None:
            raise InputError(f"There is no option {wrong!r}: {nearest(wrong, known)} See Benchmark.run.")
        chosen = RunOptions(**{**options, "match": options.get("match") or self.match})
        session = Session.start(name, retriever, self._judged.texts, self.store, chosen)
        await session.arun()
        return self._keep(session)

    def _keep(self, session: Session) -> RetrieverRun:
        self.results[session.name] = session.result(self._judged.qrels)
        return self.results[session.name]

    def evaluate(
        self,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        failed: Failed = "zero",
        **policy: Any,
    ) -> RetrieverScores:
        """Score every retriever; policies as in :func:`ranklens.evaluate`. The result is a dict that prints as a table.

        A failed query counts as 0; ``failed="skip"`` leaves it out.
        """
        from ranklens.evaluation import evaluate
        from ranklens.retrieval.scores import RetrieverScores

        options = self._policy(failed, policy)
        for caution in self.cautions(measures):
            warn(caution)
        return RetrieverScores(
            {
                name: self._known(
                    result,
                    evaluate(result.match.judgments(self._judged.qrels), result.run, measures, **options),
                )
                for name, result in self._finished().items()
            }
        )

    def _known(self, result: RetrieverRun, scores: Scores) -> Scores:
        """Scores that know questions and errors, too."""
        if scores.sources is None:
            return scores
        known = dataclasses.replace(scores.sources, texts=self._judged.texts, failed=result.errors)
        return dataclasses.replace(scores, sources=known)

    def compare(
        self,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        failed: Failed = "zero",
        **options: Any,
    ) -> Comparison:
        """Compare all retrievers that have run, like :func:`ranklens.compare`, with their latencies and status."""
        from ranklens.comparison.systems import compare

        finished = self._finished()
        cautions = self.cautions(measures)
        if isinstance(options.get("by"), str) and "queries" not in options:
            options["queries"] = self._fields_with(options["by"])
        compared = compare(
            self.common_judgments(),
            {name: result.run for name, result in finished.items()},
            measures,
            **self._policy(failed, options),
        )
        for caution in cautions:
            warn(caution)
        return self.completed(compared, cautions)

    def completed(self, compared: Comparison, cautions: Sequence[str] = ()) -> Comparison:
        """A comparison of these retrievers with what only their runs know: latencies, status and errors."""
        finished = self._finished()
        return dataclasses.replace(
            compared,
            latencies={name: list(r.seconds.values()) for name, r in finished.items() if r.seconds},
            status={name: result.status for name, result in finished.items()},
            errors={name: result.errors for name, result in finished.items() if result.failures},
            cautions=(*cautions, *compared.cautions),
        )

    def report(
        self,
        path: str | Path,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        title: str | None = None,
        corpus: Any = None,
        queries: Any = None,
        **options: Any,
    ) -> Path:
        """Write the comparison as one HTML page, with the texts of queries and, if there is a corpus, of documents.

        ``corpus`` and ``queries`` are those of the benchmark unless given; the other options are those of :meth:`compare`.
        """
        if queries is not None and options.get("by") is not None:
            options["queries"] = queries
        compared = self.compare(measures, **options)
        texts = self.queries if queries is None else queries
        return compared.to_html(
            path, queries=texts, corpus=self.corpus if corpus is None else corpus, title=title
        )

    def save_runs(self, folder: str | Path, *, suffix: str = ".txt") -> dict[str, Path]:
        """Write the results of each retriever as a run file: TREC's format, or that of another ``suffix`` (.jsonl, .csv, .parquet)."""
        from ranklens.files.writing import write_run

        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder cannot be created: {error.strerror}.") from None
        paths = {name: place / f"{_file_name(name)}{suffix}" for name in self._finished()}
        by_path = {path: name for name, path in paths.items()}
        for name, path in paths.items():
            if by_path[path] != name:
                raise InputError(
                    f"{name!r} and {by_path[path]!r} would both be written to {path.name}; rename one."
                )
        for name, path in paths.items():
            write_run(self.results[name].scored(), path, tag=_file_name(name))
        return paths

    def table(self) -> Table:
        """Status and latency of every retriever."""
        from ranklens.tables.table import Table

        times = [f"{name} ms" for name in ("p50", "p90", "p95", "p99", "mean")]
        header = ["retriever", "k", "queries", *STATUSES, *times, "per second"]
        return Table(header, [_row(result) for result in self.results.values()], note=self._note())

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def __repr__(self) -> str:
        return f"Benchmark({len(self._judged.texts)} queries; {', '.join(self.results) or 'no retriever has run'})"

    def _finished(self) -> dict[str, RetrieverRun]:
        if not self.results:
            raise InputError("No retriever has run yet; call bench.run(name, retriever) first.")
        for name, result in self.results.items():
            later = [query for query in self._judged.texts if query not in result.answers]
            if later:
                raise InputError(
                    f"{name!r} ran before {counted(len(later), 'query was', 'queries were')} added, the first is {later[0]!r}; run it again."
                )
        return self.results

    def common_judgments(self) -> Mapping[str, Mapping[str, float]]:
        """The judgments that all retrievers share: a comparison over different ones would mean nothing."""
        finished = self._finished()
        first, *others = finished
        common = finished[first].match.judgments(self._judged.qrels)
        for name in others:
            if finished[name].match.judgments(self._judged.qrels) != common:
                raise InputError(
                    f"{first!r} and {name!r} are matched in ways that change the judgments; give the same Groups to both, "
                    "or to Benchmark(match=…)."
                )
        return common

    def _fields_with(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """The fields of the queries, if ``name`` is among them; BEIR has its own under ``metadata``."""
        known = {key for row in self._judged.fields.values() for key in (*row, *(row.get("metadata") or {}))}
        if name not in known:
            raise InputError(
                f"by={name!r}: no query has such a field. {nearest(name, sorted(known)) if known else ''}"
                "Give it with add_query(…, " + f"{name}=…), or as a column of the queries."
            )
        return self._judged.fields

    def cautions(self, measures: str | Measure | Sequence[str | Measure]) -> list[str]:
        """What to keep in mind when reading these measures of these retrievers."""
        return [*self._shallow(measures), *self._chunks()]

    def _chunks(self) -> Iterator[str]:
        """Retrievers of chunks where documents are judged: no id matches until a match says how."""
        for name, result in self._finished().items():
            separator = chunk_separator(result.run, result.match.judgments(self._judged.qrels))
            if separator is not None:
                yield (
                    f"No id that {name!r} returned is judged, but the parts before {separator!r} are. If these are chunks of judged "
                    f'documents, run it with match=ByParent(separator="{separator}"); in a configuration, '
                    f'match: {{by: parent, separator: "{separator}"}}.'
                )

    def _shallow(self, measures: str | Measure | Sequence[str | Measure]) -> list[str]:
        """Retrievers that were asked for fewer results than a measure looks at: R@100 of ten results is R@10."""
        deepest = max(
            (m for m in parse_many(measures) if m.k is not None), key=lambda m: m.k or 0, default=None
        )
        return [
            f"{deepest} looks at {deepest.k} results, but {name!r} ran with k={result.k}; run it with k={deepest.k}."
            for name, result in self._finished().items()
            if deepest is not None and result.k < (deepest.k or 0)
        ]

    @staticmethod
    def _policy(failed: str, policy: dict[str, Any]) -> dict[str, Any]:
        if failed not in ("zero", "skip"):
            raise InputError(f"failed={failed!r} is not allowed: {nearest(str(failed), ('zero', 'skip'))}")
        return {"missing": failed, **policy}  # the run lacks the queries that failed

    def _note(self) -> str:
        parts = []
        if self.unjudged:
            parts.append(f"{counted(self.unjudged, 'query', 'queries')} without judgments not asked")
        if self.without_text:
            parts.append(
                f"{counted(self.without_text, 'judged query', 'judged queries')} without text left out"
            )
        for name, result in self.results.items():
            parts += [f"{name}: {what}" for what in result.remarks()]
        return "; ".join(parts) + "." if parts else ""


def _row(result: RetrieverRun) -> list[str]:
    counts = [f"{len(result.answers):,}", *(f"{result.status[status]:,}" for status in STATUSES)]
    latency = result.latency
    times = ["–"] * 5
    if latency is not None:
        numbers = (latency.p50, latency.p90, latency.p95, latency.p99, latency.mean)
        times = [f"{1000 * seconds:,.1f}" for seconds in numbers]
    rate = "–" if result.throughput is None else f"{result.throughput:,.1f}"
    return [result.name, str(result.k), *counts, *times, rate]


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
