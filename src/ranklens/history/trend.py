"""A measure over time: each entry against the one before it, by a paired test on the queries that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranklens.errors import InputError, nearest
from ranklens.history.differences import Differences, differences
from ranklens.registry import Measure, parse
from ranklens.scores import logs_with_floor
from ranklens.stats.corrections import adjust
from ranklens.stats.paired import paired_test
from ranklens.words import counted, p_cell

if TYPE_CHECKING:
    import polars as pl

    from ranklens.history.entries import Entry
    from ranklens.history.record import Record
    from ranklens.history.store import History
    from ranklens.report.charts.style import Chart
    from ranklens.tables.table import Printout, Table

Flag = Literal["drop", "rise", ""]
_BAR = 20  # letters
_SEED = 0  # the same history gives the same p-values


@dataclass(frozen=True)
class Step:
    """From one entry to another: the mean difference over the queries in common, and how likely it is by chance.

    ``p_value`` is corrected for the number of steps (Holm); None, like ``change``, if the two cannot be compared.
    """

    before: int
    changes: Differences
    queries: int
    change: float | None
    p_value: float | None
    flag: Flag = ""


@dataclass(frozen=True)
class Point:
    """An entry of a trend; the first of its system has no step."""

    entry: Entry
    mean: float
    low: float | None
    high: float | None
    step: Step | None


@dataclass(frozen=True)
class Trend:
    """A measure over time; made by :meth:`History.trend`.

    A drop is flagged by a randomisation test on the queries that two neighbours have in common with the same judgments,
    corrected over all steps. Entries with another policy are shown, but never compared.
    """

    measure: Measure
    points: tuple[Point, ...]
    alpha: float = 0.05

    @property
    def drops(self) -> list[Point]:
        """Where the measure got significantly worse."""
        return [point for point in self.points if point.step is not None and point.step.flag == "drop"]

    def table(self) -> Table:
        """One row per entry, with a bar for the mean."""
        from ranklens.tables.table import Table

        high = max([point.mean for point in self.points], default=0.0)
        header = [
            "entry",
            "date",
            "system",
            "commit",
            "label",
            "",
            self.measure.shown,
            "95% interval",
            "change",
            "p",
            "",
        ]
        rows = [_row(point, high) for point in self.points]
        return Table(header, rows, note=self._note(), left=6)

    def printout(self) -> Printout:
        """The table, and what else changed between entries."""
        from ranklens.tables.table import Lines, Printout

        noted = [(point.entry.id, _apart(point.step)) for point in self.points if point.step is not None]
        lines = [f"#{number}: {note}" for number, note in noted if note]
        return Printout([self.table(), *([Lines("What else changed", lines)] if lines else [])])

    def to_frame(self) -> pl.DataFrame:
        """One row per entry: entry, at, system, commit, label, mean, low, high, before, queries, change, p_value, flag, note."""
        import polars as pl

        schema: dict[str, Any] = {
            "entry": pl.Int64, "at": pl.Datetime("us", "UTC"), "system": pl.String, "commit": pl.String, "label": pl.String,
            "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "before": pl.Int64, "queries": pl.Int64,
            "change": pl.Float64, "p_value": pl.Float64, "flag": pl.String, "note": pl.String,
        }  # fmt: skip
        return pl.DataFrame([_cells(point) for point in self.points], schema=schema)

    def chart(self) -> Chart:
        """Means with intervals over time, drops marked; needs the extra ``plots``."""
        from ranklens.report.charts.trend import trend_chart

        return trend_chart(self)

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()

    def _note(self) -> str:
        steps = [point.step for point in self.points if point.step is not None]
        tested = [step for step in steps if step.p_value is not None]
        said = [
            f"{counted(len(self.drops), 'drop')} in {counted(len(tested), 'step')}; each entry is compared with the one before it of "
            f"the same system, by a randomisation test on the queries in common (Holm over all steps, alpha {self.alpha:g})."
        ]
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
    alpha: float = 0.05,
) -> Trend:
    """The entries that have a measure, oldest first, each compared with the one before it of the same system."""
    entries = history.entries(system=system)
    if not entries:
        known = dict.fromkeys(entry.system for entry in history.entries())
        what = (
            f"of {system!r}: {nearest(system, known)}"
            if system is not None and known
            else "yet. Add one with --save."
        )
        raise InputError(f"{history.path} holds no entry {what}")
    wanted = _measure(entries, measure)
    chosen = [entry for entry in entries if str(wanted) in entry.measures][-(last or len(entries)) :]
    steps = _tested(_steps(history, chosen, wanted), wanted, alpha)
    points = []
    for entry, step in zip(chosen, steps, strict=True):
        found = entry.measures[str(wanted)]
        points.append(Point(entry, found.mean, found.low, found.high, step))
    return Trend(wanted, tuple(points), alpha)


def _measure(entries: Sequence[Entry], given: str | Measure | None) -> Measure:
    known = list(dict.fromkeys(name for entry in reversed(entries) for name in entry.measures))
    wanted = parse(known[0] if given is None else given) if not isinstance(given, Measure) else given
    if str(wanted) not in known:
        raise InputError(f"{wanted} is not in the history: {nearest(str(wanted), known)}")
    return wanted


def _steps(history: History, entries: Sequence[Entry], measure: Measure) -> list[Step | None]:
    """From each entry's predecessor of the same system; p-values as they are."""
    before: dict[str, tuple[int, Record]] = {}
    found: list[Step | None] = []
    for entry in entries:
        record = history.record(entry)
        previous = before.get(entry.system)
        found.append(None if previous is None else _step(*previous, record, measure))
        before[entry.system] = (entry.id, record)
    return found


def _step(number: int, before: Record, now: Record, measure: Measure) -> Step:
    changes = differences(before, now)
    if changes.policy or not changes.common:
        return Step(number, changes, len(changes.common), None, None)
    a, b = (
        record.of_measure(measure)[[record.place[query] for query in changes.common]]
        for record in (before, now)
    )
    if measure.definition.aggregate == "geometric":
        a, b = logs_with_floor(a), logs_with_floor(b)
    p = paired_test(a, b, rng=_SEED, resamples=20_000).p_value
    return Step(number, changes, len(changes.common), float((b - a).mean()), p)


def _tested(steps: Sequence[Step | None], measure: Measure, alpha: float) -> list[Step | None]:
    """The steps with corrected p-values, and a flag where they are small."""
    raw = [step.p_value for step in steps if step is not None and step.p_value is not None]
    corrected = iter(adjust(np.array(raw), method="holm").tolist() if raw else [])
    sign = -1.0 if measure.definition.better == "lower" else 1.0
    done: list[Step | None] = []
    for step in steps:
        if step is None or step.p_value is None or step.change is None:
            done.append(step)
            continue
        p = next(corrected)
        flag: Flag = "" if p > alpha or not step.change else "drop" if sign * step.change < 0 else "rise"
        done.append(replace(step, p_value=p, flag=flag))
    return done


def _row(point: Point, high: float) -> list[str]:
    cells = _cells(point)
    filled = round(_BAR * max(point.mean, 0.0) / high) if high > 0 else 0
    around = "" if point.low is None or point.high is None else f"[{point.low:.4f}, {point.high:.4f}]"
    change, p = cells["change"], cells["p_value"]
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
        cells["flag"].upper(),
    ]


def _cells(point: Point) -> dict[str, Any]:
    entry, step = point.entry, point.step
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
        "flag": "" if step is None else step.flag,
        "note": "" if step is None else _apart(step),
    }


def _apart(step: Step) -> str:
    """What else changed; nothing that differs is compared without a word."""
    if not step.changes.any:
        return ""
    if step.p_value is None:
        return f"not compared with #{step.before}: {step.changes}"
    return f"compared on {counted(step.queries, 'query')} with the same judgments: {step.changes}"
