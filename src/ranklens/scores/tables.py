"""The scores of one or several runs as tables, in as much width as there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ranklens.tables.table import Cell, Table
from ranklens.words import said_once, shortened

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.scores import Scores

Runs = Mapping[str, "Scores"]

_NARROW = "Intervals do not fit here; use --format json, csv or markdown to see them."


def means(found: Runs, width: int | None = None) -> Table:
    """One run: one row per measure. Several: one row per run, the best mean of each measure in bold, with its interval.

    If that is wider than ``width``, intervals go below the means; if it still is, runs become columns if that helps, and
    intervals are left out.
    """
    if len(found) == 1:
        return next(iter(found.values())).table()
    layouts = [_by_run(found, " "), _by_measure(found, " "), _by_run(found, "\n"), _by_measure(found, "\n")]
    layouts += [_by_run(found, None), _by_measure(found, None)]
    from ranklens.tables.terminal import natural_width

    if width is None:
        return layouts[0]
    return next((table for table in layouts if natural_width(table) <= width), layouts[-1])


def by_query(found: Runs, *, exact: bool = False, widest: int | None = None) -> Table:
    """A row per query, after the run's name if there are several; with its text, cut to ``widest``, if that is known."""
    several, has_texts = len(found) > 1, any(scores.texts for scores in found.values())
    rows = []
    for name, scores in found.items():
        for query, *numbers in scores.per_query.iter_rows():
            text = shortened(scores.texts.get(query, ""), widest)
            values = [v if isinstance(v, str) else repr(v) if exact else f"{v:.4f}" for v in numbers]
            rows.append([*([name] if several else []), query, *([text] if has_texts else []), *values])
    _, *measures = next(iter(found.values())).per_query.columns
    first = [*(["run"] if several else []), "query", *(["question"] if has_texts else [])]
    return Table([*first, *measures], rows, note="" if exact else _note(found), left=len(first))


def exact_means(found: Runs) -> Table:
    """One row per run and measure, with all digits, for other programs."""
    rows = [
        [name, *("" if value is None else str(value) for value in row)]
        for name, scores in found.items()
        for row in scores.to_frame().iter_rows()
    ]
    return Table(["run", "measure", "mean", "low", "high"], rows)


def by_run(found: Runs, called: str = "run") -> Table:
    """A row per run, even if there is only one; ``called`` is the name of the first column."""
    table = _by_run(found, " ")
    return replace(table, header=[called, *table.header[1:]])


def _by_run(found: Runs, between: str | None) -> Table:
    columns = _columns(found, between)
    rows = [[name, *(column[i] for column in columns.values())] for i, name in enumerate(found)]
    return Table(["run", *columns], rows, note=_note(found, narrow=between is None))


def _by_measure(found: Runs, between: str | None) -> Table:
    rows = [[measure, *cells] for measure, cells in _columns(found, between).items()]
    return Table(["measure", *found], rows, note=_note(found, narrow=between is None))


def _columns(found: Runs, between: str | None) -> dict[str, list[str]]:
    """The cells of each measure, one per run; ``between`` separates mean and interval, None omits the interval."""
    tables = [scores.table() for scores in found.values()]
    measures = {m.shown: m for m in next(iter(found.values())).measures}
    columns: dict[str, list[str]] = {}
    for i, (name, *_) in enumerate(tables[0].rows):
        best = _best(measures[name], found)
        cells = [table.rows[i] for table in tables]
        shown = [f"{mean}{between}{around}".rstrip() if between else mean for _, mean, around in cells]
        columns[name] = [Cell(text, strong=run in best) for text, run in zip(shown, found, strict=True)]
    return columns


def _best(measure: Measure, found: Runs) -> set[str]:
    """The runs whose shown mean is best; none if all are the same or neither direction is better."""
    shown = {run: round(scores.mean[str(measure)], 4) for run, scores in found.items()}
    if measure.definition.better == "neither" or len({*shown.values()}) == 1:
        return set()
    pick = max if measure.definition.better == "higher" else min
    return {run for run, mean in shown.items() if mean == pick(shown.values())}


def _note(found: Runs, *, narrow: bool = False) -> str:
    said = said_once({name: scores.details() for name, scores in found.items()})
    return "\n".join([*said, _NARROW] if narrow else said)
