"""Several systems over the same queries: values aligned by query id, wherever they were made."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from ranklens.errors import InputError, MeasureError, Option, PolicyError, nearest
from ranklens.metrics import Aggregate, Better, Measure, parse, parse_many
from ranklens.scores import GEOMETRIC_FLOOR, Scores, Values, interval_of, logs_with_floor, total
from ranklens.scores.value_tables import values_of
from ranklens.stats import Bounds, Clusters, Interval, cluster_interval
from ranklens.stats.inputs import LARGEST
from ranklens.stats.ppi import Labels, grouped, powered, powered_interval
from ranklens.words import counted, several

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.judging.judged import Judged

_ROUNDING = 1e-9  # by which values of other tools may leave a measure's range
# What a column is called if it counts time, money or faults.
_COST = re.compile(
    r"latency|duration|seconds|(^|_)(ms|sec|secs|time|cost|price|error|errors|tokens|loss|memory)($|_)"
)


@dataclass(frozen=True)
class Quantity:
    """What systems are compared by: a measure of the registry, or a column of numbers made elsewhere.

    >>> quantity = Quantity.named("ndcg_cut_10")
    >>> quantity.name, quantity.bounds, Quantity.named("my own score").bounds
    ('nDCG@10', Bounds(low=0.0, high=1.0), Bounds(low=-inf, high=inf))
    """

    name: str
    aggregate: Aggregate = "mean"
    bounds: Bounds = Bounds()  # noqa: RUF009  immutable
    better: Better = "higher"
    asked: str = field(default="", compare=False)  # the spelling that was asked for
    is_known: bool = field(default=False, compare=False)  # a measure of the registry

    @classmethod
    def named(cls, name: str | Measure) -> Quantity:
        try:
            measure = parse(name) if isinstance(name, str) else name
        except MeasureError:
            return cls(str(name))
        one = measure.definition
        bounds = Bounds(one.low, one.high)
        return cls(str(measure), one.aggregate, bounds, one.better, measure.asked, is_known=True)

    @property
    def is_tested(self) -> bool:
        """Whether it is a mean of some kind; sums (counts) are shown, but say nothing about chance."""
        return self.aggregate in ("mean", "geometric")

    @property
    def is_geometric(self) -> bool:
        return self.aggregate == "geometric"

    def mean(self, values: FloatArray) -> float:
        """Rounded, so that the same values in a different order have the same mean; :func:`total` adds as trec_eval does."""
        if not self.is_tested or not len(values):
            return total(self.aggregate, values)
        return settled(self.back(math.fsum(self.for_tests(values)) / len(values)))

    def interval(
        self,
        values: FloatArray,
        level: float,
        clusters: Clusters | None = None,
        labels: Labels | None = None,
    ) -> Interval | None:
        if labels is not None:
            reach = self.bounds.high - self.bounds.low
            return powered_interval(powered(labels, reach=reach), values, level, self.bounds)
        if clusters is not None and self.is_tested and len(values) > 1:
            around = cluster_interval(self.for_tests(values), clusters, level=level, bounds=self.test_bounds)
            return self.interval_back(around)
        return interval_of(self.aggregate, values, level=level, bounds=self.bounds)

    def for_tests(self, values: FloatArray) -> FloatArray:
        """The values whose mean is compared: the logarithms, for a geometric mean."""
        return logs_with_floor(values) if self.is_geometric else values

    def back(self, mean: float) -> float:
        """A mean of :meth:`for_tests` as a mean of values."""
        return math.exp(mean) if self.is_geometric else mean

    def interval_back(self, around: Interval) -> Interval:
        return replace(around, low=self.back(around.low), high=self.back(around.high))

    def best_first(self, means: Sequence[float]) -> list[int]:
        """The places of the means, the best first; of equal ones the first comes first."""
        sign = 1 if self.better == "lower" else -1
        return sorted(range(len(means)), key=lambda i: sign * means[i])

    @property
    def test_bounds(self) -> Bounds:
        """What :meth:`for_tests` can give."""
        return Bounds(float(np.log(GEOMETRIC_FLOOR)), 0.0) if self.is_geometric else self.bounds


def settled(mean: float) -> float:
    """A mean to twelve digits; later digits depend on the order of summation.

    >>> settled((0.1 + 0.2 + 0.3) / 3) == settled((0.3 + 0.2 + 0.1) / 3) == 0.2
    True
    """
    return float(f"{mean:.12g}")


@dataclass(frozen=True)
class Labelled:
    """Values by the labels of a model: of the queries that people judged, and of others."""

    queries: tuple[str, ...]  # the others
    on_human: Mapping[str, FloatArray]  # measure → systems × queries
    only: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Aligned:
    """One value for each measure, system and query."""

    systems: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    query_ids: tuple[str, ...]
    values: Mapping[str, FloatArray]  # measure → systems × queries
    missing: Mapping[str, int] = field(default_factory=dict)  # queries that a system lacks and others have
    left_out: int = 0  # queries that are not compared because a system lacks them
    dropped: Mapping[str, Sequence[str]] = field(default_factory=dict)  # reason → measures left out
    labelled: Labelled | None = None

    @property
    def every_query(self) -> tuple[str, ...]:
        """Those that people judged, then those that a model alone has labelled."""
        return self.query_ids if self.labelled is None else (*self.query_ids, *self.labelled.queries)

    def of(self, system: str) -> Values:
        """What was compared of one system."""
        row = self.systems.index(system)
        return Values(self.query_ids, {name: values[row] for name, values in self.values.items()})

    def by_query_id(self) -> Aligned:
        """The same with the queries sorted by id."""
        ids = self.query_ids
        order = sorted(range(len(ids)), key=ids.__getitem__)
        values = {name: values[:, order] for name, values in self.values.items()}
        labelled = self.labelled
        if labelled is not None:
            on_human = {name: one[:, order] for name, one in labelled.on_human.items()}
            labelled = replace(labelled, on_human=on_human)
        return replace(self, query_ids=tuple(ids[i] for i in order), values=values, labelled=labelled)

    def labels(self, cluster_of: Mapping[str, str] | None) -> dict[str, Labels] | None:
        """By measure, the values of both kinds of judgments, where a model has labelled queries."""
        if self.labelled is None:
            return None
        human, only = self.query_ids, self.labelled.queries
        groups = cluster_of and (
            [cluster_of[query] for query in human],
            [cluster_of[query] for query in only],
        )
        return {
            name: grouped(values, self.labelled.on_human[name], self.labelled.only[name], groups or None)
            for name, values in self.values.items()
        }


def align(
    systems: Mapping[str, object],
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    missing: str | None = None,
    better: Mapping[str, str] | None = None,
) -> Aligned:
    """Bring :class:`~ranklens.scores.Scores`, frames and ``{query: {measure: value}}`` to the same queries.

    ``missing`` says what happens to a query that one system has and another lacks: it counts as 0 (``"zero"``), is left
    out for all (``"skip"``) or is an error. The default is what the scores were evaluated with, else ``"zero"``; but 0 would be
    the best value of a column that is ``better`` where it is ``"lower"``, or is called like one, so such queries are left out.

    >>> aligned = align({"a": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}, "b": {"q2": {"RR": 1.0}}})
    >>> aligned.query_ids, aligned.values["RR"].tolist(), dict(aligned.missing)
    (('q1', 'q2'), [[1.0, 0.5], [0.0, 1.0]], {'b': 1})
    """
    if not systems:
        raise InputError("Nothing to compare; pass at least one system as {name: run}.")
    scores = {name: value for name, value in systems.items() if isinstance(value, Scores)}
    _refuse_different_judgments(scores)
    wanted, texts, spelled = _asked_for(measures, scores)
    tables = {name: _values_of(name, value, wanted) for name, value in systems.items()}
    names, odd = wanted, []
    if names is None:
        every_name = dict.fromkeys(name for table in tables.values() for name in table)
        names = [name for name in every_name if all(name in table for table in tables.values())]
        odd = [name for name in every_name if name not in names]
        if not names:
            listed = "; ".join(f"{name}: {', '.join(table) or 'none'}" for name, table in tables.items())
            raise MeasureError(f"The systems have no measure in common ({listed}).")
    # Mostly all are the same, which takes a tenth of the time to find out that joining them takes.
    every, *others = (list(table.queries) for table in tables.values())
    if any(other != every for other in others):
        every = list(dict.fromkeys(chain(every, *others)))
    short = {name: table.place for name, table in tables.items() if len(table.queries) < len(every)}
    lacking = {name: [query for query in every if query not in place] for name, place in short.items()}
    directed = _directed([Quantity.named(spelled.get(name, name)) for name in names], better or {})
    asked = next((s.policy.missing for s in scores.values()), "zero")
    ids = _query_ids(every, lacking, directed, missing, asked)
    over_ids = [table.over(ids, names) for table in tables.values()]
    values = {name: np.stack([table[name] for table in over_ids]) for name in names}
    # A column made elsewhere that holds 0 and 1 and nothing else is a share.
    columns = {q.name: values[q.name] for q in directed if not q.is_known}
    shares = {name for name, v in columns.items() if ((v == 0) | (v == 1)).all() and np.ptp(v) == 1}
    return Aligned(
        systems=tuple(systems),
        quantities=tuple(replace(q, bounds=Bounds(0.0, 1.0)) if q.name in shares else q for q in directed),
        query_ids=ids,
        values=values,
        missing={name: len(queries) for name, queries in lacking.items()},
        left_out=len(every) - len(ids),
        dropped={"not every system has them": odd, "they are texts": texts},
        labelled=_labelled(systems, ids, names),
    )


def _labelled(given: Mapping[str, object], ids: Sequence[str], names: Sequence[str]) -> Labelled | None:
    """The values by a model's labels, of the queries that all systems have."""
    machines = {name: one.machine for name, one in given.items() if isinstance(one, Scores)}
    if not any(machines.values()):
        return None
    without = [name for name in given if machines.get(name) is None]
    if without:
        raise InputError(
            f"Only some systems have values by the labels of a model; {several(without)} lacks them. Pass machine= for all systems or none."
        )
    tables = [one.with_measures(names).values for one in machines.values() if one is not None]
    judged = {query for one in given.values() if isinstance(one, Scores) for query in one.queries}
    queries = tuple(
        query
        for query in tables[0].queries
        if query not in judged and all(query in table.place for table in tables)
    )
    on_human, only = ([table.over(some, names) for table in tables] for some in (ids, queries))
    return Labelled(
        queries,
        {name: np.stack([table[name] for table in on_human]) for name in names},
        {name: np.stack([table[name] for table in only]) for name in names},
    )


def _directed(quantities: Sequence[Quantity], better: Mapping[str, str]) -> list[Quantity]:
    """The quantities with what was said about which values are better."""
    said = {Quantity.named(name).name: str(which) for name, which in better.items()}
    by_name = {quantity.name: quantity for quantity in quantities}
    for name, which in said.items():
        if name not in by_name:
            raise InputError(f"better: {name} is not compared: {nearest(name, by_name)}")
        if which not in get_args(Better):
            raise InputError(f"better: {which!r} is not known for {name}: {nearest(which, get_args(Better))}")
        if by_name[name].is_known and which != by_name[name].better:
            raise InputError(
                f"better: {name} is a measure whose {by_name[name].better} values are better; rename the column."
            )
    # Guessing that less of a cost is better would turn a recommendation round where the guess is wrong.
    usual = {q.name: "neither" if not q.is_known and is_cost(q.name) else q.better for q in quantities}
    return [replace(q, better=cast("Better", {**usual, **said}[q.name])) for q in quantities]


def is_cost(name: str) -> bool:
    """Whether a column is called like one that counts time, money or faults, of which less is better.

    >>> is_cost("latency_ms"), is_cost("timeliness")
    (True, False)
    """
    return _COST.search(name.lower()) is not None


def _query_ids(
    every: Sequence[str],
    lacking: Mapping[str, Sequence[str]],
    quantities: Sequence[Quantity],
    missing: str | None,
    usual: str,
) -> tuple[str, ...]:
    """The queries that are compared."""
    policy = missing or usual
    costs = [q.name for q in quantities if q.better == "lower" or (q.better == "neither" and not q.is_known)]
    if costs and lacking and policy == "zero":
        if missing == "zero":
            raise InputError(
                f"{next(iter(lacking))} lacks queries, and for {costs[0]} 0 would be the best value: choose ",
                Option("missing", "skip"),
                " or ",
                Option("missing", "error"),
                ".",
            )
        policy = "skip"
    if policy == "error" and lacking:
        name, queries = next(iter(lacking.items()))
        raise PolicyError(
            f"{name} lacks {counted(len(queries), 'query')} that another system has "
            f"(first: {queries[0]!r}). Add the missing queries, or choose ",
            Option("missing", "zero"),
            " or ",
            Option("missing", "skip"),
            ".",
            query=queries[0],
        )
    absent = {q for queries in lacking.values() for q in queries} if policy == "skip" else set()
    ids = tuple(q for q in every if q not in absent)
    if not ids:
        raise InputError(
            "The systems have no queries in common, so there is nothing to compare. Do their query ids have the same format?"
        )
    return ids


def _asked_for(
    measures: str | Measure | Sequence[str | Measure] | None, scores: Mapping[str, Scores]
) -> tuple[list[str] | None, list[str], dict[str, Measure]]:
    """The names of what can be compared, None for all; of what cannot, since it is text; and measures as they were asked for."""
    if measures is None:
        return None, [], {str(m): m for one in scores.values() for m in one.measures}
    names: dict[str, Measure | None] = {}
    for one in [measures] if isinstance(measures, (str, Measure)) else measures:
        try:
            names |= {str(m): m for m in parse_many(one)}
        except MeasureError:  # noqa: PERF203  a few names
            names[str(one)] = None  # a column from another tool may have any name
    texts = [name for name, m in names.items() if m is not None and m.definition.aggregate == "none"]
    if len(texts) == len(names):
        raise MeasureError(f"Nothing to compare: {', '.join(texts) or 'no measure'} contains no numbers.")
    spelled = {name: m for name, m in names.items() if m is not None}
    return [name for name in names if name not in texts], texts, spelled


def _values_of(system: str, source: object, wanted: Sequence[str] | None) -> Values:
    """What one system brings: scores, or values that were measured elsewhere."""
    if isinstance(source, Scores):
        names = wanted or [str(m) for m in source.measures if m.definition.aggregate != "none"]
        measured = source.with_measures(names).values
        table = Values(source.queries, {name: measured[name] for name in names})
    else:
        table = values_of(system, source)
        lacking = next((name for name in wanted or () if name not in table), None)
        if lacking is not None:
            raise MeasureError(f"{system}: there is no {lacking}: {nearest(lacking, table)}")
        for quantity in map(Quantity.named, wanted or table):
            values, (low, high) = table[quantity.name], quantity.bounds
            for at in np.flatnonzero(~np.isfinite(values))[:1]:
                raise InputError(
                    f"{system}: {quantity.name} of query {table.queries[at]!r} is not a number. Give every query a value, or leave the query out."
                )
            for at in np.flatnonzero((values < low - _ROUNDING) | (values > high + _ROUNDING))[:1]:
                raise InputError(
                    f"{system}: {quantity.name} of query {table.queries[at]!r} is {values[at]:g}, but must be between {low:g} and {high:g}. "
                    "If it is a percentage, divide it by 100; if it is another measure, rename it."
                )
    for name, values in table.items():
        for at in np.flatnonzero(np.abs(values) > LARGEST)[:1]:
            raise InputError(
                f"{system}: {name} of query {table.queries[at]!r} is {values[at]:g}; values go up to {LARGEST:g}."
            )
    return table


def _refuse_different_judgments(scores: Mapping[str, Scores]) -> None:
    """Values are comparable only if the same documents were judged in the same way; scores from a file do not say."""
    scores = {name: one for name, one in scores.items() if one.is_ranked}
    for (first, one), (name, other) in zip(scores.items(), list(scores.items())[1:], strict=False):
        a, b = one.judged, other.judged
        if (
            list(a.queries) == list(b.queries)
            and np.array_equal(a.ideal.query, b.ideal.query)
            and np.array_equal(a.ideal.grade, b.ideal.grade)
        ):
            continue
        left, right = _judgments(a), _judgments(b)
        differing = next((q for q in left if q in right and not np.array_equal(left[q], right[q])), None)
        may_lack = "skip" in (one.policy.missing, other.policy.missing)
        lacking = next((q for q in [*left, *right] if q not in left or q not in right), None)
        if differing is not None:
            what = f"query {differing!r} has different judged documents or grades"
        elif lacking is not None and not may_lack:
            what = f"query {lacking!r} is judged for only one of them"
        else:
            continue
        raise InputError(
            f"{first} and {name} were evaluated with different judgments: {what}. Evaluate both with the same ones."
        )


def _judgments(judged: Judged) -> dict[str, FloatArray]:
    edges = np.searchsorted(judged.ideal.query, np.arange(1, len(judged.queries)))
    return dict(zip(judged.queries, np.split(judged.ideal.grade, edges), strict=True))
