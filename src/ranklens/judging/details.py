"""Details of judgments besides grades, stored next to the ranks: which document belongs to which subtopic or evidence set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.evidence.contexts import Contexts, rows_of
from ranklens.data.readers.rankings import Further
from ranklens.judging.hits import Hits, spread_ties
from ranklens.judging.judged import once

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from ranklens.judging.listing import Listing
    from ranklens.judging.views import Interactions


T = TypeVar("T")


class Late(Sequence[Any]):
    """A lazy list: most measures need no names of documents."""

    def __init__(self, make: Callable[[], list[Any]], size: int) -> None:
        self._made, self._size = cache(make), size

    def __getitem__(self, place: Any) -> Any:
        return self._made()[place]

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True)
class Labels:
    """Which documents have which label: a subtopic of the query, or an evidence set.

    ``query`` and ``weight`` are those of each label, by query; ``doc``, ``label`` and ``grade`` are parallel, by label.
    """

    query: IntArray
    weight: FloatArray
    doc: IntArray
    label: IntArray
    grade: FloatArray
    navigational: BoolArray | None = None  # which subtopics one document satisfies, if that is known

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class Details:
    """All judged documents with their places in the ranking (rank 0: not retrieved), by query, and their labels."""

    n_queries: int
    query: IntArray
    names: Sequence[Any]
    grade: FloatArray
    rank: IntArray
    start: IntArray  # the tie group: its first rank and its size
    size: IntArray
    by_id: bool = False  # the documents of each query are in ascending order of their ids
    averaged: bool = False  # rows stand for every order of tied documents
    depth: int | None = None
    subtopics: Labels | None = None
    evidence: Labels | None = None
    preferences: Labels | None = (
        None  # a label is a judgment group; documents come in pairs, the better one first
    )
    strata: Labels | None = None  # of all pooled documents; those that were not sampled have a negative grade
    probabilities: Labels | None = None  # one label per query, with the chance of being sampled for a grade
    documents: Mapping[Any, Mapping[str, Any]] | None = None
    listing: Listing | None = None  # whole rankings, where something is known about documents
    train: Interactions | None = None
    contexts: Contexts | None = None  # where passages are judged
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    # What measures made of the judgments alone: those of prepared judgments serve all runs.
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def reading(cls, contexts: Contexts, depth: int | None) -> Details:
        """What is known where passages are judged: the first ``depth`` chunks that were retrieved."""
        none, n = np.zeros(0, np.int64), len(contexts.queries)
        if depth is not None:
            contexts = contexts.take(np.arange(n), np.full(n, depth))
        return cls(n, none, (), np.zeros(0), none, none, none, contexts=contexts)

    @property
    def is_sample(self) -> bool:
        """Whether only a random sample of the pool was judged."""
        return self.strata is not None or self.probabilities is not None

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What follows from this ranking, computed on first use."""
        return once(self._cache, key, compute)

    def once_for_all(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What follows from the judgments alone: once, however many rankings follow."""
        return once(self._kept, key, compute)

    def hits(self, labels: Labels, k: int | None = None) -> Hits:
        """The retrieved documents of each label, as if it were a query."""
        last = min(k or np.inf, self.depth or np.inf)
        rank = self.rank[labels.doc]
        rows = np.flatnonzero((rank > 0) & ((self.start[labels.doc] if self.averaged else rank) <= last))
        label, doc, n = labels.label[rows], labels.doc[rows], len(labels)
        if self.averaged:
            spread = spread_ties(label, self.start[doc], self.size[doc], labels.grade[rows], n)
            return spread.top(None if last == np.inf else int(last))
        rank = rank[rows]
        order = np.argsort(label * (int(rank.max(initial=0)) + 1) + rank)
        return Hits(label[order], rank[order], labels.grade[rows[order]], n)

    def with_further(self, queries: Sequence[str], further: Further) -> Details:
        """The same with the passages that items hold besides those that they are listed under, at the ranks of the items."""
        row_of = {pair: row for row, pair in enumerate(zip(self.query.tolist(), self.names, strict=True))}
        ranks = {
            row_of[number, passage]: rank
            for number, query in enumerate(queries)
            for rank, passages in further.get(query, {}).items()
            for passage in passages
        }
        rank = self.rank.copy()
        rank[list(ranks)] = list(ranks.values())
        return replace(self, rank=rank, start=np.where(rank > 0, rank, self.start), _cache={})

    def condensed(self) -> Details:
        """Ranks among the judged documents alone."""
        rank, start, size = (np.zeros_like(self.rank) for _ in range(3))
        hits = np.flatnonzero((self.rank > 0) & (self.grade >= 0))
        if self.depth is not None and not self.averaged:
            hits = hits[self.rank[hits] <= self.depth]
        order = hits[np.lexsort((self.rank[hits], self.start[hits], self.query[hits]))]
        query = self.query[order]
        place = np.arange(len(order)) - np.searchsorted(query, query) + 1
        new = (np.diff(query, prepend=-1) != 0) | (np.diff(self.start[order], prepend=-1) != 0)
        first, group = np.flatnonzero(new), np.cumsum(new) - 1
        rank[order], start[order] = place, place[first][group]
        size[order] = np.diff(np.append(first, len(order)))[group]
        return replace(self, rank=rank, start=start, size=size, depth=None, _cache={})

    def some(self, keep: BoolArray) -> Details:
        """The same over fewer queries."""
        return self.take(np.flatnonzero(keep))

    def take(self, queries: IntArray, upto: IntArray | None = None) -> Details:
        """The same for these queries, which may repeat; of each, the documents in its first ``upto`` ranks count as retrieved."""
        row, query = rows_of(self.query, queries, self.n_queries)
        rank = self.rank[row]
        if upto is not None:
            rank = np.where(rank <= upto[query], rank, 0)
        names = [self.names[i] for i in row.tolist()]
        n = len(self.query)
        key = query * n + row  # rows come in order within each query

        def chosen(labels: Labels | None) -> Labels | None:
            if labels is None:
                return None
            label, owner = rows_of(labels.query, queries, self.n_queries)
            entry, of_label = rows_of(labels.label, label, len(labels))
            doc = np.searchsorted(key, owner[of_label] * n + labels.doc[entry])
            kind = None if labels.navigational is None else labels.navigational[label]
            return Labels(owner, labels.weight[label], doc, of_label, labels.grade[entry], kind)

        return replace(
            self,
            n_queries=len(queries),
            query=query,
            names=names,
            grade=self.grade[row],
            rank=rank,
            start=self.start[row],
            size=self.size[row],
            subtopics=chosen(self.subtopics),
            evidence=chosen(self.evidence),
            preferences=chosen(self.preferences),
            strata=chosen(self.strata),
            probabilities=chosen(self.probabilities),
            listing=self.listing and self.listing.take(queries, upto),
            contexts=self.contexts and self.contexts.take(queries, upto),
            _cache={},
            _kept={},
        )
