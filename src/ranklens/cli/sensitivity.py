"""``ranklens sensitivity``: whether a conclusion depends on how it was reached."""

from __future__ import annotations

from typing import Any

from ranklens.cli import options, output_formats
from ranklens.cli.comparison_options import compare_files, inputs, with_settings
from ranklens.cli.output_formats import Format
from ranklens.cli.reading import progress
from ranklens.data.files import output as out
from ranklens.policy import Policy

EXAMPLES = """

Examples:

  ranklens sensitivity qrels.txt bm25.txt dense.txt -m nDCG@10,AP

  ranklens sensitivity qrels.txt runs/*.txt --baseline bm25 -o sensitivity.csv
"""


@with_settings
def sensitivity(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    settings: dict[str, Any],
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Check a conclusion: compare runs under other tie rules, depths, relevance levels, parameters and tests."""
    written = output_formats.format_of(format, output, Format)
    out.check_output(output, inputs(qrels, runs, settings["by"]))
    result = compare_files(qrels, runs, policy=policy, **settings).sensitivity(
        progress=lambda settings: progress(settings, "Trying settings")
    )
    output_formats.write(
        written,
        output,
        shown=result.printout(),
        rows=result.to_frame,
        content=result.to_dict,
    )
