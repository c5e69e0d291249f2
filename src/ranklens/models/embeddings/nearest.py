"""The best k documents of every query, exactly: what a report and a comparison with an index need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.models.embeddings.judged_ranks import TieOrder
from ranklens.models.embeddings.model import Corpus
from ranklens.models.embeddings.spaces import Block, ScoreBlock, Space
from ranklens.models.embeddings.vectors import Documents


class Best(NamedTuple):
    """The best k documents of a query and their scores, best first; then those that tie with the last of them."""

    doc: IntArray
    score: FloatArray
    lacks_ties: bool = False  # more tie with the last than could be kept


_SLACK = 4  # candidates that are kept, for each that is wanted, before the worst are dropped


class Nearest(Generic[Documents, Block]):
    """Keeps the candidates of every query: whatever may be among the best k, given how far off scores can be."""

    def __init__(self, space: Space[Documents, Block], k: int, order: TieOrder) -> None:
        self.space, self.k, self.order = space, k, order
        self._kept: list[_Candidates] = [_Candidates() for _ in range(len(space))]

    def read(self, scores: ScoreBlock, rows: IntArray, first_doc: int, documents: Documents) -> None:
        for i, (query, row) in enumerate(zip(rows.tolist(), scores.values, strict=True)):
            kept, margin = self._kept[query], float(scores.margin[i])
            kept.margin = max(kept.margin, margin)
            floor = kept.floor + scores.shift[i] - 2 * kept.margin
            near = np.flatnonzero(row >= below(floor, row.dtype))
            if len(near) > self.k:  # those that may be among the best k: within twice the margin of the k-th
                kth = float(np.partition(row[near], len(near) - self.k)[len(near) - self.k])
                near = near[row[near] >= below(kth - 2 * margin, row.dtype)]
            if len(near) > _SLACK * self.k:  # nearly all the same: only their exact scores tell
                exact = self.space.exact(documents, np.full(len(near), query), near)
                order = best_first(near + first_doc, exact, self.order)
                kept.dropped = max(kept.dropped, float(exact[order[self.k]]))
                near = near[order[: self.k]]
            if len(near):
                kept.add(near + first_doc, row[near].astype(np.float64) - scores.shift[i])
                if len(kept.doc) > _SLACK * self.k:
                    kept.cut(self.k)

    def best(self, corpus: Corpus[Documents], step: int) -> list[Best]:
        """Documents and scores of every query, best first."""
        for kept in self._kept:
            kept.cut(self.k)
        rankings = exact_best(self.space, [kept.doc for kept in self._kept], self.k, self.order, corpus, step)
        return [
            one._replace(lacks_ties=bool(len(one.score) and kept.dropped >= one.score[-1]))
            for one, kept in zip(rankings, self._kept, strict=True)
        ]


def best_first(doc: IntArray, score: FloatArray, order: TieOrder) -> IntArray:
    """The order of a ranking: by score, tied documents by the policy."""
    best = np.argsort(-score, kind="stable")
    ordered = score[best]
    if (ordered[1:] == ordered[:-1]).any():
        return np.lexsort((order.place(doc), -score))
    return best


def exact_best(
    space: Space[Documents, Block],
    candidates: Sequence[IntArray],
    k: int,
    order: TieOrder,
    corpus: Corpus[Documents],
    step: int,
) -> list[Best]:
    """The best k among the candidates of each query, by their exact scores, which need the vectors again."""
    query = np.repeat(np.arange(len(candidates)), [len(docs) for docs in candidates])
    doc = np.concatenate([np.zeros(0, np.int64), *candidates])
    score = _exact(space, query, doc, corpus, step)
    rankings = []
    for first, last in pairwise(np.searchsorted(query, np.arange(len(candidates) + 1)).tolist()):
        ranked = best_first(doc[first:last], score[first:last], order) + first
        rankings.append(with_ties(doc[ranked], score[ranked], k))
    return rankings


def with_ties(doc: IntArray, score: FloatArray, k: int) -> Best:
    """The first k of a ranking, and those that tie with the last of them."""
    last = k + int(np.count_nonzero(score[k:] == score[k - 1])) if len(score) > k else k
    return Best(doc[:last], score[:last])


def exact_of(
    space: Space[Documents, Block], corpus: Corpus[Documents], query: IntArray, doc: IntArray, step: int
) -> FloatArray:
    """The exact scores of pairs; each document is fetched once."""
    rows = np.unique(doc)
    return space.exact(corpus.take(rows, step), query, np.searchsorted(rows, doc))


def _exact(
    space: Space[Documents, Block], query: IntArray, doc: IntArray, corpus: Corpus[Documents], step: int
) -> FloatArray:
    score = np.empty(len(doc))
    if corpus.is_addressable:
        for first in range(0, len(doc), step):
            part = slice(first, first + step)
            score[part] = exact_of(space, corpus, query[part], doc[part], step)
        return score
    # What cannot be addressed is read once, in its order, for all queries together.
    by_doc = np.argsort(doc, kind="stable")
    for first, documents in corpus.blocks(step):
        edges = np.searchsorted(doc[by_doc], [first, first + documents.shape[0]]).tolist()
        here = np.sort(by_doc[slice(*edges)])  # by query
        score[here] = space.exact(documents, query[here], doc[here] - first)
    return score


class _Candidates:
    def __init__(self) -> None:
        self.doc, self.score, self.floor, self.margin = np.zeros(0, np.int64), np.zeros(0), -np.inf, 0.0
        # The highest exact score of a document that was dropped for one of the same block.
        self.dropped = -np.inf

    def add(self, doc: IntArray, score: FloatArray) -> None:
        self.doc, self.score = np.concatenate([self.doc, doc]), np.concatenate([self.score, score])

    def cut(self, k: int) -> None:
        if len(self.doc) > k:
            self.floor = float(np.partition(self.score, len(self.score) - k)[len(self.score) - k])
            keep = self.score >= self.floor - 2 * self.margin
            self.doc, self.score = self.doc[keep], self.score[keep]


def below(value: float, kind: np.dtype[Any]) -> np.floating:
    """The number in the type of the scores, rounded down."""
    number: np.floating = kind.type(value)
    return np.nextafter(number, kind.type(-np.inf)) if np.isfinite(value) else number
