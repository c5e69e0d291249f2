"""The rows of a run that can be among the first few of their ranking: all that has to be sorted if only those are shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np

from ranklens.data.readers import mappings
from ranklens.data.run import Run

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray, IntArray

_CELLS = 1 << 22  # scores that are looked at together


def shortlist(run: Run, k: int) -> pl.DataFrame:
    """The rows ``query, doc, score`` with one of the ``k`` highest scores of their query, and those that tie with the last.

    The rows may be more: a stream is cut table by table.

    >>> shortlist(Run({"q": {"a": 3, "b": 1, "c": 2, "d": 2}}), 2).rows()
    [('q', 'a', 3.0), ('q', 'c', 2.0), ('q', 'd', 2.0)]
    """
    import polars as pl

    schema = {"query": pl.String(), "doc": pl.String(), "score": pl.Float64()}
    if run.by_query is None:

        def cut(table: pl.DataFrame) -> pl.DataFrame:
            # A query whose rows are not together is cut in each place, which keeps more than is needed, never less.
            lengths = table["query"].rle().struct.field("len").to_numpy().astype(np.int64)
            return table.filter(_among_first(table["score"].to_numpy(), lengths, k)).select(list(schema))

        parts = map(cut, run.tables) if run.stream is None else run.stream.map(cut)
        rows: pl.DataFrame = pl.concat([pl.DataFrame(schema=schema), *parts])
        return rows
    by_query = mappings.rankings(run.by_query).by_query
    rankings = by_query.values()
    lengths = np.fromiter(map(len, rankings), np.int64, len(by_query))
    scores = np.fromiter(chain.from_iterable(map(dict.values, rankings)), np.float64, int(lengths.sum()))
    is_candidate = _among_first(scores, lengths, k)
    query = np.repeat(np.arange(len(lengths)), lengths)[is_candidate]
    columns = {
        "query": pl.Series(list(map(str, by_query)), dtype=pl.String)[query],
        "doc": list(map(str, compress(chain.from_iterable(rankings), is_candidate.tolist()))),
        "score": scores[is_candidate],
    }
    return pl.DataFrame(columns, schema=schema)


def _among_first(scores: FloatArray, lengths: IntArray, k: int) -> BoolArray:
    """Which scores are among the ``k`` highest of their ranking, or tie with the last of these; NaN is the lowest."""
    numbers = np.where(np.isnan(scores), -np.inf, scores)
    starts = np.cumsum(lengths) - lengths
    bar = np.full(len(lengths), -np.inf)  # the lowest score that is kept
    for rows in _of_like_length(lengths, k):
        place = np.arange(lengths[rows[-1]])
        inside = place < lengths[rows, None]
        block = np.where(inside, numbers[np.where(inside, starts[rows, None] + place, 0)], -np.inf)
        bar[rows] = np.partition(block, -k, axis=1)[:, -k]
    is_among_first: BoolArray = numbers >= np.repeat(bar, lengths)
    return is_among_first


def _of_like_length(lengths: IntArray, k: int) -> Iterator[IntArray]:
    """The rankings with more than ``k`` documents, the shortest first, in parts that fit a rectangle of bounded size."""
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > k]
    while len(order):
        cells = lengths[order] * np.arange(1, len(order) + 1)
        size = max(int(np.searchsorted(cells, _CELLS, side="right")), 1)
        yield order[:size]
        order = order[size:]
