"""What a runner returns: one result per item, means with intervals, and what passed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from ranklens.errors import InputError, MeasureError, nearest
from ranklens.metrics import parse
from ranklens.recipes.items.metrics import Batch, DatasetItem, MeanReciprocalRank, Metric, MetricResult
from ranklens.scores import Means, Scores
from ranklens.stats import Interval, interval
from ranklens.tables.digits import reaches
from ranklens.tables.table import Shown, Table

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray

FORMAT_VERSION = 1  # of to_json; 1: first version


@dataclass(frozen=True)
class ItemResult:
    """One item with the results of all metrics; ``passed`` is None if no threshold was set."""

    name: str
    item: DatasetItem
    results: tuple[MetricResult, ...]

    @property
    def passed(self) -> bool | None:
        verdicts = [result.passed for result in self.results if result.passed is not None]
        return all(verdicts) if verdicts else None

    def __getitem__(self, metric: str) -> MetricResult:
        """The result of a metric, by the name of its measure in any spelling."""
        by_name = {result.metric: result for result in self.results}
        return by_name[canonical_name(metric, by_name)]


@dataclass(frozen=True)
class MetricSummary:
    """A measure over all items; ``passed_items`` and ``passed`` (of the mean) are None if it has no threshold."""

    measure: str
    mean: float
    interval: Interval
    threshold: float | None = None
    passed_items: int | None = None
    passed: bool | None = None


@dataclass(frozen=True)
class RunnerResult(Shown):
    """What :class:`MetricRunner` returns: one result per item, and means with intervals."""

    metrics: tuple[object, ...]
    thresholds: Mapping[str, float]
    batch: Batch
    scores: Scores  # of RankLens's metrics, at every k
    own: Mapping[str, tuple[MetricResult, ...]]  # of metrics that are not RankLens's, one entry per item

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """One value per item, by measure, in the order of the items."""
        own = {name: np.array([result.score for result in results]) for name, results in self.own.items()}
        return {**self.scores.values, **own}

    @cached_property
    def mean(self) -> dict[str, float]:
        """The mean of each measure over the items."""
        own = {name: float(np.mean(self.values[name])) for name in self.own}
        return Means({**self.scores.mean, **own}, self.scores.measures, self.scores.policy.rel)

    def interval(self, measure: str) -> Interval:
        """The interval of a mean."""
        name = canonical_name(measure, self.values)
        return interval(self.values[name]) if name in self.own else self.scores.interval(name)

    @cached_property
    def summary(self) -> tuple[MetricSummary, ...]:
        """Each measure over all items."""
        rows = []
        for name, values in self.values.items():
            mean, around, floor = self.mean[name], self.interval(name), self.thresholds.get(name)
            if floor is None:
                rows.append(MetricSummary(name, mean, around))
            else:
                passed = sum(reaches(value, floor) for value in values.tolist())
                rows.append(MetricSummary(name, mean, around, floor, passed, reaches(mean, floor)))
        return tuple(rows)

    @property
    def passed(self) -> bool | None:
        """Whether every mean reaches its threshold; None if none was set."""
        verdicts = [row.passed for row in self.summary if row.passed is not None]
        return all(verdicts) if verdicts else None

    @cached_property
    def results(self) -> tuple[ItemResult, ...]:
        """The items with their results, in the order given."""
        columns: list[Sequence[MetricResult]] = []
        for metric in self.metrics:
            if not isinstance(metric, Metric):
                columns.append(self.own[metric_name(metric)])
                continue
            results = list(self.batch.results(metric))
            names = map(str, metric.measures.values())
            floors = [(self.values[n].tolist(), self.thresholds[n]) for n in names if n in self.thresholds]
            for i, result in enumerate(results if floors else ()):  # an item passes at all k of the metric
                passed = all(reaches(values[i], floor) for values, floor in floors)
                results[i] = replace(result, passed=passed)
            columns.append(results)
        rows = zip(self.batch.judged.queries, self.batch.items, zip(*columns, strict=True), strict=True)
        return tuple(ItemResult(name, item, results) for name, item, results in rows)

    def __len__(self) -> int:
        return len(self.batch.items)

    def __iter__(self) -> Iterator[ItemResult]:
        return iter(self.results)

    def __getitem__(self, item: int | str) -> ItemResult:
        """The results of an item, by its position or name."""
        if isinstance(item, int):
            return self.results[item]
        names = list(self.batch.judged.queries)
        if item not in names:
            raise InputError(f"There is no item {item!r}: {nearest(item, names)}")
        return self.results[names.index(item)]

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with one row per measure."""
        import polars as pl

        rows = []
        for row in self.summary:
            low, high = (end if isfinite(end) else None for end in row.interval)
            rows.append({**vars(row), "low": low, "high": high})
        schema = {"measure": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "threshold": pl.Float64,
                  "passed_items": pl.Int64, "passed": pl.Boolean}  # fmt: skip
        return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)

    def per_item(self) -> pl.DataFrame:
        """A Polars frame with one row per item: its name, one column per measure, and the rank of the first relevant document."""
        import polars as pl

        first = self.batch.first_ranks(MeanReciprocalRank())
        rank = pl.Series("rank_of_first_relevant", [int(r) or None for r in first], dtype=pl.Int64)
        names = pl.Series("item", self.batch.judged.queries, dtype=pl.String)
        return pl.DataFrame([names, *(pl.Series(name, values) for name, values in self.values.items()), rank])

    def to_json(self) -> str:
        """Everything, with a format version: the summary, then the values item by item."""
        content = {
            "format_version": FORMAT_VERSION,
            "measures": self.to_frame().to_dicts(),
            "items": self.per_item().to_dicts(),
            "note": self.note,
        }
        return json.dumps(content, ensure_ascii=False)

    def table(self) -> Table:
        """Means and intervals as text, next to the thresholds if there are any."""
        header = ["measure", "mean", "95% interval"]
        rows = [[row.measure, f"{row.mean:.4f}", str(row.interval)] for row in self.summary]
        if self.thresholds:
            header += ["threshold", "items passed", "verdict"]
            for cells, row in zip(rows, self.summary, strict=True):
                if row.threshold is None or row.passed_items is None:
                    cells += ["", "", ""]
                else:
                    share = f"{row.passed_items:,} of {len(self):,}"
                    cells += [f"{row.threshold:g}", share, "passed" if row.passed else "FAILED"]
        return Table(header, rows, note=self.note)

    @property
    def note(self) -> str:
        """What was averaged over, and which metrics failed where."""
        failed = {name: sum(r.error is not None for r in results) for name, results in self.own.items()}
        failures = [
            f"{name} failed for {n} of {len(self)} items, which count as 0."
            for name, n in failed.items()
            if n
        ]
        return " ".join([self.scores.note, *failures])

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean.items())
        return f"RunnerResult({means}; {len(self)} items)"


@runtime_checkable
class Named(Protocol):
    """A metric with a ``name``."""

    name: str


def metric_name(metric: object) -> str:
    """The name of a metric that may not be RankLens's."""
    return str((isinstance(metric, Named) and metric.name) or type(metric).__name__)


def canonical_name(name: str, evaluated: Mapping[str, object]) -> str:
    """The name of a measure that was evaluated, from any spelling."""
    if name in evaluated:
        return name
    try:
        canonical = str(parse(name))
    except MeasureError:
        canonical = name
    if canonical not in evaluated:
        raise MeasureError(f"{name} was not evaluated: {nearest(canonical, evaluated)}")
    return canonical
