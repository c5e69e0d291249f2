"""Whether a conclusion depends on how it was reached: :meth:`Comparison.sensitivity` → :class:`Sensitivity`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ranklens.comparison.alternatives import Alternative, alternatives
from ranklens.comparison.compare import compare_scores
from ranklens.comparison.influence import influence_frame
from ranklens.errors import InputError
from ranklens.tables.table import Lines, Printout, Shown, Table
from ranklens.words import counted, plural, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.options import Correction, Test
    from ranklens.scores import Scores, Values

LEFT_OUT = "each query left out"
_CHANGES_NO_VALUE = ("test", "correction")  # but possibly what follows from the values
_MOST_MEANS = 6  # systems whose means are printed
_MOST_PAIRS = 30  # whose queries are left out one by one


@dataclass(frozen=True)
class OrderAgreement:
    """Kendall's tau-b (None if one order has only ties), and the number of pairs that swapped places."""

    tau: float | None
    swaps: int


@dataclass(frozen=True)
class SettingOutcome:
    """One measure under one setting, next to the comparison as it was made."""

    measure: str
    kind: str  # ties, depth, relevance …
    setting: str
    n: int
    means: Mapping[str, float]
    agreement: OrderAgreement
    pairs_changed: int  # significant in only one of the two, or in the other direction
    holds: bool  # whether the conclusion is the same
    note: str = ""

    @property
    def told(self) -> str:
        """The setting, with what explains it."""
        return f"{self.setting} ({self.note})" if self.note else self.setting


@dataclass(frozen=True, eq=False)
class Sensitivity(Shown):
    """A comparison under other settings, one change at a time; made by :meth:`Comparison.sensitivity`."""

    comparison: Comparison
    outcomes: tuple[SettingOutcome, ...]
    idle: Mapping[str, int]  # settings that change no value, by measure

    def of(self, measure: str) -> list[SettingOutcome]:
        """The settings of a measure that change some value, test or correction."""
        name = self.comparison.shown(measure)
        return [one for one in self.outcomes if one.measure == name]

    def sentence(self, measure: str) -> str:
        """Under how many settings the conclusion holds, and which ones change it."""
        from ranklens.comparison.wording import of_measure

        comparison, settings = self.comparison, self.of(measure)
        if len(comparison.systems) == 2 or comparison.baseline is not None:
            claim = of_measure(comparison, measure).claim
        else:
            best, is_ahead = _leader(comparison, measure)
            claim = f"{best} has the best mean, but is not shown to be better than all others"
            claim = f"{best} is better than all others" if is_ahead else claim
        if not settings:
            return f"{claim}. No setting changes any value."
        changed = [one.told for one in settings if not one.holds]
        idle = self.idle.get(comparison.shown(measure), 0)
        rest = (
            f" {counted(idle, 'other setting')} {plural(idle, 'changes', 'change')} no value." if idle else ""
        )
        held = f"holds under {len(settings) - len(changed)} of {counted(len(settings), 'setting')}"
        ends = f"; it changes with {several(changed, len(changed))}" if changed else ""
        return f"{claim}: this {held}{ends}.{rest}"

    @cached_property
    def holds(self) -> bool:
        """Whether every conclusion holds under every setting."""
        return all(one.holds for one in self.outcomes)

    def to_frame(self) -> pl.DataFrame:
        """One row per measure and setting: kind, n, best, tau, swaps, pairs_changed, holds, note."""
        import polars as pl

        rows = []
        for one in self.outcomes:
            quantity, systems = self.comparison.quantity(one.measure), list(one.means)
            best = systems[quantity.best_first(list(one.means.values()))[0]]
            changes = (one.agreement.tau, one.agreement.swaps, one.pairs_changed, one.holds, one.note)
            rows.append((one.measure, one.kind, one.setting, one.n, best, *changes))
        names = ["measure", "kind", "setting", "n", "best", "tau", "swaps", "pairs_changed", "holds", "note"]
        kinds: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
        kinds |= {"n": pl.Int64, "tau": pl.Float64, "swaps": pl.Int64, "pairs_changed": pl.Int64}
        return pl.DataFrame(rows, schema=kinds | {"holds": pl.Boolean}, orient="row")

    def means_frame(self) -> pl.DataFrame:
        """One row per measure, setting and system: the mean there; the setting is null for the comparison as it was made."""
        import polars as pl

        rows: list[tuple[str, str | None, str, float]] = [
            (self.comparison.shown(one.measure), None, one.system, one.mean)
            for one in self.comparison.results
        ]
        rows += [
            (one.measure, one.setting, system, mean)
            for one in self.outcomes
            for system, mean in one.means.items()
        ]
        kinds = {"measure": pl.String, "setting": pl.String, "system": pl.String, "mean": pl.Float64}
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def to_dict(self) -> dict[str, object]:
        """Everything, as plain data."""
        said = {self.comparison.shown(name): self.sentence(name) for name in self._tested}
        rows = [
            {**row, "means": dict(one.means)}
            for row, one in zip(self.to_frame().to_dicts(), self.outcomes, strict=True)
        ]
        return {"format": 1, "sentences": said, "settings": rows}

    def printout(self) -> Printout:
        """A table for each measure, and a sentence."""
        tables = [self._table(name) for name in self._tested]
        said = [f"{self.comparison.shown(name)}: {self.sentence(name)}" for name in self._tested]
        return Printout([*tables, Lines("Does the conclusion depend on the settings?", said)])

    def __repr__(self) -> str:
        return f"Sensitivity({counted(len(self.outcomes), 'setting')}, holds={self.holds})"

    @property
    def _tested(self) -> list[str]:
        return [name for name in self.comparison.measures if self.comparison.quantity(name).is_tested]

    def _table(self, measure: str) -> Table:
        comparison, ranked = self.comparison, self.comparison.ranked(measure)
        shown = ranked[:_MOST_MEANS]
        own = [f"{comparison.result(measure, system).mean:.4f}" for system in shown]
        rows = [["as compared", *own, str(len(comparison.query_ids)), "", "", "", ""]]
        for one in self.of(measure):
            tau = "–" if one.agreement.tau is None else f"{one.agreement.tau:.3f}"
            numbers = [str(one.n), tau, str(one.agreement.swaps), str(one.pairs_changed)]
            means = [f"{one.means[s]:.4f}" for s in shown]
            rows.append([one.setting, *means, *numbers, "holds" if one.holds else "changes"])
        header = ["setting", *shown, "queries", "tau", "swaps", "pairs changed", "conclusion"]
        note = (
            f"The means of the {_MOST_MEANS} best systems are shown; to_frame() and means_frame() have all."
        )
        return Table(header, rows, note if len(ranked) > len(shown) else "", comparison.shown(measure))


def sensitivity(comparison: Comparison, progress: Callable[[Iterable[Any]], Iterable[Any]]) -> Sensitivity:
    """The comparison under every setting that applies."""
    if len(comparison.systems) < 2:
        raise InputError(
            f"There is only one system, {comparison.systems[0]}, so there is no conclusion to check; pass two or more runs."
        )
    outcomes: list[SettingOutcome] = []
    idle: dict[str, int] = {}
    for other in progress(list(alternatives(comparison))):
        compared = None if _has_the_same_values(comparison, other) else _compared(comparison, other)
        for measure, name in other.names.items():
            if not comparison.quantity(measure).is_tested:
                continue
            is_idle = compared is None
            if compared is not None and other.kind not in _CHANGES_NO_VALUE:
                before, after = comparison.aligned.by_query_id(), compared.aligned.by_query_id()
                is_idle = np.array_equal(before.values[measure], after.values[name])
            if compared is None or is_idle:
                idle[comparison.shown(measure)] = idle.get(comparison.shown(measure), 0) + 1
            else:
                outcomes.append(_outcome(comparison, measure, compared, name, other))
    tested = [name for name in comparison.measures if comparison.quantity(name).is_tested]
    outcomes += [_left_out(comparison, name) for name in tested]
    places = {comparison.shown(name): place for place, name in enumerate(comparison.measures)}
    return Sensitivity(comparison, tuple(sorted(outcomes, key=lambda one: places[one.measure])), idle)


def _has_the_same_values(comparison: Comparison, other: Alternative) -> bool:
    """Whether every query has the values it had, so that there is nothing to compare; a test or correction changes what follows."""
    if other.kind in _CHANGES_NO_VALUE or {*other.scores} != {*comparison.systems}:
        return False
    for system, scores in other.scores.items():
        own = comparison.scores[system]
        if list(scores.queries) != list(own.queries):
            return False
        if any(not np.array_equal(scores[name], own[measure]) for measure, name in other.names.items()):
            return False
    return True


def _compared(comparison: Comparison, other: Alternative) -> Comparison:
    """By the same tests, but for what the alternative changes."""
    values = {system: comparison.aligned.of(system) for system in comparison.systems}
    systems: Mapping[str, Scores | Values] = other.scores or values
    missing = next((one.policy.missing for one in other.scores.values()), None)
    options = comparison.settings.options()
    clusters = comparison.cluster_of or {}
    queries = {query for one in other.scores.values() for query in one.queries} or {*clusters}
    if clusters:
        options["clusters"] = {query: label for query, label in clusters.items() if query in queries}
    if other.test:
        options["test"] = cast("Test", other.test)
    if other.correction:
        options["correction"] = cast("Correction", other.correction)
    if len(other.names) == 1:
        options["family"] = "measure"
    names = list(dict.fromkeys(other.names.values()))
    return compare_scores(systems, names, missing=missing, **options)


def _outcome(
    comparison: Comparison, measure: str, compared: Comparison, name: str, other: Alternative
) -> SettingOutcome:
    before, after = comparison.contrasts(measure), compared.contrasts(name)
    rows = [after.systems.index(system) for system in before.systems]
    odd = before.ahead != after.ahead[np.ix_(rows, rows)]
    changed = int(np.triu(odd | odd.T).sum())
    means = {system: after.means[row] for system, row in zip(before.systems, rows, strict=True)}
    # A reader has to know that queries no longer have a relevant document.
    empty = max((one.applied.empty for one in other.scores.values()), default=0)
    was_empty = max((one.applied.empty for one in comparison.scores.values()), default=0)
    note = f"{counted(empty, 'query')} {plural(empty, 'has', 'have')} no relevant document"
    return SettingOutcome(
        comparison.shown(measure),
        other.kind,
        other.setting,
        len(compared.query_ids),
        means,
        agreement(before.means, list(means.values())),
        changed,
        _facts(comparison, measure) == _facts(compared, name),
        note if empty > was_empty else "",
    )


def _facts(comparison: Comparison, measure: str) -> object:
    """What the conclusion says, to be compared: who beats whom; among many systems, who leads, and whether over all."""
    if len(comparison.systems) == 2 or comparison.baseline is not None:
        return {*comparison.pairs.won(measure)}
    return _leader(comparison, measure)


def _leader(comparison: Comparison, measure: str) -> tuple[str, bool]:
    """The system with the best mean, and whether it was shown to be better than all others."""
    part = comparison.contrasts(measure)
    return part.systems[part.order[0]], int(part.ahead[part.order[0]].sum()) == len(part.systems) - 1


def _left_out(comparison: Comparison, measure: str) -> SettingOutcome:
    """Every query left out in turn: the least agreement, and the queries without which the conclusion changes."""
    best, *others = comparison.ranked(measure)
    different = comparison.told_apart(measure, best)
    rivals = [system for system in others if system not in different]
    pairs = [(system, best) for system in rivals or others]
    if comparison.baseline is not None:
        pairs = [(comparison.baseline, one) for one in (best, *others) if one != comparison.baseline]
    pairs = pairs[:_MOST_PAIRS] if len(comparison.query_ids) > 2 else []
    frames = [influence_frame(comparison, measure, a, b).filter("verdict_changes") for a, b in pairs]
    changing = [set(frame["query"].to_list()) for frame in frames]
    # A leader stops being one of several equals only where all of its rivals fall behind.
    is_joint = bool(rivals) and comparison.baseline is None
    deciding = (set.intersection if is_joint else set.union)(*changing) if changing else set()
    quantity = comparison.quantity(measure)
    worst, leaders = worst_agreement(
        quantity.for_tests(comparison.values(measure)), quantity.better == "lower"
    )
    if len(comparison.systems) > 2 and comparison.baseline is None:
        own = comparison.systems.index(best)
        deciding |= {
            query for query, leader in zip(comparison.query_ids, leaders, strict=True) if leader != own
        }
    note = f"without {several([query for query in comparison.query_ids if query in deciding], 3)}"
    means = {system: comparison.result(measure, system).mean for system in comparison.systems}
    return SettingOutcome(
        comparison.shown(measure),
        "queries",
        LEFT_OUT,
        len(comparison.query_ids) - 1,
        means,
        worst,
        sum(map(bool, changing)),
        not deciding,
        note if deciding else "",
    )


def agreement(one: Sequence[float], other: Sequence[float]) -> OrderAgreement:
    """How far the orders by two means agree.

    >>> agreement([0.3, 0.2, 0.1], [0.3, 0.1, 0.2])
    OrderAgreement(tau=0.3333333333333333, swaps=1)
    """
    first, second = _signs(np.asarray(one)), _signs(np.asarray(other))
    untied = float((first != 0).sum()) * float((second != 0).sum())
    tau = float((first * second).sum() / untied**0.5) if untied else None
    return OrderAgreement(tau, int((first * second < 0).sum()))


def worst_agreement(values: FloatArray, lower_is_better: bool) -> tuple[OrderAgreement, list[int]]:
    """Systems × queries: the least agreement of the means with those without one query, and who leads without each."""
    n = values.shape[1]
    means = values.mean(axis=1)
    first = np.argmin if lower_is_better else np.argmax
    if n < 2:
        return agreement(means, means), [int(first(means))] * n
    without = (values.sum(axis=1, keepdims=True) - values) / (n - 1)
    agreements = [agreement(means, column) for column in without.T]
    leaders = first(without, axis=0).tolist()
    return min(agreements, key=lambda one: (1.0 if one.tau is None else one.tau, -one.swaps)), leaders


def _signs(means: FloatArray) -> FloatArray:
    """Of each two systems, which has the higher mean; equal up to rounding is equal."""
    rows, columns = np.triu_indices(len(means), 1)
    gaps = means[rows] - means[columns]
    size = np.maximum(np.abs(means[rows]), np.abs(means[columns]))
    return np.where(np.abs(gaps) <= 1e-12 * size, 0.0, np.sign(gaps))
