"""Rankings that were judged apart, such as the shards of a large run, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from ranklens.judging.hits import Hits, Spread
from ranklens.judging.judged import Applied, Judged, TieGroups


def merge(parts: Sequence[Judged]) -> Judged:
    """One after the other; no query is in two of them, and all have the same policy."""
    queries = [query for part in parts for query in part.queries]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].tolist()
    ties = [part.ties for part in parts if part.ties is not None]
    further = None
    if any(part.further is not None for part in parts):
        none = Hits(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
        further = _joined([part.further or none for part in parts], offsets, len(queries))
    return Judged(
        queries,
        _joined([part.hits for part in parts], offsets, len(queries)),
        _joined([part.ideal for part in parts], offsets, len(queries)),
        np.concatenate([part.retrieved for part in parts]),
        max(part.max_grade for part in parts),
        parts[0].policy,
        added([part.applied for part in parts]),
        TieGroups(*_columns(ties, offsets, "start", "size")) if len(ties) == len(parts) else None,
        further=further,
        questions=tuple(questions for part in parts for questions in part.questions),
    )


def _joined(parts: Sequence[Hits], offsets: Sequence[int], n: int) -> Hits:
    spreads = [part.spread for part in parts if part.spread is not None]
    spread = None
    if len(spreads) == len(parts):
        share, start, size = zip(*((one.share, one.start, one.size) for one in spreads), strict=True)
        spread = Spread(np.concatenate(share), np.concatenate(start), np.concatenate(size))
    query, rank, grade = _columns(parts, offsets, "rank", "grade")
    return Hits(query, rank, grade, n, spread)


def _columns(parts: Sequence[Hits | TieGroups], offsets: Sequence[int], *names: str) -> list[Any]:
    """The numbers of queries, counted on from part to part, and other columns of all parts."""
    query = np.concatenate([part.query + offset for part, offset in zip(parts, offsets, strict=True)])
    return [query, *(np.concatenate([getattr(part, name) for part in parts]) for name in names)]


def added(parts: Sequence[Applied]) -> Applied:
    """What happened to all parts together."""
    counts = [field.name for field in fields(Applied) if field.name not in ("joined", "mismatch", "sources")]
    sums = {name: sum(getattr(part, name) for part in parts) for name in counts}
    joined: Literal["id", "text"] = "text" if any(part.joined == "text" for part in parts) else "id"
    mismatch = next((part.mismatch for part in parts if part.mismatch), "")
    sources = next((part.sources for part in parts if part.sources), "")
    return Applied(**sums, joined=joined, mismatch=mismatch, sources=sources)
