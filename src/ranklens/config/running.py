"""A configuration, carried out: retrievers are asked, systems compared, gates checked, outputs written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens import gate
from ranklens.comparison import compare
from ranklens.config.files import spell
from ranklens.config.importing import import_retriever, importable, source_version
from ranklens.errors import InputError
from ranklens.evaluation import evaluate
from ranklens.report.table import Table
from ranklens.scores import Scores, describe

if TYPE_CHECKING:
    from ranklens.benchmark import Benchmark
    from ranklens.comparison import Comparison
    from ranklens.config.model import Config, Retriever

FORMAT_VERSION = 1  # of to_json; 1: first version
_AT_ONCE = 8  # calls at a time where parallel_processing is true and the retriever does not say
_STORE = ".ranklens"


@dataclass(frozen=True)
class BenchResult:
    """What came of a configuration: scores by system, how they compare, which gates held."""

    config: Config
    scores: Mapping[str, Scores]
    comparison: Comparison | None
    benchmark: Benchmark | None
    checks: tuple[gate.Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all gates held."""
        return all(check.passed for check in self.checks)

    def table(self) -> Table:
        """Means by system, with intervals unless the configuration says otherwise."""
        return _means(self.scores, self._level if self._shows_intervals else None)

    def __str__(self) -> str:
        parts = [str(self.benchmark)] if self.benchmark is not None else []
        if self.comparison is not None and self._shows_intervals:
            parts.append(str(self.comparison))
        else:
            parts.append(str(self.table()))
            parts += [self.comparison.verdict()] if self.comparison is not None else []
        return "\n\n".join([*parts, *self._gate_lines()])

    def to_markdown(self) -> str:
        """The same for GitHub and its like."""
        parts = [self.benchmark.table().to_markdown()] if self.benchmark is not None else []
        if self.comparison is not None and self._shows_intervals:
            parts.append(self.comparison.to_markdown())
        else:
            parts.append(self.table().to_markdown())
        return "\n\n".join([*parts, *self._gate_lines()])

    def to_latex(self) -> str:
        """A table for a paper."""
        use = self.comparison if self.comparison is not None and self._shows_intervals else self.table()
        return use.to_latex()

    def to_csv(self) -> str:
        """The numbers."""
        if self.comparison is not None:
            return self.comparison.to_csv()
        rows = [
            [name, *map(_cell, row)] for name, s in self.scores.items() for row in s.to_frame().iter_rows()
        ]
        return Table(["system", "measure", "mean", "low", "high"], rows).to_csv()

    def to_json(self) -> str:
        """Everything, with a format version."""
        content: dict[str, Any] = {"format_version": FORMAT_VERSION}
        if self.comparison is not None:
            content["comparison"] = json.loads(self.comparison.to_json())
        else:
            content["scores"] = {name: json.loads(scores.to_json()) for name, scores in self.scores.items()}
        if self.benchmark is not None:
            content["retrievers"] = [_told(result) for result in self.benchmark.results.values()]
        content["gates"] = [asdict(check) for check in self.checks]
        content["passed"] = self.passed
        return json.dumps(content, ensure_ascii=False)

    @property
    def _shows_intervals(self) -> bool:
        return self.config.retrieval_metrics.statistical_analysis.confidence_intervals

    @property
    def _level(self) -> float:
        return 1 - self.config.retrieval_metrics.statistical_analysis.alpha_level

    def _gate_lines(self) -> list[str]:
        lines = [f"- {'passed' if check.passed else 'FAILED'}: {check.text}" for check in self.checks]
        return ["\n".join(["Gates", *lines])] if lines else []


def run(config: Config) -> BenchResult:
    """Ask the retrievers, compare all systems, check the gates, and write what is asked for."""
    with importable(config.folder, Path.cwd()):
        benchmark = _asked(config) if config.retrievers else None
    result = _measured(config, benchmark)
    _write(result)
    return result


def _asked(config: Config) -> Benchmark:
    from ranklens.benchmark import Benchmark

    retrievers = [_retriever(config, number) for number in range(len(config.retrievers))]
    performance = config.retrieval_metrics.performance
    store = (config.outputs.store or config.folder / _STORE) if performance.caching_enabled else None
    benchmark = Benchmark(
        config.data.queries or config.data.qrels, config.data.qrels, store=store, corpus=config.data.corpus
    )
    for entry, retriever in zip(config.retrievers, retrievers, strict=True):
        benchmark.run(entry.name, retriever, **_options(entry, retriever, config))
    return benchmark


def _retriever(config: Config, number: int) -> Any:
    entry = config.retrievers[number]
    try:
        return import_retriever(entry.retriever, factory=entry.factory, params=entry.params)
    except InputError as error:
        where = "" if config.file is None else f"{config.file}: "
        raise InputError(f"{where}{spell(('retrievers', number, 'retriever'))}: {error}") from None


def _options(entry: Retriever, retriever: Any, config: Config) -> dict[str, Any]:
    from ranklens.adapters import adapt

    performance = config.retrieval_metrics.performance
    batch_size = entry.batch_size
    if batch_size is None and adapt(retriever, k=entry.k).batch_size is not None:
        batch_size = performance.batch_size
    return {
        "k": entry.k,
        "concurrency": entry.concurrency or (_AT_ONCE if performance.parallel_processing else 1),
        "timeout": entry.timeout,
        "retries": entry.retries,
        "rate_limit": entry.rate_limit,
        "id_from": entry.id_from,
        "batch_size": batch_size,
        "version": source_version(entry.retriever) if entry.version is None else entry.version,
        "params": entry.params,
    }


def _measured(config: Config, benchmark: Benchmark | None) -> BenchResult:
    from ranklens.readers.files import read_qrels

    analysis = config.retrieval_metrics.statistical_analysis
    qrels = benchmark.qrels if benchmark is not None else read_qrels(config.data.qrels)
    policy = config.policy
    if not config.retrieval_metrics.graded_relevance:
        qrels, policy = binary(qrels, policy.rel), replace(policy, rel=1)
    runs: dict[str, Any] = dict(config.data.runs)
    if benchmark is not None:
        runs |= {name: result.run for name, result in benchmark.results.items()}
    if not analysis.significance_testing:
        scores = {name: evaluate(qrels, run, config.measures, policy) for name, run in runs.items()}
        return BenchResult(config, scores, None, benchmark, tuple(_checks(config, scores, benchmark)))
    compared = compare(
        qrels,
        runs,
        config.measures,
        baseline=config.baseline,
        test=config.test,
        correction=config.correction,
        alpha=analysis.alpha_level,
        level=1 - analysis.alpha_level,
        by=config.by,
        queries=(config.data.queries or config.data.qrels) if config.by is not None else None,
        policy=policy,
        rng=config.seed,
    )
    if benchmark is not None:
        answered = benchmark.results.items()
        compared = replace(
            compared,
            latencies={name: list(result.seconds.values()) for name, result in answered},
            status={name: result.status for name, result in answered},
        )
    checks = tuple(_checks(config, compared.scores, benchmark))
    return BenchResult(config, compared.scores, compared, benchmark, checks)


def binary(qrels: Any, rel: float) -> Any:
    """Judgments in which every document of at least grade ``rel`` has the grade 1, and all others 0.

    A negative grade means pooled but not judged, and stays.

    >>> binary({"q": {"a": 3, "b": 1, "c": -1}}, rel=2)
    {'q': {'a': 1.0, 'b': 0.0, 'c': -1}}
    """
    from ranklens.readers import frames, mappings

    if isinstance(qrels, Mapping):
        judged = mappings.judgments(qrels).by_query
        return {
            query: {doc: float(grade >= rel) if grade >= 0 else grade for doc, grade in docs.items()}
            for query, docs in judged.items()
        }
    import polars as pl

    grade = pl.col("grade")
    return frames.qrels_frame(qrels).with_columns(
        pl.when(grade >= 0).then((grade >= rel).cast(pl.Float64)).otherwise(grade).alias("grade")
    )


def _checks(
    config: Config, scores: Mapping[str, Scores], benchmark: Benchmark | None
) -> Iterator[gate.Check]:
    gates = config.gates
    means = {name: scores[name].mean for name in config.gated}
    yield from gate.floors(means, {config.measure(name): floor for name, floor in gates.floors.items()})
    if config.baseline is not None:
        others = {name: found for name, found in means.items() if name != config.baseline}
        drops = {config.measure(name): drop for name, drop in gates.max_regression.items()}
        yield from gate.regressions(others, scores[config.baseline].mean, drops)
    results = {name: r for name, r in benchmark.results.items() if name in config.gated} if benchmark else {}
    if gates.max_failed is not None:
        yield from gate.failures({name: r.status["failed"] for name, r in results.items()}, gates.max_failed)
    if gates.max_latency_p95 is not None:
        seconds = {name: r.latency.p95 if r.latency is not None else None for name, r in results.items()}
        yield from gate.latencies(seconds, gates.max_latency_p95)


def _write(result: BenchResult) -> None:
    from ranklens.commands.options import write

    outputs = result.config.outputs
    texts: list[tuple[Path | None, Callable[[], str]]] = [
        (outputs.table, lambda: str(result)),
        (outputs.json_file, result.to_json),
        (outputs.markdown, result.to_markdown),
        (outputs.csv, result.to_csv),
        (outputs.latex, result.to_latex),
    ]
    for path, text in texts:
        if path is not None:
            _make_room(path)
            write(text().rstrip("\n") + "\n", path)
    if outputs.runs is not None and result.benchmark is not None:
        result.benchmark.save_runs(outputs.runs)
    if outputs.report is not None and result.comparison is not None:
        _make_room(outputs.report)
        data = result.config.data
        texts_of = result.benchmark.queries if result.benchmark is not None else data.queries
        result.comparison.to_html(outputs.report, queries=texts_of, corpus=data.corpus)


def _make_room(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def _means(scores: Mapping[str, Scores], level: float | None) -> Table:
    """A row a system, a column a measure."""
    first = next(iter(scores.values()))
    measures = [m for m in first.measures if m.definition.aggregate != "none"]
    rows = [[name, *(_mean(found, measure, level) for measure in measures)] for name, found in scores.items()]
    notes: dict[str, list[str]] = {}
    for name, found in scores.items():
        notes.setdefault(describe(found.judged, found.measures), []).append(name)
    told = [line if len(notes) == 1 else f"{', '.join(names)}: {line}" for line, names in notes.items()]
    if level is not None:
        told.append(f"{level:.0%} intervals")
    return Table(["system", *map(str, measures)], rows, note=".\n".join(told) + ".")


def _mean(scores: Scores, measure: Any, level: float | None) -> str:
    mean, kind = scores.mean[str(measure)], measure.definition.aggregate
    if kind == "sum":
        return f"{mean:,.0f}"
    return f"{mean:.4f}" if level is None else f"{mean:.4f} {scores.interval(measure, level=level)}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _told(result: Any) -> dict[str, Any]:
    """A retriever's run for JSON."""
    latency = result.latency and {
        key: getattr(result.latency, key) for key in ("p50", "p90", "p95", "p99", "mean")
    }
    return {
        "name": result.name,
        "k": result.k,
        "status": result.status,
        "latency": latency,
        "throughput": result.throughput,
        "version": result.version,
    }
