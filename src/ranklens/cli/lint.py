"""``ranklens lint``: problems in the data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from ranklens.cli import options
from ranklens.cli.bars import reading
from ranklens.cli.map_and_match import columns_of
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
_MARKS = {"error": "!", "warning": "~", "note": " "}
_LEGENDS = {
    "error": "! wrong, whatever the tool.",
    "warning": "~ another tool or policy would give different numbers.",
}


def lint(
    qrels: options.Qrels,
    runs: options.Runs,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
    places: options.Map = None,
    strict: bool = False,  # an option of every command
) -> None:
    """Check judgments and runs for problems; exit status 1 if something is wrong."""
    from ranklens.lint import SEVERITIES
    from ranklens.lint import lint as look
    from ranklens.tables.terminal import terminal

    found = {}
    with reading():
        names = Names.of(columns_of(places))
        data = open_collection(qrels, runs, qrels_format, run_format, names)
        for name, run in data.runs.items():
            found[visible(name)] = sorted(
                look(data.qrels, run), key=lambda finding: SEVERITIES.index(finding.severity)
            )
    console = terminal()
    if console is None:
        sys.stdout.write(_text(found))
    else:
        _show(found, console)
    failing = {"error", "warning"} if strict else {"error"}
    if failing & _severities(found):
        raise typer.Exit(1)


def _severities(found: dict[str, list[Finding]]) -> set[str]:
    return {finding.severity for findings in found.values() for finding in findings}


def _legend(found: dict[str, list[Finding]]) -> list[str]:
    """What the marks mean that were used."""
    return [text for severity, text in _LEGENDS.items() if severity in _severities(found)]


def _text(found: dict[str, list[Finding]]) -> str:
    """One line per finding."""
    lines = []
    for name, findings in found.items():
        lines.append(f"{name}:" + (" nothing to report" if not findings else ""))
        lines += [f"  {_MARKS[f.severity]} {f.kind}: {visible(f.message)}" for f in findings]
    legend = _legend(found)
    return "\n".join([*lines, *(["", *legend] if legend else [])]) + "\n"


def _show(found: dict[str, list[Finding]], console: Console) -> None:
    """The same in colour, wrapped within its column."""
    from rich.table import Table
    from rich.text import Text

    for name, findings in found.items():
        console.print(Text(name, style="bold"), Text("" if findings else "nothing to report", style="green"))
        table = Table.grid(padding=(0, 1))
        for finding in findings:
            style = {"error": "bold red", "warning": "yellow", "note": "dim"}[finding.severity]
            mark = Text(f"  {_MARKS[finding.severity].strip() or '·'}", style=style)
            table.add_row(mark, Text(finding.kind, style=style), Text(visible(finding.message)))
        console.print(table)
    if legend := _legend(found):
        console.print(Text("\n" + "\n".join(legend), style="dim"))
