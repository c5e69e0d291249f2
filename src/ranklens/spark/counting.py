"""Queries with too many documents for one task: the ranks of their judged documents are counted where the rows are.

The rank of a judged document is one more than the number of rows with a higher score. Each task counts among its own rows, and
the counts are added up, so that no machine ever holds such a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.data.readers import mappings
from ranklens.data.readers.judgments import Judgments
from ranklens.errors import InputError, hearing
from ranklens.judging.assembly import assemble
from ranklens.judging.enriched import stand
from ranklens.judging.judged import Applied
from ranklens.judging.order import not_a_number, tie_key
from ranklens.judging.standing import Standings
from ranklens.spark.collecting import collected
from ranklens.spark.columns import ROW
from ranklens.spark.facts import facts_of
from ranklens.spark.gold import InDicts, Packed

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.policy import Policy
    from ranklens.spark.tasks import Judging

_LOWEST = "-1.7976931348623157E308D"


def judge_counted(run: DataFrame, judgments: InDicts, judging: Judging, tasks: int) -> DataFrame:
    """Values and facts, in the shape of those that tasks give back; ``run`` has the rows of these queries alone."""
    if isinstance(judgments, Judgments) and judgments.documents is not None:
        raise InputError(
            "Properties of documents need whole rankings, and a query of this run has too many rows for one machine; set a cutoff."
        )
    rows = _Rows.of(run.repartition(tasks, "query", "doc"), judging.policy)
    try:
        if isinstance(judgments, Judgments):
            standings, details = stand(judgments, judging.policy, rows.rank)
        else:
            standings, details = rows.rank(judgments), None
    finally:
        rows.frame.unpersist()
    # Whether missing queries are an error is decided on the driver, about all queries together.
    missing = "zero" if judging.policy.missing == "error" else judging.policy.missing
    with hearing():
        judged = assemble(standings, replace(judging.policy, missing=missing), details=details)
    judged = replace(judged, max_grade=judging.max_grade)
    values = {str(measure): measure(judged) for measure in judging.measures}
    first: dict[str, object] = {"repeated in run": rows.first_repeated} if rows.first_repeated else {}
    if standings.applied.duplicate_judgments and not isinstance(judgments, Judgments):
        first["repeated in qrels"] = mappings.judgments(judgments).first_duplicate
    facts = facts_of(judged, judging.measures, values, first)
    facts.applied = replace(facts.applied, duplicates=rows.repeated, ignored=0)
    facts.counts["judged queries"] = len(judgments)
    columns = [values[str(measure)].tolist() for measure in judging.measures]
    table: list[tuple[object, ...]] = [(*row, None) for row in zip(judged.queries, *columns, strict=True)]
    table.append((None, *[None] * len(columns), facts.to_json()))
    return run.sparkSession.createDataFrame(table, judging.schema)


@dataclass(frozen=True)
class _Rows:
    """Each document of each query once, at its best place: ``query, doc, score`` with NaN below everything, and perhaps ``row``."""

    frame: DataFrame
    policy: Policy
    repeated: int
    first_repeated: mappings.Place | None

    @classmethod
    def of(cls, run: DataFrame, policy: Policy) -> _Rows:
        from pyspark.sql import functions as F  # noqa: N812

        score = F.expr(
            f"case when score is null or isnan(score) then double('-Infinity') else greatest(score, {_LOWEST}) end"
        )
        order = -F.col(ROW) if ROW in run.columns else F.lit(0).cast("long")
        best = F.max(F.struct(score.alias("score"), order.alias("order"))).alias("best")
        each = run.groupBy("query", "doc").agg(best, F.count("*").alias("n"))
        frame = each.selectExpr("query", "doc", "best.score as score", f"-best.order as {ROW}", "n").persist()
        try:
            return cls(frame, policy, *_checked(frame, policy))
        except BaseException:
            frame.unpersist()
            raise

    def rank(self, judgments: InDicts) -> Standings:
        """The places of the judged documents, as :mod:`ranklens.judging` gives them for rows on one machine."""
        import polars as pl

        dicts = mappings.judgments(judgments)
        gold = {
            str(query): {str(doc): float(grade) for doc, grade in docs.items()}
            for query, docs in dicts.by_query.items()
        }
        queries = list(gold)
        place = {query: i for i, query in enumerate(queries)}
        table = pl.DataFrame(
            [(query, doc, grade) for query, docs in gold.items() for doc, grade in docs.items()],
            schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64},
            orient="row",
        )
        hits = collected(self.frame.mapInArrow(_OnlyJudged(Packed.of(table)), _HIT))
        counted = collected(
            self.frame.mapInArrow(
                _Count(Packed.of(hits), self.policy), "hit long, above long, same long, before long"
            )
        )
        sums = counted.group_by("hit").sum().sort("hit")
        totals = np.zeros((3, len(hits)), np.int64)
        totals[:, sums["hit"].to_numpy()] = sums.select("above", "same", "before").to_numpy().T
        above, same, before = totals
        lengths = {row["query"]: row["count"] for row in self.frame.groupBy("query").count().collect()}
        query = np.array([place[name] for name in hits["query"].to_list()], np.int64)
        order = np.argsort(query, kind="stable")
        start = above + 1
        rank = start if self.policy.ties == "average" else start + before
        retrieved = np.array([lengths.get(name, 0) for name in queries], np.int64)
        return Standings(
            queries=queries,
            retrieved=retrieved,
            in_run=retrieved > 0,
            judged=np.array([len(docs) for docs in gold.values()], np.int64),
            gold=table["grade"].to_numpy(),
            query=query[order],
            rank=rank[order],
            grade=hits["grade"].to_numpy()[order],
            start=start[order],
            size=same[order],
            applied=Applied(duplicate_judgments=dicts.duplicates),
        )


def _checked(frame: DataFrame, policy: Policy) -> tuple[int, mappings.Place | None]:
    """How many documents are repeated, and the first of them; rows that cannot be ranked are refused."""
    from pyspark.sql import functions as F  # noqa: N812

    odd = frame.agg(
        F.sum(F.col("n") - 1).alias("repeated"),
        F.min(F.when(F.col("n") > 1, F.struct("query", "doc"))).alias("first"),
        F.min(F.when(F.col("score") == float("-inf"), F.struct("query", "doc"))).alias("nan"),
        F.sum(F.col("doc").isNull().cast("int")).alias("nameless"),
    ).collect()[0]
    if odd["nameless"]:
        raise InputError("run: the doc is missing.")
    if odd["nan"] is not None and policy.nan == "error":
        raise not_a_number("run", "score", odd["nan"]["query"], odd["nan"]["doc"], float("nan"))
    first = None if odd["first"] is None else mappings.Place(odd["first"]["doc"], odd["first"]["query"])
    return int(odd["repeated"] or 0), first


_HIT = f"query string, doc string, score double, {ROW} long, grade double"


@dataclass(frozen=True)
class _OnlyJudged:
    """The rows of judged documents, with their grades."""

    gold: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl
        import pyarrow as pa

        kinds = [pa.string(), pa.string(), pa.float64(), pa.int64(), pa.float64()]
        for batch in batches:
            rows = pl.DataFrame(pl.from_arrow(batch)).select("query", "doc", "score", ROW)
            judged = rows.join(self.gold.table, on=["query", "doc"], how="inner")
            arrays = [pa.array(one.to_list(), kind) for one, kind in zip(judged, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=judged.columns)


@dataclass(frozen=True)
class _Count:
    """For each hit: how many rows of its query are higher, the same, and of these before it, in this task."""

    hits: Packed
    policy: Policy

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl
        import pyarrow as pa

        hits = self.hits.table.with_row_index("hit")
        by_query = {
            str(name[0]): _Hits.of(part, self.policy)
            for name, part in hits.partition_by("query", as_dict=True).items()
        }
        for batch in batches:
            parts = pl.DataFrame(pl.from_arrow(batch)).partition_by("query", as_dict=True)
            for (name,), rows in parts.items():
                if str(name) in by_query:
                    by_query[str(name)].count(rows)
        for one in by_query.values():
            arrays = [pa.array(numbers, pa.int64()) for numbers in one.totals()]
            yield pa.RecordBatch.from_arrays(arrays, names=["hit", "above", "same", "before"])


@dataclass
class _Hits:
    """The hits of one query, by score, and what was counted around them."""

    hits: pl.DataFrame
    levels: FloatArray  # different scores, ascending
    level: IntArray  # of each hit
    policy: Policy
    higher: IntArray  # rows by the number of levels that they are above
    same: IntArray  # rows by level
    before: IntArray  # by hit

    @classmethod
    def of(cls, hits: pl.DataFrame, policy: Policy) -> _Hits:
        levels, level = np.unique(hits["score"].to_numpy(), return_inverse=True)
        zeros = [np.zeros(n, np.int64) for n in (len(levels) + 1, len(levels), len(hits))]
        return cls(hits, levels, level, policy, *zeros)

    def count(self, rows: pl.DataFrame) -> None:
        scores = rows["score"].to_numpy()
        passed = np.searchsorted(self.levels, scores, side="left")
        self.higher += np.bincount(passed, minlength=len(self.higher))
        equal = np.flatnonzero(self.levels[np.minimum(passed, len(self.levels) - 1)] == scores)
        self.same += np.bincount(passed[equal], minlength=len(self.same))
        if self.policy.ties != "average":
            self._count_ties(rows[equal], passed[equal])

    def _count_ties(self, rows: pl.DataFrame, level: IntArray) -> None:
        """How many rows with the same score come before each hit."""
        by, descending = tie_key(self.policy.ties)
        keys, wanted = _sortable(rows[by]), _sortable(self.hits[by])
        for one in np.unique(level).tolist():
            members = np.flatnonzero(self.level == one)
            ordered = members[np.argsort(wanted[members])]
            # Of the ordered hits, this many are below each row; the row comes before those if ids descend, and before the others if not.
            below = np.bincount(
                np.searchsorted(wanted[ordered], keys[level == one], side="left" if descending else "right"),
                minlength=len(ordered) + 1,
            )
            after = below[::-1].cumsum()[::-1][1:] if descending else below.cumsum()[:-1]
            self.before[ordered] += after

    def totals(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        above = self.higher[::-1].cumsum()[::-1][1:]  # rows that are above more levels than this one's place
        numbers = self.hits["hit"].to_numpy().astype(np.int64)
        return numbers, above[self.level], self.same[self.level], self.before


def _sortable(keys: pl.Series) -> npt.NDArray[np.int64 | np.str_]:
    """Text in the order of its code points, which is that of its bytes; or rows as they stood."""
    import polars as pl

    return keys.to_numpy().astype(str) if keys.dtype == pl.String else keys.to_numpy()
