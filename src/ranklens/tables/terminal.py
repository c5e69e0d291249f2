"""Tables and sentences on a terminal, in colour and as wide as it is; elsewhere the same as plain text.

Nothing here writes colour into files or pipes, and ``NO_COLOR`` is respected.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ranklens.tables.table import Cell, Lines, Printout, Table, in_a_cell
from ranklens.words import in_one_line

if TYPE_CHECKING:
    from rich.console import Console


def terminal() -> Console | None:
    """Standard output as a Rich console if it is a terminal, else None."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(highlight=False)


def natural_width(table: Table) -> int:
    """How many columns of a terminal a table takes if nothing is wrapped.

    >>> natural_width(Table(["measure", "mean"], [["P@5", "0.4000"]]))
    15
    """
    cells = [[*column] for column in zip(table.header, *table.rows, strict=True)]
    widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in cells]
    return sum(widths) + 2 * (len(widths) - 1)


def show(shown: Table | Printout, console: Console | None = None) -> None:
    """Print to standard output: with Rich on a terminal, else as plain text."""
    console = console or terminal()
    if console is None:
        sys.stdout.write(f"{shown}\n")
        return
    for number, part in enumerate(shown.parts if isinstance(shown, Printout) else [shown]):
        if number:
            console.print()
        (print_table if isinstance(part, Table) else _print_lines)(part, console)  # type: ignore[arg-type]


def print_table(table: Table, console: Console) -> None:
    """One table; what does not fit is wrapped within its cell."""
    from rich.table import Table as RichTable
    from rich.text import Text

    if table.title:
        console.print(Text(in_one_line(table.title), style="bold"))
    rich = RichTable(box=None, padding=(0, 2, 0, 0), header_style="bold cyan", pad_edge=False)
    for i, name in enumerate(table.header):
        rich.add_column(Text(in_a_cell(name)), justify="left" if i < table.left else "right", overflow="fold")
    for row in table.rows:
        cells = []
        for cell in row:
            # Bold if it is marked, its raised letters behind it; intervals in the background.
            strong = isinstance(cell, Cell) and cell.strong
            text = Text(in_a_cell(cell), style="bold green" if strong else "")
            text.highlight_regex(r"\[[^\]]*\]$", "dim" if not strong else "not bold")
            if isinstance(cell, Cell) and cell.raised:
                text.append(f" {cell.raised}", style="yellow")
            cells.append(text)
        rich.add_row(*cells)
    console.print(rich)
    if table.note:
        console.print()
        console.print(Text("\n".join(map(in_one_line, table.note.split("\n"))), style="dim"))


def _print_lines(lines: Lines, console: Console) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    console.print(Text(in_one_line(lines.title), style="bold"))
    grid = RichTable.grid(padding=(0, 1))
    for line in lines.lines:
        grid.add_row("•", Text(in_one_line(line)))
    console.print(grid)
