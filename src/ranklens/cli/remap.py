"""``ranklens remap``: a golden set of chunk ids for another chunking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from ranklens.cli.commands import Argument
from ranklens.cli.reading import ReadOptions, bar
from ranklens.data.files import output as out
from ranklens.options import Description
from ranklens.process import say_result

EXAMPLES = """

Examples:

  ranklens remap golden.jsonl old-chunks.jsonl new-chunks.jsonl

  ranklens remap golden.jsonl old-chunks.jsonl new-chunks.jsonl -o golden-new.jsonl --report moved.csv
"""


def remap(
    golden: Annotated[str, Argument("Golden set or judgments with the ids of old chunks.")],
    old_chunks: Annotated[
        str,
        Argument("Old chunks, with id and text, or document, start and end: JSONL, JSON, CSV or Parquet."),
    ],
    new_chunks: Annotated[str, Argument("New chunks of the same documents.")],
    read: ReadOptions,
    output: Annotated[
        Path | None,
        Description(
            "File for the new golden set, as JSONL; - is standard output. Without it, only the report is printed.",
            flags=("-o", "--output"),
        ),
    ] = None,
    report: Annotated[
        Path | None,
        Description("File for what became of each judgment, as CSV.", flags=("--report",), metavar="FILE"),
    ] = None,
    threshold: Annotated[
        float,
        Description(
            "The share of an old chunk's words that new chunks must contain.", flags=("--threshold",)
        ),
    ] = 0.9,
) -> None:
    """Move a golden set of chunk ids to another chunking, and report what moved, split, merged and disappeared."""
    from ranklens.data.evidence.remap import remap as remapped

    out.check_outputs([output, report], [golden, old_chunks, new_chunks])
    with bar():
        found = remapped(golden, old_chunks, new_chunks, threshold=threshold, columns=read.columns)
    if report is not None:
        import polars as pl

        table = found.to_frame().with_columns(pl.col("new").list.join("|"))
        out.write_text(table.write_csv(), report)
    if output is not None:
        rows = (
            found.golden
            if isinstance(found.golden, list)
            else [{"id": query, "expected_ids": docs} for query, docs in found.golden.items()]
        )
        out.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), output)
    say_result(str(found), to_errors=output is not None and out.is_stream(output))
