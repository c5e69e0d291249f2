"""Charts of the ranking itself: the first relevant document, precision against recall, and a measure over its cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.report import chart_data, palette
from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.report.charts.axes import averaged, share_of_width, spaced, with_room
from ranklens.report.charts.figures import redrawable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName, Row
    from ranklens.report.charts.style import Chart


_MOST_HISTOGRAMS = 4  # one above the other in a figure
_MOST_BANDS = 4  # bands over each other that can still be distinguished


@redrawable
def first_relevant(comparison: Comparison) -> Chart:
    """The rank of the first relevant document, as a histogram with a bar for queries where none was found."""
    table = chart_data.first_relevant(comparison)
    systems, figure = figures.shown(comparison), figures.current()
    if len(systems) > figure.small(figures.MOST_LOOKS, _MOST_HISTOGRAMS):
        return _first_relevant_of_many(comparison, table)
    labels = table["rank"].unique(maintain_order=True).to_list()
    base = alt.Chart(style.inline(figures.drawn_rows(comparison, table))).encode(
        x=_rank_axis(labels),
        y=alt.Y("share:Q", title=None, axis=None),
    )
    missing = alt.datum.rank == chart_data.NOT_FOUND
    bars = base.mark_bar(strokeDash=[3, 2]).encode(
        color=style.colour(comparison, legend=False),
        stroke=alt.Stroke("system:N", scale=style.scale(comparison, style.COLOURS), legend=None),
        fillOpacity=alt.condition(missing, alt.value(0.18), alt.value(1)),
        strokeWidth=alt.condition(missing, alt.value(1.2), alt.value(0)),
    )
    text = base.transform_filter("datum.queries > 0").mark_text(
        dy=figure.small(-6, -4), fontSize=figure.small(10, 6), color=style.MUTED
    )
    row = alt.Row("system:N", sort=systems, title=None, header=style.header())
    inner = 520 if figure.width is None else figure.width - 6
    parts = alt.layer(bars, text.encode(text=alt.Text("share:Q", format=".0%")))
    parts = parts.properties(width=inner, height=figure.small(58, 30))
    chart = parts.facet(row=row, spacing=figure.small(20, 4))
    return style.styled(chart, "Rank of the first relevant document", "Share of queries", size=False)


def _rank_axis(labels: Sequence[str]) -> alt.X:
    axis = alt.Axis(labelAngle=figures.current().small(0, -35))
    return alt.X("rank:N", sort=list(labels), title="rank of the first relevant document", axis=axis)


def _first_relevant_of_many(comparison: Comparison, table: pl.DataFrame) -> Chart:
    """One row of cells per system in place of one histogram each."""
    figure, rows = figures.current(), figures.drawn_rows(comparison, table)
    labels = list(dict.fromkeys(row["rank"] for row in rows))
    systems = {*figures.shown(comparison)}
    order = [system for system in comparison.ranked(comparison.measures[0]) if system in systems]
    base = alt.Chart(style.inline(rows)).encode(
        x=_rank_axis(labels), y=alt.Y("system:N", sort=order, title=None)
    )
    most = max(row["share"] for row in rows) or 1.0
    shade = alt.Scale(domain=[0, most], range=list(palette.NONE_TO_ALL), interpolate="rgb")
    cells = base.mark_rect(stroke=style.LINE).encode(color=alt.Color("share:Q", scale=shade, legend=None))
    dark = alt.condition(f"datum.share > {0.6 * most}", alt.value("white"), alt.value(style.INK))
    text = base.transform_filter("datum.queries > 0").mark_text(fontSize=figure.small(10, 6))
    text = text.encode(text=alt.Text("share:Q", format=".0%"), color=dark)
    return style.styled(
        alt.layer(cells, text),
        "Rank of the first relevant document",
        "Share of queries",
        height=figure.rows(len(order)),
    )


@redrawable
def precision_recall(comparison: Comparison) -> Chart:
    """Interpolated precision at eleven levels of recall, with intervals as bands for up to four systems."""
    table = chart_data.precision_recall(comparison)
    chart = _curves(comparison, table, "recall", "interpolated precision")
    return style.styled(chart, "Precision and recall", averaged(comparison, intervals=_has_bands(comparison)))


@redrawable
def over_k(comparison: Comparison, measure: MeasureName = None, ks: Sequence[int] = chart_data.KS) -> Chart:
    """A measure at growing cutoffs k, with intervals as bands for up to four systems."""
    name = chart_data.main_measure(comparison, measure)
    plain = chart_data.without_cutoff(comparison, name)
    chart = _curves(comparison, chart_data.over_k(comparison, name, ks), "k", f"{plain}@k", logarithmic=True)
    about = averaged(comparison, intervals=_has_bands(comparison))
    return style.styled(chart, f"{plain} over the cutoff k", about)


def _has_bands(comparison: Comparison) -> bool:
    """Whether intervals are drawn around lines: not where most lines are grey, nor where bands would hide each other."""
    return figures.standing_out(comparison) is None and len(figures.shown(comparison)) <= _MOST_BANDS


def _curves(
    comparison: Comparison, table: pl.DataFrame, key: str, upright: str, *, logarithmic: bool = False
) -> Chart:
    figure = figures.current()
    rows, first = figures.drawn_rows(comparison, table), figures.standing_out(comparison)
    ticks = sorted({row[key] for row in rows})
    scale = alt.Scale(type="log" if logarithmic else alt.Undefined, nice=False)
    if first is not None:  # names stand behind the lines
        longest = max((len(system) for system in first), default=0)
        scale.domain = [ticks[0], with_room(ticks, share_of_width(longest), logarithmic=logarithmic)]
    axis = alt.Axis(values=spaced(ticks), grid=False, format="~g")
    x = alt.X(f"{key}:Q", title=key, scale=scale, axis=axis)

    def lines(some: list[Row], width: float, *, legend: bool) -> tuple[alt.Chart, ...]:
        base = alt.Chart(style.inline(some)).encode(x=x, color=style.colour(comparison, legend=legend))
        band = base.mark_area(opacity=0.1).encode(y="low:Q", y2="high:Q")
        line = base.mark_line(strokeWidth=width).encode(
            y=alt.Y("mean:Q", title=upright),
            strokeDash=style.dash(comparison, legend=legend),
            detail="system:N",
        )
        points = base.mark_point(filled=True, size=figure.small(55, 14), opacity=1).encode(
            y="mean:Q", shape=style.shape(comparison, legend=legend)
        )
        return band, line, points

    if first is None:
        band, line, points = lines(rows, figure.small(2, 1.2), legend=True)
        layers = [band, line, points] if _has_bands(comparison) else [line, points]
    else:
        before = [row for row in rows if row["system"] in first]
        grey = lines(
            [row for row in rows if row["system"] not in first], figure.small(1.2, 0.6), legend=False
        )[1]
        _, line, points = lines(before, figure.small(2, 1.2), legend=False)
        layers = [grey, line, points, _names_behind(comparison, before, key)]
    return alt.layer(*layers)


def _names_behind(comparison: Comparison, rows: Sequence[Row], key: str) -> alt.Chart:
    """The name of each line at its end, moved apart where lines end close together."""
    figure = figures.current()
    last = max((row[key] for row in rows), default=0)
    ends = sorted((row for row in rows if row[key] == last), key=lambda row: row["mean"])
    tallest = max((row["mean"] for row in rows), default=1.0) or 1.0
    gap = 1.25 * figure.font * tallest / (300 if figure.width is None else 0.45 * figure.width)
    places: list[float] = []
    for row in ends:
        places.append(max(row["mean"], places[-1] + gap) if places else max(row["mean"], 0.6 * gap))
    over = max((places[-1] - tallest) if places else 0.0, 0.0)  # not above the chart
    labels = [
        {"system": row["system"], key: last, "mean": max(place - over, 0.0)}
        for row, place in zip(ends, places, strict=True)
    ]
    text = alt.Chart(style.inline(labels)).mark_text(align="left", dx=figure.small(8, 4))
    colour = style.colour(comparison, legend=False)
    names: alt.Chart = text.encode(x=f"{key}:Q", y="mean:Q", text="system:N", color=colour)
    return names
