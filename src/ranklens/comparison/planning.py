"""How many queries an evaluation needs: from a pilot, past runs or a stated deviation. :func:`plan` → :class:`Plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranklens.comparison.comparison import Comparison
from ranklens.errors import Given, InputError
from ranklens.metrics import parse
from ranklens.scores import Scores
from ranklens.stats import Clusters, Interval, design_effect, inputs, intraclass_correlation
from ranklens.stats.bounded import is_binary
from ranklens.stats.power import default_test_power, deviation_interval, queries_for_default_test
from ranklens.tables.table import Shown
from ranklens.words import counted, kind, percent

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.tables.table import Printout
    from ranklens.upward import Chart

_CURVE = 25  # numbers of queries for which the power is shown
_BAR = 30  # letters


@dataclass(frozen=True)
class Plan(Shown):
    """How many queries show a difference, and how sure that number is.

    ``queries`` is the number for the deviation found in the pilot, ``interval`` what it is for the lowest and highest deviation that
    the pilot leaves plausible (None for a stated deviation). With clusters, ``clusters`` of ``per_cluster`` queries are needed.
    ``differing`` is the share of queries (or clusters) in which the systems of the pilot differ.
    """

    queries: int
    interval: tuple[int, int] | None
    detect: float
    power: float
    alpha: float  # of one test, corrected for the others
    deviation: float
    deviation_interval: Interval | None
    tests: int
    source: str
    per_cluster: float | None = None
    correlation: float | None = None
    differing: float = 1.0
    binary: bool = False  # whether scores are 0 or 1

    @property
    def clusters(self) -> int | None:
        """How many clusters that is; None if queries are independent."""
        return None if self.per_cluster is None else _units(self.queries, self.per_cluster)

    @property
    def design_effect(self) -> float:
        """How many times as many queries clusters need."""
        if self.per_cluster is None or self.correlation is None:
            return 1.0
        return design_effect(self.correlation, self.per_cluster)

    def power_at(self, queries: int) -> float:
        """The probability of finding the difference with this many queries."""
        return self._power(queries, self.deviation)

    @property
    def curve(self) -> pl.DataFrame:
        """Power over the number of queries: queries, power, and low and high by the interval of the deviation."""
        import polars as pl

        most = max(2 * self.queries, 20)
        numbers = np.unique(np.linspace(max(2, most // _CURVE), most, _CURVE).astype(int))
        ends = self.deviation_interval or Interval(self.deviation, self.deviation)
        deviations = (self.deviation, ends.high, ends.low)
        rows = [(n, *(self._power(n, deviation) for deviation in deviations)) for n in numbers.tolist()]
        return pl.DataFrame(rows, schema=["queries", "power", "low", "high"], orient="row")

    def chart(self) -> Chart:
        """Power over the number of queries, as a chart; needs the extra ``plots``."""
        from ranklens.upward import power_chart

        return power_chart(self)

    def to_dict(self) -> dict[str, object]:
        """All numbers, for JSON."""
        ends = self.deviation_interval
        return {
            "queries": self.queries,
            "queries_low": self.interval[0] if self.interval else None,
            "queries_high": self.interval[1] if self.interval else None,
            "clusters": self.clusters,
            "per_cluster": self.per_cluster,
            "correlation": self.correlation,
            "detect": self.detect,
            "power": self.power,
            "alpha": self.alpha,
            "tests": self.tests,
            "deviation": self.deviation,
            "deviation_low": ends.low if ends else None,
            "deviation_high": ends.high if ends else None,
            "source": self.source,
            "curve": self.curve.to_dicts(),
        }

    def printout(self) -> Printout:
        """The plan in words, and power over queries as a table with bars."""
        from ranklens.tables.table import Lines, Printout, Table

        shown = self.curve.gather_every(2)
        rows = [
            [f"{n:,}", percent(power), "█" * round(_BAR * power)]
            for n, power in zip(shown["queries"].to_list(), shown["power"].to_list(), strict=True)
        ]
        note = f"The chance of detecting a difference of {self.detect:g}."
        table = Table(["queries", "power", ""], rows, left=3, note=note)
        return Printout([Lines("Plan", self.lines()), table])

    def lines(self) -> list[str]:
        """The plan in sentences."""
        size = f"{counted(self.queries, 'query')} show a difference of {self.detect:g} with a power of {percent(self.power)}"
        if self.clusters is not None and self.per_cluster is not None:
            size += f": {counted(self.clusters, 'cluster')} of {self.per_cluster:g}"
        said = [f"{size}."]
        if self.interval is not None:
            low, high = self.interval
            said.append(f"The pilot leaves open whether it takes {low:,} or {high:,}.")
        said.append(f"The standard deviation of differences is {self.deviation:.4g} ({self.source}).")
        if self.per_cluster is not None:
            said.append(
                f"The queries of a cluster correlate by {self.correlation:.2f}, so {self.design_effect:.1f} times as many are needed."
            )
        if self.tests > 1:
            said.append(
                f"{self.tests:,} tests are corrected together, so a single test has an alpha of {self.alpha:.2g} (Bonferroni, the worst case of Holm)."
            )
        return said

    def _power(self, queries: int, deviation: float) -> float:
        size = self.per_cluster or 1.0
        return default_test_power(
            self.detect,
            deviation * (self.design_effect / size) ** 0.5,
            _units(queries, size),
            alpha=self.alpha,
            differing=self.differing,
            binary=self.binary,
        )


def _units(queries: int, size: float) -> int:
    """Independent units, whole ones: clusters of this size, or queries."""
    return int(queries / size + 1e-9)


class _Pilot(NamedTuple):
    deviation: float
    interval: Interval | None
    source: str
    differing: float = 1.0
    binary: bool = False
    correlation: float | None = None
    per_cluster: float | None = None
    systems: int = 2
    tests: int = 1  # that are corrected together
    alpha: float = 0.05


def plan(
    pilot: object,
    *,
    detect: float,
    power: float = 0.8,
    alpha: float | None = None,
    systems: int | None = None,
    baseline: bool = False,
    measure: str | Measure | None = None,
    per_cluster: float | None = None,
    correlation: float | None = None,
    level: float = 0.95,
) -> Plan:
    """How many queries show a mean difference of ``detect`` between systems with probability ``power``.

    ``pilot`` says how much differences vary from query to query: a :class:`Comparison` or ``{name: Scores}`` of past runs (by
    ``measure``, the first if none is named), the scores of one system, a list of differences, or their standard deviation itself.
    ``systems`` are compared in all pairs, or each with a ``baseline``. By default the family of tests and ``alpha`` are those of the
    comparison, and those of two systems at 0.05 for any other pilot. The test is the default one. Where queries come
    in clusters, give the number ``per_cluster`` and the intra-class ``correlation`` of differences; a comparison with clusters brings
    both.

    >>> plan(0.2, detect=0.05).queries
    128
    >>> found = plan(0.2, detect=0.05, systems=4, per_cluster=5, correlation=0.3)
    >>> found.queries, found.clusters, found.tests
    (445, 89, 6)
    """
    gap = inputs.finite(detect, "detect")
    if gap <= 0:
        raise InputError(
            Given("detect", detect), " is not allowed: it must be a difference above 0, such as 0.02."
        )
    inputs.share(level, "level")
    past = _pilot(pilot, measure, level)
    alpha = past.alpha if alpha is None else inputs.share(alpha, "alpha", 0.05)
    tests = past.tests
    if systems is not None or baseline:
        number = past.systems if systems is None else inputs.count(systems, "systems", 2)
        tests = number - 1 if baseline else number * (number - 1) // 2
    size, related = _clustering(per_cluster or past.per_cluster, correlation, past.correlation)
    effect = design_effect(related, size) if size is not None and related is not None else 1.0
    one = size or 1.0  # queries of what is independent

    def needed(deviation: float) -> int:
        units = queries_for_default_test(
            gap,
            deviation * (effect / one) ** 0.5,
            alpha=alpha / tests,
            power=power,
            differing=past.differing,
            binary=past.binary,
        )
        return ceil(units * one - 1e-9)

    around = past.interval
    return Plan(
        queries=needed(past.deviation),
        interval=None if around is None else (needed(around.low), needed(around.high)),
        detect=gap,
        power=power,
        alpha=alpha / tests,
        deviation=past.deviation,
        deviation_interval=around,
        tests=tests,
        source=past.source,
        per_cluster=size,
        correlation=related,
        differing=past.differing,
        binary=past.binary,
    )


def _clustering(
    size: float | None, stated: float | None, observed: float | None
) -> tuple[float | None, float | None]:
    if size is None:
        if stated is not None:
            raise InputError(
                Given("correlation", stated), " is that of queries in clusters: pass per_cluster= too."
            )
        return None, None
    if not inputs.finite(size, "per_cluster") >= 1:
        raise InputError(Given("per_cluster", size), " is not allowed: a cluster has at least one query.")
    related = observed if stated is None else inputs.finite(stated, "correlation")
    if related is None:
        raise InputError(
            "Queries in clusters are correlated: pass correlation=, or a comparison with clusters."
        )
    if not -1 <= related <= 1:
        raise InputError(Given("correlation", related), " is not allowed: it must be between 0 and 1.")
    return float(size), max(0.0, related)


def _pilot(given: object, measure: str | Measure | None, level: float) -> _Pilot:
    if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        if not inputs.finite(given, "deviation") > 0:
            raise InputError(f"The deviation {given!r} is not allowed: it must be above 0, such as 0.2.")
        return _Pilot(float(given), None, "as stated")
    if isinstance(given, Scores):
        # One system says how much scores vary; differences of two that correlate by a half vary as much.
        name = measure if measure is not None else given.measures[0]
        values, one = given[name], (parse(name) if isinstance(name, str) else name).definition
        source = f"that of {name} over {counted(len(values), 'query')}, as if two systems correlated by 0.5"
        return _varied(values[None], source, level, one.high - one.low)
    if isinstance(given, Mapping):
        from ranklens.comparison.compare import compare_scores

        given = compare_scores(given, measure)
    if isinstance(given, Comparison):
        return _of_comparison(given, measure, level)
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise InputError(
            f"The pilot is {kind(given)}: pass a comparison, scores, a list of differences, or a standard deviation."
        )
    change = inputs.not_empty(given, "pilot")
    # Differences within 1 are taken to be those of scores between 0 and 1.
    most = 1.0 if np.abs(change).max() <= 1 else np.inf
    source = f"of {counted(len(change), 'difference')}"
    differing = float(np.count_nonzero(change) / len(change))
    binary = bool(np.isin(change, (-1, 0, 1)).all())
    return _varied(change[None], source, level, most, differing=differing)._replace(binary=binary)


def _varied(
    changes: FloatArray,
    source: str,
    level: float,
    most: float,
    *,
    differing: float = 1.0,
    clusters: Clusters | None = None,
) -> _Pilot:
    if changes.shape[1] < 2:
        raise InputError(
            "The pilot has one query, which does not show how much differences vary; pass at least two."
        )
    deviation = float(np.sqrt(changes.var(axis=1, ddof=1).mean()))
    if not deviation:
        raise InputError(
            "In the pilot nothing varies from query to query, so it says nothing about other queries."
        )
    around = deviation_interval(changes, level=level, most=most, clusters=clusters)
    return _Pilot(deviation, around, source, differing)


def _of_comparison(comparison: Comparison, measure: str | Measure | None, level: float) -> _Pilot:
    """The root mean square of the deviations of all pairs."""
    name = measure if measure is not None else comparison.primary or comparison.measures[0]
    part = comparison.contrasts(name)
    changes = list(part.some_changes())
    if not changes:
        raise InputError("The pilot has one system: pass two, or its scores.")
    source = f"of {comparison.shown(name)} over {counted(part.values.shape[1], 'query')}"
    source += f", {counted(len(changes), 'pair')}" if len(changes) > 1 else ""
    rows = np.stack(changes)
    units = rows if part.clusters is None else part.clusters.sums(rows)
    bounds = part.quantity.test_bounds
    differing, width = float(np.count_nonzero(units) / units.size), bounds.high - bounds.low
    pilot = _varied(rows, source, level, width, differing=differing, clusters=part.clusters)._replace(
        systems=len(comparison.systems),
        tests=1 if comparison.settings.correction == "none" else part.family.pairs,
        alpha=comparison.settings.alpha,
        binary=part.clusters is None and is_binary(part.values, *part.quantity.bounds),
    )
    if part.clusters is None:
        return pilot
    correlations = np.array([intraclass_correlation(change, part.clusters) for change in changes])
    defined = correlations[~np.isnan(correlations)]
    return pilot._replace(
        correlation=float(defined.mean()) if len(defined) else 1.0,
        per_cluster=float((part.clusters.sizes**2).sum() / part.clusters.n),
    )
