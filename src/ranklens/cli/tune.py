"""``ranklens tune``: the settings of a fusion, chosen on some queries and judged on others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.fuse import numbers
from ranklens.cli.reading import ReadOptions, bar, progress
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """

Examples:

  ranklens tune qrels.txt bm25.txt dense.txt -m nDCG@10 --norm min-max

  ranklens tune qrels.txt bm25.txt dense.txt --method rrf --fused hybrid.txt

  ranklens tune qrels.txt bm25.txt dense.txt --over k=10,60,100 --method rrf --cluster queries.csv:topic
"""


def tune(
    qrels: options.Qrels,
    runs: options.Runs,
    reading: ReadOptions = ReadOptions(),
    measures: options.Measures = ["nDCG@10"],  # noqa: B006  nothing changes it
    method: Annotated[str, Description("How to fuse: see ranklens fuse --help.")] = "wsum",
    norm: Annotated[
        str | None, Description("Put the scores of all runs on one scale first: min-max, z-score, rank …")
    ] = None,
    over: Annotated[
        list[str] | None,
        Description(
            "Values to try, such as k=10,60 or norm=min-max,z-score. Can be repeated. Default: the usual values for the method.",
            flags=("--over",),
            metavar="NAME=VALUES",
        ),
    ] = None,
    folds: Annotated[
        int, Description("Number of folds; each is scored with the settings chosen on the others.", least=2)
    ] = 5,
    cluster: Annotated[
        str | None, Description("Queries that belong together stay in one fold.", metavar="FILE:COLUMN")
    ] = None,
    one_standard_error: Annotated[
        bool,
        Description(
            "Take the first setting within one standard error of the best.", flags=("--one-standard-error",)
        ),
    ] = False,
    fused: Annotated[
        Path | None,
        Description("Write the run fused with the settings chosen on all queries.", metavar="FILE"),
    ] = None,
    plot: Annotated[
        Path | None, Description("Draw all settings as .png, .svg, .pdf or .html.", metavar="FILE")
    ] = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Tune a fusion, and measure it on queries it was not tuned on."""
    from ranklens.cli.comparison_options import clusters_in, inputs
    from ranklens.fusion import tuning

    written = output_formats.format_of(format, output, output_formats.Format)
    for file in (output, fused, plot):
        out.check_output(file, inputs(qrels, runs, cluster))
    if len(measures) != 1 or "," in measures[0]:
        raise InputError("tune takes one measure, which decides; pass -m once.")
    with bar():
        data = reading.open(qrels, runs)
        tuned = tuning.tune(
            data.qrels,
            data.runs,
            measures[0],
            method=method,
            norm=norm,
            over=dict(map(_values, over)) if over else None,
            folds=folds,
            clusters=None if cluster is None else clusters_in(cluster, qrels, data.qrels),
            queries=data.qrels.fields,
            simplest_within_error=one_standard_error,
            progress=partial(progress, doing="Trying settings"),
        )
    if fused is not None:
        from ranklens.data.files.writing import write_run

        write_run(tuned.fused, fused)
    if plot is not None:
        from ranklens.report.charts.style import save

        save(tuned.plot(), plot)
    output_formats.write(
        written, output, shown=tuned.printout(), rows=lambda: tuned.settings, content=tuned.to_dict
    )


def _values(text: str) -> tuple[str, Sequence[object]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise InputError(f"--over {text}: expected NAME=VALUES, such as k=10,60,100.")
    if name == "weights":
        return name, [tuple(float(part) for part in one.split(":")) for one in values.split(",")]
    if name in ("norm", "method", "missing", "queries"):
        return name, values.split(",")
    return name, [
        int(value) if value == int(value) else value for value in numbers(values, f"--over {name}=")
    ]
