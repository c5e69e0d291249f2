"""One system, measured: a value per query and measure, and everything that says what it may be compared with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ranklens.errors import InputError, MeasureError, nearest
from ranklens.metrics import Measure, parse
from ranklens.scores import Scores, Values, interval_of, total
from ranklens.stats.intervals import Bounds, Interval

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.data.readers.judgments import Judgments
    from ranklens.data.readers.rankings import Entry
    from ranklens.scores.abstentions import Abstentions

Setting: TypeAlias = str | float | bool | None  # of a policy
_LETTERS = 16  # of a digest: 64 bits, so that two of a million collections are alike once in 37 million


@dataclass(frozen=True, eq=False)
class Why:
    """Why queries of a record fail, looked up when a rule does not pass."""

    scores: Scores

    def of(self, measure: Measure, queries: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """The causes with their number of queries, the most frequent first."""
        try:
            by_cause = self.scores.failing(measure, 1).by_cause
        except InputError:  # rankings that could be read only once
            return ()
        wanted = {*queries}
        counts = {cause: len(wanted.intersection(failing)) for cause, failing in by_cause.items()}
        counts["not looked at"] = len(wanted) - sum(counts.values())
        found = [(cause, number) for cause, number in counts.items() if number]
        return tuple(sorted(found, key=lambda one: -one[1]))


@dataclass(frozen=True, eq=False)
class Record:
    """Values by measure and query, the policy, and digests of the judgments; made by :meth:`of`.

    ``digests`` has one digest per query, of the documents that are judged for it and their grades. ``failed`` is the number of
    failed calls, ``latency`` has percentiles in seconds; None where nothing is known.

    >>> import ranklens as rl
    >>> record = Record.of(rl.evaluate({"q1": {"a": 1}}, {"q1": ["x", "a"]}, "RR"), "mine")
    >>> record.system, record.mean("RR"), record.queries, len(record.judgments)
    ('mine', 0.5, ('q1',), 16)
    """

    system: str
    values: Values
    policy: Mapping[str, Setting]
    digests: Mapping[str, str]
    failed: int | None = None
    latency: Mapping[str, float] | None = None
    missing: int = 0  # judged queries without an answer; like those below, not kept
    left_out: int = 0  # judged queries that the policy leaves out because they were not answered
    unanswerable: int = 0  # queries without an answer on purpose
    ones: int = 0  # queries that count as 1 whatever is retrieved, as nothing is relevant
    timed: int = 0  # queries whose latency is known
    untimed: int = 0  # answered queries whose latency is not
    abstentions: Abstentions | None = field(default=None, repr=False)  # by a golden set or log; not kept
    why: Why | None = field(default=None, repr=False)  # of rankings that can be looked at; not kept
    errors: Mapping[str, str] = field(default_factory=dict, repr=False)  # of failed calls; not kept
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)  # of queries; not kept

    @classmethod
    def of(
        cls,
        scores: Scores,
        system: str,
        *,
        digests: Mapping[str, str] | None = None,
        seconds: Sequence[float] | None = None,
    ) -> Record:
        """What scores say; ``digests`` are those of :func:`digests_of`, if they are known already, ``seconds`` those of a retriever's calls."""
        if scores.machine is not None:
            raise InputError(
                f"{system}: the history and gates rest on one kind of judgments, and these scores use the labels of a model too. Evaluate without machine."
            )
        numbers = [str(m) for m in scores.measures if m.definition.aggregate != "none"]
        digest_of = digests_of(scores) if digests is None else digests
        failures: Mapping[str, str] | None = None  # of calls; None where nothing was called
        entries: Mapping[str, Entry] = {}  # what a log says of each call
        abstained: Abstentions | None = None
        if scores.sources is not None:
            qrels, run = scores.sources.read(scores.policy)
            failures, entries = scores.sources.failed or run.failed, run.entries or {}
            if scores.measures and (qrels.golden is not None or run.log is not None):
                abstained = scores.abstentions()
        ones = scores.account().ones if scores.policy.empty == "one" else None
        applied = scores.applied
        absent = applied.missing + applied.failed
        skipped = scores.policy.missing == "skip"
        answered = len(scores.queries) - (0 if skipped else absent)
        timed, number = _timed(entries, scores) if seconds is None else (seconds, len(seconds))
        return cls(
            system,
            Values(
                tuple(map(str, scores.queries)),
                {name: np.asarray(scores.values[name], dtype=float) for name in numbers},
            ),
            policy_of(scores),
            {str(query): digest_of[str(query)] for query in scores.queries if str(query) in digest_of},
            # Calls fail in a log, or where retrievers were asked, but not in a run file.
            applied.failed if applied.failed or failures is not None else None,
            latency_of(timed),
            missing=applied.missing,
            left_out=absent if skipped else 0,
            unanswerable=applied.unanswerable,
            ones=max((ones or {}).values(), default=0),
            timed=number,
            untimed=max(answered - number, 0),
            abstentions=abstained,
            why=None if scores.sources is None else Why(scores),
            errors=failures or {},
            texts=scores.texts,
        )

    @property
    def queries(self) -> Sequence[str]:
        return self.values.queries

    @property
    def expected(self) -> int:
        """How many queries would have been averaged if all had been answered."""
        return len(self.queries) + self.left_out

    @property
    def unanswered(self) -> int:
        """Queries whose call failed, or that nothing was logged for."""
        return (self.failed or 0) + self.missing

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.values)

    def of_measure(self, measure: str | Measure, queries: Sequence[str] | None = None) -> FloatArray:
        """The values of a measure, by default for all queries."""
        name = str(parse(measure)) if isinstance(measure, str) else str(measure)
        if name not in self.values:
            raise MeasureError(f"{self.system}: {name} was not kept: {nearest(name, self.values)}")
        return self.values[name] if queries is None else self.values.over(queries, [name])[name]

    def mean(self, measure: str | Measure) -> float:
        """Over all queries: mean, geometric mean or sum, as the measure requires."""
        parsed = parse(measure) if isinstance(measure, str) else measure
        return total(parsed.definition.aggregate, self.of_measure(parsed))

    def interval(self, measure: str | Measure, level: float = 0.95) -> Interval | None:
        """The interval of the mean; None for counts."""
        parsed = parse(measure) if isinstance(measure, str) else measure
        one, values = parsed.definition, self.of_measure(parsed)
        if not len(values):
            return None
        return interval_of(one.aggregate, values, level=level, bounds=Bounds(one.low, one.high))

    @cached_property
    def judgments(self) -> str:
        """One digest of all queries and their judgments, whatever their order."""
        return _digest(*(f"{query}\0{self.digests.get(query, '')}" for query in sorted(self.queries)))


def _timed(entries: Mapping[str, Entry], scores: Scores) -> tuple[list[float], int]:
    """The time of each logged request for a judged query, even a failed one, and how many of these requests were answered."""
    asked = {*map(str, scores.queries)}
    timed = [
        (entry.seconds, entry.error is None)
        for query, entry in entries.items()
        if entry.seconds is not None and str(query) in asked
    ]
    return [seconds for seconds, _ in timed], sum(answered for _, answered in timed)


def policy_of(scores: Scores) -> dict[str, Setting]:
    """The policy by name, and how retrieved items were matched if not by id."""
    match = scores.sources.match if scores.sources is not None else None
    return {**asdict(scores.policy), **({"match": _digest(repr(match))} if match is not None else {})}


def digests_of(scores: Scores) -> dict[str, str]:
    """A digest of the judgments of each query, from what the scores were made of; empty if that is not known.

    >>> import ranklens as rl
    >>> one = digests_of(rl.evaluate({"q": {"a": 1, "b": 0}}, {"q": ["a"]}, "RR"))
    >>> two = digests_of(rl.evaluate({"q": {"b": 0, "a": 1}}, {"q": ["b"]}, "RR"))
    >>> one == two, one == digests_of(rl.evaluate({"q": {"a": 2, "b": 0}}, {"q": ["a"]}, "RR"))
    (True, False)
    """
    if scores.sources is None:
        return {}
    from ranklens.judging.documents import judgments

    qrels = scores.sources.read(scores.policy)[0]
    more = {} if qrels.beyond_grades is None else _further(qrels.beyond_grades)
    table = judgments(qrels).sort("query", "doc")
    grouped = table.group_by("query", maintain_order=True).agg("doc", "grade")
    return {
        str(query): _digest(*docs, *(f"{grade:.9g}" for grade in grades), *more.get(str(query), ()))
        for query, docs, grades in grouped.iter_rows()
    }


def _further(judgments: Judgments) -> dict[str, list[str]]:
    """By query, what judgments say besides grades."""
    by_query: dict[str, list[str]] = {str(query): [] for query in judgments}
    parts = {
        "subtopics": judgments.subtopics,
        "evidence": judgments.evidence,
        "junk": judgments.junk,
        "intents": judgments.intents,
        "navigational": judgments.navigational,
        "preferences": judgments.preferences,
    }
    for name, part in parts.items():
        for query, value in part.items() if isinstance(part, Mapping) else ():
            by_query.setdefault(str(query), []).append(f"{name}: {_canonical(value)}")
    if judgments.documents is not None:  # whose properties count wherever they are retrieved
        properties = f"documents: {_canonical(judgments.documents)}"
        by_query = {query: [*parts, properties] for query, parts in by_query.items()}
    return by_query


def _canonical(value: object) -> str:
    """The same text for equal values, whatever the order of their keys.

    >>> _canonical({"b": {2, 1}, "a": 0.5}) == _canonical({"a": 0.5, "b": {1, 2}})
    True
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{key}: {_canonical(one)}' for key, one in value.items()))}}}"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_canonical, value))}]"
    return f"{value:.9g}" if isinstance(value, (int, float)) else str(value)


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:_LETTERS]


def latency_of(seconds: Sequence[float] | None) -> dict[str, float] | None:
    """Percentiles of seconds per query; None if nothing was timed.

    >>> latency_of([0.1, 0.2, 0.3])["p50"]
    0.2
    """
    if not seconds:
        return None
    percentiles = np.percentile(np.asarray(seconds, dtype=float), list(PERCENTILES)).tolist()
    return {f"p{number}": value for number, value in zip(PERCENTILES, percentiles, strict=True)}


PERCENTILES = (50, 90, 95, 99)
