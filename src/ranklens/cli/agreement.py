"""``ranklens agreement``: how far assessors agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.data.files import output as out
from ranklens.data.files.collection import names_of, paths_of
from ranklens.options import Description

EXAMPLES = """

Examples:

  ranklens agreement ann.txt bob.txt

  ranklens agreement people=qrels.txt model=labels.jsonl --rel 2 --worst 10

  ranklens agreement judgments.csv --run bm25.txt --run dense.txt -m nDCG@10

  ranklens agreement ann.txt bob.txt eve.txt --plot grades.png -o agreement.json
"""


def agreement(
    judgments: Annotated[
        list[str],
        Argument(
            "Judgments of each assessor, as PATH or NAME=PATH; or one table of all with a column assessor."
        ),
    ],
    rel: Annotated[float, Description("Grade from which a document is relevant.")] = 1.0,
    runs: Annotated[
        list[str],
        Description(
            "Also show how much this run depends on the assessor, as PATH or NAME=PATH. Can be repeated.",
            flags=("--run",),
            metavar="RUN",
        ),
    ] = [],  # noqa: B006  typer does not change it
    measure: Annotated[str, Description("Measure for --run.", flags=("-m", "--measure"))] = "nDCG@10",
    worst: Annotated[
        int, Description("Show the N queries with the worst agreement.", metavar="N", least=0)
    ] = 5,
    level: Annotated[float, Description("Confidence level of intervals.")] = 0.95,
    seed: Annotated[int, Description("Random seed.", least=0)] = 0,
    plot: Annotated[
        Path | None,
        Description("Draw grades against grades as .png, .svg, .pdf or .html.", metavar="FILE"),
    ] = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Measure how far assessors agree, and whether it matters for systems."""
    from ranklens.assessment.agreement import agreement as agree

    written = output_formats.format_of(format, output, output_formats.Format)
    for file in (output, plot):
        out.check_output(file, [*paths_of(judgments), *paths_of(runs)])
    named = names_of(judgments)
    found = agree(
        *named.values(),
        names=[*named] if len(named) > 1 else None,
        rel=rel,
        runs=runs or None,
        measure=measure,
        level=level,
        rng=seed,
    )
    if plot is not None:
        from ranklens.report.charts.style import save

        save(found.chart(), plot)
    output_formats.write(
        written, output, shown=found.printout(worst), rows=found.to_frame, content=found.to_dict
    )
