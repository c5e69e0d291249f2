"""A model's vectors of queries and documents, wherever they are, read and checked; and how they are compared."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from ranklens.arrays import IntArray, NumberArray
from ranklens.data.files.temporary import temporary_file
from ranklens.errors import InputError
from ranklens.models.embeddings import vector_files
from ranklens.models.embeddings.coarse import CoarseSieve, coarse_sieve
from ranklens.models.embeddings.counting import Counter, Sieve
from ranklens.models.embeddings.similarity import Similarity
from ranklens.models.embeddings.spaces import Block, Dense, LateInteraction, Opened, Space, Sparse
from ranklens.models.embeddings.vectors import (
    Documents,
    Shaped,
    SparseRows,
    as_array,
    as_matrix,
    as_tokens,
    check_rows,
    is_sparse,
    is_torch,
    kept_on_gpu,
    kind,
    refuse_bytes,
    taken,
    unpacked,
)

if TYPE_CHECKING:
    from ranklens.models.embeddings.tensors import Tensor

Blocks = Iterator[tuple[int, Documents]]  # each with the number of its first row


class Corpus(ABC, Generic[Documents]):
    """Vectors that can be read again and again: how many, of which size, and how to go through them."""

    is_addressable = True  # else some rows cost as much as all

    def __init__(self, rows: int, size: int) -> None:
        self.rows, self.size = rows, size

    def __len__(self) -> int:
        return self.rows

    @abstractmethod
    def blocks(self, step: int) -> Blocks[Documents]:
        """All of them, at most ``step`` at a time."""

    @abstractmethod
    def take(self, rows: IntArray, step: int) -> Documents:
        """The vectors of some rows, in the order asked for."""

    @abstractmethod
    def cut(self, dims: int) -> Corpus[Documents]:
        """The same with only the first numbers of each vector."""

    def ids(self) -> Sequence[object] | None:
        """What files call the documents."""
        return None


class InMemory(Corpus[Documents]):
    """Vectors that are one array, or something that is cut and indexed like one."""

    def __init__(self, array: Documents) -> None:
        super().__init__(*array.shape)
        self.array = array

    def blocks(self, step: int) -> Blocks[Documents]:
        return ((first, self.array[first : first + step]) for first in range(0, self.rows, step))

    def take(self, rows: IntArray, step: int) -> Documents:
        del step
        return self.array[rows]

    def cut(self, dims: int) -> InMemory[Documents]:
        return InMemory(self.array[:, :dims])


class InTensor(Corpus[NumberArray]):
    """A torch tensor, on any device; NumPy sees one block at a time, since it may need a copy."""

    def __init__(self, tensor: Tensor) -> None:
        rows, size = tensor.shape
        super().__init__(rows, size)
        self.tensor = tensor

    def blocks(self, step: int) -> Blocks[NumberArray]:
        return ((first, as_array(block, "documents")) for first, block in self.tensors(step))

    def tensors(self, step: int) -> Blocks[Tensor]:
        """Blocks that stay where they are."""
        return ((first, self.tensor[first : first + step]) for first in range(0, self.rows, step))

    def take(self, rows: IntArray, step: int) -> NumberArray:
        del step
        return as_array(taken(self.tensor, rows), "documents")

    def cut(self, dims: int) -> InTensor:
        return InTensor(self.tensor[:, :dims])


class PackedBits(Corpus[NumberArray]):
    """Packed bits that are unpacked where they are cut or indexed, since unpacked ones take eight times the memory."""

    def __init__(self, packed: NumberArray, size: int) -> None:
        super().__init__(len(packed), size)
        self.packed = packed

    def blocks(self, step: int) -> Blocks[NumberArray]:
        return ((first, self._bits(slice(first, first + step))) for first in range(0, self.rows, step))

    def take(self, rows: IntArray, step: int) -> NumberArray:
        del step
        return self._bits(rows)

    def cut(self, dims: int) -> PackedBits:
        return PackedBits(self.packed, dims)

    def _bits(self, rows: slice | IntArray) -> NumberArray:
        return unpacked(self.packed[rows], "documents")[:, : self.size]


class InBlocks(Corpus[NumberArray]):
    """Vectors that are read a block at a time, from files or from a function that gives them."""

    is_addressable = False

    def __init__(
        self,
        rows: int,
        size: int,
        read: Callable[[int], Blocks[NumberArray]],
        ids: Callable[[], Sequence[object]] | None = None,
    ) -> None:
        super().__init__(rows, size)
        self._read, self._ids = read, ids

    def blocks(self, step: int) -> Blocks[NumberArray]:
        end = 0
        for first, vectors in self._read(step):
            if vectors.shape[1] != self.size:
                raise InputError(
                    f"documents: the block from row {first:,} on has vectors of {vectors.shape[1]} numbers, "
                    f"the ones before of {self.size}; all must be the same."
                )
            end = first + len(vectors)
            # Rows beyond those that were counted at first have no ids, so they are refused below and never scored.
            if end > self.rows:
                break
            yield first, vectors
        if end != self.rows:
            raise InputError(
                f"documents gave {self.rows:,} vectors at first, and {'more' if end > self.rows else f'{end:,}'} when they were "
                "read again. A function that gives documents is called several times: let each call start from the first block."
            )

    def take(self, rows: IntArray, step: int) -> NumberArray:
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        parts = []
        for first, vectors in self.blocks(step):
            here = slice(*np.searchsorted(ordered, [first, first + len(vectors)]).tolist())
            if here.stop > here.start:
                parts.append(np.asarray(vectors[ordered[here] - first]))
        if not parts:
            return np.zeros((0, self.size), np.float32)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        together: NumberArray = np.concatenate(parts)[back]
        return together

    def cut(self, dims: int) -> InBlocks:
        return self.changed(lambda vectors: vectors[:, :dims], dims)

    def changed(self, change: Callable[[NumberArray], NumberArray], size: int) -> InBlocks:
        """The same with another form of each block."""
        read = self._read
        return InBlocks(
            self.rows,
            size,
            lambda step: ((first, change(vectors)) for first, vectors in read(step)),
            self._ids,
        )

    def ids(self) -> Sequence[object] | None:
        return self._ids and self._ids()


DenseCorpus: TypeAlias = InMemory[NumberArray] | InTensor | InBlocks


def open_corpus(documents: object, vectors: str | None, stack: ExitStack) -> DenseCorpus:
    """Documents as an array, a file, a folder, a list of blocks, a function that gives blocks, or an iterator of them.

    An iterator can be read only once, so it is copied to a temporary file that lasts as long as ``stack``.
    """
    if isinstance(documents, (str, os.PathLike)):
        return _files(documents, vectors)
    documents = kept_on_gpu(documents)
    if is_torch(documents):
        check_rows(documents, "documents")
        return InTensor(documents.detach())
    if callable(documents) and not isinstance(documents, Shaped):
        return _from_blocks(documents, lent=True)
    if isinstance(documents, Iterator):
        return InMemory(_spooled(documents, stack))
    if isinstance(documents, (list, tuple)) and documents:
        first = documents[0]
        if isinstance(first, Shaped) and first.ndim == 2:
            return _from_blocks(lambda: iter(documents))
    return InMemory(as_matrix(documents, "documents"))


def _files(path: str | os.PathLike[str], vectors: str | None) -> DenseCorpus:
    pieces = vector_files.pieces(os.fspath(path), vectors)
    if len(pieces) == 1 and pieces[0].path.suffix == ".npy":
        return InMemory(pieces[0].read(0, pieces[0].rows))
    readers = [piece.ids for piece in pieces if piece.ids is not None]
    ids = (lambda: [one for read in readers for one in read()]) if len(readers) == len(pieces) else None
    rows = sum(piece.rows for piece in pieces)
    return InBlocks(rows, pieces[0].size, lambda step: vector_files.rows_of(pieces, step), ids)


def _from_blocks(start: Callable[[], Iterable[object]], *, lent: bool = False) -> InBlocks:
    """Blocks that are ``lent`` are copied: the function may fill the same memory again, and several are worked on at a time."""

    def read(step: int) -> Blocks[NumberArray]:
        before = 0
        for vectors in _matrices(start()):
            for first in range(0, len(vectors), step):
                part = vectors[first : first + step]
                yield before + first, part.copy() if lent else part
            before += len(vectors)

    rows = size = 0
    for vectors in _matrices(start()):
        rows, size = rows + len(vectors), size or vectors.shape[1]
    return InBlocks(rows, size, read)


def _matrices(blocks: Iterable[object]) -> Iterator[NumberArray]:
    return (as_matrix(block, "documents: a block") for block in blocks)


def _spooled(blocks: Iterable[object], stack: ExitStack) -> NumberArray:
    place = stack.enter_context(temporary_file())
    rows = 0
    first: NumberArray = np.zeros((0, 0), np.float32)
    with place.open("wb") as file:
        for vectors in _matrices(blocks):
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


def as_numbers(corpus: DenseCorpus) -> DenseCorpus:
    """Documents that are compared as numbers, and not bit by bit."""

    def checked(block: NumberArray) -> NumberArray:
        refuse_bytes(block, "documents")
        return block

    if isinstance(corpus, InBlocks):
        return corpus.changed(checked, corpus.size)
    refuse_bytes(_together(corpus), "documents")
    return corpus


def as_bits(corpus: DenseCorpus, like: str) -> InBlocks | PackedBits:
    """Documents of packed bits, unpacked a block at a time; ``like`` is the type of the queries' bytes."""

    def unpack(block: NumberArray) -> NumberArray:
        bits = unpacked(block, "documents")
        if kind(block) != like:
            raise InputError(
                f"queries contains {like}, documents {kind(block)}: bits are packed differently in these (precision='ubinary' and 'binary'). "
                "Encode both with the same precision."
            )
        return bits

    if isinstance(corpus, InBlocks):
        return corpus.changed(unpack, 8 * corpus.size)
    packed = as_array(_together(corpus), "documents")
    unpack(packed[:0])  # refuses other numbers before the work
    return PackedBits(packed, 8 * corpus.size)


def _together(corpus: InMemory[NumberArray] | InTensor) -> NumberArray | Tensor:
    return corpus.tensor if isinstance(corpus, InTensor) else corpus.array


@dataclass(frozen=True)
class Model(Generic[Documents, Block]):
    """Queries, documents, and how they are compared; ``make`` takes some of the queries."""

    queries: Any  # as they are given to `make`: an array, a tensor, sparse rows or tokens
    corpus: Corpus[Documents]
    make: Callable[[Any], Space[Documents, Block]]
    documents_at_once: int = 16_384

    @property
    def rows(self) -> int:
        return int(self.queries.shape[0])

    def chosen(self, rows: IntArray) -> Any:
        """Some of the queries; all of them in their order need no copy."""
        if len(rows) == self.rows and (rows == np.arange(self.rows)).all():
            return self.queries
        return taken(self.queries, rows)

    def space(self, rows: IntArray) -> Space[Documents, Block]:
        """Some of the queries, ready to be compared."""
        return self.make(self.chosen(rows))

    def sieve(self, counter: Counter[Documents, Block], *, asked: bool) -> Sieve[Documents, Block] | None:
        """A first look at coarse scores, where that is worth it; ``asked`` loads torch for it."""
        del counter, asked
        return None

    def cut(self, dims: int) -> Model[Documents, Block]:
        """The same with only the first numbers of each vector."""
        return replace(self, queries=self.queries[:, :dims], corpus=self.corpus.cut(dims))


@dataclass(frozen=True)
class DenseModel(Model[NumberArray, Opened]):
    """One vector for each query and document, perhaps on a GPU."""

    similarity: Similarity = "dot"

    @property
    def tensor(self) -> Tensor | None:
        """The documents, where they are a tensor."""
        return self.corpus.tensor if isinstance(self.corpus, InTensor) else None

    def sieve(self, counter: Counter[NumberArray, Opened], *, asked: bool) -> CoarseSieve | None:
        return coarse_sieve(counter, len(self.corpus), asked=asked)


def read_model(
    queries: object, documents: object, similarity: Similarity, vectors: str | None, stack: ExitStack
) -> Model[Any, Any]:
    """Vectors of any kind; ``stack`` holds temporary files as long as they are needed."""
    model: Model[Any, Any]
    if similarity == "maxsim":
        of_documents, of_queries = as_tokens(documents, "documents"), as_tokens(queries, "queries")
        refuse_bytes(of_queries.vectors, "queries")
        refuse_bytes(of_documents.vectors, "documents")
        model = Model(of_queries, InMemory(of_documents), LateInteraction, documents_at_once=256)
    elif is_sparse(documents) or is_sparse(queries):
        if similarity == "hamming":
            raise InputError(
                "similarity='hamming' compares packed bits; choose another one for sparse vectors."
            )
        rows = InMemory(_sparse(documents))
        model = Model(_sparse(queries), rows, lambda some: Sparse(some, similarity))
    else:
        model = _dense(queries, documents, similarity, vectors, stack)
    size = model.queries.shape[1]
    if model.rows and len(model.corpus) and size != model.corpus.size:
        raise InputError(
            f"queries have vectors of {size} numbers, documents of {model.corpus.size}; "
            "both must come from the same model."
        )
    return model


def _dense(
    queries: object, documents: object, similarity: Similarity, vectors: str | None, stack: ExitStack
) -> DenseModel:
    corpus = open_corpus(documents, vectors, stack)
    queries = kept_on_gpu(queries)
    rows = queries if is_torch(queries) else as_matrix(queries, "queries")
    check_rows(rows, "queries")
    if similarity == "hamming":  # of zeros and ones, the squared distance is the number of bits that differ
        bits = unpacked(rows, "queries")
        return DenseModel(
            bits, as_bits(corpus, kind(rows)), lambda some: Dense(some, "euclidean"), similarity="euclidean"
        )
    refuse_bytes(rows, "queries")

    def make(some: Tensor | NumberArray) -> Dense:
        return Dense(as_array(some, "queries"), similarity)

    return DenseModel(rows, as_numbers(corpus), make, similarity=similarity)


def _sparse(rows: object) -> SparseRows:
    if is_sparse(rows):
        return rows.tocsr()
    from scipy.sparse import csr_array

    sparse: SparseRows = csr_array(as_matrix(rows, "vectors"))
    return sparse
