"""The table of a paper, in LaTeX: systems × measures, with marks for what was shown.

It needs ``booktabs``, and ``longtable`` if it has more rows than a page: decimals are aligned by two columns that meet at the point, so that bold digits and raised
marks do not move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.comparison import tables
from ranklens.comparison.groups import label
from ranklens.errors import Given, InputError, InPython, Option, RankLensWarning, nearest, warn
from ranklens.metrics import parse, stated
from ranklens.scores import highest_grade
from ranklens.scores.notes import in_prose
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.significance import SIGNIFICANCE_TESTS
from ranklens.tables import latex as latex_tables
from ranklens.tables.table import in_a_cell
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

ORDERS = ("mean", "given")
MARKS = ("letters", "dagger", "triangles", "none")
ALIGNMENTS = ("decimal", "right")
NOTES = ("short", "full", "none")
_MOST_DIGITS = 10
_SMALL_FROM = 12  # systems from which on a table is set in small type
_NARROW_FROM = 6  # columns of numbers, likewise
_BETTER_AND_WORSE = {
    "dagger": (r"$^{\dagger}$", r"$^{\ddagger}$"),
    "triangles": (r"$^{\bigtriangleup}$", r"$^{\bigtriangledown}$"),
}


@dataclass(frozen=True)
class PaperTable:
    """What a paper's table shows and how; a caption may hold LaTeX. :meth:`ranklens.Comparison.to_latex` takes the same by name."""

    order: str = "mean"
    marks: str | None = None  # daggers where systems are compared with one, else letters
    against: str | None = None
    delta: bool = False
    digits: int = 4
    align: str = "decimal"
    caption: str | None = None
    label: str | None = None
    wide: bool = False
    notes: str = "short"

    def __post_init__(self) -> None:
        choices = {"order": ORDERS, "marks": MARKS, "align": ALIGNMENTS, "notes": NOTES}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed and not (name == "marks" and value is None):
                raise InputError(Given(name, value), f" is not known: {nearest(str(value), allowed)}")
        if not 0 <= self.digits <= _MOST_DIGITS:
            raise InputError(Given("digits", self.digits), f" is not allowed: from 0 to {_MOST_DIGITS}.")

    def given(self) -> list[str]:
        """The names of what is not as by default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


def latex(comparison: Comparison, table: PaperTable) -> str:
    """The table as LaTeX."""
    return _Page(comparison, table).text()


@dataclass(frozen=True)
class _Page:
    comparison: Comparison
    asked: PaperTable

    @cached_property
    def systems(self) -> list[str]:
        if self.asked.order == "given":
            return list(self.comparison.systems)
        return self.comparison.ranked(self.comparison.measures[0])

    @cached_property
    def against(self) -> str | None:
        """The system that daggers, triangles and differences refer to."""
        name, baseline = self.asked.against, self.comparison.baseline
        if name is None:
            return baseline
        if name not in self.comparison.systems:
            raise InputError(
                Given("against", name), f" is not a system: {nearest(name, self.comparison.systems)}"
            )
        if baseline is not None and name != baseline:
            raise InputError(
                Given("against", name),
                f": only pairs with {baseline} were tested; compare without a baseline, or with {name} as such.",
            )
        return name

    @cached_property
    def marks(self) -> str:
        chosen = self.asked.marks or ("dagger" if self.against is not None else "letters")
        if chosen in _BETTER_AND_WORSE and self.against is None:
            raise InputError(
                Given("marks", chosen),
                " needs a system to compare with: give ",
                Option("against"),
                ", or a baseline.",
            )
        return chosen if len(self.comparison.pairs) else "none"

    def text(self) -> str:
        if self.asked.delta and self.against is None:
            raise InputError(
                Option("delta"),
                " needs a system to compare with: give ",
                Option("against"),
                ", or a baseline.",
            )
        body = latex_tables.environment(
            *self._content,
            caption=self.asked.caption if self.asked.caption is not None else self._caption(),
            label=self.asked.label,
            size=self._size,
            wide=self.asked.wide,
        )
        details = []  # what the caption leaves out
        if self.asked.notes != "none":
            notes = (f"% {in_a_cell(line)}" for line in tables.note(self.comparison))
            details = ["% Needs \\usepackage{booktabs}.", *notes]
        return "\n".join([*details, *self._on_width(), *body])

    @cached_property
    def _content(self) -> tuple[str, list[str], list[list[str]]]:
        """The columns, the header and the rows."""
        lettered = self.marks == "letters"
        columns, header = "ll" if lettered else "l", ["", "system"] if lettered else ["system"]
        near, far = r"@{\hspace{\tabcolsep}}", r"@{\hspace{3\tabcolsep}}"
        for measure in self.comparison.measures:
            # A difference stands nearer to its own measure than to the next.
            columns += far if columns.endswith(f"{near}r") else ""
            columns += "r@{.}l" if self._has_point(measure) else "r"
            columns += f"{near}r" if self._has_delta(measure) else ""
            name = latex_tables.escaped(self.comparison.shown(measure))
            name = rf"\multicolumn{{2}}{{c}}{{{name}}}" if self._has_point(measure) else name
            header.append(name + (r" & $\Delta$\%" if self._has_delta(measure) else ""))
        cells = [self._cells(measure) for measure in self.comparison.measures]
        rows = [
            [
                *([label(i)] if lettered else []),
                latex_tables.escaped(system),
                *(column[i] for column in cells),
            ]
            for i, system in enumerate(self.systems)
        ]
        return columns, header, rows

    @property
    def width(self) -> float:
        """About how wide the table is, in points."""
        return latex_tables.table_width(*self._content, self._size)

    def _on_width(self) -> list[str]:
        """What to do about a table that is too wide, as a warning and as a comment."""
        width, is_long = self.width, len(self.systems) >= latex_tables.LONG_FROM
        room = latex_tables.TEXT if self.asked.wide or is_long else latex_tables.COLUMN
        if width <= room:
            return []
        about = f"The LaTeX table is about {width:.0f} pt wide"
        smaller = "show fewer measures or digits, or use shorter names"
        if self.marks == "letters":
            smaller += ", or mark differences from one system (against) instead of letters"
        warning = RankLensWarning(
            f"{about}, more than a column of a two-column paper ({latex_tables.COLUMN} pt): span both columns with ",
            InPython("wide=True", "--wide", "wide"),
            f", or {smaller}.",
        )
        if width > latex_tables.TEXT:
            warning = RankLensWarning(
                f"{about}, more than the text of most papers ({latex_tables.TEXT} pt): {smaller}."
            )
        warn(warning)
        return [f"% {warning}"]

    @property
    def _size(self) -> latex_tables.Size:
        """Small type for many systems, smaller still for many columns."""
        columns = sum(1 + self._has_delta(measure) for measure in self.comparison.measures)
        if columns > _NARROW_FROM:
            return latex_tables.TINY
        return latex_tables.SMALL if len(self.systems) > _SMALL_FROM else latex_tables.NORMAL

    def _has_point(self, measure: str) -> bool:
        is_whole = self.comparison.quantity(measure).aggregate == "sum" or not self.asked.digits
        return self.asked.align == "decimal" and not is_whole

    def _has_delta(self, measure: str) -> bool:
        return self.asked.delta and tables.is_rated(self.comparison, measure)

    def _cells(self, measure: str) -> list[str]:
        rated = tables.is_rated(self.comparison, measure)
        means = {system: self.comparison.result(measure, system).mean for system in self.systems}
        ranked = [means[system] for system in self.comparison.ranked(measure)]
        places = list(dict.fromkeys(ranked))
        second = places[1] if len(places) > 1 and len(ranked) > 2 else None
        base = means[self.against] if self.against is not None else 0.0
        cells = []
        for system in self.systems:
            value = means[system]
            look = ""
            if rated and value == places[0]:
                look = r"\textbf"
            elif rated and value == second:
                look = r"\underline"
            cell = self._number(measure, value, look) + (self._mark(measure, system) if rated else "")
            if self._has_delta(measure):
                change = 100 * (value - base) / abs(base) if base else 0.0
                percent = f"{'$-$' if change < 0 else '$+$'}{abs(change):.1f}"
                cell += f" & {'--' if system == self.against or not base else percent}"
            cells.append(cell)
        return cells

    def _number(self, measure: str, value: float, look: str) -> str:
        if self.comparison.quantity(measure).aggregate == "sum":
            return f"{value:,.0f}"
        whole, point, part = f"{abs(value):.{self.asked.digits}f}".partition(".")
        sign = "$-$" if value < 0 else ""
        if not self._has_point(measure):
            text = f"{whole}{point}{part}"
            return sign + (f"{look}{{{text}}}" if look else text)
        if not look:
            return f"{sign}{whole} & {part}"
        # The point stands between the columns; below it, the line under the digits goes on.
        under = r"\rlap{\underline{\phantom{.}}}" if look == r"\underline" else ""
        return f"{sign}{look}{{{whole}}}{under} & {look}{{{part}}}"

    def _mark(self, measure: str, system: str) -> str:
        if self.marks == "none":
            return ""
        place = {name: i for i, name in enumerate(self.comparison.ranked(measure))}
        apart = self.comparison.told_apart(measure, system)
        if self.marks == "letters":
            beaten = [
                i for i, other in enumerate(self.systems) if other in apart and place[other] > place[system]
            ]
            return rf"\textsuperscript{{{_ranges(beaten)}}}" if beaten else ""
        if self.against not in apart:
            return ""
        better, worse = _BETTER_AND_WORSE[self.marks]
        return better if place[system] < place[str(self.against)] else worse

    def _caption(self) -> str:
        """Text, with marks as LaTeX has them."""
        if self.asked.notes == "none":
            return ""
        method = ""
        if len(self.comparison.pairs):
            named = tables.method if self.asked.notes == "full" else _briefly
            method = f"{named(self.comparison)}, p < {self.comparison.alpha:g}"
        look = "best in bold" + (", second best underlined" if len(self.systems) > 2 else "")
        said = [f"Means over {counted(len(self.comparison.query_ids), 'query')}; {look}."]
        if self.marks == "letters":
            said.append(
                f"Raised letters: significantly better than the systems with these letters ({method})."
            )
        elif self.marks != "none":
            better, worse = {"dagger": ("†", "‡"), "triangles": ("△", "▽")}[self.marks]
            said.append(
                f"{better} and {worse}: significantly better and worse than {self.against} ({method})."
            )
        if self.asked.delta:
            said.append(f"Δ%: relative to {self.against}.")
        if self.marks == "letters":
            said.append(tables.only_with_baseline(self.comparison).strip())
        if self.asked.notes == "full" and self.comparison.scores:
            names = self.comparison.measures
            shown = [parse(name) for name in names if self.comparison.quantity(name).is_known]
            said += in_prose([one.account(shown) for one in self.comparison.scores.values()], shown)[1:]
        if parameters := stated_parameters(self.comparison):
            said.append(f"Parameters: {'; '.join(parameters)}.")
        return latex_tables.escaped(" ".join(filter(None, said))).translate(_SYMBOLS)


_LATEX = {"†": "dagger", "‡": "ddagger", "△": "bigtriangleup", "▽": "bigtriangledown", "Δ": "Delta"}
_SYMBOLS = str.maketrans({symbol: rf"$\{name}$" for symbol, name in _LATEX.items()})


def stated_parameters(comparison: Comparison) -> list[str]:
    """Parameters that a paper must state and that the names of its measures do not show: ``RBP: p = 0.8``."""
    highest = highest_grade(scores.basis for scores in comparison.scores.values())
    return [
        f"{comparison.shown(name)}: {', '.join(parts)}"
        for name in comparison.measures
        if comparison.quantity(name).is_known and (parts := stated(name, highest))
    ]


def _briefly(comparison: Comparison) -> str:
    """The test, the correction and the level, in a few words."""
    tests = dict.fromkeys(part.terms.done for part in comparison.pairs.parts)
    parts = [SIGNIFICANCE_TESTS[test].words for test in tests]
    family = comparison.pairs.parts[0].family
    if family.pairs > 1 and not comparison.settings.is_of_all_pairs:
        parts.append(CORRECTIONS_BY_NAME[comparison.correction].words or "not corrected")
    if family.measures == 1 and len(comparison.pairs.parts) > 1:
        parts.append("not corrected over measures")
    return ", ".join(parts)


def _ranges(places: Sequence[int]) -> str:
    """Letters, with a dash where three or more follow each other: ``ac--g``."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    separator = "," if places and places[-1] >= 26 else ""
    spans = (
        f"{label(run[0])}--{label(run[-1])}" if len(run) > 2 else separator.join(map(label, run))
        for run in runs
    )
    return separator.join(spans)
