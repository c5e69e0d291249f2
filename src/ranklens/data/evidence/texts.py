"""Which words of passages are in which chunks, and which words of chunks were in chunks above: by text, without positions.

A chunk and a passage of one document overlap in one piece, which begins where one of them begins and ends where one of them ends.
Such a piece counts however short it is. Five equal words in a row count anywhere, so that a passage with a changed word or an inserted
page header is still recognised; ``how="exact"`` leaves these out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain

import numpy as np

from ranklens.arrays import BoolArray, IntArray
from ranklens.data.evidence.contexts import NEVER, Cover, ranges
from ranklens.data.evidence.words import FACTOR, Hashes, How, Words, words

RUN = 5  # words in a row that count wherever they are
_BLOCK = 1 << 19  # letters whose words fit into the processor's cache
_SLOT = np.uint64(64 - 19)  # the first bits of a hash say that most rows of words occur once


def cover_texts(
    passages: Sequence[Sequence[str]], chunks: Sequence[Sequence[str]], how: How = "words"
) -> Cover:
    """What chunks add to the evidence, counted in words, for the passages and chunks of each question, the best first.

    >>> cover = cover_texts([["Lima is the capital of Peru"]], [["So Lima is the", "capital of Peru", "the capital of Peru"]])
    >>> cover.chunk.tolist(), cover.gained.tolist(), cover.tokens.tolist(), cover.seen.tolist()
    ([0, 1], [3.0, 3.0], [4.0, 3.0, 4.0], [0.0, 0.0, 4.0])
    """
    tasks = [partial(_cover, *block, how) for block in _blocks(passages, chunks)]
    if len(tasks) < 2:
        return Cover.joined([task() for task in tasks])
    from ranklens.data.files.streams import ahead  # which needs Polars

    return Cover.joined(list(ahead(tasks)))


def _cover(passages: Sequence[Sequence[str]], chunks: Sequence[Sequence[str]], how: How) -> Cover:
    return _Texts.of(passages, chunks, how).cover(how)


def candidates(texts: Sequence[str], others: Sequence[str], most: int = 50) -> list[list[int]]:
    """For each text those of the others that share five words in a row with it, the most such rows first.

    >>> candidates(["a b c d e f", "x y"], ["c d e f g", "a b c d e f g", "y x", "x y z"])
    [[1], [3]]
    """
    shared: list[list[tuple[int, int]]] = [[] for _ in texts]
    first = 0
    while first < len(others):
        last, letters = first, 0
        while last < len(others) and letters <= 8 * _BLOCK:
            letters += len(others[last])
            last += 1
        block = _Texts(
            words([*texts, *others[first:last]]),
            np.zeros(len(texts) + last - first, np.int64),
            len(texts),
            np.zeros((2, 0), np.int64),
        )
        for length in range(1, RUN + 1):
            here, there = block.rows(length).parted(block.end)
            if length < RUN:  # a short text as a whole
                short = np.isin(here.place, block.words.start[:-1][block.words.count == length])
                here = _Rows(here.place[short], here.key[short])
            text, other = (block.text[place] for place in here.within(there))
            pairs, times = np.unique(text * len(block.question) + other, return_counts=True)
            for pair, count in zip(pairs.tolist(), times.tolist(), strict=True):
                one, number = divmod(pair, len(block.question))
                shared[one].append((-count, number - len(texts) + first))
        first = last
    return [[number for _, number in sorted(some)[:most]] for some in shared]


def _blocks(
    passages: Sequence[Sequence[str]], chunks: Sequence[Sequence[str]]
) -> Iterator[tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]]:
    """Some questions at a time, never one in two parts."""
    first, letters = 0, 0
    for number in range(len(passages)):
        letters += sum(map(len, passages[number])) + sum(map(len, chunks[number]))
        if letters > _BLOCK or number == len(passages) - 1:
            yield passages[first : number + 1], chunks[first : number + 1]
            first, letters = number + 1, 0


@dataclass(frozen=True)
class _Rows:
    """Some words in a row, wherever they are: the place of the first, and a hash that differs from question to question."""

    place: IntArray
    key: Hashes

    def parted(self, at: int) -> tuple[_Rows, _Rows]:
        """Those that begin before a place, and the others."""
        here = int(np.searchsorted(self.place, at))
        return _Rows(self.place[:here], self.key[:here]), _Rows(self.place[here:], self.key[here:])

    def within(self, others: _Rows) -> tuple[IntArray, IntArray]:
        """Where these occur among many others: pairs of places."""
        is_used = np.zeros(1 << 19, dtype=bool)
        is_used[self.key >> _SLOT] = True
        likely = np.flatnonzero(is_used[others.key >> _SLOT])
        order = np.argsort(self.key)
        keys, wanted = self.key[order], others.key[likely]
        first = np.searchsorted(keys, wanted)
        times = np.searchsorted(keys, wanted, "right") - first
        return self.place[order[ranges(first, times)]], others.place[likely].repeat(times)

    def again(self, text: IntArray) -> IntArray:
        """The places of rows that an earlier text has as well."""
        slot, number = self.key >> _SLOT, np.arange(len(self.key), dtype=np.int32)
        one_of_slot = np.empty(1 << 19, np.int32)
        one_of_slot[slot] = number
        is_shared = np.zeros(1 << 19, dtype=bool)
        is_shared[slot[one_of_slot[slot] != number]] = True
        likely = np.flatnonzero(is_shared[slot])
        order = likely[np.argsort(self.key[likely], kind="stable")]
        key, place = self.key[order], self.place[order]
        new = np.ones(len(key), dtype=bool)
        new[1:] = key[1:] != key[:-1]
        owner = text[place]
        again: IntArray = place[owner != owner[np.flatnonzero(new)][np.cumsum(new) - 1]]
        return again


@dataclass(frozen=True)
class _Texts:
    """Passages of some questions, then their chunks."""

    words: Words
    question: IntArray  # of each text
    passages: int
    pairs: IntArray  # texts of one question, the earlier one first, but for pairs of passages with chunks: two rows

    @classmethod
    def of(cls, passages: Sequence[Sequence[str]], chunks: Sequence[Sequence[str]], how: How) -> _Texts:
        found = words([*chain.from_iterable(passages), *chain.from_iterable(chunks)], how)
        sizes = [np.array([len(some) for some in part], np.int64) for part in (passages, chunks)]
        question = np.concatenate([np.repeat(np.arange(len(size)), size) for size in sizes])
        return cls(found, question, int(sizes[0].sum()), _pairs(*sizes))

    @cached_property
    def text(self) -> IntArray:
        """The text of each word."""
        return np.repeat(np.arange(len(self.question)), self.words.count)

    @property
    def end(self) -> int:
        """Of the words of passages."""
        return int(self.words.start[self.passages])

    def rows(self, length: int) -> _Rows:
        """Every ``length`` words in a row."""
        number, n = self.words.number, max(len(self.words.number) - length + 1, 0)
        key = number[:n].copy()
        for offset in range(1, length):
            key *= FACTOR
            key += number[offset : offset + n]
        key += ((self.question + 1).astype(np.uint64) * FACTOR)[self.text[:n]]
        key ^= key >> np.uint64(31)
        key *= FACTOR
        place = np.flatnonzero(self.text[:n] == self.text[length - 1 :])
        return _Rows(place, key[place])

    def cover(self, how: How) -> Cover:
        """Every place where texts share words, and what follows from it."""
        first = np.full(self.end, NEVER)  # the chunk that has a word of a passage first
        repeated = np.zeros(len(self.text), dtype=bool)  # words that an earlier text of the same kind has
        in_passages, in_chunks = self.rows(RUN).parted(self.end)
        passage, chunk = in_passages.within(in_chunks)
        if how == "exact":
            passage, chunk = self._between_edges(passage, chunk)
        again = np.concatenate([rows.again(self.text) for rows in (in_passages, in_chunks)])
        for offset in range(RUN):
            np.minimum.at(first, passage + offset, self.text[chunk])
            repeated[again + offset] = True
        for length in range(1, RUN):
            self._at_edges(length, first, repeated)
            self._short(length, first, repeated)
        return self._counted(first, repeated)

    def _between_edges(self, passage: IntArray, chunk: IntArray) -> tuple[IntArray, IntArray]:
        """Only runs that begin where one of both texts begins, and end where one of them ends."""
        start, shift = self.words.start, chunk - passage
        order = np.lexsort((passage, shift, self.text[chunk], self.text[passage]))
        passage, chunk = passage[order], chunk[order]
        new = np.ones(len(order) + 1, dtype=bool)
        new[1:-1] = (np.diff(passage) != 1) | (np.diff(chunk) != 1)
        run, edge = np.cumsum(new[:-1]) - 1, np.flatnonzero(new)
        first, last = edge[:-1], edge[1:] - 1
        begins = [start[self.text[place[first]]] == place[first] for place in (passage, chunk)]
        ends = [start[self.text[place[last]] + 1] == place[last] + RUN for place in (passage, chunk)]
        kept = ((begins[0] | begins[1]) & (ends[0] | ends[1]))[run]
        return passage[kept], chunk[kept]

    def _at_edges(self, length: int, first: IntArray, repeated: BoolArray) -> None:
        """Pieces too short to be searched for: the end of one text is the beginning of another."""
        start, count, number = self.words.start[:-1], self.words.count, self.words.number
        texts = np.flatnonzero(count > length)
        head, tail = (
            np.arange(len(start), dtype=np.uint64) * np.uint64(2),
            np.arange(len(start), dtype=np.uint64) * np.uint64(2) + np.uint64(1),
        )
        for hashes, begin in ((head, start[texts]), (tail, (start + count - length)[texts])):
            key = number[begin]
            for offset in range(1, length):
                key = key * FACTOR + number[begin + offset]
            hashes[texts] = key
        earlier, later = self.pairs
        for one, other, place in (
            (tail[earlier], head[later], start),
            (head[earlier], tail[later], start + count - length),
        ):
            pair = np.flatnonzero(one == other)
            self._mark(earlier[pair], later[pair], place[later[pair]], length, first, repeated)

    def _short(self, length: int, first: IntArray, repeated: BoolArray) -> None:
        """Whole texts of a few words inside of others."""
        short = np.flatnonzero(self.words.count == length)
        if not len(short):
            return
        rows = self.rows(length)
        own = np.searchsorted(rows.place, self.words.start[short])
        inside, place = _Rows(rows.place[own], rows.key[own]).within(rows)
        small, large = self.text[inside], self.text[place]
        # The words of a passage, else of the later text, at its own place.
        is_of_small = np.where(
            (small < self.passages) != (large < self.passages), small < self.passages, small > large
        )
        other, one = np.where(is_of_small, large, small), np.where(is_of_small, small, large)
        differ = np.flatnonzero(one != other)
        where = np.where(is_of_small, inside, place)
        self._mark(other[differ], one[differ], where[differ], length, first, repeated)

    def _mark(
        self, by: IntArray, text: IntArray, place: IntArray, length: int, first: IntArray, repeated: BoolArray
    ) -> None:
        """Words of ``text`` are in the text ``by``, which is of the same kind, or the chunk where ``text`` is a passage."""
        is_covered = (text < self.passages) & (by >= self.passages)
        for offset in range(length):
            np.minimum.at(first, place[is_covered] + offset, by[is_covered])
            repeated[place[~is_covered] + offset] = True

    def _counted(self, first: IntArray, repeated: BoolArray) -> Cover:
        count, m = self.words.count.astype(np.float64), self.passages
        again = np.bincount(self.text, repeated, len(count)).astype(np.float64)
        return Cover.of(
            m,
            count,
            (count - again)[:m],
            again[m:],
            passage=self.text[: self.end],
            by=first,
            gained=np.ones(self.end),
            owned=(~repeated[: self.end]).astype(np.float64),
        )


def _pairs(passages: IntArray, chunks: IntArray) -> IntArray:
    """Any two texts of a question. The words of the second are looked for: of a passage, else of the later text."""
    parts = []
    offset = int(passages.sum())
    begin = (np.cumsum(passages) - passages, np.cumsum(chunks) - chunks + offset)
    for one, other, of_one, of_other in (
        (chunks, passages, begin[1], begin[0]), (passages, passages, begin[0], begin[0]), (chunks, chunks, begin[1], begin[1]),
    ):  # fmt: skip
        texts, size = ranges(of_one, one), other.repeat(one)
        pairs = np.stack([texts.repeat(size), ranges(of_other.repeat(one), size)])
        parts.append(pairs if one is not other else pairs[:, pairs[0] < pairs[1]])
    return np.concatenate(parts, axis=1)
