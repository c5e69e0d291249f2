"""``ranklens lint``: problems in the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.cli import bars, options, output_formats
from ranklens.cli.output_formats import Format
from ranklens.cli.reading import ReadOptions
from ranklens.data.files import output as out
from ranklens.process import CheckFailed, reader_may_leave
from ranklens.words import in_one_line

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from ranklens.recipes.lint import Finding
    from ranklens.tables.table import Printout

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens lint qrels.txt run.txt\n\n  ranklens lint qrels.txt runs/*.txt -o findings.csv\n"
    "\n  ranklens lint qrels.txt run.txt && ranklens evaluate qrels.txt run.txt\n"
)
_COLUMNS = ("run", "severity", "kind", "message")
_MARKS = {"error": "!", "warning": "~", "note": " "}
_LEGENDS = {
    "error": "! wrong, whatever the tool.",
    "warning": "~ another tool or policy would give different numbers.",
}


def lint(
    qrels: options.Qrels,
    runs: options.Runs,
    reading: ReadOptions = ReadOptions(),
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
    strict: bool = False,  # an option of every command
) -> None:
    """Check judgments and runs for problems; exit status 1 if something is wrong."""
    from ranklens.recipes.lint import SEVERITIES
    from ranklens.recipes.lint import lint as look

    written = output_formats.format_of(format, output, Format)
    out.check_output(output, [qrels, *runs])
    found = {}
    with bars.reading():
        data = reading.open(qrels, runs)
        for name, run in data.runs.items():
            found[in_one_line(name)] = sorted(
                look(data.qrels, run), key=lambda finding: SEVERITIES.index(finding.severity)
            )
    with reader_may_leave():  # as in "ranklens lint … | head": the status is still that of the findings
        _write(found, written, output)
    failing = {"error", "warning"} if strict else {"error"}
    if failing & _severities(found):
        raise CheckFailed


def _write(found: dict[str, list[Finding]], written: Format, output: Path | None) -> None:
    from ranklens.tables.terminal import terminal

    is_table = written is Format.table and out.is_standard_output(output)
    if is_table and (console := terminal()) is not None:
        _show(found, console)
        return
    output_formats.write(
        written,
        output,
        shown=_printout(found),
        rows=lambda: _frame(found),
        content=lambda: _content(found),
        texts={"table": lambda: _text(found)},
    )


def _rows(found: dict[str, list[Finding]]) -> list[list[str]]:
    return [[name, f.severity, f.kind, f.message] for name, findings in found.items() for f in findings]


def _printout(found: dict[str, list[Finding]]) -> Printout:
    from ranklens.tables.table import Printout, Table

    return Printout([Table(_COLUMNS, _rows(found), left=len(_COLUMNS))])


def _frame(found: dict[str, list[Finding]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(_rows(found), schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")


def _content(found: dict[str, list[Finding]]) -> dict[str, list[dict[str, str]]]:
    """By run, also for those in which nothing was found."""
    return {
        name: [{"severity": f.severity, "kind": f.kind, "message": f.message} for f in findings]
        for name, findings in found.items()
    }


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
        lines += [f"  {_MARKS[f.severity]} {f.kind}: {in_one_line(f.message)}" for f in findings]
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
            table.add_row(mark, Text(finding.kind, style=style), Text(in_one_line(finding.message)))
        console.print(table)
    if legend := _legend(found):
        console.print(Text("\n" + "\n".join(legend), style="dim"))
