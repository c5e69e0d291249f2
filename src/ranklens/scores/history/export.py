"""The history as a tidy table: every column a variable, every row one observation, for DuckDB, Polars, pandas and Spark."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ranklens.stats import inputs

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from ranklens.scores.history.entries import Entry
    from ranklens.scores.history.store import History

ROWS = ("queries", "entries")


def frame(history: History, rows: str = "queries") -> pl.DataFrame:
    """One row per entry, measure and query (``value``), or per entry and measure (``mean``, ``low``, ``high``)."""
    import polars as pl

    inputs.choice(rows, "rows", ROWS)
    parts = [_of(history, entry, rows) for entry in history.entries()]
    parts = [part for part in parts if len(part)]
    return pl.concat(parts, how="vertical") if parts else pl.DataFrame()


def write_parquet(history: History, path: Path, rows: str = "queries") -> int:
    """Write the table as one Parquet file, completely or not at all; how many rows."""
    from ranklens.data.files.output import write_whole

    table = frame(history, rows)
    write_whole(path, table.write_parquet)
    return len(table)


def _of(history: History, entry: Entry, rows: str) -> pl.DataFrame:
    import polars as pl

    if rows == "entries":
        table = pl.DataFrame(
            [(name, one.mean, one.low, one.high) for name, one in entry.measures.items()],
            schema={"measure": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64},
            orient="row",
        )
    else:
        record = history.record(entry)
        queries = pl.Series("query", record.queries, dtype=pl.String)
        values = [
            pl.DataFrame([queries, pl.Series("value", values, dtype=pl.Float64)]).select(
                "query", pl.lit(name).alias("measure"), "value"
            )
            for name, values in record.values.items()
        ]
        table = pl.concat(values) if values else pl.DataFrame()
    at = datetime.fromtimestamp(entry.at, tz=timezone.utc)
    shared: dict[str, tuple[pl.DataType | type[pl.DataType], object]] = {
        "entry": (pl.Int64, entry.id),
        "run": (pl.String, entry.run),
        "time": (pl.Datetime("us", "UTC"), at),  # "at" is a reserved word of DuckDB
        "kind": (pl.String, entry.kind),
        "system": (pl.String, entry.system),
        "label": (pl.String, entry.label),
        "commit": (pl.String, entry.commit),
        "dirty": (pl.Boolean, entry.dirty),
        "ranklens": (pl.String, entry.versions.get("ranklens")),
        "judgments": (pl.String, entry.judgments),
        "policy": (pl.String, json.dumps(dict(entry.policy), sort_keys=True)),
        "failed": (pl.Int64, entry.failed),
        "p95_seconds": (pl.Float64, (entry.latency or {}).get("p95")),
    }
    literals = [pl.lit(value, dtype=kind).alias(name) for name, (kind, value) in shared.items()]
    return table.select(*literals, *table.columns)
