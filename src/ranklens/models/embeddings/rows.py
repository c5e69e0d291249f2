"""Scores and labels in arrays, and which documents belong to which query, read once: after that they are :class:`Rows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import FloatArray, IntArray, NumberArray
from ranklens.errors import InputError
from ranklens.models.embeddings.vectors import as_array, as_list, is_torch, kept_on_gpu, on_gpu, taken

if TYPE_CHECKING:
    from ranklens.models.embeddings.tensors import Tensor


@dataclass(frozen=True)
class Rows:
    """Documents one after the other: their query, score and label. Scores stay where they are, perhaps on a GPU."""

    query: IntArray
    score: NumberArray | Tensor
    label: FloatArray
    queries: Sequence[str]
    docs: Sequence[object] | IntArray | None = None  # names by row
    # Judged documents without a score: their queries and grades.
    unscored_query: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    unscored: FloatArray = field(default_factory=lambda: np.zeros(0))
    absent: int = 0  # judged queries without any score, which are the last ones
    unjudged: Sequence[str] = ()  # queries with scores that are not judged, which are left out

    def doc(self, row: int) -> str:
        return str(row) if self.docs is None else str(self.docs[row])

    def host_scores(self) -> FloatArray:
        return np.asarray(as_array(self.score, "scores"), np.float64)


@dataclass(frozen=True)
class Groups:
    """How a user says which documents belong to which query."""

    queries: object
    sizes: object
    offsets: object
    names: Sequence[object] | None

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
        listed, numbers = as_list(self.queries, "queries"), _maybe_whole(self.queries)
        # As many entries as documents are ids, whatever they add up to. They are numbered as they first appear, since the documents
        # of a query need not stand together.
        if len(listed) == count:
            number: dict[object, int] = {}
            query = np.fromiter((number.setdefault(one, len(number)) for one in listed), np.int64, count)
            return query, [str(one) for one in number]
        if numbers is not None and (numbers >= 0).all():
            from_0_to_count = len(numbers) > 1 and numbers[0] == 0 and numbers[-1] == count
            if from_0_to_count and (np.diff(numbers) >= 0).all():
                return self._from_offsets(numbers, count)
            return self._from_sizes(numbers, count, "queries")
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
        are_ids = len(shape) == 2 or len(as_list(self.queries, "queries")) == shape[0]
        return are_ids and self.sizes is None and self.offsets is None

    def columns(self, queries: int, documents: int) -> tuple[IntArray, Sequence[str]]:
        """Two dimensions: one row per query."""
        names = self.names if self.names is not None else self.queries
        return np.repeat(np.arange(queries), documents), _named(names, queries)


def _named(names: object, count: int) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(count)]
    if isinstance(names, str):
        raise InputError(
            f"queries={names!r} is a text, not a list of ids; name measures with measures={names!r}."
        )
    listed = as_list(names, "query_ids")
    if len(listed) != count:
        raise InputError(f"{len(listed):,} ids were given for {count:,} queries; pass one for each.")
    return [str(one) for one in listed]


def _maybe_whole(values: object) -> IntArray | None:
    try:
        array = as_array(values, "queries")
    except InputError:
        return None
    return array.astype(np.int64) if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) else None


def _whole(values: object, what: str) -> IntArray:
    numbers = _maybe_whole(values)
    if numbers is None:
        raise InputError(f"{what} must be whole numbers, one row of them.")
    return numbers


def flat(given_scores: object, labels: object, mask: object, groups: Groups) -> Rows:
    """Scores and labels as rows, whatever their shape."""
    given_scores = kept_on_gpu(given_scores)
    stays = is_torch(given_scores) and on_gpu(given_scores)
    scores = given_scores if is_torch(given_scores) and stays else as_array(given_scores, "scores")
    label = np.asarray(as_array(labels, "labels"), np.float64)
    if tuple(scores.shape) != label.shape:
        raise InputError(
            f"scores have the shape {tuple(scores.shape)}, labels {label.shape}; both must be the same."
        )
    if label.ndim not in (1, 2):
        raise InputError(
            f"scores have {label.ndim} dimensions; pass one number per document, or one row per query."
        )
    if label.ndim == 1 and mask is None:
        query, names = groups.read(len(label))
        return Rows(query, scores, label, names)
    if label.ndim == 1:
        raise InputError("mask is for scores of two dimensions; leave out the documents that do not count.")
    query, names = groups.columns(*label.shape)
    shown = np.ones(label.shape, bool) if mask is None else as_array(mask, "mask").astype(bool)
    if shown.shape != label.shape:
        raise InputError(f"mask has the shape {shown.shape}, scores {label.shape}; both must be the same.")
    grade = label.reshape(-1)
    rows, hidden = np.flatnonzero(shown), np.flatnonzero(~shown.reshape(-1) & (grade > 0))
    columns = (np.arange(label.size) % max(label.shape[1], 1))[rows]
    score = taken(scores.reshape(-1), rows)
    return Rows(query[rows], score, grade[rows], names, columns, query[hidden], grade[hidden])
