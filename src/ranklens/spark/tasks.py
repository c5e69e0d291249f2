"""What runs on the executors: Arrow batches of rows in, one value per query and measure out.

A task takes rows until it has some hundred thousand of whole queries, judges them together, and forgets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.data.readers import frames, judgment_tables
from ranklens.errors import InputError, RankLensError, hearing
from ranklens.judging.assembly import judge
from ranklens.judging.judged import Applied
from ranklens.judging.order import Repeated
from ranklens.metrics import Measure
from ranklens.policy import Policy
from ranklens.spark.facts import Facts, facts_of
from ranklens.spark.workers import settle

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from ranklens.arrays import BoolArray, IntArray
    from ranklens.data.matching.rules import Matching
    from ranklens.spark.gold import Packed, TableOrDicts

_ROWS = 1 << 18  # judged together
CHANGING = "the DataFrame gives other rows each time it is computed. Cache it first: run = run.cache()."
SPREAD = -1  # instead of a number of rows: they are in several places
_RUN, _GOLD = 1, 0  # kinds of rows that stand next to each other
ROWS_TOGETHER = "query string, kind int, doc string, number double, subtopic string"


@dataclass(frozen=True)
class Judging:
    """How rows become values; the same for all tasks."""

    measures: tuple[Measure, ...]
    policy: Policy
    max_grade: float
    match: Matching | None = None

    @property
    def schema(self) -> str:
        """Of what tasks give back: one row per query, and rows without a query that hold facts."""
        return f"{self.columns}, facts string"

    @property
    def columns(self) -> str:
        """Of values by query."""
        kinds = ["string" if m.definition.aggregate == "none" else "double" for m in self.measures]
        return ", ".join(["query string", *(f"m{i} {kind}" for i, kind in enumerate(kinds))])

    def values(
        self, gold: TableOrDicts, run: TableOrDicts, first: Mapping[str, str], queries: int
    ) -> Iterator[pa.RecordBatch]:
        """The judged queries whose judgments and rows are all here; ``first`` has examples for messages."""
        # What concerns all queries together is decided on the driver.
        missing = "zero" if self.policy.missing == "error" else self.policy.missing
        policy = replace(self.policy, missing=missing, unjudged_queries="ignore")
        with hearing() as heard:
            judged = judge(gold, run, policy, match=self.match)
        judged = replace(judged, max_grade=self.max_grade)
        values = {str(measure): measure(judged) for measure in self.measures}
        repeated = {f"repeated in {one.what}": one.first for one in heard if isinstance(one, Repeated)}
        facts = facts_of(judged, self.measures, values, {**first, **repeated})
        facts.applied = replace(facts.applied, ignored=0, mismatch="", alike=0)  # known apart
        facts.counts["judged queries"] = queries
        yield self._batch(list(judged.queries), [values[str(measure)] for measure in self.measures], None)
        yield self.of_facts(facts)

    def nothing(self) -> pa.RecordBatch:
        """No rows, which tell the kinds of the columns."""
        return self._batch([], [[]] * len(self.measures), None)

    def of_facts(self, facts: Facts) -> pa.RecordBatch:
        return self._batch([None], [[None]] * len(self.measures), facts.to_json())

    def _batch(
        self, queries: Sequence[str | None], columns: Sequence[object], facts: str | None
    ) -> pa.RecordBatch:
        import pyarrow as pa

        kinds = [pa.string() if m.definition.aggregate == "none" else pa.float64() for m in self.measures]
        arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
        names = ["query", *(f"m{i}" for i in range(len(kinds))), "facts"]
        texts = pa.array([facts] * len(queries), pa.string())
        return pa.RecordBatch.from_arrays([pa.array(queries, pa.string()), *arrays, texts], names=names)


@dataclass(frozen=True)
class JudgeRows:
    """Rows ``query, doc, score`` that stand query by query, with judgments that travel along.

    ``expected`` says how many ``rows`` each judged query has, in the order of the judgments, where queries are judged in place. One
    that has more or fewer is an error, since a task that is repeated must see what the first one saw. Rows of queries with 0 are
    passed over, and those of :data:`SPREAD` ones are handed to the driver.
    """

    judging: Judging
    gold: Packed
    expected: Packed | None = None
    has_lists: bool = False  # so that a row without a document stands for an empty list

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _safely(self.judging, self._judged(batches))

    def _judged(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _whole_queries(map(self._of_wanted_queries, batches)):
            runs = rows["query"].rle().struct.unnest()
            expected = self._rows_of(runs["value"])
            whole = expected != SPREAD
            if self.expected is not None:
                check_counts(runs.filter(whole), expected[whole])
            if not whole.all():
                yield self.judging.of_facts(Facts.of_rows(_of_runs(rows, runs, ~whole)))
            if whole.any():
                yield from self._chunk(_of_runs(rows, runs, whole), runs["value"].filter(whole))

    def _of_wanted_queries(self, batch: pa.RecordBatch) -> pl.DataFrame:
        """Only these are kept: an unjudged query may be of any length."""
        rows = _table(batch)
        runs = rows["query"].rle().struct.unnest()
        return _of_runs(rows, runs, self._rows_of(runs["value"]) != 0)

    def _rows_of(self, queries: pl.Series) -> IntArray:
        """How many each should have, 0 for those to pass over."""
        codes = self.gold.judgments.codes(queries)
        if self.expected is None:
            return codes + 1
        return np.where(codes >= 0, self.expected.table["rows"].to_numpy()[codes], 0)

    def _chunk(self, rows: pl.DataFrame, queries: pl.Series) -> Iterator[pa.RecordBatch]:
        gold, judged = self.gold.judgments.some(queries)
        if not judged:  # which the driver knows about
            return
        if isinstance(gold, Mapping):
            documents = [str(doc) for docs in list(gold.values())[:1] for doc in list(docs)[:1]]
        else:
            documents = gold["doc"][:1].to_list()
        first = {
            **_first("retrieved document", rows["doc"][:1].drop_nulls().to_list()),
            **_first("judged document", documents),
        }
        run = rows.select("query", "doc", "score")
        yield from self.judging.values(
            gold, empty_lists_apart(run) if self.has_lists else run, first, len(judged)
        )


@dataclass(frozen=True)
class JudgeAbsent:
    """Judged queries that the run lacks, by their number among all judged queries."""

    judging: Judging
    gold: Packed
    absent: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _safely(self.judging, self._judged(batches))

    def _judged(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gold, names = self.gold.judgments, self.absent.table["query"]
        for batch in batches:
            queries = names[batch.column(0).to_numpy()]
            if not len(queries):
                continue
            some, judged = gold.some(queries)
            yield from self.judging.values(some, {}, _first("missing query", queries.to_list()), len(judged))


@dataclass(frozen=True)
class JudgeTogether:
    """Rows of judgments and run next to each other, sorted by query; :data:`ROWS_TOGETHER` are the columns."""

    judging: Judging
    has_lists: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _safely(self.judging, self._judged(batches))

    def _judged(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _whole_queries(map(_table, batches)):
            yield from self._chunk(rows)

    def _chunk(self, rows: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        gold_rows, run_rows = (rows.filter(rows["kind"] == kind) for kind in (_GOLD, _RUN))
        judged, retrieved = (part["query"].unique(maintain_order=True) for part in (gold_rows, run_rows))
        unjudged = retrieved.filter(~retrieved.is_in(judged.implode())).to_list()
        missing = judged.filter(~judged.is_in(retrieved.implode())).to_list()
        first = {
            **_first("unjudged query", unjudged),
            **_first("missing query", missing),
            **_first("retrieved document", run_rows["doc"][:1].drop_nulls().to_list()),
            **_first("judged document", gold_rows["doc"][:1].drop_nulls().to_list()),
        }
        yield self.judging.of_facts(Facts(first=first, applied=Applied(ignored=len(unjudged))))
        if len(judged):
            table = gold_rows.select("query", "doc", grade="number")
            has_subtopics = gold_rows["subtopic"].null_count() < len(gold_rows)
            gold: TableOrDicts = table
            if has_subtopics:
                gold = judgment_tables.of_table(table.with_columns(subtopic=gold_rows["subtopic"]))
            run: TableOrDicts = run_rows.select("query", "doc", score="number")
            if self.has_lists:
                gold, run = (
                    one if isinstance(one, Mapping) else empty_lists_apart(one) for one in (gold, run)
                )
            yield from self.judging.values(gold, run, first, len(judged))


def _of_runs(rows: pl.DataFrame, runs: pl.DataFrame, wanted: BoolArray) -> pl.DataFrame:
    """The rows of some stretches; not copied where these are all of them."""
    import polars as pl

    return rows if wanted.all() else rows.filter(pl.Series(np.repeat(wanted, runs["len"].to_numpy())))


def empty_lists_apart(table: pl.DataFrame) -> TableOrDicts:
    """Rows ``query, doc, number``; as dicts where a row without a document says that its query has none."""
    is_empty = table["doc"].is_null() & table.to_series(2).is_null()
    if not is_empty.any():
        return table
    lists = frames.by_query(table.filter(~is_empty))
    return {query: lists.get(query, []) for query in dict.fromkeys(table["query"].to_list())}


def _safely(judging: Judging, results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A mistake in the data ends the task with a fact, since an exception would be tried again and come as a traceback."""
    try:
        yield from results
    except RankLensError as error:
        if isinstance(error, frames.RowError):  # whose number is one of these rows only
            error = InputError(f"{str(error).partition(':')[0]}: {error.message}")
        yield judging.of_facts(Facts.of_error(error))
    settle()


def _table(batch: pa.RecordBatch) -> pl.DataFrame:
    import polars as pl

    table = pl.DataFrame(pl.from_arrow(batch))
    if table["query"].null_count():
        raise InputError("The query is missing in a row; give every row one.")
    return table


def _whole_queries(tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Rows of some queries at a time; the last query of a table waits, since it may continue in the next."""
    import polars as pl

    held: list[pl.DataFrame] = []
    size, enough = 0, _ROWS
    for table in tables:
        held.append(table)
        size += len(table)
        if size < enough:
            continue
        rows = pl.concat(held, rechunk=True)
        others = (rows["query"] != rows["query"][-1]).arg_true()
        cut = int(others[-1]) + 1 if len(others) else 0
        if cut:
            yield rows[:cut]
        held, size = [rows[cut:]], len(rows) - cut
        enough = max(_ROWS, 2 * size)  # a query that is longer is not copied again for every batch
    if size:
        yield pl.concat(held, rechunk=True)


def check_counts(runs: pl.DataFrame, expected: IntArray) -> None:
    """Whether the stretches, of which ``value`` is the query and ``len`` the length, are as long as they should be."""
    odd = np.flatnonzero(runs["len"].to_numpy() != expected)
    if len(odd):
        query, rows = runs.select("value", "len").row(int(odd[0]))
        raise InputError(
            f"run: query {query!r} has {rows:,} rows now, and had {expected[odd[0]]:,} when they were counted: {CHANGING}",
            query=query,
        )


def _first(key: str, names: Iterable[str]) -> dict[str, str]:
    first = min(names, default=None)
    return {} if first is None else {key: first}
