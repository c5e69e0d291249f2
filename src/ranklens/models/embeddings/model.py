"""A model's vectors of queries and documents, read and checked, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings import bits, host
from ranklens.models.embeddings.corpus import Corpus, as_corpus, open_corpus, spool
from ranklens.models.embeddings.similarity import Similarity
from ranklens.models.embeddings.spaces import Dense, LateInteraction, Space, Sparse
from ranklens.models.embeddings.tokens import as_tokens


@dataclass(frozen=True)
class Model:
    """Queries and documents. Queries stay as they were given, perhaps on a GPU."""

    queries: Any
    corpus: Corpus
    similarity: Similarity
    make: Callable[[Any], Space]
    dense: bool = False

    @property
    def rows(self) -> int:
        return int(self.queries.shape[0])

    def chosen(self, rows: IntArray) -> Any:
        """Some of the queries."""
        if len(rows) == self.rows and (rows == np.arange(len(rows))).all():
            return self.queries
        return self.queries[host.rows_for(self.queries, rows)]

    def cut(self, dims: int) -> Model:
        """The same with only the first numbers of each vector."""
        if dims == self.corpus.size:
            return self
        return replace(self, queries=self.queries[:, :dims], corpus=self.corpus.cut(dims))


def read_model(
    queries: Any, documents: Any, similarity: Similarity, vectors: str | None, stack: ExitStack
) -> Model:
    """Vectors of any kind; ``stack`` holds temporary files as long as they are needed."""
    if similarity == "maxsim":
        tokens, of_queries = as_tokens(documents, "documents"), as_tokens(queries, "queries")
        bits.refuse_bytes(of_queries.vectors, "queries")
        bits.refuse_bytes(tokens.vectors, "documents")
        model = Model(of_queries, as_corpus(tokens), similarity, LateInteraction)
    elif host.is_sparse(documents) or host.is_sparse(queries):
        if similarity == "hamming":
            raise InputError(
                "similarity='hamming' compares packed bits; choose another one for sparse vectors."
            )
        both = [one.tocsr() if host.is_sparse(one) else _sparse(one) for one in (queries, documents)]
        model = Model(both[0], as_corpus(both[1]), similarity, lambda some: Sparse(some, similarity))
    else:
        corpus = open_corpus(documents, vectors, lambda blocks: spool(blocks, stack))
        queries = host.kept_on_gpu(queries)
        given = queries if host.is_torch(queries) else host.as_matrix(queries, "queries")
        host.check_rows(given, "queries")
        if similarity == "hamming":
            packed = bits.kind(given)
            given, corpus = bits.unpacked(given, "queries"), bits.unpacked_corpus(corpus, packed)
            similarity = "euclidean"
        else:
            given, corpus = bits.refuse_bytes(given, "queries"), bits.checked_corpus(corpus)
        model = Model(given, corpus, similarity, lambda some: _dense(some, similarity), dense=True)
    if model.rows and len(model.corpus) and model.queries.shape[1] != model.corpus.size:
        raise InputError(
            f"queries have vectors of {model.queries.shape[1]} numbers, documents of {model.corpus.size}; "
            "both must come from the same model."
        )
    return model


def _dense(queries: Any, similarity: Similarity) -> Dense:
    return Dense(host.as_array(queries, "queries"), similarity)


def _sparse(vectors: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array(host.as_matrix(vectors, "vectors"))
