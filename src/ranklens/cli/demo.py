"""``ranklens demo``: a regression caught in two seconds, or a whole benchmark with its report; both work offline."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

from ranklens.data.files.output import check_output
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.process import say_result

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
        return
    if output is not None:
        raise InputError("-o is the file for the report of the whole benchmark; add --full.")
    from ranklens.bench.demo.regression import Regression

    regression = Regression.run()
    say_result(f"{regression}\n")
    if save is not None:
        regression.save(save)
    lines = [
        *([f"{_program()} demo --save demo-data"] if save is None else []),
        f"cd {'demo-data' if save is None else _quoted(save)}",
        f"{_program()} compare golden.jsonl before.jsonl after.jsonl --match text -m hit@3",
        f"{_program()} evaluate golden.jsonl after.jsonl --match text -m hit@3 --failing 8",
        f"{_program()} report golden.jsonl before.jsonl after.jsonl --match text -m hit@3",
    ]
    say_result("\n".join(["Try next, on the same data:", *(f"  {line}" for line in lines)]))


def _benchmark(output: Path, folder: Path | None) -> None:
    # One thread is quickest for matrices of this size, above all on a busy machine. NumPy reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ranklens.bench.demo import run_demo
    from ranklens.tables import terminal
    from ranklens.tables.table import Lines, Printout

    check_output(output)
    demonstration = run_demo(output)
    compared = demonstration.comparison
    verdicts = Lines("Verdict", [f"{name}: {compared.verdict(name)}" for name in compared.measures])
    say_result(f"{demonstration.summary()}\n")
    terminal.show(Printout([compared.table(), verdicts]))
    say_result()
    if folder is not None:
        demonstration.save(folder)
    say_result(f"The report: {output.resolve().as_uri()}\nOpen it in a browser; it works offline.\n")
    if folder is None or len(compared.systems) == 1:
        say_result(
            f"Try next:\n  {_program()} demo --full --save demo-data    # the same, with files for the other commands"
        )
        return
    first, last = compared.systems[0], compared.systems[-1]
    data, one, other = map(_quoted, (folder, *(folder / "runs" / f"{name}.txt" for name in (first, last))))
    differs_most = compared.queries("nDCG@10", first, last)["query"][0]
    say_result(f"{data} contains the data. Try next:")
    say_result(f"  {_program()} compare {data} {one} {other} --by type --most 10")
    say_result(f"  {_program()} explain nDCG@10 {data} {one} --query {differs_most}")
    say_result(f"  {_program()} evaluate {data} {other} -m beir")


def _program() -> str:
    """How this program is called: by its name, or by its path where the shell does not find it."""
    return "ranklens" if shutil.which("ranklens") else _quoted(Path(sys.executable).with_name("ranklens"))


def _quoted(path: Path) -> str:
    """As a shell takes it, on Windows as well."""
    return f'"{path}"' if " " in str(path) else str(path)
