"""``ranklens history``: results that are kept, over time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.policy import Policy
from ranklens.process import say
from ranklens.words import counted, in_one_line

if TYPE_CHECKING:
    import polars as pl

    from ranklens.scores import Scores
    from ranklens.scores.history.entries import Entry
    from ranklens.scores.history.record import Record
    from ranklens.tables.table import Printout

EXAMPLES = """

Examples:

  ranklens evaluate qrels.txt run.txt --save

  ranklens history list

  ranklens history trend nDCG@10 --plot trend.png

  ranklens history export history.parquet
"""
# Of an entry, in the rows of the list.
_IN_LIST = ("id", "at", "system", "kind", "commit", "dirty", "label", "judgments")

Store = Annotated[
    Path | None,
    Description(
        "History file. Default: $RANKLENS_HISTORY, else .ranklens/history.db in the repository.",
        flags=("--history",),
        metavar="FILE",
    ),
]
System = Annotated[str | None, Description("Only this system.", flags=("--system",))]
Last = Annotated[int | None, Description("Only the last N entries.", flags=("--last",), metavar="N", least=1)]


class Rows(str, Enum):
    """What the rows of an export are."""

    queries = "queries"
    entries = "entries"


HELP = "Store results and follow them over time: add, list, show, trend, remove, export."


def keep(
    results: Mapping[str, Scores | Record],
    kind: str,
    config: Mapping[str, object],
    *,
    label: str | None = None,
    at: float | None = None,
    store: Path | None = None,
) -> None:
    """Add results to the history, and say where they are."""
    from ranklens.scores.history.saving import records
    from ranklens.scores.history.store import History

    history = History(store)
    numbers = history.add(records(results), kind=kind, label=label, config=config, at=at)
    saved = ", ".join(f"#{number} {name}" for number, name in zip(numbers, results, strict=True))
    say(in_one_line(f"saved {saved} in {history.path}"))


def add(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = ["nDCG@10,AP,RR,R@100,P@10"],  # noqa: B006  typer does not change it
    label: Annotated[str | None, Description("A name to find the entry by, such as v1.2.")] = None,
    at: Annotated[
        str | None,
        Description("When it was measured, such as 2026-05-01; by default now.", metavar="DATE"),
    ] = None,
    store: Store = None,
    reading: MatchOptions = MatchOptions(),
) -> None:
    """Score runs against judgments and add them to the history."""
    from ranklens.cli.reading import queries_in_common
    from ranklens.scores.evaluation import evaluate

    try:
        when = None if at is None else datetime.fromisoformat(at)
    except ValueError:
        raise InputError(f"--at {at}: not a date; write 2026-05-01 or 2026-05-01T12:30.") from None
    if when is not None and when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    data = reading.open(qrels, runs)
    with queries_in_common():
        scores = {
            name: evaluate(data.qrels, run, measures, policy, match=reading.matching)
            for name, run in data.with_logs().runs.items()
        }
    config = {"qrels": qrels, "runs": list(runs), "measures": list(measures)}
    keep(scores, "add", config, label=label, at=None if when is None else when.timestamp(), store=store)


def list_entries(
    system: System = None,
    last: Last = None,
    store: Store = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """List the entries, oldest first: what was measured, when, and at which commit."""
    from ranklens.scores.history.store import History
    from ranklens.tables.table import Printout, Table

    written = _format(format, output)
    entries = History(store).entries(system=system, last=last)
    names = list(dict.fromkeys(name for entry in entries for name in entry.measures))
    rows = []
    for entry in entries:
        means = (f"{entry.measures[name].mean:.4f}" if name in entry.measures else "" for name in names)
        about = [f"#{entry.id}", _date(entry.at), entry.system, entry.kind, entry.short_commit]
        rows.append([*about, entry.label or "", entry.judgments[:7], *means])
    header = ["entry", "date", "system", "by", "commit", "label", "judgments", *names]
    note = f"{counted(len(entries), 'entry', 'entries')}. Means of entries with other judgments or another policy do not compare."
    output_formats.write(
        written,
        output,
        shown=Printout([Table(header, rows, note=note, left=7)]),
        rows=lambda: _frame(
            [
                {name: content[name] for name in _IN_LIST}
                | {name: one.mean for name, one in entry.measures.items()}
                for entry in entries
                for content in [_content(entry)]
            ]
        ),
        content=lambda: [_content(entry) for entry in entries],
    )


def show(
    ref: Annotated[str, Argument("A number, last, a label, a commit, or the name of a system.")] = "last",
    per_query: Annotated[
        bool, Description("All queries, one row each.", flags=("-q", "--per-query"))
    ] = False,
    store: Store = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Show an entry: means with intervals, where it comes from, and the values per query."""
    from ranklens.scores.history.store import History
    from ranklens.tables.table import Printout, Table

    written = _format(format, output)
    history = History(store)
    entry = history.find(ref)
    record = history.record(entry)
    queries = list(record.queries)
    values = {name: by_query.tolist() for name, by_query in record.values.items()}
    if per_query:
        rows = [
            [query, *(f"{value:.4f}" for value in row)]
            for query, *row in zip(queries, *values.values(), strict=True)
        ]
        shown = Printout([Table(["query", *record.measures], rows)])
    else:
        shown = _details(entry, len(queries))
    means = [
        {"measure": name, "mean": one.mean, "low": one.low, "high": one.high}
        for name, one in entry.measures.items()
    ]
    output_formats.write(
        written,
        output,
        shown=shown,
        rows=lambda: _frame({"query": queries, **values} if per_query else means),
        content=lambda: {**_content(entry), "queries": queries, "values": values},
    )


def trend(
    measure: Annotated[
        str | None,
        Argument("Measure, in any spelling. Default: the first of the newest entry."),
    ] = None,
    system: System = None,
    last: Last = None,
    reference: Annotated[
        str | None,
        Description(
            "Also compare with this entry (a number, label or commit). Default: the best so far.",
            flags=("--reference",),
            metavar="REF",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        Description("Draw the trend as .png, .svg, .pdf or .html.", flags=("--plot",), metavar="FILE"),
    ] = None,
    store: Store = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Show a measure over time; paired tests on the queries in common find sudden drops and slow slides."""
    from ranklens.scores.history.store import History

    written = _format(format, output)
    out.check_outputs([plot, output], [History(store).path])
    trend = History(store).trend(measure, system=system, last=last, reference=reference)
    if plot is not None:
        from ranklens.report.charts.style import save

        save(trend.chart(), plot)
    output_formats.write(
        written,
        output,
        shown=trend.printout(),
        rows=trend.to_frame,
        content=lambda: {
            "measure": str(trend.measure),
            "alpha": trend.alpha,
            "entries": trend.to_frame().to_dicts(),
        },
    )


def remove(
    numbers: Annotated[list[int], Argument("Numbers of entries, as ranklens history list shows them.")],
    store: Store = None,
) -> None:
    """Remove entries, such as damaged ones; the others keep their numbers."""
    from ranklens.scores.history.store import History

    history = History(store)
    history.remove(*numbers)
    say(in_one_line(f"removed {counted(len(numbers), 'entry', 'entries')} from {history.path}"))


def export(
    path: Annotated[Path, Argument("Parquet file to write.")],
    rows: Annotated[
        Rows,
        Description("One row per entry, measure and query, or per entry and measure.", flags=("--rows",)),
    ] = Rows.queries,
    store: Store = None,
) -> None:
    """Write everything as tidy Parquet, for DuckDB, Polars, pandas or Spark."""
    from ranklens.scores.history.export import write_parquet
    from ranklens.scores.history.store import History

    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: an export is Parquet; choose a name that ends in .parquet.")
    out.check_output(path, [History(store).path])
    number = write_parquet(History(store), path, rows.value)
    sys.stderr.write(in_one_line(f"{path}: {counted(number, 'row')}") + "\n")


COMMANDS: dict[str, Callable[..., None]] = {
    "add": add, "list": list_entries, "show": show, "trend": trend, "remove": remove, "export": export
}  # fmt: skip


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")


def _details(entry: Entry, queries: int) -> Printout:
    from ranklens.tables.table import Lines, Printout, Table

    rows = []
    for name, one in entry.measures.items():
        around = "" if one.low is None or one.high is None else f"[{one.low:.4f}, {one.high:.4f}]"
        rows.append([name, f"{one.mean:.4f}", around])
    policy = ", ".join(f"{name} {value}" for name, value in entry.policy.items())
    versions = ", ".join(f"{name} {value}" for name, value in entry.versions.items())
    lines = [
        f"{_date(entry.at)} UTC, by {entry.kind}" + (f", label {entry.label}" if entry.label else ""),
        f"commit {entry.commit or 'unknown'}" + (" with changes" if entry.dirty else ""),
        f"{counted(queries, 'query')}, judgments {entry.judgments}",
        f"policy: {policy}",
        f"versions: {versions}",
    ]
    if entry.config:  # in a line; JSON has all of it
        said = [
            f"{key} {_short(value)}"
            for key, value in entry.config.items()
            if value not in (None, False, [], {})
        ]
        lines.append(f"configuration: {', '.join(said)}")
    if entry.latency:
        times = ", ".join(f"{name} {1000 * seconds:,.1f} ms" for name, seconds in entry.latency.items())
        lines.append(f"latency: {times}; {counted(entry.failed or 0, 'failed call')}")
    table = Table(["measure", "mean", "95% interval"], rows, title=entry.name)
    return Printout([table, Lines("Origin", lines)])


def _short(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_short, value))
    return "{…}" if isinstance(value, dict) else str(value)


def _content(entry: Entry) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(entry), "at": datetime.fromtimestamp(entry.at, tz=timezone.utc).isoformat()}


def _frame(rows: list[dict[str, Any]] | dict[str, list[Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None)


def _format(asked: output_formats.Format | None, output: Path | None) -> output_formats.Format:
    """Before any work, because the name of the file may be wrong."""
    out.check_output(output)
    return output_formats.format_of(asked, output, output_formats.Format)
