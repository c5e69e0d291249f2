"""Charts of two systems, query by query."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING

from ranklens.report import chart_data
from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.report.charts.figures import redrawable
from ranklens.words import several

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName
    from ranklens.report.charts.style import Chart


_CROWD = 9  # queries at one place from which on a point grows no larger


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


@redrawable
@_of_two
def deltas(
    comparison: Comparison, measure: MeasureName = None, a: str | None = None, b: str | None = None
) -> Chart:
    """The difference b - a of every query, sorted: who wins how often, and by how much."""
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
        alt.Chart(style.inline(rows))
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
            color=style.colour(comparison, "higher", [first, second], title="higher"),
            tooltip=["query:N", alt.Tooltip("difference:Q", format="+.4f")],
        )
    )
    line = alt.Chart(style.inline([{"mean": mean}])).encode(y="mean:Q")
    placed = line.encode(x=alt.value("width"), text=alt.value(f"mean {mean:+.4f}"))
    halo = placed.mark_text(align="right", dy=-7, stroke="white", strokeWidth=3)
    label = placed.mark_text(align="right", dy=-7, color=style.INK)
    return style.styled(
        alt.layer(bars, line.mark_rule(strokeDash=[5, 3], color=style.INK), halo, label),
        f"{comparison.shown(name)}: {second} − {first}",
        f"{higher:,} queries higher, {len(rows) - higher - lower:,} equal, {lower:,} lower",
    )


@redrawable
@_of_two
def scatter(
    comparison: Comparison, measure: MeasureName = None, a: str | None = None, b: str | None = None
) -> Chart:
    """System b against system a, one point per query, larger where several coincide; above the diagonal, b is higher."""
    name, table, first, second = _two_systems(comparison, measure, a, b)
    queries_at: dict[tuple[float, float], list[str]] = {}
    for query, u, v in table.select("query", first, second).iter_rows():
        queries_at.setdefault((u, v), []).append(query)
    # The largest crowds first, so that small points are drawn over large ones.
    crowds = sorted(queries_at.items(), key=lambda crowd: -len(crowd[1]))
    rows = [
        {"queries": len(queries), "first": queries[0], "query": several(queries, 3), "a": u, "b": v,
         "higher": second if v > u else first if v < u else "equal"}
        for (u, v), queries in crowds
    ]  # fmt: skip
    ends = [min(*table[first], *table[second], 0.0), max(*table[first], *table[second], 0.0)]
    sides = [first, second]
    colours = [style.look(comparison, system, style.COLOURS) for system in sides]
    shapes = [style.look(comparison, system, style.SHAPES) for system in sides]
    if any(row["higher"] == "equal" for row in rows):
        sides.append("equal")
        colours.append(style.MUTED)
        shapes.append(next(shape for shape in style.SHAPES if shape not in shapes))
    largest = figures.current().small(55, 16) * _CROWD
    sizes = alt.Scale(domain=[0, _CROWD], range=[0, largest], clamp=True)
    legend = style.legend_of("higher")
    points = (
        alt.Chart(style.inline(rows))
        .mark_point(filled=True, opacity=0.65)
        .encode(
            size=alt.Size("queries:Q", scale=sizes, legend=None),
            x=alt.X("a:Q", title=f"A: {first}", axis=alt.Axis(offset=8, tickCount=6)),
            y=alt.Y("b:Q", title=f"B: {second}", axis=alt.Axis(offset=8, tickCount=6)),
            color=alt.Color("higher:N", scale=alt.Scale(domain=sides, range=colours), legend=legend),
            shape=alt.Shape("higher:N", scale=alt.Scale(domain=sides, range=shapes), legend=legend),
            tooltip=[
                alt.Tooltip("query:N", title="queries"),
                alt.Tooltip("a:Q", format=".4f"),
                alt.Tooltip("b:Q", format=".4f"),
            ],
        )
    )
    diagonal = alt.Chart(style.inline([{"a": end, "b": end} for end in ends]))
    line = diagonal.mark_line(color=style.MUTED, strokeWidth=1).encode(x="a:Q", y="b:Q")
    has_crowds = any(len(queries) > 1 for _, queries in crowds)
    return style.styled(
        alt.layer(line, points),
        f"{comparison.shown(name)} per query",
        f"Above the line, {second} is higher" + (". Larger points: several queries" if has_crowds else ""),
        width=380,
        height=380,
        square=True,
    )


def _two_systems(
    comparison: Comparison, measure: MeasureName, a: str | None, b: str | None
) -> tuple[str, pl.DataFrame, str, str]:
    """The measure's name, the values of every query, and the names of a and b, which head the columns."""
    name = chart_data.main_measure(comparison, measure)
    table = chart_data.deltas(comparison, name, a, b)
    return name, table, table.columns[1], table.columns[2]
