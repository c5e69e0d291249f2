"""What judgments know besides a grade, next to the ranks: which document belongs to which subtopic or evidence set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers.rankings import Further
from ranklens.judging.averaged_ties import spread_ties
from ranklens.judging.hits import Hits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ranklens.judging.listing import Listing
    from ranklens.judging.views import Interactions


class Late(Sequence[Any]):
    """A lazy list: most measures need no names of documents."""

    def __init__(self, make: Callable[[], list[Any]], size: int) -> None:
        self._make, self._size = make, size

    @cached_property
    def _made(self) -> list[Any]:
        return self._make()

    def __getitem__(self, place: Any) -> Any:
        return self._made[place]

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
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    # What measures made of the judgments alone: those of prepared judgments serve all runs.
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_sample(self) -> bool:
        """Whether only a random sample of the pool was judged."""
        return self.strata is not None or self.probabilities is not None

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def once_for_all(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What follows from the judgments alone: once, however many rankings follow."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    def hits(self, labels: Labels, k: int | None = None) -> Hits:
        """The retrieved documents of each label, as if it were a query."""
        last = min(k or np.inf, self.depth or np.inf)
        rank = self.rank[labels.doc]
        found = np.flatnonzero((rank > 0) & ((self.start[labels.doc] if self.averaged else rank) <= last))
        label, doc, n = labels.label[found], labels.doc[found], len(labels)
        if self.averaged:
            spread = spread_ties(label, self.start[doc], self.size[doc], labels.grade[found], n)
            return spread.top(None if last == np.inf else int(last))
        rank = rank[found]
        order = np.argsort(label * (int(rank.max(initial=0)) + 1) + rank)
        return Hits(label[order], rank[order], labels.grade[found[order]], n)

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
        kept = np.flatnonzero((self.rank > 0) & (self.grade >= 0))
        if self.depth is not None and not self.averaged:
            kept = kept[self.rank[kept] <= self.depth]
        order = kept[np.lexsort((self.rank[kept], self.start[kept], self.query[kept]))]
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
        row, query = _rows_of(self.query, queries, self.n_queries)
        rank = self.rank[row]
        if upto is not None:
            rank = np.where(rank <= upto[query], rank, 0)
        names = [self.names[i] for i in row.tolist()]
        doc_of = (row, query, len(self.query))
        return replace(
            self,
            n_queries=len(queries),
            query=query,
            names=names,
            grade=self.grade[row],
            rank=rank,
            start=self.start[row],
            size=self.size[row],
            subtopics=self.subtopics and _labels_of(self.subtopics, self, queries, doc_of),
            evidence=self.evidence and _labels_of(self.evidence, self, queries, doc_of),
            preferences=self.preferences and _labels_of(self.preferences, self, queries, doc_of),
            strata=self.strata and _labels_of(self.strata, self, queries, doc_of),
            probabilities=self.probabilities and _labels_of(self.probabilities, self, queries, doc_of),
            listing=self.listing and self.listing.take(queries, upto),
            _cache={},
            _kept={},
        )


def _rows_of(owner: IntArray, queries: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The rows of each of these queries, and the number of the query among ``queries``; ``owner`` is sorted."""
    counts = np.bincount(owner, minlength=n)
    first = np.cumsum(counts) - counts
    chosen = counts[queries]
    query = np.repeat(np.arange(len(queries)), chosen)
    within = np.arange(len(query)) - np.repeat(np.cumsum(chosen) - chosen, chosen)
    return first[queries][query] + within, query


def _labels_of(
    labels: Labels, details: Details, queries: IntArray, docs: tuple[IntArray, IntArray, int]
) -> Labels:
    """The labels of these queries, with the numbers that their documents have there."""
    label, owner = _rows_of(labels.query, queries, details.n_queries)
    entry, new_label = _rows_of(labels.label, label, len(labels))
    row, query, n = docs
    key = query * n + row  # rows come in order within each query
    wanted = owner[new_label] * n + labels.doc[entry]
    kind = None if labels.navigational is None else labels.navigational[label]
    return Labels(
        owner, labels.weight[label], np.searchsorted(key, wanted), new_label, labels.grade[entry], kind
    )
