"""``ranklens evaluate``: score one or several runs against judgments.

Annotations are read by :mod:`ranklens.cli.app` alone, so that :mod:`ranklens.cli.quick` gets by without Typer.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from ranklens import errors
from ranklens.cli.bars import reading
from ranklens.errors import RankLensError, RankLensWarning, warn
from ranklens.files import output as out
from ranklens.files.collection import open_collection, paths_of

if TYPE_CHECKING:
    import typer

    from ranklens.cli import options
    from ranklens.policy import Policy
    from ranklens.scores import Scores
    from ranklens.tables.table import Table

DEFAULT_MEASURES = "nDCG@10,AP,RR,R@100,P@10"
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


def evaluate(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = DEFAULT_MEASURES,
    by_query: Annotated[bool, typer.Option("-q", "--queries", help="One row per query.")] = False,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,  # noqa: A002
    output: options.Output = None,
    spreadsheet: options.Spreadsheet = False,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
) -> None:
    """Score one or several runs against judgments."""
    from ranklens.evaluation import evaluate as score

    out.check_output(output, [qrels, *paths_of(runs)])
    found: dict[str, Scores] = {}
    with reading():
        data = open_collection(qrels, runs, qrels_format, run_format)
        for name, run in data.runs.items():
            with _about(name, str(run.path), several=len(data.runs) > 1):
                found[name] = score(data.qrels, run, measures, policy)
    if format is Format.table and out.is_standard_output(output):
        _show(found, by_query)
    else:
        out.write_text(_render(found, by_query, format, spreadsheet), output)


@contextmanager
def _about(name: str, path: str, *, several: bool) -> Iterator[None]:
    """Name the run in errors and warnings that do not name its file, where there are several."""
    if not several:
        yield
        return
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RankLensWarning)
            yield
    except RankLensError as error:
        if path not in str(error):
            error.prefix(f"{name}: ")
        raise
    for warning in caught:
        warn(errors.about(name, warning.message))


def _show(found: dict[str, Scores], by_query: bool) -> None:
    """On a terminal, no wider than it is."""
    from ranklens.tables import terminal

    console = terminal.terminal()
    terminal.show(_table(found, by_query, None if console is None else console.width), console)


def _table(found: dict[str, Scores], by_query: bool, width: int | None) -> Table:
    from ranklens.tables import scores as score_tables

    return score_tables.by_query(found) if by_query else score_tables.means(found, width)


def _render(found: dict[str, Scores], by_query: bool, format: Format, guarded: bool) -> str:  # noqa: A002
    from ranklens.tables import scores as score_tables

    if format is Format.json:
        content = {name: json.loads(scores.to_json()) for name, scores in found.items()}
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    if format is Format.jsonl:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(found, by_query))
    if format in (Format.csv, Format.tsv):
        table = score_tables.by_query(found, exact=True) if by_query else score_tables.exact_means(found)
        return table.to_csv("," if format is Format.csv else "\t", guarded=guarded)
    table = _table(found, by_query, None)
    render = {Format.table: table.__str__, Format.markdown: table.to_markdown, Format.latex: table.to_latex}
    return render[format]() + "\n"


def _rows(found: dict[str, Scores], by_query: bool) -> list[dict[str, Any]]:
    if by_query:
        return [{"run": name, **row} for name, s in found.items() for row in s.per_query.to_dicts()]
    return [{"run": name, **row} for name, s in found.items() for row in s.to_frame().to_dicts()]
