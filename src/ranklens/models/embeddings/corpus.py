"""The documents' vectors, wherever they are, a block of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.data.files.temporary import temporary_file
from ranklens.errors import InputError
from ranklens.models.embeddings import host, vector_files


@dataclass(frozen=True)
class Corpus:
    """Vectors that can be read again and again: how many, of which size, and how to go through them."""

    rows: int
    size: int
    read: Callable[
        [int], Iterator[tuple[int, Any]]
    ]  # blocks of so many rows, each with the number of its first row
    ids: Callable[[], Sequence[Any]] | None = None  # as far as the files name the documents
    whole: Any = None  # all vectors, where they are one array
    tensor: Any = None  # the same as a torch tensor, where that is what was given

    def __len__(self) -> int:
        return self.rows

    def blocks(self, step: int) -> Iterator[tuple[int, Any]]:
        end = 0
        for first, vectors in self.read(step):
            if vectors.shape[1] != self.size:
                raise InputError(
                    f"documents: the block from row {first:,} on has vectors of {vectors.shape[1]} numbers, "
                    f"the ones before of {self.size}; all must be the same."
                )
            end = first + vectors.shape[0]
            if end > self.rows:
                break
            yield first, vectors
        if end != self.rows:
            raise InputError(
                f"documents gave {self.rows:,} vectors at first, and {'more' if end > self.rows else f'{end:,}'} when they were "
                "read again. A function that gives documents is called several times: let each call start from the first block."
            )

    def raw(self, step: int) -> Iterator[tuple[int, Any]]:
        """Blocks as they were given: tensors stay what they are."""
        if self.tensor is None:
            return self.blocks(step)
        tensor = self.tensor
        return ((first, tensor[first : first + step]) for first in range(0, self.rows, step))

    def take(self, rows: IntArray, step: int, *, raw: bool = False) -> Any:
        """The vectors of some rows, in the order asked for; ``raw`` leaves a tensor what it is."""
        if self.whole is not None:
            return self.whole[rows]
        if self.tensor is not None:
            found = self.tensor[host.rows_for(self.tensor, rows)]
            return found if raw else host.as_array(found, "documents")
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        parts = []
        for first, vectors in self.blocks(step):
            here = slice(*np.searchsorted(ordered, [first, first + vectors.shape[0]]).tolist())
            if here.stop > here.start:
                parts.append(np.asarray(vectors[ordered[here] - first]))
        if not parts:
            return np.zeros((0, self.size), np.float32)
        found = np.concatenate(parts)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found[back]

    def cut(self, dims: int) -> Corpus:
        """The same with only the first numbers of each vector."""
        read = self.read
        return Corpus(
            self.rows,
            dims,
            lambda step: ((first, vectors[:, :dims]) for first, vectors in read(step)),
            self.ids,
            None if self.whole is None else self.whole[:, :dims],
            None if self.tensor is None else self.tensor[:, :dims],
        )


def open_corpus(documents: Any, vectors: str | None, keep: Callable[[Iterable[Any]], Any]) -> Corpus:
    """Documents as an array, a file, a folder, a list of blocks, a function that gives blocks, or an iterator of them.

    An iterator can be read only once, so ``keep`` copies it to where it can be read again.
    """
    if isinstance(documents, (str, os.PathLike)):
        return _files(documents, vectors)
    documents = host.kept_on_gpu(documents)
    if host.is_torch(documents):
        return _tensor(documents)
    if callable(documents) and not hasattr(documents, "__array__"):
        return _blocks(documents, lent=True)
    if isinstance(documents, Iterator):
        return as_corpus(keep(documents))
    if isinstance(documents, (list, tuple)) and documents and getattr(documents[0], "ndim", 0) == 2:
        return _blocks(lambda: iter(documents))
    return as_corpus(host.as_matrix(documents, "documents"))


def as_corpus(array: Any) -> Corpus:
    """Vectors that are one array, or something that is cut and indexed like one."""

    def read(step: int) -> Iterator[tuple[int, Any]]:
        return ((first, array[first : first + step]) for first in range(0, array.shape[0], step))

    rows, size = array.shape
    return Corpus(rows, size, read, whole=array)


def _tensor(tensor: Any) -> Corpus:
    """A torch tensor, on any device; NumPy sees one block at a time, since it may need a copy."""
    host.check_rows(tensor, "documents")
    tensor = tensor.detach()

    def read(step: int) -> Iterator[tuple[int, Any]]:
        starts = range(0, len(tensor), step)
        return ((first, host.as_array(tensor[first : first + step], "documents")) for first in starts)

    rows, size = tensor.shape
    return Corpus(rows, size, read, tensor=tensor)


def _files(path: str | os.PathLike[str], vectors: str | None) -> Corpus:
    found = vector_files.pieces(os.fspath(path), vectors)
    if len(found) == 1 and found[0].path.suffix == ".npy":
        return as_corpus(found[0].read(0, found[0].rows))
    readers = [piece.ids for piece in found if piece.ids is not None]
    ids = (lambda: [one for read in readers for one in read()]) if len(readers) == len(found) else None
    return Corpus(
        sum(piece.rows for piece in found), found[0].size, lambda step: vector_files.rows_of(found, step), ids
    )


def _blocks(start: Callable[[], Iterable[Any]], *, lent: bool = False) -> Corpus:
    """Blocks that are ``lent`` are copied: whoever gives them may fill the same memory again, and several are worked on at a time."""

    def read(step: int) -> Iterator[tuple[int, Any]]:
        before = 0
        for vectors in _matrices(start()):
            for first in range(0, vectors.shape[0], step):
                part = vectors[first : first + step]
                yield before + first, part.copy() if lent else part
            before += vectors.shape[0]

    rows = size = 0
    for vectors in _matrices(start()):
        rows, size = rows + vectors.shape[0], size or vectors.shape[1]
    return Corpus(rows, size, read)


def _matrices(blocks: Iterable[Any]) -> Iterator[Any]:
    return (host.as_matrix(block, "documents: a block") for block in blocks)


def spool(blocks: Iterable[Any], stack: ExitStack) -> Any:
    """Blocks that come only once, copied to a temporary file that lasts as long as ``stack``."""
    place = stack.enter_context(temporary_file())
    rows, first = 0, np.zeros((0, 0), np.float32)
    with place.open("wb") as file:
        for block in blocks:
            vectors = host.as_matrix(block, "documents: a block")
            if rows and (vectors.shape[1] != first.shape[1] or vectors.dtype != first.dtype):
                raise InputError(
                    f"documents: the block from row {rows:,} on has vectors of {vectors.shape[1]} {vectors.dtype}, "
                    f"the first of {first.shape[1]} {first.dtype}; all must be the same."
                )
            first = first if rows else vectors[:0]
            np.ascontiguousarray(vectors).tofile(file)
            rows += len(vectors)
    if not rows:
        raise InputError(
            "documents gave no vectors. An iterator can be read only once; to use it again, pass a list, or a function that starts it."
        )
    return np.memmap(place, first.dtype, "r", shape=(rows, first.shape[1]))
