"""``ranklens inspect``: what was recognised in files, and what to fix."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions, bar
from ranklens.data.files import output as out
from ranklens.options import descriptions
from ranklens.process import CheckFailed, reader_may_leave

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens inspect golden.xlsx\n\n  ranklens inspect golden.csv log.jsonl\n"
    "\n  ranklens inspect golden.csv a.jsonl b.jsonl --map a:doc=chunk.id\n"
    "\n  ranklens inspect golden.csv log.jsonl chunks.jsonl --format json\n"
)

_SAID = descriptions(MatchOptions)


class Format(str, Enum):
    """How an inspection is written."""

    table = "table"
    json = "json"
    markdown = "markdown"


def inspect(
    files: Annotated[
        list[str], Argument("Golden sets, judgments, logs, runs, traces or a corpus; the golden set first.")
    ],
    places: Annotated[list[str] | None, _SAID["places"]] = None,
    match: Annotated[str | None, _SAID["match"]] = None,
    format: Annotated[Format | None, output_formats.asked(Format)] = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Show how files are read: their formats and roles, which field became what, how they join, and the options that fix problems."""
    from ranklens.recipes.inspection.inspect import inspect as look

    reading = MatchOptions(places=places, match=match)
    written = output_formats.format_of(format, output, Format)
    out.check_output(output, files)
    with bar():
        found = look(*files, columns=reading.columns, match=reading.matching)
    with reader_may_leave():
        output_formats.write(written, output, shown=found.printout(), content=found.to_dict)
    if found.has_problems:
        raise CheckFailed
