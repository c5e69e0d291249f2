"""Scores whose values stay on the cluster until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, overload

import numpy as np

from ranklens.errors import MeasureError
from ranklens.scores import (
    LOG_BOUNDS,
    Account,
    Means,
    Scores,
    Values,
    cutoffs_of,
    of_logs,
    total,
    usual_of_logs,
)
from ranklens.spark.collecting import collected
from ranklens.stats.intervals import INTERVAL_METHODS, Bounds, Interval

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession

    from ranklens.metrics import Aggregate, Measure
    from ranklens.policy import Policy
    from ranklens.scores.values import Column
    from ranklens.spark.facts import Facts
    from ranklens.stats.inputs import Rng
    from ranklens.stats.moments import Moments


@dataclass(frozen=True)
class Kept:
    """Values by query: those of most are kept on the cluster, with facts among them; those of some or of all may be here."""

    session: SparkSession
    columns: str  # query, m0, m1, … in the order of the measures
    there: DataFrame | None
    here: pl.DataFrame | None

    @cached_property
    def frame(self) -> DataFrame:
        """All of them on the cluster."""
        parts = []
        if self.there is not None:
            parts.append(self.there.filter("query is not null").drop("facts"))
        if self.here is not None:
            parts.append(self.session.createDataFrame(self.here.rows(), self.columns))
        return reduce(lambda one, other: one.unionByName(other), parts)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All of them here, collected on first use."""
        is_here = self.here is not None and self.there is None
        table = self.here if is_here else None
        return (collected(self.frame) if table is None else table).sort("query")

    def names(self) -> list[str]:
        """The ids of the queries, collected."""
        return self.table["query"].to_list()

    def free(self) -> None:
        if self.there is not None:
            self.there.unpersist()


@dataclass(frozen=True, kw_only=True, repr=False)
class SparkScores(Scores):
    """Scores of a run on a cluster: means and intervals are here, values by query there, until they are asked for; those of a small run are here.

    :meth:`to_spark` gives the values as a DataFrame. :attr:`per_query`, :attr:`queries` and whatever else needs each query
    collects them once, sorted by query.
    """

    facts: Facts = field(compare=False)
    kept: Kept = field(compare=False)

    @classmethod
    def of(
        cls, measures: Sequence[Measure], kept: Kept, facts: Facts, policy: Policy, max_grade: float
    ) -> SparkScores:
        """From what tasks gave back."""
        account = Account(
            facts.applied,
            policy,
            made="were made on a cluster, which keeps",
            max_grade=max_grade,
            graded=facts.counts["graded"],
            longest=facts.longest,
            tied=facts.counts["tied"],
            across={k: facts.counts[f"across {k}"] for k in cutoffs_of(measures)},
            share=facts.share_judged(policy),
            ones={str(measure): facts.counts[f"1 in {measure}"] for measure in measures},
        )
        columns = _Columns({str(measure): f"m{i}" for i, measure in enumerate(measures)}, kept)
        values = Values(_Queries(facts.applied.queries, kept.names), columns)
        return cls(list(measures), account, values, facts=facts, kept=kept)

    @property
    def frame(self) -> DataFrame:
        """The values by query on the cluster: ``query, m0, m1, …`` in the order of the measures."""
        return self.kept.frame

    def to_spark(self) -> DataFrame:
        """The values by query as a Spark DataFrame: the column ``query`` and one per measure, in the spelling that was asked for.

        Those of a large run are kept in the cluster's memory, and on its disks where that does not suffice, until :meth:`free` is called.
        """
        from pyspark.sql import functions as F  # noqa: N812

        columns = [F.col(f"m{i}").alias(measure.shown) for i, measure in enumerate(self.measures)]
        return self.frame.select("query", *columns)

    def free(self) -> None:
        """Free the memory of the cluster; means and intervals stay, values would be computed again."""
        self.kept.free()

    @cached_property
    def mean(self) -> dict[str, float]:
        kept = [m for m in self.measures if m.definition.aggregate != "none"]
        return Means({str(m): self._combined(m) for m in kept}, self.measures, self.policy.rel)

    def _combined(self, measure: Measure) -> float:
        """As :func:`ranklens.scores.total` does; sums do not tell a median, so that its values are collected."""
        kind = measure.definition.aggregate
        return total(kind, self[measure]) if kind == "median" else _combined(kind, self.moments(measure))

    def moments(self, measure: str | Measure) -> Moments:
        """How many values there are, and what they and their squares add up to; of their logarithms for a geometric mean."""
        name = str(self.evaluated(measure))
        if name not in self.facts.moments:
            raise MeasureError(f"{name} is text, which adds up to nothing.")
        return self.facts.moments[name]

    def interval(
        self, measure: str | Measure, *, level: float = 0.95, method: str = "auto", rng: Rng = None
    ) -> Interval:
        """From the moments; the bootstrap counts equal values on the cluster and draws from the counts."""
        parsed = self.evaluated(measure)
        kind = parsed.definition.aggregate
        if kind == "median":
            return super().interval(parsed, level=level, method=method, rng=rng)
        if kind not in ("mean", "geometric"):
            raise MeasureError(f"{parsed} is not a mean, so it has no interval.")
        if method in INTERVAL_METHODS and INTERVAL_METHODS[method].is_resampled:
            from ranklens.spark.statistics import bootstrap_interval

            return bootstrap_interval(self, parsed, level=level, method=method, rng=rng)
        bounds = Bounds(parsed.definition.low, parsed.definition.high)
        if kind == "mean":
            return self.moments(parsed).interval(level, bounds, method)
        return of_logs(self.moments(parsed).interval(level, LOG_BOUNDS, usual_of_logs(method)))


def _combined(kind: Aggregate, moments: Moments) -> float:
    """As :func:`ranklens.scores.total` combines values."""
    if kind == "geometric":
        return float(np.exp(moments.mean)) if moments.n else 0.0
    return moments.sum if kind == "sum" else moments.mean


class _Queries(Sequence[str]):
    """Ids of queries whose number is known, and which are collected on use."""

    def __init__(self, count: int, collect: Callable[[], list[str]]) -> None:
        self._count, self._collect = count, collect

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._all[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[str]:
        return self._collect()

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Columns(Mapping[str, "Column"]):
    """Values by measure, collected on use."""

    def __init__(self, columns: Mapping[str, str], kept: Kept) -> None:
        self._columns, self._kept = columns, kept

    def __getitem__(self, name: str) -> Column:
        column = self._kept.table[self._columns[name]]
        return column.to_numpy() if column.dtype.is_numeric() else np.array(column.to_list(), np.object_)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)
