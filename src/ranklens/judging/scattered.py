"""Rows that are not grouped by query: sorted, and ranked a share of the queries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import IntArray
from ranklens.files.output import naming
from ranklens.files.streams import ahead
from ranklens.files.temporary import temporary_folder
from ranklens.judging.segments import Gold, Part, Ranked, rank
from ranklens.judging.walk import Tables, Walk, each, example
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

_IN_MEMORY = 1 << 29  # bytes of the run; what is more waits in temporary files
_SHARES = 64
_SMALL = 1 << 16  # numbers that 16 bits hold
_TOGETHER = 1 << 17  # rows, of several shares if these are small, that are ranked at a time


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
            size += _size(rows.table)
            if size > _IN_MEMORY:
                _spill(held, folder, spills)
                held, size, spills = [], 0.0, spills + 1
        rows_held = sum(len(rows.table) for rows in held)
        step = 1 if spills else min(_TOGETHER * _SHARES // max(rows_held, 1) + 1, _SHARES)
        shares = [range(first, min(first + step, _SHARES)) for first in range(0, _SHARES, step)]
        for parts in ahead(partial(_rank_shares, some, held, folder, gold, policy) for some in shares):
            walk.parts += parts
    return walk


def _size(table: pl.DataFrame) -> int:
    """The bytes of its rows: an id takes 16, which hold up to 12 letters. The engine's own estimate counts letters alone.

    >>> import polars as pl
    >>> [_size(pl.DataFrame({"q": pl.Series([0], dtype=pl.Int32), "doc": [doc], "score": [1.0]})) for doc in ("a", "a" * 100)]
    [28, 128]
    """
    letters = int(table["doc"].estimated_size())
    return len(table) * (4 + 8 + 16) + (letters if letters > 12 * len(table) else 0)


@dataclass(frozen=True)
class Parted:
    """The rows ``q, doc, score`` of judged queries by share of the queries; ``ends`` says where each share ends."""

    table: pl.DataFrame
    ends: Sequence[int]
    unjudged: pl.Series
    example: tuple[str, str]

    @classmethod
    def of(cls, table: pl.DataFrame, gold: Gold) -> Parted:
        """With the number of the query as ``q``."""
        import polars as pl

        runs = table["query"].rle().struct.unnest()
        codes = gold.codes(runs["value"])
        unjudged = runs["value"].filter(pl.Series(codes < 0)).unique(maintain_order=True)
        q = np.repeat(codes, runs["len"].to_numpy())
        rows = table.select(pl.Series("q", q, dtype=pl.Int32), "doc", "score")
        rows = rows.filter(pl.col("q") >= 0) if len(unjudged) else rows
        number = rows["q"].to_numpy()
        share = number // _width(gold)
        ends = np.cumsum(np.bincount(share, minlength=_SHARES)).tolist()
        # By query takes no longer, if there are so few, and may spare sorting again.
        by = number if len(gold.queries) <= _SMALL else share
        return cls(_in_order_of(by, rows), ends, unjudged, example(table))

    def rows_of(self, shares: range) -> pl.DataFrame:
        """The rows of some shares."""
        return self.table[self.ends[shares[0] - 1] if shares[0] else 0 : self.ends[shares[-1]]]


def _width(gold: Gold) -> int:
    """How many queries a share has."""
    return len(gold.queries) // _SHARES + 1


def _in_order_of(numbers: IntArray, table: pl.DataFrame) -> pl.DataFrame:
    """Sorted by small numbers, which takes a fraction of the time in 16 bits; equal ones stay in their order."""
    if (numbers[1:] >= numbers[:-1]).all():
        return table
    small = numbers.max(initial=0) < _SMALL
    order = np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")
    return table.rechunk()[order]


def _spill(held: Sequence[Parted], folder: Path, number: int) -> None:
    """Write the rows, one file per share."""
    import polars as pl

    for share in range(_SHARES):
        rows = pl.concat([rows.rows_of(range(share, share + 1)) for rows in held])
        with naming(folder):
            rows.write_ipc(folder / f"{share}-{number:06}", compression="lz4")


def _rank_shares(
    shares: range, held: Sequence[Parted], folder: Path, gold: Gold, policy: Policy
) -> list[Part]:
    """The rows in files came first, then those that are still held."""
    import polars as pl

    schema = {"q": pl.Int32, "doc": pl.String, "score": pl.Float64}
    files = [file for share in shares for file in sorted(folder.glob(f"{share}-*"))]
    tables = [*map(pl.read_ipc, files), *(rows.rows_of(shares) for rows in held)]
    table = pl.concat([pl.DataFrame(schema=schema), *tables])
    table = _in_order_of(table["q"].to_numpy() - shares[0] * _width(gold), table)
    q = table["q"].to_numpy().astype(np.int64)
    first = np.flatnonzero(np.diff(q, prepend=-1))
    lengths = np.diff(first, append=len(q))
    return rank(Ranked.of(table, q[first], lengths, gold), gold, policy)
