"""``ranklens plan``: how many queries an evaluation needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

EXAMPLES = """

Examples:

  ranklens plan --deviation 0.25 --detect 0.02

  ranklens plan qrels.txt bm25.txt dense.txt --detect 0.02 --systems 4

  ranklens plan qrels.txt bm25.txt dense.txt -m nDCG@10 --detect 0.02 --cluster queries.csv:topic --plot power.png

  ranklens plan --deviation 0.25 --detect 0.02 --per-cluster 5 --correlation 0.3
"""


def plan(
    detect: Annotated[float, Description("Smallest difference of means worth detecting, such as 0.02.")],
    policy: Policy,
    qrels: Annotated[str | None, Argument("Judgments of a pilot; without one, give --deviation.")] = None,
    runs: Annotated[
        list[str] | None, Argument("Two or more runs of the pilot, each as PATH or NAME=PATH.")
    ] = None,
    measures: options.Measures = ["nDCG@10"],  # noqa: B006  typer does not change it
    deviation: Annotated[
        float | None,
        Description("Standard deviation of the differences by query, in place of a pilot."),
    ] = None,
    power: Annotated[float, Description("Probability of finding the difference.")] = 0.8,
    alpha: Annotated[float, Description("Significance level.")] = 0.05,
    systems: Annotated[
        int | None,
        Description("Number of systems that will be compared. Default: those of the pilot, or 2.", least=2),
    ] = None,
    baseline: Annotated[
        bool, Description("Compare each system with one baseline, not all pairs.", flags=("--baseline",))
    ] = False,
    cluster: Annotated[
        str | None, Description("Queries of the pilot that belong together.", metavar="FILE:COLUMN")
    ] = None,
    per_cluster: Annotated[float | None, Description("Queries per cluster in the evaluation.")] = None,
    correlation: Annotated[
        float | None, Description("Intra-class correlation of differences within a cluster.")
    ] = None,
    plot: Annotated[
        Path | None,
        Description("Draw power over queries as .png, .svg, .pdf or .html.", metavar="FILE"),
    ] = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Plan an evaluation: how many queries you need to detect a difference that matters."""
    from ranklens.comparison.planning import plan as make_plan

    written = output_formats.format_of(format, output, output_formats.Format)
    for file in (output, plot):
        out.check_output(file, [qrels, *(runs or [])])
    if (deviation is None) == (qrels is None):
        raise InputError("Give either a pilot (judgments and two or more runs) or --deviation.")
    if qrels is not None and len(runs or []) < 2:
        raise InputError(
            "A pilot needs two or more runs: their differences show how many queries are needed."
        )
    pilot: Comparison | float = deviation or 0.0
    if qrels is not None:
        from ranklens.cli.comparison_options import compare_files

        # The pilot is not tested, so the quickest test will do.
        pilot = compare_files(
            qrels, runs or [], measures=measures, seed=0, test="t", cluster=cluster, policy=policy
        )
    planned = make_plan(
        pilot,
        detect=detect,
        power=power,
        alpha=alpha,
        systems=systems,
        baseline=baseline,
        per_cluster=per_cluster,
        correlation=correlation,
    )
    if plot is not None:
        from ranklens.report.charts.style import save

        save(planned.chart(), plot)
    output_formats.write(
        written, output, shown=planned.printout(), rows=lambda: planned.curve, content=planned.to_dict
    )
