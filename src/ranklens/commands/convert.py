"""``ranklens convert``: judgments or a run in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens convert run.txt run.parquet\n\n  ranklens convert qrels.parquet qrels.csv\n"
)


def convert(
    source: Annotated[str, typer.Argument(help="Judgments or a run, in any format.")],
    target: Annotated[
        Path, typer.Argument(help="What to write: .parquet, .jsonl, .csv, .tsv, otherwise TREC.")
    ],
    kind: Annotated[
        str | None, typer.Option(help="qrels or run, if it cannot be told from the columns.")
    ] = None,
) -> None:
    """Write judgments or a run in another format; nothing is lost."""
    from ranklens.writers import convert as write

    rows, what = write(source, target, kind)
    typer.echo(f"{target}: {rows:,} rows of {'judgments' if what == 'qrels' else 'a run'}")
