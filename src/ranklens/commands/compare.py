"""``ranklens compare``: which of several runs is better, and how sure that is."""

from __future__ import annotations

import warnings
from enum import Enum
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens.commands import options
from ranklens.errors import InputError, RankLensWarning
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.comparison import Comparison
    from ranklens.report.table import Printout

EXAMPLES = """

Examples:

  ranklens compare qrels.txt bm25.txt dense.txt hybrid.txt

  ranklens compare qrels.txt bm25=runs/1.txt dense=runs/2.txt --baseline bm25 -m nDCG@10,R@100

  ranklens compare qrels.txt runs/*.txt --test tukey --format latex -o table.tex

  ranklens compare beir/ a.txt b.txt --by type -q 10

  ranklens compare qrels.txt a.txt b.txt --by queries.csv:language --format csv --rows pairs
"""


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    csv = "csv"
    tsv = "tsv"
    markdown = "markdown"
    latex = "latex"


class Rows(str, Enum):
    """What the rows of a table of values are."""

    systems = "systems"
    pairs = "pairs"
    queries = "queries"


@options.with_policy
def compare(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = options.DEFAULT_MEASURES,
    baseline: Annotated[
        str | None, typer.Option(help="A run that all others are compared with; otherwise all pairs.")
    ] = None,
    test: Annotated[
        str,
        typer.Option(help="randomization, t, wilcoxon, sign, bootstrap, welch, tukey or tukey-randomized."),
    ] = "randomization",
    correction: Annotated[
        str, typer.Option(help="For several pairs: holm, bonferroni, hochberg, bh, by or none.")
    ] = "holm",
    alpha: Annotated[float, typer.Option(help="How often a difference may be claimed by mistake.")] = 0.05,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    by: Annotated[
        str | None,
        typer.Option(
            help="FILE:COLUMN, to compare by groups of queries too; COLUMN alone is looked up in a BEIR folder."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For what is random.")] = 0,
    queries: Annotated[
        int, typer.Option("-q", "--queries", min=0, help="Show so many queries with the largest differences.")
    ] = 0,
    document: Annotated[
        str | None, typer.Option("--documents", help="A query: show its two rankings side by side.")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="The runs whose queries and documents are shown; otherwise the baseline (or the first) and the best other.",
        ),
    ] = None,
    rows: Annotated[
        Rows, typer.Option("--rows", help="What csv and tsv list: systems, pairs or queries.")
    ] = Rows.systems,
    format: Annotated[Format, typer.Option("--format", help="How to write the results.")] = Format.table,  # noqa: A002
    output: options.Output = None,
    qrels_format: options.QrelsFormat = None,
    run_format: options.RunFormat = None,
) -> None:
    """Tell which of several runs is better on the same queries, by how much, and how sure that is."""
    from ranklens.comparison import compare as compare_runs

    _refuse_what_is_not_shown(format, rows, shows_more=bool(queries) or document is not None)
    # The tests will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    column, table = _column(by, qrels)
    gold, read = _read(qrels, options.run_names_by_tag(runs), qrels_format, run_format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # a comparison keeps them as cautions
        found = compare_runs(
            gold,
            read,
            measures,
            baseline=baseline,
            test=test,
            correction=correction,
            alpha=alpha,
            level=level,
            by=column,
            queries=table,
            policy=policy,
            rng=seed,
            progress=options.progress,
        )
    shown = _printout(found, queries, document, *(pair or (None, None)))
    options.write(_render(found, shown, format, rows), output)


def _refuse_what_is_not_shown(format: Format, rows: Rows, *, shows_more: bool) -> None:  # noqa: A002
    if shows_more and format not in (Format.table, Format.markdown):
        raise InputError(
            f"-q and --documents are for --format table and markdown; {format.value} does not show them."
        )
    if rows is not Rows.systems and format not in (Format.csv, Format.tsv):
        raise InputError(f"--rows is for --format csv and tsv; {format.value} shows systems and pairs.")


def _column(by: str | None, qrels: str) -> tuple[str | None, str | None]:
    """The column and the file that holds it."""
    if by is None:
        return None, None
    file, _, column = by.rpartition(":")
    if not file and Path(qrels).is_dir():
        file = qrels
    if not file or not column:
        raise InputError(f"--by {by}: give the file and the column, as in queries.csv:language.")
    return column, file


def _read(
    qrels: str, named: dict[str, str], qrels_format: str | None, run_format: str | None
) -> tuple[Any, dict[str, Any]]:
    from ranklens.readers import files

    if (qrels_format or files.recognise(qrels, "qrels")) == "svmlight":
        pairs = {name: files.read_pair(qrels, path, "svmlight") for name, path in named.items()}
        return next(iter(pairs.values()))[0], {name: run for name, (_, run) in pairs.items()}
    gold = files.read_qrels(qrels, qrels_format)
    return gold, {name: files.stream_run(path, run_format) for name, path in named.items()}


def _printout(found: Comparison, most: int, query: str | None, a: str | None, b: str | None) -> Printout:
    from ranklens.report import comparison_tables

    shown = comparison_tables.printout(found)
    if most:
        shown = shown.with_part(comparison_tables.queries(found, found.measures[0], a, b, most))
    if query is not None:
        shown = shown.with_part(comparison_tables.documents(found, query, a, b))
    return shown


def _render(found: Comparison, shown: Printout, format: Format, rows: Rows) -> str:  # noqa: A002
    if format is Format.json:
        return found.to_json(indent=2) + "\n"
    if format is Format.latex:
        return found.to_latex() + "\n"
    if format is Format.markdown:
        return shown.to_markdown() + "\n"
    if format is Format.table:
        return str(shown) + "\n"
    frames = {Rows.systems: found.to_frame, Rows.pairs: found.pairs_frame, Rows.queries: found.queries_frame}
    return frames[rows]().write_csv(separator="," if format is Format.csv else "\t")
