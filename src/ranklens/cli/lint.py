"""``ranklens lint``: problems in the data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from ranklens.cli import options
from ranklens.cli.bars import reading
from ranklens.cli.places import columns_of
from ranklens.files.collection import open_collection
from ranklens.readers.names import Names
from ranklens.words import visible

if TYPE_CHECKING:
    from rich.console import Console

    from ranklens.lint import Finding

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens lint qrels.txt run.txt\n\n  ranklens lint qrels.txt runs/*.txt\n"
    "\n  ranklens lint qrels.txt run.txt && ranklens evaluate qrels.txt run.txt\n"
)
_LEGEND = "! changes results: another tool or policy would give different numbers."


def lint(
    qrels: options.Qrels,
    runs: options.Runs,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
    places: options.Map = None,
) -> None:
    """Check judgments and runs for problems; exit status 1 if one would change results."""
    from ranklens.lint import lint as look
    from ranklens.tables.terminal import terminal

    found = {}
    with reading():
        names = Names.of(columns_of(places))
        data = open_collection(qrels, runs, qrels_format, run_format, names)
        for name, run in data.runs.items():
            found[visible(name)] = sorted(look(data.qrels, run), key=lambda finding: not finding.matters)
    console = terminal()
    if console is None:
        sys.stdout.write(_text(found))
    else:
        _show(found, console)
    if any(finding.matters for findings in found.values() for finding in findings):
        raise typer.Exit(1)


def _text(found: dict[str, list[Finding]]) -> str:
    """One line per finding."""
    lines = []
    for name, findings in found.items():
        lines.append(f"{name}:" + (" nothing to report" if not findings else ""))
        lines += [f"  {'!' if f.matters else ' '} {f.kind}: {visible(f.message)}" for f in findings]
    matters = any(finding.matters for findings in found.values() for finding in findings)
    return "\n".join([*lines, *(["", _LEGEND] if matters else [])]) + "\n"


def _show(found: dict[str, list[Finding]], console: Console) -> None:
    """The same in colour, wrapped within its column."""
    from rich.table import Table
    from rich.text import Text

    for name, findings in found.items():
        console.print(Text(name, style="bold"), Text("" if findings else "nothing to report", style="green"))
        table = Table.grid(padding=(0, 1))
        for finding in findings:
            style = "bold red" if finding.matters else "dim"
            mark = Text("  !" if finding.matters else "  ·", style=style)
            table.add_row(mark, Text(finding.kind, style=style), Text(visible(finding.message)))
        console.print(table)
    if any(finding.matters for findings in found.values() for finding in findings):
        console.print(Text(f"\n{_LEGEND}", style="dim"))
