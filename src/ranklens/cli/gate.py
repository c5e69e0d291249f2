"""``ranklens gate``: check results against rules and a baseline; exit status 1 if a rule does not pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions
from ranklens.data.files import output as out
from ranklens.errors import InputError, warn
from ranklens.options import Description
from ranklens.policy import Policy, questions
from ranklens.process import CheckFailed, reader_may_leave, say, say_result
from ranklens.retrieval.asking import Asking
from ranklens.words import counted, in_one_line, plural, several

if TYPE_CHECKING:
    from ranklens.guard.rules import Rule
    from ranklens.guard.verdicts import Outcome
    from ranklens.scores.history.record import Record

EXAMPLES = """

Examples:

  ranklens gate "nDCG@10 >= 0.42" --qrels qrels.txt --run run.txt

  ranklens gate "nDCG@10 drop <= 0.01 @ 95%" --qrels qrels.txt --run run.txt --baseline baseline.json --update

  ranklens gate "nDCG@10 drop <= 0.01 @ 95%" "failed <= 0" --qrels golden.jsonl --run log.jsonl --baseline baseline.json

  ranklens gate --config bench.yaml

  ranklens gate --config bench.yaml --format github --junit gate.xml

  ranklens gate "RR drop <= 2%" --qrels qrels.txt --run run.txt --baseline history:v1.2
"""


_OF_CONFIG = (
    "queries",
    "cluster",
    "measures",
    "qrels_format",
    "run_format",
    "places",
    "match",
)  # in its own way
_T = TypeVar("_T")


class Format(str, Enum):
    """How the verdicts are written."""

    table = "table"
    json = "json"
    markdown = "markdown"
    github = "github"


class Undecided(str, Enum):
    """What becomes of a rule that the queries are too few to decide."""

    fail = "fail"
    passes = "pass"


class _Held(NamedTuple):
    """What a call asks for, apart from where results come from."""

    rules: list[Rule]
    baseline: str | None
    undecided: str | None
    common: bool
    min_checked: str | None
    update: bool
    says_missing: bool  # what becomes of missing queries


def gate(
    chosen: Mapping[str, str],
    asking: Asking,
    policy: Policy,
    rules: Annotated[
        list[str] | None,
        Argument(
            "Rules, such as 'nDCG@10 >= 0.42', 'nDCG@10 drop <= 0.01 @ 95%', 'failed <= 0', 'p95 <= 200ms', 'abstained >= 80%' or, for a slice, "
            "'nDCG@10[type=how-to] >= 0.4'. With --config, they are added to its gates."
        ),
    ] = None,
    configs: Annotated[
        list[Path] | None,
        Description(
            "Configuration whose retrievers and runs are measured and gated.",
            flags=("--config",),
            metavar="FILE",
        ),
    ] = None,
    judgments: Annotated[
        list[str] | None,
        Description(
            "Judgments, or a golden set, if there is no --config.", flags=("--qrels",), metavar="TEXT"
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        Description("Run or log to gate. Can be repeated.", flags=("--run",), metavar="[NAME=]PATH"),
    ] = None,
    baselines: Annotated[
        list[str] | None,
        Description(
            "Baseline for drops: a frozen file, or an entry of the history (history:REF).",
            flags=("--baseline",),
            metavar="FILE|history:REF",
        ),
    ] = None,
    update: Annotated[
        bool,
        Description(
            "Write the baseline file from these results instead of checking drops; all other rules must hold.",
            flags=("--update",),
        ),
    ] = False,
    undecided: Annotated[
        Undecided | None,
        Description(
            "What to do if the queries are too few to decide a rule: fail (default) or pass.",
            flags=("--undecided",),
        ),
    ] = None,
    common: Annotated[
        bool,
        Description(
            "If some judgments changed, compare only the queries whose judgments did not.",
            flags=("--common",),
        ),
    ] = False,
    min_checked: Annotated[
        str | None,
        Description(
            "Minimum share of the queries that every rule must check. Default: 95%.",
            flags=("--min-checked",),
            metavar="SHARE",
        ),
    ] = None,
    queries: options.Queries = None,
    cluster: Annotated[
        str | None,
        Description("Queries with the same value of this field belong together.", metavar="FIELD"),
    ] = None,
    measures: Annotated[
        list[str] | None,
        Description("Further measures for --update to store. Can be repeated.", flags=("-m", "--measures")),
    ] = None,
    format: Annotated[Format | None, output_formats.asked(Format)] = None,  # noqa: A002
    output: options.Output = None,
    junit: options.Junit = None,
    reading: MatchOptions = MatchOptions(),
) -> None:
    """Check results against rules and a baseline; exit status 1 if a rule fails, 2 if nothing could be checked.

    A baseline is a file that is committed and that only --update changes. If its queries, judgments or policy differ, nothing is compared.
    """
    from ranklens.data.files.collection import paths_of
    from ranklens.guard.baselines import HISTORY
    from ranklens.guard.github import add_to_summary, refuse_inputs
    from ranklens.guard.rules import Rule

    config, qrels = _only("--config", configs), _only("--qrels", judgments)
    baseline = _only("--baseline", baselines)
    if (config is None) == (qrels is None) or (qrels is None) != (not runs):
        raise InputError("Say what to check: either --config FILE, or --qrels FILE and --run FILE.")
    if config is not None:  # which says all this itself; what had no effect could let a gate pass
        for name in (*questions(), *_OF_CONFIG):
            if name in chosen:
                raise InputError(f"{chosen[name]} has no effect with --config; set it in the configuration.")
    undecided_as = None if undecided is None else undecided.value
    asked = [Rule.parse(rule) for rule in rules or ()]
    held = _Held(asked, baseline, undecided_as, common, min_checked, update, "missing" in chosen)
    written = output_formats.format_of(format, output, Format)
    frozen = baseline is not None and not baseline.startswith(HISTORY)
    writes = [output, junit, *([Path(str(baseline))] if update and frozen else [])]
    reads = [config, qrels, *paths_of(runs or []), queries, *([] if update or not frozen else [baseline])]
    out.check_outputs(writes, reads)
    refuse_inputs(reads)
    if config is not None:
        outcome = _by_config(config, held, asking, [file for file in (output, junit) if file is not None])
    else:
        out.clear(output, junit)
        outcome = _by_files(str(qrels), runs or [], held, policy, measures or [], queries, cluster, reading)
    if outcome is None:  # the baseline was written
        return
    if junit is not None:
        out.write_text(outcome.to_junit(), junit)
    add_to_summary(outcome.to_markdown())
    _tell(outcome, written, output, config)


def _only(option: str, values: Sequence[_T] | None) -> _T | None:
    """The one value; with two, the gate would check less than was asked for."""
    if values and len(values) > 1:
        raise InputError(
            f"{option} is given {counted(len(values), 'time')}; run ranklens gate once for each."
        )
    return values[0] if values else None


def _by_files(
    qrels: str,
    runs: Sequence[str],
    held: _Held,
    policy: Policy,
    measures: Sequence[str],
    queries: str | None,
    cluster: str | None,
    reading: MatchOptions,
) -> Outcome | None:
    """Runs and logs against judgments."""
    from ranklens.cli.reading import queries_in_common
    from ranklens.guard.baselines import Baseline
    from ranklens.guard.checking import check
    from ranklens.guard.context import MIN_CHECKED, GateTerms, share_of
    from ranklens.guard.results import records_of
    from ranklens.guard.verdicts import Outcome
    from ranklens.metrics import parse_many
    from ranklens.scores.evaluation import evaluate

    ruled = [rule.measure for rule in held.rules if rule.measure is not None]
    wanted = list(dict.fromkeys([*ruled, *(parse_many(measures) if measures else [])]))
    if not held.rules and not (held.update and wanted):
        raise InputError("There is no rule to check; write one, such as 'nDCG@10 >= 0.4'.")
    data = reading.open(qrels, runs).with_logs()
    with queries_in_common():
        scores = {
            name: evaluate(data.qrels, run, wanted or ["RR"], policy, match=reading.matching)
            for name, run in data.runs.items()
        }
        results = records_of(
            scores, wanted, digested=held.baseline is not None, missing_allowed=held.says_missing
        )
    least = MIN_CHECKED if held.min_checked is None else share_of(held.min_checked)
    against = None
    if held.baseline is not None and not held.update:
        against = Baseline.of_any(held.baseline, systems=list(results.records))
    fields = queries or results.fields or (qrels if Path(qrels).is_dir() else None)
    undecided: Any = held.undecided or "fail"
    terms = GateTerms(against, undecided, fields, cluster, held.common, min_checked=least)
    rules = [rule for rule in held.rules if not (held.update and rule.is_drop)]
    outcome = check(rules, results.records, terms) if rules else Outcome(())
    if not held.update or outcome.failed:
        return outcome
    _update(held.rules, results.records, held.baseline, least)
    return None


def _by_config(path: Path, held: _Held, asking: Asking, written: Sequence[Path]) -> Outcome | None:
    """What a configuration describes, with its gates and further rules."""
    from ranklens.bench.config import load
    from ranklens.bench.config.checks import WrongKeyError, check
    from ranklens.bench.config.execution import inputs, measure, records_of
    from ranklens.cli.reading import queries_in_common
    from ranklens.guard.baselines import HISTORY
    from ranklens.guard.context import share_of
    from ranklens.guard.github import refuse_inputs
    from ranklens.guard.results import refuse_mismatch

    loaded = load(path)
    optional = {
        "baseline": held.baseline,
        "undecided": held.undecided,
        "common": held.common or None,
        "min_checked": None if held.min_checked is None else share_of(held.min_checked),
    }
    gates: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
    gates["rules"] = (*loaded.gates.rules, *held.rules)
    loaded = loaded.model_copy(update={"gates": loaded.gates.model_copy(update=gates)})
    try:
        check(loaded)
    except WrongKeyError as error:
        raise InputError(f"{'.'.join(map(str, error.key))}: {error}") from None
    place = loaded.gates.baseline
    frozen = [Path(place)] if held.update and place is not None and not place.startswith(HISTORY) else []
    out.check_outputs([*written, *frozen], inputs(loaded, update=held.update))
    refuse_inputs(inputs(loaded))
    out.clear(*written)
    if not loaded.rules:
        raise InputError(f"{path}: there is no gate to check; set gates, or write a rule.")
    with queries_in_common():
        result = measure(loaded, replace(asking, frozen=held.update))
    if not held.update or result.outcome.failed:
        return result.outcome
    refuse_mismatch(result.scores, result.benchmark)
    records = records_of(result.scores, result.comparison, result.benchmark, digested=True)
    gated = {name: records[name] for name in loaded.gated}
    _update(loaded.rules, gated, loaded.gates.baseline, loaded.gates.min_checked)
    return None


def _update(rules: Sequence[Rule], records: Mapping[str, Record], place: str | None, least: float) -> None:
    """Freeze these results, and say what they change, unless they measured too little."""
    from ranklens.guard.baselines import HISTORY, Baseline
    from ranklens.guard.checking import refuse_to_freeze

    for record in records.values():
        refuse_to_freeze(rules, record, least)
    if place is None or place.startswith(HISTORY):
        raise InputError("--update writes a file: give it as --baseline FILE, or as gates.baseline.")
    path = Path(place)
    if out.is_stream(path):
        raise InputError(f"--update writes a file to commit; {path} is not a file.")
    out.check_output(path)
    lines = []
    for name, record in records.items():
        try:
            before = Baseline.read(path).of(name)
        except InputError:  # the file is new, or has no such system
            before = None
        for measure in record.measures:
            old = f"{before.mean(measure):.4f} → " if before is not None and measure in before.values else ""
            lines.append(f"  {measure} of {name}: {old}{record.mean(measure):.4f}")
        lost = [
            measure
            for measure in (before.values if before is not None else ())
            if measure not in record.values
        ]
        if lost:
            warn(
                f"The new baseline of {name} no longer has {several(lost)}; add -m {','.join(lost)} to keep measuring {plural(len(lost), 'it', 'them')}."
            )
    Baseline(records).write(path)
    number = max(len(record.queries) for record in records.values())
    say_result(in_one_line(f"{path}: a baseline of {counted(number, 'query')}; commit it."))
    for line in lines:
        say_result(in_one_line(line))


def _tell(outcome: Outcome, format: Format, output: Path | None, config: Path | None) -> None:  # noqa: A002
    """The verdicts, then the exit status."""
    from ranklens.guard import wording

    shown = format is Format.table and out.is_standard_output(output)
    with reader_may_leave():  # as in "ranklens gate … | head": the status is still that of the gate
        output_formats.write(
            format,
            output,
            shown=outcome.printout(),
            content=outcome.to_dict,
            texts={"markdown": outcome.to_markdown, "github": lambda: outcome.to_github(config)},
        )
    if outcome.passed:
        return
    failed = outcome.failed
    say(f"the gate failed: {len(failed)} of {counted(len(outcome.verdicts), 'verdict')}.")
    for line in () if shown else wording.lines(outcome):
        say(in_one_line(line))
    raise CheckFailed
