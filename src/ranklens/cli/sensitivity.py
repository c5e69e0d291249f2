"""``ranklens sensitivity``: whether a conclusion depends on how it was reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

import typer

from ranklens.cli import formats, options
from ranklens.cli.bars import progress
from ranklens.cli.settings import compare_files, inputs, with_settings
from ranklens.files import output as out
from ranklens.policy import Policy

EXAMPLES = """

Examples:

  ranklens sensitivity qrels.txt bm25.txt dense.txt -m nDCG@10,AP

  ranklens sensitivity qrels.txt runs/*.txt --baseline bm25 -o sensitivity.csv
"""


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    markdown = "markdown"


@with_settings
def sensitivity(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    settings: dict[str, Any],
    format: Annotated[Format | None, typer.Option("--format", help=formats.HELP)] = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Check a conclusion: compare runs under other tie rules, depths, relevance levels, parameters and tests."""
    written = formats.format_of(format, output, Format)
    out.check_output(output, inputs(qrels, runs, settings["by"]))
    found = compare_files(qrels, runs, policy=policy, **settings).sensitivity(
        progress=lambda settings: progress(settings, "Trying settings")
    )
    if written is Format.table and out.is_standard_output(output):
        from ranklens.tables import terminal

        terminal.show(found.printout())
        return
    frame = found.to_frame()
    if written is Format.parquet:
        formats.write_parquet(frame, output)
        return
    texts: dict[Format, Callable[[], str]] = {
        Format.table: lambda: f"{found}\n",
        Format.markdown: lambda: found.printout().to_markdown() + "\n",
        Format.json: lambda: json.dumps(found.to_dict(), ensure_ascii=False, indent=2) + "\n",
        Format.jsonl: lambda: formats.as_jsonl(frame),
        Format.csv: frame.write_csv,
        Format.tsv: lambda: frame.write_csv(separator="\t"),
    }
    out.write_text(texts[written](), output)
