"""What the model gets to read, as arrays: chunks with their lengths, passages, and what each chunk adds to the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ranklens.arrays import FloatArray, IntArray

NEVER = np.iinfo(np.int64).max  # no chunk


def ranges(first: IntArray, times: IntArray) -> IntArray:
    """``first``, ``first + 1`` … ``times`` long, one range after the other."""
    return np.repeat(first - np.cumsum(times) + times, times) + np.arange(int(times.sum()))


@dataclass(frozen=True)
class Cover:
    """What chunks add to the evidence, and what they repeat. Passages and chunks are numbered over all questions."""

    size: FloatArray  # of each passage
    own: FloatArray  # the same without what a better passage of the question has as well
    passage: IntArray  # of each piece: what a chunk is the first to have of a passage
    chunk: IntArray
    gained: FloatArray
    owned: FloatArray  # the same without what a better passage has as well
    tokens: FloatArray  # of each chunk
    seen: FloatArray  # of these, how many are in chunks above

    @classmethod
    def of(
        cls,
        passages: int,
        length: FloatArray,
        own: FloatArray,
        seen: FloatArray,
        *,
        passage: IntArray,
        by: IntArray,
        gained: FloatArray,
        owned: FloatArray,
    ) -> Cover:
        """From parts of passages with the text that has each first: passages are numbered before chunks, ``NEVER`` is no chunk."""
        covered = np.flatnonzero(by < NEVER)
        width = len(length) - passages + 1
        piece, row = np.unique(passage[covered] * width + by[covered] - passages, return_inverse=True)
        return cls(
            size=length[:passages],
            own=own,
            passage=piece // width,
            chunk=piece % width,
            gained=np.bincount(row, gained[covered], len(piece)).astype(np.float64),
            owned=np.bincount(row, owned[covered], len(piece)).astype(np.float64),
            tokens=length[passages:],
            seen=seen,
        )

    @classmethod
    def joined(cls, parts: Sequence[Cover]) -> Cover:
        """One part after the other."""
        passages, chunks, shifted = 0, 0, []
        for one in parts:
            shifted.append(replace(one, passage=one.passage + passages, chunk=one.chunk + chunks))
            passages, chunks = passages + len(one.size), chunks + len(one.tokens)
        arrays = {one.name: [getattr(part, one.name) for part in shifted] for one in fields(cls)}
        return cls(**{name: np.concatenate(every) for name, every in arrays.items()})

    def counted(self, passages: FloatArray, chunks: FloatArray) -> Cover:
        """The same in another unit: each word of a text has an equal share of the text's tokens."""
        by_passage, by_chunk = _shares(passages, self.size), _shares(chunks, self.tokens)
        return replace(
            self,
            size=passages,
            own=self.own * by_passage,
            gained=self.gained * by_passage[self.passage],
            owned=self.owned * by_passage[self.passage],
            tokens=chunks,
            seen=self.seen * by_chunk,
        )


def _shares(tokens: FloatArray, words: FloatArray) -> FloatArray:
    return tokens / np.maximum(words, 1)


def rows_of(owner: IntArray, chosen: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The rows of each of the ``chosen`` owners, and its place among them; ``owner`` is sorted, and there are ``n``."""
    counts = np.bincount(owner, minlength=n)
    times = counts[chosen]
    return ranges((np.cumsum(counts) - counts)[chosen], times), np.repeat(np.arange(len(chosen)), times)


@dataclass(frozen=True)
class Contexts:
    """The chunks that were retrieved for each query, one after the other, and the passages that they were to contain."""

    queries: Sequence[str]
    query: IntArray  # of each chunk
    rank: IntArray
    step: IntArray  # the retrieval that returned it, from 1
    calls: IntArray  # of each query: how many retrievals there were
    owner: IntArray  # the query of each passage
    grade: FloatArray
    names: Sequence[str]  # of passages
    cover: Cover
    threshold: float  # the share of a passage that must be covered
    unit: str  # of all lengths

    def found(self, threshold: float | None = None) -> IntArray:
        """For each passage the rank at which enough of it is covered; 0 if it never is."""
        cover, least = self.cover, self.threshold if threshold is None else threshold
        running = np.cumsum(cover.gained)
        before = np.append(0.0, running)[np.searchsorted(cover.passage, cover.passage)]
        size = cover.size[cover.passage]
        enough = np.flatnonzero(running - before >= least * size - 1e-6)
        passage, place = np.unique(cover.passage[enough], return_index=True)
        first = np.zeros(len(cover.size), np.int64)
        first[passage] = self.rank[cover.chunk[enough[place]]]
        return first

    def depth(self, k: int | None, budget: float | None, step: int | None) -> IntArray:
        """How many chunks of each query are read: the first ``k``, those that fit into a budget, those of the first steps."""
        n = len(self.queries)
        depth = np.bincount(self.query, minlength=n)
        if k is not None:
            depth = np.minimum(depth, k)
        if budget is not None:
            running = np.cumsum(self.cover.tokens)
            before = np.append(0.0, running)[np.searchsorted(self.query, self.query)]
            depth = np.minimum(depth, np.bincount(self.query[running - before <= budget + 1e-6], minlength=n))
        if step is not None:
            depth = np.minimum(depth, np.bincount(self.query[self.step <= step], minlength=n))
        return depth

    def of(self, queries: Sequence[str]) -> Contexts:
        """The same for these queries, in their order."""
        place = {query: number for number, query in enumerate(self.queries)}
        return self.take(np.array([place[query] for query in queries], np.int64))

    def take(self, queries: IntArray, upto: IntArray | None = None) -> Contexts:
        """The same for these queries, which may repeat; of each, the first ``upto`` chunks."""
        n, cover = len(self.queries), self.cover
        row, query = rows_of(self.query, queries, n)
        if upto is not None:
            kept = self.rank[row] <= upto[query]
            row, query = row[kept], query[kept]
        passage, owner = rows_of(self.owner, queries, n)
        piece, number = rows_of(cover.passage, passage, len(cover.size))
        rank = self.rank[cover.chunk[piece]]
        if upto is not None:
            kept = rank <= upto[owner[number]]
            piece, number, rank = piece[kept], number[kept], rank[kept]
        counts = np.bincount(query, minlength=len(queries))
        chunk = (np.cumsum(counts) - counts)[owner[number]] + rank - 1
        return replace(
            self,
            queries=[self.queries[i] for i in queries.tolist()],
            query=query,
            rank=self.rank[row],
            step=self.step[row],
            calls=self.calls[queries],
            owner=owner,
            grade=self.grade[passage],
            names=[self.names[i] for i in passage.tolist()],
            cover=Cover(
                cover.size[passage],
                cover.own[passage],
                number,
                chunk,
                cover.gained[piece],
                cover.owned[piece],
                cover.tokens[row],
                cover.seen[row],
            ),
        )
