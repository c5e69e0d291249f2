"""What a retriever answered: one :class:`Answer` per query, and a :class:`RetrieverRun` with all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise, zip_longest
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

from ranklens.data.matching.evidence import ByEvidence
from ranklens.data.matching.rules import ById, Matching
from ranklens.data.qrels import Qrels
from ranklens.data.readers.rankings import Further, Rankings, listed
from ranklens.data.run import Run
from ranklens.errors import InputError
from ranklens.retrieval import ages
from ranklens.words import counted, plural

if TYPE_CHECKING:
    from ranklens.data.evidence.contexts import Contexts

Status = Literal["ok", "empty", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)
TIMES = ("p50", "p90", "p95", "p99", "mean")  # of a Latency


@dataclass(frozen=True)
class Answer:
    """A retriever's answer to one query.

    ``seconds`` is the time of the call alone: of the last attempt, or the time waited if it ``timed_out``. An empty answer is
    an answer; a failed one has an error and its traceback instead of ids. A ``stored`` answer was read from the store, not
    asked for; ``at`` is when it was asked for, in seconds since 1970. ``tokens`` and ``cost`` are what the retriever said the
    call took.

    >>> Answer("q1", "ok", ("d2", "d1"), seconds=0.01).ids
    ('d2', 'd1')
    """

    query: str
    status: Status
    ids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] | None = None
    seconds: float | None = None
    attempts: int = 1
    cut: bool = False  # there were more than k results
    error: str | None = None
    traceback: str | None = None
    timed_out: bool = False
    at: float | None = None
    tokens: float | None = None
    cost: float | None = None
    stored: bool = False

    def to_record(self) -> dict[str, Any]:
        """As a JSON object, without defaults."""
        return {
            name: getattr(self, name)
            for name, default in _RECORDED.items()
            if name == "ids" or getattr(self, name) != default
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Answer:
        """What :meth:`to_record` wrote; anything else is an :class:`InputError`."""
        values = {name: record[name] for name in _RECORDED if name in record}
        ids, scores = values.get("ids"), values.get("scores")
        amounts = [values[name] for name in _AMOUNTS if values.get(name) is not None]
        if (
            values.get("status") not in STATUSES
            or not isinstance(values.get("query"), str)
            or any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in amounts)
            or not all(0 <= one < math.inf for one in amounts)
            or not _holds(ids, str)
            or not (scores is None or (_holds(scores, int, float, NoneType) and len(scores) == len(ids)))
        ):
            raise InputError("not an answer")
        values["ids"], values["scores"] = tuple(ids), None if scores is None else tuple(scores)
        return cls(**values, stored=True)


def _holds(value: object, *types: type) -> TypeGuard[list[object]]:
    return isinstance(value, list) and all(isinstance(item, types) for item in value)


# Each field of an answer that is stored, with its default.
_RECORDED = {one.name: one.default for one in fields(Answer) if one.name != "stored"}
_AMOUNTS = ("seconds", "at", "tokens", "cost")  # finite numbers from 0


@dataclass(frozen=True)
class Latency:
    """How many seconds a retriever took: percentiles, the mean, and every single call.

    Percentiles are interpolated between two measurements (NumPy's ``linear``).

    >>> Latency.of([0.1, 0.2, 0.3]).p50
    0.2
    """

    p50: float
    p90: float
    p95: float
    p99: float
    mean: float
    seconds: tuple[float, ...] = field(repr=False)

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        import numpy as np

        p50, p90, p95, p99 = np.percentile(seconds, [50, 90, 95, 99]).tolist()
        return cls(p50, p90, p95, p99, float(np.mean(seconds)), tuple(seconds))


class Ranked(Rankings):
    """A run ``{query: [documents, best first]}`` that knows which of the other queries ``failed``, and why."""

    def __init__(
        self,
        rankings: Mapping[str, list[str]],
        failed: Mapping[str, str],
        further: Further,
        contexts: Contexts | None = None,
    ) -> None:
        super().__init__(rankings, further, contexts)
        self.failed = dict(failed)


@dataclass(frozen=True)
class RetrieverRun:
    """What one retriever answered to every query; made by :meth:`ranklens.Benchmark.run`.

    ``wall`` is the number of seconds from the first call to the last answer, ``asked`` how many queries were really asked (the
    others came from the store), ``oldest`` the age of the oldest of these in seconds, None if there are none, ``told_k`` whether
    the retriever was given ``k``.
    """

    name: str
    k: int
    answers: Mapping[str, Answer]
    wall: float = 0.0
    asked: int = 0
    oldest: float | None = None
    told_k: bool = True
    version: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    match: Matching = field(default_factory=ById)
    judged: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)

    @cached_property
    def run(self) -> Ranked:
        """The rankings as judged ids, best first, without the queries that failed: what is evaluated.

        If matching turns two results into the same judged document, the first one stays. An id that the retriever itself returned
        twice is left for :func:`ranklens.judge`, which drops, counts and reports it.
        """
        if isinstance(self.match, ByEvidence):
            asked = {query: one.ids for query, one in self.answers.items() if one.status != "failed"}
            run = self.match.matched(Qrels.of(self.judged), Run({}), self.judged, asked)
            return Ranked(dict(run.by_query or {}), self.errors, run.further, run.contexts)
        matched: dict[str, list[Sequence[str]]] = {}
        for query, answer in self.answers.items():
            if answer.status != "failed":
                first: dict[str, str] = {}  # by judged id: the result that was matched to it before any other
                pairs = zip(answer.ids, self._matches(answer), strict=True)
                matched[query] = [names for doc, names in pairs if first.setdefault(names[0], doc) == doc]
        further = {query: others for query, matches in matched.items() if (others := listed(matches)[1])}
        rankings = {query: [names[0] for names in matches] for query, matches in matched.items()}
        return Ranked(rankings, self.errors, further)

    def _matches(self, answer: Answer) -> list[Sequence[str]]:
        return self.match.matches(answer.query, answer.ids, self.judged.get(answer.query, {}))

    @cached_property
    def stored(self) -> int:
        """How many answers came from the store."""
        return sum(answer.stored for answer in self.answers.values())

    @property
    def all_stored(self) -> bool:
        """Whether nothing was asked: every answer came from the store."""
        return self.stored == len(self.answers) > 0

    @cached_property
    def status(self) -> dict[str, int]:
        """How many queries are ok, empty and failed."""
        statuses = [answer.status for answer in self.answers.values()]
        return {status: statuses.count(status) for status in STATUSES}

    @property
    def failures(self) -> list[Answer]:
        """The queries that failed, with their errors."""
        return [answer for answer in self.answers.values() if answer.status == "failed"]

    @property
    def errors(self) -> dict[str, str]:
        """What went wrong, by query: the first line of each error."""
        return {answer.query: (answer.error or "").partition("\n")[0] for answer in self.failures}

    @cached_property
    def seconds(self) -> dict[str, float]:
        """The seconds of each query that was answered or timed out.

        Without timeouts, a retriever that hangs would look fast. Other failures say nothing about speed.
        """
        return {
            query: answer.seconds
            for query, answer in self.answers.items()
            if (answer.status != "failed" or answer.timed_out) and answer.seconds is not None
        }

    @cached_property
    def latency(self) -> Latency | None:
        """Percentiles over :attr:`seconds`; None if no query was answered or timed out."""
        return Latency.of(list(self.seconds.values())) if self.seconds else None

    @cached_property
    def tokens(self) -> float | None:
        """How many tokens all answers took; None if the retriever does not say."""
        return _total(answer.tokens for answer in self.answers.values())

    @cached_property
    def cost(self) -> float | None:
        """What all answers cost; None if the retriever does not say."""
        return _total(answer.cost for answer in self.answers.values())

    @property
    def throughput(self) -> float | None:
        """Answered queries per second over the whole run; None if all answers came from the store."""
        answered = sum(not a.stored and a.status != "failed" for a in self.answers.values())
        return answered / self.wall if self.asked and self.wall > 0 else None

    def scored(self) -> dict[str, dict[str, float]]:
        """The rankings with falling scores: the retriever's own if they fall, else made-up ones."""
        own: dict[str, dict[str, Any]] = {}
        falling = True
        for query in self.run:
            answer, first = self.answers[query], own.setdefault(query, {})
            for names, score in zip_longest(self._matches(answer), answer.scores or ()):
                first.setdefault(names[0], score)
            falling &= None not in first.values() and all(a > b for a, b in pairwise(first.values()))
        if falling:
            return own
        return {
            query: {doc: float(-rank) for rank, doc in enumerate(scores, 1)} for query, scores in own.items()
        }

    def remarks(self) -> list[str]:
        """What a reader of the numbers should know."""
        remarks = []
        if self.stored:
            age = "" if self.oldest is None else f", the oldest {ages.in_words(self.oldest)}"
            remarks.append(f"{counted(self.stored, 'answer')} from the store{age}")
        cut = sum(answer.cut for answer in self.answers.values())
        if cut:
            remarks.append(f"more than {self.k} results cut in {counted(cut, 'query', 'queries')}")
        longest = max((len(answer.ids) for answer in self.answers.values()), default=0)
        if not self.told_k and 0 < longest < self.k:
            remarks.append(f"never more than {counted(longest, 'result')} (k={self.k} was not passed to it)")
        merged = sum(len(self.answers[query].ids) - len(docs) for query, docs in self.run.items())
        if merged:
            again = plural(merged, "document")
            remarks.append(f"{counted(merged, 'result')} dropped ({again} already found)")
        late = sum(answer.timed_out for answer in self.answers.values())
        if late:
            remarks.append(f"{counted(late, 'call')} timed out; latency includes the time waited")
        failures = self.failures
        if failures:
            remarks.append(
                f"first failure: {failures[0].query!r}, {str(failures[0].error).splitlines()[0].rstrip('.'):.100}"
            )
        return remarks

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {status}" for status, number in self.status.items() if number)
        return f"RetrieverRun({self.name!r}, k={self.k}: {counts or 'nothing asked'})"


def _total(amounts: Iterable[float | None]) -> float | None:
    reported = [amount for amount in amounts if amount is not None]
    return math.fsum(reported) if reported else None
