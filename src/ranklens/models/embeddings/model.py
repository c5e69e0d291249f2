"""A model's vectors of queries and documents, read and checked, and how they are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from ranklens.arrays import IntArray, NumberArray
from ranklens.errors import InputError
from ranklens.models.embeddings.coarse import CoarseSieve, coarse_sieve
from ranklens.models.embeddings.corpus import (
    Corpus,
    InMemory,
    InTensor,
    as_bits,
    as_numbers,
    open_corpus,
)
from ranklens.models.embeddings.counting import Counter, Sieve
from ranklens.models.embeddings.similarity import Similarity
from ranklens.models.embeddings.spaces import (
    Block,
    Dense,
    LateInteraction,
    Opened,
    Space,
    Sparse,
    SparseBlock,
    TokenBlock,
)
from ranklens.models.embeddings.vectors import (
    Documents,
    SparseRows,
    Tokens,
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


class Model(ABC, Generic[Documents, Block]):
    """Queries and documents."""

    documents_at_once = 16_384

    def __init__(self, queries: int, corpus: Corpus[Documents]) -> None:
        self.rows, self.corpus = queries, corpus

    @abstractmethod
    def space(self, rows: IntArray) -> Space[Documents, Block]:
        """Some of the queries, ready to be compared."""

    def sieve(self, counter: Counter[Documents, Block], *, asked: bool) -> Sieve[Documents, Block] | None:
        """A first look at coarse scores, where that is worth it; ``asked`` loads torch for it."""
        del counter, asked
        return None

    @abstractmethod
    def cut(self, dims: int) -> Model[Documents, Block]:
        """The same with only the first numbers of each vector."""

    def are_all(self, rows: IntArray) -> bool:
        """Whether these are all queries in their order, which need no copy."""
        return len(rows) == self.rows and bool((rows == np.arange(self.rows)).all())


class DenseModel(Model[NumberArray, Opened]):
    """One vector for each. Queries stay as they were given, perhaps on a GPU."""

    def __init__(
        self, queries: Tensor | NumberArray, corpus: Corpus[NumberArray], similarity: Similarity
    ) -> None:
        super().__init__(queries.shape[0], corpus)
        self.queries, self.similarity = queries, similarity

    @property
    def tensor(self) -> Tensor | None:
        """The documents, where they are a tensor."""
        return self.corpus.tensor if isinstance(self.corpus, InTensor) else None

    def chosen(self, rows: IntArray) -> Tensor | NumberArray:
        """Some of the queries."""
        return self.queries if self.are_all(rows) else taken(self.queries, rows)

    def space(self, rows: IntArray) -> Dense:
        return Dense(as_array(self.chosen(rows), "queries"), self.similarity)

    def sieve(self, counter: Counter[NumberArray, Opened], *, asked: bool) -> CoarseSieve | None:
        return coarse_sieve(counter, len(self.corpus), asked=asked)

    def cut(self, dims: int) -> DenseModel:
        return DenseModel(self.queries[:, :dims], self.corpus.cut(dims), self.similarity)


class SparseModel(Model[SparseRows, SparseBlock]):
    """Rows with few numbers."""

    def __init__(self, queries: SparseRows, corpus: Corpus[SparseRows], similarity: Similarity) -> None:
        super().__init__(queries.shape[0], corpus)
        self.queries, self.similarity = queries, similarity

    def space(self, rows: IntArray) -> Sparse:
        return Sparse(self.queries[rows], self.similarity)

    def cut(self, dims: int) -> SparseModel:
        return SparseModel(self.queries[:, :dims], self.corpus.cut(dims), self.similarity)


class TokenModel(Model[Tokens, TokenBlock]):
    """Many vectors for each."""

    documents_at_once = 256

    def __init__(self, queries: Tokens, corpus: Corpus[Tokens]) -> None:
        super().__init__(len(queries), corpus)
        self.queries = queries

    def space(self, rows: IntArray) -> LateInteraction:
        return LateInteraction(self.queries if self.are_all(rows) else self.queries[rows])

    def cut(self, dims: int) -> TokenModel:
        return TokenModel(self.queries[:, :dims], self.corpus.cut(dims))


def read_model(
    queries: object, documents: object, similarity: Similarity, vectors: str | None, stack: ExitStack
) -> Model[Any, Any]:
    """Vectors of any kind; ``stack`` holds temporary files as long as they are needed."""
    model: DenseModel | SparseModel | TokenModel
    if similarity == "maxsim":
        of_documents, of_queries = as_tokens(documents, "documents"), as_tokens(queries, "queries")
        refuse_bytes(of_queries.vectors, "queries")
        refuse_bytes(of_documents.vectors, "documents")
        model = TokenModel(of_queries, InMemory(of_documents))
    elif is_sparse(documents) or is_sparse(queries):
        if similarity == "hamming":
            raise InputError(
                "similarity='hamming' compares packed bits; choose another one for sparse vectors."
            )
        model = SparseModel(_sparse(queries), InMemory(_sparse(documents)), similarity)
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
    if similarity == "hamming":
        # Of zeros and ones, the squared distance is the number of bits that differ.
        bits = unpacked(rows, "queries")
        return DenseModel(bits, as_bits(corpus, kind(rows)), "euclidean")
    refuse_bytes(rows, "queries")
    return DenseModel(rows, as_numbers(corpus), similarity)


def _sparse(rows: object) -> SparseRows:
    if is_sparse(rows):
        return rows.tocsr()
    from scipy.sparse import csr_array

    sparse: SparseRows = csr_array(as_matrix(rows, "vectors"))
    return sparse
