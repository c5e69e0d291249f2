"""The greedy ideal ranking of diversity: at each rank the document that adds most to what was seen, of equal ones the last by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.views import Diverse

# Documents times subtopics that are compared together, while they are in the processor's cache.
_AT_ONCE = 1 << 18


def ideal_gains(topics: Diverse, k: int, alpha: float, rel: float) -> FloatArray:
    """The gain at each of the first k ranks of the ideal ranking, one row per query."""

    def gains() -> FloatArray:
        table = np.zeros((len(topics), k))
        for some in _portions(topics, rel):
            ranks = min(k, some.covers.shape[2])
            table[some.queries, :ranks] = _choose(some, ranks, alpha)
        return table

    table: FloatArray = topics.details.once_for_all(("greedy", k, alpha, rel), gains)
    return table


@dataclass(frozen=True)
class _Portion:
    """Some queries, with a row per subtopic and a column per relevant document, the last by id first."""

    queries: slice
    worth: FloatArray  # (query, subtopic)
    covers: FloatArray  # (query, subtopic, document): 1 if the document covers the subtopic, else 0


def _choose(some: _Portion, ranks: int, alpha: float) -> FloatArray:
    """The gains of the best documents, one after the other; who is chosen covers nothing any more."""
    worth, left = some.worth, some.covers
    query = np.arange(len(worth))
    gains = np.zeros((len(worth), ranks))
    for rank in range(ranks):
        # Subtopics are added up in their order, so that a query's value does not depend on the queries around it.
        gain = np.einsum("qs,qsd->qd", worth, left)
        best = gain.argmax(axis=1)  # the first of equal ones
        gains[:, rank] = gain[query, best]
        worth = worth * (1 - alpha * left[query, :, best])
        left[query, :, best] = 0
    return gains


def _portions(topics: Diverse, rel: float) -> Iterator[_Portion]:
    labels, n = topics.labels, len(topics)
    entry = np.flatnonzero(labels.grade >= rel)
    doc, label = labels.doc[entry], labels.label[entry]
    sizes = np.bincount(labels.query)
    query, subtopic = (
        labels.query[label],
        np.arange(len(labels.query)) - np.repeat(np.cumsum(sizes) - sizes, sizes),
    )
    column = topics.details.once_for_all(("by id", rel), lambda: _by_id(topics, rel))[doc]
    wide, deep = int(subtopic.max(initial=0)) + 1, int(column.max(initial=0)) + 1
    weight, at_once = topics.weight, max(_AT_ONCE // (wide * deep), 1)
    for first in range(0, n if len(entry) else 0, at_once):
        last = min(first + at_once, n)
        worth, covers = np.zeros((last - first, wide)), np.zeros((last - first, wide, deep))
        here = slice(*np.searchsorted(labels.query, [first, last]).tolist())
        worth[labels.query[here] - first, subtopic[here]] = weight[here]
        here = slice(*np.searchsorted(query, [first, last]).tolist())
        covers[query[here] - first, subtopic[label[here]], column[here]] = 1
        yield _Portion(slice(first, last), worth, covers)


def _by_id(topics: Diverse, rel: float) -> IntArray:
    """The place of each relevant document in the descending order of ids of its query."""
    details, labels = topics.details, topics.labels
    is_relevant = np.zeros(len(details.query), dtype=bool)
    is_relevant[labels.doc[labels.grade >= rel]] = True
    docs = np.flatnonzero(is_relevant)
    query = details.query[docs]
    if not details.by_id:
        ids = [*map(str, map(details.names.__getitem__, docs.tolist()))]
        order: list[int] = []
        for first, last in pairwise(np.flatnonzero(np.diff(query, prepend=-1, append=-1)).tolist()):
            order += sorted(range(first, last), key=ids.__getitem__)
        docs = docs[order]
    place, behind = np.zeros(len(details.query), np.int64), np.cumsum(np.bincount(query))
    place[docs] = behind[query] - np.arange(1, len(docs) + 1)
    return place
