"""A table: a header, rows of text, a note. Every output is rendered from it."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.tables import latex
from ranklens.words import in_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


_WIDTH = 110  # of paragraphs in plain text


class Cell(str):
    """Text with a mark: bold, or with raised letters behind it, where the output can show that."""

    __slots__ = ("raised", "strong")
    raised: str
    strong: bool

    def __new__(cls, text: str, *, strong: bool = False, raised: str = "") -> Cell:  # noqa: PYI034  Self needs Python 3.11
        cell = super().__new__(cls, text)
        cell.strong, cell.raised = strong, raised
        return cell


@dataclass(frozen=True)
class Table:
    """Text in rows and columns; the first column (or the first few) aligned to the left, the others to the right.

    >>> print(Table(["measure", "mean"], [["P@5", "0.4000"]], note="1 query"))
    measure    mean
    -------  ------
    P@5      0.4000
    <BLANKLINE>
    1 query
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    title: str = ""
    left: int = 1  # columns aligned to the left

    def __str__(self) -> str:
        header, *rows = ([in_a_cell(cell) for cell in row] for row in (self.header, *self.rows))
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [in_one_line(self.title), ""] if self.title else []
        for row in (header, ["-" * width for width in widths], *rows):
            left = [cell.ljust(width) for cell, width in zip(row[: self.left], widths, strict=False)]
            right = [
                cell.rjust(width) for cell, width in zip(row[self.left :], widths[self.left :], strict=True)
            ]
            lines.append("  ".join([*left, *right]).rstrip())
        return "\n".join([*lines, *(["", *map(in_one_line, self.note.split("\n"))] if self.note else [])])

    def to_csv(self, separator: str = ",", *, guarded: bool = False) -> str:
        """Comma- or tab-separated values, without title and note.

        ``guarded`` puts a ``'`` before text that a spreadsheet would take for a formula.

        >>> print(Table(["query"], [["=1+1"], ["-0.5"]]).to_csv(guarded=True), end="")
        query
        '=1+1
        -0.5
        """
        out = io.StringIO()
        rows = [[no_formula(cell) if guarded else cell for cell in row] for row in (self.header, *self.rows)]
        csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
        return out.getvalue()

    def to_markdown(self) -> str:
        """A Markdown table.

        >>> print(Table(["measure", "mean"], [["P@5", Cell("0.4000", strong=True, raised="a")]]).to_markdown())
        | measure | mean |
        | :-- | --: |
        | P@5 | **0.4000**<sup>a</sup> |
        """
        align = [":--" if i < self.left else "--:" for i in range(len(self.header))]
        rows = [[_markdown(cell) for cell in row] for row in (self.header, align, *self.rows)]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        before = [f"### {_markdown(self.title)}", ""] if self.title else []
        after = ["", *map(_harmless, self.note.split("\n"))] if self.note else []
        return "\n".join([*before, *lines, *after])

    def to_latex(self) -> str:
        """A table with booktabs, the note as its caption above it."""
        columns = "l" * self.left + "r" * (len(self.header) - self.left)
        header, *rows = ([_latex(cell) for cell in row] for row in (self.header, *self.rows))
        return "\n".join(latex.environment(columns, header, rows, caption=_latex(self.note)))

    def to_html(self) -> str:
        """The table as HTML; every cell is escaped."""
        line = "border-bottom:1px solid #8888;"
        head = "".join(f"<th{self._style(i, line)}>{_escaped(c)}</th>" for i, c in enumerate(self.header))
        is_grouped, body = any(not row[0] for row in self.rows if row), ""
        for n, row in enumerate(self.rows):
            # A thin line comes above the first row of a group.
            line = "border-top:1px solid #8884;" if is_grouped and n > 0 and row[0] else ""
            cells = "".join(f"<td{self._style(i, line)}>{_html(c)}</td>" for i, c in enumerate(row))
            body += f"<tr>{cells}</tr>"
        title = f"<h4>{_escaped(self.title)}</h4>" if self.title else ""
        note = f"<p><small>{_escaped(self.note)}</small></p>" if self.note else ""
        return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def _style(self, column: int, line: str) -> str:
        side = "left" if column < self.left else "right"
        return f" style='{line}text-align:{side};padding:.2em .8em;font-variant-numeric:tabular-nums'"


class Shown:
    """What a result shows of itself, in a terminal and in a notebook: its printout, by default a table."""

    def table(self) -> Table:
        """The result as text."""
        raise NotImplementedError

    def printout(self) -> Table | Printout:
        """All that ``print`` shows."""
        return self.table()

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()


@dataclass(frozen=True)
class Lines:
    """Sentences below a title."""

    title: str
    lines: Sequence[str]

    def __str__(self) -> str:
        wrapped = textwrap.TextWrapper(_WIDTH, "- ", "  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join([in_one_line(self.title), *(wrapped.fill(in_one_line(line)) for line in self.lines)])

    def to_markdown(self) -> str:
        items = (f"- {_markdown(line)}" for line in self.lines)
        return "\n".join([f"**{_markdown(self.title)}**", "", *items])

    def to_html(self) -> str:
        items = "".join(f"<li>{_escaped(line)}</li>" for line in self.lines)
        return f"<p><b>{_escaped(self.title)}</b></p><ul>{items}</ul>"


@dataclass(frozen=True)
class Printout:
    """Tables and sentences, one after the other."""

    parts: Sequence[Table | Lines]

    def with_part(self, part: Table | Lines) -> Printout:
        return Printout([*self.parts, part])

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.parts))

    def to_markdown(self) -> str:
        return "\n\n".join(part.to_markdown() for part in self.parts)

    def to_latex(self) -> str:
        """The tables; sentences belong in the text."""
        return "\n\n".join(part.to_latex() for part in self.parts if isinstance(part, Table))

    def to_html(self) -> str:
        return "".join(f"<div style='margin:1em 0'>{part.to_html()}</div>" for part in self.parts)


def _marks(cell: str) -> tuple[bool, str]:
    return (cell.strong, cell.raised) if isinstance(cell, Cell) else (False, "")


def _markdown(cell: str) -> str:
    strong, raised = _marks(cell)
    text = _harmless("".join(f"\\{c}" if c in "\\`*<|" else c for c in cell.replace("\n", " ")))
    return (f"**{text}**" if strong else text) + (f"<sup>{raised}</sup>" if raised else "")


# Square brackets stay, as intervals have them, unless what follows would make a link of them.
_LINK = re.compile(r"\](?=[(\[:])")


def _harmless(text: str) -> str:
    """Markdown without links, which may run code where it is shown."""
    return _LINK.sub(r"\\]", in_one_line(text))


def in_a_cell(cell: str) -> str:
    """What a cell shows in plain text: an id has no ends of lines, as a mean above its interval has."""
    return "\n".join(map(in_one_line, cell.split("\n"))) if isinstance(cell, Cell) else in_one_line(cell)


def no_formula(text: str) -> str:
    """Text that no spreadsheet takes for a formula; numbers stay."""
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _latex(cell: str) -> str:
    strong, raised = _marks(cell)
    text = rf"\textbf{{{latex.escaped(cell)}}}" if strong else latex.escaped(cell)
    return text + (rf"\textsuperscript{{{latex.escaped(raised)}}}" if raised else "")


def _escaped(text: str) -> str:
    import html  # its table of entities is slow to load

    return html.escape(text)


def _html(cell: str) -> str:
    strong, raised = _marks(cell)
    text = _escaped(cell)
    return (f"<b>{text}</b>" if strong else text) + (f"<sup>{_escaped(raised)}</sup>" if raised else "")
