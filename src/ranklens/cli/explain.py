"""``ranklens explain``: how a measure gets its value for one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from html import escape
from typing import TYPE_CHECKING, Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions, queries_in_common
from ranklens.cli.texts import query_texts
from ranklens.data.files import output as out
from ranklens.data.files.collection import paths_of
from ranklens.data.files.systems import several
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.policy import Policy
from ranklens.process import say_result

if TYPE_CHECKING:
    from ranklens.data.qrels import Qrels
    from ranklens.data.run import Run

EXAMPLES = """

Examples:

  ranklens explain nDCG@10 qrels.txt run.txt --query q7

  ranklens explain AP qrels.txt run.txt --queries queries.tsv

  ranklens explain ndcg qrels.txt run.txt --query q7 --as xgboost

  ranklens explain 'RBP(p=0.5)' qrels.txt run.txt --query q7 --ties average --format markdown
"""


_WIDEST_TEXT = 60  # letters of a question, in a list of them
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
    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


def explain(
    measure: Annotated[str, Argument("Measure, such as nDCG@10.")],
    qrels: options.Qrels,
    run: Annotated[str, Argument("Run; - is standard input.")],
    policy: Policy,
    query: Annotated[
        str | None,
        Description(
            "Query to explain. Without it, the queries with the lowest values are listed.", flags=("--query",)
        ),
    ] = None,
    queries: options.Queries = None,
    rows: Annotated[int, Description("Approximate number of rows to show.")] = 20,
    format: Annotated[Format | None, output_formats.asked(Format)] = None,  # noqa: A002
    output: options.Output = None,
    reading: MatchOptions = MatchOptions(),
    convention: Annotated[
        str | None,
        Description(
            "Explain the number of another tool, such as xgboost, and why it differs.", flags=("--as",)
        ),
    ] = None,
) -> None:
    """Show step by step how a measure gets its value for one query."""
    from ranklens.judging.documents import judgments
    from ranklens.judging.inputs import read_inputs
    from ranklens.report.explanation.explain import explain as work_out
    from ranklens.report.explanation.tables import printout

    out.check_output(output, [qrels, *paths_of([run])])
    written = output_formats.format_of(format, output, Format)
    own_texts = query_texts(queries, qrels, "explain")
    data = reading.open(qrels, [run])
    if len(data.runs) > 1:
        raise several(run, data.runs)
    gold, ranked = read_inputs(data.qrels, next(iter(data.runs.values())), policy, match=reading.matching)
    texts = {**gold.texts, **own_texts}
    judged = judgments(gold)["query"].unique()
    query = judged[0] if query is None and len(judged) == 1 else query
    if query is None:
        if written is not Format.table or output is not None:
            raise InputError(
                "No query given. Name one with --query, or omit -o and --format to list the queries with the lowest values."
            )
        with queries_in_common():
            listed = _which_query(measure, gold, ranked, policy, texts)
        say_result(listed)
        return
    own = None if convention is not None and policy == Policy() else policy
    explanation = work_out(measure, gold, ranked, query=query, policy=own, rows=rows, convention=convention)
    explanation = replace(explanation, text=texts.get(query))
    output_formats.write(
        written,
        output,
        shown=lambda _: printout(explanation),
        rows=explanation.to_frame,
        texts={
            "table": explanation.__str__,  # with ids shortened
            "json": explanation.to_json,
            "html": lambda: _PAGE.format(
                title=escape(f"{explanation.measure} of {explanation.query}"), body=explanation.to_html()
            ),
        },
    )


def _which_query(measure: str, qrels: Qrels, run: Run, policy: Policy, texts: Mapping[str, str]) -> str:
    """The queries you most likely want to look at: the lowest, one in the middle, the highest."""
    from ranklens.metrics import parse
    from ranklens.scores.evaluation import evaluate
    from ranklens.tables.table import Table
    from ranklens.words import shortened

    scores = evaluate(qrels, run, parse(measure), policy)
    name = str(scores.measures[0])
    order = sorted(zip(scores[name].tolist(), scores.queries, strict=True))
    chosen = {*range(5), len(order) // 2, len(order) - 1}
    rows = [
        [
            query,
            *([shortened(texts.get(query, ""), _WIDEST_TEXT)] if texts else []),
            value if isinstance(value, str) else f"{value:.4f}",
        ]
        for place, (value, query) in enumerate(order)
        if place in chosen
    ]
    note = (
        f"{len(order):,} queries: the lowest, one from the middle and the highest. Explain one with --query."
    )
    header = ["query", *(["question"] if texts else []), scores.measures[0].shown]
    return str(Table(header, rows, note=note, left=len(header) - 1))
