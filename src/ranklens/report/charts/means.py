"""Charts of means: all systems, their differences, and the slices of the queries."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from ranklens.report import chart_data
from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.report.charts.axes import averaged, labels, reaches, round_ticks, share_of_width, width_of
from ranklens.report.charts.figures import redrawable

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName
    from ranklens.report.charts.style import Chart


@redrawable
def leaderboard(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals, the best system first; systems that share a letter do not differ significantly."""
    name = chart_data.main_measure(comparison, measure)
    rows = [
        {**row, "label": f"{row['mean']:.4f}  {row['group']}", "end": row["high"] if isfinite(row["high"]) else row["mean"]}
        for row in figures.drawn_rows(comparison, chart_data.leaderboard(comparison, name))
    ]  # fmt: skip
    order = [row["system"] for row in rows]
    base = alt.Chart(style.inline(rows)).encode(
        y=alt.Y("system:N", sort=order, title=None), color=style.colour(comparison, legend=False)
    )
    # Room for the label right of the longest interval, in units of the axis: what its letters take of the width.
    ends = [row[end] for row in rows for end in ("mean", "low", "high") if isfinite(row[end])]
    lowest, highest = min(ends), max(ends)
    figure = figures.current()
    share = share_of_width(max(len(row["label"]) for row in rows), max(map(len, order)))
    room = share / (1 - share) * ((highest - lowest) or abs(highest) or 1.0)
    scale = alt.Scale(zero=False, nice=False, padding=figure.small(10, 4), domain=[lowest, highest + room])
    axis = alt.Axis(values=round_ticks(lowest, highest))
    x = alt.X("mean:Q", title=comparison.shown(name), scale=scale, axis=axis)
    points = base.mark_point(filled=True, size=figure.small(90, 22), opacity=1).encode(
        x=x, shape=style.shape(comparison, legend=False)
    )
    has_letters = any(row["group"] for row in rows)
    letters = ". Systems that share a letter do not differ significantly" if has_letters else ""
    return style.styled(
        alt.layer(reaches(base), points, *labels(base.encode(x="end:Q"))),
        f"{comparison.shown(name)} by system",
        f"{averaged(comparison)}{letters}",
        height=figure.rows(len(rows)),
    )


@redrawable
def differences(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """The difference of each pair with its interval: those with the baseline, or with the best; a margin is drawn as a band."""
    name = chart_data.main_measure(comparison, measure)
    rows, figure = figures.drawn_rows(comparison, chart_data.differences(comparison, name)), figures.current()
    reference = ""
    if figure.width is not None and len({row["a"] for row in rows}) == 1:
        # Named once in the title of the axis, where every row would repeat it.
        reference = f" from {rows[0]['a']}"
        rows = [{**row, "pair": row["b"]} for row in rows]
    base = alt.Chart(style.inline(rows)).encode(
        y=alt.Y("pair:N", sort=[row["pair"] for row in rows], title=None),
        color=style.colour(comparison, "b", legend=False),
    )
    ends = [0.0, *(row[end] for row in rows for end in ("low", "high", "difference") if isfinite(row[end]))]
    share = share_of_width(max(len(row["label"]) for row in rows), max(len(row["pair"]) for row in rows))
    reaching = max(ends) + share / (1 - share) * ((max(ends) - min(ends)) or 1.0)
    x = alt.X(
        "difference:Q",
        title=f"difference{reference} in {comparison.shown(name)}",
        axis=alt.Axis(values=round_ticks(min(ends), max(ends))),
        scale=alt.Scale(domain=[min(ends), reaching], nice=False, padding=figure.small(10, 4)),
    )
    layers = [alt.Chart(style.inline([{"zero": 0}])).mark_rule(color=style.MUTED).encode(x="zero:Q")]
    about = averaged(comparison)
    margin = max((row["margin"] for row in rows if row["margin"] is not None), default=None)
    if margin is not None:
        band = alt.Chart(style.inline([{"from": -margin, "to": margin}]))
        layers.insert(0, band.mark_rect(color=style.LINE, opacity=0.6).encode(x="from:Q", x2="to:Q"))
        about += f". Band: the margin of {comparison.settings.margins[name]}"
    points = base.mark_point(filled=True, size=figure.small(90, 22), opacity=1).encode(x=x)
    return style.styled(
        alt.layer(*layers, reaches(base), points, *labels(base.encode(x="high:Q"))),
        f"Differences in {comparison.shown(name)}",
        about,
        height=figure.rows(len(rows)),
    )


@redrawable
def slices(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals in every slice of the queries."""
    name = chart_data.main_measure(comparison, measure)
    rows = figures.drawn_rows(comparison, chart_data.slices(comparison, name))
    first = figures.standing_out(comparison)
    if first is not None and figures.current().systems is None:
        rows = [row for row in rows if row["system"] in first]
    systems, figure = {row["system"] for row in rows}, figures.current()
    # Vega-Lite cannot fit facets into a width, so their labels get a fixed one.
    beside = min(1.1 * width_of(max(map(len, systems))) + 6, 90)
    axis = alt.Axis()
    if figure.width is not None:
        axis = alt.Axis(minExtent=beside, maxExtent=beside, labelLimit=beside - 4)
    rows = [{**row, "part": f"{row['slice']} ({row['n']:,})"} for row in rows]
    order = [system for system in comparison.ranked(name) if system in systems]
    base = alt.Chart(style.inline(rows)).encode(
        y=alt.Y("system:N", sort=order, title=None, axis=axis), color=style.colour(comparison, legend=False)
    )
    # Flat ends: round ones would stick out where an interval ends at 0 or 1.
    reach = base.mark_rule(strokeWidth=figure.small(6, 3.5), opacity=0.28).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=figure.small(75, 20), opacity=1).encode(
        x=alt.X("mean:Q", title=comparison.shown(name), scale=alt.Scale(zero=False)),
        shape=style.shape(comparison, legend=False),
    )
    parts = list(dict.fromkeys(row["part"] for row in rows))
    inner = 460 if figure.width is None else figure.width - beside - 9
    chart = alt.layer(reach, points).properties(width=inner, height=figure.small(20, 10) * len(systems))
    faceted = chart.facet(
        spacing=figure.small(20, 4), row=alt.Row("part:N", sort=parts, title=None, header=style.header())
    )
    about = averaged(comparison)
    if len(systems) < len(comparison.systems):
        about = f"{len(systems)} of {len(comparison.systems)} systems. {about}"
    return style.styled(faceted, f"{comparison.shown(name)} by slice", about, size=False)
