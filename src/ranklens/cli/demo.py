"""``ranklens demo``: a regression caught in two seconds, or a whole benchmark with its report; both work offline."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ranklens.data.files.output import check_output
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.process import say_result

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

EXAMPLES = "\n\nExamples:\n\n  ranklens demo\n\n  ranklens demo --save demo-data\n\n  ranklens demo --full -o report.html\n"
_REPORT = Path("ranklens-demo.html")


def demo(
    *,
    full: Annotated[
        bool,
        Description(
            "Compare six search engines on Python's own documentation and write a report.", flags=("--full",)
        ),
    ] = False,
    output: Annotated[
        Path | None,
        Description("File for the report of --full. [ranklens-demo.html]", flags=("-o", "--output")),
    ] = None,
    save: Annotated[
        Path | None,
        Description("Folder for the data, to try other commands on.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Catch a regression: a change of the chunk size that looks harmless. Works offline, in two seconds."""
    if save is not None and save.is_file():
        raise InputError(f"{save} is a file; choose a folder.")
    if full:
        _benchmark(output or _REPORT, save)
    elif output is not None:
        raise InputError("-o is the file for the report of the whole benchmark; add --full.")
    else:
        _regression(save)


def _regression(folder: Path | None) -> None:
    from ranklens.bench.demo.regression import Regression

    found = Regression.run()
    say_result(f"{found}\n")
    if folder is not None:
        found.save(folder)
    lines = [
        f"{_program()} demo --save demo-data" if folder is None else None,
        f"cd {'demo-data' if folder is None else _quoted(folder)}",
        f"{_program()} compare golden.jsonl before.jsonl after.jsonl --match text -m hit@3",
        f"{_program()} evaluate golden.jsonl after.jsonl --match text -m hit@3 --failing 8",
        f"{_program()} report golden.jsonl before.jsonl after.jsonl --match text -m hit@3",
    ]
    say_result("\n".join(["Try next, on the same data:", *(f"  {line}" for line in lines if line)]))


def _benchmark(output: Path, save: Path | None) -> None:
    # One thread is quickest for matrices of this size, above all on a busy machine. NumPy reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ranklens.bench.demo import run_demo
    from ranklens.tables import terminal
    from ranklens.tables.table import Lines, Printout

    check_output(output)
    found = run_demo(output)
    compared = found.comparison
    verdicts = Lines("Verdict", [f"{name}: {compared.verdict(name)}" for name in compared.measures])
    say_result(f"{found.summary()}\n")
    terminal.show(Printout([compared.table(), verdicts]))
    say_result()
    if save is not None:
        found.save(save)
    say_result(f"The report: {output.resolve().as_uri()}\nOpen it in a browser; it works offline.\n")
    say_result(_next_steps(compared, save))


def _next_steps(compared: Comparison, folder: Path | None) -> str:
    if folder is None or len(compared.systems) == 1:
        return f"Try next:\n  {_program()} demo --full --save demo-data    # the same, with files for the other commands"
    first, second = compared.systems[0], compared.systems[-1]
    one, other = (_quoted(folder / "runs" / f"{name}.txt") for name in (first, second))
    differs_most = compared.queries("nDCG@10", first, second)["query"][0]
    data = _quoted(folder)
    return "\n".join(
        [
            f"{data} contains the data. Try next:",
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
