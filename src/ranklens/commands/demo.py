"""``ranklens demo``: a real benchmark, offline, in seconds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ranklens.comparison import Comparison

EXAMPLES = "\n\nExamples:\n\n  ranklens demo\n\n  ranklens demo -o report.html --save demo-data\n"


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the report.")] = Path(
        "ranklens-demo.html"
    ),
    save: Annotated[
        Path | None,
        typer.Option(help="A folder for corpus, queries, judgments and runs, to try other commands on."),
    ] = None,
) -> None:
    """Compare five search engines on Python's own documentation and write a report; needs no network."""
    # One thread is quickest for matrices of this size, above all on a busy machine. NumPy reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ranklens.demo import run_demo
    from ranklens.report.table import Lines

    found = run_demo(output)
    compared = found.comparison
    verdicts = Lines("Verdict", [f"{name}: {compared.verdict(name)}" for name in compared.measures])
    typer.echo(f"{found.summary()}\n\n{compared.table()}\n\n{verdicts}\n")
    if save is not None:
        found.save(save)
    typer.echo(f"The report: {output.resolve().as_uri()}\nOpen it in a browser; it needs no network.\n")
    typer.echo(_next_steps(compared, save))


def _next_steps(compared: Comparison, folder: Path | None) -> str:
    if folder is None or len(compared.systems) == 1:
        return "Try next:\n  ranklens demo --save demo-data    # the same, with files for the other commands"
    first, second = compared.systems[0], compared.systems[-1]
    one, other = (folder / "runs" / f"{name}.txt" for name in (first, second))
    differs_most = compared.queries(compared.measures[0], first, second)["query"][0]
    return "\n".join(
        [
            f"{folder} holds the data. Try next:",
            f"  ranklens compare {folder} {one} {other} --by type -q 10",
            f"  ranklens explain {compared.measures[0]} {folder} {one} --query {differs_most}",
            f"  ranklens evaluate {folder} {other} -m beir",
        ]
    )
