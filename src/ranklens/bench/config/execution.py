"""A configuration, carried out: retrievers are asked, systems compared, gates checked, outputs written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ranklens.bench.config.callables import import_retriever, importable, named, source
from ranklens.bench.config.result import BenchResult, from_store
from ranklens.bench.config.syntax import as_key, spell
from ranklens.comparison.compare import compare
from ranklens.comparison.options import CompareOptions
from ranklens.data.files.collection import open_collection
from ranklens.data.files.output import check_outputs
from ranklens.data.qrels import Qrels, read_qrels
from ranklens.data.readers.names import Names
from ranklens.errors import InputError, InPython, RankLensError, RankLensWarning, spelling, warn
from ranklens.guard.baselines import HISTORY, Baseline
from ranklens.guard.checking import check_each
from ranklens.guard.context import GateTerms
from ranklens.guard.results import refuse_mismatch, stored_of
from ranklens.guard.verdicts import Outcome
from ranklens.judging.inputs import read_inputs
from ranklens.options import descriptions
from ranklens.policy import Policy
from ranklens.retrieval.asking import Asking
from ranklens.scores.evaluation import evaluate

if TYPE_CHECKING:
    from ranklens.bench.config.model import Config, Performance, Retriever
    from ranklens.comparison.comparison import Comparison
    from ranklens.fusion.sweeping import Sweep
    from ranklens.guard.rules import Rule
    from ranklens.guard.verdicts import Undecided
    from ranklens.retrieval.asking import AskArguments
    from ranklens.retrieval.benchmark import Benchmark
    from ranklens.scores import Scores
    from ranklens.scores.history.record import Record

_AT_ONCE = 8  # simultaneous calls where parallel_processing is true and the retriever does not say
_STORE = ".ranklens"


def run(config: Config, asking: Asking | None = None) -> BenchResult:
    """Run the retrievers, compare all systems, check the gates, and write the outputs."""
    result = measure(config, asking)
    write_outputs(result)
    return result


def measure(config: Config, asking: Asking | None = None) -> BenchResult:
    """The same without writing; outputs that cannot be written are refused right away."""
    asking = asking or Asking()
    if asking.gates and not config.rules and config.gates != type(config.gates)():
        raise InputError(
            f"{_file(config)}gates: names no rule, so nothing would be checked; add rules, or leave gates out."
        )
    if config.retrievers and not asking.code:
        first = config.retrievers[0]
        what = f"{first.retriever!r} is code" if first.url is None else f"{first.url!r} is an address to call"
        raise InputError(
            f"{_place(config, 0)}: {what}, which ",
            InPython("code=False", "--no-code"),
            " refuses. Give rankings as data.runs, or allow code if you trust this configuration.",
        )
    for key, path in _files(config).items():
        _make_room(path, spell(("outputs", key)))
    check_outputs(outputs(config), inputs(config))
    _trackers(config)  # one that is not installed is reported before hours of work, not after
    try:
        with spelling(as_key), importable(config.folder, Path.cwd()):
            benchmark = _asked(config, asking) if config.retrievers else None
        with spelling(as_key):
            return _measured(config, benchmark, asking)
    except RankLensError as error:
        error.respell(as_key)  # the author of a file looks for keys, not for arguments
        raise
    except SystemExit as error:  # else a retriever could end the command as if all gates had held
        raise InputError(f"A retriever called sys.exit({error.code!r}); it must return or raise.") from None


def _asked(config: Config, asking: Asking) -> Benchmark:
    from ranklens.retrieval.benchmark import Benchmark

    asked = [_retriever(config, number) for number in range(len(config.retrievers))]
    performance = config.retrieval_metrics.performance
    benchmark = Benchmark(
        config.data.asked,
        config.data.qrels,
        store=_store(config),
        corpus=config.data.corpus,
        match=config.match,
    )
    max_age = performance.max_age if asking.max_age is None else asking.max_age
    live = max_age is None and (asking.frozen or bool(asking.gates and config.rules))
    for entry, (retriever, takes_lists) in zip(config.retrievers, asked, strict=True):
        options = _options(entry, takes_lists, performance)
        options |= {"max_age": max_age, "fresh": asking.fresh or live, "keep_going": asking.keep_going}
        benchmark.run(entry.name, retriever, **options)
    for fusion in config.fusions:
        chosen = fusion.model_dump(include={"norm", "weights", "window", "depth"})
        benchmark.fuse(fusion.name, fusion.systems, fusion.method, **chosen, **fusion.params)
    return benchmark


def _store(config: Config) -> Path | None:
    keeps = config.retrieval_metrics.performance.caching_enabled or config.outputs.store is not None
    return (config.outputs.store or config.folder / _STORE) if keeps else None


def sweep(
    config: Config,
    retriever: str | None,
    over: Mapping[str, Sequence[object]],
    *,
    measure: str | None = None,
    at_query: Sequence[str] = (),
    folds: int = 5,
) -> Sweep:
    """Try settings of a retriever of the configuration: :func:`ranklens.sweep`."""
    from ranklens.fusion.sweeping import sweep as try_all

    named_so = {entry.name: entry for entry in config.retrievers}
    if retriever is None and len(named_so) == 1:
        retriever = next(iter(named_so))
    if retriever not in named_so:
        what = "there are several retrievers" if retriever is None else f"there is no retriever {retriever!r}"
        raise InputError(
            f"{_file(config)}{what}: name one with ",
            InPython("retriever=", "--retriever"),
            f" ({', '.join(named_so)}).",
        )
    entry = named_so[retriever]
    place = entry.retriever
    if place is None:
        raise InputError(
            f"{_file(config)}{entry.name} is an address; a sweep needs a function or a factory with parameters."
        )

    def build(**parameters: object) -> object:
        return import_retriever(place, factory=entry.factory, params={**entry.params, **parameters})

    with importable(config.folder, Path.cwd()):
        return try_all(
            build,
            over,
            config.data.asked,
            config.data.qrels,
            config.measures[0] if measure is None else measure,
            at_query=at_query,
            folds=folds,
            store=_store(config),
            **_options(entry, False, config.retrieval_metrics.performance),
        )


def _retriever(config: Config, number: int) -> tuple[Any, bool]:
    """The retriever, and whether it takes lists of texts."""
    from ranklens.retrieval.adapters import adapt

    entry = config.retrievers[number]
    if entry.retriever is None:
        from ranklens.bench.config.endpoints import endpoint

        return endpoint(entry), False
    try:
        found = import_retriever(entry.retriever, factory=entry.factory, params=entry.params)
        return found, adapt(found, k=entry.k, batch_size=entry.batch_size).batch_size is not None
    except InputError as error:
        error.prefix(f"{_place(config, number)}: ")
        raise


def _place(config: Config, number: int) -> str:
    """Where a retriever is named."""
    key = "retriever" if config.retrievers[number].url is None else "url"
    return f"{_file(config)}{spell(('retrievers', number, key))}"


def _file(config: Config) -> str:
    return "" if config.file is None else f"{config.file}: "


def _options(entry: Retriever, takes_lists: bool, performance: Performance) -> AskArguments:
    options: AskArguments = {
        "k": entry.k,
        "concurrency": entry.concurrency or (_AT_ONCE if performance.parallel_processing else 1),
        "timeout": entry.timeout,
        "retries": entry.retries,
        "rate_limit": entry.rate_limit,
        "backoff": entry.backoff,
        "id_from": entry.id_from,
        "score_from": entry.score_from,
        "match": entry.match,
        "batch_size": entry.batch_size or (performance.batch_size if takes_lists else None),
        "version": entry.version or "",
        "params": entry.params,
        "stop_after": performance.stop_after,
    }
    if entry.retriever is not None:
        # The object that a factory made may not show what it was made from.
        return {**options, "depends_on": [entry.retriever, named(entry.retriever)]}
    from ranklens.retrieval.http import split_path

    if entry.id:
        options["id_from"] = split_path(entry.id)[1]
    if entry.score:
        options["score_from"] = split_path(entry.score)[1]
    return options


def _measured(config: Config, benchmark: Benchmark | None, asking: Asking) -> BenchResult:
    analysis = config.retrieval_metrics.statistical_analysis
    names = Names.of(config.data.map, config.match)
    judged = config.data.judged if benchmark is None else benchmark.common_judgments()
    qrels = read_qrels(judged, names)
    policy = config.policy
    if not config.retrieval_metrics.graded_relevance:
        qrels, policy = binary(qrels, policy.rel), replace(policy, rel=1)
    runs = _runs(config, qrels, names, policy)
    if benchmark is not None:
        runs |= {name: result.run for name, result in benchmark.results.items()}
    if not analysis.significance_testing:
        for caution in benchmark.cautions(config.measures) if benchmark is not None else ():
            warn(caution)
        scores = {name: evaluate(qrels, run, config.measures, policy) for name, run in runs.items()}
        outcome = _outcome(config, scores, None, benchmark, asking)
        return BenchResult(config, scores, None, benchmark, outcome)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # a comparison keeps them as cautions
        compared = compare(qrels, runs, config.measures, policy=policy, **_compare_options(config))
    if benchmark is not None:
        compared = benchmark.completed(compared, benchmark.cautions(config.measures))
    outcome = _outcome(config, compared.scores, compared, benchmark, asking)
    return BenchResult(config, compared.scores, compared, benchmark, outcome)


def _compare_options(config: Config) -> dict[str, Any]:
    """The options of a comparison, with measures under the names that are reported."""
    others = [name for name in descriptions(CompareOptions) if name != "alpha"]
    options = {name: getattr(config, "seed" if name == "rng" else name) for name in others}
    if isinstance(config.margin, Mapping):
        options["margin"] = {config.measure(name): margin for name, margin in config.margin.items()}
    has_fields = config.by is not None or config.clusters is not None
    return {
        **options,
        "alpha": config.retrieval_metrics.statistical_analysis.alpha_level,
        "level": config.confidence,
        "primary": None if config.primary is None else config.measure(config.primary),
        "queries": config.data.asked if has_fields else None,
    }


def _runs(config: Config, qrels: Qrels, names: Names, policy: Policy) -> dict[str, Any]:
    """The runs and logs of the configuration, under judged ids."""
    opened = open_collection(qrels, dict(config.data.runs), names=names).with_logs().runs
    if config.match is None:
        return opened
    return {name: read_inputs(qrels, run, policy, match=config.match)[1] for name, run in opened.items()}


def binary(qrels: Qrels, rel: float) -> Qrels:
    """Judgments in which every document of at least grade ``rel`` has the grade 1, and all others 0.

    A negative grade means pooled but not judged, and stays.

    >>> binary(Qrels({"q": {"a": 3, "b": 1, "c": -1}}), rel=2).judged
    {'q': {'a': 1.0, 'b': 0.0, 'c': -1}}
    """
    from ranklens.data.readers import mappings

    if isinstance(qrels.judged, Mapping):
        judged = mappings.judgments(qrels.judged).by_query
        found = {
            query: {doc: float(grade >= rel) if grade >= 0 else grade for doc, grade in docs.items()}
            for query, docs in judged.items()
        }
        return replace(qrels, judged=found)
    import polars as pl

    grade = pl.col("grade")
    shown = pl.when(grade >= 0).then((grade >= rel).cast(pl.Float64)).otherwise(grade).alias("grade")
    return replace(qrels, judged=qrels.judged.with_columns(shown))


def _outcome(
    config: Config,
    scores: Mapping[str, Scores],
    compared: Comparison | None,
    benchmark: Benchmark | None,
    asking: Asking,
) -> Outcome:
    """The gates, applied to what is shown: with a comparison, the queries that all systems have."""
    rules = [rule for rule in config.rules if asking.gates and not (asking.frozen and rule.is_drop)]
    if not rules:
        return Outcome(())
    refuse_mismatch(scores, benchmark)
    elsewhere = config.gates.baseline is not None and not asking.frozen
    records = records_of(scores, compared, benchmark, digested=elsewhere)
    if config.gates.baseline is not None and elsewhere:
        baseline: Baseline | None = Baseline.of_any(config.gates.baseline, systems=config.gated)
    else:
        own = records.get(config.baseline or "")
        baseline = Baseline({config.baseline or "": own}) if own is not None else None
    results = benchmark.results if benchmark is not None else {}
    notes = {name: from_store(result) for name, result in results.items() if result.all_stored}
    gates = config.gates
    fields = config.data.asked if gates.clusters or any(rule.slice for rule in rules) else None
    terms = GateTerms(
        baseline,
        cast("Undecided", gates.undecided),
        fields,
        gates.clusters,
        gates.common,
        notes,
        gates.min_checked,
    )
    outcome = check_each(
        ((rule, records[name]) for rule in rules for name in _held(config, rule, records)), terms
    )
    return replace(outcome, stored=tuple(stored_of(results.values())))


def _held(config: Config, rule: Rule, records: Mapping[str, Record]) -> list[str]:
    """The systems that a rule is about; calls are those of retrievers, and a baseline is not below itself."""
    names = list(config.gated)
    if rule.is_drop and config.gates.baseline is None:
        names = [name for name in names if name != config.baseline]
    if rule.measure is None:
        names = [name for name in names if records[name].failed is not None] or names  # else it says why not
    return names


def records_of(
    scores: Mapping[str, Scores],
    compared: Comparison | None,
    benchmark: Benchmark | None,
    *,
    digested: bool = False,
) -> dict[str, Record]:
    """What was measured of each system, as it is shown; ``digested`` if it is to be compared with results of another day."""
    from ranklens.scores.history.record import Record, digests_of

    known = digests_of(next(iter(scores.values()))) if digested else {}
    results = benchmark.results if benchmark is not None else {}
    found = {}
    for name, one in scores.items():
        asked = results.get(name)
        seconds = None if asked is None else list(asked.seconds.values())
        record = Record.of(one, name, digests=known, seconds=seconds)
        if asked is not None:
            record = replace(record, failed=asked.status["failed"], errors=asked.errors)
            record = replace(record, texts=benchmark.queries if benchmark is not None else {})
        record = record if compared is None else _aligned(record, compared)
        if benchmark is not None:
            unasked, unanswerable = benchmark.without_text, benchmark.unanswerable
            record = replace(record, left_out=record.left_out + unasked, unanswerable=unanswerable)
        found[name] = record
    return found


def _aligned(record: Record, compared: Comparison) -> Record:
    """The same on the queries that are compared."""
    left_out = record.expected - len(compared.query_ids)
    return replace(record, values=compared.aligned.of(record.system), left_out=left_out)


def write_outputs(result: BenchResult) -> None:
    """Write the files that the configuration asks for."""
    from ranklens.data.files.output import write_text

    files = _files(result.config)
    texts: dict[str, Callable[[], str]] = {
        "table": result.__str__,
        "json": result.to_json,
        "markdown": result.to_markdown,
        "csv": result.to_csv,
        "latex": result.to_latex,
    }
    for key in files.keys() & texts:
        write_text(texts[key]().rstrip("\n") + "\n", files[key])
    if result.benchmark is not None and result.config.outputs.runs is not None:
        result.benchmark.save_runs(result.config.outputs.runs)
    if result.comparison is not None and "report" in files:
        data = result.config.data
        texts_of = result.benchmark.queries if result.benchmark is not None else data.queries
        result.comparison.to_html(files["report"], queries=texts_of, corpus=data.corpus)
    _log(result)


def _log(result: BenchResult) -> None:
    """Hand the results to the trackers that the configuration names."""
    trackers = _trackers(result.config)
    if not trackers:
        return
    from ranklens.report.trackers.content import content_of

    report = result.comparison.to_html if result.comparison is not None else None
    content = content_of(result.scores, report=report, further=_of_calls(result.benchmark))
    for log in trackers:
        log(content)


def _trackers(config: Config) -> list[Callable[[Any], None]]:
    """What logs to each tracker."""
    from ranklens.report.trackers.destinations import find

    return [find(tracker, config.folder) for tracker in config.outputs.log_to]


def _of_calls(benchmark: Benchmark | None) -> dict[str, dict[str, float | None]]:
    results = benchmark.results if benchmark is not None else {}
    return {
        name: {"failed": run.status["failed"], "latency_p95": run.latency.p95 if run.latency else None}
        for name, run in results.items()
    }


def inputs(config: Config, *, update: bool = False) -> list[Path | None]:
    """The files that are read, the configuration among them; the baseline is not, where it is to be written."""
    data, held = config.data, config.gates.baseline
    code = [
        source(entry.retriever, config.folder) for entry in config.retrievers if entry.retriever is not None
    ]
    frozen = [] if update or held is None or held.startswith(HISTORY) else [Path(held)]
    return [config.file, data.qrels, data.queries, data.corpus, *data.runs.values(), *frozen, *code]


def outputs(config: Config) -> list[Path]:
    """The files that are written."""
    from ranklens.retrieval.benchmark import run_file

    folder = config.outputs.runs
    asked = [*(one.name for one in config.retrievers), *(one.name for one in config.fusions)]
    runs = [] if folder is None else [folder / run_file(name) for name in asked]
    return [*_files(config).values(), *(path for path in runs if path.parent.is_dir())]


def _files(config: Config) -> dict[str, Path]:
    """The files to be written, by key."""
    outputs = config.outputs
    found = {
        "table": outputs.table,
        "json": outputs.json_file,
        "markdown": outputs.markdown,
        "csv": outputs.csv,
        "latex": outputs.latex,
        "report": outputs.report,
    }
    return {key: path for key, path in found.items() if path is not None}


def _make_room(path: Path, key: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{key}: {path} cannot be written: {error.strerror}.") from None
    if path.is_dir():
        raise InputError(f"{key}: {path} is a folder; choose a file name.")
