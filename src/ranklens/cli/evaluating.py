"""What ``ranklens evaluate`` does: read, score, show. Apart from its options, so that it can be called without Typer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.cli import printing
from ranklens.cli.bars import reading
from ranklens.files import writing
from ranklens.files.runs import run_names
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.scores import Scores
    from ranklens.tables.table import Table

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "markdown", "latex")


def run(
    qrels: str,
    runs: Sequence[str],
    policy: Policy,
    *,
    measures: str = printing.DEFAULT_MEASURES,
    by_query: bool = False,
    format: str = "table",  # noqa: A002
    output: Path | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
) -> None:
    """Score one or several runs against judgments, and show the result."""
    from ranklens.evaluation import evaluate
    from ranklens.files import formats

    if output is not None:
        printing.check_output(output)
    found: dict[str, Scores] = {}
    named = run_names(runs)
    with reading():
        gold, read = formats.judgments_and_reader(qrels, qrels_format)
        for name, path in named.items():
            with printing.about(name, path, several=len(named) > 1):
                found[name] = evaluate(gold, read(path, run_format), measures, policy)
    if format == "table":
        printing.show(lambda width: _table(found, by_query, width), output)
    else:
        writing.write_text(_render(found, by_query, format), output)


def _table(found: dict[str, Scores], by_query: bool, width: int | None) -> Table:
    from ranklens.tables import scores as score_tables

    return score_tables.by_query(found) if by_query else score_tables.means(found, width)


def _render(found: dict[str, Scores], by_query: bool, format: str) -> str:  # noqa: A002
    from ranklens.tables import scores as score_tables

    if format == "json":
        content = {name: json.loads(scores.to_json()) for name, scores in found.items()}
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    if format == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(found, by_query))
    if format in ("csv", "tsv"):
        table = score_tables.by_query(found, exact=True) if by_query else score_tables.exact_means(found)
        return table.to_csv("," if format == "csv" else "\t")
    table = _table(found, by_query, None)
    return (table.to_markdown() if format == "markdown" else table.to_latex()) + "\n"


def _rows(found: dict[str, Scores], by_query: bool) -> list[dict[str, Any]]:
    if by_query:
        return [{"run": name, **row} for name, s in found.items() for row in s.per_query.to_dicts()]
    return [{"run": name, **row} for name, s in found.items() for row in s.to_frame().to_dicts()]
