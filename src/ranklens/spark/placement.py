"""Where the rows of each query are: all together in one partition, spread over several, or far too many for one task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.spark.collecting import collected
from ranklens.spark.gold import Packed
from ranklens.spark.workers import settle

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS_OF_A_TASK = 1 << 20
_QUERIES = 1 << 20  # that come to the driver, judged or not; of more, only the judged ones do


def tasks_for(rows: int) -> int:
    """The number of partitions that the rows are shuffled into.

    Spark makes 200 of whatever is kept in memory, however little it is, and each costs a fraction of a second in Python.
    """
    return rows // _ROWS_OF_A_TASK + 1


@dataclass(frozen=True)
class Placement:
    """Judged queries of a run: ``query``, how many ``rows`` it has, and whether these are ``together``: next to each other in one partition."""

    judged: pl.DataFrame
    unjudged: int
    first_unjudged: str | None


def placement(run: DataFrame, gold: Packed) -> Placement:
    """One walk over the column of queries, without Python; what is shuffled is one row per query and partition."""
    import polars as pl
    from pyspark.sql import functions as F  # noqa: N812

    # Spark numbers the rows of a partition one after the other, and leaves a gap between partitions.
    numbered = run.select("query", F.monotonically_increasing_id().alias("at"))
    each = numbered.groupBy("query").agg(
        F.count("*").alias("rows"), (F.max("at") - F.min("at") + 1 == F.count("*")).alias("together")
    )
    only_judged = _OnlyJudged(gold)
    table = collected(each.limit(_QUERIES + 1))
    if len(table) > _QUERIES:  # of which most are not judged
        table = collected(each.mapInArrow(only_judged, "query string, rows long, together boolean"))
    else:
        table = only_judged.of(table)
    if table["query"].null_count():
        raise InputError("run: the query is missing in a row; give every row one.")
    others = table.filter(pl.col("together").is_null())
    judged = table.filter(pl.col("together").is_not_null())
    return Placement(judged, int(others["rows"].sum()), others["query"].min())  # type: ignore[arg-type]


@dataclass(frozen=True)
class _OnlyJudged:
    """Judged queries as they are; of the others one row per table, with the first of them and their number."""

    gold: Packed

    def of(self, each: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        has_name = each["query"].is_not_null()
        judged = pl.Series(self.gold.judgments.is_judged(each["query"].fill_null(""))) & has_name
        others = each["query"].filter(~judged)
        if not len(others):
            return each
        # None if a row lacks its query, so that it is refused.
        first = others.min() if has_name.all() else None
        summary = pl.DataFrame({"query": [first], "rows": [len(others)], "together": [None]}, each.schema)
        return pl.concat([each.filter(judged), summary])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl
        import pyarrow as pa

        for batch in batches:
            table = self.of(pl.DataFrame(pl.from_arrow(batch)))
            arrays = [pa.array(table[one.name].to_list(), one.type) for one in batch.schema]
            yield pa.RecordBatch.from_arrays(arrays, names=table.columns)
        settle()
