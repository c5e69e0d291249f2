"""Whether the keys of a configuration fit together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ranklens.data.files.queries import golden
from ranklens.data.matching.rules import Groups
from ranklens.errors import InputError, nearest
from ranklens.guard.rules import senseless

if TYPE_CHECKING:
    from ranklens.bench.config.model import Config, Retriever


class WrongKeyError(ValueError):
    """Keys that do not fit together; ``key`` is where to look, from the part that is checked."""

    def __init__(self, message: str, *key: str | int) -> None:
        super().__init__(message)
        self.key = key


def check(config: Config) -> None:
    """Raise the first :class:`WrongKeyError` that there is."""
    _systems(config)
    _texts(config)
    metrics = config.retrieval_metrics
    for measure in config.measures:
        if not metrics.graded_relevance and dict(measure.params).get("rel", 1) != 1:
            message = (
                f"{measure} asks for grades, but graded_relevance is false; leave rel out, or set policy.rel."
            )
            raise WrongKeyError(message, "retrieval_metrics", "enabled_metrics")
    _gates(config)
    if not metrics.statistical_analysis.significance_testing:
        compared: dict[tuple[str, ...], object] = {
            (key,): getattr(config, key) for key in ("by", "clusters", "margin", "primary")
        }
        for keys, wanted in [(("outputs", "report"), config.outputs.report), *compared.items()]:
            if wanted is not None:
                needed = "retrieval_metrics.statistical_analysis.significance_testing: true"
                raise WrongKeyError(f"needs {needed}.", *keys)
    if config.outputs.runs is not None and not config.retrievers:
        raise WrongKeyError("applies to the rankings of retrievers, and there are none.", "outputs", "runs")


def _systems(config: Config) -> None:
    if not config.systems:
        raise WrongKeyError("Nothing to measure: set retrievers or data.runs.", "retrievers")
    parallel = config.retrieval_metrics.performance.parallel_processing
    for number, retriever in enumerate(config.retrievers):
        if config.systems.count(retriever.name) > 1:
            message = f"two systems are called {retriever.name!r}; give each its own name."
            raise WrongKeyError(message, "retrievers", number, "name")
        if parallel is False and (retriever.concurrency or 1) > 1:
            other = "retrieval_metrics.performance.parallel_processing"
            message = f"more than 1, but {other} is false; change one of them."
            raise WrongKeyError(message, "retrievers", number, "concurrency")
        match = retriever.match or config.match
        if retriever.id_from is not None and match is not None and match.id_from is not None:
            message = "and match both say where the id is; set only one of them."
            raise WrongKeyError(message, "retrievers", number, "id_from")
        if isinstance(match, Groups) and config.data.runs:
            message = (
                "groups change the judgments, so runs cannot be compared with them; leave out data.runs."
            )
            raise WrongKeyError(message, *(("retrievers", number) if retriever.match else ()), "match")
    asked = [retriever.name for retriever in config.retrievers]
    for number, fusion in enumerate(config.fusions):
        if config.systems.count(fusion.name) > 1:
            message = f"two systems are called {fusion.name!r}; give each its own name."
            raise WrongKeyError(message, "fusions", number, "name")
        for name in fusion.systems:
            if name not in asked:
                message = f"there is no retriever {name!r}: {nearest(name, asked)}"
                raise WrongKeyError(message, "fusions", number, "systems")
    _names(config, [config.baseline] if config.baseline is not None else [], "baseline")
    _names(config, config.gates.systems or (), "gates", "systems")
    if config.gates.systems is not None and not config.gates.systems:
        message = f"is empty, so nothing would be checked; leave it out, or name systems: {nearest('', config.systems)}"
        raise WrongKeyError(message, "gates", "systems")


_OF_FUNCTIONS = ("factory", "params", "batch_size")
_OF_ENDPOINTS = ("body", "headers", "method", "id", "score")


def check_retriever(retriever: Retriever) -> None:
    """Raise a :class:`WrongKeyError` unless it is a function or an address, with the keys that such a one takes."""
    if (retriever.retriever is None) == (retriever.url is None):
        said = "and retriever are both set" if retriever.url else "is missing, and so is url"
        key = "url" if retriever.url else "retriever"
        raise WrongKeyError(f"{said}; set one of them: a function, or an address to call.", key)
    others, there = (_OF_FUNCTIONS, "functions") if retriever.url else (_OF_ENDPOINTS, "an address (url)")
    for key in others:
        if getattr(retriever, key):
            raise WrongKeyError(f"applies to {there} only; leave it out.", key)
    if retriever.url is None:
        return
    if retriever.id is not None and retriever.id_from is not None:
        raise WrongKeyError("and id_from both say where the id is; set only one of them.", "id")
    if retriever.score is not None and retriever.score_from is not None:
        raise WrongKeyError("and score_from both say where the score is; set only one of them.", "score")
    from ranklens.bench.config.endpoints import endpoint

    try:
        endpoint(retriever)
    except InputError as error:
        raise WrongKeyError(str(error), "url") from None


def _names(config: Config, names: Iterable[str], *key: str) -> None:
    for name in names:
        if name not in config.systems:
            raise WrongKeyError(f"there is no system {name!r}: {nearest(name, config.systems)}", *key)


def _texts(config: Config) -> None:
    data = config.data
    if data.qrels is None:
        message = ""
        if data.queries is None:
            message = (
                "is missing: a file of judgments, or a BEIR folder; or set queries that say what is relevant."
            )
        elif data.asked.is_file() and golden(data.asked) is None:
            message = f"is missing, and {data.asked.name} does not say for every query what is relevant."
        if message:
            raise WrongKeyError(message, "data", "qrels")
    elif (config.retrievers or config.by or config.clusters) and _lacks_queries(config):
        needs = "by needs the fields of" if config.by else "clusters needs the fields of"
        what = "retrievers are called with the texts of" if config.retrievers else needs
        raise WrongKeyError(f"is missing: {what} the queries.", "data", "queries")


def _lacks_queries(config: Config) -> bool:
    """Whether there are judgments alone, without texts and fields of the queries."""
    qrels = config.data.qrels
    return qrels is not None and config.data.queries is None and not qrels.is_dir() and golden(qrels) is None


def _gates(config: Config) -> None:
    """What is said of measures is about those that are measured; rules about calls need retrievers, others fields of the queries."""
    usable = [m for m in config.measures if m.definition.aggregate in ("mean", "geometric")]
    names = [str(m) for m in usable if m.definition.better != "lower"]
    for gate in ("floors", "max_regression"):
        for name in getattr(config.gates, gate):
            if config.measure(name) not in names:
                message = f"{name} is not a mean among enabled_metrics for which higher is better: {nearest(name, names)}"
                raise WrongKeyError(message, "gates", gate, name)
    for rule in config.rules:
        wrong = senseless(rule) if rule.key in ("floors", "max_regression") and rule.measure else ""
        if wrong and rule.measure is not None:
            raise WrongKeyError(wrong, "gates", rule.key, rule.measure.shown)
    for key in dict.fromkeys(rule.key for rule in config.rules if rule.is_drop):
        _drops(config, key)
    names = [str(measure) for measure in config.measures]
    named = [("margin", name) for name in (config.margin if isinstance(config.margin, dict) else {})]
    for key, name in [*named, *([("primary", config.primary)] if config.primary is not None else [])]:
        if config.measure(name) not in names:
            raise WrongKeyError(f"{name} is not among enabled_metrics: {nearest(name, names)}", key)
    checked = {*config.gated} & {retriever.name for retriever in config.retrievers}
    for key in ("max_failed", "max_latency_p95"):
        if getattr(config.gates, key) is not None and not checked:
            raise WrongKeyError("applies to retrievers, and there are none to check.", "gates", key)
    fields = [rule.slice.field for rule in config.rules if rule.slice is not None]
    fields += [config.gates.clusters] if config.gates.clusters else []
    if fields and _lacks_queries(config):
        raise WrongKeyError(
            f"is missing: a gate needs the field {fields[0]!r} of the queries.", "data", "queries"
        )


def _drops(config: Config, key: str) -> None:
    """Drops need something to be below of."""
    if config.gates.baseline is not None:
        return
    if not {*config.gated} - {config.baseline}:
        raise WrongKeyError("there is only the baseline to check.", "gates", key)
    if config.baseline is None:
        raise WrongKeyError("needs a baseline to compare with.", "gates", key)
    runs = config.data.runs
    own = runs.get(config.baseline)
    for name in config.gated:
        other = runs.get(name) if name != config.baseline else None
        if own is not None and other is not None and own.exists() and other.exists() and other.samefile(own):
            message = f"{name} and the baseline {config.baseline} are the same file, {other}, so that nothing can drop."
            raise WrongKeyError(message, "gates", key)
