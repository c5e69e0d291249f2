"""The command line: each command reads, calls the library, and reports."""

from __future__ import annotations

import json
import sys
import warnings
from enum import Enum
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens import __version__
from ranklens.errors import InputError, RankLensError, RankLensWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranklens.registry import Definition
    from ranklens.report.table import Table
    from ranklens.scores import Scores

app = typer.Typer(
    name="ranklens",
    help="Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    markdown = "markdown"
    latex = "latex"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ranklens {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean."""


_EXAMPLES = """

Examples:

  ranklens evaluate qrels.txt run.txt

  ranklens evaluate qrels.txt bm25=runs/bm25.txt dense=runs/dense.txt.gz -m nDCG@10,R@100

  ranklens evaluate beir/ run.parquet -m beir --format latex -o table.tex

  ranklens evaluate qrels.tsv run.jsonl -m rag --ties average -q --format csv
"""


@app.command(epilog=_EXAMPLES)
def evaluate(
    qrels: Annotated[
        str, typer.Argument(help="Judgments: TREC, CSV, TSV, JSONL, JSON, Parquet, or a BEIR folder.")
    ],
    runs: Annotated[list[str], typer.Argument(help="Runs, each as PATH or NAME=PATH; - is standard input.")],
    measures: Annotated[
        str, typer.Option("-m", "--measures", help="Measures or a preset: nDCG@10,RR or rag.")
    ] = "nDCG@10,AP,RR,R@100,P@10",
    by_query: Annotated[bool, typer.Option("-q", "--queries", help="One row a query.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to write the results.")] = Format.table,  # noqa: A002
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file to write to.")] = None,
    ties: Annotated[str, typer.Option(help="descending, ascending, input or average.")] = "descending",
    missing: Annotated[
        str, typer.Option(help="Judged queries that the run lacks: zero, skip or error.")
    ] = "zero",
    unjudged_queries: Annotated[
        str, typer.Option(help="Queries of the run that nobody judged: ignore or error.")
    ] = "ignore",
    empty: Annotated[str, typer.Option(help="Queries without relevant documents: zero or skip.")] = "zero",
    duplicates: Annotated[str, typer.Option(help="Repeated documents: first or error.")] = "first",
    nan: Annotated[str, typer.Option(help="Scores that are NaN: error or last.")] = "error",
    judged_only: Annotated[bool, typer.Option(help="Take unjudged documents out of the ranking.")] = False,
    depth: Annotated[int | None, typer.Option(help="Use the first N documents of each query.")] = None,
    rel: Annotated[float, typer.Option(help="The lowest relevant grade.")] = 1,
    qrels_format: Annotated[
        str | None, typer.Option(help="The format of the judgments, if it is not recognised.")
    ] = None,
    run_format: Annotated[
        str | None, typer.Option(help="The format of the runs, if it is not recognised.")
    ] = None,
) -> None:
    """Score one or several runs against judgments."""
    from ranklens.evaluation import evaluate as score
    from ranklens.policy import Policy
    from ranklens.readers import files

    # The intervals will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    policy = Policy(ties, missing, unjudged_queries, empty, duplicates, judged_only, nan, depth, rel)  # type: ignore[arg-type]
    found: dict[str, Scores] = {}
    named = _names(runs)
    if len(named) == 1 and run_format is None:
        ((name, path),) = named.items()
        gold, run = files.read_pair(qrels, path, qrels_format)
        found[name] = score(gold, run, measures, policy)
    else:
        gold = files.read_qrels(qrels, qrels_format)
        for name, path in named.items():
            found[name] = score(gold, files.stream_run(path, run_format), measures, policy)
    _write(_render(found, by_query, format), output)


@app.command(
    name="measures",
    epilog="\n\nExamples:\n\n  ranklens measures\n\n  ranklens measures nDCG\n\n  ranklens measures --for rag\n",
)
def list_measures(
    name: Annotated[str | None, typer.Argument(help="A measure to describe.")] = None,
    purpose: Annotated[
        str | None, typer.Option("--for", help="A purpose: the measures that people use for it.")
    ] = None,
) -> None:
    """List, describe and recommend measures."""
    from ranklens import registry

    if name is not None:
        typer.echo(_description(registry.look_up(name)))
        return
    chosen = registry.preset(purpose) if purpose else registry.measures()
    width = max(len(str(measure)) for measure in chosen)
    for measure in chosen:
        typer.echo(f"{measure!s:<{width}}  {measure.definition.description.splitlines()[0]}")
    if not purpose:
        typer.echo(f"\n{_ADVICE}\nPurposes (--for, or in place of measures): {', '.join(registry.PRESETS)}.")


_ADVICE = (
    "To find everything: recall (R@k). Order matters and there are grades: nDCG@k. One answer is enough: RR.\n"
    "Any hit in the first k counts: Success@k. Otherwise: P@k."
)


def _description(definition: Definition) -> str:
    parameters = [f"  {p.name}: {p.allowed()}{p.default_in_words()}" for p in definition.parameters.values()]
    aliases = f"Also called {', '.join(definition.aliases)}." if definition.aliases else ""
    return "\n".join(
        [definition.name, "", definition.description, "", "Parameters", *parameters, "", aliases]
    ).rstrip()


@app.command(
    epilog="\n\nExamples:\n\n  ranklens lint qrels.txt run.txt\n\n  ranklens lint qrels.txt runs/*.txt\n"
)
def lint(
    qrels: Annotated[str, typer.Argument(help="Judgments.")],
    runs: Annotated[list[str], typer.Argument(help="Runs, each as PATH or NAME=PATH.")],
) -> None:
    """Report what is wrong with the data; status 1 if something would change results."""
    from ranklens.lint import lint as look

    found = {name: look(qrels, path) for name, path in _names(runs).items()}
    for name, findings in found.items():
        typer.echo(f"{name}:" + (" nothing to report" if not findings else ""))
        for finding in sorted(findings, key=lambda f: not f.matters):
            typer.echo(f"  {'!' if finding.matters else ' '} {finding.kind}: {finding.message}")
    if any(finding.matters for findings in found.values() for finding in findings):
        typer.echo("\n! changes results: another tool or policy would give other numbers.")
        raise typer.Exit(1)


@app.command(
    epilog="\n\nExamples:\n\n  ranklens convert run.txt run.parquet\n\n  ranklens convert qrels.parquet qrels.csv\n"
)
def convert(
    source: Annotated[str, typer.Argument(help="Judgments or a run, in any format.")],
    target: Annotated[
        Path, typer.Argument(help="What to write: .parquet, .jsonl, .csv, .tsv, otherwise TREC.")
    ],
    kind: Annotated[
        str | None, typer.Option(help="qrels or run, if it cannot be told from the columns.")
    ] = None,
) -> None:
    """Write judgments or a run in another format; nothing is lost."""
    from ranklens.writers import convert as write

    rows, what = write(source, target, kind)
    typer.echo(f"{target}: {rows:,} rows of {'judgments' if what == 'qrels' else 'a run'}")


@app.command(
    name="trec-eval",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def trec_eval(context: typer.Context) -> None:
    """What the trec_eval command does: the same flags, measures and output."""
    from ranklens.trec_eval import main as run_trec_eval

    raise typer.Exit(run_trec_eval(context.args))


def _names(runs: Sequence[str]) -> dict[str, str]:
    """Runs by name: as given, else the file's name without its suffixes."""
    found: dict[str, str] = {}
    for run in runs:
        given, equals, path = run.partition("=")
        is_named = equals and not Path(run).exists()
        path = path if is_named else run
        name = (
            given
            if is_named
            else "standard input"
            if path == "-"
            else Path(path).name.partition(".")[0] or path
        )
        if name in found and not is_named:
            name = path
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give each a name of its own: NAME={path}.")
        found[name] = path
    return found


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


def _write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from ranklens.writers import write_whole

    write_whole(output, lambda place: place.write_text(text, encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 fine, 1 a check failed, 2 wrong usage or input; never a traceback for a user's mistake."""
    warnings.simplefilter("always", RankLensWarning)
    warnings.showwarning = lambda message, *_, **__: sys.stderr.write(f"ranklens: warning: {message}\n")  # type: ignore[assignment]
    try:
        result = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return 2
    except RankLensError as error:
        sys.stderr.write(f"ranklens: {error}\n")
        return 2
    except BrokenPipeError:
        return 0
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()
        sys.stderr.write(f"ranklens: {message}\nTry 'ranklens --help'.\n")
        return 2
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
