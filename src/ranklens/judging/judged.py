"""The one intermediate form: the ranks of the judged documents.

A measure needs the rank and grade of the documents that are both retrieved and judged, how many documents were
retrieved, and the grades of all judged documents (the ideal). :func:`ranklens.judge` reduces any input to that,
once; every measure is a small pure function over it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import Option, PolicyError
from ranklens.judging.hits import Hits, condense_spread
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from ranklens.data.readers.rankings import Question
    from ranklens.judging.details import Details
    from ranklens.judging.inputs import Sources
    from ranklens.upward import Measure, Scores


T = TypeVar("T")
BLOCK = 1 << 18  # judgments
_KEPT = 256  # arrays that prepared judgments keep for measures


def once(cache: dict[Any, Any], key: Hashable, compute: Callable[[], T]) -> T:
    """What was computed under this key, or is now."""
    if key not in cache:
        cache[key] = compute()
    value: T = cache[key]
    return value


@dataclass(frozen=True, slots=True)
class TieGroups:
    """The tie groups that contain a judged document: the only ties that can change a value."""

    query: IntArray
    start: IntArray
    size: IntArray

    @classmethod
    def of(cls, query: IntArray, start: IntArray, size: IntArray) -> TieGroups:
        """From the tie group of each judged document: each group once, by query and first rank."""
        tied = (size > 1).nonzero()[0]
        if not len(tied):
            return cls(tied, tied, tied)
        tied = tied[np.lexsort((start[tied], query[tied]))]
        first = (np.diff(query[tied], prepend=-1) != 0) | (np.diff(start[tied], prepend=-1) != 0)
        groups = tied[first]
        return cls(query[groups], start[groups], size[groups])

    def reaching(self, k: int) -> int:
        """In how many queries a tie group lies on both sides of the cutoff ``k``."""
        across = (self.start <= k) & (self.start + self.size - 1 > k)
        return len({*self.query[across].tolist()})  # numpy.unique would load numpy.ma


_NOWHERE = np.zeros(0, np.int64)
NO_TIES = TieGroups(_NOWHERE, _NOWHERE, _NOWHERE)


@dataclass(slots=True)  # not frozen, as Hits are not
class Applied:
    """What happened to the data on the way: the counts behind the line under every table. Never changed."""

    queries: int = 0  # averaged over
    missing: int = 0  # judged but not in the run
    ignored: int = 0  # in the run but not judged
    empty: int = 0  # judged without any relevant document
    duplicates: int = 0  # repeated documents dropped from rankings
    duplicate_judgments: int = 0  # repeated documents dropped from judgments
    failed: int = 0  # judged queries whose call failed, which are not missing
    joined: Literal["id", "text"] = "id"  # what a golden set and a log have in common
    logged_again: int = 0  # entries of a log for questions that had one already
    unanswerable: int = 0  # queries without an answer on purpose; none of them is averaged
    abstained: int = 0  # of these, how many got nothing back, which is right
    silent: int = 0  # averaged queries that got nothing back, which is wrong
    mismatch: str = ""  # the warning about ids of judgments and run that do not match
    sources: str = ""  # who made which share of the judgments, where these say so
    alike: int = 0  # of these, how many would match if they were written the same way


@dataclass(frozen=True)
class Judged:
    """Rankings and judgments, reduced to what measures need. Made by :func:`ranklens.judge`, never changed.

    >>> import ranklens as rl
    >>> judged = rl.judge({"q1": {"a": 2, "b": 1, "c": 0}}, {"q1": ["x", "a", "c"]})
    >>> judged.hits.rank, judged.hits.grade, judged.ideal.grade, judged.retrieved
    (array([2, 3]), array([2., 0.]), array([2., 1., 0.]), array([3]))
    >>> judged.evaluate(["RR", "R@3"]).mean      # more measures without judging again
    {'RR': 0.5, 'R@3': 0.5}
    """

    queries: Sequence[str]
    hits: Hits
    ideal: Hits
    retrieved: IntArray
    max_grade: float
    policy: Policy = field(default_factory=Policy)
    applied: Applied = field(default_factory=Applied)
    ties: TieGroups | None = None
    details: Details | None = None  # subtopics, evidence and what else judgments may know, if they do
    further: Hits | None = None  # what documents of the hits hold besides the passage in their row
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    questions: tuple[Mapping[str, Question], ...] = field(
        default=(), repr=False, compare=False
    )  # of golden set and log
    # The ideal of prepared judgments, with what was made of it.
    _prepared: tuple[Hits, dict[Any, Any]] | None = field(default=None, repr=False, compare=False)
    # Judgments and run, for the few measures of unjudged unjudged documents.
    _source: Sources | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return (
            f"Judged({len(self)} queries, {len(self.hits)} judged documents retrieved of {len(self.ideal)})"
        )

    def relevant(self, rel: float) -> Hits:
        """The retrieved documents with at least grade ``rel``."""
        return self._once(("relevant", rel), lambda: self.hits.relevant(rel))

    def found(self, rel: float, k: int | IntArray | None = None) -> FloatArray:
        """How many relevant documents were retrieved in the top k; of a chunk that holds several relevant passages, all of these."""
        hits = self.relevant(rel).top(k)
        return hits.sum(self.passages(hits, rel))

    def passages(self, hits: Hits, rel: float) -> FloatArray | None:
        """How many relevant passages the document of each relevant hit stands for; None where it is one each."""
        if self.further is None:
            return None
        width = 1 + max(int(hits.rank.max(initial=0)), int(self.further.rank.max(initial=0)))
        others = self.further.relevant(rel)
        place, places = hits.query * width + hits.rank, others.query * width + others.rank
        more = places.searchsorted(place, "right") - places.searchsorted(place)
        return 1 + more.astype(np.float64)

    def total(self, rel: float) -> FloatArray:
        """R: how many documents of each query have at least grade ``rel``, retrieved or not."""
        return self.of_ideal(
            ("total", rel), lambda: self.ideal.sum((self.ideal.grade >= rel).astype(np.float64))
        )

    def of_ideal(self, key: Hashable, compute: Callable[[], FloatArray]) -> FloatArray:
        """What ``compute`` makes of the judgments alone, one value per query: once, however many rankings follow."""
        cache = self._made_of_ideal
        values: FloatArray | None = cache.get(key)
        if values is None:
            values = compute()
            values.setflags(write=False)
            if len(cache) >= _KEPT:
                cache.clear()
            cache[key] = values  # another thread may clear it away again
        return values

    @property
    def _made_of_ideal(self) -> dict[Any, Any]:
        """What was made of the judgments alone."""
        prepared = self._prepared
        return prepared[1] if prepared is not None and prepared[0] is self.ideal else self._cache

    def in_blocks(self) -> Iterator[Judged]:
        """Some queries at a time, for measures of grades alone: what is made of so few stays in the processor's cache."""
        edges = sorted({0, *self.ideal.query[BLOCK::BLOCK].tolist()})
        for first, last in pairwise([*edges, len(self)]):
            ideal = self.ideal.of_queries(first, last)
            yield replace(
                self,
                queries=self.queries[first:last],
                hits=self.hits.of_queries(first, last),
                ideal=ideal,
                retrieved=self.retrieved[first:last],
                further=self.further and self.further.of_queries(first, last),
                ties=None,
                _cache={},
                _prepared=(ideal, self._made_of_ideal.setdefault(("block", first), {})),
                _source=None,
            )

    def condensed(self) -> Judged:
        """The same without the unjudged documents: ranks count judged documents only (trec_eval's ``-J``)."""
        return self if self.policy.judged_only else self._once("condensed", self._condense)

    @property
    def texts(self) -> dict[str, str]:
        """The texts of queries, as far as the golden set or log says them."""
        asked = [one for questions in self.questions for one in questions.items()]
        return {name: question.text for name, question in asked if question.text is not None}

    @property
    def graded(self) -> int:
        """How many judgments are more than relevant or not."""
        return int(((self.ideal.grade > 0) & (self.ideal.grade != 1)).sum())

    @property
    def longest(self) -> int:
        """The length of the longest ranking."""
        return int(self.retrieved.max(initial=0))

    @property
    def tied(self) -> int:
        """In how many queries judged documents tie, with each other or with others."""
        return 0 if self.ties is None else len({*self.ties.query.tolist()})

    def tied_across(self, k: int) -> int:
        """In how many queries a tie group lies on both sides of the cutoff ``k``."""
        return 0 if self.ties is None else self.ties.reaching(k)

    @property
    def source(self) -> Sources | None:
        """The judgments and the run that were judged, where they can be read again."""
        return self._source

    def evaluate(self, measures: str | Measure | Sequence[str | Measure]) -> Scores:
        """Score more measures on the same ranking."""
        from ranklens.upward import score

        return score(self, measures)

    def _once(self, key: Hashable, compute: Callable[[], T]) -> T:
        return once(self._cache, key, compute)

    def _condense(self) -> Judged:
        hits = self.hits.where(self.hits.grade >= 0)  # a negative grade means pooled but not judged
        if hits.spread is None:
            hits = replace(hits, rank=hits.ordinal())
        elif self.policy.depth is not None:
            raise PolicyError(
                Option("ties", "average"),
                ", ",
                Option("depth"),
                " and ",
                Option("judged_only"),
                " cannot be combined: which judged documents remain would "
                "depend on the order of tied ones. Drop one of the three.",
            )
        else:
            hits = condense_spread(hits)
        policy = replace(self.policy, judged_only=True)
        retrieved = np.rint(hits.sum()).astype(np.int64)
        further = self.further and self.further.where(self.further.grade >= 0)
        if further:
            before = self.hits.where(self.hits.grade >= 0)
            width = 1 + int(before.rank.max(initial=0))
            row = (before.query * width + before.rank).searchsorted(further.query * width + further.rank)
            further = replace(further, rank=hits.rank[row])
        details = self.details and self.details.condensed()
        return replace(
            self,
            hits=hits,
            retrieved=retrieved,
            policy=policy,
            ties=None,
            details=details,
            further=further,
            _cache={},
        )
