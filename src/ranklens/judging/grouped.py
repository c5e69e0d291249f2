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
    first: pl.DataFrame  # the rows of the first query, none if it is unjudged
    last: pl.DataFrame  # those of the last one, if there are two
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
    edges, last = _Edges(gold, policy), -1
    for piece in chain([first] if first else [], pieces):
        if isinstance(piece, Parted):
            return None
        if not len(piece.codes):
            continue
        walk.see(piece.example, piece.unjudged)
        continues = piece.codes[0] == last
        begun = piece.codes[1:] if continues else piece.codes
        begun = begun[begun >= 0]
        if seen[begun].any():
            return None
        seen[begun] = True
        if not continues and edges.are_many:
            walk.parts += edges.rank()
        edges.add(piece.first)
        if piece.parts or (
            edges.are_many and len(piece.codes) > 1
        ):  # so that parts are in the order of the run
            walk.parts += edges.rank()
        walk.parts += piece.parts
        edges.add(piece.last)
        last = int(piece.codes[-1])
    walk.parts += edges.rank()
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

    def rows_of(number: int) -> pl.DataFrame:
        judged = 0 <= number < len(names) and codes[number] >= 0
        return _rows(table, int(ends[number] - lengths[number]), int(ends[number])) if judged else table[:0]

    parts = []
    if len(names) > 2:
        inner = table[int(ends[0]) : int(ends[-2])]
        parts = rank(Ranked.of(inner, codes[1:-1], lengths[1:-1], gold), gold, policy)
    last = rows_of(len(names) - 1 if len(names) > 1 else -1)
    return _Piece(codes, rows_of(0), last, parts, unjudged, example(table))


def _reappears(runs: pl.Series) -> bool:
    return runs.n_unique() < len(runs)


def _rows(table: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """Some rows; copied where they are few, because a slice would keep the whole table in memory."""
    import polars as pl

    rows = table[start:stop]
    if 2 * (stop - start) > len(table):
        return rows
    return pl.DataFrame(rows.to_dict(as_series=False), schema=rows.schema)


class _Edges:
    """The rows of judged queries at the edges of tables, in the order of the run; the last query may continue."""

    def __init__(self, gold: Gold, policy: Policy) -> None:
        self._gold, self._policy = gold, policy
        self._tables: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, table: pl.DataFrame) -> None:
        if len(table):
            self._tables.append(table)
            self._rows += len(table)

    @property
    def are_many(self) -> bool:
        return self._rows > _WAITING

    def rank(self) -> list[Part]:
        """All queries, which are complete; they are forgotten then."""
        import polars as pl

        schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
        table = pl.concat([pl.DataFrame(schema=schema), *self._tables])
        self._tables, self._rows = [], 0
        runs = table["query"].rle().struct.unnest()
        lengths = runs["len"].to_numpy().astype(np.int64)
        ranked = Ranked.of(table, self._gold.codes(runs["value"]), lengths, self._gold)
        return rank(ranked, self._gold, self._policy)
