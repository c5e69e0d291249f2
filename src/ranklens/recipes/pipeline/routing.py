"""Routers and gates: was the right expert asked, and was retrieval rightly skipped?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.stats import Interval, share_interval
from ranklens.tables.table import Shown, Table
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl

NOWHERE = "(nowhere)"  # the destination of queries that the router did not answer


@dataclass(frozen=True)
class ExpertResult:
    """How well one expert was chosen: the queries that it should have got, and those that it got."""

    expert: str
    expected: int
    chosen: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of queries sent here that belong here; 0 if none was sent."""
        return _share(self.correct, self.chosen)

    @property
    def recall(self) -> float:
        """The share of the queries that belong here that were sent here; 0 if none belongs here."""
        return _share(self.correct, self.expected)


@dataclass(frozen=True)
class RoutingResult(Shown):
    """How well queries were sent to the right experts; returned by :func:`routing_accuracy`.

    ``accuracy`` is the mean credit of a query, ``exact`` the share of queries that went to all the right experts and to no other.
    Both are the same where every query has one expert. ``experts`` are in alphabetical order.
    """

    accuracy: float
    interval: Interval
    n: int
    counts: Mapping[tuple[str, str], int]  # (expected, chosen) → queries; several experts are joined by " + "
    experts: tuple[ExpertResult, ...]
    exact: float
    ignored: int = 0  # routed, but with no expected expert

    def confusion(self) -> Table:
        """A row for each expert that was expected, a column for each that was chosen."""
        rows, columns = (sorted({pair[side] for pair in self.counts}) for side in (0, 1))
        cells = [[row, *(str(self.counts.get((row, column), 0)) for column in columns)] for row in rows]
        return Table(["expected / chosen", *columns], cells)

    def to_frame(self) -> pl.DataFrame:
        """The confusion table as a Polars frame: expected, chosen, queries."""
        import polars as pl

        rows = [(*pair, count) for pair, count in sorted(self.counts.items())]
        return pl.DataFrame(
            rows, schema={"expected": pl.String, "chosen": pl.String, "queries": pl.Int64}, orient="row"
        )

    def table(self) -> Table:
        """Precision and recall by expert, with the accuracy as a note."""
        rows = [
            [e.expert, str(e.expected), str(e.chosen), f"{e.precision:.4f}", f"{e.recall:.4f}"]
            for e in self.experts
        ]
        exact = f" (exact {self.exact:.4f})" if self.exact != self.accuracy else ""
        note = f"accuracy {self.accuracy:.4f} {self.interval}{exact} over {counted(self.n, 'query')}{_ignored(self.ignored)}."
        return Table(["expert", "expected", "chosen", "precision", "recall"], rows, note=note)


def routing_accuracy(expected: object, actual: object, *, level: float = 0.95) -> RoutingResult:
    """The share of queries that a router sent to the right expert, with Wilson's interval.

    ``expected`` and ``actual`` are dicts ``{query: expert}`` or two lists in the same order. A query that the router did
    not answer (missing, or None) counts as wrong; one without an expected expert is ignored and counted.

    A query may have several experts, as a set or list. Its credit is then the share of those that were both expected and
    chosen among all that were either: one of two is 0.5, and so is the right one with another that was not asked for. The interval
    is Wilson's for whole credits, which is too wide rather than too narrow for parts of them.

    >>> result = routing_accuracy(["sql", "docs", "docs"], ["sql", "docs", "sql"])
    >>> round(result.accuracy, 4), result.counts["docs", "sql"]
    (0.6667, 1)
    >>> print(result.confusion())
    expected / chosen  docs  sql
    -----------------  ----  ---
    docs                  1    1
    sql                   0    1
    >>> routing_accuracy([{"sql", "docs"}, "web"], [["sql"], ["web"]]).accuracy
    0.75
    """
    pairs, ignored = _side_by_side(expected, actual, "expected", "actual")
    routes = [(_experts(right), _experts(chosen)) for _, right, chosen in pairs]
    for (query, _, _), (right, _) in zip(pairs, routes, strict=True):
        if not right:
            raise InputError(f"expected: query {query!r} has no expert; leave it out, or name one.")
    accuracy = sum(len(right & chosen) / len(right | chosen) for right, chosen in routes) / len(routes)
    times_expected, times_chosen, times_correct = Counter[str](), Counter[str](), Counter[str]()
    for right, chosen in routes:
        times_expected.update(right)
        times_chosen.update(chosen)
        times_correct.update(right & chosen)
    return RoutingResult(
        accuracy,
        share_interval(accuracy, len(routes), level=level),
        len(routes),
        dict(Counter((_label(right), _label(chosen)) for right, chosen in routes)),
        tuple(
            ExpertResult(name, times_expected[name], times_chosen[name], times_correct[name])
            for name in sorted({*times_expected, *times_chosen})
        ),
        sum(right == chosen for right, chosen in routes) / len(routes),
        ignored,
    )


def _experts(route: object) -> frozenset[str]:
    """One expert, several, or none."""
    if route is None:
        return frozenset()
    return frozenset(map(str, route if isinstance(route, (AbstractSet, list, tuple)) else [route]))


def _label(experts: frozenset[str]) -> str:
    return " + ".join(sorted(experts)) or NOWHERE


@dataclass(frozen=True)
class GateResult(Shown):
    """How well a gate skips retrieval; returned by :func:`gate_efficiency`.

    ``efficiency`` and its interval are in percent of all queries. ``precision`` and ``recall`` are of opening the gate;
    ``skip_precision`` and ``skip_recall`` of keeping it shut. A share of nothing is 0.
    """

    efficiency: float
    interval: Interval
    n: int
    rightly_skipped: int
    wrongly_skipped: int
    rightly_retrieved: int
    wrongly_retrieved: int
    ignored: int = 0

    @property
    def precision(self) -> float:
        """Of the queries with retrieval, the share that needed it."""
        return _share(self.rightly_retrieved, self.rightly_retrieved + self.wrongly_retrieved)

    @property
    def recall(self) -> float:
        """Of the queries that needed retrieval, the share that got it."""
        return _share(self.rightly_retrieved, self.rightly_retrieved + self.wrongly_skipped)

    @property
    def skip_precision(self) -> float:
        """Of the queries without retrieval, the share that did not need it."""
        return _share(self.rightly_skipped, self.rightly_skipped + self.wrongly_skipped)

    @property
    def skip_recall(self) -> float:
        """Of the queries that did not need retrieval, the share that went without it."""
        return _share(self.rightly_skipped, self.rightly_skipped + self.wrongly_retrieved)

    def to_frame(self) -> pl.DataFrame:
        """The counts as a Polars frame: needed, retrieved, queries."""
        import polars as pl

        rows = [
            (True, True, self.rightly_retrieved),
            (True, False, self.wrongly_skipped),
            (False, True, self.wrongly_retrieved),
            (False, False, self.rightly_skipped),
        ]
        return pl.DataFrame(rows, schema=["needed", "retrieved", "queries"], orient="row")

    def table(self) -> Table:
        """The counts, with efficiency, precision and recall as a note."""
        rows = [
            ["needed", str(self.rightly_retrieved), str(self.wrongly_skipped)],
            ["not needed", str(self.wrongly_retrieved), str(self.rightly_skipped)],
        ]
        low, high = self.interval
        note = (
            f"{self.efficiency:.1f}% [{low:.1f}%, {high:.1f}%] of {counted(self.n, 'query')} rightly skipped retrieval; "
            f"opening the gate: precision {self.precision:.4f}, recall {self.recall:.4f}{_ignored(self.ignored)}."
        )
        return Table(["", "retrieved", "skipped"], rows, note=note)


def gate_efficiency(needed: object, retrieved: object, *, level: float = 0.95) -> GateResult:
    """The share of all queries whose retrieval was rightly skipped, in percent, with Wilson's interval.

    ``needed`` and ``retrieved`` say for each query whether retrieval was needed and whether it took place: dicts
    ``{query: bool}`` or two lists in the same order.

    >>> result = gate_efficiency([True, True, False, False], [True, False, False, True])
    >>> result.efficiency, result.precision, result.recall
    (25.0, 0.5, 0.5)
    """
    pairs, ignored = _side_by_side(needed, retrieved, "needed", "retrieved")
    counts = Counter(
        (_yes_or_no(right, query, "needed"), _yes_or_no(done, query, "retrieved"))
        for query, right, done in pairs
    )
    n, skipped = len(pairs), counts[False, False]
    around = share_interval(skipped / n, n, level=level)
    return GateResult(
        efficiency=100 * skipped / n,
        interval=replace(around, low=100 * around.low, high=100 * around.high),
        n=n,
        rightly_skipped=skipped,
        wrongly_skipped=counts[True, False],
        rightly_retrieved=counts[True, True],
        wrongly_retrieved=counts[False, True],
        ignored=ignored,
    )


def _side_by_side(
    first: object, second: object, first_name: str, second_name: str
) -> tuple[list[tuple[object, object, object]], int]:
    """``(query, first, second)`` for each query of the first, and how many of the second it does not have."""
    ignored = 0
    pairs: list[tuple[object, object, object]]
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        pairs = [(query, value, second.get(query)) for query, value in first.items()]
        ignored = sum(query not in first for query in second)
    elif isinstance(first, Mapping) or isinstance(second, Mapping):
        raise InputError(
            f"{first_name} and {second_name}: give two dicts by query, or two lists in the same order."
        )
    else:
        left, right = _listed(first, first_name), _listed(second, second_name)
        if len(left) != len(right):
            raise InputError(
                f"{first_name} has {len(left)} entries, but {second_name} has {len(right)}; pass one per query."
            )
        pairs = [(number, *both) for number, both in enumerate(zip(left, right, strict=True), 1)]
    if not pairs:
        raise InputError(f"{first_name} is empty; pass at least one query.")
    return pairs, ignored


def _listed(values: object, name: str) -> list[object]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {values!r:.60}; pass a dict by query, or a list.")
    return list(values)


def _yes_or_no(value: object, query: object, name: str) -> bool:
    if value is None or value not in (True, False):
        raise InputError(f"{name}: query {query!r} has {value!r:.60}; it is True or False.")
    return bool(value)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _ignored(number: int) -> str:
    return f"; {counted(number, 'query')} without an expected value ignored" if number else ""
