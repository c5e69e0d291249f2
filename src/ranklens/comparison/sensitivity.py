"""Whether a conclusion depends on how it was reached: :meth:`Comparison.sensitivity` → :class:`Sensitivity`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.alternatives import Alternative, alternatives
from ranklens.comparison.compare import compare_scores
from ranklens.comparison.influence import influence_frame
from ranklens.comparison.orders import OrderAgreement, agreement, worst_agreement
from ranklens.errors import InputError
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import counted, plural, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.scores import Scores, Values

LEFT_OUT = "each query left out"
_MOST_MEANS = 6  # systems whose means are printed
_MOST_PAIRS = 30  # whose queries are left out one by one


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
class Sensitivity:
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
        found, claim = self.of(measure), _claim(self.comparison, measure)
        changed = [one.told for one in found if not one.holds]
        idle = self.idle.get(self.comparison.shown(measure), 0)
        rest = (
            f" {counted(idle, 'other setting')} {plural(idle, 'changes', 'change')} no value." if idle else ""
        )
        if not found:
            return f"{claim}. No setting changes any value."
        held = f"holds under {len(found) - len(changed)} of {counted(len(found), 'setting')}"
        ends = f"; it changes with {several(changed, len(changed))}" if changed else ""
        return f"{claim}: this {held}{ends}.{rest}"

    @cached_property
    def holds(self) -> bool:
        """Whether every conclusion holds under every setting."""
        return all(one.holds for one in self.outcomes)

    def to_frame(self) -> pl.DataFrame:
        """One row per measure and setting: kind, n, best, tau, swaps, pairs_changed, holds, note."""
        import polars as pl

        rows = [
            (
                *(one.measure, one.kind, one.setting, one.n, self._best(one)),
                *(one.agreement.tau, one.agreement.swaps, one.pairs_changed, one.holds, one.note),
            )
            for one in self.outcomes
        ]
        kinds = {
            "measure": pl.String,
            "kind": pl.String,
            "setting": pl.String,
            "n": pl.Int64,
            "best": pl.String,
            "tau": pl.Float64,
            "swaps": pl.Int64,
            "pairs_changed": pl.Int64,
            "holds": pl.Boolean,
            "note": pl.String,
        }
        return pl.DataFrame(rows, schema=kinds, orient="row")

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

    def __str__(self) -> str:
        return str(self.printout())

    def __repr__(self) -> str:
        return f"Sensitivity({counted(len(self.outcomes), 'setting')}, holds={self.holds})"

    def _repr_html_(self) -> str:
        return self.printout().to_html()

    @property
    def _tested(self) -> list[str]:
        return [name for name in self.comparison.measures if self.comparison.quantity(name).is_tested]

    def _best(self, one: SettingOutcome) -> str:
        quantity, names = self.comparison.quantity(one.measure), list(one.means)
        return names[quantity.best_first(list(one.means.values()))[0]]

    def _table(self, measure: str) -> Table:
        found, ranked = self.comparison, self.comparison.ranked(measure)
        shown = ranked[:_MOST_MEANS]
        own = {system: found.result(measure, system).mean for system in ranked}
        rows = [["as compared", *(f"{own[s]:.4f}" for s in shown), str(len(found.query_ids)), "", "", "", ""]]
        for one in self.of(measure):
            tau = "–" if one.agreement.tau is None else f"{one.agreement.tau:.3f}"
            numbers = [str(one.n), tau, str(one.agreement.swaps), str(one.pairs_changed)]
            means = [f"{one.means[s]:.4f}" for s in shown]
            rows.append([one.setting, *means, *numbers, "holds" if one.holds else "changes"])
        header = ["setting", *shown, "queries", "tau", "swaps", "pairs changed", "conclusion"]
        more = (
            f"The means of the {_MOST_MEANS} best systems are shown; to_frame() and means_frame() have all."
        )
        return Table(header, rows, more if len(ranked) > len(shown) else "", found.shown(measure))


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
            if compared is None or _changes_nothing(comparison, measure, compared, name, other):
                idle[comparison.shown(measure)] = idle.get(comparison.shown(measure), 0) + 1
            else:
                outcomes.append(_outcome(comparison, measure, compared, name, other))
    outcomes += [
        _left_out(comparison, name) for name in comparison.measures if comparison.quantity(name).is_tested
    ]
    places = {comparison.shown(name): place for place, name in enumerate(comparison.measures)}
    return Sensitivity(comparison, tuple(sorted(outcomes, key=lambda one: places[one.measure])), idle)


def _has_the_same_values(comparison: Comparison, other: Alternative) -> bool:
    """Whether every query has the values it had, so that there is nothing to compare; a test or correction changes what follows."""
    if other.kind in ("test", "correction") or {*other.scores} != {*comparison.systems}:
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
    settings = comparison.settings
    values = {system: comparison.aligned.of(system) for system in comparison.systems}
    given: Mapping[str, Scores | Values] = other.scores or values
    missing = next((one.policy.missing for one in other.scores.values()), None)
    clusters, queries = (
        comparison.cluster_of,
        {query for one in other.scores.values() for query in one.queries},
    )
    if clusters is not None and queries:
        clusters = {query: cluster for query, cluster in clusters.items() if query in queries}
    return compare_scores(
        given,
        list(dict.fromkeys(other.names.values())),
        baseline=settings.baseline,
        test=other.test or (None if settings.is_default else settings.test),  # type: ignore[arg-type]
        correction=other.correction or settings.correction,  # type: ignore[arg-type]
        alpha=settings.alpha,
        level=settings.level,
        family=settings.family if len(other.names) > 1 else "measure",
        clusters=clusters,
        missing=missing,
        intervals=settings.intervals,
        rng=settings.seed,
    )


def _changes_nothing(
    comparison: Comparison, measure: str, compared: Comparison, name: str, other: Alternative
) -> bool:
    """A test or correction changes no value, but may change what follows."""
    if other.kind in ("test", "correction"):
        return False
    before = comparison.aligned.by_query_id().values[measure]
    after = compared.aligned.by_query_id().values[name]
    return before.shape == after.shape and np.array_equal(before, after)


def _outcome(
    comparison: Comparison, measure: str, compared: Comparison, name: str, other: Alternative
) -> SettingOutcome:
    before, after = comparison.contrasts(measure), compared.contrasts(name)
    rows = [after.systems.index(system) for system in before.systems]
    odd = before.ahead != after.ahead[np.ix_(rows, rows)]
    changed = int(np.triu(odd | odd.T).sum())
    means = {system: after.means[row] for system, row in zip(before.systems, rows, strict=True)}
    own = before.means
    return SettingOutcome(
        comparison.shown(measure),
        other.kind,
        other.setting,
        len(compared.query_ids),
        means,
        agreement(own, list(means.values())),
        changed,
        _facts(comparison, measure) == _facts(compared, name),
        _note(comparison, other),
    )


def _note(comparison: Comparison, other: Alternative) -> str:
    """What a reader has to know of the setting: queries that no longer have a relevant document."""
    empty = max((one.applied.empty for one in other.scores.values()), default=0)
    before = max((one.applied.empty for one in comparison.scores.values()), default=0)
    if empty <= before:
        return ""
    return f"{counted(empty, 'query')} {plural(empty, 'has', 'have')} no relevant document"


def _facts(comparison: Comparison, measure: str) -> object:
    """What the conclusion says, to be compared: who beats whom; among many systems, who leads, and whether over all."""
    if len(comparison.systems) == 2 or comparison.baseline is not None:
        return {*comparison.pairs.won(measure)}
    return _leader(comparison, measure)


def _leader(comparison: Comparison, measure: str) -> tuple[str, bool]:
    """The system with the best mean, and whether it was shown to be better than all others."""
    part = comparison.contrasts(measure)
    return part.systems[part.order[0]], int(part.ahead[part.order[0]].sum()) == len(part.systems) - 1


def _claim(comparison: Comparison, measure: str) -> str:
    """The conclusion whose survival is counted."""
    from ranklens.comparison.wording import of_measure

    if len(comparison.systems) == 2 or comparison.baseline is not None:
        return of_measure(comparison, measure).claim
    best, ahead = _leader(comparison, measure)
    return (
        f"{best} is better than all others"
        if ahead
        else f"{best} has the best mean, but is not shown to be better than all others"
    )


def _left_out(comparison: Comparison, measure: str) -> SettingOutcome:
    """Every query left out in turn: the least agreement, and the queries without which the conclusion changes."""
    pairs, together = _decisive(comparison, measure)
    frames = [influence_frame(comparison, measure, a, b).filter("verdict_changes") for a, b in pairs]
    found = [set(frame["query"].to_list()) for frame in frames]
    deciding = (set.intersection if together else set.union)(*found) if found else set()
    changed = sum(map(bool, found))
    quantity = comparison.quantity(measure)
    worst, leaders = worst_agreement(
        quantity.for_tests(comparison.values(measure)), quantity.better == "lower"
    )
    best = comparison.systems.index(comparison.ranked(measure)[0])
    turned = [query for query, leader in zip(comparison.query_ids, leaders, strict=True) if leader != best]
    if len(comparison.systems) > 2 and comparison.baseline is None:
        deciding.update(turned)
    note = f"without {several([query for query in comparison.query_ids if query in deciding], 3)}"
    means = {system: comparison.result(measure, system).mean for system in comparison.systems}
    n = len(comparison.query_ids) - 1
    return SettingOutcome(
        comparison.shown(measure),
        "queries",
        LEFT_OUT,
        n,
        means,
        worst,
        changed,
        not deciding,
        note if deciding else "",
    )


def _decisive(comparison: Comparison, measure: str) -> tuple[list[tuple[str, str]], bool]:
    """The pairs that the conclusion rests on, and whether it changes only if all of them do."""
    best, *others = comparison.ranked(measure)
    if len(comparison.query_ids) < 3:
        return [], False
    if comparison.baseline is not None:
        others = [system for system in (best, *others) if system != comparison.baseline]
        return [(comparison.baseline, system) for system in others[:_MOST_PAIRS]], False
    different = comparison.told_apart(measure, best)
    rivals = [system for system in others if system not in different]
    return [(system, best) for system in (rivals or others)[:_MOST_PAIRS]], bool(rivals)
