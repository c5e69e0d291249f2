"""Which documents belong to which query: ids, sizes, offsets, or the rows of two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings import host


@dataclass(frozen=True)
class Groups:
    """How a user says which documents belong to which query."""

    queries: Any
    sizes: Any
    offsets: Any
    names: Sequence[Any] | None

    def read(self, count: int) -> tuple[IntArray, Sequence[str]]:
        """The number of each document's query, and the names of the queries."""
        if self.sizes is not None:
            return self._from_sizes(_whole(self.sizes, "sizes"), count, "sizes")
        if self.offsets is not None:
            return self._from_offsets(_whole(self.offsets, "offsets"), count)
        if self.queries is None:
            raise InputError(
                "Flat scores need queries: the query of each document, the number of documents of each query, or the "
                "offsets where queries start."
            )
        listed, given = host.as_list(self.queries, "queries"), _maybe_whole(self.queries)
        if len(listed) == count:
            return _from_ids(listed)
        if (
            given is not None
            and len(given) > 1
            and given[0] == 0
            and given[-1] == count
            and (np.diff(given) >= 0).all()
        ):
            return self._from_offsets(given, count)
        if given is not None and (given >= 0).all():
            return self._from_sizes(given, count, "queries")
        raise InputError(
            f"queries has {len(listed):,} entries for {count:,} documents: pass the query of each document, sizes that add up to "
            f"{count:,}, or offsets from 0 to {count:,}."
        )

    def _from_sizes(self, sizes: IntArray, count: int, what: str) -> tuple[IntArray, Sequence[str]]:
        if (sizes < 0).any() or sizes.sum() != count:
            raise InputError(
                f"{what}: the sizes of {len(sizes):,} queries add up to {sizes.sum():,}, but there are {count:,} documents."
            )
        return np.repeat(np.arange(len(sizes)), sizes), _named(self.names, len(sizes))

    def _from_offsets(self, offsets: IntArray, count: int) -> tuple[IntArray, Sequence[str]]:
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 0).any():
            raise InputError(f"offsets must rise from 0 to {count:,}, the number of documents.")
        return self._from_sizes(np.diff(offsets), count, "offsets")

    def are_named(self, shape: tuple[int, ...]) -> bool:
        """Whether the queries of scores of this shape have names, rather than only numbers."""
        if self.names is not None or self.queries is None:
            return self.names is not None
        are_ids = len(shape) == 2 or len(host.as_list(self.queries, "queries")) == shape[0]
        return are_ids and self.sizes is None and self.offsets is None

    def columns(self, shape: tuple[int, int]) -> tuple[IntArray, Sequence[str]]:
        """Two dimensions: one row per query."""
        names = self.names if self.names is not None else self.queries
        return np.repeat(np.arange(shape[0]), shape[1]), _named(names, shape[0])


def _from_ids(ids: Sequence[Any]) -> tuple[IntArray, Sequence[str]]:
    """Queries are numbered as they first appear, whether their documents stand together or not."""
    numbers: dict[Any, int] = {}
    query = np.fromiter((numbers.setdefault(one, len(numbers)) for one in ids), np.int64, len(ids))
    return query, [str(one) for one in numbers]


def _named(names: Sequence[Any] | None, count: int) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(count)]
    if isinstance(names, str):
        raise InputError(
            f"queries={names!r} is a text, not a list of ids; name measures with measures={names!r}."
        )
    listed = host.as_list(names, "query_ids")
    if len(listed) != count:
        raise InputError(f"{len(listed):,} ids were given for {count:,} queries; pass one for each.")
    return [str(one) for one in listed]


def _maybe_whole(values: Any) -> IntArray | None:
    try:
        array = host.as_array(values, "queries")
    except InputError:
        return None
    return array.astype(np.int64) if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) else None


def _whole(values: Any, what: str) -> IntArray:
    found = _maybe_whole(values)
    if found is None:
        raise InputError(f"{what} must be whole numbers, one row of them.")
    return found
