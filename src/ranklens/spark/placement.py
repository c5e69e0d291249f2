"""Where the rows of each query are: all together in one partition, spread over several, or far too many for one task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.spark.collecting import collected
from ranklens.spark.gold import Packed

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
    """Judged queries of a run: ``query``, how many ``rows`` it has, and in how many ``pieces`` they come."""

    judged: pl.DataFrame
    unjudged: int
    first_unjudged: str | None


def placement(run: DataFrame, gold: Packed) -> Placement:
    """One walk over the column of queries; what is shuffled is one row per query and piece."""
    import polars as pl
    from pyspark.sql import functions as F  # noqa: N812

    pieces = run.select("query").mapInArrow(_Pieces(gold), "query string, rows long, judged boolean")
    each = pieces.groupBy("query", "judged").agg(F.sum("rows").alias("rows"), F.count("*").alias("pieces"))
    # Of queries that nobody judged only their number matters, and the first, so that they become one row.
    name = F.when(F.col("judged"), F.col("query")).alias("judged_query")
    found = collected(
        each.groupBy(name).agg(
            F.sum("rows").alias("rows"),
            F.sum("pieces").alias("pieces"),
            F.count("query").alias("queries"),
            F.count("*").alias("with_nameless"),
            F.min("query").alias("first"),
        )
    )
    if (found["queries"] < found["with_nameless"]).any():
        raise InputError("run: the query is missing in a row; give every row one.")
    is_judged = pl.col("judged_query").is_not_null()
    others = found.filter(~is_judged)
    judged = found.filter(is_judged).select(pl.col("judged_query").alias("query"), "rows", "pieces")
    return Placement(judged, int(others["queries"].sum()), others["first"].min())  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Pieces:
    """A row for each stretch of rows of the same query in a partition: its length, and whether the query is judged."""

    gold: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl

        held = pl.DataFrame(schema={"query": pl.String, "rows": pl.Int64})
        for batch in batches:
            runs = pl.DataFrame(pl.from_arrow(batch))["query"].rle().struct.unnest()
            runs = runs.select(query="value", rows=pl.col("len").cast(pl.Int64))
            # The last stretch of the batch before may continue in this one.
            if len(held) and len(runs) and held["query"].eq_missing(runs["query"][:1])[0]:
                longer = runs[:1].with_columns(pl.col("rows") + held["rows"][0])
                runs = pl.concat([longer, runs[1:]])
            else:
                runs = pl.concat([held, runs])
            yield self._batch(runs[:-1])
            held = runs[-1:]
        yield self._batch(held)

    def _batch(self, pieces: pl.DataFrame) -> pa.RecordBatch:
        import polars as pl
        import pyarrow as pa

        named = pieces["query"].fill_null("")
        judged = pl.Series(self.gold.judgments.is_judged(named)) & pieces["query"].is_not_null()
        columns = [pieces["query"].to_list(), pieces["rows"].to_numpy(), judged.to_numpy()]
        kinds = [pa.string(), pa.int64(), pa.bool_()]
        arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=["query", "rows", "judged"])
