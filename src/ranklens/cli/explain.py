"""``ranklens explain``: how a measure gets its value for one query."""

from __future__ import annotations

from enum import Enum
from html import escape
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens.cli import options
from ranklens.errors import InputError
from ranklens.files import output as out
from ranklens.files.collection import open_collection, paths_of
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.explanation.walk import Explanation

EXAMPLES = """

Examples:

  ranklens explain nDCG@10 qrels.txt run.txt --query q7

  ranklens explain AP qrels.txt run.txt

  ranklens explain 'RBP(p=0.5)' qrels.txt run.txt --query q7 --ties average --format markdown
"""


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  :root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
  body {{ margin: 2rem; overflow-x: auto; }}
  table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
  td, th {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #8884; }}
</style>
{body}
</html>
"""


class Format(str, Enum):
    """How an explanation is written."""

    table = "table"
    markdown = "markdown"
    html = "html"
    json = "json"


def explain(
    measure: Annotated[str, typer.Argument(help="Measure, such as nDCG@10.")],
    qrels: options.Qrels,
    run: Annotated[str, typer.Argument(help="Run; - is standard input.")],
    policy: Policy,
    query: Annotated[
        str | None,
        typer.Option(
            "--query", help="Query to explain. Without it, the queries with the lowest values are listed."
        ),
    ] = None,
    rows: Annotated[int, typer.Option(help="About how many rows to show.")] = 20,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,  # noqa: A002
    output: options.Output = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
) -> None:
    """Show step by step how a measure gets its value for one query."""
    from ranklens.explanation.walk import explain as work_out
    from ranklens.judging.documents import judgments

    out.check_output(output, [qrels, *paths_of([run])])
    data = open_collection(qrels, [run], qrels_format, run_format)
    gold, ranked = data.qrels, next(iter(data.runs.values()))
    queries = judgments(gold)["query"].unique()
    query = queries[0] if query is None and len(queries) == 1 else query
    if query is None:
        if format is not Format.table or output is not None:
            raise InputError(
                "Which query? Name it with --query. Without -o and --format, the queries with the lowest values are listed."
            )
        typer.echo(_which_query(measure, gold, ranked, policy))
        return
    found = work_out(measure, gold, ranked, query=query, policy=policy, rows=rows)
    out.write_text(_render(found, format).rstrip("\n") + "\n", output)


def _render(found: Explanation, format: Format) -> str:  # noqa: A002
    if format is Format.html:
        return _PAGE.format(title=escape(f"{found.measure} of {found.query}"), body=found.to_html())
    if format is Format.table:
        return str(found)
    return found.to_markdown() if format is Format.markdown else found.to_json()


def _which_query(measure: str, qrels: Any, run: Any, policy: Policy) -> str:
    """The queries that one most likely wants to look at: the lowest, one in the middle, the highest."""
    from ranklens.evaluation import evaluate
    from ranklens.registry import parse
    from ranklens.tables.table import Table

    scores = evaluate(qrels, run, parse(measure), policy)
    name = str(scores.measures[0])
    order = sorted(zip(scores[name].tolist(), scores.queries, strict=True))
    chosen = {*range(5), len(order) // 2, len(order) - 1}
    rows = [[query, _show(value)] for i, (value, query) in enumerate(order) if i in chosen]
    note = (
        f"{len(order):,} queries: the lowest, one from the middle and the highest. Explain one with --query."
    )
    return str(Table(["query", name], rows, note=note))


def _show(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"
