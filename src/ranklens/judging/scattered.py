"""One walk through the tables of a run; and rows that are not grouped by query: sorted, and ranked a share of the queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import polars as pl

from ranklens.arrays import IntArray
from ranklens.data.files.output import naming
from ranklens.data.files.streams import TableStream, ahead
from ranklens.data.files.temporary import temporary_folder
from ranklens.judging.segments import Gold, Part, Ranked, rank
from ranklens.policy import Policy

T = TypeVar("T")
Tables: TypeAlias = "TableStream | Iterable[pl.DataFrame]"
_IN_MEMORY = 1 << 29  # bytes of the run; what is more waits in temporary files
_SHARES = 64
_SMALL = 1 << 16  # numbers that 16 bits hold
_LOOKED_AT = 1 << 12  # rows that nearly always tell whether equal queries are neighbours
_TOGETHER = 1 << 16  # rows, of several shares if these are small, that are ranked at a time


@dataclass
class Walk:
    """The judged documents, the unjudged queries, and a query with a document, for messages."""

    parts: list[Part] = field(default_factory=list)
    example: tuple[str, str] = ("", "")
    _unjudged: list[pl.Series] = field(default_factory=list)

    def see(self, example: tuple[str, str], unjudged: pl.Series) -> None:
        self.example = self.example if self.example != ("", "") else example
        if len(unjudged):
            self._unjudged.append(unjudged)

    def unjudged(self) -> pl.Series:
        """Each query once, in the order of the run."""
        return pl.concat([pl.Series(dtype=pl.String), *self._unjudged]).unique(maintain_order=True)


def each(run: Tables, function: Callable[[pl.DataFrame], T]) -> Iterator[T]:
    """What the function makes of each table, in one chunk: picking rows from several takes many times as long."""
    if isinstance(run, TableStream):
        return run.map(lambda table: function(table.rechunk()))
    return (function(table.rechunk()) for table in run)


def example(table: pl.DataFrame) -> tuple[str, str]:
    """The first query and document."""
    return (table["query"][0], table["doc"][0]) if len(table) else ("", "")


def scattered(run: Tables, gold: Gold, policy: Policy) -> Walk:
    """Rank a run in one walk, whatever the order of its rows."""
    return rank_parted(each(run, partial(Parted.of, gold=gold)), gold, policy)


def rank_parted(tables: Iterable[Parted], gold: Gold, policy: Policy) -> Walk:
    """Rank the tables of a run, each of which was parted."""
    walk, spills = Walk(), 0
    held: list[Parted] = []
    size = 0.0
    with temporary_folder() as folder:
        for rows in tables:
            walk.see(rows.example, rows.unjudged)
            held.append(rows)
            size += rows.bytes
            if size > _IN_MEMORY:
                for share in range(_SHARES):
                    spilled = pl.concat([parted.rows_of(range(share, share + 1)) for parted in held])
                    with naming(folder):
                        spilled.write_ipc(folder / f"{share}-{spills:06}", compression="lz4")
                held, size, spills = [], 0.0, spills + 1
        rows_held = sum(len(rows.table) for rows in held)
        step = 1 if spills else min(_TOGETHER * _SHARES // max(rows_held, 1) + 1, _SHARES)
        shares = [range(first, min(first + step, _SHARES)) for first in range(0, _SHARES, step)]
        for parts in ahead(partial(_rank_shares, some, held, folder, gold, policy) for some in shares):
            walk.parts += parts
    return walk


@dataclass(frozen=True)
class Parted:
    """The rows ``q, doc, score`` of judged queries as they came, and their ``order`` by share of the queries; ``ends`` says where each share ends.

    Rows are picked when their share is ranked; until then, none is moved or copied.
    """

    table: pl.DataFrame
    order: pl.Series
    ends: Sequence[int]
    unjudged: pl.Series
    example: tuple[str, str]

    @property
    def bytes(self) -> int:
        """What the rows take with their places: the engine's own estimate counts the letters of ids alone, not the 16 bytes of each."""
        letters = int(self.table["doc"].estimated_size())
        rows = len(self.table)
        return rows * (4 + 4 + 8 + 16) + (letters if letters > 12 * rows else 0)

    @classmethod
    def of(cls, table: pl.DataFrame, gold: Gold) -> Parted:
        """With the number of the query as ``q``."""
        queries = table["query"]
        if 2 * len(queries[:_LOOKED_AT].rle()) > min(len(queries), _LOOKED_AT):
            codes = gold.codes(queries)
        else:  # equal neighbours are looked up once, where they are many
            runs = queries.rle().struct.unnest()
            codes = gold.codes(runs["value"]).repeat(runs["len"].to_numpy())
        rows = table.select(pl.Series("q", codes, dtype=pl.Int32), "doc", "score")
        is_unjudged = rows["q"] < 0
        unjudged = table["query"].filter(is_unjudged).unique(maintain_order=True)
        rows = rows.filter(~is_unjudged) if len(unjudged) else rows
        number = rows["q"].to_numpy()
        share = number // _width(gold)
        ends = np.cumsum(np.bincount(share, minlength=_SHARES)).tolist()
        # By query takes no longer, if there are so few, and may spare sorting again.
        by = number if len(gold.queries) <= _SMALL else share
        order = pl.Series(_order(by).astype(np.uint32))
        return cls(rows, order, ends, unjudged, example(table))

    def rows_of(self, shares: range) -> pl.DataFrame:
        """The rows of some shares."""
        return self.table[self.order[self.ends[shares[0] - 1] if shares[0] else 0 : self.ends[shares[-1]]]]


def _width(gold: Gold) -> int:
    """How many queries a share has."""
    return len(gold.queries) // _SHARES + 1


def _order(numbers: IntArray) -> IntArray:
    """Which of the numbers comes first, second and so on, where equal ones stay in their order; small ones take a fraction of the time, in 16 bits."""
    small = numbers.max(initial=0) < _SMALL
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def _rank_shares(
    shares: range, held: Sequence[Parted], folder: Path, gold: Gold, policy: Policy
) -> list[Part]:
    """The rows in files came first, then those that are still held."""
    schema = {"q": pl.Int32, "doc": pl.String, "score": pl.Float64}
    files = [file for share in shares for file in sorted(folder.glob(f"{share}-*"))]
    tables = [*map(pl.read_ipc, files), *(rows.rows_of(shares) for rows in held)]
    table = pl.concat([pl.DataFrame(schema=schema), *tables], rechunk=True)
    numbers = table["q"].to_numpy() - shares[0] * _width(gold)
    if (numbers[1:] < numbers[:-1]).any():
        table = table[_order(numbers)]
    q = table["q"].to_numpy().astype(np.int64)
    first = np.flatnonzero(np.diff(q, prepend=-1))
    lengths = np.diff(first, append=len(q))
    return rank(Ranked.of(table, q[first], lengths, gold), gold, policy)
