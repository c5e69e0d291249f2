"""Charts of a comparison with Altair, for notebooks and papers: each function returns a chart, :func:`save` writes it.

Systems differ by colour (after Okabe and Ito, safe for colour-blind people), by shape and by dash, so that they stay
readable in greyscale. The numbers are those of :mod:`ranklens.report.chart_data`. Needs ``pip install 'ranklens[plots]'``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import combinations
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.comparison import verdicts
from ranklens.errors import InputError, nearest
from ranklens.report import chart_data, drawing, figures, palette
from ranklens.report.drawing import save
from ranklens.words import counted, several

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.registry import Measure
    from ranklens.report.drawing import Chart

    MeasureName: TypeAlias = str | Measure | None

_CELLS_WITH_TEXT, _MOST_NAMES = 8, 40  # systems across a matrix
_MOST_HISTOGRAMS = 4  # one above the other in a figure
_CROWD = 9  # queries at one place from which on a point grows no larger

__all__ = ["CHARTS", "ComparisonPlots", "deltas", "differences", "draw", "first_relevant", "latency", "leaderboard", "over_k", "planned",
           "precision_recall", "save", "scatter", "significance", "slices"]  # fmt: skip


def leaderboard(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals, the best system first; systems that share a letter cannot be told apart."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = figures.kept(comparison, chart_data.leaderboard(comparison, name).to_dicts())
    rows = [
        {**row, "label": f"{row['mean']:.4f}  {row['group']}", "end": row["high"] if isfinite(row["high"]) else row["mean"]}
        for row in rows
    ]  # fmt: skip
    order = [row["system"] for row in rows]
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y("system:N", sort=order, title=None), color=drawing.colour(comparison, legend=False)
    )
    # Room for the label right of the longest interval, in units of the axis: what its letters take of the width.
    ends = [row[end] for row in rows for end in ("mean", "low", "high") if isfinite(row[end])]
    lowest, highest = min(ends), max(ends)
    figure = figures.current()
    share = _share_of_width(max(len(row["label"]) for row in rows), max(map(len, order)))
    room = share / (1 - share) * ((highest - lowest) or abs(highest) or 1.0)
    scale = alt.Scale(zero=False, nice=False, padding=figure.small(10, 4), domain=[lowest, highest + room])
    axis = alt.Axis(values=_ticks(lowest, highest))
    x = alt.X("mean:Q", title=comparison.shown(name), scale=scale, axis=axis)
    reach = base.mark_rule(strokeWidth=figure.small(7, 4), opacity=0.28, strokeCap="round").encode(
        x="low:Q", x2="high:Q"
    )
    points = base.mark_point(filled=True, size=figures.current().small(90, 22), opacity=1)
    letters = (
        ". Systems that share a letter cannot be told apart" if any(row["group"] for row in rows) else ""
    )
    return drawing.styled(
        alt.layer(
            reach,
            points.encode(x=x, shape=drawing.shape(comparison, legend=False)),
            *_labels(base.encode(x="end:Q")),
        ),
        f"{comparison.shown(name)} by system",
        f"{_averaged(comparison)}{letters}",
        height=figures.current().rows(len(rows)),
    )


def differences(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """The difference of each pair with its interval: those with the baseline, or with the best; a margin is drawn as a band."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = figures.kept(comparison, chart_data.differences(comparison, name).to_dicts())
    of = ""
    if figures.current().width is not None and len({row["a"] for row in rows}) == 1:
        of = f" from {rows[0]['a']}"  # once, where every row would repeat it
        rows = [{**row, "pair": row["b"]} for row in rows]
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y("pair:N", sort=[row["pair"] for row in rows], title=None),
        color=drawing.colour(comparison, "b", legend=False),
    )
    ends = [0.0, *(row[end] for row in rows for end in ("low", "high", "difference") if isfinite(row[end]))]
    share = _share_of_width(max(len(row["label"]) for row in rows), max(len(row["pair"]) for row in rows))
    reaching = max(ends) + share / (1 - share) * ((max(ends) - min(ends)) or 1.0)
    x = alt.X(
        "difference:Q",
        title=f"difference{of} in {comparison.shown(name)}",
        axis=alt.Axis(values=_ticks(min(ends), max(ends))),
        scale=alt.Scale(domain=[min(ends), reaching], nice=False, padding=figures.current().small(10, 4)),
    )
    reach = base.mark_rule(strokeWidth=figures.current().small(7, 4), opacity=0.28, strokeCap="round").encode(
        x="low:Q", x2="high:Q"
    )
    layers = [alt.Chart(drawing.inline([{"zero": 0}])).mark_rule(color=drawing.MUTED).encode(x="zero:Q")]
    sizes = sorted({row["margin"] for row in rows if row["margin"] is not None})
    if sizes:
        band = alt.Chart(drawing.inline([{"from": -size, "to": size} for size in sizes[-1:]]))
        layers.insert(0, band.mark_rect(color=drawing.LINE, opacity=0.6).encode(x="from:Q", x2="to:Q"))
    about = f"{_averaged(comparison)}" + (
        f". Band: the margin of {comparison.settings.margins[name]}" if sizes else ""
    )
    points = base.mark_point(filled=True, size=figures.current().small(90, 22), opacity=1).encode(x=x)
    return drawing.styled(
        alt.layer(*layers, reach, points, *_labels(base.encode(x="high:Q"))),
        f"Differences in {comparison.shown(name)}",
        about,
        height=figures.current().rows(len(rows)),
    )


def _labels(base: Any) -> list[Any]:
    """Words behind the marks, legible over lines."""
    alt, place = drawing.altair(), {"align": "left", "dx": figures.current().small(8, 4)}
    halo = base.mark_text(**place, strokeWidth=figures.current().small(3, 2)).encode(
        stroke=alt.value("white")
    )
    text = base.mark_text(**place)
    return [one.encode(text="label:N", color=alt.value(drawing.INK)) for one in (halo, text)]


def _of_two(chart: Callable[..., Chart]) -> Callable[..., Chart]:
    """A chart of two systems: both stand out, though others may be better."""

    @wraps(chart)
    def draw(
        comparison: Comparison, measure: MeasureName = None, a: str | None = None, b: str | None = None
    ) -> Chart:
        if figures.standing_out(comparison) is None:
            return chart(comparison, measure, a, b)
        _, _, first, second = _two_systems(comparison, measure, a, b)
        with figures.drawn_as(replace(figures.current(), systems=None, highlight=(first, second))):
            return chart(comparison, measure, a, b)

    return draw


@_of_two
def deltas(
    comparison: Comparison, measure: MeasureName = None, a: str | None = None, b: str | None = None
) -> Chart:
    """The difference b - a of every query, sorted: who wins how often, and by how much."""
    alt = drawing.altair()
    name, table, first, second = _two_systems(comparison, measure, a, b)
    rows = [
        {"query": row["query"], "order": order, "next": order + 1, "difference": row["difference"],
         "higher": second if row["difference"] > 0 else first}
        for order, row in enumerate(table.iter_rows(named=True))
    ]  # fmt: skip
    mean = sum(row["difference"] for row in rows) / max(len(rows), 1)
    higher = sum(row["difference"] > 0 for row in rows)
    lower = sum(row["difference"] < 0 for row in rows)
    bars = (
        alt.Chart(drawing.inline(rows))
        .mark_rect()
        .encode(
            x=alt.X(
                "order:Q",
                title=f"{len(rows):,} queries, sorted",
                scale=alt.Scale(domain=[0, max(len(rows), 1)], nice=False),
                axis=alt.Axis(labels=False, ticks=False, grid=False),
            ),
            x2="next:Q",
            y=alt.Y(
                "difference:Q",
                title=f"difference in {comparison.shown(name)}",
                axis=alt.Axis(labelExpr="datum.value ? format(datum.value, '+~g') : '0'"),
            ),
            y2=alt.datum(0),
            color=drawing.colour(comparison, "higher", [first, second], title="higher"),
            tooltip=["query:N", alt.Tooltip("difference:Q", format="+.4f")],
        )
    )
    line = alt.Chart(drawing.inline([{"mean": mean}])).encode(y="mean:Q")
    placed = line.encode(x=alt.value("width"), text=alt.value(f"mean {mean:+.4f}"))
    halo = placed.mark_text(align="right", dy=-7, stroke="white", strokeWidth=3)
    label = placed.mark_text(align="right", dy=-7, color=drawing.INK)
    return drawing.styled(
        alt.layer(bars, line.mark_rule(strokeDash=[5, 3], color=drawing.INK), halo, label),
        f"{comparison.shown(name)}: {second} − {first}",
        f"{higher:,} queries higher, {len(rows) - higher - lower:,} equal, {lower:,} lower",
    )


@_of_two
def scatter(
    comparison: Comparison, measure: MeasureName = None, a: str | None = None, b: str | None = None
) -> Chart:
    """System b against system a, one point per query, larger where several coincide; above the diagonal, b is higher."""
    alt = drawing.altair()
    name, table, first, second = _two_systems(comparison, measure, a, b)
    rows: list[dict[str, Any]] = [
        {"queries": len(queries), "first": queries[0], "query": several(queries, 3), "a": u, "b": v,
         "higher": second if v > u else first if v < u else "equal"}
        for (u, v), queries in _places(table, first, second)
    ]  # fmt: skip
    ends = [min(*table[first], *table[second], 0.0), max(*table[first], *table[second], 0.0)]
    most = max((row["queries"] for row in rows), default=1)
    side = {"domain": [first, second]}
    colours = [drawing.look(comparison, system, drawing.COLOURS) for system in (first, second)]
    shapes = [drawing.look(comparison, system, drawing.SHAPES) for system in (first, second)]
    if any(row["higher"] == "equal" for row in rows):
        side["domain"].append("equal")
        colours.append(drawing.MUTED)
        shapes.append(next(shape for shape in drawing.SHAPES if shape not in shapes))
    points = (
        alt.Chart(drawing.inline(rows))
        .mark_point(filled=True, opacity=0.65)
        .encode(
            size=alt.Size(
                "queries:Q",
                scale=alt.Scale(
                    domain=[0, _CROWD], range=[0, figures.current().small(55, 16) * _CROWD], clamp=True
                ),
                legend=None,
            ),
            x=alt.X("a:Q", title=f"A: {first}", axis=alt.Axis(offset=8, tickCount=6)),
            y=alt.Y("b:Q", title=f"B: {second}", axis=alt.Axis(offset=8, tickCount=6)),
            color=alt.Color(
                "higher:N", scale=alt.Scale(**side, range=colours), legend=drawing.legend_of("higher")
            ),
            shape=alt.Shape(
                "higher:N", scale=alt.Scale(**side, range=shapes), legend=drawing.legend_of("higher")
            ),
            tooltip=[
                alt.Tooltip("query:N", title="queries"),
                alt.Tooltip("a:Q", format=".4f"),
                alt.Tooltip("b:Q", format=".4f"),
            ],
        )
    )
    diagonal = alt.Chart(drawing.inline([{"a": end, "b": end} for end in ends])).mark_line(
        color=drawing.MUTED, strokeWidth=1
    )
    return drawing.styled(
        alt.layer(diagonal.encode(x="a:Q", y="b:Q"), points),
        f"{comparison.shown(name)} per query",
        f"Above the line, {second} is higher" + (". Larger points: several queries" if most > 1 else ""),
        width=380,
        height=380,
        square=True,
    )


def _places(table: pl.DataFrame, first: str, second: str) -> list[tuple[tuple[float, float], list[str]]]:
    """The queries that have the same two values, the largest crowds first, so that small points are drawn over large ones."""
    found: dict[tuple[float, float], list[str]] = {}
    for query, u, v in table.select("query", first, second).iter_rows():
        found.setdefault((u, v), []).append(query)
    return sorted(found.items(), key=lambda place: -len(place[1]))


def first_relevant(comparison: Comparison) -> Chart:
    """The rank of the first relevant document, as a histogram with a bar for queries where none was found."""
    alt = drawing.altair()
    table = chart_data.first_relevant(comparison)
    systems, figure = figures.shown(comparison), figures.current()
    if len(systems) > figure.small(figures.MOST_LOOKS, _MOST_HISTOGRAMS):
        return _first_relevant_of_many(comparison, figures.kept(comparison, table.to_dicts()))
    labels = table["rank"].unique(maintain_order=True).to_list()
    base = alt.Chart(drawing.inline(figures.kept(comparison, table.to_dicts()))).encode(
        x=alt.X(
            "rank:N",
            sort=labels,
            title="rank of the first relevant document",
            axis=alt.Axis(labelAngle=figures.current().small(0, -35)),
        ),
        y=alt.Y("share:Q", title=None, axis=None),
    )
    missing = alt.datum.rank == chart_data.NOT_FOUND
    bars = base.mark_bar(strokeDash=[3, 2]).encode(
        color=drawing.colour(comparison, legend=False),
        stroke=drawing.colour(comparison, legend=False, channel="Stroke"),
        fillOpacity=alt.condition(missing, alt.value(0.18), alt.value(1)),
        strokeWidth=alt.condition(missing, alt.value(1.2), alt.value(0)),
    )
    text = base.transform_filter("datum.queries > 0").mark_text(
        dy=figure.small(-6, -4), fontSize=figure.small(10, 6), color=drawing.MUTED
    )
    text = text.encode(text=alt.Text("share:Q", format=".0%"))
    row = alt.Row("system:N", sort=systems, title=None, header=drawing.header())
    inner = 520 if figure.width is None else figure.width - 6
    parts = alt.layer(bars, text).properties(width=inner, height=figure.small(58, 30))
    chart = parts.facet(row=row, spacing=figure.small(20, 4))
    return drawing.styled(chart, "Rank of the first relevant document", "Share of queries", size=False)


def _first_relevant_of_many(comparison: Comparison, rows: list[dict[str, Any]]) -> Chart:
    """One row of cells per system in place of one histogram each."""
    alt, figure = drawing.altair(), figures.current()
    labels = list(dict.fromkeys(row["rank"] for row in rows))
    order = [
        system for system in comparison.ranked(comparison.measures[0]) if system in figures.shown(comparison)
    ]
    base = alt.Chart(drawing.inline(rows)).encode(
        x=alt.X(
            "rank:N",
            sort=labels,
            title="rank of the first relevant document",
            axis=alt.Axis(labelAngle=figures.current().small(0, -35)),
        ),
        y=alt.Y("system:N", sort=order, title=None),
    )
    shade = alt.Scale(
        domain=[0, max(row["share"] for row in rows) or 1.0],
        range=list(palette.NONE_TO_ALL),
        interpolate="rgb",
    )
    cells = base.mark_rect(stroke=drawing.LINE).encode(color=alt.Color("share:Q", scale=shade, legend=None))
    dark = alt.condition(
        f"datum.share > {0.6 * (max(row['share'] for row in rows) or 1)}",
        alt.value("white"),
        alt.value(drawing.INK),
    )
    text = base.transform_filter("datum.queries > 0").mark_text(fontSize=figure.small(10, 6))
    text = text.encode(text=alt.Text("share:Q", format=".0%"), color=dark)
    return drawing.styled(
        alt.layer(cells, text),
        "Rank of the first relevant document",
        "Share of queries",
        height=figure.rows(len(order)),
    )


def precision_recall(comparison: Comparison) -> Chart:
    """Interpolated precision at eleven levels of recall, with intervals as bands."""
    table = chart_data.precision_recall(comparison).to_dicts()
    chart = _curves(comparison, table, "recall", "recall", "interpolated precision")
    return drawing.styled(chart, "Precision and recall", _averaged(comparison))


def over_k(comparison: Comparison, measure: MeasureName = None, ks: Sequence[int] = chart_data.KS) -> Chart:
    """A measure at growing cutoffs k, with intervals as bands."""
    name = chart_data.main_measure(comparison, measure)
    table = chart_data.over_k(comparison, name, ks).to_dicts()
    plain = chart_data.without_cutoff(comparison, name)
    chart = _curves(comparison, table, "k", "k", f"{plain}@k", logarithmic=True)
    return drawing.styled(chart, f"{plain} over the cutoff k", _averaged(comparison))


def latency(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Quality against seconds per query (median, a line to p95), with the Pareto front: systems that no other beats in both."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = figures.kept(comparison, chart_data.latency(comparison, name).to_dicts())
    words = "datum.value < 1 ? format(1000 * datum.value, '~g') + ' ms' : format(datum.value, '~g') + ' s'"
    axis = alt.Axis(values=_round_times(rows), grid=False, labelExpr=words)
    scale = alt.Scale(type="log", nice=False, padding=24)
    x = alt.X("p50:Q", title="time per query (median, line to p95)", scale=scale, axis=axis)
    y = alt.Y("mean:Q", title=comparison.shown(name), scale=alt.Scale(zero=False))
    crowded = _crowded(rows)  # then names beside the points would run into each other
    base = alt.Chart(drawing.inline(rows)).encode(color=drawing.colour(comparison, legend=crowded))
    front = (
        alt.Chart(drawing.inline([row for row in rows if row["front"]]))
        .mark_line(strokeDash=[5, 4], color=drawing.MUTED)
        .encode(x=x, y=y, order="p50:Q")
    )
    across = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=x, x2="p95:Q", y=y)
    upright = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=figures.current().small(130, 36), opacity=1).encode(
        x=x, y=y, shape=drawing.shape(comparison, legend=crowded)
    )
    text = alt.Chart(drawing.inline(rows)).encode(x=x, y=y, text="system:N")
    halo = text.mark_text(align="left", dx=9, dy=-10, stroke="white", strokeWidth=4)
    names = [halo, text.mark_text(align="left", dx=9, dy=-10, color=drawing.INK)]
    return drawing.styled(
        alt.layer(front, across, upright, points, *([] if crowded else names)),
        f"{comparison.shown(name)} against latency",
        "Up and to the left is better; the dashed line joins the systems that no other beats on both",
    )


def _round_times(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """1, 2 and 5 times the powers of ten that the times cover; the powers alone if there are many."""
    times = [row[end] for row in rows for end in ("p50", "p95") if row[end] > 0]
    steps = [base * 10**power for power in range(-9, 6) for base in (1, 2, 5)]
    covered = [step for step in steps if min(times, default=1) / 1.5 <= step <= max(times, default=1) * 1.5]
    return covered if len(covered) <= 8 else [step for step in covered if round(log10(step), 9).is_integer()]


def _crowded(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two points are closer than the size of a name, in the chart of the usual size."""
    times = [log10(max(row["p50"], 1e-9)) for row in rows]
    width = (max(times, default=0) - min(times, default=0)) or 1
    ends = [row[end] for row in rows for end in ("low", "high", "mean") if isfinite(row[end])]
    height = (max(ends, default=0) - min(ends, default=0)) or 1
    places = [(520 * t / width, 300 * row["mean"] / height) for t, row in zip(times, rows, strict=True)]
    return any(abs(p[0] - q[0]) < 90 and abs(p[1] - q[1]) < 18 for p, q in combinations(places, 2))


def significance(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Every tested pair: the row's system minus the column's, with its adjusted p; filled where the test supports it."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = [
        {**row, "label": f"{row['difference']:+.3f}", "chance": verdicts.p_text(row["adjusted_p"], comparison.alpha),
         "shade": row["difference"] if row["significant"] else 0.0, "star": "★" if row["significant"] else ""}
        for row in chart_data.significance(comparison, name).to_dicts()
    ]  # fmt: skip
    rows = figures.kept(comparison, rows)
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
    longest = _letters(max((len(system) for system in across), default=0))
    is_level = figure.width is not None and has_room and (longest + 6) * (len(across) + 1) <= figure.width
    turned = 0 if is_level else -30 if has_room and figure.width is None else -90
    named = {"labels": len(across) <= _MOST_NAMES, "ticks": len(across) <= _MOST_NAMES}
    base = alt.Chart(drawing.inline(rows)).encode(
        x=alt.X("a:N", sort=across, title=None, axis=alt.Axis(orient="top", labelAngle=turned, **named)),
        y=alt.Y(
            "b:N",
            sort=order,
            title=None,
            **({"axis": alt.Axis(labelFontSize=6)} if len(order) > _MOST_NAMES else {}),
        ),
    )
    cells = base.mark_rect(stroke=drawing.LINE, strokeWidth=figure.small(1, 0.4)).encode(
        color=alt.Color("shade:Q", scale=shade, legend=None)
    )
    lines: Sequence[tuple[str, int, int]] = (("label:N", -6, 12), ("chance:N", 8, 10), ("star:N", -19, 10))
    if figure.width is not None:
        lines = (("label:N", -4, 7), ("chance:N", 4, 6))
    texts = [
        base.mark_text(dy=dy, fontSize=size, color=drawing.INK).encode(text=field)
        for field, dy, size in lines
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
    return drawing.styled(
        alt.layer(cells, *(texts if has_room else [])),
        f"{comparison.shown(name)}: row − column",
        f"{about}: significant at {comparison.alpha:g}",
        width=step * max(len(across), 4 if has_room else 1),
        height=height,
    )


def slices(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals in every slice of the queries."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = figures.kept(comparison, chart_data.slices(comparison, name).to_dicts())
    first = figures.standing_out(comparison)
    if first is not None and figures.current().systems is None:
        rows = [row for row in rows if row["system"] in first]
    systems, figure = {row["system"] for row in rows}, figures.current()
    # Facets cannot be fitted into a width, so the names beside them get a width of their own.
    beside = min(1.1 * _letters(max(map(len, systems))) + 6, 90)
    names = (
        {} if figure.width is None else {"minExtent": beside, "maxExtent": beside, "labelLimit": beside - 4}
    )
    rows = [{**row, "part": f"{row['slice']} ({row['n']:,})"} for row in rows]
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y(
            "system:N",
            sort=[s for s in comparison.ranked(name) if s in systems],
            title=None,
            axis=alt.Axis(**names),
        ),
        color=drawing.colour(comparison, legend=False),
    )
    # Flat ends: round ones would stick out where an interval ends at 0 or 1.
    reach = base.mark_rule(strokeWidth=figure.small(6, 3.5), opacity=0.28).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=figure.small(75, 20), opacity=1).encode(
        x=alt.X("mean:Q", title=comparison.shown(name), scale=alt.Scale(zero=False)),
        shape=drawing.shape(comparison, legend=False),
    )
    parts = list(dict.fromkeys(row["part"] for row in rows))
    inner = 460 if figure.width is None else figure.width - beside - 9
    chart = alt.layer(reach, points).properties(width=inner, height=figure.small(20, 10) * len(systems))
    faceted = chart.facet(
        spacing=figure.small(20, 4), row=alt.Row("part:N", sort=parts, title=None, header=drawing.header())
    )
    some = (
        f"{len(systems)} of {len(comparison.systems)} systems. "
        if len(systems) < len(comparison.systems)
        else ""
    )
    return drawing.styled(
        faceted, f"{comparison.shown(name)} by slice", some + _averaged(comparison), size=False
    )


@dataclass(frozen=True)
class ComparisonPlots:
    """The charts of one comparison: ``cmp.plot.deltas("nDCG@10", "bm25", "dense")``."""

    comparison: Comparison

    def leaderboard(self, measure: MeasureName = None) -> Chart:
        return leaderboard(self.comparison, measure)

    def differences(self, measure: MeasureName = None) -> Chart:
        return differences(self.comparison, measure)

    def deltas(self, measure: MeasureName = None, a: str | None = None, b: str | None = None) -> Chart:
        return deltas(self.comparison, measure, a, b)

    def scatter(self, measure: MeasureName = None, a: str | None = None, b: str | None = None) -> Chart:
        return scatter(self.comparison, measure, a, b)

    def first_relevant(self) -> Chart:
        return first_relevant(self.comparison)

    def precision_recall(self) -> Chart:
        return precision_recall(self.comparison)

    def over_k(self, measure: MeasureName = None, ks: Sequence[int] = chart_data.KS) -> Chart:
        return over_k(self.comparison, measure, ks)

    def latency(self, measure: MeasureName = None) -> Chart:
        return latency(self.comparison, measure)

    def significance(self, measure: MeasureName = None) -> Chart:
        return significance(self.comparison, measure)

    def slices(self, measure: MeasureName = None) -> Chart:
        return slices(self.comparison, measure)


def _repeatable(chart: Callable[..., Chart]) -> Callable[..., Chart]:
    """The function, whose charts can be drawn again as figures."""

    @wraps(chart)
    def draw(*args: Any, **options: Any) -> Chart:
        from ranklens.report.notebook import repeatable

        return repeatable(chart(*args, **options), partial(chart, *args, **options))

    return draw


leaderboard, differences, deltas, scatter, first_relevant = map(
    _repeatable, (leaderboard, differences, deltas, scatter, first_relevant)
)
precision_recall, over_k, latency, significance, slices = map(
    _repeatable, (precision_recall, over_k, latency, significance, slices)
)

_OF_TWO = ("deltas", "scatter")  # show two systems
_WITHOUT_MEASURE = ("first_relevant", "precision_recall")
CHARTS: Mapping[str, Callable[..., Chart]] = {
    chart.__name__: chart
    for chart in (
        leaderboard, differences, deltas, scatter, first_relevant, precision_recall, over_k, latency, significance, slices
    )
}  # fmt: skip


def draw(
    comparison: Comparison,
    name: str,
    a: str | None = None,
    b: str | None = None,
    measure: MeasureName = None,
) -> Chart:
    """A chart by its name, of the first measure or another; ``a`` and ``b`` are used where it shows two systems."""
    if name not in CHARTS:
        raise InputError(f"There is no chart {name!r}: {nearest(name, CHARTS)}")
    options: dict[str, Any] = {"a": a, "b": b} if name in _OF_TWO else {}
    return CHARTS[name](comparison, **options, **({} if measure is None else {"measure": measure}))


def planned(text: str) -> tuple[str, str | None, Path]:
    """What ``[CHART[:MEASURE]=]FILE`` asks for, refused now if it cannot be drawn later.

    >>> planned("deltas:AP=out.png")
    ('deltas', 'AP', ...Path('out.png'))
    """
    chart, equals, file = text.rpartition("=")
    name, _, measure = (chart if equals else "leaderboard").partition(":")
    if name not in CHARTS:
        raise InputError(f"--plot {text}: there is no chart {name!r}: {nearest(name, CHARTS)}")
    if measure and name in _WITHOUT_MEASURE:
        raise InputError(f"--plot {text}: {name} shows the ranking itself and takes no measure.")
    target = Path(file)
    drawing.format_of(target)
    drawing.altair(), drawing.converter()
    return name, measure or None, target


def _two_systems(
    comparison: Comparison, measure: MeasureName, a: str | None, b: str | None
) -> tuple[str, pl.DataFrame, str, str]:
    """The measure's name, the values of every query, and the names of a and b, which head the columns."""
    name = chart_data.main_measure(comparison, measure)
    table = chart_data.deltas(comparison, name, a, b)
    return name, table, table.columns[1], table.columns[2]


def _curves(
    comparison: Comparison,
    rows: list[dict[str, Any]],
    key: str,
    across: str,
    upright: str,
    *,
    logarithmic: bool = False,
) -> Any:
    alt, figure = drawing.altair(), figures.current()
    rows, first = figures.kept(comparison, rows), figures.standing_out(comparison)
    ticks = sorted({row[key] for row in rows})
    domain = {}
    if first is not None:  # names stand behind the lines
        longest = max((len(system) for system in first), default=0)
        domain = {"domain": [ticks[0], _with_room(ticks, _share_of_width(longest), logarithmic=logarithmic)]}
    scale = alt.Scale(**({"type": "log"} if logarithmic else {}), nice=False, **domain)
    x = alt.X(
        f"{key}:Q", title=across, scale=scale, axis=alt.Axis(values=_spaced(ticks), grid=False, format="~g")
    )

    def lines(some: list[dict[str, Any]], width: float, *, legend: bool) -> tuple[Any, Any, Any]:
        base = alt.Chart(drawing.inline(some)).encode(x=x, color=drawing.colour(comparison, legend=legend))
        band = base.mark_area(opacity=0.1).encode(y="low:Q", y2="high:Q")
        line = base.mark_line(strokeWidth=width).encode(
            y=alt.Y("mean:Q", title=upright),
            strokeDash=drawing.dash(comparison, legend=legend),
            detail="system:N",
        )
        points = base.mark_point(filled=True, size=figure.small(55, 14), opacity=1).encode(
            y="mean:Q", shape=drawing.shape(comparison, legend=legend)
        )
        return band, line, points

    if first is None:
        band, line, points = lines(rows, figure.small(2, 1.2), legend=True)
        return alt.layer(*([band] if len(figures.shown(comparison)) <= _MOST_BANDS else []), line, points)
    behind = [row for row in rows if row["system"] not in first]
    before = [row for row in rows if row["system"] in first]
    grey = lines(behind, figure.small(1.2, 0.6), legend=False)[1]
    _, line, points = lines(before, figure.small(2, 1.2), legend=False)
    return alt.layer(grey, line, points, _names_behind(comparison, before, key))


_MOST_BANDS = 4  # bands over each other that can still be told apart


def _names_behind(comparison: Comparison, rows: Sequence[dict[str, Any]], key: str) -> Any:
    """The name of each line at its end, moved apart where lines end close together."""
    alt, figure = drawing.altair(), figures.current()
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
    text = alt.Chart(drawing.inline(labels)).mark_text(align="left", dx=figure.small(8, 4))
    return text.encode(
        x=f"{key}:Q", y="mean:Q", text="system:N", color=drawing.colour(comparison, legend=False)
    )


def _with_room(ticks: Sequence[float], share: float, *, logarithmic: bool) -> float:
    """The end of an axis that leaves a share of its width behind the last tick."""
    first, last = ticks[0], ticks[-1]
    if logarithmic:
        return float(last * (last / first if last > first else 2.0) ** (share / (1 - share)))
    return float(last + (last - first or 1.0) * share / (1 - share))


def _spaced(ticks: Sequence[float]) -> list[float]:
    """Fewer ticks in a narrow figure."""
    return list(ticks) if figures.current().width is None or len(ticks) < 8 else list(ticks[::2])


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends, and none in the room for labels."""
    span, wanted = (high - low) or abs(high) or 1.0, figures.current().small(6, 4)
    base = 10.0 ** floor(log10(span / wanted))
    step = next(base * factor for factor in (1, 2, 5, 10) if span / (base * factor) <= wanted)
    return [round(i * step, 12) for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _letters(count: int) -> float:
    """About how wide so many letters are."""
    return 0.56 * figures.current().font * count


def _share_of_width(letters: int, beside: int = 0) -> float:
    """The share of a chart's width that a label takes, where names as long as ``beside`` stand left of it."""
    figure = figures.current()
    inner = 520.0 if figure.width is None else max(figure.width - _letters(beside) - 10, 60)
    return min((_letters(letters) + 12) / inner, 0.5)


def _averaged(comparison: Comparison) -> str:
    return f"Mean over {counted(len(comparison.query_ids), 'query')}, {100 * comparison.level:.4g}% interval"
