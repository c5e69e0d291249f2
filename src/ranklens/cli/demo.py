"""``ranklens demo``: a real benchmark, offline, in seconds."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ranklens.data.files.output import check_output
from ranklens.errors import InputError

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

EXAMPLES = "\n\nExamples:\n\n  ranklens demo\n\n  ranklens demo -o report.html --save demo-data\n"


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the report.")] = Path(
        "ranklens-demo.html"
    ),
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the corpus, queries, judgments and runs, to try other commands on.",
        ),
    ] = None,
) -> None:
    """Compare six search engines on Python's own documentation and write a report. Works offline."""
    # One thread is quickest for matrices of this size, above all on a busy machine. NumPy reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ranklens.bench.demo import run_demo
    from ranklens.tables import terminal
    from ranklens.tables.table import Lines, Printout

    check_output(output)
    if save is not None and save.is_file():
        raise InputError(f"{save} is a file; choose a folder.")
    found = run_demo(output)
    compared = found.comparison
    verdicts = Lines("Verdict", [f"{name}: {compared.verdict(name)}" for name in compared.measures])
    typer.echo(f"{found.summary()}\n")
    terminal.show(Printout([compared.table(), verdicts]))
    typer.echo()
    if save is not None:
        found.save(save)
    typer.echo(f"The report: {output.resolve().as_uri()}\nOpen it in a browser; it works offline.\n")
    typer.echo(_next_steps(compared, save))


def _next_steps(compared: Comparison, folder: Path | None) -> str:
    if folder is None or len(compared.systems) == 1:
        return f"Try next:\n  {_program()} demo --save demo-data    # the same, with files for the other commands"
    first, second = compared.systems[0], compared.systems[-1]
    one, other = (_quoted(folder / "runs" / f"{name}.txt") for name in (first, second))
    differs_most = compared.queries("nDCG@10", first, second)["query"][0]
    data = _quoted(folder)
    return "\n".join(
        [
            f"{data} holds the data. Try next:",
            f"  {_program()} compare {data} {one} {other} --by type --most 10",
            f"  {_program()} explain nDCG@10 {data} {one} --query {differs_most}",
            f"  {_program()} evaluate {data} {other} -m beir",
        ]
    )


def _program() -> str:
    """How this program is called: by its name, or by its path where the shell does not find it."""
    return "ranklens" if shutil.which("ranklens") else _quoted(Path(sys.executable).with_name("ranklens"))


def _quoted(path: Path) -> str:
    """As a shell takes it, on Windows as well."""
    return f'"{path}"' if " " in str(path) else str(path)
