"""The matrix of all pairs of systems: how far apart they are, and whether the test can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.comparison import wording
from ranklens.report import chart_data, palette
from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.report.charts.axes import width_of
from ranklens.report.charts.figures import redrawable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName
    from ranklens.report.charts.style import Chart


_CELLS_WITH_TEXT, _MOST_NAMES = 8, 40  # systems across a matrix


@redrawable
def significance(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Every tested pair: the row's system minus the column's, with its adjusted p; filled where the test supports it."""
    name = chart_data.main_measure(comparison, measure)
    rows = [
        {**row, "label": f"{row['difference']:+.3f}", "chance": wording.p_text(row["adjusted_p"], comparison.alpha),
         "shade": row["difference"] if row["significant"] else 0.0, "star": "★" if row["significant"] else ""}
        for row in figures.drawn_rows(comparison, chart_data.significance(comparison, name))
    ]  # fmt: skip
    if comparison.baseline is not None:  # the only one that the others were tested against
        rows = [row for row in rows if row["a"] == comparison.baseline]
    order = [system for system in comparison.ranked(name) if any(row["b"] == system for row in rows)]
    across = [system for system in comparison.ranked(name) if any(row["a"] == system for row in rows)]
    figure = figures.current()
    most_cells = (
        _CELLS_WITH_TEXT if figure.width is None else min(_CELLS_WITH_TEXT, (figure.width - 60) // 40)
    )
    has_room = len(across) <= most_cells
    most = max((abs(row["difference"]) for row in rows), default=1.0) or 1.0
    shade = alt.Scale(domain=[-most, 0, most], range=list(palette.WORSE_TO_BETTER), interpolate="rgb")
    longest = width_of(max((len(system) for system in across), default=0))
    is_level = figure.width is not None and has_room and (longest + 6) * (len(across) + 1) <= figure.width
    turned = 0 if is_level else -30 if has_room and figure.width is None else -90
    is_named = len(across) <= _MOST_NAMES
    top = alt.Axis(orient="top", labelAngle=turned, labels=is_named, ticks=is_named)
    left = alt.Axis(labelFontSize=6) if len(order) > _MOST_NAMES else alt.Undefined
    base = alt.Chart(style.inline(rows)).encode(
        x=alt.X("a:N", sort=across, title=None, axis=top), y=alt.Y("b:N", sort=order, title=None, axis=left)
    )
    cells = base.mark_rect(stroke=style.LINE, strokeWidth=figure.small(1, 0.4)).encode(
        color=alt.Color("shade:Q", scale=shade, legend=None)
    )
    lines: Sequence[tuple[str, int, int]] = (("label:N", -6, 12), ("chance:N", 8, 10), ("star:N", -19, 10))
    if figure.width is not None:
        lines = (("label:N", -4, 7), ("chance:N", 4, 6))
    texts = [
        base.mark_text(dy=dy, fontSize=size, color=style.INK).encode(text=field) for field, dy, size in lines
    ]
    about = (
        "Adjusted p below the difference. Filled"
        if has_room
        else "Blue: the row is better, orange: worse; filled"
    )
    step, tall = (82, 54) if has_room else (22, 22)
    height: float = tall * len(order)
    if figure.width is not None:
        above = 20 if is_level else longest + 14
        height = 22 * len(order) + above if has_room else max(0.8 * figure.width, 7 * len(order) + 10)
        height = min(height, figures.TALLEST)
    return style.styled(
        alt.layer(cells, *(texts if has_room else [])),
        f"{comparison.shown(name)}: row − column",
        f"{about}: significant at {comparison.alpha:g}",
        width=step * max(len(across), 4 if has_room else 1),
        height=height,
    )
