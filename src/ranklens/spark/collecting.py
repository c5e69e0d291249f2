"""Spark DataFrames → Polars frames on the driver, with every version of PySpark and with Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame


def collected(frame: DataFrame) -> pl.DataFrame:
    """All rows, in the order of the partitions."""
    import polars as pl

    if hasattr(frame, "toArrow"):  # PySpark 4
        return pl.DataFrame(pl.from_arrow(frame.toArrow()))
    if hasattr(frame, "_collect_as_arrow"):
        import pyarrow as pa

        batches = frame._collect_as_arrow()  # noqa: SLF001  what toPandas does, without pandas
        if batches:
            return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))
    kinds = {
        "string": pl.String,
        "double": pl.Float64,
        "long": pl.Int64,
        "integer": pl.Int32,
        "boolean": pl.Boolean,
    }
    schema = {one.name: kinds[one.dataType.typeName()] for one in frame.schema.fields}
    return pl.DataFrame([row.asDict() for row in frame.collect()], schema, infer_schema_length=None)
