"""From a retriever to numbers: ask it every query, keep its answers, and judge them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ranklens.data.matching.evidence import ByEvidence
from ranklens.data.matching.parsing import matching_of
from ranklens.data.matching.rules import Matching
from ranklens.errors import InputError, nearest, warn
from ranklens.metrics import parse_many
from ranklens.retrieval.answers import STATUSES, TIMES, RetrieverRun
from ranklens.retrieval.asking import AskArguments, AskOptions, whole
from ranklens.retrieval.judged_queries import JudgedQueries, read_judged_queries
from ranklens.retrieval.session import Session
from ranklens.retrieval.store import Store
from ranklens.tables.table import Shown, Table
from ranklens.words import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.comparison.comparison import Comparison
    from ranklens.metrics import Measure
    from ranklens.retrieval.agreement import Agreement
    from ranklens.retrieval.scores import RetrieverScores
    from ranklens.scores import Scores

Failed = Literal["zero", "skip"]


class Benchmark(Shown):
    """Queries with judgments, and the answers of retrievers.

    ``queries`` are ``{id: text}``, a list of dicts, a table, or the path of a file or a BEIR folder (which includes judgments and
    corpus); ``qrels`` are anything that :func:`ranklens.judge` takes. Without ``queries``, the ids of the judgments are the texts.
    With ``store``, every answer is kept in that folder, and an interrupted run resumes where it stopped. ``match`` says how
    retrieved ids map to judged ids (:mod:`ranklens.matching`); ``corpus`` holds texts for reports.

    Only queries that have both a text and judgments are asked; the others are counted. Without any judgments, all are asked:
    :meth:`agreement`, :meth:`side_by_side` and :meth:`table` say what can be said, and :meth:`sheet` writes what to judge.

    >>> bench = Benchmark()
    >>> bench.add_query("q1", "what is rag?", {"rag_1"})
    >>> bench.run("mine", lambda text, k: ["rag_1", "ml_1"][:k], k=5)
    RetrieverRun('mine', k=5: 1 ok)
    >>> bench.evaluate("RR, R@5")["mine"].mean
    {'RR': 1.0, 'R@5': 1.0}
    """

    def __init__(
        self,
        queries: object = None,
        qrels: object = None,
        *,
        store: str | Path | Store | None = None,
        corpus: object = None,
        match: Matching | str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.results: dict[str, RetrieverRun] = {}
        self.match = matching_of(match)
        self._judged = JudgedQueries()
        self.corpus = corpus
        if queries is not None or qrels is not None:
            self._judged = read_judged_queries(queries, qrels, columns)
            if match is None and self._judged.has_passages:
                self.match = ByEvidence()
            self.corpus = corpus if corpus is not None else self._judged.corpus
        self.store = store if isinstance(store, Store) or store is None else Store(store)

    def add_query(
        self, query_id: str, query_text: str, relevant_docs: object = None, **fields: object
    ) -> None:
        """Add a query with what is relevant for it: a set or list of ids, or a dict with grades; None if it is not judged.

        With an empty list nothing is relevant, and the policy ``empty`` decides what the query counts as.
        Further ``fields`` (a type, a language) can be used to compare by group.
        """
        self._judged.add(str(query_id), query_text, relevant_docs, fields)

    @property
    def unjudged(self) -> int:
        """How many queries are not asked because they have no judgments."""
        return self._judged.unjudged

    @property
    def unanswerable(self) -> int:
        """How many queries are not asked because the golden set expects nothing for them."""
        return self._judged.unanswerable

    @property
    def mismatch(self) -> str:
        """What is said of queries and judgments whose ids differ only in how they are written; no gate passes then."""
        return self._judged.mismatch

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

    @property
    def fields(self) -> dict[str, Mapping[str, Any]]:
        """Other fields of these queries, such as a type or a language, by query id."""
        return {query: dict(fields) for query, fields in self._judged.fields.items() if fields}

    def run(
        self,
        name: str,
        retriever: object,
        **options: Unpack[AskArguments],
    ) -> RetrieverRun:
        """Ask a retriever every query and keep its answers under ``name``.

        Functions, async functions and the retrievers of RAG libraries are recognised (:mod:`ranklens.retrieval.adapters`), and so are ids
        in what they return; ``id_from="metadata.source"`` or a callable says where else to find them. The order of the results is
        the ranking, and the first ``k`` count. Tokens and cost are kept if the retriever returns them next to the documents:
        ``{"documents": [...], "tokens": 380, "cost": 0.0004}``. ``concurrency`` calls run at a time (synchronous ones in threads), each for
        at most ``timeout`` seconds and with up to ``retries`` further attempts after growing pauses from ``backoff`` seconds;
        at most ``rate_limit`` calls start per second. Latency is that of the call alone, and of the last attempt. A call that
        timed out counts with the time waited; one that failed otherwise does not count.

        A query that fails is kept with its error and counted; it does not stop the run, unless ``stop_after`` calls in a row
        fail with the same error: then the service is assumed to be down. ``keep_going=True`` keeps going.

        Stored answers are keyed by ``name``, ``version``, ``params``, ``k``, the query, and a digest of the retriever: its code,
        that of local modules it imports, its arguments and settings, and the same of what else it ``depends_on``
        (:mod:`ranklens.retrieval.fingerprints`). Changes inside a remote service or an index are not detected: change ``version``
        with them, query again with ``fresh=True``, or limit the age of answers with ``max_age`` (seconds, or ``"7d"``).
        """
        session = self._session(name, retriever, options)
        session.run()
        return self._keep(session)

    async def arun(self, name: str, retriever: object, **options: Unpack[AskArguments]) -> RetrieverRun:
        """:meth:`run`, with the same options, on the running event loop: for clients that belong to it."""
        session = self._session(name, retriever, options)
        await session.arun()
        return self._keep(session)

    def _session(self, name: str, retriever: object, options: AskArguments) -> Session:
        chosen = AskOptions.of(options, self.match)
        return Session.start(name, retriever, self._judged.texts, self.store, chosen)

    def _keep(self, session: Session) -> RetrieverRun:
        self.results[session.name] = session.result(self._judged.qrels)
        return self.results[session.name]

    def fuse(
        self, name: str, systems: Sequence[str] | None = None, method: Any = "rrf", **options: Any
    ) -> RetrieverRun:
        """Add a system that fuses the answers of retrievers that have run, by default of all; options as in :func:`ranklens.fuse`.

        >>> bench = Benchmark({"q": "why?"}, {"q": {"d2"}})
        >>> _ = bench.run("a", lambda text: ["d1", "d2"]), bench.run("b", lambda text: ["d2", "d3"])
        >>> bench.fuse("hybrid", k=10).run["q"]
        ['d2', 'd1', 'd3']
        """
        from ranklens.upward import fused_run

        parts = [*self._finished()] if systems is None else list(systems)
        for part in parts:
            if part not in self.results:
                raise InputError(f"There is no retriever {part!r} to fuse: {nearest(part, self.results)}")
        self.results[name] = fused_run(name, {part: self.results[part] for part in parts}, method, **options)
        return self.results[name]

    def evaluate(
        self,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        failed: Failed = "zero",
        save: bool | str = False,
        **policy: Any,
    ) -> RetrieverScores:
        """Score every retriever; policies as in :func:`ranklens.evaluate`. The result is a dict that prints as a table.

        A failed query counts as 0; ``failed="skip"`` leaves it out. ``save=True`` keeps the scores and latencies in the history of
        the project, ``save="v1.2"`` under this label.
        """
        from ranklens.retrieval.scores import RetrieverScores
        from ranklens.scores.evaluation import evaluate

        options = self._policy(failed, policy)
        self._refuse_unjudged()
        for caution in self.cautions(measures):
            warn(caution)
        by_retriever = RetrieverScores()
        for name, result in self._finished().items():
            scores = evaluate(result.match.judgments(self._judged.qrels), result.run, measures, **options)
            if scores.sources is not None:
                sources = dataclasses.replace(scores.sources, texts=self._judged.texts, failed=result.errors)
                scores = dataclasses.replace(scores, sources=sources)
            by_retriever[name] = scores
        if save:
            self._save(by_retriever, save)
        return by_retriever

    def _save(self, scores: Mapping[str, Scores], label: bool | str) -> None:
        from ranklens.scores.history import saving
        from ranklens.scores.history.record import Record

        records = {
            name: Record.of(one, name, seconds=list(self.results[name].seconds.values()))
            for name, one in scores.items()
        }
        asked = {
            name: {"k": run.k, "version": run.version, "params": dict(run.params)}
            for name, run in self.results.items()
        }
        saving.save(records, label, "bench", {"retrievers": asked})

    def compare(
        self,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        failed: Failed = "zero",
        save: bool | str = False,
        **options: Any,
    ) -> Comparison:
        """Compare all retrievers that have run, like :func:`ranklens.compare`, with their latencies and status."""
        from ranklens.comparison.compare import compare

        self._refuse_unjudged()
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
        if save:
            self._save(compared.scores, save)
        return self.completed(compared, cautions)

    def completed(self, compared: Comparison, cautions: Sequence[str] = ()) -> Comparison:
        """A comparison of these retrievers with what only their runs know: latencies, status and errors."""
        finished = self._finished()
        return dataclasses.replace(
            compared,
            latencies={name: list(r.seconds.values()) for name, r in finished.items() if r.seconds},
            status={name: result.status for name, result in finished.items()},
            spent=_spent_by_all(finished),
            errors={name: result.errors for name, result in finished.items() if result.failures},
            asked=self._judged.texts,
            told=(*cautions, *compared.told),
        )

    def report(
        self,
        path: str | Path,
        measures: str | Measure | Sequence[str | Measure] = "rag",
        *,
        title: str | None = None,
        corpus: object = None,
        queries: object = None,
        **options: Any,
    ) -> Path:
        """Write the comparison as one HTML page, with the texts of queries and, if there is a corpus, of documents.

        ``corpus`` and ``queries`` default to those of the benchmark; the other options are those of :meth:`compare`.
        """
        if queries is not None and options.get("by") is not None:
            options["queries"] = queries
        compared = self.compare(measures, **options)
        texts = self.queries if queries is None else queries
        return compared.to_html(
            path, queries=texts, corpus=self.corpus if corpus is None else corpus, title=title
        )

    def agreement(self, k: int = 10, *, p: float = 0.9) -> Agreement:
        """How far the retrievers agree on their first ``k`` results: overlap and rank-biased overlap, pair by pair.

        This needs no judgments, and says nothing about quality.

        >>> bench = Benchmark({"q1": "what is rag?"})
        >>> _ = bench.run("a", lambda text: ["d1", "d2"]), bench.run("b", lambda text: ["d1", "d3"])
        >>> bench.agreement().pair("a", "b").mean_overlap
        0.5
        """
        from ranklens.retrieval.agreement import agreement

        finished = self._finished()
        if len(finished) < 2:
            raise InputError("Only one retriever has run; agreement needs two.")
        return agreement(finished, whole("k", k), p)

    def sheet(self, path: str | Path, k: int = 10, *, corpus: object = None) -> Path:
        """Write what to judge: the first ``k`` results of all retrievers, each document once per query, with an empty grade.

        The columns are query, question, doc, text, systems, best_rank and grade; ``.csv`` or ``.jsonl``. Fill in the grades (0 is
        not relevant) and give the file as ``qrels``. Texts come from ``corpus``, that of the benchmark unless given.
        """
        from ranklens.data.files.output import write_text
        from ranklens.retrieval import sheets

        write = {".csv": sheets.to_csv, ".jsonl": sheets.to_jsonl}.get(Path(path).suffix.lower())
        if write is None:
            raise InputError(f"{path}: a sheet is .csv or .jsonl; choose one of these endings.")
        if Path(path).exists():
            raise InputError(
                f"{path} exists, and may contain grades already; choose another name, or delete it."
            )
        corpus = self.corpus if corpus is None else corpus
        rows = sheets.rows(self._finished(), self._judged.texts, corpus, whole("k", k))
        write_text(write(rows), Path(path))
        return Path(path)

    def side_by_side(self, path: str | Path, k: int = 10, *, corpus: object = None) -> Path:
        """Write the rankings of every query side by side, as one HTML page; documents that all retrievers found are marked."""
        from ranklens.data.files.output import write_text
        from ranklens.retrieval import sheets

        note = f"The first {k} results of {counted(len(self._finished()), 'retriever')}. Marked: found by all of them."
        corpus = self.corpus if corpus is None else corpus
        content = sheets.page(self._finished(), self._judged.texts, corpus, whole("k", k), note=note)
        write_text(content, Path(path))
        return Path(path)

    def save_runs(self, folder: str | Path, *, suffix: str = ".txt") -> dict[str, Path]:
        """Write the results of each retriever as a run file: TREC's format, or that of another ``suffix`` (.jsonl, .csv, .parquet)."""
        from ranklens.data.files.writing import write_run

        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder cannot be created: {error.strerror}.") from None
        paths = {name: place / run_file(name, suffix) for name in self._finished()}
        by_path = {str(path).casefold(): name for name, path in paths.items()}
        for name, path in paths.items():
            other = by_path[str(path).casefold()]
            if other != name:
                raise InputError(f"{name!r} and {other!r} would both be written to {path.name}; rename one.")
        for name, path in paths.items():
            write_run(self.results[name].scored(), path, tag=_file_name(name))
        return paths

    def table(self) -> Table:
        """Status and latency of every retriever, and the sums of tokens and cost where retrievers tell them."""
        spent = _spent_by_all(self.results)  # what no retriever reports has no column
        times = [f"{name} ms" for name in TIMES]
        header = ["retriever", "k", "queries", *STATUSES, *times, "per second", *spent]
        rows = []
        for name, one in self.results.items():
            counts = [f"{len(one.answers):,}", *(f"{one.status[status]:,}" for status in STATUSES)]
            seconds = [getattr(one.latency, time, None) for time in TIMES]
            times = ["–" if number is None else f"{1000 * number:,.1f}" for number in seconds]
            rate = "–" if one.throughput is None else f"{one.throughput:,.1f}"
            sums = [f"{by_name[name]:,.6g}" if name in by_name else "–" for by_name in spent.values()]
            rows.append([name, str(one.k), *counts, *times, rate, *sums])
        return Table(header, rows, note=self._note())

    def __repr__(self) -> str:
        return f"Benchmark({len(self._judged.texts)} queries; {', '.join(self.results) or 'no retriever has run'})"

    def _finished(self) -> dict[str, RetrieverRun]:
        if not self.results:
            raise InputError("No retriever has run yet; call bench.run(name, retriever) first.")
        for name, result in self.results.items():
            later = [query for query in self._judged.texts if query not in result.answers]
            if later:
                raise InputError(
                    f"{name!r} ran before {counted(len(later), 'query was', 'queries were')} added (first: {later[0]!r}); run it again."
                )
        return self.results

    def _refuse_unjudged(self) -> None:
        if self._judged.texts and not self._judged.is_judged:
            raise InputError(
                f"There are no judgments: {self._judged.why_unjudged} Give qrels, or queries that say what is relevant: "
                '[{"id": …, "query": …, "relevant_docs": [...]}]. Without judgments there are agreement(), side_by_side(path), '
                "and sheet(path), which writes what to judge."
            )

    def common_judgments(self) -> Mapping[str, Mapping[str, float]]:
        """The judgments that all retrievers share: a comparison over different ones would mean nothing."""
        finished = self._finished()
        first, *others = finished
        common = finished[first].match.judgments(self._judged.qrels)
        for name in others:
            if finished[name].match.judgments(self._judged.qrels) != common:
                raise InputError(
                    f"{first!r} and {name!r} change the judgments in different ways; use the same Groups for both, or Benchmark(match=…)."
                )
        return common

    def _fields_with(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """The fields of the queries, if ``name`` is among them; BEIR has its own under ``metadata``."""
        names = {key for row in self._judged.fields.values() for key in (*row, *(row.get("metadata") or {}))}
        if name not in names:
            raise InputError(
                f"by={name!r}: no query has such a field: {nearest(name, sorted(names))}"
                "Set it with add_query(…, " + f"{name}=…), or as a column of the queries."
            )
        return self._judged.fields

    def cautions(self, measures: str | Measure | Sequence[str | Measure]) -> list[str]:
        """What to keep in mind when reading these measures of these retrievers."""
        # R@100 of ten results is R@10.
        deepest = max(parse_many(measures), key=lambda measure: measure.k or 0)
        return [
            f"{deepest} looks at {deepest.k} results, but {name!r} ran with k={result.k}; run it with k={deepest.k}."
            for name, result in self._finished().items()
            if result.k < (deepest.k or 0)
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
        if self.unanswerable:
            parts.append(f"{counted(self.unanswerable, 'unanswerable question')} not asked")
        if self.without_text:
            parts.append(
                f"{counted(self.without_text, 'judged query', 'judged queries')} without text left out"
            )
        for name, result in self.results.items():
            parts += [f"{name}: {what}" for what in result.remarks()]
        return "; ".join(parts) + "." if parts else ""


def _spent_by_all(results: Mapping[str, RetrieverRun]) -> dict[str, dict[str, float]]:
    """Sums of tokens and cost, by retriever; what none tells is left out."""
    from ranklens.comparison.comparison import SPENT

    spent = {
        what: {name: one for name, run in results.items() if (one := getattr(run, what)) is not None}
        for what in SPENT
    }
    return {what: sums for what, sums in spent.items() if sums}


def run_file(name: str, suffix: str = ".txt") -> str:
    """The name of the file that :meth:`Benchmark.save_runs` writes for a retriever."""
    return f"{_file_name(name)}{suffix}"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
