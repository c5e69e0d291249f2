"""Judged documents in rank order: the parallel arrays that every measure is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows that represent every possible order of tied documents (``ties="average"``).

    A row then says: ``share`` documents of this grade are expected at this rank. ``start`` and ``size`` are the first
    rank and the number of documents of the tie group that the row belongs to (1 for a document that is not tied).
    """

    share: FloatArray
    start: IntArray
    size: IntArray

    def take(self, rows: IntArray | slice) -> Spread:
        return Spread(self.share[rows], self.start[rows], self.size[rows])


@dataclass(slots=True)  # freezing it would double the time to make one, of which small calls make many
class Hits:
    """Judged documents in rank order: parallel arrays, sorted by query, then rank; ranks start at 1. Never changed.

    >>> import numpy as np
    >>> hits = Hits(np.array([0, 0, 1]), np.array([1, 4, 2]), np.array([1.0, 2.0, 0.0]), n_queries=2)
    >>> hits.relevant(1).sum(), hits.relevant(1).position() / hits.relevant(1).rank
    (array([2., 0.]), array([1. , 0.5]))
    """

    query: IntArray
    rank: IntArray
    grade: FloatArray
    n_queries: int
    spread: Spread | None = None

    def __len__(self) -> int:
        return len(self.query)

    def take(self, rows: IntArray | slice) -> Hits:
        """Some rows, in their order."""
        spread = self.spread and self.spread.take(rows)
        return Hits(self.query[rows], self.rank[rows], self.grade[rows], self.n_queries, spread)

    def where(self, keep: BoolArray) -> Hits:
        """The rows for which ``keep`` is true."""
        rows = keep.nonzero()[0]  # faster than selecting by a mask three times
        return self if len(rows) == len(self) else self.take(rows)

    def of_queries(self, first: int, last: int) -> Hits:
        """The rows of the queries from ``first`` up to, but not including, ``last``; these are numbered from 0."""
        rows = self.take(slice(*self.query.searchsorted([first, last]).tolist()))
        return replace(rows, query=rows.query - first, n_queries=last - first)

    def one_a_rank(self) -> tuple[Hits, Hits | None]:
        """The rows with the highest grade at each rank, and the others, if there are any: a chunk may hold several passages."""
        order = np.lexsort((-self.grade, self.rank, self.query))
        query, rank = self.query[order], self.rank[order]
        again = np.zeros(len(self), dtype=bool)
        again[1:] = (np.diff(query) == 0) & (np.diff(rank) == 0)
        if self.spread is not None or not again.any():
            return self, None
        rows = Hits(query, rank, self.grade[order], self.n_queries)
        return rows.where(~again), rows.where(again)

    def top(self, k: int | IntArray | None) -> Hits:
        """The rows in the first ``k`` ranks; ``k`` may differ from query to query."""
        if k is None:
            return self
        if self.n_queries == 1 and isinstance(k, int):
            n = int(self.rank.searchsorted(k, "right"))
            return self if n == len(self) else self.take(slice(n))
        return self.where(self.rank <= (k if isinstance(k, int) else k[self.query]))

    def relevant(self, rel: float) -> Hits:
        """The rows whose grade is at least ``rel``."""
        return self.where(self.grade >= rel)

    def sum(self, values: FloatArray | None = None) -> FloatArray:
        """The sum of ``values`` (1 by default) for each query."""
        if self.spread is not None:
            values = self.spread.share if values is None else values * self.spread.share
        # Without values these are counts; and of no rows, NumPy counts even weights as integers.
        return np.bincount(self.query, values, self.n_queries).astype(np.float64, copy=False)

    def max(self, values: FloatArray) -> FloatArray:
        """The largest of ``values`` for each query, 0 if there is none."""
        out = np.zeros(self.n_queries)
        np.maximum.at(out, self.query, values)
        return out

    def position(self) -> FloatArray:
        """1, 2, 3 … within each query: how many of these rows have been seen, this one included."""
        if self.spread is not None:
            return self.cumulative(np.ones(len(self)))
        return self.ordinal().astype(np.float64)

    def ordinal(self) -> IntArray:
        """1, 2, 3 … within each query, whatever the ties."""
        if self.n_queries == 1:
            return np.arange(1, len(self) + 1)
        counts = np.bincount(self.query, minlength=self.n_queries)
        return np.arange(1, len(self) + 1) - (counts.cumsum() - counts).repeat(counts)

    def cumulative(self, values: FloatArray) -> FloatArray:
        """The sum of ``values`` within each query up to and including this row.

        Over averaged ties: its expectation, given that this row's document is at this row's rank. A measure that
        adds up products of such a sum with a function of the rank is therefore exact for averaged ties without changes.
        """
        if self.spread is None:
            return self.scan(np.add, values)
        spread = self.spread
        new = (np.diff(self.query, prepend=-1) != 0) | (np.diff(self.rank, prepend=-1) != 0)
        # Rows that share query and rank, as only tied ones do.
        first, group = np.flatnonzero(new), np.cumsum(new) - 1
        at_rank = np.add.reduceat(values * spread.share, first) if len(self) else np.zeros(0)
        by_rank = Hits(self.query[first], self.rank[first], at_rank, self.n_queries)
        before = (by_rank.scan(np.add, at_rank) - at_rank)[group]
        here = at_rank[group]
        steps = self.rank - spread.start  # places of the tie group before this one
        # Each earlier place of the group holds a random one of the *other* documents of the group.
        others = (spread.size * here - values) / np.maximum(spread.size - 1, 1)
        expected: FloatArray = values + before + steps * (others - here)
        return expected

    def first(self) -> FloatArray:
        """1 for the first of these rows in each query, else 0; over averaged ties, the chance of being the first."""
        if self.spread is not None:
            return self.survival(np.ones(len(self)))
        first = np.empty(len(self))
        first[:1] = 1
        first[1:] = self.query[1:] != self.query[:-1]
        return first

    def survival(self, stop: FloatArray) -> FloatArray:
        """The chance that a user who stops at each row with chance ``stop`` still looks when coming to this row."""
        if self.spread is not None:
            return _tied_survival(self, stop)
        seen = self.scan(np.multiply, 1.0 - stop)
        before: FloatArray = np.concatenate([np.ones(1), seen[:-1]])[: len(self)]
        before[np.flatnonzero(np.diff(self.query, prepend=-1))] = 1.0
        return before

    def upto(self, values: FloatArray, query: IntArray, rank: IntArray | FloatArray) -> FloatArray:
        """The sum of ``values`` over the rows of ``query`` in the first ``rank`` ranks, for arrays of both."""
        running = np.concatenate([np.zeros(1), self.scan(np.add, values)])
        width = max(int(self.rank.max(initial=0)), int(np.max(rank, initial=0))) + 1
        row = np.searchsorted(self.query * width + self.rank, query * width + rank, side="right")
        first_row = np.searchsorted(self.query, query)
        return np.where(row > first_row, running[row], 0.0)

    def scan(self, operation: np.ufunc, values: FloatArray) -> FloatArray:
        """``operation`` accumulated within each query, e.g. a running sum.

        Queries of similar length share a padded matrix, so there is no loop over queries, memory stays within twice
        the rows, and a query's result does not depend on the queries around it.
        """
        if self.n_queries == 1:
            all_rows: FloatArray = operation.accumulate(values)
            return all_rows
        out = np.empty(len(values))
        counts = np.bincount(self.query, minlength=self.n_queries)
        first_row = np.cumsum(counts) - counts
        bits = np.frexp(counts)[1]  # counts of 1, 2-3, 4-7, 8-15, …
        for size in sorted({*bits[counts > 0].tolist()}):
            members = np.flatnonzero(bits == size)
            columns = np.arange(counts[members].max())
            inside = columns < counts[members, None]
            rows = np.where(inside, first_row[members, None] + columns, first_row[members, None])
            out[rows[inside]] = operation.accumulate(values[rows], axis=1)[inside]
        return out


def _tied_survival(hits: Hits, stop: FloatArray) -> FloatArray:
    """:meth:`Hits.survival` over averaged ties, tie group by tie group.

    Given its place in the group, a document is preceded by a uniformly random subset of the others; the expected
    product over such a subset follows from adding the others one at a time (a convex combination, so it is stable).
    """
    assert hits.spread is not None
    out = np.ones(len(hits))
    starts, sizes, shares = hits.spread.start, hits.spread.size, hits.spread.share
    new_group = (np.diff(hits.query, prepend=-1) != 0) | (np.diff(starts, prepend=-1) != 0)
    first_rows = np.flatnonzero(new_group)
    last_query, looking = -1, 1.0
    for begin, end in pairwise([*first_rows, len(hits)]):
        if hits.query[begin] != last_query:
            last_query, looking = hits.query[begin], 1.0
        size = int(sizes[begin])
        kinds = range(begin, begin + int(np.searchsorted(hits.rank[begin:end], hits.rank[begin], "right")))
        counts = {kind: round(float(shares[kind]) * size) for kind in kinds}
        for offset, kind in enumerate(kinds):
            others = [(float(stop[other]), counts[other] - (other == kind)) for other in kinds]
            passed = _mean_products(others, size - 1)
            rows = slice(begin + offset, end, len(kinds))
            out[rows] = looking * passed[hits.rank[rows] - starts[begin]]
        for kind, count in counts.items():
            looking *= (1.0 - float(stop[kind])) ** count
    return out


def _mean_products(stops: Iterable[tuple[float, int]], size: int) -> FloatArray:
    """For m = 0 … size: the mean over all m-subsets of ``size`` documents of the product of (1 - stop).

    ``stops`` lists (stop, how many documents); documents that are not listed never stop the user.
    """
    listed = [stop for stop, count in stops for _ in range(count)]
    mean = np.ones(size - len(listed) + 1)
    for stop in listed:
        n = len(mean)
        m = np.arange(n + 1)
        without = np.append(mean, 0.0) * (n - m)
        with_it = np.concatenate([np.zeros(1), mean]) * m * (1.0 - stop)
        mean = (without + with_it) / n
    return mean


# --- rows for every order of tied documents (``ties="average"``): sums over them are expectations


def spread_ties(query: IntArray, start: IntArray, size: IntArray, grade: FloatArray, n_queries: int) -> Hits:
    """Rows for every place that a document can take within its tie group, given one row per document."""
    order = np.lexsort((grade, start, query))
    query, start, size, grade = query[order], start[order], size[order], grade[order]
    new = np.diff(query, prepend=-1) != 0
    new |= (np.diff(start, prepend=-1) != 0) | (np.diff(grade, prepend=np.nan) != 0)
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(query)))
    query, start, size, grade = query[first], start[first], size[first], grade[first]
    row = np.repeat(np.arange(len(first)), size)
    place = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    rank = start[row] + place
    order = np.lexsort((row, rank, query[row]))
    row, rank = row[order], rank[order]
    spread = Spread((counts / size)[row], start[row], size[row])
    return Hits(query[row], rank, grade[row], n_queries, spread)


def condense_spread(hits: Hits) -> Hits:
    """Tie groups of judged documents alone: still every order of them is equally likely."""
    assert hits.spread is not None
    at_start = hits.where(hits.rank == hits.spread.start)
    assert at_start.spread is not None
    count = np.rint(at_start.spread.share * at_start.spread.size).astype(np.int64)
    query, start = np.repeat(at_start.query, count), np.repeat(at_start.rank, count)
    grade = np.repeat(at_start.grade, count)
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(start, prepend=-1) != 0)
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    first_of_query = np.searchsorted(query, query[first])
    size = np.diff(np.append(first, len(query)))
    return spread_ties(query, (first - first_of_query + 1)[group], size[group], grade, hits.n_queries)
