"""``ranklens reusability``: whether judgments are fair to new systems."""

from __future__ import annotations

from typing import Annotated

from ranklens.cli import options, output_formats
from ranklens.data.files import output as out
from ranklens.data.files.collection import paths_of
from ranklens.options import Description

EXAMPLES = """

Examples:

  ranklens reusability qrels.txt runs/*.txt --depth 100

  ranklens reusability qrels.txt runs/*.txt --by-team tag --depth 10 -m nDCG@10

  ranklens reusability qrels.txt a1.txt a2.txt b.txt --by-team teams.csv -o reusability.json
"""


def reusability(
    qrels: options.Qrels,
    runs: options.Runs,
    measure: Annotated[str, Description("Measure.", flags=("-m", "--measure"))] = "AP",
    depth: Annotated[
        int | None,
        Description("Depth of the pool: how many documents of each run were judged. Default: all.", least=1),
    ] = None,
    by_team: Annotated[
        str | None,
        Description(
            "Leave out the runs of a team together: by the beginning of their names (tag), or a table with columns system and team.",
            metavar="tag|FILE",
        ),
    ] = None,
    rel: Annotated[float, Description("Grade from which a document is relevant.")] = 1.0,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Check whether judgments are fair to systems that had no part in the pool."""
    from ranklens.assessment.reusability import reusability as look
    from ranklens.data.files.collection import open_collection

    written = output_formats.format_of(format, output, output_formats.Format)
    out.check_output(output, [qrels, *paths_of(runs), None if by_team == "tag" else by_team])
    data = open_collection(qrels, runs)
    found = look(data.qrels, data.runs, by_team, measure=measure, depth=depth, rel=rel)
    output_formats.write(written, output, shown=found.printout(), rows=found.to_frame, content=found.to_dict)
