"""Quality against the time that an answer takes."""

from __future__ import annotations

from itertools import combinations
from math import isfinite, log10
from typing import TYPE_CHECKING

from ranklens.report import chart_data
from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.report.charts.figures import redrawable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName, Row
    from ranklens.report.charts.style import Chart


@redrawable
def latency(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Quality against seconds per query (median, a line to p95), with the Pareto front: systems that no other beats in both."""
    name = chart_data.main_measure(comparison, measure)
    rows = figures.drawn_rows(comparison, chart_data.latency(comparison, name))
    words = "datum.value < 1 ? format(1000 * datum.value, '~g') + ' ms' : format(datum.value, '~g') + ' s'"
    # 1, 2 and 5 times the powers of ten that the times cover; the powers alone if there are many.
    times = [row[end] for row in rows for end in ("p50", "p95") if row[end] > 0] or [1.0]
    steps = [base * 10**power for power in range(-9, 6) for base in (1, 2, 5)]
    covered = [step for step in steps if min(times) / 1.5 <= step <= max(times) * 1.5]
    powers = [step for step in covered if round(log10(step), 9).is_integer()]
    axis = alt.Axis(values=covered if len(covered) <= 8 else powers, grid=False, labelExpr=words)
    scale = alt.Scale(type="log", nice=False, padding=24)
    x = alt.X("p50:Q", title="time per query (median, line to p95)", scale=scale, axis=axis)
    y = alt.Y("mean:Q", title=comparison.shown(name), scale=alt.Scale(zero=False))
    # Labels next to crowded points would overlap, so these get a legend.
    crowded = _crowded(rows)
    base = alt.Chart(style.inline(rows)).encode(color=style.colour(comparison, legend=crowded))
    best = alt.Chart(style.inline([row for row in rows if row["front"]]))
    front = best.mark_line(strokeDash=[5, 4], color=style.MUTED).encode(x=x, y=y, order="p50:Q")
    across = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=x, x2="p95:Q", y=y)
    upright = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=figures.current().small(130, 36), opacity=1).encode(
        x=x, y=y, shape=style.shape(comparison, legend=crowded)
    )
    text = alt.Chart(style.inline(rows)).encode(x=x, y=y, text="system:N")
    halo = text.mark_text(align="left", dx=9, dy=-10, stroke="white", strokeWidth=4)
    names = [halo, text.mark_text(align="left", dx=9, dy=-10, color=style.INK)]
    return style.styled(
        alt.layer(front, across, upright, points, *([] if crowded else names)),
        f"{comparison.shown(name)} against latency",
        "Up and to the left is better; the dashed line joins the systems that no other beats on both",
    )


def _crowded(rows: Sequence[Row]) -> bool:
    """Whether two points are closer than the size of a name, in the chart of the usual size."""
    times = [log10(max(row["p50"], 1e-9)) for row in rows]
    width = (max(times, default=0) - min(times, default=0)) or 1
    ends = [row[end] for row in rows for end in ("low", "high", "mean") if isfinite(row[end])]
    height = (max(ends, default=0) - min(ends, default=0)) or 1
    places = [(520 * t / width, 300 * row["mean"] / height) for t, row in zip(times, rows, strict=True)]
    return any(abs(p[0] - q[0]) < 90 and abs(p[1] - q[1]) < 18 for p, q in combinations(places, 2))
