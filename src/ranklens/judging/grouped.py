"""Rows that are grouped by query: each query is ranked once its last row has been read, and then forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import IntArray
from ranklens.judging.scattered import Parted, rank_parted
from ranklens.judging.segments import Gold, Part, Ranked, rank
from ranklens.judging.walk import Tables, Walk, each, example
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

_LOOKED_AT = 1 << 12  # rows that nearly always tell whether a table is grouped by query
_WAITING = 1 << 21  # rows of queries at the edges of tables that wait before they are ranked together


@dataclass(frozen=True)
class _Piece:
    """One table of the run, ranked but for the judged queries at its edges, which may continue in other tables."""

    codes: IntArray  # of all its queries, in order
    edges: list[tuple[int, pl.DataFrame]]
    parts: list[Part]
    unjudged: pl.Series
    example: tuple[str, str]


@dataclass
class _Work:
    """What is done with a table: it is ranked, or, from the first one on in which a query reappears, parted."""

    gold: Gold
    policy: Policy
    is_grouped: bool = True

    def __call__(self, table: pl.DataFrame) -> _Piece | Parted:
        piece = _rank_inner(table, self.gold, self.policy) if self.is_grouped else None
        if piece is not None:
            return piece
        self.is_grouped = False
        return Parted.of(table, self.gold)


class _Mixed(Exception):  # noqa: N818  never leaves this module
    """Some tables were ranked before one was seen in which a query reappears."""


def _all_parted(pieces: Iterable[_Piece | Parted]) -> Iterator[Parted]:
    for piece in pieces:
        if not isinstance(piece, Parted):
            raise _Mixed
        yield piece


def in_order(run: Tables, gold: Gold, policy: Policy) -> Walk | None:
    """Each query once its last row has been read; None if one reappears later, and the run has to be read again."""
    pieces = each(run, _Work(gold, policy))
    first = next(pieces, None)
    if isinstance(first, Parted):  # rows in any order mostly show it from the beginning
        with suppress(_Mixed):
            return rank_parted(_all_parted(chain([first], pieces)), gold, policy)
        return None
    walk, seen = Walk(), np.zeros(len(gold.queries), dtype=bool)
    waiting: list[pl.DataFrame] = []  # the rows of queries at the edges of tables; the last one may continue
    last = -1
    for piece in chain([first] if first else [], pieces):
        if isinstance(piece, Parted):
            return None
        if not len(piece.codes):
            continue
        walk.see(piece.example, piece.unjudged)
        walk.parts += piece.parts
        begun = piece.codes[1:] if piece.codes[0] == last else piece.codes
        begun = begun[begun >= 0]
        if seen[begun].any():
            return None
        seen[begun] = True
        for code, rows in piece.edges:
            if code != last and sum(map(len, waiting)) > _WAITING:
                walk.parts += _rank_waiting(waiting, gold, policy)
                waiting = []
            waiting.append(rows)
            last = code
        last = int(piece.codes[-1])
    walk.parts += _rank_waiting(waiting, gold, policy)
    return walk


def _rank_inner(table: pl.DataFrame, gold: Gold, policy: Policy) -> _Piece | None:
    """Rank all queries of a table but the first and the last; None if one reappears in it."""
    import polars as pl

    if _reappears(table["query"][:_LOOKED_AT].rle().struct.field("value")):
        return None  # before any work that would be for nothing
    runs = table["query"].rle().struct.unnest()
    names, lengths = runs["value"], runs["len"].to_numpy().astype(np.int64)
    if _reappears(names):
        return None
    codes = gold.codes(names)
    unjudged = names.filter(pl.Series(codes < 0))
    ends = np.cumsum(lengths)
    edges = [
        (int(codes[i]), _rows(table, int(ends[i] - lengths[i]), int(ends[i])))
        for i in sorted({0, len(names) - 1})
        if len(names) and codes[i] >= 0
    ]
    parts = []
    if len(names) > 2:
        inner = table[int(ends[0]) : int(ends[-2])]
        parts = rank(Ranked.of(inner, codes[1:-1], lengths[1:-1], gold), gold, policy)
    return _Piece(codes, edges, parts, unjudged, example(table))


def _reappears(runs: pl.Series) -> bool:
    return runs.n_unique() < len(runs)


def _rows(table: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """Some rows; copied where they are few, because a slice would keep the whole table in memory."""
    import polars as pl

    rows = table[start:stop]
    if 2 * (stop - start) > len(table):
        return rows
    return pl.DataFrame(rows.to_dict(as_series=False), schema=rows.schema)


def _rank_waiting(tables: list[pl.DataFrame], gold: Gold, policy: Policy) -> list[Part]:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *tables])
    runs = table["query"].rle().struct.unnest()
    lengths = runs["len"].to_numpy().astype(np.int64)
    return rank(Ranked.of(table, gold.codes(runs["value"]), lengths, gold), gold, policy)
