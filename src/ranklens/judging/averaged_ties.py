"""Rows for every order of tied documents (``ties="average"``): sums over them are expectations."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.hits import Hits, Spread


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
    query, start, grade = (
        np.repeat(at_start.query, count),
        np.repeat(at_start.rank, count),
        np.repeat(at_start.grade, count),
    )
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(start, prepend=-1) != 0)
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    first_of_query = np.searchsorted(query, query[first])
    size = np.diff(np.append(first, len(query)))
    return spread_ties(query, (first - first_of_query + 1)[group], size[group], grade, hits.n_queries)
