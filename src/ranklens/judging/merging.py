"""Rankings that were judged apart, such as the shards of a large run, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Literal

import numpy as np

from ranklens.judging.hits import Hits, Spread
from ranklens.judging.judged import Applied, Judged, TieGroups


def merge(parts: Sequence[Judged]) -> Judged:
    """One after the other; no query is in two of them, and all have the same policy."""
    queries = [query for part in parts for query in part.queries]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].tolist()
    return Judged(
        queries,
        _joined([part.hits for part in parts], offsets, len(queries)),
        _joined([part.ideal for part in parts], offsets, len(queries)),
        np.concatenate([part.retrieved for part in parts]),
        max(part.max_grade for part in parts),
        parts[0].policy,
        added([part.applied for part in parts]),
        _ties([part.ties for part in parts], offsets),
        further=_further(parts, offsets, len(queries)),
        questions=tuple(questions for part in parts for questions in part.questions),
    )


def _further(parts: Sequence[Judged], offsets: Sequence[int], n: int) -> Hits | None:
    if all(part.further is None for part in parts):
        return None
    none = Hits(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
    return _joined([part.further or none for part in parts], offsets, n)


def _joined(parts: Sequence[Hits], offsets: Sequence[int], n: int) -> Hits:
    query = np.concatenate([part.query + offset for part, offset in zip(parts, offsets, strict=True)])
    spreads = [part.spread for part in parts if part.spread is not None]
    spread = None
    if len(spreads) == len(parts):
        spread = Spread(
            np.concatenate([one.share for one in spreads]),
            np.concatenate([one.start for one in spreads]),
            np.concatenate([one.size for one in spreads]),
        )
    ranks, grades = (
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.grade for part in parts]),
    )
    return Hits(query, ranks, grades, n, spread)


def _ties(parts: Sequence[TieGroups | None], offsets: Sequence[int]) -> TieGroups | None:
    known = [(ties, offset) for ties, offset in zip(parts, offsets, strict=True) if ties is not None]
    if len(known) < len(parts):
        return None
    return TieGroups(
        np.concatenate([ties.query + offset for ties, offset in known]),
        np.concatenate([ties.start for ties, _ in known]),
        np.concatenate([ties.size for ties, _ in known]),
    )


def added(parts: Sequence[Applied]) -> Applied:
    """What happened to all parts together."""
    counts = [field.name for field in fields(Applied) if field.name not in ("joined", "mismatch", "sources")]
    sums = {name: sum(getattr(part, name) for part in parts) for name in counts}
    joined: Literal["id", "text"] = "text" if any(part.joined == "text" for part in parts) else "id"
    return Applied(
        **sums,
        joined=joined,
        mismatch=next((part.mismatch for part in parts if part.mismatch), ""),
        sources=next((part.sources for part in parts if part.sources), ""),
    )
