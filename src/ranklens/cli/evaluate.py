"""``ranklens evaluate``: score one or several runs against judgments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import bars, options, output_formats
from ranklens.cli.mismatch import queries_in_common
from ranklens.cli.output_formats import Format
from ranklens.cli.reading import MatchOptions
from ranklens.cli.texts import query_texts
from ranklens.data.files import output as out
from ranklens.data.files.collection import paths_of
from ranklens.data.files.hashes import Inputs
from ranklens.data.qrels import read_qrels, with_intents
from ranklens.errors import InputError, warn
from ranklens.options import Description
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.report.explanation.failing import Failing
    from ranklens.scores import Scores
    from ranklens.scores.evaluation import Each
    from ranklens.tables.table import Printout, Table

DEFAULT_MEASURES = ["nDCG@10,AP,RR,R@100,P@10"]
_FEW = 8  # runs, each of which has its own progress
_WIDEST_TEXT = 60  # letters of a question, in plain text
EXAMPLES = """

Examples:

  ranklens evaluate qrels.txt run.txt

  ranklens evaluate qrels.txt bm25=runs/bm25.txt dense=runs/dense.txt.gz -m nDCG@10,R@100

  ranklens evaluate beir/ run.parquet -m beir --format latex -o table.tex

  ranklens evaluate qrels.tsv run.jsonl -m rag -m nDCG@10 --ties average -q --format csv

  ranklens evaluate people.txt run.txt --machine model.txt

  ranklens evaluate golden.jsonl log.jsonl -m hit@5 --failing 20 --format markdown

  ranklens evaluate qrels.parquet s3a://bucket/run.parquet --engine spark --master spark://host:7077
"""


class Engine(str, Enum):
    """Where evaluation runs."""

    local = "local"
    spark = "spark"


def evaluate(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    measures: options.Measures = DEFAULT_MEASURES,
    per_query: Annotated[bool, Description("One row per query.", flags=("-q", "--per-query"))] = False,
    failing: Annotated[
        int | None,
        Description(
            "Also show the N queries with the lowest values: what was expected, what came instead, and why.",
            metavar="N",
            least=1,
        ),
    ] = None,
    failing_measure: Annotated[
        str | None, Description("Measure for --failing; by default the first.")
    ] = None,
    queries: options.Queries = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
    spreadsheet: options.Spreadsheet = False,
    skip_bad: options.SkipBad = False,
    intents: options.Intents = None,
    reading: MatchOptions = MatchOptions(),
    abstain_below: Annotated[
        float | None,
        Description("For unanswerable questions, treat an answer as empty if all its scores are below this."),
    ] = None,
    machine: options.Machine = None,
    save: options.Save = False,
    engine: Annotated[
        Engine,
        Description("Compute on this machine (local) or on a cluster (spark), which also reads tables."),
    ] = Engine.local,
    master: Annotated[
        str | None,
        Description("Spark's master, such as spark://host:7077, yarn or local[4].", metavar="URL"),
    ] = None,
) -> None:
    """Score one or several runs against judgments."""
    from ranklens.judging.prepared import kept
    from ranklens.scores.evaluation import Each
    from ranklens.scores.evaluation import evaluate as score

    out.check_output(output, [qrels, *paths_of(runs), queries, intents, machine])
    written = output_formats.format_of(format, output, Format)
    _refuse_what_is_not_shown(per_query, failing, failing_measure, written)
    _refuse_for_engine(engine, master, failing, intents, machine)
    texts = query_texts(queries, qrels, "evaluate") if queries or per_query or failing else {}
    each, read = Each(), Inputs.of([qrels, intents, machine])
    with _said(each):
        if engine is Engine.spark:
            from ranklens.spark.files import open_on_spark

            gold: object
            named: Mapping[str, object]
            gold, named = open_on_spark(qrels, runs, reading.qrels_format, reading.run_format, master)
        else:
            data = reading.open(qrels, runs, each.bad if skip_bad else None)
            judgments = data.qrels if intents is None else with_intents(data.qrels, intents)
            gold, named = kept(judgments) if len(data.runs) > 1 else judgments, data.runs
        how: dict[str, Any] = {
            "measures": measures,
            "policy": policy,
            "match": reading.matching,
            "abstain_below": abstain_below,
            "machine": None if machine is None else kept(read_qrels(machine, reading.names, what="machine")),
            **(
                {"columns": reading.columns} if engine is Engine.spark else {}
            ),  # files are read under these names
        }
        if len(named) == 1:
            with bars.reading(), queries_in_common():
                each.scores.update((name, score(gold, run, **how)) for name, run in named.items())
        else:
            _score_each(named, lambda run: score(gold, run, **how), each, skip_bad=skip_bad)
        found = {
            name: one.with_texts(texts).with_inputs(Inputs.merged([read, one.inputs]))
            for name, one in each.scores.items()
        }
        worst = (
            {name: one.failing(failing_measure, failing) for name, one in found.items()} if failing else {}
        )
    tables = _Tables(found, per_query, worst)
    output_formats.write(
        written,
        output,
        shown=lambda width: tables.shown(width, _WIDEST_TEXT),
        rows=lambda: _rows(found, per_query, worst),
        content=lambda: _content(found, worst),
        texts={
            "csv": lambda: tables.exact().to_csv(guarded=spreadsheet),
            "tsv": lambda: tables.exact().to_csv("\t", guarded=spreadsheet),
            "markdown": lambda: tables.shown(None, None, whole=True).to_markdown(),
            "latex": lambda: tables.shown(None, None).to_latex(),
        },
    )
    if save:
        from ranklens.cli.history import keep

        keep(found, "evaluate", {"qrels": qrels, "runs": list(runs), "measures": list(measures)})


def _refuse_what_is_not_shown(
    per_query: bool,
    failing: int | None,
    measure: str | None,
    format: Format,  # noqa: A002
) -> None:
    if measure is not None and failing is None:
        raise InputError("--failing-measure says what --failing N goes by; give both.")
    if failing is not None and format is Format.latex:
        raise InputError("--failing needs another format than latex, such as markdown.")
    if failing is not None and per_query and format in (Format.csv, Format.tsv, Format.jsonl, Format.parquet):
        raise InputError(f"--failing and --per-query are two tables; {format.value} holds one of them.")


def _refuse_for_engine(
    engine: Engine, master: str | None, failing: int | None, intents: str | None, machine: str | None
) -> None:
    if engine is Engine.local and master is not None:
        raise InputError("--master is Spark's; add --engine spark.")
    if engine is Engine.spark and failing is not None:
        raise InputError(
            "--failing looks at single rankings, which stay on the cluster; leave it out with --engine spark."
        )
    if engine is Engine.spark and intents is not None:
        raise InputError(
            "--intents is not known to Spark, which takes all subtopics alike; leave out --engine spark."
        )
    if engine is Engine.spark and machine is not None:
        raise InputError("--machine is not available on a cluster; leave out --engine spark.")


def _score_each(
    runs: Mapping[str, Any], scored: Callable[[Any], Scores], each: Each, *, skip_bad: bool
) -> None:
    """Several runs, with a bar for each file, or one for all of them."""
    from ranklens.scores.evaluation import evaluate_each

    def checked(run: Any) -> Scores:
        with queries_in_common():
            return scored(run)

    few = len(runs) <= _FEW
    with bars.reading() if few else nullcontext():
        evaluate_each(runs, checked, progress=iter if few else bars.progress, skip_bad=skip_bad, into=each)


@contextmanager
def _said(each: Each) -> Iterator[None]:
    """Tell at the end, or before an error, what was warned of each run, once where several share it."""
    try:
        yield
    finally:
        for told in each.told():
            warn(told)


@dataclass(frozen=True)
class _Tables:
    """The scores of runs as tables, with the queries that do worst, if they were asked for."""

    found: Mapping[str, Scores]
    per_query: bool
    worst: Mapping[str, Failing]

    def shown(self, width: int | None, widest_text: int | None, *, whole: bool = False) -> Printout:
        """What people read; ``whole`` texts are not shortened."""
        from ranklens.scores import tables
        from ranklens.tables.table import Printout

        scores = (
            tables.by_query(self.found, widest=widest_text)
            if self.per_query
            else tables.means(self.found, width)
        )
        failing = {name: one.table(whole=whole) for name, one in self.worst.items()}
        if len(failing) > 1:
            failing = {name: replace(one, title=f"{name}: {one.title}") for name, one in failing.items()}
        return Printout([scores, *failing.values()])

    def exact(self) -> Table:
        """All digits, for other programs to read."""
        from ranklens.scores import tables
        from ranklens.tables.table import Table

        if self.worst:
            from ranklens.report.explanation.failing import COLUMNS

            rows = [
                [name, *map(_cell, row.values())]
                for name, one in self.worst.items()
                for row in one.to_dicts()
            ]
            return Table(["run", *COLUMNS], rows)
        return tables.by_query(self.found, exact=True) if self.per_query else tables.exact_means(self.found)


def _content(found: Mapping[str, Scores], worst: Mapping[str, Failing]) -> dict[str, object]:
    content = {name: json.loads(scores.to_json()) for name, scores in found.items()}
    for name, one in worst.items():
        content[name]["failing"] = {"measure": str(one.measure), "queries": one.to_dicts()}
    return content


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    return "" if value is None else str(value)


def _rows(
    found: Mapping[str, Scores], per_query: bool, worst: Mapping[str, Failing]
) -> list[dict[str, object]]:
    if worst:
        return [{"run": name, **row} for name, one in worst.items() for row in one.to_dicts()]
    if per_query:
        return [{"run": name, **row} for name, s in found.items() for row in _by_query(s)]
    return [{"run": name, **row} for name, s in found.items() for row in s.to_frame().to_dicts()]


def _by_query(scores: Scores) -> Iterator[dict[str, object]]:
    for row in scores.per_query.to_dicts():
        text = {"question": scores.texts.get(row["query"])} if scores.texts else {}
        yield {"query": row["query"], **text, **row}
