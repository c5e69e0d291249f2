"""Charts as figures of a paper: as wide as a column or the text, with type that stays readable at that size.

A chart is drawn with the :class:`Figure` of the moment, which says how large things are and which systems stand out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec

from ranklens.errors import InputError, nearest

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.report.chart_data import Row
    from ranklens.report.charts.style import Chart

P = ParamSpec("P")

WIDTHS = {
    "column": 240,
    "text": 504,
}  # points: the columns and the text of ACM, IEEE and Springer differ by a few
TALLEST = 600  # points that a page has room for
MOST_LOOKS = 8  # systems that can be distinguished by colour, shape and dash
_BEST = 5  # systems that stand out where there are more


@dataclass(frozen=True)
class Figure:
    """How a chart is drawn; without a width, as for a screen."""

    width: int | None = None
    title: bool = True
    systems: tuple[str, ...] | None = None
    highlight: tuple[str, ...] | None = None

    @classmethod
    def checked(
        cls,
        width: str | float | None,
        title: bool,
        systems: Sequence[str] | None,
        highlight: str | Sequence[str] | None,
    ) -> Figure:
        """What was asked for, if it can be drawn."""
        if isinstance(width, str) and width not in WIDTHS:
            raise InputError(f"width={width!r}: {nearest(width, WIDTHS)} A number is a width in points.")
        points = WIDTHS[width] if isinstance(width, str) else width
        if points is not None and not 100 <= points <= 2000:
            raise InputError(f"width={points:g}: a figure is from 100 to 2,000 points wide.")
        chosen = (highlight,) if isinstance(highlight, str) else highlight
        if chosen is not None and len(chosen) > MOST_LOOKS:
            raise InputError(f"{len(chosen)} systems cannot all stand out; highlight at most {MOST_LOOKS}.")
        return cls(
            None if points is None else round(points),
            title,
            None if systems is None else tuple(systems),
            None if chosen is None else tuple(chosen),
        )

    @property
    def font(self) -> int:
        """The size of labels, in points."""
        return 11 if self.width is None else 7

    def small(self, screen: float, paper: float) -> float:
        """A size on a screen, or the one in a paper."""
        return screen if self.width is None else paper

    def rows(self, count: int) -> float:
        """The height of ``rows`` rows of text, which fit a page."""
        step = (34 if count <= 12 else 20) if self.width is None else 12
        height = step * max(count, 1) + self.small(10, 28)  # in a figure, the axis is part of it
        return height if self.width is None else min(height, TALLEST)


_NOW: ContextVar[Figure] = ContextVar("figure", default=Figure())  # noqa: B039  immutable


def current() -> Figure:
    """What is drawn now."""
    return _NOW.get()


@contextmanager
def drawn_as(figure: Figure) -> Iterator[None]:
    """Charts are drawn like this meanwhile."""
    token = _NOW.set(figure)
    try:
        yield
    finally:
        _NOW.reset(token)


def shown(comparison: Comparison) -> list[str]:
    """The systems that are drawn, in the order given."""
    chosen = current().systems
    if chosen is None:
        return list(comparison.systems)
    _refuse_unknown(comparison, chosen)
    return [system for system in comparison.systems if system in chosen]


def standing_out(comparison: Comparison) -> list[str] | None:
    """The systems with a look of their own, while the others are grey; None if all have one.

    Those that were named; else, where there are too many, the baseline and the best of the first measure.
    """
    named, systems = current().highlight, shown(comparison)
    if named is not None:
        _refuse_unknown(comparison, named)
        return [system for system in named if system in systems]
    if len(systems) <= MOST_LOOKS:
        return None
    best = [system for system in comparison.ranked(comparison.measures[0]) if system in systems]
    first = [comparison.baseline] if comparison.baseline in systems else []
    return list(dict.fromkeys([*first, *best[:_BEST]]))


def drawn_rows(comparison: Comparison, table: pl.DataFrame) -> list[Row]:
    """The rows whose systems are drawn."""
    rows = table.to_dicts()
    if current().systems is None:
        return rows
    systems = {*shown(comparison)}
    return [row for row in rows if all(row[key] in systems for key in ("system", "a", "b") if key in row)]


def _refuse_unknown(comparison: Comparison, names: Sequence[str]) -> None:
    for name in names:
        if name not in comparison.systems:
            raise InputError(f"There is no system {name!r}: {nearest(name, comparison.systems)}")


def redrawable(chart: Callable[P, Chart]) -> Callable[P, Chart]:
    """The function, whose charts can be drawn again as figures."""

    @wraps(chart)
    def draw(*args: P.args, **options: P.kwargs) -> Chart:
        from ranklens.report.notebook import repeatable

        return repeatable(chart(*args, **options), partial(chart, *args, **options))

    return draw
