"""``ranklens trust``: whether a model can judge."""

from __future__ import annotations

from typing import Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.data.files import output as out
from ranklens.data.files.collection import paths_of
from ranklens.options import Description

EXAMPLES = """

Examples:

  ranklens trust people.txt model.txt

  ranklens trust people.txt model.txt --run bm25.txt --run dense.txt --judge gpt-4o

  ranklens trust people.txt model.txt --again second-try.txt -o trust.json
"""


def trust(
    human: Annotated[str, Argument("Judgments by people.")],
    machine: Annotated[str, Argument("Labels by the model, of the same documents and perhaps more.")],
    runs: Annotated[
        list[str],
        Description(
            "Also compare the order of these systems, each as PATH or NAME=PATH. Can be repeated.",
            flags=("--run",),
            metavar="RUN",
        ),
    ] = [],  # noqa: B006  typer does not change it
    measure: Annotated[str, Description("Measure for --run.", flags=("-m", "--measure"))] = "nDCG@10",
    again: Annotated[
        list[str],
        Description(
            "Labels by the same model, asked again: how consistent is it? Can be repeated.",
            flags=("--again",),
            metavar="FILE",
        ),
    ] = [],  # noqa: B006  typer does not change it
    probed: Annotated[
        str | None, Description("Labels of the probes that ranklens.probes makes.", metavar="FILE")
    ] = None,
    judge: Annotated[
        str, Description("Name of the model, to warn of systems with a model of the same family.")
    ] = "",
    rel: Annotated[float, Description("Grade from which a document is relevant.")] = 1.0,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Find out whether the labels of a model can stand in for judgments by people."""
    from ranklens.assessment.trust import trust as look

    written = output_formats.format_of(format, output, output_formats.Format)
    out.check_output(output, [human, machine, probed, *paths_of(runs), *again])
    found = look(
        human, machine, runs or None, measure=measure, again=again, probed=probed, judge=judge, rel=rel
    )
    output_formats.write(
        written,
        output,
        shown=found.printout(),
        rows=found.agreement.to_frame,
        content=found.to_dict,
    )
