"""How queries and documents are compared: dense vectors, sparse ones, or one vector per token.

A space scores a block of documents for some queries, fast, says how far off these scores may be, and scores single pairs exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from threading import local
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ranklens.arrays import FloatArray, IntArray, NumberArray
from ranklens.models.embeddings import similarity as dense
from ranklens.models.embeddings.similarity import Prepared, Similarity
from ranklens.models.embeddings.vectors import Documents_contra, SparseRows, Tokens

Block = TypeVar("Block")  # of documents, ready for the products

_TOKEN_QUERIES = 32  # queries of many tokens that are scored at once


@dataclass(frozen=True)
class ScoreBlock:
    """The scores of some queries (rows) with some documents (columns); exact + shift is within margin of them."""

    values: NumberArray
    shift: FloatArray
    margin: FloatArray


class Space(Protocol[Documents_contra, Block]):
    """Queries, ready to be compared with blocks of documents."""

    def __len__(self) -> int: ...

    def open(self, documents: Documents_contra) -> Block:
        """A block of documents, prepared once for all queries."""

    def scores(self, block: Block, rows: IntArray) -> ScoreBlock:
        """The scores of some queries with all documents of a block."""

    def exact(self, documents: Documents_contra, query: IntArray, doc: IntArray) -> FloatArray:
        """The exact scores of pairs: rows of the queries, and rows of the documents given here."""


class NotFiniteError(Exception):
    """A vector that holds NaN or infinity: which of the rows."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def refuse_infinite(norms: FloatArray) -> None:
    """Raise for the first vector whose length is not a number."""
    for row in np.flatnonzero(~np.isfinite(norms))[:1].tolist():
        raise NotFiniteError(row)


@dataclass(frozen=True)
class Opened:
    """A block of dense documents; ``double`` where float32 might overflow."""

    documents: Prepared
    double: bool


SparseBlock = tuple[SparseRows, FloatArray]  # a column for each document, and the squared lengths
TokenBlock = tuple[Prepared, IntArray]  # the vectors of all documents, and where each document starts


class Memory(local):
    """Room for the work on a block, the same for all blocks of a thread: memory that is new costs more than the work."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def room(self, shape: tuple[int, ...], kind: npt.DTypeLike) -> NumberArray:
        """An array with anything in it, until the next one is asked for."""
        size = prod(shape) * np.dtype(kind).itemsize
        if len(self._bytes) < size:
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].view(kind).reshape(shape)


class Dense:
    """One vector per query and document."""

    def __init__(self, queries: NumberArray, similarity: Similarity) -> None:
        self.queries, self.similarity = queries, similarity
        self.norms = dense.lengths(queries)
        refuse_infinite(self.norms)
        self.memory = Memory()

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def single(self) -> Prepared:
        return dense.prepare(self.queries, self.similarity, self.norms)

    @cached_property
    def _double(self) -> Prepared:
        return dense.prepare(self.queries, self.similarity, self.norms, double=True)

    def open(self, documents: NumberArray) -> Opened:
        norms = (dense.rough_lengths if self.similarity == "dot" else dense.lengths)(documents)
        refuse_infinite(norms)
        double = self.similarity != "cosine" and dense.needs_double(self.norms, norms)
        return Opened(dense.prepare(documents, self.similarity, norms, double=double), double)

    def scores(self, block: Opened, rows: IntArray) -> ScoreBlock:
        queries = (self._double if block.double else self.single)[rows]
        room = self.memory.room((len(queries), len(block.documents)), queries.vectors.dtype)
        values = dense.product(queries, block.documents, self.similarity, room)
        return ScoreBlock(
            values,
            dense.shift(queries, self.similarity),
            dense.margin(queries, block.documents, self.similarity),
        )

    def exact(self, documents: NumberArray, query: IntArray, doc: IntArray) -> FloatArray:
        return dense.pair_scores(self.queries, documents, query, doc, self.similarity)


class Sparse:
    """SciPy sparse rows, such as SPLADE's. SciPy adds the products of a pair in the order of the query's entries, whatever
    else it multiplies, so its float64 scores are exact in our sense as they are.
    """

    def __init__(self, queries: SparseRows, similarity: Similarity) -> None:
        self.queries, self.squares = _canonical(queries)
        self.similarity = similarity

    def __len__(self) -> int:
        return len(self.squares)

    def open(self, documents: SparseRows) -> SparseBlock:
        rows, squares = _canonical(documents)
        return rows.T.tocsr(), squares

    def scores(self, block: SparseBlock, rows: IntArray) -> ScoreBlock:
        documents, squares = block
        dots = (self.queries[rows] @ documents).toarray()
        nothing = np.zeros(len(dots))
        return ScoreBlock(self._scored(dots, self.squares[rows, None], squares), nothing, nothing)

    def exact(self, documents: SparseRows, query: IntArray, doc: IntArray) -> FloatArray:
        out = np.empty(len(query))
        columns, squares = self.open(documents)
        edges = np.flatnonzero(np.diff(query, prepend=-1, append=-1)) if len(query) else query
        for first, last in pairwise(edges.tolist()):
            dots = (self.queries[query[first]] @ columns).toarray().reshape(-1)
            out[first:last] = self._scored(dots, self.squares[query[first]], squares)[doc[first:last]]
        return out

    def _scored(self, dots: FloatArray, queries: FloatArray, documents: FloatArray) -> FloatArray:
        if self.similarity == "dot":
            return dots
        if self.similarity == "euclidean":
            return 2 * dots - documents - queries
        lengths = np.sqrt(queries) * np.sqrt(documents)
        cosines: FloatArray = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return cosines


def _canonical(rows: SparseRows) -> tuple[SparseRows, FloatArray]:
    """Each entry once and in order, which fixes the order of sums; and the squared lengths."""
    rows = rows.tocsr().astype(np.float64)
    rows.sum_duplicates()
    rows.sort_indices()
    squares = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).reshape(-1)
    refuse_infinite(squares)
    return rows, squares


class LateInteraction:
    """One vector per token (ColBERT): for each token of the query the best token of the document, added up."""

    def __init__(self, queries: Tokens) -> None:
        self.queries = queries
        self.norms = dense.lengths(queries.vectors)
        if len(queries):
            refuse_infinite(np.maximum.reduceat(self.norms, queries.starts[:-1]))
        self._prepared = dense.prepare(queries.vectors, "dot", self.norms)

    def __len__(self) -> int:
        return len(self.queries)

    def open(self, documents: Tokens) -> TokenBlock:
        norms = dense.lengths(documents.vectors)
        refuse_infinite(np.maximum.reduceat(norms, documents.starts[:-1]))
        return dense.prepare(documents.vectors, "dot", norms), documents.starts

    def scores(self, block: TokenBlock, rows: IntArray) -> ScoreBlock:
        documents, starts = block
        start, stop = int(rows[0]), int(rows[-1]) + 1  # neighbours
        values = np.empty((len(rows), len(starts) - 1), np.float32)
        margins = np.empty(len(values))
        for first in range(start, stop, _TOKEN_QUERIES):
            last = min(first + _TOKEN_QUERIES, stop)
            tokens = slice(*self.queries.starts[[first, last]].tolist())
            queries = Prepared(self._prepared.vectors[tokens], self.norms[tokens], self._prepared.whole)
            best = np.maximum.reduceat(dense.product(queries, documents, "dot"), starts[:-1], axis=1)
            begin = self.queries.starts[first:last] - tokens.start
            here = slice(first - start, last - start)
            values[here] = np.add.reduceat(best, begin, axis=0)
            each = dense.margin(queries, documents, "dot")
            most = queries.lengths * documents.lengths.max(initial=0)
            count = np.diff(self.queries.starts[first : last + 1])
            margins[here] = np.add.reduceat(each, begin) + dense.SINGLE * 1.05 * count * np.add.reduceat(
                most, begin
            )
        return ScoreBlock(values, np.zeros(len(values)), margins)

    def exact(self, documents: Tokens, query: IntArray, doc: IntArray) -> FloatArray:
        out = np.empty(len(query))
        for i, (q, d) in enumerate(zip(query.tolist(), doc.tolist(), strict=True)):
            left, right = self.queries.one(q), documents.one(d)
            every = np.sum(left[:, None, :] * right[None, :, :], axis=2)
            out[i] = np.sum(every.max(axis=1))
        return out
