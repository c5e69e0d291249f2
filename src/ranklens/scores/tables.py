"""The scores of one or several runs as tables, in as much width as there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ranklens.tables.table import Cell, Table
from ranklens.words import said_once, shortened

if TYPE_CHECKING:
    from ranklens.scores import Scores

Runs = Mapping[str, "Scores"]

_NARROW = "Intervals do not fit here; use --format json, csv or markdown to see them."


def means(runs: Runs, width: int | None = None) -> Table:
    """One run: one row per measure. Several: one row per run, the best mean of each measure in bold, with its interval.

    If that is wider than ``width``, intervals go below the means; if it still is, runs become columns if that helps, and
    intervals are left out.
    """
    if len(runs) == 1:
        return next(iter(runs.values())).table()
    layouts = [layout(runs, between) for between in (" ", "\n", None) for layout in (_by_run, _by_measure)]
    from ranklens.tables.terminal import natural_width

    if width is None:
        return layouts[0]
    return next((table for table in layouts if natural_width(table) <= width), layouts[-1])


def by_query(runs: Runs, *, exact: bool = False, widest: int | None = None) -> Table:
    """A row per query, after the run's name if there are several; with its text, cut to ``widest``, if that is known."""
    several, has_texts = len(runs) > 1, any(scores.texts for scores in runs.values())
    rows = []
    for name, scores in runs.items():
        for query, *numbers in scores.per_query.iter_rows():
            text = shortened(scores.texts.get(query, ""), widest)
            values = [v if isinstance(v, str) else repr(v) if exact else f"{v:.4f}" for v in numbers]
            rows.append([*([name] if several else []), query, *([text] if has_texts else []), *values])
    _, *measures = next(iter(runs.values())).per_query.columns
    first = [*(["run"] if several else []), "query", *(["question"] if has_texts else [])]
    return Table([*first, *measures], rows, note="" if exact else _note(runs), left=len(first))


def exact_means(runs: Runs) -> Table:
    """One row per run and measure, with all digits, for other programs."""
    rows = [
        [name, *("" if value is None else str(value) for value in row)]
        for name, scores in runs.items()
        for row in scores.to_frame().iter_rows()
    ]
    return Table(["run", "measure", "mean", "low", "high"], rows)


def by_run(runs: Runs, called: str = "run") -> Table:
    """A row per run, even if there is only one; ``called`` is the name of the first column."""
    table = _by_run(runs, " ")
    return replace(table, header=[called, *table.header[1:]])


def _by_run(runs: Runs, between: str | None) -> Table:
    columns = _columns(runs, between)
    rows = [[name, *(column[i] for column in columns.values())] for i, name in enumerate(runs)]
    return Table(["run", *columns], rows, note=_note(runs, narrow=between is None))


def _by_measure(runs: Runs, between: str | None) -> Table:
    rows = [[measure, *cells] for measure, cells in _columns(runs, between).items()]
    return Table(["measure", *runs], rows, note=_note(runs, narrow=between is None))


def _columns(runs: Runs, between: str | None) -> dict[str, list[str]]:
    """The cells of each measure, one per run; ``between`` separates mean and interval, None omits the interval."""
    tables = [scores.table() for scores in runs.values()]
    measures = {m.shown: m for m in next(iter(runs.values())).measures}
    columns: dict[str, list[str]] = {}
    for i, (name, *_) in enumerate(tables[0].rows):
        better, best = measures[name].definition.better, set()
        rounded = {run: round(scores.mean[str(measures[name])], 4) for run, scores in runs.items()}
        if better != "neither" and len({*rounded.values()}) > 1:
            leading = (max if better == "higher" else min)(rounded.values())
            best = {run for run, mean in rounded.items() if mean == leading}
        cells = [table.rows[i] for table in tables]
        shown = [f"{mean}{between}{around}".rstrip() if between else mean for _, mean, around in cells]
        columns[name] = [Cell(text, strong=run in best) for text, run in zip(shown, runs, strict=True)]
    return columns


def _note(runs: Runs, *, narrow: bool = False) -> str:
    said = said_once({name: scores.details() for name, scores in runs.items()})
    return "\n".join([*said, _NARROW] if narrow else said)
