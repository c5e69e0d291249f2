"""The greedy ideal ranking of diversity: at each rank the document that adds most to what was seen, of equal ones the last by id."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.views import Diverse


def ideal_gains(topics: Diverse, k: int, alpha: float, rel: float) -> FloatArray:
    """The gain at each of the first k ranks of the ideal ranking, one row per query."""
    found: FloatArray = topics.details.once(("greedy", k, alpha, rel), lambda: _gains(topics, k, alpha, rel))
    return found


def _gains(topics: Diverse, k: int, alpha: float, rel: float) -> FloatArray:
    kinds = _Kinds.of(topics, rel)
    gains = np.zeros((len(topics), k))
    if not len(kinds.query):
        return gains
    worth = kinds.weights(topics)  # of each subtopic of each query, less each time that it is seen
    first = np.flatnonzero(np.diff(kinds.query, prepend=-1))
    queries = kinds.query[first]
    row = np.repeat(np.arange(len(queries)), np.diff(np.append(first, len(kinds.query))))
    left, following = kinds.count.copy(), kinds.start.copy()
    worth = worth[queries]
    for rank in range(k):
        gain = np.einsum("ks,ks->k", kinds.covers, worth[row])
        gain[left == 0] = 0.0
        best = np.maximum.reduceat(gain, first)
        if not best.any():
            break
        gains[queries, rank] = best
        place = np.where(gain == best[row], kinds.order[following], len(kinds.order))
        chosen = _argmin(place, first, row)
        alive = best > 0
        chosen, here = chosen[alive], np.flatnonzero(alive)
        left[chosen] -= 1
        following[chosen] += left[chosen] > 0
        worth[here] *= np.where(kinds.covers[chosen] > 0, 1 - alpha, 1.0)
    return gains


def _argmin(values: IntArray, first: IntArray, row: IntArray) -> IntArray:
    """The place of the lowest value of each segment; values are unique where they matter."""
    lowest = np.minimum.reduceat(values, first)
    place = np.flatnonzero(values == lowest[row])
    return place[np.searchsorted(row[place], np.arange(len(first)))]


class _Kinds:
    """The relevant documents of each query by what they cover: those that cover the same are worth the same.

    ``covers`` has one row per kind and one column per subtopic of its query; ``order`` holds the documents, kind by kind, as places
    in the order of ids within the query, from the last id on; ``start`` and ``count`` say which are of which kind.
    """

    def __init__(
        self, query: IntArray, covers: FloatArray, start: IntArray, count: IntArray, order: IntArray
    ) -> None:
        self.query, self.covers, self.start, self.count, self.order = query, covers, start, count, order

    @classmethod
    def of(cls, topics: Diverse, rel: float) -> _Kinds:
        labels, details = topics.labels, topics.details
        entry = np.flatnonzero(labels.grade >= rel)
        doc, column = labels.doc[entry], _column(labels.query)[labels.label[entry]]
        width = int(column.max(initial=0)) + 1
        docs = np.flatnonzero(np.bincount(doc, minlength=len(details.query)))
        covers = np.zeros((len(docs), width), dtype=bool)
        covers[np.searchsorted(docs, doc), column] = True
        order = _by_id(topics, docs)
        query = details.query[docs]
        pattern = np.packbits(covers, axis=1)
        by_kind = np.lexsort((order, *pattern.T, query))
        new = np.diff(query[by_kind], prepend=-1) != 0
        new[1:] |= (pattern[by_kind][1:] != pattern[by_kind][:-1]).any(axis=1)
        start = np.flatnonzero(new)
        count = np.diff(np.append(start, len(docs)))
        return cls(
            query[by_kind][start], covers[by_kind][start].astype(np.float64), start, count, order[by_kind]
        )

    def weights(self, topics: Diverse) -> FloatArray:
        """The weight of each subtopic, one row per query."""
        table = np.zeros((len(topics), self.covers.shape[1]))
        column = _column(topics.labels.query)
        inside = column < table.shape[1]
        table[topics.labels.query[inside], column[inside]] = topics.weight[inside]
        return table


def _column(query: IntArray) -> IntArray:
    """0, 1, 2 … within each query, which are sorted."""
    return np.arange(len(query)) - np.searchsorted(query, query)


def _by_id(topics: Diverse, docs: IntArray) -> IntArray:
    """The place of each document in the descending order of the ids of its query."""
    names = topics.details.names
    ids = list(map(str, map(names.__getitem__, docs.tolist())))
    edges = np.flatnonzero(np.diff(topics.details.query[docs], prepend=-1, append=-1)).tolist()
    order: list[int] = []
    for first, last in pairwise(edges):
        order += sorted(range(first, last), key=ids.__getitem__, reverse=True)
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))
    return place
