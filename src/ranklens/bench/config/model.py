"""The keys of a configuration. Each is described once, here: it is what the documentation and the error messages say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from ranklens.bench.config.checks import check, check_retriever
from ranklens.comparison.options import CompareOptions
from ranklens.data.files.collection import names_of
from ranklens.data.matching.parsing import matching
from ranklens.data.matching.rules import Matching
from ranklens.errors import InputError, nearest
from ranklens.guard.baselines import HISTORY
from ranklens.guard.context import MIN_CHECKED, share_of
from ranklens.guard.rules import FAILED, Limit, Rule, floor_of
from ranklens.guard.verdicts import UNDECIDED
from ranklens.metrics import Measure, parse, parse_many, with_rel
from ranklens.options import descriptions
from ranklens.policy import Policy, make_policy, questions
from ranklens.report.trackers.destinations import check as check_tracker
from ranklens.retrieval.ages import in_seconds
from ranklens.retrieval.asking import AskOptions
from ranklens.stats import Margin

_PLACEHOLDER = re.compile(r"(\$\{\w+\}|\{(?:query|k)\})")


def _beside_the_file(path: Path, info: ValidationInfo) -> Path:
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r:.60} is not allowed: a path cannot contain NUL.")
    try:
        return Path((info.context or {}).get("folder", "")) / path.expanduser()
    except RuntimeError as error:  # ~user, where there is no such user
        raise ValueError(f"{str(path)!r:.60} is not allowed: {error}") from None


def _one_of(allowed: tuple[str, ...]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"{value!r} is not allowed: {nearest(value, allowed)}")
        return value

    return AfterValidator(check)


def _policy(given: object) -> object:
    if isinstance(given, Policy):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"{given!r:.60} is not allowed: give names with values, such as ties: average.")
    return make_policy(None, {str(name): value for name, value in given.items()})


def _checked(check: Callable[[Any], object], kind: type = AfterValidator) -> Any:
    """Refuse what the check refuses; the value stays as it is."""

    def unchanged(value: Any) -> Any:
        check(value)
        return value

    return kind(unchanged)


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _no_truth(value: object) -> object:
    """Python takes true for 1; in a configuration it is a mistake."""
    if isinstance(value, bool):
        raise InputError(f"{value} is not allowed; give a number.")
    return value


def _as_text(value: object) -> str:  # ``str`` itself has no signature, which older Pydantic wants
    return str(value)


def _without_texts(value: object) -> object:
    """What may be kept of values that may hold secrets: no text but placeholders such as ``${NAME}``."""
    if isinstance(value, Mapping):
        return {key: _without_texts(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_texts(inner) for inner in value]
    if not isinstance(value, str):
        return value
    parts = _PLACEHOLDER.split(value)  # every other one is a placeholder
    return "".join(part if number % 2 or not part else "…" for number, part in enumerate(parts))


def _server(url: str | None) -> str | None:
    """What may be kept of an address: scheme, server and port."""
    if url is None:
        return None
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{_without_texts(parts.path + parts.query)}"


Place = Annotated[Path, AfterValidator(_beside_the_file)]
Above0 = Annotated[float, BeforeValidator(_no_truth), Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(_no_truth), Field(ge=0, allow_inf_nan=False)]
From0 = Annotated[int, BeforeValidator(_no_truth), Field(ge=0)]
From1 = Annotated[int, BeforeValidator(_no_truth), Field(ge=1)]
Named = Annotated[str, _checked(parse)]  # a measure
Matched = Annotated[InstanceOf[Matching], BeforeValidator(matching)]
# ``80%`` is refused with the number that is meant; what is no number is left to the model.
Floor = Annotated[
    float, BeforeValidator(lambda low: floor_of(low) if str(low).strip().endswith("%") else _no_truth(low))
]
# A path is relative to the configuration.
HeldAgainst = Annotated[
    str,
    AfterValidator(lambda at, info: at if at.startswith(HISTORY) else str(_beside_the_file(Path(at), info))),
]
Allowance = Annotated[float | str, _checked(Margin.of, BeforeValidator)]
Allowed = Annotated[InstanceOf[Limit], BeforeValidator(Limit.parse), PlainSerializer(_as_text)]
Ruled = Annotated[InstanceOf[Rule], BeforeValidator(Rule.parse), PlainSerializer(_as_text)]


_ASKING = descriptions(AskOptions)
_USUAL = AskOptions()


def _asking(name: str, **changed: Any) -> Any:
    """The key for an option of :class:`~ranklens.retrieval.asking.AskOptions`, with its meaning, and its default unless that is ``changed``."""
    return Field(description=_ASKING[name].key, **{"default": getattr(_USUAL, name), **changed})


_COMPARING = descriptions(CompareOptions)
_USUALLY = CompareOptions()


def _comparing(name: str, **changed: Any) -> Any:
    """The same for an option of :class:`~ranklens.comparison.options.CompareOptions`."""
    return Field(description=_COMPARING[name].key, **{"default": getattr(_USUALLY, name), **changed})


class Part(BaseModel):
    """What all parts share: unknown keys are errors, numbers can be given for text, null means the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def null_is_the_default(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        optional = {
            field.alias or name for name, field in cls.model_fields.items() if not field.is_required()
        }
        return {key: value for key, value in given.items() if value is not None or key not in optional}


class StatisticalAnalysis(Part):
    """How certain the numbers are."""

    confidence_intervals: bool = Field(
        default=True,
        description="Show an interval for every mean in tables: true or false (JSON always includes them).",
    )
    significance_testing: bool = Field(
        default=True,
        description="Test which differences between systems are more than chance: true or false.",
    )
    alpha_level: float = _comparing("alpha", gt=0, lt=1)


class Performance(Part):
    """How retrievers are called, unless they set their own."""

    batch_size: From1 | None = Field(
        default=None,
        description="Batch size for retrievers that take lists of texts: a whole number from 1.",
    )
    caching_enabled: bool = Field(
        default=False,
        description="Store every answer on disk (outputs.store), so that a stopped run resumes and "
        "repeats no call: true or false. Changed code, parameters and versions are asked again; a changed remote "
        "service or index is not seen.",
    )
    max_age: Annotated[float | str, _checked(in_seconds)] | None = _asking("max_age")
    stop_after: From1 = _asking("stop_after")
    parallel_processing: bool | None = Field(
        default=None,
        description="true runs 8 queries at a time, unless a retriever sets its own concurrency; false runs one at a time.",
    )


class RetrievalMetrics(Part):
    """What to measure."""

    enabled_metrics: Annotated[tuple[str, ...], BeforeValidator(_listed), _checked(parse_many)] = Field(
        default=("rag",),
        min_length=1,
        description="Measures in any spelling (hit@5, nDCG@10, map) or presets (rag, search, beir): a list.",
    )
    graded_relevance: bool = Field(
        default=True,
        description="Whether grades count as they are (true), or every relevant document counts the same (false).",
    )
    statistical_analysis: StatisticalAnalysis = Field(
        default_factory=StatisticalAnalysis, description="Intervals and tests."
    )
    performance: Performance = Field(default_factory=Performance, description="How retrievers are called.")


class Data(Part):
    """Judgments, queries, documents and runs. Paths are relative to the configuration file."""

    qrels: Place | None = Field(
        default=None,
        description="Judgments: a file (TREC, CSV, TSV, JSONL, JSON, Parquet) or a BEIR folder. Not needed if the queries say "
        "what is relevant.",
    )
    queries: Place | None = Field(
        default=None,
        description="The texts of the queries: JSONL, JSON, CSV, TSV, Parquet or a BEIR folder. Not needed if the judgments "
        "have texts.",
    )
    corpus: Place | None = Field(default=None, description="The texts of the documents, for the report.")
    runs: Annotated[
        dict[str, Place],
        BeforeValidator(lambda runs: names_of([*map(str, runs)]) if isinstance(runs, list) else runs),
    ] = Field(
        default_factory=dict,
        description="Existing runs or logs: names with files, or a list of files.",
    )
    map: dict[str, str] = Field(
        default_factory=dict,
        description="Where fields of golden sets, logs and tables are, if they have other names: roles (query, text, expected, "
        "retrieved, doc, score, rank, grade) with names or paths, such as {expected: gold.ids}; for one input alone, such as "
        "{'golden:query': id} or {'a:doc': chunk.id} for the run a.",
    )

    @property
    def judged(self) -> Path:
        """Where the judgments are."""
        return self.qrels or self.queries or Path()

    @property
    def asked(self) -> Path:
        """Where the texts of the queries are."""
        return self.queries or self.judged


class Retriever(Part):
    """A function, or an HTTP address, that is called with every query."""

    name: str = Field(min_length=1, description="Name in tables: text.")
    retriever: str | None = Field(
        default=None,
        pattern=r"^[\w.]+:[\w.]+(\(\))?$",
        description="The function or object, as module:function; module:function() calls it first to get the retriever. Not needed "
        "with url.",
    )
    k: From1 = _asking("k")
    factory: bool = Field(
        default=False,
        description="Whether the function creates the retriever: true or false.",
    )
    params: Annotated[dict[str, Any], PlainSerializer(_without_texts)] = _asking("params", default={})
    version: str | None = _asking("version", default=None)
    concurrency: From1 | None = _asking("concurrency", default=None)
    batch_size: From1 | None = _asking("batch_size")
    timeout: Above0 | None = _asking("timeout")
    retries: From0 = _asking("retries")
    rate_limit: Above0 | None = _asking("rate_limit")
    backoff: Seconds = _asking("backoff")
    id_from: str | None = _asking("id_from")
    score_from: str | None = _asking("score_from")
    match: Matched | None = _asking("match")
    url: Annotated[str | None, PlainSerializer(_server)] = Field(
        default=None,
        description="A search endpoint, instead of a function: an address that begins with http:// or https://. {query} and {k} are "
        "replaced; ${NAME} is an environment variable.",
    )
    body: Annotated[Any, PlainSerializer(_without_texts)] = Field(
        default=None,
        description="What is sent to url, as JSON, with {query} and {k} replaced: keys and values, or text. Without it the request is "
        "a GET.",
    )
    headers: Annotated[dict[str, str], PlainSerializer(_without_texts)] = Field(
        default_factory=dict,
        description="Headers of the request to url: names with text, such as {Authorization: 'ApiKey ${ES_KEY}'}.",
    )
    method: str | None = Field(
        default=None,
        pattern=r"^(?i:GET|POST|PUT)$",
        description="The method of the request to url: GET, POST or PUT. By default GET without a body, else POST.",
    )
    id: str | None = Field(
        default=None,
        description="Where the ids are in the answer of url, with * for each result, such as results.*.doc.key: text. The common "
        "search engines need none.",
    )
    score: str | None = Field(
        default=None,
        description="Where the scores are in the answer of url, such as results.*.score: text.",
    )

    @model_validator(mode="after")
    def is_one_of_both(self) -> Retriever:
        check_retriever(self)
        return self


class Gates(Part):
    """Conditions that must hold; otherwise the exit status is 1. A list of rules alone will do."""

    rules: Annotated[tuple[Ruled, ...], BeforeValidator(_listed)] = Field(
        default=(),
        description="Rules: a list of texts such as 'nDCG@10 >= 0.42', 'nDCG@10 drop <= 0.01 @ 95%', 'failed <= 0', 'p95 <= 200ms', 'abstained >= 80%', "
        "'nDCG@10[type=how-to] >= 0.4'.",
    )
    baseline: HeldAgainst | None = Field(
        default=None,
        description="What drops are measured from, instead of the system that baseline names: a file that ranklens gate --update wrote, "
        "or history:REF.",
    )
    undecided: Annotated[str, _one_of(UNDECIDED)] = Field(
        default="fail",
        description="Whether a rule with a confidence that the queries are too few to decide fails or passes: fail or pass.",
    )
    clusters: str | None = Field(
        default=None,
        description="A field of the queries; those with the same value belong together, and rules with a confidence are tested by cluster: a name.",
    )
    common: bool = Field(
        default=False,
        description="Compare with gates.baseline on the queries whose judgments are the same, if others changed: true or false.",
    )
    min_checked: Annotated[float, BeforeValidator(share_of)] = Field(
        default=MIN_CHECKED,
        description="The least share of the queries that must be checked, by every rule: a share such as 95%. Queries are left out by "
        "policy.missing: skip and by common.",
    )
    floors: dict[Named, Floor] = Field(
        default_factory=dict,
        description="Minimum mean, by measure: names with numbers in the range of the measure.",
    )
    max_regression: dict[Named, Allowed] = Field(
        default_factory=dict,
        description="How far a mean may be below the baseline's, by measure: a number, or text such as 2% of the baseline.",
    )
    max_failed: From0 | None = Field(
        default=None, description="Maximum number of failed queries per retriever: a whole number from 0."
    )
    max_latency_p95: Above0 | None = Field(
        default=None,
        description="Maximum 95th percentile of a retriever's seconds per query; a call that timed out counts with the time waited: "
        "a number above 0.",
    )
    systems: tuple[str, ...] | None = Field(
        default=None,
        description="Systems that the gates apply to: a list. By default all except the baseline.",
    )


def rules_of(gates: Gates) -> list[Rule]:
    """The older keys are short for rules."""
    rules = [Rule(parse(name), ">=", Limit(floor), key="floors") for name, floor in gates.floors.items()]
    for name, drop in gates.max_regression.items():
        rules.append(Rule(parse(name), "<=", drop, is_drop=True, key="max_regression"))
    for subject, key in ((FAILED, "max_failed"), ("p95", "max_latency_p95")):
        if (limit := getattr(gates, key)) is not None:
            rules.append(Rule(subject, "<=", Limit(limit), key=key))
    return [*rules, *gates.rules]


class Outputs(Part):
    """Files to write in addition to the printed table. Paths are relative to the configuration file."""

    table: Place | None = Field(default=None, description="The table as text: a file.")
    json_file: Place | None = Field(default=None, alias="json", description="Everything as JSON: a file.")
    markdown: Place | None = Field(default=None, description="The table as Markdown: a file.")
    csv: Place | None = Field(default=None, description="The numbers as CSV: a file.")
    latex: Place | None = Field(default=None, description="The table as LaTeX: a file.")
    report: Place | None = Field(default=None, description="The report, one HTML file.")
    runs: Place | None = Field(
        default=None, description="Folder for the rankings of the retrievers, as TREC run files."
    )
    log_to: Annotated[
        tuple[str, ...], BeforeValidator(_listed), _checked(lambda names: [*map(check_tracker, names)])
    ] = Field(
        default=(),
        description="Experiment trackers to log to: a list of mlflow, wandb and tensorboard (tensorboard:FOLDER for a folder other than "
        "runs). They find their servers and projects in the environment.",
    )
    store: Place | None = Field(
        default=None,
        description="Folder for stored answers; naming one stores them. With caching_enabled alone it is .ranklens next to the configuration.",
    )


class FusedSystem(Part):
    """Retrievers whose answers are fused into a system of its own."""

    name: str = Field(min_length=1, description="Name in tables: text.")
    systems: tuple[str, ...] = Field(min_length=2, description="Names of retrievers: a list of two or more.")
    method: str = Field(
        default="rrf", description="How to fuse, such as rrf or wsum: see ranklens fuse --help."
    )
    norm: str | None = Field(
        default=None, description="How scores are put on one scale, such as min-max: text."
    )
    weights: tuple[float, ...] | None = Field(
        default=None, description="One weight per retriever: a list of numbers."
    )
    window: From1 | None = Field(
        default=None, description="Documents of each retriever that are used: a whole number from 1."
    )
    depth: From1 | None = Field(
        default=None,
        description="Documents of the fused ranking: a whole number from 1. By default the largest k.",
    )
    params: dict[str, float] = Field(
        default={}, description="Parameters of the method: names with numbers, such as {k: 60}."
    )


class Config(Part):
    """A benchmark: what to run, on which data, how to measure, what must hold and what to write."""

    retrieval_metrics: RetrievalMetrics = Field(
        default_factory=RetrievalMetrics, description="What to measure."
    )
    data: Data = Field(description="Judgments, queries, documents and runs.")
    retrievers: tuple[Retriever, ...] = Field(default=(), description="Retrievers to run: a list.")
    fusions: tuple[FusedSystem, ...] = Field(
        default=(), description="Fusions of retrievers, each a system of its own: a list."
    )
    baseline: str | None = _comparing("baseline")
    test: Annotated[str, _one_of(_COMPARING["test"].choices)] | None = _comparing("test")
    correction: Annotated[str, _one_of(_COMPARING["correction"].choices)] = _comparing("correction")
    level: float | None = _comparing("level", default=None, gt=0, lt=1)
    by: str | None = _comparing("by")
    clusters: str | None = _comparing("clusters")
    margin: Allowance | dict[Named, Allowance] | None = _comparing("margin")
    primary: Named | None = _comparing("primary")
    family: Annotated[str, _one_of(_COMPARING["family"].choices)] = _comparing("family")
    intervals: Annotated[str, _one_of(_COMPARING["intervals"].choices)] = _comparing("intervals")
    seed: From0 = _comparing("rng")
    policy: Annotated[InstanceOf[Policy], BeforeValidator(_policy)] = Field(
        default_factory=Policy,
        description=f"What to do with ties, missing queries and the like: names with values. The names are {', '.join(questions())}.",
    )
    match: Matched | None = Field(
        default=None,
        description="How retrieved ids match the judged ones: by (id, field, parent, groups, spans, text or evidence) and its options, such "
        "as {by: field, field: metadata.source}, {by: parent, separator: '#'} (or field, or parent: {chunk: "
        "document}), {by: groups, groups: [[a, a2]]}, {by: spans, gold: {id: [document, start, end]}, threshold: 0.5, over: gold, "
        "span_from: [document, start, end]}, {by: text, how: overlap, threshold: 0.7}, {by: evidence, threshold: 0.9, tokenizer: cl100k_base}.",
    )
    # Rules alone will do, as one text or a list of them.
    gates: Annotated[
        Gates,
        BeforeValidator(lambda given: {"rules": given} if isinstance(given, (str, list, tuple)) else given),
    ] = Field(default_factory=Gates, description="Conditions that must hold.")
    outputs: Outputs = Field(default_factory=Outputs, description="What to write.")

    _file: Path | None = PrivateAttr(default=None)
    _folder: Path = PrivateAttr(default=Path())

    def model_post_init(self, context: Any) -> None:
        """Remember where the configuration came from."""
        self._file, self._folder = (context or {}).get("file"), Path((context or {}).get("folder", ""))

    @property
    def file(self) -> Path | None:
        """The file that it was read from."""
        return self._file

    @property
    def folder(self) -> Path:
        """Where paths start, and modules are looked for."""
        return self._folder

    @property
    def confidence(self) -> float:
        """The level of all intervals."""
        alpha = self.retrieval_metrics.statistical_analysis.alpha_level
        return 1 - alpha if self.level is None else self.level

    @property
    def measures(self) -> list[Measure]:
        """The measures as they are reported; those of rules come after the enabled ones."""
        enabled = [self._reported(m) for m in parse_many(self.retrieval_metrics.enabled_metrics)]
        ruled = [self._reported(rule.measure) for rule in self.gates.rules if rule.measure is not None]
        return list(dict.fromkeys([*enabled, *ruled]))

    def measure(self, name: str) -> str:
        """The name under which a measure is reported, from any spelling."""
        return str(self._reported(parse(name)))

    def _reported(self, measure: Measure) -> Measure:
        """With the policy's relevance level if it does not name its own."""
        graded = self.retrieval_metrics.graded_relevance
        return with_rel(measure, self.policy.rel if graded else 1)

    @property
    def rules(self) -> list[Rule]:
        """All gates as rules, in the order of the keys."""
        return rules_of(self.gates)

    @property
    def systems(self) -> list[str]:
        """The names of all runs, retrievers and fusions."""
        return [*self.data.runs, *(one.name for one in self.retrievers), *(one.name for one in self.fusions)]

    @property
    def gated(self) -> list[str]:
        """The systems that the gates apply to."""
        others = [name for name in self.systems if name != self.baseline]
        return list(self.gates.systems) if self.gates.systems is not None else others or self.systems

    @model_validator(mode="after")
    def goes_together(self) -> Config:
        check(self)
        return self
