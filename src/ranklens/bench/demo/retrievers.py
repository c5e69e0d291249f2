"""Six small but real search engines over the same documents: four inverted indexes, latent semantics, and a fusion.

==============  ======================================================================================
bm25            words of the question in names and texts
bm25-stemmed    the same, with words reduced to their stems: "copies" finds "copy"
trigram         three letters in a row instead of words: "copy" finds "copytree"
names           words in names only, like the symbol search of an editor
lsa             latent semantic analysis: texts with words that occur together
fusion          bm25-stemmed and lsa combined by rank
==============  ======================================================================================

A retriever is a function from a question and a number to the best documents with their scores, best first.
"""

from __future__ import annotations

import re
import weakref
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from ranklens.errors import hearing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import scipy.sparse as sp

    from ranklens.arrays import FloatArray

    Retriever: TypeAlias = Callable[[str, int], list[tuple[str, float]]]

_DIMENSIONS = 200  # of the latent space
_FUSED = 100  # documents of each ranking that are fused
_SPARE = 20  # further dimensions, so that the wanted ones settle quickly
_TINY = 1e-12  # a length that counts as 0
_RRF = 60  # the constant that the authors of the fusion suggest


def build(documents: Mapping[str, str]) -> tuple[dict[str, Retriever], list[str]]:
    """The retrievers by name, and a sentence about each that this Python cannot build.

    >>> engines, left_out = build({"os.getcwd": "Return the current folder.", "math.floor": "Round down."})
    >>> engines["bm25"]("in which folder am I", 1)[0][0], left_out
    ('os.getcwd', [])
    """
    engines: dict[str, Retriever] = {}
    left_out = []
    for name, texts, tokenizer, terms in (
        ("bm25", documents, "unicode61", words),
        ("bm25-stemmed", documents, "porter unicode61", words),
        ("trigram", documents, "trigram", trigrams),
        ("names", dict.fromkeys(documents, ""), "unicode61", words),
    ):
        index = _full_text(texts, tokenizer, terms)
        if isinstance(index, str):
            left_out.append(f"{name} is left out because this Python's SQLite does not support it ({index}).")
        else:
            engines[name] = index
    engines["lsa"] = LatentSemantics(documents)
    if "bm25-stemmed" in engines:
        engines["fusion"] = Fusion(engines["bm25-stemmed"], engines["lsa"])
    return engines, left_out


def words(text: str) -> list[str]:
    """Lower-case words, in the order of their first use.

    >>> words("Copy a folder; copy it.")
    ['copy', 'a', 'folder', 'it']
    """
    return list(dict.fromkeys(_all_words(text)))


def trigrams(text: str) -> list[str]:
    """Three letters in a row, within words.

    >>> trigrams("copy it")
    ['cop', 'opy']
    """
    return list(dict.fromkeys(word[i : i + 3] for word in words(text) for i in range(len(word) - 2)))


def _full_text(
    documents: Mapping[str, str], tokenizer: str, terms: Callable[[str], list[str]]
) -> FullText | str:
    """The index, or the reason that SQLite gives for not building it: some lack full-text search or trigrams."""
    try:
        import sqlite3
    except ImportError as error:
        return str(error)
    try:
        return FullText(documents, tokenizer, terms)
    except sqlite3.OperationalError as error:
        return str(error)


class FullText:
    """BM25 by SQLite's full-text index; a document must share a term with the question."""

    def __init__(
        self, documents: Mapping[str, str], tokenizer: str, terms: Callable[[str], list[str]]
    ) -> None:
        import sqlite3

        self.terms = terms
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self.database.close)  # Python 3.13 warns of connections that are left open
        self.database.execute(f"CREATE VIRTUAL TABLE docs USING fts5(name, text, tokenize = '{tokenizer}')")
        self.database.executemany("INSERT INTO docs VALUES (?, ?)", documents.items())

    def __call__(self, question: str, k: int) -> list[tuple[str, float]]:
        terms = self.terms(question)
        if not terms:
            return []
        query = "SELECT name, -rank FROM docs WHERE docs MATCH ? ORDER BY rank, name LIMIT ?"
        return self.database.execute(query, (" OR ".join(f'"{term}"' for term in terms), k)).fetchall()


class LatentSemantics:
    """Latent semantic analysis: tf-idf, its strongest dimensions by a truncated SVD, and the cosine in that space."""

    def __init__(self, documents: Mapping[str, str], dimensions: int = _DIMENSIONS) -> None:
        import numpy as np
        from scipy.sparse.linalg import norm

        self.names = sorted(documents)
        counts = [Counter(_all_words(f"{name} {documents[name]}")) for name in self.names]
        spread = Counter(word for count in counts for word in count)
        vocabulary = sorted(word for word, n in spread.items() if n > 1) or sorted(spread)
        self.column = {word: i for i, word in enumerate(vocabulary)}
        self.idf = np.log((1 + len(counts)) / np.array([spread[word] for word in vocabulary]))
        weights = self._weights(counts)
        # The right singular vectors of the largest singular values, with every text weighted equally, by subspace iteration:
        # multiply, make orthonormal, repeat. Its few large products stay fast on a busy machine, unlike the many small ones
        # of ``scipy.sparse.linalg.svds``.
        unit = weights / np.maximum(_TINY, norm(weights, axis=1))[:, None]
        basis = np.random.default_rng(0).normal(size=(weights.shape[1], dimensions + _SPARE))
        for _ in range(8):
            columns = unit.T @ (unit @ basis)
            strength, rotation = np.linalg.eigh(columns.T @ columns)  # the strongest last
            is_strong = strength > _TINY * strength[-1]
            basis = columns @ (rotation[:, is_strong] / np.sqrt(strength[is_strong]))
        self.basis: FloatArray = basis[:, -dimensions:]
        self.vectors = _unit(weights @ self.basis)

    def __call__(self, question: str, k: int) -> list[tuple[str, float]]:
        vector = _unit(self._weights([Counter(_all_words(question))]) @ self.basis)[0]
        scores = (self.vectors @ vector).round(6)  # the last digits depend on the processor
        best = (-scores).argsort(kind="stable")[:k]
        return [(self.names[i], float(scores[i])) for i in best if scores[i] > 0]

    def _weights(self, counts: Sequence[Mapping[str, int]]) -> sp.csr_array:
        """One row per text: (1 + log tf) idf of the words in the vocabulary."""
        import numpy as np
        import scipy.sparse as sp

        entries = [
            (row, self.column[word], n)
            for row, count in enumerate(counts)
            for word, n in count.items()
            if word in self.column
        ]
        rows, columns, times = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        values = (1 + np.log(times)) * self.idf[columns]
        return sp.csr_array((values, (rows, columns)), shape=(len(counts), len(self.column)))


def _all_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _unit(rows: FloatArray) -> FloatArray:
    import numpy as np

    unit: FloatArray = rows / np.maximum(_TINY, np.linalg.norm(rows, axis=1, keepdims=True))
    return unit


class Fusion:
    """Reciprocal-rank fusion of retrievers (Cormack, Clarke and Büttcher 2009)."""

    def __init__(self, *retrievers: Retriever) -> None:
        self.retrievers = retrievers

    def __call__(self, question: str, k: int) -> list[tuple[str, float]]:
        from ranklens.fusion import fuse

        runs = [
            {question: [name for name, _ in retriever(question, max(k, _FUSED))]}
            for retriever in self.retrievers
        ]
        with hearing():  # an engine that finds nothing is no mistake
            return list(fuse(runs, "rrf", depth=k, k=_RRF).get(question, {}).items())
