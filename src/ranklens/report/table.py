"""A table: a header, rows of text, a note. Every output is rendered from it."""

from __future__ import annotations

import csv
import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Table:
    """Text in rows and columns; the first column is aligned to the left, the others to the right.

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

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = [_line(row, widths) for row in (self.header, ["-" * w for w in widths], *self.rows)]
        return "\n".join(lines + (["", self.note] if self.note else []))

    def to_csv(self, separator: str = ",") -> str:
        """Comma- or tab-separated values, without the note."""
        out = io.StringIO()
        csv.writer(out, delimiter=separator, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()

    def to_markdown(self) -> str:
        """A table for GitHub and its like.

        >>> print(Table(["measure", "mean"], [["P@5", "0.4000"]]).to_markdown())
        | measure | mean |
        | :-- | --: |
        | P@5 | 0.4000 |
        """
        align = [":--", *["--:"] * (len(self.header) - 1)]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in (self.header, align, *self.rows)]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join(lines + (["", self.note] if self.note else []))

    def to_latex(self) -> str:
        """A table with booktabs, the note as its caption."""
        lines = [" & ".join(map(_escape_latex, row)) + r" \\" for row in (self.header, *self.rows)]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                rf"\caption{{{_escape_latex(self.note)}}}",
                r"\end{table}",
            ]
        )

    def to_html(self) -> str:
        """The table as HTML; every cell is escaped."""
        head = "".join(
            f"<th style='text-align:{_side(i)}'>{html.escape(c)}</th>" for i, c in enumerate(self.header)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{_side(i)}'>{html.escape(cell)}</td>" for i, cell in enumerate(row)
            )
            + "</tr>"
            for row in self.rows
        )
        note = f"<p><small>{html.escape(self.note)}</small></p>" if self.note else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


class Shown:
    """What a result shows of itself, in a terminal and in a notebook: its table."""

    def table(self) -> Table:
        """The result as text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()


def _escape_latex(cell: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, rf"\{c}" if c in "&%$#_{}" else c) for c in cell)


def _side(column: int) -> str:
    return "right" if column else "left"
