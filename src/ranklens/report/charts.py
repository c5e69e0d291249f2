"""Charts of a comparison with Altair, for notebooks and papers: each function returns a chart, :func:`save` writes it.

Systems differ by colour (after Okabe and Ito, safe for colour-blind people), by shape and by dash, so that they stay
readable in greyscale. The numbers are those of :mod:`ranklens.report.chart_data`. Needs ``pip install 'ranklens[plots]'``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.comparison import verdicts
from ranklens.errors import InputError, nearest
from ranklens.report import chart_data, drawing, palette
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

_CROWD = 9  # queries at one place from which on a point grows no larger

__all__ = ["CHARTS", "ComparisonPlots", "deltas", "differences", "draw", "first_relevant", "latency", "leaderboard", "over_k", "planned",
           "precision_recall", "save", "scatter", "significance", "slices"]  # fmt: skip


def leaderboard(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals, the best system first; systems that share a letter cannot be told apart."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = chart_data.leaderboard(comparison, name).to_dicts()
    rows = [
        {**row, "label": f"{row['mean']:.4f}  {row['group']}", "end": row["high"] if isfinite(row["high"]) else row["mean"]}
        for row in rows
    ]  # fmt: skip
    order = [row["system"] for row in rows]
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y("system:N", sort=order, title=None), color=drawing.colour(comparison, legend=False)
    )
    # Room for the label right of the longest interval, in units of the axis: a sixth of the width.
    ends = [row[end] for row in rows for end in ("mean", "low", "high") if isfinite(row[end])]
    lowest, highest = min(ends), max(ends)
    room = 0.2 * ((highest - lowest) or abs(highest) or 1.0)
    scale = alt.Scale(zero=False, nice=False, padding=10, domain=[lowest, highest + room])
    x = alt.X("mean:Q", title=comparison.shown(name), scale=scale, axis=alt.Axis(tickCount=6))
    reach = base.mark_rule(strokeWidth=7, opacity=0.28, strokeCap="round").encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=90, opacity=1)
    text = base.mark_text(align="left", dx=8, color=drawing.INK).encode(
        x="end:Q", text="label:N", color=alt.value(drawing.INK)
    )
    letters = (
        ". Systems that share a letter cannot be told apart" if any(row["group"] for row in rows) else ""
    )
    return drawing.styled(
        alt.layer(reach, points.encode(x=x, shape=drawing.shape(comparison, legend=False)), text),
        f"{comparison.shown(name)} by system",
        f"{_averaged(comparison)}{letters}",
        height=34 * len(rows) + 10,
    )


def differences(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """The difference of each pair with its interval: those with the baseline, or with the best; a margin is drawn as a band."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = chart_data.differences(comparison, name).to_dicts()
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y("pair:N", sort=[row["pair"] for row in rows], title=None),
        color=drawing.colour(comparison, "b", legend=False),
    )
    x = alt.X("difference:Q", title=f"difference in {name}", axis=alt.Axis(tickCount=6))
    reach = base.mark_rule(strokeWidth=7, opacity=0.28, strokeCap="round").encode(x="low:Q", x2="high:Q")
    text = base.mark_text(align="left", dx=8, color=drawing.INK).encode(
        x="high:Q", text="label:N", color=alt.value(drawing.INK)
    )
    layers = [alt.Chart(drawing.inline([{"zero": 0}])).mark_rule(color=drawing.MUTED).encode(x="zero:Q")]
    sizes = sorted({row["margin"] for row in rows if row["margin"] is not None})
    if sizes:
        band = alt.Chart(drawing.inline([{"from": -size, "to": size} for size in sizes[-1:]]))
        layers.insert(0, band.mark_rect(color=drawing.LINE, opacity=0.6).encode(x="from:Q", x2="to:Q"))
    about = f"{_averaged(comparison)}" + (
        f". Band: the margin of {comparison.settings.margins[name]}" if sizes else ""
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=x)
    return drawing.styled(
        alt.layer(*layers, reach, points, text), f"Differences in {name}", about, height=34 * len(rows) + 10
    )


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
    label = line.mark_text(align="right", dy=-7, color=drawing.INK).encode(
        x=alt.value("width"), text=alt.value(f"mean {mean:+.4f}")
    )
    return drawing.styled(
        alt.layer(bars, line.mark_rule(strokeDash=[5, 3], color=drawing.INK), label),
        f"{comparison.shown(name)}: {second} − {first}",
        f"{higher:,} queries higher, {len(rows) - higher - lower:,} equal, {lower:,} lower",
    )


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
    side = {"domain": [first, second, "equal"]}
    colours = [
        *(drawing.look(comparison, system, drawing.COLOURS) for system in (first, second)),
        drawing.MUTED,
    ]
    shapes = [drawing.look(comparison, system, drawing.SHAPES) for system in (first, second)]
    shapes.append(next(shape for shape in drawing.SHAPES if shape not in shapes))
    points = (
        alt.Chart(drawing.inline(rows))
        .mark_point(filled=True, opacity=0.65)
        .encode(
            size=alt.Size(
                "queries:Q",
                scale=alt.Scale(domain=[0, _CROWD], range=[0, 55 * _CROWD], clamp=True),
                legend=None,
            ),
            x=alt.X("a:Q", title=f"A: {first}", axis=alt.Axis(offset=8, tickCount=6)),
            y=alt.Y("b:Q", title=f"B: {second}", axis=alt.Axis(offset=8, tickCount=6)),
            color=alt.Color("higher:N", scale=alt.Scale(**side, range=colours), title="higher"),
            shape=alt.Shape("higher:N", scale=alt.Scale(**side, range=shapes), title="higher"),
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
    labels = table["rank"].unique(maintain_order=True).to_list()
    base = alt.Chart(drawing.inline(table.to_dicts())).encode(
        x=alt.X(
            "rank:N", sort=labels, title="rank of the first relevant document", axis=alt.Axis(labelAngle=0)
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
    text = base.transform_filter("datum.queries > 0").mark_text(dy=-6, fontSize=10, color=drawing.MUTED)
    text = text.encode(text=alt.Text("share:Q", format=".0%"))
    row = alt.Row("system:N", sort=list(comparison.systems), title=None, header=drawing.header())
    chart = alt.layer(bars, text).properties(width=520, height=58).facet(row=row)
    return drawing.styled(chart, "Rank of the first relevant document", "Share of queries", size=False)


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
    rows = chart_data.latency(comparison, name).to_dicts()
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
    points = base.mark_point(filled=True, size=130, opacity=1).encode(
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
    order = comparison.ranked(name)
    tested = {(row["a"], row["b"]) for row in rows}
    others = [{"a": a, "b": b} for a in order for b in order if a != b and (a, b) not in tested]
    most = max((abs(row["difference"]) for row in rows), default=1.0) or 1.0
    shade = alt.Scale(domain=[-most, 0, most], range=list(palette.WORSE_TO_BETTER), interpolate="rgb")
    base = alt.Chart(drawing.inline(rows)).encode(
        x=alt.X("a:N", sort=order, title=None, axis=alt.Axis(orient="top", labelAngle=-30)),
        y=alt.Y("b:N", sort=order, title=None),
    )
    cells = base.mark_rect(stroke=drawing.LINE).encode(color=alt.Color("shade:Q", scale=shade, legend=None))
    texts = [
        base.mark_text(dy=dy, fontSize=size, color=drawing.INK).encode(text=field)
        for field, dy, size in (("label:N", -6, 12), ("chance:N", 8, 10), ("star:N", -19, 10))
    ]
    return drawing.styled(
        alt.layer(cells, *texts, *_not_tested(others, order)),
        f"{comparison.shown(name)}: row − column",
        f"Adjusted p below the difference. Filled: significant at {comparison.alpha:g}",
        width=82 * len(order),
        height=54 * len(order),
    )


def _not_tested(pairs: list[dict[str, Any]], order: Sequence[str]) -> list[Any]:
    """A word in the cells of pairs that were left out, because another system is the baseline."""
    alt = drawing.altair()
    if not pairs:
        return []
    cells = alt.Chart(drawing.inline(pairs)).encode(x=alt.X("a:N", sort=order), y=alt.Y("b:N", sort=order))
    return [cells.mark_text(fontSize=10, color=drawing.MUTED).encode(text=alt.value("not tested"))]


def slices(comparison: Comparison, measure: MeasureName = None) -> Chart:
    """Means with their intervals in every slice of the queries."""
    alt, name = drawing.altair(), chart_data.main_measure(comparison, measure)
    rows = chart_data.slices(comparison, name).to_dicts()
    rows = [{**row, "part": f"{row['slice']} ({row['n']:,})"} for row in rows]
    base = alt.Chart(drawing.inline(rows)).encode(
        y=alt.Y("system:N", sort=comparison.ranked(name), title=None),
        color=drawing.colour(comparison, legend=False),
    )
    # Flat ends: round ones would stick out where an interval ends at 0 or 1.
    reach = base.mark_rule(strokeWidth=6, opacity=0.28).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=alt.X("mean:Q", title=comparison.shown(name), scale=alt.Scale(zero=False)),
        shape=drawing.shape(comparison, legend=False),
    )
    parts = list(dict.fromkeys(row["part"] for row in rows))
    chart = alt.layer(reach, points).properties(width=460, height=20 * len(comparison.systems))
    faceted = chart.facet(row=alt.Row("part:N", sort=parts, title=None, header=drawing.header()))
    return drawing.styled(faceted, f"{comparison.shown(name)} by slice", _averaged(comparison), size=False)


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
    alt = drawing.altair()
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(nice=False)
    ticks = sorted({row[key] for row in rows})
    x = alt.X(f"{key}:Q", title=across, scale=scale, axis=alt.Axis(values=ticks, grid=False, format="~g"))
    base = alt.Chart(drawing.inline(rows)).encode(x=x, color=drawing.colour(comparison))
    band = base.mark_area(opacity=0.1).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("mean:Q", title=upright), strokeDash=drawing.dash(comparison)
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y="mean:Q", shape=drawing.shape(comparison)
    )
    return alt.layer(band, line, points)


def _averaged(comparison: Comparison) -> str:
    return f"Mean over {counted(len(comparison.query_ids), 'query')}, {100 * comparison.level:.4g}% interval"
