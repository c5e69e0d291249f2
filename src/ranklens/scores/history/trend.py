"""A measure over time: each entry against the one before it and against a reference, by paired tests on the queries in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranklens.errors import InputError, nearest
from ranklens.metrics import Measure, parse
from ranklens.scores import logs_with_floor
from ranklens.scores.history.differences import Differences, differences
from ranklens.stats import inputs
from ranklens.stats.corrections import share_of_look
from ranklens.stats.randomization import EXACT_UP_TO
from ranklens.stats.significance import paired_test
from ranklens.tables.table import Lines, Printout, Shown, Table
from ranklens.words import counted, p_cell

if TYPE_CHECKING:
    import polars as pl

    from ranklens.scores.history.entries import Entry
    from ranklens.scores.history.record import Record
    from ranklens.scores.history.store import History
    from ranklens.upward import Chart

Flag = Literal["drop", "rise", ""]
_BAR = 8  # letters
_TESTS = 2  # of each new entry: against the one before it and against the reference


@dataclass(frozen=True)
class TrendStep:
    """From one entry to another: the mean difference over the queries in common, and how likely it is by chance.

    ``p_value`` is corrected for the looks up to this one, and never changes when entries are added; None, like ``change``, if the
    two cannot be compared. ``flag`` says that the difference is significant, and in which direction.
    """

    before: int
    changes: Differences
    queries: int
    change: float | None
    p_value: float | None
    moved: int = 0  # queries whose value changed
    flag: Flag = ""


@dataclass(frozen=True)
class Point:
    """An entry of a trend.

    ``step`` compares it with the entry before it, ``reference`` with the reference, if that is another entry. ``flag`` is that of the
    step, or "drop" where the measure first is significantly below the reference.
    """

    entry: Entry
    mean: float
    low: float | None
    high: float | None
    step: TrendStep | None = None
    reference: TrendStep | None = None
    flag: Flag = ""


@dataclass(frozen=True)
class Trend(Shown):
    """A measure over time; made by :meth:`History.trend`.

    Each entry is compared with the one before it of the same system, and with the best so far or a reference that you name. A
    system that never changes is flagged with a probability of at most ``alpha``, however many entries are added. Entries with
    another policy are shown, but never compared.
    """

    measure: Measure
    points: tuple[Point, ...]
    alpha: float = 0.05
    pinned: str | None = None

    @property
    def drops(self) -> list[Point]:
        """Where the measure got significantly worse than before, or first was significantly below the reference."""
        return [point for point in self.points if point.flag == "drop"]

    def table(self) -> Table:
        """One row per entry, with a bar for the mean."""
        high = max([point.mean for point in self.points], default=0.0)
        origin, tests = ["entry", "date", "system", "commit", "label", ""], ["95% interval", "change", "p"]
        against = "vs best" if self.pinned is None else "vs reference"
        header = [*origin, self.measure.shown, *tests, against, ""]
        rows = [_row(point, high) for point in self.points]
        return Table(header, rows, note=self._note(), left=6)

    def printout(self) -> Printout:
        """The table, and what else changed between entries."""
        noted = [(point.entry.id, _apart(point.step)) for point in self.points if point.step is not None]
        lines = [f"#{number}: {note}" for number, note in noted if note]
        return Printout([self.table(), *([Lines("What else changed", lines)] if lines else [])])

    def to_frame(self) -> pl.DataFrame:
        """One row per entry: entry, at, system, commit, label, mean, low, high, before, queries, change, p_value, reference,
        reference_change, reference_p_value, below_reference, flag, note.
        """
        import polars as pl

        schema: dict[str, pl.DataType | type[pl.DataType]] = {
            "entry": pl.Int64, "at": pl.Datetime("us", "UTC"), "system": pl.String, "commit": pl.String, "label": pl.String,
            "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "before": pl.Int64, "queries": pl.Int64,
            "change": pl.Float64, "p_value": pl.Float64, "reference": pl.Int64, "reference_change": pl.Float64,
            "reference_p_value": pl.Float64, "below_reference": pl.Boolean, "flag": pl.String, "note": pl.String,
        }  # fmt: skip
        return pl.DataFrame([_cells(point) for point in self.points], schema=schema)

    def chart(self) -> Chart:
        """Means with intervals over time, drops marked; needs the extra ``plots``."""
        from ranklens.upward import trend_chart

        return trend_chart(self)

    def _note(self) -> str:
        steps = [point.step for point in self.points if point.step is not None]
        tested = [step for step in steps if step.p_value is not None]
        reference = "the best so far" if self.pinned is None else f"the reference {self.pinned}"
        said = [
            f"{counted(len(self.drops), 'drop')} in {counted(len(tested), 'step')}. Each entry is compared with the one before it and "
            f"with {reference}, on the queries in common. p is corrected for all looks up to that entry, and later entries do not "
            f"change it: without a true change, any flag has a probability of at most {self.alpha:g} per system."
        ]
        last = self.points[-1].reference if self.points else None
        if last is not None and last.flag == "drop":
            said.append(f"The last entry is significantly below #{last.before}.")
        apart = len(steps) - len(tested)
        if apart:
            said.append(
                f"{counted(apart, 'step is', 'steps are')} not compared: the policy differs, or no query has the same judgments."
            )
        return " ".join(said)


def trend(
    history: History,
    measure: str | Measure | None = None,
    *,
    system: str | None = None,
    last: int | None = None,
    reference: str | None = None,
    alpha: float = 0.05,
) -> Trend:
    """The entries that have a measure, oldest first, each compared with the one before it of the same system and with a reference.

    ``reference`` names an entry, as in :meth:`History.find`, with which later ones are compared; by default it is the best so far.
    ``last`` shows only the last entries. They keep their flags.
    """
    entries = history.entries(system=system)
    if not entries:
        systems = dict.fromkeys(entry.system for entry in history.entries())
        what = "yet. Add one with --save."
        if system is not None and systems:
            what = f"of {system!r}: {nearest(system, systems)}"
        raise InputError(f"{history.path} contains no entry {what}")
    wanted = _measure(entries, measure)
    chosen = [entry for entry in entries if str(wanted) in entry.measures]
    watches = {entry.system: Watch(wanted, alpha) for entry in chosen}
    pinned = {} if reference is None else {name: history.find(reference, system=name) for name in watches}
    points = []
    for entry in chosen:
        summary, watch, pin = entry.measures[str(wanted)], watches[entry.system], pinned.get(entry.system)
        if pin is not None and (entry.at, entry.id) > (pin.at, pin.id):
            watch.pin(pin.id, history.record(pinned.pop(entry.system)))
        compared = watch.look(entry.id, history.record(entry))
        points.append(Point(entry, summary.mean, summary.low, summary.high, *compared))
    return Trend(wanted, tuple(points[-(last or len(points)) :]), alpha, reference)


def _measure(entries: Sequence[Entry], asked: str | Measure | None) -> Measure:
    names = list(dict.fromkeys(name for entry in reversed(entries) for name in entry.measures))
    wanted = parse(names[0] if asked is None else asked) if not isinstance(asked, Measure) else asked
    if str(wanted) not in names:
        raise InputError(f"{wanted} is not in the history: {nearest(str(wanted), names)}")
    return wanted


class Watch:
    """The entries of one system, seen one after the other: each is tested against the one before it and against a reference.

    Every look spends a share of alpha that depends only on its number, so a verdict never changes later. An entry that repeats the
    one before it spends nothing. The reference is the best entry so far until :meth:`pin` fixes it. The best was picked for its
    values, so p-values against it are corrected for the number of entries it was picked from.
    """

    def __init__(self, measure: Measure, alpha: float) -> None:
        self._measure, self._alpha = measure, alpha
        self._before: tuple[int, Record] | None = None
        self._reference: tuple[int, Record] | None = None
        self._against: TrendStep | None = None  # the comparison of the last entry with the reference
        self._is_pinned = False
        self._picked_from = 1  # how many entries the reference is the best of
        self._looks = 0

    def pin(self, number: int, record: Record) -> None:
        """Compare the entries to come with this one."""
        self._reference, self._against, self._is_pinned, self._picked_from = (number, record), None, True, 1

    def look(self, number: int, record: Record) -> tuple[TrendStep | None, TrendStep | None, Flag]:
        """Compare the next entry with the one before it and with the reference, and raise a flag if it changed significantly."""
        before, self._before = self._before, (number, record)
        step = None if before is None else _step(*before, record, self._measure)
        if step is not None and step.p_value is not None and not (step.moved or step.changes.any):
            return step, self._against, ""
        is_before = before is not None and self._reference is not None and self._reference[0] == before[0]
        against = None
        if self._reference is not None and not is_before:
            against = _step(*self._reference, record, self._measure)
        self._looks += any(one is not None and one.moved for one in (step, against))
        step = self._judged(step, _TESTS)
        against = step if is_before else self._judged(against, _TESTS * self._picked_from)
        was_below = self._against is not None and self._against.flag == "drop"
        self._against = against
        if not self._is_pinned:
            # The new entry becomes the reference if it is better, or if the reference cannot be compared with it.
            if against is None or against.change is None:
                self._reference, self._picked_from = (number, record), 1
            else:
                self._picked_from += 1
                if self._sign * against.change > 0:
                    self._reference = number, record
        if step is not None and step.flag:
            return step, against, step.flag
        falls = against is not None and against.flag == "drop" and not was_below
        return step, against, "drop" if falls else ""

    def _judged(self, step: TrendStep | None, times: int) -> TrendStep | None:
        """The p-value corrected for the looks so far and for this many tests in each; and a flag if it is small."""
        if step is None or step.p_value is None or step.change is None or not step.moved:
            return step
        p = min(1.0, step.p_value * times / share_of_look(self._looks))
        flag: Flag = "" if p > self._alpha else "rise" if self._sign * step.change > 0 else "drop"
        return replace(step, p_value=p, flag=flag)

    @property
    def _sign(self) -> int:
        return -1 if self._measure.definition.better == "lower" else 1


def _step(number: int, before: Record, now: Record, measure: Measure) -> TrendStep:
    """From one entry to another, with the p-value of a single test."""
    changes = differences(before, now)
    if changes.policy or not changes.common:
        return TrendStep(number, changes, len(changes.common), None, None)
    a, b = (record.of_measure(measure, changes.common) for record in (before, now))
    if measure.definition.aggregate == "geometric":
        a, b = logs_with_floor(a), logs_with_floor(b)
    moved = int(np.count_nonzero(inputs.differences(a, b)))
    # A p-value from resampling cannot be as small as late looks require.
    method = "randomization" if moved <= EXACT_UP_TO else "t"
    p = paired_test(a, b, method=method).p_value
    return TrendStep(number, changes, len(changes.common), float((b - a).mean()), p, moved)


def _row(point: Point, high: float) -> list[str]:
    cells = _cells(point)
    filled = round(_BAR * max(point.mean, 0.0) / high) if high > 0 else 0
    around = "" if point.low is None or point.high is None else f"[{point.low:.4f}, {point.high:.4f}]"
    change, p, against = cells["change"], cells["p_value"], point.reference
    return [
        f"#{point.entry.id}",
        cells["at"].strftime("%Y-%m-%d %H:%M"),
        point.entry.system,
        point.entry.short_commit,
        point.entry.label or "",
        "█" * filled + "░" * (_BAR - filled),
        f"{point.mean:.4f}",
        around,
        "" if change is None else f"{change:+.4f}",
        "" if p is None else p_cell(p),
        "" if against is None or against.change is None else f"{against.change:+.4f} #{against.before}",
        point.flag.upper()
        or ("" if against is None or not against.flag else "below" if against.flag == "drop" else "above"),
    ]


def _cells(point: Point) -> dict[str, Any]:
    entry, step, against = point.entry, point.step, point.reference
    return {
        "entry": entry.id,
        "at": datetime.fromtimestamp(entry.at, tz=timezone.utc),
        "system": entry.system,
        "commit": entry.commit,
        "label": entry.label,
        "mean": point.mean,
        "low": point.low,
        "high": point.high,
        "before": None if step is None else step.before,
        "queries": None if step is None else step.queries,
        "change": None if step is None else step.change,
        "p_value": None if step is None else step.p_value,
        "reference": None if against is None else against.before,
        "reference_change": None if against is None else against.change,
        "reference_p_value": None if against is None else against.p_value,
        "below_reference": None if against is None else against.flag == "drop",
        "flag": point.flag,
        "note": "" if step is None else _apart(step),
    }


def _apart(step: TrendStep) -> str:
    """What else changed; nothing that differs is compared without a word."""
    if not step.changes.any:
        return ""
    if step.p_value is None:
        return f"not compared with #{step.before}: {step.changes}"
    return f"compared on {counted(step.queries, 'query')} with the same judgments: {step.changes}"
