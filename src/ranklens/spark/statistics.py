"""What per-query values of a cluster amount to, without collecting them: moments, wins and losses, and counts of equal values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranklens.scores import LOG_BOUNDS, logs_with_floor, of_logs
from ranklens.spark.collecting import collected
from ranklens.stats.intervals import Bounds, Interval
from ranklens.stats.moments import Moments
from ranklens.stats.resampling_counts import bootstrap_interval_of_counts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.metrics import Measure
    from ranklens.spark.scores import SparkScores
    from ranklens.stats.inputs import Rng

_MOST_VALUES = 1 << 14  # different values that are counted separately; more are put into as many bins


def counts_of(frame: DataFrame, column: str, moments: Moments) -> tuple[FloatArray, IntArray]:
    """The different values of a column, ascending, and how often each is there.

    Where there are very many, values in the same of 2^14 bins between the lowest and the highest count as their mean: the mean of all
    is what it was, and the variance is too small by at most the square of half a bin.
    """
    from pyspark.sql import functions as F  # noqa: N812

    values = frame.select(F.col(column).alias("value")).filter("value is not null")
    counted = values.groupBy("value").agg(F.count("*").alias("n"), F.first("value").alias("mean"))
    if counted.limit(_MOST_VALUES + 1).count() > _MOST_VALUES:
        width = (moments.highest - moments.lowest) / _MOST_VALUES
        bins = F.floor((F.col("value") - F.lit(moments.lowest)) / F.lit(width))
        counted = values.groupBy(bins.alias("bin")).agg(F.count("*").alias("n"), F.avg("value").alias("mean"))
    table = collected(counted.select("mean", "n")).sort("mean")
    return table["mean"].to_numpy(), table["n"].to_numpy()


def bootstrap_interval(
    scores: SparkScores, measure: Measure, *, level: float, method: str, rng: Rng
) -> Interval:
    """The interval of a mean by the bootstrap, from counts of equal values."""
    column = f"m{list(map(str, scores.measures)).index(str(measure))}"
    definition = measure.definition
    is_geometric = definition.aggregate == "geometric"
    of_values = (
        Moments(lowest=definition.low, highest=definition.high) if is_geometric else scores.moments(measure)
    )
    values, counts = counts_of(scores.frame, column, of_values)
    bounds = LOG_BOUNDS if is_geometric else Bounds(definition.low, definition.high)
    numbers = logs_with_floor(values) if is_geometric else values
    interval = bootstrap_interval_of_counts(
        numbers, counts, bounds=bounds, level=level, method=method, rng=rng
    )
    return of_logs(interval) if is_geometric else interval


@dataclass(frozen=True)
class Difference:
    """Of two systems on one measure: the moments of the differences by query, and who wins how often."""

    moments: Moments = field(default_factory=Moments)
    wins: int = 0
    losses: int = 0

    def __add__(self, other: Difference) -> Difference:
        return Difference(self.moments + other.moments, self.wins + other.wins, self.losses + other.losses)


@dataclass(frozen=True)
class Column:
    """The values of one system on one measure, in a frame of several: differences below ``noise`` are rounding."""

    name: str
    is_geometric: bool
    bounds: Bounds
    noise: float

    def read(self, batch: pa.RecordBatch) -> FloatArray:
        values: FloatArray = batch.column(self.name).to_numpy(zero_copy_only=False)
        return logs_with_floor(values) if self.is_geometric else values


@dataclass(frozen=True)
class AddUp:
    """The moments of each column, and the differences of some pairs of them, over all rows of a task, as one row of JSON."""

    columns: Sequence[Column]
    pairs: Sequence[tuple[int, int]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        moments = [Moments() for _ in self.columns]
        pairs = [Difference() for _ in self.pairs]
        for batch in batches:
            values = [column.read(batch) for column in self.columns]
            moments = [
                one + Moments.of(v, c.bounds) for one, v, c in zip(moments, values, self.columns, strict=True)
            ]
            for at, (i, j) in enumerate(self.pairs):
                change = values[j] - values[i]
                change[np.abs(change) <= self.columns[i].noise] = 0
                wins, losses = int((change > 0).sum()), int((change < 0).sum())
                pairs[at] += Difference(Moments.of(change), wins, losses)
        content = {
            "moments": [one.to_dict() for one in moments],
            "pairs": [[one.moments.to_dict(), one.wins, one.losses] for one in pairs],
        }
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(content)], pa.string())], names=["sums"])


def added_up(frame: DataFrame, task: AddUp) -> tuple[list[Moments], list[Difference]]:
    """The sums of all tasks together, in any order."""
    moments = [Moments() for _ in task.columns]
    pairs = [Difference() for _ in task.pairs]
    for text in collected(frame.mapInArrow(task, "sums string"))["sums"].to_list():
        sums = json.loads(text)
        moments = [one + Moments.from_dict(more) for one, more in zip(moments, sums["moments"], strict=True)]
        pairs = [
            one + Difference(Moments.from_dict(more[0]), more[1], more[2])
            for one, more in zip(pairs, sums["pairs"], strict=True)
        ]
    return moments, pairs
