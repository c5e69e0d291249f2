"""Axes and the words around them: ticks, labels beside marks, and how much room words take."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from ranklens.report.charts import figures, style
from ranklens.report.charts import library as alt
from ranklens.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.comparison.comparison import Comparison


def labels(base: alt.Chart) -> list[alt.Chart]:
    """Words behind the marks, legible over lines."""
    gap = figures.current().small(8, 4)
    halo = base.mark_text(align="left", dx=gap, strokeWidth=figures.current().small(3, 2))
    layers = halo.encode(stroke=alt.value("white")), base.mark_text(align="left", dx=gap)
    return [layer.encode(text="label:N", color=alt.value(style.INK)) for layer in layers]


def reaches(base: alt.Chart) -> alt.Chart:
    """The intervals of rows, as broad lines behind their points."""
    broad = base.mark_rule(strokeWidth=figures.current().small(7, 4), opacity=0.28, strokeCap="round")
    intervals: alt.Chart = broad.encode(x="low:Q", x2="high:Q")
    return intervals


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends, and none in the room for labels."""
    span, most = (high - low) or abs(high) or 1.0, figures.current().small(6, 4)
    base = 10.0 ** floor(log10(span / most))
    step = next(base * factor for factor in (1, 2, 5, 10) if span / (base * factor) <= most)
    return [round(i * step, 12) for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def spaced(ticks: Sequence[float]) -> list[float]:
    """Fewer ticks in a narrow figure."""
    return list(ticks) if figures.current().width is None or len(ticks) < 8 else list(ticks[::2])


def with_room(ticks: Sequence[float], share: float, *, logarithmic: bool) -> float:
    """The end of an axis that leaves a share of its width behind the last tick."""
    first, last = ticks[0], ticks[-1]
    if logarithmic:
        return float(last * (last / first if last > first else 2.0) ** (share / (1 - share)))
    return float(last + (last - first or 1.0) * share / (1 - share))


def width_of(count: int) -> float:
    """About how wide these letters are."""
    return 0.56 * figures.current().font * count


def share_of_width(letters: int, beside: int = 0) -> float:
    """The share of a chart's width that a label takes, where names as long as ``beside`` stand left of it."""
    figure = figures.current()
    inner = 520.0 if figure.width is None else max(figure.width - width_of(beside) - 10, 60)
    return min((width_of(letters) + 12) / inner, 0.5)


def averaged(comparison: Comparison, *, intervals: bool = True) -> str:
    """What a mean is over, for the line below a title; and the level of the intervals, if they are drawn."""
    mean = f"Mean over {counted(len(comparison.query_ids), 'query')}"
    return f"{mean}, {100 * comparison.level:.4g}% interval" if intervals else f"{mean}, without intervals"
