"""Problems in the data: things that change results, or that you should know before trusting them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranklens.data.files import formats
from ranklens.data.files.collection import open_collection
from ranklens.data.files.streams import TableStream
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run, read_run
from ranklens.errors import MismatchWarning, hearing
from ranklens.judging.assembly import judge
from ranklens.metrics.formulas.counts import judged_share
from ranklens.words import counted, percent

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.judged import Judged

Severity = Literal["error", "warning", "note"]
CUTOFFS = (1, 5, 10, 20, 100)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_PARTS: Literal["diagonal_relaxed"] = "diagonal_relaxed"  # some of which may have a column that others lack
DEPTHS = (5, 10, 100)  # at which unjudged documents are counted


@dataclass(frozen=True)
class Finding:
    """One observation, and how severe it is.

    An error is wrong data, whatever the tool. A warning says that another tool or policy would give different numbers. A note is
    ordinary, and good to know.
    """

    kind: str
    message: str
    severity: Severity

    @property
    def matters(self) -> bool:
        """Whether it is more than a note."""
        return self.severity != "note"


def lint(
    qrels: object, run: object, qrels_format: str | None = None, run_format: str | None = None
) -> list[Finding]:
    """Check judgments and a run, each a file or its content.

    The checks: repeated documents, ties that cross a cutoff, missing and unjudged queries, queries without relevant
    documents, scores that are not finite, ranks that contradict scores, scores that tie only in 32 bits, query ids among
    document ids, candidates that look sampled, and the share of unjudged documents.
    """
    data = open_collection(qrels, {"run": run}, qrels_format, run_format)
    ranked = read_run(data.runs["run"], data.qrels, ranks=True)
    gold = formats.as_table(data.qrels.judged, "grade")
    findings = [*_of_judgments(gold)]
    if ranked.stream is None:
        findings += _of_rows([formats.as_table(ranked.rankings, "score")])
    else:
        try:
            findings += [*_of_rows(whole_queries(ranked.stream))]
        except _Scattered:
            import polars as pl

            findings += _of_rows([pl.concat(ranked.stream, how=_PARTS)])
    without_ranks = ranked  # which judging does not know
    if ranked.stream is not None:
        plain = ranked.stream.then(lambda table: table.select("query", "doc", "score"))
        without_ranks = replace(ranked, rankings=plain)
    elif ranked.table is not None:
        without_ranks = replace(ranked, rankings=ranked.table.select("query", "doc", "score"))
    reported = {finding.kind for finding in findings}
    of_all = _of_all(data.qrels, without_ranks)
    return findings + [finding for finding in of_all if finding.kind not in reported]


def whole_queries(stream: TableStream) -> Iterator[pl.DataFrame]:
    """The tables of a run, cut between queries: the last query of a table waits for the next one."""
    import polars as pl

    waiting: list[pl.DataFrame] = []
    for table in stream:
        if not len(table):
            continue
        last = int(table["query"].rle().struct.field("len")[-1])
        if last == len(table) and (not waiting or waiting[-1]["query"][-1] == table["query"][0]):
            waiting.append(table)
            continue
        yield pl.concat([*waiting, table[: len(table) - last]], how=_PARTS)
        waiting = [table[len(table) - last :]]
    yield from ([pl.concat(waiting, how=_PARTS)] if waiting else [])


def _of_judgments(gold: pl.DataFrame) -> Iterator[Finding]:
    rows = _repeated(gold)
    if len(rows):
        judging = counted(len(rows), "row judges a document of its", "rows judge a document of their")
        message = f"judgments: {judging} query again (first: {_where(rows)})."
        yield Finding("duplicates", message, "error")
    best = gold.group_by("query", maintain_order=True).max()
    empty = best.filter(best["grade"] < 1)["query"]
    if len(empty):
        yield Finding(
            "no relevant document",
            f"{counted(len(empty), 'query has', 'queries have')} none, e.g. {empty[0]!r}; counted as 0.",
            "note",
        )


@dataclass
class _Rows:
    """How many rows, and the first of them."""

    count: int = 0
    first: str = ""

    def add(self, rows: pl.DataFrame) -> None:
        if len(rows):
            self.count, self.first = self.count + len(rows), self.first or _where(rows)


def _repeated(table: pl.DataFrame) -> pl.DataFrame:
    """The rows whose document already appeared above, for the same query."""
    import polars as pl

    return table.filter(~pl.struct("query", "doc").is_first_distinct())


def _repeat(count: int) -> str:
    return counted(count, "row repeats a document of its query", "rows repeat a document of their query")


def _where(rows: pl.DataFrame) -> str:
    return f"document {rows['doc'][0]!r} of query {rows['query'][0]!r}"


class _Scattered(Exception):  # noqa: N818  always caught
    """The rows of a query are in several places."""


def _of_rows(tables: Iterable[pl.DataFrame]) -> Iterator[Finding]:
    """Findings from single rows, or from the rows of one query."""
    import polars as pl

    queries_before: set[str] = set()
    repeated, nan, infinite, own, contradicted, coarse = (_Rows() for _ in range(6))
    for table in tables:
        queries = {*table["query"].unique()}
        if not queries_before.isdisjoint(queries):
            raise _Scattered
        queries_before |= queries
        repeated.add(_repeated(table))
        nan.add(table.filter(pl.col("score").is_nan()))
        infinite.add(table.filter(pl.col("score").is_infinite()))
        own.add(table.filter(pl.col("query") == pl.col("doc")))
        if "rank" in table.columns:
            # The first row of each query whose score is higher than that of a better rank: tools that read ranks see another order.
            ordered = table.drop_nulls("rank").sort("query", "rank", maintain_order=True)
            rises = (pl.col("score").diff() > 0).over("query").fill_null(value=False)
            contradicted.add(ordered.filter(rises).unique("query", keep="first", maintain_order=True))
        coarse.add(_tied_in_32_bits(table))
    if repeated.count:
        message = f"run: {_repeat(repeated.count)} (first: {repeated.first})."
        yield Finding("duplicates", message, "error")
    odd_scores: list[tuple[str, _Rows, Severity]] = [("NaN", nan, "error"), ("infinite", infinite, "note")]
    for name, odd, severity in odd_scores:
        if odd.count:
            scores = counted(odd.count, "score is", "scores are")
            yield Finding("scores", f"{scores} {name}, the first for {odd.first}.", severity)
    if contradicted.count:
        where = f"{counted(contradicted.count, 'query')}, first at {contradicted.first}"
        message = f"The rank column contradicts the scores in {where}; the scores are used."
        yield Finding("ranks", message, "warning")
    if coarse.count:
        message = (
            f"{counted(coarse.count, 'query has', 'queries have')} scores that tie only in 32 bits, first at "
            f"{coarse.first}; trec_eval 9 and pytrec_eval order these documents by id."
        )
        yield Finding("32 bits", message, "warning")
    if own.count:
        retrieving = counted(own.count, "query retrieves", "queries retrieve")
        message = f"{retrieving} a document with their own id, e.g. {own.first}; BEIR's tools drop these."
        yield Finding("query among documents", message, "warning")


def _tied_in_32_bits(table: pl.DataFrame) -> pl.DataFrame:
    """A row of each query that has different scores which are the same in the precision of older tools."""
    import polars as pl

    finite = table.filter(pl.col("score").is_finite()).sort("query", "score", descending=[False, True])
    rough = pl.col("score").cast(pl.Float32)
    ties = (rough == rough.shift()) & (pl.col("score") != pl.col("score").shift())
    follows = pl.col("query") == pl.col("query").shift()
    return finite.filter(ties & follows).unique("query", keep="first", maintain_order=True)


def _of_all(gold: Qrels, ranked: Run) -> Iterator[Finding]:
    with hearing() as heard:  # the checks report the same as other warnings
        judged = judge(gold, ranked, nan="last")
    odd = next((warning for warning in heard if isinstance(warning, MismatchWarning)), None)
    if judged.applied.duplicates:  # also those that are far apart
        message = f"run: {_repeat(judged.applied.duplicates)}."
        yield Finding("duplicates", message, "error")
    if odd is not None:
        yield Finding("queries", str(odd), "error" if odd.is_total or odd.alike else "warning")
    if odd is not None and odd.is_total:
        return
    if judged.applied.missing:
        yield Finding(
            "missing queries",
            f"{counted(judged.applied.missing, 'judged query is', 'judged queries are')} not in the run; counted as 0.",
            "warning",
        )
    if judged.applied.ignored:
        yield Finding(
            "unjudged queries",
            f"{counted(judged.applied.ignored, 'query of the run is', 'queries of the run are')} not judged; ignored.",
            "note",
        )
    reached = {k: judged.ties.reaching(k) for k in CUTOFFS} if judged.ties else {}
    tied = [f"{k} in {counted(n, 'query')}" for k, n in reached.items() if n]
    if tied:
        yield Finding(
            "ties",
            f"Ties among judged documents cross the cutoff {', '.join(tied)}; consider --ties average.",
            "note",
        )
    lengths = judged.retrieved
    in_lists = bool(len(lengths)) and bool(((lengths == 100) | (lengths == 101)).all())
    if in_lists and (judged.total(1) == 1).all() and (judged.relevant(1).sum() == 1).all():
        yield Finding(
            "sampled",
            "Every query ranks its one relevant document among 99 or 100 others, as if these were drawn at random: values are higher than "
            "over all documents, and may order systems differently (ranklens.sampled_metric says how much).",
            "warning",
        )
    yield from _holes(judged)


def _holes(judged: Judged) -> Iterator[Finding]:
    """The share of unjudged documents among the first, over the queries that retrieved anything."""
    retrieved = judged.retrieved > 0
    if not retrieved.any():
        return
    if not len(judged.hits):
        message = "None of the retrieved documents is judged, so every value is 0. Do the document ids have the same format?"
        yield Finding("holes", message, "error")
        return
    shares = [(k, 1 - float(np.mean(judged_share(judged, k=k)[retrieved]))) for k in DEPTHS]
    holes = [f"{percent(share)} of the top {k}" for k, share in shares if share > 0]
    if holes:
        message = f"Unjudged documents: {', '.join(holes)}; they count as not relevant."
        yield Finding("holes", message, "note")
