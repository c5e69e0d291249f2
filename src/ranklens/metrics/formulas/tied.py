"""Measures of pairs and of the last rank over tied documents (``ties="average"``), where sums over rows are not enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import MeasureError, Option
from ranklens.judging.judged import Judged
from ranklens.metrics.formulas.ratio import ratio


@dataclass(frozen=True)
class Groups:
    """Tie groups with a relevant document, by query and rank; a document that ties with no other is a group of one."""

    n_queries: int
    query: IntArray
    start: IntArray  # the first rank
    size: IntArray
    relevant: FloatArray  # how many documents are
    cut: IntArray  # by query: how many documents are looked at

    @classmethod
    def of(cls, judged: Judged, k: int | None, rel: float) -> Groups:
        hits, cut = judged.relevant(rel), judged.retrieved if k is None else np.minimum(k, judged.retrieved)
        assert hits.spread is not None
        first = hits.where((hits.rank == hits.spread.start) & (hits.rank <= cut[hits.query]))
        assert first.spread is not None
        new = (np.diff(first.query, prepend=-1) != 0) | (np.diff(first.rank, prepend=-1) != 0)
        row, group = np.flatnonzero(new), np.cumsum(new) - 1
        relevant = np.rint(np.bincount(group, first.spread.share * first.spread.size, len(row)))
        return cls(
            len(judged),
            first.query[row],
            first.rank[row],
            first.spread.size[row],
            relevant.astype(np.float64),
            cut,
        )

    @property
    def inside(self) -> IntArray:
        """How many places of each group are looked at."""
        places: IntArray = np.minimum(self.size, self.cut[self.query] - self.start + 1)
        return places

    @property
    def above(self) -> FloatArray:
        """How many relevant documents are above each group."""
        running = np.concatenate([np.zeros(1), np.cumsum(self.relevant)])
        above: FloatArray = running[:-1] - running[np.searchsorted(self.query, self.query)]
        return above

    def total(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.query, values, self.n_queries).astype(np.float64, copy=False)

    def expected(self, value: Callable[[Groups], FloatArray]) -> FloatArray:
        """The mean of ``value`` over the number of relevant documents that a group on both sides of the cutoff has above it."""
        inside = self.inside
        split = np.flatnonzero(inside < self.size)
        if not len(split):
            return value(self)
        relevant, out = self.relevant.copy(), np.zeros(self.n_queries)
        whole = Groups(self.n_queries, self.query, self.start, inside, relevant, self.cut)
        weight = np.ones(self.n_queries)
        columns = self.relevant.astype(np.int64), self.size, inside
        split_groups = [*zip(*(column[split].tolist() for column in columns), strict=True)]
        for more in range(int(inside[split].max()) + 1):
            weight[:] = 0 if more else 1
            # Of exactly this many relevant documents in the places of the group above the cutoff, in random order.
            weight[self.query[split]] = [
                comb(n, more) * comb(size - n, places - more) / comb(size, places) if more <= places else 0.0
                for n, size, places in split_groups
            ]
            relevant[split] = np.minimum(more, inside[split])
            out += weight * value(whole)
        return out


def wrong_pairs(groups: Groups, *, last: bool = False) -> FloatArray:
    """Pairs of a relevant and another document in the wrong order; half of those that tie, or with ``last`` all of them."""
    tied = (groups.size - groups.relevant) * (1 if last else 0.5)
    return groups.total(groups.relevant * (groups.start - 1 - groups.above + tied))


def ranking_loss(groups: Groups, *, last: bool = False) -> FloatArray:
    """The share of pairs in the wrong order; 0 where there is no pair."""
    relevant = groups.total(groups.relevant)
    return ratio(wrong_pairs(groups, last=last), relevant * (groups.cut - relevant))


def mean_precision(groups: Groups, *, last: bool = False) -> FloatArray:
    """The mean precision at relevant documents; with ``last``, at the end of the group of each."""
    above, relevant, size = groups.above, groups.relevant, groups.size
    if last:
        at_end: FloatArray = relevant * (above + relevant) / (groups.start + size - 1)
        return ratio(groups.total(at_end), groups.total(relevant))
    group = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(group)) - np.repeat(np.cumsum(size) - size, size)
    before = above[group] + place * ((relevant - 1) / np.maximum(size - 1, 1))[group]
    precision = (before + 1) / (groups.start[group] + place)
    each = np.bincount(group, precision * (relevant / size)[group], len(size)).astype(np.float64)
    return ratio(groups.total(each), groups.total(relevant))


def last_rank(groups: Groups, *, last: bool = False) -> FloatArray:
    """The rank of the last relevant document; with ``last``, the end of its group."""
    groups_with = groups.relevant > 0
    within = groups.size if last else groups.relevant * (groups.size + 1) / (groups.relevant + 1)
    ranks = np.zeros(groups.n_queries)
    np.maximum.at(ranks, groups.query[groups_with], (groups.start - 1 + within)[groups_with])
    return ranks


def groups_for_last(judged: Judged, k: int | None, rel: float, name: str) -> Groups:
    """The tie groups for ``tied=last``, which must be whole."""
    if judged.hits.spread is None:
        raise MeasureError(
            f"{name}(tied=last) has to know which documents tie: choose ", Option("ties", "average"), "."
        )
    if k is not None or judged.policy.depth is not None:
        raise MeasureError(f"{name}(tied=last) looks at whole rankings: drop the cutoff and the depth.")
    return Groups.of(judged, None, rel)
