"""``ranklens report``: a comparison as one HTML file to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ranklens.cli import options
from ranklens.cli.comparison_options import compare_files, inputs, with_settings
from ranklens.cli.texts import in_folder
from ranklens.options import Description
from ranklens.policy import Policy
from ranklens.process import say_result

EXAMPLES = """

Examples:

  ranklens report qrels.txt bm25.txt dense.txt -o report.html

  ranklens report beir/ bm25.txt dense.txt --baseline bm25 -m nDCG@10,R@100

  ranklens report qrels.txt a.txt b.txt --queries queries.tsv --corpus corpus.jsonl.gz --by queries.csv:language
"""


@with_settings
def report(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    settings: dict[str, Any],
    output: Annotated[
        Path, Description("File to write; - is standard output.", flags=("-o", "--output"))
    ] = Path("report.html"),
    queries: options.Queries = None,
    corpus: Annotated[
        str | None,
        Description("Document texts, in the same formats. The page keeps only those it shows."),
    ] = None,
    title: Annotated[str | None, Description("Title of the page.")] = None,
) -> None:
    """Write an HTML page that works offline: verdict, leaderboard, charts, every query and every ranking."""
    from ranklens.data.files.output import check_output, is_stream
    from ranklens.report.html import write_report
    from ranklens.words import counted, in_one_line

    check_output(output, inputs(qrels, runs, settings["by"], queries, corpus))
    comparison = compare_files(qrels, runs, policy=policy, **settings)
    page = write_report(
        comparison,
        output,
        queries=queries or in_folder(qrels, "queries.jsonl"),
        corpus=corpus or in_folder(qrels, "corpus.jsonl"),
        title=title,
    )
    if is_stream(page):
        return
    systems, over = counted(len(comparison.systems), "system"), counted(len(comparison.query_ids), "query")
    bytes_ = page.stat().st_size
    size = f"{bytes_ / 1e6:.1f} MB" if bytes_ >= 1e6 else f"{bytes_ / 1e3:.0f} KB"
    say_result(f"{in_one_line(str(page))}: {systems}, {over}, {size}. Open it in a browser.")
