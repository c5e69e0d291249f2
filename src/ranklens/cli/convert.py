"""``ranklens convert``: a golden set, judgments or a run in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ranklens.cli.commands import Argument
from ranklens.cli.reading import bar
from ranklens.options import Description
from ranklens.process import say_result
from ranklens.words import in_one_line

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens convert run.txt run.parquet\n\n  ranklens convert qrels.parquet qrels.csv\n"
    "\n  ranklens convert golden.xlsx golden.jsonl\n"
    "\n  zcat run.gz | ranklens convert - run.jsonl.zst --kind run\n"
    "\n  ranklens convert run.parquet - --format csv | head\n"
)


def convert(
    source: Annotated[str, Argument("A golden set, judgments or a run, in any format; - is standard input.")],
    target: Annotated[
        Path,
        Argument(
            "File to write: .parquet, .jsonl, .csv or .tsv, otherwise TREC; add .gz, .zst, .xz or .bz2 to compress it. "
            "- is standard output."
        ),
    ],
    kind: Annotated[
        str | None, Description("Content, if the columns do not show it: golden, qrels or run.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        Description("Output format, if the suffix does not show it: trec, csv, tsv, jsonl or parquet."),
    ] = None,
) -> None:
    """Convert a golden set, judgments or a run to another format; nothing is lost."""
    from ranklens.data.files.output import check_output, is_stream
    from ranklens.data.files.writing import convert as write

    check_output(target, [source])
    with bar():
        rows, what = write(source, target, kind, format)
    content = {"golden": "a golden set", "qrels": "judgments", "run": "a run"}[what]
    written = f"{rows:,} rows of {content}"
    say_result(
        written if str(target) == "-" else in_one_line(f"{target}: {written}"), to_errors=is_stream(target)
    )
