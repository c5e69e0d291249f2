"""Charts of a comparison with Altair, for notebooks and papers: each function returns a chart, :func:`save` writes it.

Systems differ by colour (after Okabe and Ito, safe for colour-blind people), by shape and by dash, so that they stay
readable in greyscale. The numbers are those of :mod:`ranklens.report.chart_data`. Needs ``pip install 'ranklens[plots]'``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.errors import InputError, nearest
from ranklens.report import chart_data
from ranklens.report.charts import style
from ranklens.report.charts.library import needed
from ranklens.report.charts.matrix import significance
from ranklens.report.charts.means import differences, leaderboard, slices
from ranklens.report.charts.queries import deltas, scatter
from ranklens.report.charts.ranks import first_relevant, over_k, over_tokens, precision_recall
from ranklens.report.charts.style import save
from ranklens.report.charts.times import latency

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import MeasureName
    from ranklens.report.charts.style import Chart

__all__ = ["CHARTS", "ComparisonPlots", "deltas", "differences", "draw", "first_relevant", "latency", "leaderboard", "over_k", "over_tokens", "planned",
           "precision_recall", "save", "scatter", "significance", "slices"]  # fmt: skip

_OF_TWO = ("deltas", "scatter")  # show two systems
_WITHOUT_MEASURE = ("first_relevant", "precision_recall")
CHARTS: Mapping[str, Callable[..., Chart]] = {
    chart.__name__: chart
    for chart in (
        leaderboard, differences, deltas, scatter, first_relevant, precision_recall, over_k, over_tokens, latency, significance, slices
    )
}  # fmt: skip


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

    def over_tokens(self, measure: MeasureName = None) -> Chart:
        return over_tokens(self.comparison, measure)

    def latency(self, measure: MeasureName = None) -> Chart:
        return latency(self.comparison, measure)

    def significance(self, measure: MeasureName = None) -> Chart:
        return significance(self.comparison, measure)

    def slices(self, measure: MeasureName = None) -> Chart:
        return slices(self.comparison, measure)


def draw(
    comparison: Comparison,
    name: str,
    a: str | None = None,
    b: str | None = None,
    measure: MeasureName = None,
) -> Chart:
    """A chart by its name, of the first measure or another; ``a`` and ``b`` are used where it shows two systems."""
    _check(name, measure)
    pair = {"a": a, "b": b} if name in _OF_TWO else {}
    return CHARTS[name](comparison, **pair, **({} if measure is None else {"measure": measure}))


def planned(text: str) -> tuple[str, str | None, Path]:
    """What ``[CHART[:MEASURE]=]FILE`` asks for, refused now if it cannot be drawn later.

    >>> planned("deltas:AP=out.png")
    ('deltas', 'AP', ...Path('out.png'))
    """
    chart, equals, file = text.rpartition("=")
    name, _, measure = (chart if equals else "leaderboard").partition(":")
    _check(name, measure or None, f"--plot {text}: ")
    target = Path(file)
    style.format_of(target)
    # A missing package is reported now, not after the evaluation.
    needed("altair")
    needed("vl_convert")
    return name, measure or None, target


def _check(name: str, measure: MeasureName, asked: str = "") -> None:
    if name not in CHARTS:
        raise InputError(
            f"{asked}{'there' if asked else 'There'} is no chart {name!r}: {nearest(name, CHARTS)}"
        )
    if measure is not None and name in _WITHOUT_MEASURE:
        raise InputError(f"{asked}{name} shows the ranking itself and takes no measure.")
