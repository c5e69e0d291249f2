"""Judgments as tasks get them: carried along where they are few, or next to the rows of the run where they are many."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ranklens.arrays import BoolArray, IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.mappings import under_text

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.segments import Gold

Opened = TypeVar("Opened")
InDicts: TypeAlias = Mapping[Any, Any]  # judgments or a run by query
TableOrDicts: TypeAlias = "pl.DataFrame | InDicts"

_MOST_OPENED = 4


@dataclass(frozen=True)
class Packed:
    """A table or judgments that travel with a task; Spark sends each machine one copy, and each process reads it once."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, given: TableOrDicts) -> Packed:
        """A Polars frame, or judgments by query."""
        if isinstance(given, Mapping):
            content = b"P" + pickle.dumps(given)
        else:
            buffer = io.BytesIO()
            given.write_ipc(buffer, compression="zstd")
            content = b"T" + buffer.getvalue()
        return cls(content, hashlib.sha256(content).hexdigest())

    @property
    def judgments(self) -> Carried:
        """Judgments, a table ``query, doc, grade`` or by query."""
        if self.content[:1] == b"T":
            return _opened(_JUDGMENTS, self.digest, lambda: Table(self._table()))
        return _opened(_JUDGMENTS, self.digest, lambda: Dicts(pickle.loads(self.content[1:])))  # noqa: S301  what we packed

    @property
    def table(self) -> pl.DataFrame:
        return _opened(_TABLES, self.digest, self._table)

    def _table(self) -> pl.DataFrame:
        import polars as pl

        return pl.read_ipc(io.BytesIO(self.content[1:]))


# Python processes of executors run many tasks one after the other, with the same judgments. Only a few are kept, because a session may
# evaluate many collections.
_JUDGMENTS: dict[str, Carried] = {}
_TABLES: dict[str, pl.DataFrame] = {}


def _opened(opened: dict[str, Opened], digest: str, make: Callable[[], Opened]) -> Opened:
    if digest not in opened:
        while len(opened) >= _MOST_OPENED:
            del opened[next(iter(opened))]
        opened[digest] = make()
    return opened[digest]


class Carried:
    """Judgments by query, of which a task needs those of the queries that it meets."""

    def names(self) -> Sequence[str]:
        """All judged queries."""
        raise NotImplementedError

    def codes(self, queries: pl.Series) -> IntArray:
        """The place of each of these queries among all judged ones; -1 for those that are not."""
        raise NotImplementedError

    def is_judged(self, queries: pl.Series) -> BoolArray:
        """For each of these queries."""
        return self.codes(queries) >= 0

    def some(self, queries: pl.Series) -> tuple[TableOrDicts, set[str]]:
        """The judgments of these queries, in the shape that :func:`ranklens.judge` takes; and which of them are judged."""
        raise NotImplementedError


class Table(Carried):
    """A table ``query, doc, grade``."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table.sort("query", maintain_order=True)

    @cached_property
    def _index(self) -> Gold:
        """Judged queries by number, for fast look-ups."""
        import polars as pl

        from ranklens.judging.segments import Gold

        runs = self.table["query"].rle().struct.unnest()
        counts = runs["len"].to_numpy().astype(np.int64)
        none = pl.Series(dtype=pl.String)  # documents are looked up elsewhere
        return Gold(runs["value"].to_list(), counts, none, np.zeros(0), 0, np.zeros(0, np.uint64))

    def names(self) -> Sequence[str]:
        return self._index.queries

    def codes(self, queries: pl.Series) -> IntArray:
        return self._index.codes(queries)

    def some(self, queries: pl.Series) -> tuple[pl.DataFrame, set[str]]:
        codes = self._index.codes(queries)
        rows, _ = self._index.of_queries(codes[codes >= 0])
        return self.table[rows], {*queries.to_numpy()[codes >= 0].tolist()}


class Dicts(Carried):
    """Judgments by query, also such that know more than a grade."""

    def __init__(self, judgments: InDicts) -> None:
        self.judgments = (
            judgments.under_text_ids()
            if isinstance(judgments, Judgments)
            else under_text(judgments.items(), "the queries")
        )
        self._places = {query: place for place, query in enumerate(self.judgments)}

    def names(self) -> Sequence[str]:
        return list(self.judgments)

    def codes(self, queries: pl.Series) -> IntArray:
        return np.fromiter(
            (self._places.get(query, -1) for query in queries.to_list()), np.int64, len(queries)
        )

    def some(self, queries: pl.Series) -> tuple[InDicts, set[str]]:
        wanted = [query for query in queries.to_list() if query in self.judgments]
        if not isinstance(self.judgments, Judgments):
            return {query: self.judgments[query] for query in wanted}, {*wanted}
        return self.judgments.only(wanted), {*wanted}
