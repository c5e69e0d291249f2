"""Tables that are too large to hold: read one after the other, worked on in threads, walked as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ranklens.errors import InputError
from ranklens.files.ahead import ahead

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
ReadTable: TypeAlias = "Callable[[], pl.DataFrame]"


@dataclass(frozen=True)
class TableStream:
    """The tables of a file: its name for messages, and how to read each of them."""

    name: str
    tables: Callable[[], Iterator[ReadTable]]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return self.map(lambda table: table)

    def map(self, function: Callable[[pl.DataFrame], T]) -> Iterator[T]:
        """What the function makes of each table, in order; it runs in the thread that has read the table."""
        rows = 0
        for count, result in ahead(partial(_apply, function, read) for read in self.tables()):
            rows += count
            yield result
        if not rows:
            raise InputError(f"{self.name}: the file holds no line of data.")

    def then(self, function: Callable[[pl.DataFrame], pl.DataFrame]) -> TableStream:
        """The same with each table changed."""
        return TableStream(self.name, lambda: (partial(_changed, function, read) for read in self.tables()))


def _changed(function: Callable[[pl.DataFrame], pl.DataFrame], read: ReadTable) -> pl.DataFrame:
    return function(read())


def _apply(function: Callable[[pl.DataFrame], T], read: ReadTable) -> tuple[int, T]:
    table = read()
    return len(table), function(table)
