"""A measure over time, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.report import palette
from ranklens.report.charts import library as alt
from ranklens.report.charts import style
from ranklens.scores.history.entries import COMMIT_LETTERS
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.report.charts.style import Chart
    from ranklens.scores.history.trend import Trend

_DROP, _RISE = palette.SYSTEMS[1], palette.SYSTEMS[2]


def trend_chart(trend: Trend) -> Chart:
    """Means with their intervals by entry, one line per system; significant drops and rises are marked."""
    rows = [
        {
            **row,
            "at": row["at"].isoformat(),
            "label": row["label"] or "",
            "commit": (row["commit"] or "")[:COMMIT_LETTERS],
        }
        for row in trend.to_frame().to_dicts()
    ]
    # Entries of a system that are compared with each other, one after the other, form a stretch.
    stretch = dict.fromkeys((row["system"] for row in rows), 0)
    for row in rows:
        stretch[row["system"]] += row["before"] is not None and row["p_value"] is None
        row["stretch"] = stretch[row["system"]]
    systems = list(stretch)
    looks = [style.COLOURS[number % len(style.COLOURS)] for number in range(len(systems))]
    legend = alt.Legend(title=None) if len(systems) > 1 else None
    colour = alt.Color("system:N", scale=alt.Scale(domain=systems, range=looks), legend=legend)
    order = [row["entry"] for row in rows]
    axis = alt.Axis(labelExpr="'#' + datum.value", labelAngle=0)
    texts = ("entry:O", "at:N", "system:N", "commit:N", "label:N")
    base = alt.Chart(style.inline(rows)).encode(
        x=alt.X("entry:O", title="entry", sort=order, axis=axis),
        tooltip=[*texts, alt.Tooltip("mean:Q", format=".4f"), "note:N"],
    )
    y = alt.Y("mean:Q", title=trend.measure.shown, scale=alt.Scale(zero=False))
    reach = base.mark_rule(strokeWidth=6, opacity=0.25, strokeCap="round").encode(
        y=alt.Y("low:Q", title=trend.measure.shown), y2="high:Q", color=colour
    )
    # No line leads to an entry that is not compared with the one before it.
    line = base.mark_line(strokeWidth=2).encode(y=y, color=colour, detail="stretch:N")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(y=y, color=colour)
    flagged = alt.Chart(style.inline([row for row in rows if row["flag"]])).encode(
        x=alt.X("entry:O", sort=order), y="mean:Q"
    )
    shades = alt.Scale(domain=["drop", "rise"], range=[_DROP, _RISE])
    marks = flagged.mark_point(size=260, strokeWidth=2.5, filled=False).encode(
        stroke=alt.Stroke("flag:N", scale=shades, legend=alt.Legend(title=None))
    )
    words = flagged.mark_text(dy=-18, fontWeight="bold", color=style.INK).encode(text="flag:N")
    about = (
        f"{counted(len(rows), 'entry')}, 95% intervals; {counted(len(trend.drops), 'drop')} by a paired test"
    )
    is_flagged = any(row["flag"] for row in rows)
    layers = alt.layer(reach, line, points, *([marks, words] if is_flagged else []))
    return style.styled(layers, f"{trend.measure.shown} over time", about)
