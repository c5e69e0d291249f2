"""``ranklens evaluate``: score one or several runs against judgments."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens.commands import options
from ranklens.commands.reading import reading
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.report.table import Table
    from ranklens.scores import Scores

EXAMPLES = """

Examples:

  ranklens evaluate qrels.txt run.txt

  ranklens evaluate qrels.txt bm25=runs/bm25.txt dense=runs/dense.txt.gz -m nDCG@10,R@100

  ranklens evaluate beir/ run.parquet -m beir --format latex -o table.tex

  ranklens evaluate qrels.tsv run.jsonl -m rag --ties average -q --format csv
"""


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    markdown = "markdown"
    latex = "latex"


@options.with_policy
def evaluate(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = options.DEFAULT_MEASURES,
    by_query: Annotated[bool, typer.Option("-q", "--queries", help="One row a query.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to write the results.")] = Format.table,  # noqa: A002
    output: options.Output = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
) -> None:
    """Score one or several runs against judgments."""
    from ranklens.evaluation import evaluate as score
    from ranklens.readers import files

    found: dict[str, Scores] = {}
    named = options.run_names(runs)
    with reading():
        gold, read = files.judgments_and_reader(qrels, qrels_format)
        for name, path in named.items():
            with options.about(name, path, several=len(named) > 1):
                found[name] = score(gold, read(path, run_format), measures, policy)
    if format is Format.table:
        options.show(lambda width: _table(found, by_query, width), output)
    else:
        options.write(_render(found, by_query, format), output)


def _table(found: dict[str, Scores], by_query: bool, width: int | None) -> Table:
    from ranklens.report import score_tables

    return score_tables.by_query(found) if by_query else score_tables.means(found, width)


def _render(found: dict[str, Scores], by_query: bool, format: Format) -> str:  # noqa: A002
    from ranklens.report import score_tables

    if format is Format.json:
        content = {name: json.loads(scores.to_json()) for name, scores in found.items()}
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    if format is Format.jsonl:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(found, by_query))
    if format in (Format.csv, Format.tsv):
        table = score_tables.by_query(found, exact=True) if by_query else score_tables.exact_means(found)
        return table.to_csv("," if format is Format.csv else "\t")
    table = _table(found, by_query, None)
    return (table.to_markdown() if format is Format.markdown else table.to_latex()) + "\n"


def _rows(found: dict[str, Scores], by_query: bool) -> list[dict[str, Any]]:
    if by_query:
        return [{"run": name, **row} for name, s in found.items() for row in s.per_query.to_dicts()]
    return [{"run": name, **row} for name, s in found.items() for row in s.to_frame().to_dicts()]
