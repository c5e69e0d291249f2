"""What is found on the way through the tables of a run, whether their rows are grouped by query or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ranklens.data.files.streams import TableStream
from ranklens.judging.segments import Part

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Tables: TypeAlias = "TableStream | Iterable[pl.DataFrame]"


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
        import polars as pl

        return pl.concat([pl.Series(dtype=pl.String), *self._unjudged]).unique(maintain_order=True)


def each(run: Tables, function: Callable[[pl.DataFrame], T]) -> Iterator[T]:
    """What the function makes of each table, in one chunk: picking rows from several takes many times as long."""
    if isinstance(run, TableStream):
        return run.map(lambda table: function(table.rechunk()))
    return (function(table.rechunk()) for table in run)


def example(table: pl.DataFrame) -> tuple[str, str]:
    """The first query and document."""
    return (table["query"][0], table["doc"][0]) if len(table) else ("", "")
