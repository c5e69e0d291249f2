"""Systems whose values stay on the cluster because there are too many queries: compared by sums, described in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.alignment import Quantity, settled
from ranklens.comparison.conclusion import primary_measure
from ranklens.comparison.results import PairResult, SystemResult
from ranklens.comparison.settings import Family, HowTested, Settings
from ranklens.data.readers import frames
from ranklens.errors import Given, InputError, MeasureError, Option, nearest
from ranklens.spark.placement import tasks_for
from ranklens.spark.statistics import AddUp, Column, Difference, added_up, counts_of
from ranklens.stats import adjust, detectable_difference, inputs
from ranklens.stats.effects import effect_of_moments
from ranklens.stats.intervals import Bounds
from ranklens.stats.moments import Moments
from ranklens.stats.paired import sign_p
from ranklens.stats.significance import BINARY_TEST, SIGNIFICANCE_TESTS
from ranklens.tables.table import Printout, Table

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

    from ranklens.metrics import Measure
    from ranklens.spark.scores import SparkScores

COLLECTED = 1_000_000  # queries whose values come to the driver, for all that a comparison can tell; more stay on the cluster
_RESAMPLES = 10_000
_COLUMNS = (
    "measure", "a", "b", "n", "difference", "low", "high", "p_value", "adjusted_p", "significant", "wins", "ties", "losses",
)  # fmt: skip


@dataclass(frozen=True)
class LargeComparison:
    """Systems compared over very many queries, whose values stay on the cluster; made by :func:`ranklens.compare`.

    It has what sums can tell: results, pairs, verdicts and tables, as in :class:`ranklens.Comparison`; but no single queries.
    """

    systems: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    settings: Settings
    results: tuple[SystemResult, ...]
    pairs: tuple[PairResult, ...]
    scores: Mapping[str, SparkScores] = field(default_factory=dict, repr=False)

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(quantity.name for quantity in self.quantities)

    @property
    def baseline(self) -> str | None:
        return self.settings.baseline

    def result(self, measure: str | Measure, system: str) -> SystemResult:
        """One system on one measure."""
        name = self._measure(measure)
        if system not in self.systems:
            raise InputError(f"There is no system {system!r}: {nearest(system, self.systems)}")
        return next(one for one in self.results if (one.measure, one.system) == (name, system))

    def pair(self, measure: str | Measure, a: str, b: str) -> PairResult:
        """Two systems on one measure; signs follow the order asked for."""
        name = self._measure(measure)
        for one in self.pairs:
            if (one.measure, one.a, one.b) == (name, a, b):
                return one
            if (one.measure, one.a, one.b) == (name, b, a):
                return _turned(one)
        raise InputError(
            f"{a} and {b} were not compared on {name}; the pairs are {[(p.a, p.b) for p in self.pairs]}."
        )

    def ranked(self, measure: str | Measure) -> list[str]:
        """The systems, best first."""
        name = self._measure(measure)
        quantity = next(one for one in self.quantities if one.name == name)
        return [
            self.systems[i] for i in quantity.best_first([self.result(name, s).mean for s in self.systems])
        ]

    def verdict(self, measure: str | Measure | None = None) -> str:
        """What to conclude, in words: a line for each pair."""
        names = self.measures if measure is None else (self._measure(measure),)
        several = len(names) > 1
        return "\n".join(
            f"{one.measure}: {one.verdict}." if several else f"{one.verdict}."
            for name in names
            for one in self.pairs
            if one.measure == name
        )

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with one row per pair."""
        import polars as pl

        rows = [
            {
                **{name: getattr(one, name, None) for name in _COLUMNS},
                "low": one.interval.low,
                "high": one.interval.high,
            }
            for one in self.pairs
        ]
        return pl.DataFrame(rows)

    @cached_property
    def _printout(self) -> Printout:
        rows = [
            [one.measure, one.system, f"{one.mean:.4f}", str(one.interval) if one.interval else ""]
            for one in self.results
        ]
        note = f"{self.results[0].n:,} queries on the cluster.\n{self.verdict()}" if self.results else ""
        return Printout(
            [Table(["measure", "system", "mean", f"{self.settings.level:.0%} interval"], rows, note=note)]
        )

    def to_markdown(self) -> str:
        """All that ``print`` shows, as Markdown."""
        return self._printout.to_markdown()

    def __str__(self) -> str:
        return str(self._printout)

    def _measure(self, measure: str | Measure) -> str:
        name = Quantity.named(measure).name
        if name not in self.measures:
            raise MeasureError(f"{name} was not compared: {nearest(name, self.measures)}")
        return name


def _turned(pair: PairResult) -> PairResult:
    """The same with a and b exchanged."""
    effect, around = pair.effect, pair.interval
    other = replace(around, low=-around.high, high=-around.low)
    chance = effect.probability_interval
    return replace(
        pair, a=pair.b, b=pair.a, mean_a=pair.mean_b, mean_b=pair.mean_a, difference=-pair.difference, interval=other,
        wins=pair.losses, losses=pair.wins,
        effect=replace(
            effect, difference=-effect.difference, interval=other, cohen_dz=-effect.cohen_dz, hedges_g=-effect.hedges_g,
            probability=1 - effect.probability, wins=effect.losses, losses=effect.wins,
            probability_interval=replace(chance, low=1 - chance.high, high=1 - chance.low),
        ),
    )  # fmt: skip


def is_large(scores: Mapping[str, Any]) -> bool:
    """Whether all values are on a cluster, and too many to come here."""
    from ranklens.spark.scores import SparkScores

    all_there = all(isinstance(one, SparkScores) for one in scores.values())
    return all_there and max((len(one.queries) for one in scores.values()), default=0) > COLLECTED


def runs_of(runs: Any) -> dict[str, Any]:
    """Runs by name; a DataFrame with a column ``system`` holds several."""
    if isinstance(runs, Mapping):
        return {str(name): run for name, run in runs.items()}
    column = frames.system_column(runs)
    if column is None:
        raise InputError(
            f"The systems are one DataFrame without a column 'system' (the columns are {runs.columns}); pass {{name: run}}, one per system."
        )
    names = sorted(str(row[0]) for row in runs.select(column).distinct().collect())
    return {name: runs.filter(runs[column] == name).drop(column) for name in names}


def compare_large(
    scores: Mapping[str, SparkScores], wanted: Sequence[Measure], settings: Settings, missing: str
) -> LargeComparison:
    """Compare systems whose values are on a cluster, measure by measure, in one walk over all values."""
    possible = [name for name, test in SIGNIFICANCE_TESTS.items() if test.is_from_sums]
    if not settings.is_default and settings.test not in possible:
        raise InputError(
            Given("test", settings.test),
            " needs the values of all queries in one place; for this many queries, choose ",
            Option("test", *possible),
            ".",
        )
    measures = [m for m in wanted if m.definition.aggregate in ("mean", "geometric")]
    for system, one in scores.items():
        evaluated = list(map(str, one.measures))
        absent = next((measure for measure in measures if str(measure) not in evaluated), None)
        if absent is not None:
            raise MeasureError(f"{absent} was not evaluated for {system}: {nearest(str(absent), evaluated)}")
    systems, n, baseline = tuple(scores), len(scores), settings.baseline
    if baseline is not None and baseline not in systems:
        raise InputError(f"The baseline {baseline!r} is not a system: {nearest(baseline, systems)}")
    base = None if baseline is None else systems.index(baseline)
    pairs = [*combinations(range(n), 2)] if base is None else [(base, i) for i in range(n) if i != base]
    quantities = tuple(Quantity.named(measure) for measure in measures)
    columns = []
    for i, quantity in enumerate(quantities):
        moments_of = [one.moments(quantity.name) for one in scores.values()]
        noise = inputs.NOISE * max(max(abs(one.lowest), abs(one.highest)) for one in moments_of)
        columns += [Column(f"s{j}_{i}", quantity.is_geometric, quantity.test_bounds, noise) for j in range(n)]
    each = [(i * n + a, i * n + b) for i in range(len(quantities)) for a, b in pairs]
    settings = replace(settings, primary=primary_measure(settings, quantities))
    frame = _joined(list(scores.values()), len(measures), missing, [str(m) for m in measures]).persist()
    try:
        sums = _Sums(
            systems, quantities, settings, columns, each, *added_up(frame, AddUp(columns, each)), frame
        )
        results, tested = tuple(sums.results()), tuple(sums.pairs())
    finally:
        frame.unpersist()
    return LargeComparison(systems, quantities, settings, results, tested, dict(scores))


def _joined(scores: Sequence[SparkScores], measures: int, missing: str, names: Sequence[str]) -> DataFrame:
    """One row per query: the values of all systems; a query that a system lacks counts as 0 or is left out, as the policy says."""
    how = "inner" if missing == "skip" else "full_outer"
    tasks = tasks_for(max(len(one.queries) for one in scores))
    parts = []
    for place, one in enumerate(scores):
        wanted = [list(map(str, one.measures)).index(name) for name in names]
        columns = (f"m{at} as s{place}_{i}" for i, at in enumerate(wanted))
        parts.append(one.frame.selectExpr("query", *columns).repartition(tasks, "query"))
    joined = reduce(lambda left, right: left.join(right, "query", how), parts)
    values = [f"s{place}_{i}" for place in range(len(scores)) for i in range(measures)]
    lacking = " or ".join(f"{name} is null" for name in values)
    if missing == "error" and (absent := joined.filter(lacking).limit(1).collect()):
        raise InputError(
            f"Query {absent[0]['query']!r} is not in all systems. Add it, or choose ",
            Option("missing", "zero", "skip"),
            ".",
        )
    return joined.na.fill(0.0, values)


@dataclass(frozen=True)
class _Sums:
    """What was added up, as results and tested pairs."""

    systems: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    settings: Settings
    columns: Sequence[Column]
    each: Sequence[tuple[int, int]]
    moments: Sequence[Moments]
    differences: Sequence[Difference]
    frame: DataFrame

    def results(self) -> list[SystemResult]:
        results = []
        for (quantity, system), one in zip(product(self.quantities, self.systems), self.moments, strict=True):
            method = "t" if quantity.is_geometric else "auto"
            around = one.interval(self.settings.level, quantity.test_bounds, method)
            mean, interval = settled(quantity.back(one.mean)), quantity.interval_back(around)
            results.append(SystemResult(quantity.name, system, None, one.n, mean, interval))
        return results

    def pairs(self) -> list[PairResult]:
        tests = len(self.each) if self.settings.family == "all" else len(self.each) // len(self.quantities)
        done = []
        for first, second in self.each:
            # With so many queries the t test gives the answer of the randomisation test, the default.
            is_binary = all(
                one.at_low + one.at_high == one.n for one in map(self.moments.__getitem__, (first, second))
            )
            usual = BINARY_TEST if is_binary else self.settings.procedure.instead
            done.append(usual if self.settings.is_default else self.settings.test)
        p_values = np.array([self._p(at, test) for at, test in enumerate(done)])
        adjusted = p_values.copy()
        for start in range(0, len(p_values), tests):
            family = slice(start, start + tests)
            adjusted[family] = adjust(p_values[family], method=self.settings.correction)
        numbers = zip(done, p_values.tolist(), adjusted.tolist(), strict=True)
        return [self._pair(at, *tested, tests) for at, tested in enumerate(numbers)]

    def _p(self, at: int, test: str) -> float:
        difference, procedure = self.differences[at], SIGNIFICANCE_TESTS[test]
        moments = difference.moments
        if procedure.p_of_wins is not None:
            return float(procedure.p_of_wins(np.array([difference.wins]), np.array([difference.losses]))[0])
        if moments.is_constant:
            return sign_p(difference.wins, difference.losses)
        if procedure.p_of_moments is not None:
            mean, deviation = np.asarray(moments.mean), np.asarray(moments.deviation)
            return float(procedure.p_of_moments(mean, deviation, moments.n))
        assert procedure.p_of_counts is not None
        first, second = (self.columns[place] for place in self.each[at])
        values, counts = counts_of(
            self.frame.selectExpr(f"{_sql(second)} - {_sql(first)} as change"), "change", moments
        )
        values = np.where(np.abs(values) <= first.noise, 0.0, values)
        return procedure.p_of_counts(
            values, counts, inputs.generator(self.settings.seed), min(self.settings.resamples, _RESAMPLES)
        )

    def _pair(self, at: int, test: str, p: float, adjusted: float, tests: int) -> PairResult:
        quantity = self.quantities[at // (len(self.each) // len(self.quantities))]
        (first, second), change, settings = self.each[at], self.differences[at], self.settings
        moments, ends = change.moments, Bounds() if quantity.is_geometric else quantity.test_bounds
        effect = effect_of_moments(
            moments, change.wins, change.losses, level=settings.level, bounds=ends, better=quantity.better
        )
        of_one = float(detectable_difference(1.0, moments.n, alpha=settings.hardest(tests)))
        means = [settled(quantity.back(self.moments[place].mean)) for place in (first, second)]
        # A test of wins and losses need not speak for the system with the better mean.
        speaks_for = np.sign(change.wins - change.losses)
        agrees = not SIGNIFICANCE_TESTS[test].compares or bool(speaks_for == np.sign(moments.total))
        family = Family(len(self.systems), tests, 1, len(self.quantities) if settings.family == "all" else 1)
        a, b = (self.systems[place % len(self.systems)] for place in (first, second))
        return PairResult(
            measure=quantity.name, a=a, b=b, slice=None, n=moments.n, mean_a=means[0], mean_b=means[1],
            difference=moments.mean, interval=effect.interval, p_value=p, adjusted_p=adjusted,
            significant=adjusted <= settings.alpha and agrees, effect=effect, wins=effect.wins, ties=effect.ties, losses=effect.losses,
            detectable=of_one * moments.deviation, deviation=moments.deviation, terms=HowTested(quantity, settings, family, test),
        )  # fmt: skip


def _sql(column: Column) -> str:
    if not column.is_geometric:
        return column.name
    from ranklens.scores import GEOMETRIC_FLOOR

    return f"ln(greatest({column.name}, {GEOMETRIC_FLOOR!r}D))"
