"""Which parts of passages are in which chunks, where both are spans ``(document, start, end)`` of source documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.evidence.contexts import NEVER, Cover, ranges
from ranklens.data.readers.chunks import Span


def cover_spans(passages: Sequence[Sequence[Span | None]], chunks: Sequence[Sequence[Span | None]]) -> Cover:
    """What chunks add to the evidence, in the units of the spans, for the passages and chunks of each question, the best first.

    All starts and ends cut a document into cells, which no span cuts. An item without a span covers nothing.

    >>> cover = cover_spans([[("d", 10, 30), ("d", 50, 60)]], [[("d", 0, 20), ("d", 20, 40)]])
    >>> cover.passage.tolist(), cover.chunk.tolist(), cover.gained.tolist(), cover.tokens.tolist()
    ([0, 0], [0, 1], [10.0, 10.0], [20.0, 20.0])
    """
    place: dict[tuple[int, str], int] = {}  # a document of a question
    rows = [
        (place.setdefault((number, span[0]), len(place)), span[1], span[2]) if span else (-1, 0.0, 0.0)
        for part in (passages, chunks)
        for number, spans in enumerate(part)
        for span in spans
    ]
    document, start, end = np.array(rows, np.float64).reshape(-1, 3).T
    first, last, width = _cells(document, start, end)
    items = np.repeat(np.arange(len(rows)), last - first)
    cell, m = ranges(first, last - first), sum(map(len, passages))
    is_passage = items < m
    owner, leader = (
        np.full(len(width), NEVER) for _ in range(2)
    )  # the best passage, and the first chunk, of each cell
    np.minimum.at(owner, cell[is_passage], items[is_passage])
    np.minimum.at(leader, cell[~is_passage], items[~is_passage])
    length = end - start
    passage, inside = items[is_passage], cell[is_passage]
    repeats = ~is_passage & (leader[cell] < items)
    return Cover.of(
        m,
        length,
        np.bincount(passage, np.where(owner[inside] == passage, width[inside], 0.0), m).astype(np.float64),
        np.bincount(items[repeats], width[cell[repeats]], len(rows))[m:].astype(np.float64),
        passage=passage,
        by=leader[inside],
        gained=width[inside],
        owned=np.where(owner[inside] == passage, width[inside], 0.0),
    )


def _cells(document: FloatArray, start: FloatArray, end: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """For each item its first cell and the one after its last, and the width of each cell."""
    n = len(document)
    documents, places = np.tile(document, 2), np.append(start, end)
    order = np.lexsort((places, documents))
    new = np.zeros(2 * n, np.int64)
    new[1:] = (np.diff(documents[order]) != 0) | (np.diff(places[order]) != 0)
    edge = np.empty(2 * n, np.int64)
    edge[order] = np.cumsum(new)
    place = np.zeros(int(edge.max(initial=-1)) + 1)
    place[edge] = places
    return edge[:n], edge[n:], np.append(np.diff(place), 0.0)
