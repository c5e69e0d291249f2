"""``ranklens fuse``: several runs combined into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ranklens.cli import options
from ranklens.cli.reading import ReadOptions, bar
from ranklens.data.files import output as out
from ranklens.data.files.collection import open_runs
from ranklens.errors import InputError
from ranklens.fusion.fusing import FuseOptions, fused_tables, fusion_of, opened_runs
from ranklens.fusion.trained import TRAINED, Fitted
from ranklens.options import Description
from ranklens.process import say_result
from ranklens.words import in_one_line

EXAMPLES = """

Examples:

  ranklens fuse bm25.txt dense.txt -o hybrid.txt

  ranklens fuse bm25.txt dense.txt --method wsum --norm min-max --weights 0.7,0.3 -o hybrid.txt

  ranklens fuse bm25.txt dense.txt --param k=20 --depth 100 -o - | ranklens evaluate qrels.txt - -m nDCG@10
"""

Weights = Annotated[str | None, Description("One weight per run, such as 0.7,0.3.", metavar="NUMBERS")]
Param = Annotated[
    list[str] | None,
    Description(
        "A parameter of the method, such as k=20. Can be repeated.", flags=("--param",), metavar="NAME=NUMBER"
    ),
]
Bounds = Annotated[
    str | None,
    Description(
        "Lowest and highest possible score, for --norm theoretical: -1,1 for cosines.", metavar="LOW,HIGH"
    ),
]


def fuse(
    runs: options.Runs,
    how: FuseOptions = FuseOptions(),
    weights: Weights = None,
    param: Param = None,
    bounds: Bounds = None,
    fitted: Annotated[
        str | None,
        Description(
            "A fitted method, as fit_fusion(…).save(FILE) wrote it; replaces --method.", metavar="FILE"
        ),
    ] = None,
    output: options.Output = None,
    run_format: Annotated[str | None, Description("Format of the runs, if it is not recognised.")] = None,
    places: options.Map = None,
) -> None:
    """Combine several runs into one, in the format of the output's suffix (else TREC)."""
    target = output or Path("-")
    out.check_output(target, [*runs, fitted])
    if fitted is None and how.method.lower() in TRAINED:
        raise InputError(
            f"{how.method} has to be fitted on judged queries first: ranklens.fit_fusion(…).save(FILE), then --fitted FILE."
        )
    span = None if bounds is None else numbers(bounds, "--bounds ")
    if span is not None and len(span) != 2:
        raise InputError(f"--bounds {bounds}: expected LOW,HIGH, such as -1,1.")
    params: dict[str, float] = {}
    for text in param or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--param {text}: expected NAME=NUMBER, such as k=20.")
        number = numbers(value, f"--param {name}=")[0]
        params[name] = int(number) if number == int(number) else number
    with bar():
        opened = opened_runs(open_runs(runs, run_format, names=ReadOptions(places=places).names))
        fusion = fusion_of(
            tuple(opened),
            how.method if fitted is None else Fitted.load(fitted),
            how,
            weights=None if weights is None else numbers(weights, "--weights "),
            bounds=None if span is None else (span[0], span[1]),
            params=params,
        )
        from ranklens.data.files.writing import write_tables

        rows = write_tables(fused_tables(fusion, opened), target)
    fusion.met.warn(fusion)
    where = "" if str(target) == "-" else f"{in_one_line(str(target))}: "
    logs = (
        " Documents are named by their ids; the texts in logs are not kept."
        if any(run.log is not None for run in opened.values())
        else ""
    )
    say_result(f"{where}{rows:,} rows. {fusion.notes}{logs}", to_errors=out.is_stream(target))


def numbers(text: str, flag: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{flag}{text}: expected numbers between commas, such as 0.7,0.3.") from None
