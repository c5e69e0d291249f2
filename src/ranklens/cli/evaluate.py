"""``ranklens evaluate``: score one or several runs against judgments."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from ranklens.cli import evaluating, options
from ranklens.policy import Policy

EXAMPLES = """

Examples:

  ranklens evaluate qrels.txt run.txt

  ranklens evaluate qrels.txt bm25=runs/bm25.txt dense=runs/dense.txt.gz -m nDCG@10,R@100

  ranklens evaluate beir/ run.parquet -m beir --format latex -o table.tex

  ranklens evaluate qrels.tsv run.jsonl -m rag --ties average -q --format csv
"""


Format = Enum("Format", {name: name for name in evaluating.FORMATS}, type=str)  # type: ignore[misc]


@options.with_policy
def evaluate(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = options.DEFAULT_MEASURES,
    by_query: Annotated[bool, typer.Option("-q", "--queries", help="One row a query.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to write the results.")] = Format("table"),  # noqa: A002, B008
    output: options.Output = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
) -> None:
    """Score one or several runs against judgments."""
    evaluating.run(
        qrels,
        runs,
        policy,
        measures=measures,
        by_query=by_query,
        format=format.value,
        output=output,
        qrels_format=qrels_format,
        run_format=run_format,
    )
