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


def tasks_for(rows: int) -> int:
    """Into how many partitions so many rows are shuffled.

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
    found = collected(each.mapInArrow(_OnlyJudged(gold), "query string, rows long, together boolean"))
    if found["query"].null_count():
        raise InputError("run: the query is missing in a row; give every row one.")
    others = found.filter(pl.col("together").is_null())
    judged = found.filter(pl.col("together").is_not_null())
    return Placement(judged, int(others["rows"].sum()), others["query"].min())  # type: ignore[arg-type]


@dataclass(frozen=True)
class _OnlyJudged:
    """Rows of judged queries as they are; those of the others as one per batch, with the first of them and their number."""

    gold: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (self._only(batch) for batch in batches if batch.num_rows)
        settle()

    def _only(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import polars as pl
        import pyarrow as pa

        rows = pl.DataFrame(pl.from_arrow(batch))
        has_name = rows["query"].is_not_null()
        judged = pl.Series(self.gold.judgments.is_judged(rows["query"].fill_null(""))) & has_name
        others = rows["query"].filter(~judged)
        if len(others):
            # Rows without a query must be told, since they are refused.
            first = others.min() if has_name.all() else None
            told = pl.DataFrame({"query": [first], "rows": [len(others)], "together": [None]}, rows.schema)
            rows = pl.concat([rows.filter(judged), told])
        arrays = [pa.array(rows[one.name].to_list(), one.type) for one in batch.schema]
        return pa.RecordBatch.from_arrays(arrays, names=rows.columns)
