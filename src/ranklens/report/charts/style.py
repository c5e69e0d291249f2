"""What all charts share: colours, shapes and dashes of systems, the style, and how a chart is written to a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, MissingExtraError
from ranklens.report import palette
from ranklens.report.charts import figures
from ranklens.words import finite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import altair as alt

    from ranklens.comparison.comparison import Comparison

    Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

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


def rendered(chart: Chart, kind: str) -> bytes:
    """The chart in one of :data:`FORMATS`."""
    convert, spec = converter(), chart.to_json()
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
    channel: str = "Color",
) -> Any:
    """Each system's own colour; ``field`` holds the names of ``systems``."""
    encode = getattr(altair(), channel)
    return encode(
        f"{field}:N", scale=scale(comparison, COLOURS, systems), legend=legend_of(title) if legend else None
    )


def shape(comparison: Comparison, *, legend: bool = True) -> Any:
    """Each system's own shape, for print in grey."""
    return altair().Shape(
        "system:N", scale=scale(comparison, SHAPES), legend=legend_of(None) if legend else None
    )


def dash(comparison: Comparison, *, legend: bool = True) -> Any:
    """Each system's own dash, for lines."""
    return altair().StrokeDash(
        "system:N", scale=scale(comparison, DASHES), legend=legend_of(None) if legend else None
    )


def legend_of(title: str | None, values: Sequence[str] | None = None) -> Any:
    """Beside a chart on a screen; below a figure of a paper, whose width it would take."""
    below = (
        {}
        if figures.current().width is None
        else {"orient": "bottom", "columns": 3, "symbolSize": 30, "offset": 4}
    )
    chosen = {} if values is None else {"values": list(values)}
    return altair().Legend(title=title, symbolOpacity=1, symbolStrokeWidth=0, **below, **chosen)


def scale(comparison: Comparison, looks: Sequence[Any], systems: Sequence[str] | None = None) -> Any:
    """From systems to what they look like."""
    shown = list(systems or figures.shown(comparison))
    return altair().Scale(domain=shown, range=[look(comparison, system, looks) for system in shown])


def look(comparison: Comparison, system: str, looks: Sequence[Any]) -> Any:
    """The same for a system in every chart; no two systems look alike, except those that do not stand out."""
    first = figures.standing_out(comparison)
    if first is None:
        return looks[figures.shown(comparison).index(system) % len(looks)]
    if system in first:
        return looks[first.index(system) % len(looks)]
    return GREY if looks is COLOURS else looks[0]


def styled(
    chart: Any,
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
    if figure.width is None:
        extent: dict[str, Any] = {"width": width, "height": height}
    else:  # all of it, with axes and legend, is as wide as asked for
        tall = figure.width if square else min(height, 0.62 * figure.width if height == 300 else height)
        fit = altair().AutoSizeParams(type="fit", contains="padding")
        extent = {"width": figure.width, "height": tall, "autosize": fit}
    head = altair().TitleParams(title, subtitle=about, anchor="start", frame="group", offset=14)
    chart = chart.properties(**({"title": head} if figure.title else {}), **(extent if size else {}))
    finished: Chart = _with_looks(chart, figure)
    from ranklens.report.notebook import self_contained

    return self_contained(finished)


def _with_looks(chart: Any, figure: figures.Figure) -> Any:
    font, heading = figure.font, int(figure.small(15, 9))
    small = {} if figure.width is None else {"labelFontSize": font, "titleFontSize": font}
    axis = {} if figure.width is None else {"tickSize": 3, "titlePadding": 3, "labelPadding": 2}
    upright = {
        "labelPadding": figure.small(8, 3),
        "titleX": figure.small(-26, -16),
        "titleY": figure.small(-6, -7),
    }
    return (
        chart.configure(font=FONT, padding=figure.small(14, 2), background="white")
        .configure_view(stroke=None)
        .configure_text(fontSize=font)
        .configure_axis(
            labelColor=MUTED, titleColor=MUTED, titleFontWeight="normal", gridColor=LINE, domainColor=MUTED,
            tickColor=MUTED, labelLimit=figure.small(220, 90), **small, **axis,
        )
        .configure_axisY(
            domain=False, ticks=False, titleAngle=0, titleAlign="left", titleBaseline="bottom", **upright
        )
        .configure_title(
            color=INK, subtitleColor=MUTED, fontSize=heading, subtitleFontSize=int(figure.small(12, 7)), subtitlePadding=5
        )
        .configure_legend(
            labelColor=INK, titleColor=MUTED, titleFontWeight="normal", labelLimit=220, symbolSize=figure.small(90, 30), **small
        )
    )  # fmt: skip


def title_of(chart: Chart) -> str:
    """The heading of a chart that is :func:`styled`."""
    return str(getattr(chart.title, "text", ""))


def header() -> Any:
    """The names above small multiples."""
    return altair().Header(
        labelOrient="top",
        labelAnchor="start",
        labelColor=INK,
        labelFontSize=figures.current().small(12, 7),
        labelPadding=figures.current().small(10, 2),
    )


def inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows however many (Altair refuses tables of more than 5,000), with nothing for infinite numbers, which JSON lacks."""
    return altair().InlineData(values=[{key: _for_json(value) for key, value in row.items()} for row in rows])


def _for_json(value: Any) -> Any:
    return finite(value) if isinstance(value, float) else value


def altair() -> Any:
    """The library, or how to get it."""
    return _needed("altair")


def converter() -> Any:
    """What makes images, or how to get it."""
    return _needed("vl_convert")


def _needed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"Charts need {module.replace('_', '-')}, which is not installed: pip install 'ranklens[plots]'"
        ) from None
