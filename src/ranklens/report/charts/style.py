"""What all charts share: colours, shapes and dashes of systems, the style, and how a chart is written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ranklens.errors import InputError
from ranklens.report import palette
from ranklens.report.charts import figures
from ranklens.report.charts import library as alt
from ranklens.report.charts.library import needed
from ranklens.words import finite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import Row

    Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

Look = TypeVar("Look", str, list[int])  # a colour, a shape or a dash
COLOURS = palette.SYSTEMS
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")  # fmt: skip
DASHES = [list(dash) for dash in palette.DASHES]
FORMATS = ("png", "svg", "pdf", "html")
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
GREY = palette.BEHIND
_STAND_IN = "\ufdd0"  # no text contains it: Unicode reserves it for such use
INK, MUTED, LINE = (palette.LIGHT[name] for name in ("ink", "muted", "line"))


def save(chart: Chart, path: str | Path) -> Path:
    """Write a chart as PNG, SVG, PDF or HTML (one file that works offline), according to the suffix; completely or not at all."""
    from ranklens.data.files.output import write_whole

    target = Path(path)
    content = rendered(chart, format_of(target))
    write_whole(target, lambda place: place.write_bytes(content))
    return target


def format_of(target: Path) -> str:
    """One of :data:`FORMATS`, from the suffix."""
    kind = target.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise InputError(f"{target}: a chart is written as one of {', '.join(f'.{f}' for f in FORMATS)}.")
    return kind


def rendered(chart: alt.TopLevelMixin, kind: str) -> bytes:
    """The chart in one of :data:`FORMATS`."""
    convert, spec = needed("vl_convert"), chart.to_json()
    if kind == "png":
        return bytes(convert.vegalite_to_png(spec, scale=2))
    if kind == "svg":
        return str(convert.vegalite_to_svg(spec)).encode()
    if kind == "pdf":
        return bytes(convert.vegalite_to_pdf(spec))
    # The specification is in a script, which a "<" in a name could end; written as \u003c it means the same there.
    page = str(convert.vegalite_to_html(spec.replace("<", _STAND_IN), bundle=True))
    return page.replace(_STAND_IN, "\\u003c").encode()


def colour(
    comparison: Comparison,
    field: str = "system",
    systems: Sequence[str] | None = None,
    *,
    legend: bool = True,
    title: str | None = None,
) -> alt.Color:
    """Each system's own colour; ``field`` holds the names of ``systems``."""
    looks = scale(comparison, COLOURS, systems)
    return alt.Color(f"{field}:N", scale=looks, legend=legend_of(title) if legend else None)


def shape(comparison: Comparison, *, legend: bool = True) -> alt.Shape:
    """Each system's own shape, for print in grey."""
    looks = scale(comparison, SHAPES)
    return alt.Shape("system:N", scale=looks, legend=legend_of(None) if legend else None)


def dash(comparison: Comparison, *, legend: bool = True) -> alt.StrokeDash:
    """Each system's own dash, for lines."""
    looks = scale(comparison, DASHES)
    return alt.StrokeDash("system:N", scale=looks, legend=legend_of(None) if legend else None)


def legend_of(title: str | None) -> alt.Legend:
    """Next to a chart on a screen; below a figure of a paper, whose width it would take."""
    legend = alt.Legend(title=title, symbolOpacity=1, symbolStrokeWidth=0)
    if figures.current().width is not None:
        legend.orient, legend.columns, legend.symbolSize, legend.offset = "bottom", 3, 30, 4
    return legend


def scale(comparison: Comparison, looks: Sequence[Look], systems: Sequence[str] | None = None) -> alt.Scale:
    """From systems to what they look like."""
    shown = list(systems or figures.shown(comparison))
    return alt.Scale(domain=shown, range=[look(comparison, system, looks) for system in shown])


def look(comparison: Comparison, system: str, looks: Sequence[Look]) -> Look | str:
    """The style of a system, the same in every chart; systems that do not stand out share one."""
    first = figures.standing_out(comparison)
    if first is None:
        return looks[figures.shown(comparison).index(system) % len(looks)]
    if system in first:
        return looks[first.index(system) % len(looks)]
    return GREY if looks is COLOURS else looks[0]


def styled(
    chart: Chart,
    title: str,
    about: str,
    *,
    width: int = 520,
    height: float = 300,
    size: bool = True,
    square: bool = False,
) -> Chart:
    """The chart with a heading and the looks that all charts share; a notebook shows it without the network."""
    figure = figures.current()
    if figure.title:
        head = alt.TitleParams(title, subtitle=about, anchor="start", frame="group", offset=14)
        chart = chart.properties(title=head)
    if size and figure.width is None:
        chart = chart.properties(width=width, height=height)
    elif size and figure.width is not None:  # all of it, with axes and legend, is as wide as asked for
        tall = figure.width if square else min(height, 0.62 * figure.width if height == 300 else height)
        fit = alt.AutoSizeParams(type="fit", contains="padding")
        chart = chart.properties(width=figure.width, height=tall, autosize=fit)
    font, heading = figure.font, int(figure.small(15, 9))
    small = {} if figure.width is None else {"labelFontSize": font, "titleFontSize": font}
    axis = {} if figure.width is None else {"tickSize": 3, "titlePadding": 3, "labelPadding": 2}
    chart = (
        chart.configure(font=FONT, padding=figure.small(14, 2), background="white")
        .configure_view(stroke=None)
        .configure_text(fontSize=font)
        .configure_axis(
            labelColor=MUTED, titleColor=MUTED, titleFontWeight="normal", gridColor=LINE, domainColor=MUTED,
            tickColor=MUTED, labelLimit=figure.small(220, 90), **small, **axis,
        )
        .configure_axisY(
            domain=False, ticks=False, titleAngle=0, titleAlign="left", titleBaseline="bottom",
            labelPadding=figure.small(8, 3), titleX=figure.small(-26, -16), titleY=figure.small(-6, -7),
        )
        .configure_title(
            color=INK, subtitleColor=MUTED, fontSize=heading, subtitleFontSize=int(figure.small(12, 7)), subtitlePadding=5
        )
        .configure_legend(
            labelColor=INK, titleColor=MUTED, titleFontWeight="normal", labelLimit=220, symbolSize=figure.small(90, 30), **small
        )
    )  # fmt: skip
    from ranklens.report.notebook import self_contained

    return self_contained(chart)


def title_of(chart: alt.TopLevelMixin) -> str:
    """The heading of a chart that is :func:`styled`."""
    title = getattr(chart, "title", None)
    return str(title.text) if isinstance(title, alt.TitleParams) else ""


def header() -> alt.Header:
    """The names above small multiples."""
    return alt.Header(
        labelOrient="top",
        labelAnchor="start",
        labelColor=INK,
        labelFontSize=figures.current().small(12, 7),
        labelPadding=figures.current().small(10, 2),
    )


def inline(rows: Sequence[Row]) -> alt.InlineData:
    """Rows however many (Altair refuses tables of more than 5,000), with nothing for infinite numbers, which JSON lacks."""
    return alt.InlineData(
        values=[
            {key: finite(value) if isinstance(value, float) else value for key, value in row.items()}
            for row in rows
        ]
    )
