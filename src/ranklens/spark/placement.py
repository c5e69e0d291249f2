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

    pieces = run.select("query").mapInArrow(pieces_of, "query string, rows long")
    counted = pieces.groupBy("query").agg(F.sum("rows").alias("rows"), F.count("*").alias("pieces"))
    found = collected(counted.mapInArrow(_OnlyJudged(gold), "query string, rows long, pieces long"))
    if found["query"].null_count():
        raise InputError("run: the query is missing in a row; give every row one.")
    others = found.filter(pl.col("pieces") == 0)
    return Placement(found.filter(pl.col("pieces") > 0), int(others["rows"].sum()), others["query"].min())  # type: ignore[arg-type]


def pieces_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each stretch of rows of the same query in a partition, with its length."""
    import polars as pl

    held = pl.DataFrame(schema={"query": pl.String, "rows": pl.Int64})
    for batch in batches:
        runs = pl.DataFrame(pl.from_arrow(batch))["query"].rle().struct.unnest()
        runs = runs.select(pl.col("value").alias("query"), pl.col("len").cast(pl.Int64).alias("rows"))
        # The last stretch of the batch before may continue in this one.
        if len(held) and len(runs) and held["query"][0] == runs["query"][0]:
            runs = runs.with_columns(
                rows=pl.when(pl.int_range(pl.len()) == 0)
                .then(pl.col("rows") + held["rows"][0])
                .otherwise(pl.col("rows"))
            )
        elif len(held):
            yield _batch(held)
        yield _batch(runs[:-1])
        held = runs[-1:]
    yield _batch(held)


@dataclass(frozen=True)
class _OnlyJudged:
    """Rows of judged queries as they are; of the others only how many there are and the first, as one row of no pieces."""

    gold: Packed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl

        others, first = 0, ""
        for batch in batches:
            table = pl.DataFrame(pl.from_arrow(batch))
            nameless = table.filter(table["query"].is_null())
            yield _batch(nameless)
            table = table.filter(table["query"].is_not_null())
            judged = pl.Series(self.gold.judgments.is_judged(table["query"]))
            yield _batch(table.filter(judged))
            rest = table.filter(~judged)["query"]
            if len(rest):
                others, first = others + len(rest), min(filter(None, [first, str(rest.min())]))
        if others:
            yield _batch(pl.DataFrame({"query": [first], "rows": [others], "pieces": [0]}))


def _batch(table: pl.DataFrame) -> pa.RecordBatch:
    import pyarrow as pa

    arrow = table.to_arrow(compat_level=_oldest()).combine_chunks()
    kinds = [pa.string() if name == "query" else pa.int64() for name in table.columns]
    arrays = [arrow.column(i).combine_chunks().cast(kind) for i, kind in enumerate(kinds)]
    return pa.RecordBatch.from_arrays(arrays, names=table.columns)


def _oldest() -> pl.CompatLevel:
    """Text as Spark reads it."""
    import polars as pl

    return pl.CompatLevel.oldest()
