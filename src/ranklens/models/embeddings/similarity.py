"""Scores of dense vectors: in float64 by one fixed formula, and fast in blocks with a bound on the rounding error.

The float64 formula *is* the score. It is applied to single pairs, always in the same order of operations, so that equal vectors
have equal scores. The fast product differs from it by no more than its margin, whatever the order in which a library adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray, IntArray, NumberArray

Similarity = Literal["dot", "cosine", "euclidean", "maxsim", "hamming"]

SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoff
_TINY = 2.0**-126  # below this, float32 loses digits
_LARGE = 2.0**120  # beyond this, float32 may overflow
_WHOLE = 2.0**24  # sums of whole numbers up to this are exact in float32
_CACHED_NUMBERS = 1 << 19  # numbers that are worked on at once, in several steps
_PAIR_NUMBERS = 1 << 22  # numbers in the vectors that are scored at once


def exact_scores(queries: NumberArray, documents: NumberArray, similarity: Similarity) -> FloatArray:
    """The score of each row of ``queries`` with the same row of ``documents``, in float64.

    >>> exact_scores(np.array([[1, 2]]), np.array([[3, 4]]), "euclidean")
    array([-8.])
    """
    out = np.empty(len(queries))
    step = max(_PAIR_NUMBERS // max(queries.shape[1], 1), 1)
    for first in range(0, len(queries), step):
        rows = slice(first, first + step)
        q, d = (np.array(vectors[rows], np.float64, order="C") for vectors in (queries, documents))
        if similarity == "euclidean":
            d -= q
            d *= d
            out[rows] = -np.sum(d, axis=1)
            continue
        out[rows] = np.sum(q * d, axis=1)
        if similarity == "cosine":
            lengths = np.sqrt(np.sum(q * q, axis=1)) * np.sqrt(np.sum(d * d, axis=1))
            out[rows] = np.divide(out[rows], lengths, out=np.zeros(len(q)), where=lengths > 0)
    return out


def lengths(vectors: NumberArray) -> FloatArray:
    """Euclidean lengths in float64; NaN or infinite where a vector is."""
    if vectors.dtype == np.float64:
        return np.asarray(np.sqrt(squares(vectors)))
    out, double = np.empty(len(vectors)), np.empty((0, 0))
    for rows in cached_parts(vectors):
        part = vectors[rows]
        double = np.empty(part.shape) if len(double) < len(part) else double[: len(part)]
        double[...] = part
        out[rows] = squares(double)
    return np.sqrt(out)


def rough_lengths(vectors: NumberArray) -> FloatArray:
    """The lengths that margins need: at least the longest is right to a percent or so."""
    if vectors.dtype == np.float32:
        with np.errstate(over="ignore", invalid="ignore"):
            rough: FloatArray = np.sqrt(squares(vectors).astype(np.float64))
        if 2.0**-40 < rough.max(initial=0) < 2.0**60:  # else squares may leave the range of float32
            return rough
    return lengths(vectors)


def squares(vectors: NumberArray) -> NumberArray:
    """The product of each vector with itself, by BLAS."""
    squared: NumberArray = np.matmul(vectors[:, None, :], vectors[:, :, None])[:, 0, 0]
    return squared


def cached_parts(vectors: NumberArray) -> Iterator[slice]:
    """Rows, as many at a time as fit the processor's cache in a few copies."""
    step = max(_CACHED_NUMBERS // max(vectors.shape[1], 1), 1)
    return (slice(first, min(first + step, len(vectors))) for first in range(0, len(vectors), step))


@dataclass(frozen=True)
class Prepared:
    """Vectors as the product takes them: of one number type, and of unit length for cosine."""

    vectors: NumberArray
    lengths: FloatArray  # of the vectors in the product
    whole: bool  # whether all numbers are whole

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: IntArray) -> Prepared:
        """Some of the rows, without a copy where they are neighbours."""
        if not len(rows) or rows[-1] - rows[0] + 1 != len(rows):
            return Prepared(self.vectors[rows], self.lengths[rows], self.whole)
        part = slice(rows[0], rows[-1] + 1)
        return Prepared(self.vectors[part], self.lengths[part], self.whole)


def prepare(
    vectors: NumberArray, similarity: Similarity, norms: FloatArray, *, double: bool = False
) -> Prepared:
    """Vectors for :func:`product`, in float32 or in float64; ``norms`` are their lengths."""
    whole = similarity == "dot" and np.issubdtype(vectors.dtype, np.integer)
    kind: type[np.floating] = np.float64 if double else np.float32
    if similarity != "cosine":
        return Prepared(np.ascontiguousarray(vectors, dtype=kind), norms, whole)
    inverse = np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)
    if vectors.dtype == np.float32 and inverse.max(initial=0) < _LARGE:
        inverse = inverse.astype(kind)
    scaled = (vectors * inverse[:, None]).astype(kind, copy=False)
    return Prepared(scaled, (norms > 0).astype(np.float64), whole)


def needs_double(queries: FloatArray, documents: FloatArray) -> bool:
    """Whether float32 may overflow, given the lengths of the vectors on both sides."""
    q, d = queries.max(initial=0), documents.max(initial=0)
    return bool(max(q * d, q * q, d * d) > _LARGE)


def product(
    queries: Prepared, documents: Prepared, similarity: Similarity, out: NumberArray | None = None
) -> NumberArray:
    """All scores of a block. Euclidean ones lack the query's own term, see :func:`shift`."""
    scores = np.matmul(queries.vectors, documents.vectors.T, out=out)
    if similarity == "euclidean":
        # -|q - d|² + |q|² = 2qd - |d|²
        scores *= 2
        scores -= (documents.lengths**2).astype(scores.dtype)
    return scores


def shift(queries: Prepared, similarity: Similarity) -> FloatArray:
    """What to add to an exact score so that it can be compared with those of :func:`product`."""
    return queries.lengths**2 if similarity == "euclidean" else np.zeros(len(queries))


def margin(queries: Prepared, documents: Prepared, similarity: Similarity) -> FloatArray:
    """For each query: by how much a score of the product may differ from the exact one, at most.

    A sum of n products, added in any order, is off by at most about n units in the last place of the sum of their sizes,
    which is at most the product of the lengths (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Each input
    was rounded a few times before.
    """
    n, is_single = queries.vectors.shape[1], queries.vectors.dtype == np.float32
    q, d = queries.lengths, float(documents.lengths.max(initial=0))
    if queries.whole and documents.whole and (q * d).max(initial=0) < _WHOLE:
        return np.zeros(len(q))
    unit = (n + 8) * 1.05 * ((SINGLE if is_single else 0) + 2 * DOUBLE)
    tiny = n * (_TINY * (1 + q + d) if is_single else 2.0**-1000)
    if similarity == "euclidean":
        return np.asarray(unit * (2 * q * d + d**2 + q**2) + tiny)
    return np.where((q == 0) | (d == 0), 0.0, unit * q * d + tiny)


def pair_scores(
    queries: NumberArray, documents: NumberArray, query: IntArray, doc: IntArray, similarity: Similarity
) -> FloatArray:
    """:func:`exact_scores` of pairs of rows, a part at a time."""
    out = np.empty(len(query))
    step = max(_PAIR_NUMBERS // max(queries.shape[1], 1), 1)
    for first in range(0, len(query), step):
        part = slice(first, first + step)
        out[part] = exact_scores(queries[query[part]], documents[doc[part]], similarity)
    return out
