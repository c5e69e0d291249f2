"""``ranklens lint``: problems in the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.cli import options, output_formats
from ranklens.cli.output_formats import Format
from ranklens.cli.reading import ReadOptions, bar
from ranklens.data.files import output as out
from ranklens.process import CheckFailed, reader_may_leave
from ranklens.words import in_one_line

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from ranklens.recipes.lint import Finding

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
    from ranklens.tables.table import Printout, Table
    from ranklens.tables.terminal import terminal

    written = output_formats.format_of(format, output, Format)
    out.check_output(output, [qrels, *runs])
    findings: dict[str, list[Finding]] = {}
    with bar():
        data = reading.open(qrels, runs)
        for name, run in data.runs.items():
            findings[in_one_line(name)] = sorted(
                look(data.qrels, run), key=lambda finding: SEVERITIES.index(finding.severity)
            )
    rows = [
        [name, one.severity, one.kind, one.message] for name, several in findings.items() for one in several
    ]
    content = {  # by run, also for those in which nothing was found
        name: [{"severity": one.severity, "kind": one.kind, "message": one.message} for one in several]
        for name, several in findings.items()
    }

    def text() -> str:
        """One line per finding."""
        lines = []
        for name, several in findings.items():
            lines.append(f"{name}:" + (" nothing to report" if not several else ""))
            lines += [f"  {_MARKS[one.severity]} {one.kind}: {in_one_line(one.message)}" for one in several]
        legend = _legend(findings)
        return "\n".join([*lines, *(["", *legend] if legend else [])]) + "\n"

    def frame() -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")

    is_table = written is Format.table and out.is_standard_output(output)
    with reader_may_leave():  # as in "ranklens lint … | head": the status is still that of the findings
        if is_table and (console := terminal()) is not None:
            _show(findings, console)
        else:
            output_formats.write(
                written,
                output,
                shown=Printout([Table(_COLUMNS, rows, left=len(_COLUMNS))]),
                rows=frame,
                content=lambda: content,
                texts={"table": text},
            )
    if {"error", *(["warning"] if strict else [])} & _severities(findings):
        raise CheckFailed


def _severities(findings: dict[str, list[Finding]]) -> set[str]:
    return {one.severity for several in findings.values() for one in several}


def _legend(findings: dict[str, list[Finding]]) -> list[str]:
    """What the marks mean that were used."""
    return [text for severity, text in _LEGENDS.items() if severity in _severities(findings)]


def _show(findings: dict[str, list[Finding]], console: Console) -> None:
    """The same in colour, wrapped within its column."""
    from rich.table import Table
    from rich.text import Text

    for name, several in findings.items():
        console.print(Text(name, style="bold"), Text("" if several else "nothing to report", style="green"))
        table = Table.grid(padding=(0, 1))
        for finding in several:
            style = {"error": "bold red", "warning": "yellow", "note": "dim"}[finding.severity]
            mark = Text(f"  {_MARKS[finding.severity].strip() or '·'}", style=style)
            table.add_row(mark, Text(finding.kind, style=style), Text(in_one_line(finding.message)))
        console.print(table)
    if legend := _legend(findings):
        console.print(Text("\n" + "\n".join(legend), style="dim"))
