"""Two files and the flags of trec_eval → the lines that it prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ranklens.data.files import trec
from ranklens.data.files.sources import Source, open_source
from ranklens.data.files.streams import TableStream
from ranklens.errors import InputError, hearing, warn
from ranklens.exchange.trec import groups
from ranklens.exchange.trec.lines import Column, added, geometric_mean, lines, read_zscores
from ranklens.exchange.trec.measures import (
    GROUP_MEASURES,
    Printed,
    chosen,
    printed_lines,
    requested,
    with_any,
)
from ranklens.judging.assembly import judge
from ranklens.judging.judged import Judged
from ranklens.judging.order import Repeated
from ranklens.metrics.instances import parameters
from ranklens.policy import Duplicates, Policy
from ranklens.words import in_one_line

if TYPE_CHECKING:
    import polars as pl

_DEFAULTS = {"prefs": "prefs", "qrels_prefs": "prefs", "qrels_jg": "qrels_jg"}
_PHANTOM = "ceci_nest_pas_un_docno"  # what trec_eval 10 retrieves for a query that the run lacks


@dataclass
class Options:
    """The flags of the command."""

    by_query: bool = False
    complete: bool = False
    summary: bool = True
    judged_only: bool = False
    level: int = 1
    depth: int | None = None
    documents: int = 0
    measures: list[str] = field(default_factory=list)
    zscores: str | None = None
    version: int = 10
    format: str = "qrels"
    debug: int = 0
    query: str | None = None  # the only one to evaluate

    @property
    def policy(self) -> Policy:
        """What the flags come to."""
        duplicates: Duplicates = "error" if self.depth is None else "first"
        policy = Policy(missing="skip", duplicates=duplicates, depth=self.depth or None, rel=self.level or 1)
        return replace(policy, judged_only=self.judged_only)

    @property
    def manner(self) -> trec.Manner:
        """How files are read: version 9 knows no comments."""
        return trec.Manner(comments=self.version == 10, as_c=True)


class NothingInCommonError(InputError):
    """Judgments and run share no query."""


def evaluate_files(qrels: str, run: str, options: Options) -> Iterator[str]:
    """The lines that trec_eval prints for two files."""
    zscores = read_zscores(options.zscores) if options.zscores else None
    source = open_source(run)
    evaluate = _by_grades if options.format == "qrels" else _by_groups
    printout = evaluate(open_source(qrels), source, options)
    if not printout.queries:
        raise NothingInCommonError("No queries with both results and relevance info")
    yield from lines(
        printout.queries,
        printout.columns,
        count=printout.count,
        runid=trec.last_fields(source, 6)[5] if printout.runid else None,
        by_query=options.by_query,
        summary=options.summary,
        zscores=zscores,
    )


@dataclass(frozen=True)
class _Printout:
    """What there is to print: queries in trec_eval's order, their values, and how many queries are averaged over."""

    queries: list[str]
    columns: list[Column]
    count: int
    runid: bool


def _by_grades(qrels: Source, run: Source, options: Options) -> _Printout:
    """The measures over grades."""
    import polars as pl

    runid, wanted = chosen(options.measures or ["official"], options.version)
    fields = {"query": False, "doc": False, "grade": True}
    gold = trec.read_fields(qrels, trec.TREC_QRELS, fields, options.manner)
    grade = pl.col("grade")  # 1.7 is 1, as in C
    gold = gold.with_columns(pl.when(grade < 0).then(grade.ceil()).otherwise(grade.floor()))
    if options.query is not None:
        gold = gold.filter(pl.col("query") == options.query)
    judged, missing = _judge(gold, run, options)
    if options.debug:
        hits = zip(judged.hits.query.tolist(), judged.hits.rank, judged.hits.grade, strict=True)
        places: dict[int, list[str]] = {}
        for i, rank, grade in hits:
            places.setdefault(i, []).append(f"{rank}:{grade:g}")
        for i, (query, retrieved) in enumerate(zip(judged.queries, judged.retrieved, strict=True)):
            shown = f"{retrieved} retrieved; rank:grade {' '.join(places.get(i, []))}"
            sys.stderr.write(f"query {in_one_line(query)}: {shown}\n")
    order = sorted(range(len(judged)), key=lambda i: judged.queries[i].encode())
    # With -c all judged queries count, also those that the run lacks.
    count = gold["query"].n_unique() if options.complete else len(judged)
    totals: dict[str, Callable[[Sequence[float]], float]] = {"num_q": lambda _: count}
    if options.complete:  # all documents above grade 0, whatever -l says
        totals["num_rel"] = lambda _: int((gold["grade"] >= 1).sum())
    geometric = partial(
        geometric_mean, missing=len(missing) if options.complete and options.version == 9 else 0
    )
    columns = []
    for line in wanted:
        values = _values(judged, line, missing, options)
        is_geometric = line.measure.definition.aggregate == "geometric"
        total = totals.get(line.name, geometric if is_geometric else added if line.whole else None)
        in_order = [values[i] for i in order]
        columns.append(Column(line.name, in_order, line.whole, line.by_query, line.summary, total))
    return _Printout([judged.queries[i] for i in order], columns, count, runid)


def _judge(gold: pl.DataFrame, run: Source, options: Options) -> tuple[Judged, set[str]]:
    """What was retrieved; and the judged queries that the run lacks.

    With ``-c``, version 10 evaluates these too, as if one unjudged document had been retrieved.
    """
    with_missing = options.complete and options.version == 10
    policy = replace(options.policy, missing="zero" if with_missing else "skip", judged_only=False)
    with hearing() as heard:
        judged = judge(gold, _stream(run, options), policy)
    for warning in heard:
        if not isinstance(warning, Repeated):
            warn(warning)
    if judged.applied.duplicates:
        _looked_at(_rows(run, gold["query"], options), options)
    absent = judged.retrieved == 0
    missing = {*gold["query"].unique()}.difference(np.array(judged.queries, object)[~absent].tolist())
    judged = replace(judged, retrieved=np.where(absent, 1, judged.retrieved), _cache={})
    if options.depth == 0:
        judged = replace(judged, hits=judged.hits.top(0), retrieved=judged.retrieved * 0, _cache={})
    return (judged.condensed() if options.judged_only else judged), missing


def _looked_at(rows: pl.DataFrame, options: Options, *, ascending: bool = False) -> pl.DataFrame:
    """The first ``-M`` documents of each query, which must differ: trec_eval looks no further. Equal scores are ordered by id."""
    import polars as pl

    ranked = rows.sort(["query", "score", "doc"], descending=[False, True, not ascending])
    if options.depth is not None:
        ranked = ranked.group_by("query", maintain_order=True).head(options.depth)
    twice = ranked.filter(pl.struct("query", "doc").is_duplicated())
    if len(twice):
        raise InputError(
            f"run: document {twice['doc'][0]!r} of query {twice['query'][0]!r} appears twice. Remove one."
        )
    return ranked


def _rows(run: Source, queries: Iterable[str], options: Options) -> pl.DataFrame:
    """The lines of the run about these queries."""
    import polars as pl

    return pl.concat(list(_stream(run, options))).filter(pl.col("query").is_in({*queries}))


def _stream(run: Source, options: Options) -> TableStream:
    wanted = {"query": False, "doc": False, "score": True}
    stream = trec.stream_fields(run, trec.TREC_RUN, wanted, manner=options.manner)
    if options.version == 10:
        return stream
    import polars as pl

    return stream.then(
        lambda table: table.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64))  # as a C float
    )


def _by_groups(qrels: Source, run: Source, options: Options) -> _Printout:
    """The measures over judgment groups and preferences."""
    names_of_all = [*(GROUP_MEASURES if options.format == "qrels_jg" else groups.PREFERENCES)]
    nicknames = {n: m for n, m in groups.NICKNAMES.items() if {*m} <= {"runid", "num_q", *names_of_all}}
    wanted = requested(options.measures or [_DEFAULTS[options.format]], nicknames, ["num_q", *names_of_all])
    judgments = groups.read_judgments(qrels, options.format, options.manner)
    if options.query is not None:
        judgments = [j for j in judgments if j.query == options.query]
    queries = {j.query for j in judgments}
    # {query: {document: score}} for judged queries, down to -M.
    rows = _looked_at(_rows(run, queries, options), options, ascending=options.format != "qrels_jg")
    rankings: dict[str, dict[str, float]] = {query: {} for query in rows["query"].unique()}
    for query, doc, score in rows.iter_rows():
        rankings[query][doc] = score
    if options.complete and options.version == 10:
        rankings |= {query: {_PHANTOM: 1.0} for query in queries.difference(rankings)}
    names = [name for name in names_of_all if name in wanted]
    if options.format == "qrels_jg":
        lines = [line for name in names for line in printed_lines(GROUP_MEASURES[name], wanted[name])]
        by_query = groups.average_over_groups(judgments, rankings, options.policy, lines)
        names = [line.name for line in lines]
    else:
        if options.version == 9:
            judgments = [j._replace(level=float(np.float32(j.level))) for j in judgments]
        by_query = groups.preferences(judgments, rankings)
    order = sorted(by_query, key=str.encode)
    count = len(queries) if options.complete else len(order)
    columns = []
    for name in names:
        whole = name.startswith("prefs_num_")
        values = [by_query[query][name] for query in order]
        columns.append(Column(name, values, whole, total=added if whole else None))
    if "num_q" in wanted:
        counted = Column("num_q", [1.0] * len(order), True, by_query=False, total=lambda _: count)
        columns.insert(0, counted)
    return _Printout(order, columns, count, "runid" in wanted)


def _values(judged: Judged, line: Printed, missing: set[str], options: Options) -> list[float | str]:
    measure = line.measure
    accepts = measure.definition.parameters
    if options.level != 1 and "rel" in accepts:
        measure = with_any(measure, rel=options.level)
    if options.version == 9 and "rounding" in accepts:
        measure = with_any(measure, rounding="trec9")
    if options.documents and line.name.startswith("utility"):
        measure = with_any(measure, docs=options.documents)
    values: list[float | str] = list(measure(judged))
    if (options.judged_only or options.depth == 0) and (line.level is not None or measure.name == "AP11"):
        # Where -J leaves nothing retrieved, trec_eval divides 0 by 0 at recall levels that need no document.
        lowest = min(parameters(measure)["levels"] or (0.0,)) if line.level is None else line.level
        needed = np.floor(lowest * judged.total(options.level) + (0.9 if options.version == 9 else 0.5))
        for i in np.flatnonzero((judged.retrieved == 0) & (needed == 0)).tolist():
            values[i] = -np.nan
    # trec_eval 10 takes these back for queries that the run lacks, by name: "utility" but not "utility_2,-1,0,0".
    if line.name in ("num_ret", "utility", "relstring", "rbp_resid") or line.name.startswith("unj"):
        for i, query in enumerate(judged.queries):
            if query in missing:
                values[i] = "" if line.name == "relstring" else 0.0
    return values
