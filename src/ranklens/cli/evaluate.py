"""``ranklens evaluate``: score one or several runs against judgments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.output_formats import Format
from ranklens.cli.reading import MatchOptions, bar, progress, queries_in_common
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
    from ranklens.scores.abstentions import Abstentions
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

  ranklens evaluate golden.jsonl log.jsonl -m hit@5 --failing 20 --format markdown

  ranklens evaluate people.txt run.txt --machine model.txt

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
            "Also show the N queries with the lowest values: what was expected, what was retrieved instead, and why.",
            metavar="N",
            least=1,
        ),
    ] = None,
    failing_measure: Annotated[str | None, Description("Measure for --failing. Default: the first.")] = None,
    corpus: Annotated[
        str | None,
        Description("For --failing: the texts of documents, to find more causes.", metavar="FILE"),
    ] = None,
    first_stage: Annotated[
        str | None, Description("For --failing: the run before reranking.", metavar="RUN")
    ] = None,
    parent: Annotated[
        str | None,
        Description(
            "For --failing: the separator before the chunk number in an id, such as #.", metavar="TEXT"
        ),
    ] = None,
    queries: options.Queries = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
    spreadsheet: options.Spreadsheet = False,
    skip_bad: options.SkipBad = False,
    intents: options.Intents = None,
    machine: options.Machine = None,
    reading: MatchOptions = MatchOptions(),
    abstain_below: Annotated[
        float | None,
        Description("For unanswerable questions, treat an answer as empty if all its scores are below this."),
    ] = None,
    abstention: Annotated[
        bool,
        Description(
            "Also show how many questions got nothing back, rightly (unanswerable) or wrongly, and what thresholds on scores would change.",
            flags=("--abstention",),
        ),
    ] = False,
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
    from ranklens.scores.evaluation import Each, evaluate_each
    from ranklens.scores.evaluation import evaluate as score

    out.check_output(output, [qrels, *paths_of(runs), queries, intents, machine, corpus, first_stage])
    written = output_formats.format_of(format, output, Format)
    _refuse_what_does_not_fit(per_query, failing, failing_measure, written, engine, master, intents, machine)
    if abstention and written in (Format.csv, Format.tsv, Format.jsonl, Format.parquet):
        raise InputError(f"--abstention needs a format of several tables, not {written.value}, such as json.")
    if abstention and engine is Engine.spark:
        raise InputError(
            "--abstention looks at single rankings, which stay on the cluster; leave it out with --engine spark."
        )
    texts = query_texts(queries, qrels, "evaluate") if queries or per_query or failing else {}
    looked: dict[str, Any] = {"corpus": corpus, "first_stage": first_stage, "parent": parent}
    if failing is None and any(looked.values()):
        raise InputError("--corpus, --first-stage and --parent say why queries fail; add --failing N.")
    if first_stage is not None:
        looked["first_stage"] = next(iter(reading.open(qrels, [first_stage]).runs.values()))
    each, read = Each(), Inputs.of([qrels, intents, machine])
    how: dict[str, Any] = {
        "measures": measures,
        "policy": policy,
        "match": reading.matching,
        "abstain_below": abstain_below,
        "machine": None if machine is None else kept(read_qrels(machine, reading.names, what="machine")),
    }
    try:
        if engine is Engine.spark:
            from ranklens.spark.files import open_on_spark

            gold: object
            named: Mapping[str, object]
            gold, named = open_on_spark(qrels, runs, reading.qrels_format, reading.run_format, master)
            how["columns"] = reading.columns  # the cluster reads files under these names
        else:
            data = reading.open(qrels, runs, each.bad if skip_bad else None)
            judgments = data.qrels if intents is None else with_intents(data.qrels, intents)
            gold, named = kept(judgments) if len(data.runs) > 1 else judgments, data.runs

        def scored(run: Any) -> Scores:
            with queries_in_common():
                return score(gold, run, **how)

        has_bars = len(named) <= _FEW  # one for each file, else one for all of them
        with bar() if has_bars else nullcontext():
            if len(named) == 1:
                each.scores.update((name, scored(run)) for name, run in named.items())
            else:
                shown = iter if has_bars else progress
                evaluate_each(named, scored, progress=shown, skip_bad=skip_bad, into=each)
        scores = {
            name: one.with_texts(texts).with_inputs(Inputs.merged([read, one.inputs]))
            for name, one in each.scores.items()
        }
        worst = {
            name: one.failing(failing_measure, failing, **looked) for name, one in scores.items() if failing
        }
        silent = {name: one.abstentions(below=abstain_below) for name, one in scores.items() if abstention}
    finally:  # also before an error, and once where several runs share a warning
        for warning in each.told():
            warn(warning)
    results = _Results(scores, per_query, worst, silent)
    output_formats.write(
        written,
        output,
        shown=lambda width: results.shown(width, _WIDEST_TEXT),
        rows=results.rows,
        content=results.content,
        texts={
            "csv": lambda: results.exact().to_csv(guarded=spreadsheet),
            "tsv": lambda: results.exact().to_csv("\t", guarded=spreadsheet),
            "markdown": lambda: results.shown(None, None, whole=True).to_markdown(),
            "latex": lambda: results.shown(None, None).to_latex(),
        },
    )
    if save:
        from ranklens.cli.history import keep

        keep(scores, "evaluate", {"qrels": qrels, "runs": list(runs), "measures": list(measures)})


def _refuse_what_does_not_fit(
    per_query: bool,
    failing: int | None,
    measure: str | None,
    format: Format,  # noqa: A002
    engine: Engine,
    master: str | None,
    intents: str | None,
    machine: str | None,
) -> None:
    if measure is not None and failing is None:
        raise InputError("--failing-measure chooses the measure of --failing N; pass both.")
    if failing is not None and format is Format.latex:
        raise InputError("--failing needs another format than latex, such as markdown.")
    if failing is not None and per_query and format in (Format.csv, Format.tsv, Format.jsonl, Format.parquet):
        raise InputError(
            f"--failing and --per-query are two tables, and {format.value} has room for one; leave one of them out."
        )
    if engine is Engine.local:
        if master is not None:
            raise InputError("--master is Spark's; add --engine spark.")
    elif failing is not None:
        raise InputError(
            "--failing looks at single rankings, which stay on the cluster; leave it out with --engine spark."
        )
    elif machine is not None:
        raise InputError("--machine is not available on a cluster; leave out --engine spark.")
    elif intents is not None:
        raise InputError(
            "--intents is not available on Spark, where all subtopics count equally; leave out --engine spark."
        )


@dataclass(frozen=True)
class _Results:
    """The scores of runs, with the queries that do worst, if they were asked for."""

    scores: Mapping[str, Scores]
    per_query: bool
    worst: Mapping[str, Failing]
    silent: Mapping[str, Abstentions]

    def shown(self, width: int | None, widest_text: int | None, *, whole: bool = False) -> Printout:
        """What people read; ``whole`` texts are not shortened."""
        from ranklens.scores import tables
        from ranklens.tables.table import Printout

        failing = [(name, part) for name, one in self.worst.items() for part in one.tables(whole=whole)]
        failing += [(name, part) for name, one in self.silent.items() for part in one.tables()]
        if len({name for name, _ in failing}) > 1:
            failing = [(name, replace(one, title=f"{name}: {one.title}")) for name, one in failing]
        if self.per_query:
            return Printout([tables.by_query(self.scores, widest=widest_text), *(one for _, one in failing)])
        return Printout([tables.means(self.scores, width), *(one for _, one in failing)])

    def exact(self) -> Table:
        """All digits, for other programs to read."""
        from ranklens.scores import tables
        from ranklens.tables.table import Table

        if self.worst:
            from ranklens.report.explanation.failing import COLUMNS

            return Table(["run", *COLUMNS], [[*map(_cell, row.values())] for row in self.rows()])
        return tables.by_query(self.scores, exact=True) if self.per_query else tables.exact_means(self.scores)

    def rows(self) -> list[dict[str, object]]:
        """A row per failing query, per query, or per measure."""
        if self.worst:
            return [{"run": name, **row} for name, one in self.worst.items() for row in one.to_dicts()]
        if not self.per_query:
            return [
                {"run": name, **row} for name, one in self.scores.items() for row in one.to_frame().to_dicts()
            ]
        rows = []
        for name, one in self.scores.items():
            for row in one.per_query.to_dicts():
                text = {"question": one.texts.get(row["query"])} if one.texts else {}
                rows.append({"run": name, "query": row["query"], **text, **row})
        return rows

    def content(self) -> dict[str, object]:
        """As JSON, by run."""
        content = {name: json.loads(one.to_json()) for name, one in self.scores.items()}
        for name, one in self.worst.items():
            content[name]["failing"] = {"measure": str(one.measure), "queries": one.to_dicts()}
        for name, counts in self.silent.items():
            content[name]["abstention"] = {"below": counts.below, "questions": counts.to_dicts()}
        return content


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    return "" if value is None else str(value)
