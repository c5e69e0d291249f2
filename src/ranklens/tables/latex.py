"""Tables in LaTeX: cells, rows, the environment around them, and whether they fit where papers put them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ranklens.words import visible

COLUMN, TEXT = 240, 504  # points: a column and the text of two-column classes such as acmart and IEEEtran
LONG_FROM = 41  # rows that no page holds
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\n": " ",
}
# Widths of Computer Modern in units of 1/1000 of the type's size; letters that are not listed are as wide as digits.
_WIDTHS = {
    **dict.fromkeys("ijl.,:;'!|", 278),
    **dict.fromkeys("ftsr-()[] ", 390),
    **dict.fromkeys("wABCDEFGHKLNOPQRSTUVXYZ+=<>~%", 735),
    **dict.fromkeys("mMW@", 920),
}
_USUAL_WIDTH = 500
_RAISED_SIZE = 0.75
_RAISED = re.compile(r"(?:\\textsuperscript|\^)\{(.*?)\}")
_SPAN = re.compile(r"\\multicolumn\{(\d+)\}\{\w\}\{(.*)\}$")
_COLUMNS = re.compile(r"@\{(?:[^{}]|\{[^{}]*\})*\}|[lrc]")
_SPACE = re.compile(r"@\{\\hspace\{(\d*)\\tabcolsep\}\}")
_SYMBOL = re.compile(r"\\[A-Za-z]+(?:\{\})?|\$-\$")
_MARKS = re.compile(r"\\rlap\{\\underline\{\\phantom\{.\}\}\}|\\(?:textbf|underline)\b")


@dataclass(frozen=True)
class Size:
    """The type of a table in a paper of 10 points: its size (small type is a little wider than its size says), and the space on either side of a column."""

    commands: tuple[str, ...] = ()
    letters: float = 10.0
    space: float = 6.0


NORMAL = Size()
SMALL = Size((r"\small", r"\setlength{\tabcolsep}{4pt}"), 9.25, 4.0)
TINY = Size((r"\footnotesize", r"\setlength{\tabcolsep}{2.5pt}"), 8.5, 2.5)


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_SPECIAL.get(c, rf"\{c}" if c in "&%$#_{}" else c) for c in visible(text))


def row(cells: Sequence[str]) -> str:
    """Cells, which are LaTeX already, as a row."""
    line = " & ".join(cells) + r" \\"
    # At the start of a line these would belong to the line break before.
    return f"{{}}{line}" if line.startswith(("[", "*")) else line


def width(cell: str, size: float = 10.0) -> float:
    r"""About how wide a cell is, in points.

    >>> width("0.5000"), width(r"\textbf{0}"), width(r"a\_b") == width("a_b")
    (27.78, 5.0, True)
    """
    raised = "".join(_RAISED.findall(cell))
    unmarked = _SYMBOL.sub("+", _MARKS.sub("", _RAISED.sub("", cell)))
    plain = re.sub(r"(?<!\\)[{}$]", "", unmarked).replace("\\", "")
    return (_letters(plain) + _RAISED_SIZE * _letters(_SYMBOL.sub("m", raised))) * size


def _letters(text: str) -> float:
    return sum(_WIDTHS.get(letter, _USUAL_WIDTH) for letter in text) / 1000


def environment(
    columns: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    label: str | None = None,
    size: Size = NORMAL,
    wide: bool = False,
) -> list[str]:
    """The lines of a table with booktabs; one with more rows than a page holds breaks over pages."""
    body = [row(cells) for cells in rows]
    if len(rows) >= LONG_FROM:
        return _long(columns, row(header), body, caption, label, size)
    kind = "table*" if wide else "table"
    return [
        rf"\begin{{{kind}}}",
        r"\centering",
        # Some classes leave room only above a caption.
        *([rf"\caption{{{caption}}}", r"\smallskip"] if caption else []),
        *([rf"\label{{{label}}}"] if label else []),
        *size.commands,
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        row(header),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{kind}}}",
    ]


def _long(
    columns: str, header: str, body: Sequence[str], caption: str, label: str | None, size: Size
) -> list[str]:
    """A longtable repeats its header on every page."""
    first = [rf"\caption{{{caption}}}", *([rf"\label{{{label}}}"] if label else []), r"\\"] if caption else []
    if label and not caption:
        header = rf"\label{{{label}}}{header}"
    heading = [r"\toprule", header, r"\midrule"]
    return [
        rf"% {len(body):,} rows do not fit on a page, so this is a longtable, which breaks over pages. Needs \usepackage{{longtable}}.",
        r"% Two-column classes (acmart's sigconf, IEEEtran) cannot set one: write \onecolumn before it and \twocolumn after it.",
        r"\begingroup",
        *size.commands,
        rf"\begin{{longtable}}{{{columns}}}",
        *first,
        *heading,
        r"\endfirsthead",
        *([r"\caption[]{(continued)} \\"] if caption else []),
        *heading,
        r"\endhead",
        r"\midrule",
        r"\endfoot",
        r"\bottomrule",
        r"\endlastfoot",
        *body,
        r"\end{longtable}",
        r"\endgroup",
    ]


def table_width(
    columns: str, header: Sequence[str], rows: Sequence[Sequence[str]], size: Size = NORMAL
) -> float:
    r"""About how wide a table is, in points of a paper in Computer Modern of 10 points; most other types are narrower.

    >>> round(table_width("lr@{.}l", ["system", r"\multicolumn{2}{c}{AP}"], [["bm25", "0 & 25"]]))
    73
    """
    widths: list[float] = []
    for cells in rows:
        row_widths = [width(cell, size.letters) for cell in " & ".join(cells).split(" & ")]
        widths = [max(pair) for pair in zip(widths or row_widths, row_widths, strict=True)]
    gaps: list[float] = []  # between each two columns
    for before, between in pairwise(_COLUMNS.findall(columns)):
        if between == "@{.}":
            gaps.append(width(".", size.letters))
        elif times := _SPACE.fullmatch(between):
            gaps.append(int(times[1] or 1) * size.space)
        elif not before.startswith("@"):
            gaps.append(2 * size.space)
    place = 0
    for cell in " & ".join(header).split(" & "):
        spanned = _SPAN.match(cell)
        span, text = (int(spanned[1]), spanned[2]) if spanned else (1, cell)
        inside = sum(widths[place : place + span]) + sum(gaps[place : place + span - 1])
        # As LaTeX does it, the last column takes what is missing.
        widths[place + span - 1] += max(0.0, width(text, size.letters) - inside)
        place += span
    return sum(widths) + sum(gaps) + 2 * size.space
