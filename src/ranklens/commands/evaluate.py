"""``ranklens evaluate``: score one or several runs against judgments."""

from __future__ import annotations

import json
from enum import Enum
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens.commands import options
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

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

    # The intervals will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    found: dict[str, Scores] = {}
    named = options.run_names(runs)
    gold, read = files.judgments_and_reader(qrels, qrels_format)
    for name, path in named.items():
        found[name] = score(gold, read(path, run_format), measures, policy)
    options.write(_render(found, by_query, format), output)


def _render(found: dict[str, Scores], by_query: bool, format: Format) -> str:  # noqa: A002
    if format is Format.json:
        return (
            json.dumps(
                {name: json.loads(s.to_json()) for name, s in found.items()}, ensure_ascii=False, indent=2
            )
            + "\n"
        )
    if format is Format.jsonl:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(found, by_query))
    exact = format in (Format.csv, Format.tsv)
    table = _query_table(found, exact) if by_query else _table(found, exact)
    render: dict[Format, Callable[[], str]] = {
        Format.csv: table.to_csv,
        Format.tsv: lambda: table.to_csv("\t"),
        Format.markdown: table.to_markdown,
        Format.latex: table.to_latex,
        Format.table: lambda: str(table),
    }
    return render[format]().rstrip("\n") + "\n"


def _rows(found: dict[str, Scores], by_query: bool) -> list[dict[str, Any]]:
    if by_query:
        return [{"run": name, **row} for name, s in found.items() for row in s.per_query.to_dicts()]
    return [{"run": name, **row} for name, s in found.items() for row in s.to_frame().to_dicts()]


def _query_table(found: dict[str, Scores], exact: bool) -> Table:
    from ranklens.report.table import Table

    several = len(found) > 1
    rows = []
    for name, scores in found.items():
        for row in scores.per_query.iter_rows():
            values = [v if isinstance(v, str) else repr(v) if exact else f"{v:.4f}" for v in row[1:]]
            rows.append([*([name] if several else []), row[0], *values])
    first = next(iter(found.values()))
    return Table(
        [*(["run"] if several else []), *first.per_query.columns], rows, note="" if exact else first.note
    )


def _table(found: dict[str, Scores], exact: bool) -> Table:
    """One run: a row a measure. Several: a row a run, with the interval beside each mean."""
    from ranklens.report.table import Table

    if exact:
        rows = [
            [name, *("" if v is None else str(v) for v in row)]
            for name, s in found.items()
            for row in s.to_frame().iter_rows()
        ]
        return Table(["run", "measure", "mean", "low", "high"], rows)
    if len(found) == 1:
        return next(iter(found.values())).table()
    tables = {name: scores.table() for name, scores in found.items()}
    first = next(iter(tables.values()))
    header = ["run", *(row[0] for row in first.rows)]
    rows = [[name, *(f"{row[1]} {row[2]}".strip() for row in table.rows)] for name, table in tables.items()]
    notes = {table.note for table in tables.values()}
    note = (
        first.note
        if len(notes) == 1
        else "\n".join(f"{name}: {table.note}" for name, table in tables.items())
    )
    return Table(header, rows, note=note)
