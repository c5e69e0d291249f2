"""Few rows are judged on the driver, by what judges them on executors: the rows of a small run, and those of spread queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.spark.columns import ROW
from ranklens.spark.facts import Facts, sum_of
from ranklens.spark.tasks import JudgeAbsent, JudgeRows, Judging, check_counts

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True)
class Here:
    """Judged queries whose rows come to the driver: ``query``, how many ``rows`` it has, and whether these come ``together``."""

    task: JudgeRows
    queries: pl.DataFrame

    def judge(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Facts]:
        """Values by query, and facts."""
        import polars as pl

        # Rows of a query next to each other: only those of spread queries are sorted, unless rows came in another order this time.
        spread = rows["query"].is_in(self.queries.filter(~pl.col("together"))["query"].implode())
        order = [ROW] if ROW in rows.columns else []
        ordered = pl.concat([rows.filter(~spread), rows.filter(spread).sort("query", *order)])
        runs = ordered["query"].rle().struct.unnest()
        if runs["value"].n_unique() < len(runs):
            ordered = ordered.sort("query", *order, maintain_order=True)
            runs = ordered["query"].rle().struct.unnest()
        counted = runs.join(
            self.queries, left_on="value", right_on="query", how="left", maintain_order="left"
        )
        check_counts(runs, counted["rows"].fill_null(0).to_numpy())
        return _read_back(self.task.judging, self.task(ordered.to_arrow().to_batches()))


def judge_absent(task: JudgeAbsent) -> tuple[pl.DataFrame, Facts]:
    """Values and facts of all queries that the run lacks."""
    import pyarrow as pa

    numbers = pa.array(range(len(task.absent.table)), pa.int64())
    return _read_back(task.judging, task([pa.RecordBatch.from_arrays([numbers], names=["id"])]))


def _read_back(judging: Judging, batches: Iterable[pa.RecordBatch]) -> tuple[pl.DataFrame, Facts]:
    import polars as pl
    import pyarrow as pa

    table = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([judging.nothing(), *batches])))
    facts = sum_of(map(Facts.from_json, table["facts"].drop_nulls()))
    return table.filter(pl.col("query").is_not_null()).drop("facts"), facts
