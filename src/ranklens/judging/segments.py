"""A table of rankings → the ranks of its judged documents.

The table is walked as a whole only where that is cheap: where one query ends and the next begins, which documents are
judged for any query, whether any document appears twice. All else looks at the judged documents alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers.mappings import Place
from ranklens.judging.gold import Grades
from ranklens.judging.lookup import Hashes, Lookup
from ranklens.judging.order import best_of_each, nan_last, not_a_number, tie_key
from ranklens.judging.standing import in_order, lacking_most, standing
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

_AT_ONCE = 1 << 16  # rows or judgments that are looked at together
_SAMPLED, _FIRST = 20, 50  # of these, queries and documents of each that may show why judged ones are lacking
_HASHED = 1 << 20  # documents at once


@dataclass(frozen=True)
class Gold:
    """The judgments, prepared for look-ups: documents with their grades, query after query.

    ``counts`` says how many each query has; ``hashes`` are those of the documents, each unique within its query.
    """

    queries: Sequence[str]
    counts: IntArray
    docs: pl.Series
    grades: Grades
    seed: int
    hashes: Hashes

    @classmethod
    def of(cls, queries: Sequence[str], table: pl.DataFrame) -> Gold:
        """From a table ``q, doc, grade`` sorted by ``q``, the number of its query; each document of a query is there once."""
        return next(filter(None, (cls.hashed(queries, table, seed) for seed in count())))

    @classmethod
    def hashed(cls, queries: Sequence[str], table: pl.DataFrame, seed: int = 0) -> Gold | None:
        """The same; None if two documents of a query have the same hash, which practically always means that they are the same."""
        counts = np.bincount(table["q"].to_numpy(), minlength=len(queries))
        hashes = hashes_of(table["doc"], seed)
        if may_repeat(hashes, counts):
            return None
        return cls(queries, counts, table["doc"], _as_bytes(table["grade"]), seed, hashes)

    @cached_property
    def starts(self) -> IntArray:
        return np.cumsum(self.counts) - self.counts

    def of_queries(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The judgments of some queries: their rows in the table, and the place of each one's query in ``codes``."""
        counts = self.counts[codes]
        owner = np.repeat(np.arange(len(codes)), counts)
        behind = np.cumsum(counts) - counts
        return np.arange(len(owner)) + (self.starts[codes] - behind)[owner], owner

    @cached_property
    def _names(self) -> tuple[pl.Series, int, Lookup]:
        """The queries; and their hashes, prepared for look-ups, with the seed that makes them differ."""
        import polars as pl

        names = pl.Series(self.queries, dtype=pl.String)
        for seed in count():
            hashes = hashes_of(names, seed)
            if not _has_equal(hashes):
                break
        return names, seed, Lookup.of(hashes)

    def codes(self, queries: pl.Series) -> IntArray:
        """The number of each query; -1 for those that are not judged."""
        names, seed, lookup = self._names
        found = np.full(len(queries), -1)
        for start in range(0, len(queries), _AT_ONCE):
            some = queries.slice(start, _AT_ONCE)
            which, where = lookup.find(some.hash(seed).to_numpy())
            same = (_picked(some, which) == names[where]).to_numpy()
            if not same.all():
                which, where = which[same], where[same]
            found[start + which] = where
        return found


def _as_bytes(column: pl.Series) -> Grades:
    """Whole grades from 0 to 255 in an eighth of the memory, a slice at a time; counting them is faster than sorting, too."""
    lowest, highest = column.min(), column.max()
    if lowest is None or lowest < 0 or highest > 255:  # type: ignore[operator]
        return column.to_numpy()
    found = np.empty(len(column), np.uint8)
    for start in range(0, len(column), _HASHED):
        some = column.slice(start, _HASHED).to_numpy()
        found[start : start + _HASHED] = some
        if not np.array_equal(found[start : start + _HASHED], some):
            return column.to_numpy()
    return found


def _picked(values: pl.Series, rows: IntArray) -> pl.Series:
    """Some of the values, by ascending row; not copied where these are all of them."""
    return values if len(rows) == len(values) else values[rows]


def hashes_of(docs: pl.Series, seed: int = 0) -> Hashes:
    """A slice at a time, because the table engine keeps the memory of a long column when it is done with it."""
    if len(docs) <= _HASHED:
        return docs.hash(seed).to_numpy()
    found = np.empty(len(docs), np.uint64)
    for start in range(0, len(docs), _HASHED):
        found[start : start + _HASHED] = docs.slice(start, _HASHED).hash(seed).to_numpy()
    return found


def _salt(size: int, attempt: int = 0) -> Hashes:
    """One salt per ranking, so that equal documents of different queries hash differently."""
    factor = np.uint64(0x9E3779B97F4A7C15 + 2 * attempt)
    return np.arange(1, size + 1, dtype=np.uint64) * factor


@dataclass(frozen=True)
class Part:
    """The judged documents of some queries of the run: numbers of queries, lengths of their rankings, and places, by query and rank.

    ``start`` and ``size`` are those of tie groups; None where no judged document ties.
    """

    codes: IntArray
    lengths: IntArray
    query: IntArray
    rank: IntArray
    grade: Grades
    start: IntArray | None
    size: IntArray | None
    duplicates: int
    first_duplicate: Place | None
    sample: Sequence[tuple[int, list[str]]]  # the first documents of some queries that lack judged ones


@dataclass(frozen=True)
class Ranked:
    """Rows grouped by query: ``codes`` and ``lengths`` say which query each segment belongs to."""

    docs: pl.Series
    seed: int
    scores: FloatArray
    codes: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, codes: IntArray, lengths: IntArray, gold: Gold) -> Ranked:
        """The rows of judged queries in a table, which is grouped by query."""
        ranked = cls(table["doc"], gold.seed, table["score"].to_numpy(), codes, lengths)
        judged = codes >= 0
        return ranked if judged.all() else ranked.keep(np.repeat(judged, lengths))

    @cached_property
    def starts(self) -> IntArray:
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def hashes(self) -> Hashes:
        """Those of the documents, comparable with those of the judgments."""
        return hashes_of(self.docs, self.seed)

    @cached_property
    def is_best_first(self) -> bool:
        """Whether scores never rise within a ranking."""
        rises = self.scores[1:] > self.scores[:-1]
        rises[self.starts[1:] - 1] = False
        return not rises.any()

    def split(self, most: int, weights: IntArray) -> Iterator[Ranked]:
        """Whole rankings that weigh about so much in all at a time; each has a weight."""
        if not len(weights):
            yield self
        ends, weighed, first = np.cumsum(self.lengths), np.cumsum(weights), 0
        while first < len(weights):
            before = int(weighed[first - 1]) if first else 0
            last = max(int(np.searchsorted(weighed, before + most)), first + 1)
            rows, some = (
                slice(int(ends[first] - self.lengths[first]), int(ends[last - 1])),
                slice(first, last),
            )
            yield Ranked(self.docs[rows], self.seed, self.scores[rows], self.codes[some], self.lengths[some])
            first = last

    def keep(self, rows: BoolArray) -> Ranked:
        """Some of the rows."""
        import polars as pl

        segment = np.repeat(np.arange(len(self.codes)), self.lengths)[rows]
        lengths = np.bincount(segment, minlength=len(self.codes))
        kept = lengths > 0
        docs = self.docs.filter(pl.Series(rows))
        return Ranked(docs, self.seed, self.scores[rows], self.codes[kept], lengths[kept])


def rank(ranked: Ranked, gold: Gold, policy: Policy) -> list[Part]:
    """The places of the judged documents, a few rankings at a time, so that all of it stays in the processor's cache."""
    weights = np.maximum(ranked.lengths, gold.counts[ranked.codes])
    return [_rank(some, gold, policy) for some in ranked.split(_AT_ONCE, weights)]


def _rank(ranked: Ranked, gold: Gold, policy: Policy) -> Part:
    has_nan = bool(np.isnan(ranked.scores).any())
    if has_nan:
        ranked = replace(ranked, scores=nan_last(ranked.scores))
    ranked, repeated, first = _without_duplicates(ranked, gold.queries)
    if has_nan and policy.nan == "error":
        _refuse_nan(ranked, gold.queries)
    row, segment, grade = _judged_rows(ranked, gold)
    above, same = _places(ranked, row, segment)
    place, tied = above + 1, bool((same > 1).any())
    if policy.ties != "average":
        if tied:
            place = place + _places_in_ties(ranked, row, segment, above, same, policy)
        at = ranked.starts[segment] + place
        if (at[1:] < at[:-1]).any():
            order = in_order(at - 1, len(ranked.scores))
            segment, place, grade = segment[order], place[order], grade[order]
            above, same = above[order], same[order]
    start, size = (above + 1, same) if tied else (None, None)
    query = ranked.codes[segment]
    lacking = lacking_most(segment, gold.counts[ranked.codes], ranked.lengths, _SAMPLED)
    sample = [
        (
            int(ranked.codes[one]),
            ranked.docs.slice(int(ranked.starts[one]), min(int(ranked.lengths[one]), _FIRST)).to_list(),
        )
        for one in lacking
    ]
    return Part(ranked.codes, ranked.lengths, query, place, grade, start, size, repeated, first, sample)


def _refuse_nan(ranked: Ranked, queries: Sequence[str]) -> None:
    for row in np.flatnonzero(np.isneginf(ranked.scores))[:1].tolist():  # what nan_last makes of NaN alone
        segment = np.searchsorted(ranked.starts, row, side="right") - 1
        raise not_a_number("run", "score", queries[ranked.codes[segment]], ranked.docs[row], float("nan"))


def _without_duplicates(ranked: Ranked, queries: Sequence[str]) -> tuple[Ranked, int, Place | None]:
    """Each document of a query once, at its best place; how many rows that dropped, and the first of them."""
    import polars as pl

    if not may_repeat(ranked.hashes, ranked.lengths):
        return ranked, 0, None
    segment = np.repeat(np.arange(len(ranked.codes)), ranked.lengths)
    frame = pl.DataFrame({"segment": segment, "doc": ranked.docs, "score": ranked.scores})
    frame = frame.with_row_index("row")
    repeated = frame.filter(frame.select("segment", "doc").is_duplicated())
    if not len(repeated):
        return ranked, 0, None
    kept = best_of_each(frame, ["segment", "doc"], "score")["row"].to_numpy()
    rows = np.zeros(len(frame), dtype=bool)
    rows[kept] = True
    example = Place(repeated["doc"][0], queries[ranked.codes[repeated["segment"][0]]])
    return ranked.keep(rows), len(frame) - len(kept), example


def may_repeat(hashes: Hashes, lengths: IntArray) -> bool:
    """Whether two documents of a query have the same hash; cheaper than comparing their ids.

    >>> hashes = np.array([5, 7, 5], np.uint64)
    >>> may_repeat(hashes, np.array([2, 1])), may_repeat(hashes, np.array([3]))
    (False, True)
    """
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(
        lengths[lengths > 1]
    ).tolist():  # many short rows are sorted faster than a long one
        alike = starts[lengths == length]
        at_once = max(_HASHED // length, 1)
        for first in (alike[i : i + at_once] for i in range(0, len(alike), at_once)):
            # Half of each hash sorts twice as fast; where two are the same, the whole hashes decide.
            rows = np.sort(_rectangle(hashes, first, length).astype(np.uint32), axis=1)
            suspects = first[(rows[:, 1:] == rows[:, :-1]).any(axis=1)].tolist()
            if any(_has_equal(hashes[start : start + length]) for start in suspects):
                return True
    return False


def _rectangle(hashes: Hashes, first: IntArray, length: int) -> Hashes:
    """Rankings of the same length as rows; not copied where they follow one another."""
    start, stop = int(first[0]), int(first[-1]) + length
    follow = stop - start == len(first) * length
    rows: Hashes = (
        hashes[start:stop].reshape(-1, length) if follow else hashes[first[:, None] + np.arange(length)]
    )
    return rows


def _has_equal(values: npt.NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def _judged_rows(ranked: Ranked, gold: Gold) -> tuple[IntArray, IntArray, Grades]:
    """Row, segment and grade of the retrieved documents that are judged, by row.

    Only the judgments of these queries are looked at: however many there are in all, these fit the processor's cache.
    """
    judgment, owner = gold.of_queries(ranked.codes)
    salt, lookup = _by_key(gold.hashes[judgment], owner, len(ranked.codes))
    row, place = lookup.find(ranked.hashes ^ np.repeat(salt, ranked.lengths))
    judgment, segment = judgment[place], owner[place]
    # The hashes are the same; the ids decide.
    same = (ranked.docs[row] == gold.docs[judgment]).to_numpy()
    if not same.all():
        row, judgment, segment = row[same], judgment[same], segment[same]
    return row, segment, gold.grades[judgment]


def _by_key(hashes: Hashes, owner: IntArray, rankings: int) -> tuple[Hashes, Lookup]:
    """A salt for each ranking that gives each judgment its own key; and where the keys are."""
    salts = (_salt(rankings, attempt) for attempt in count())
    found = ((salt, Lookup.unless_equal(hashes ^ salt[owner])) for salt in salts)
    return next((salt, lookup) for salt, lookup in found if lookup is not None)


def _places(ranked: Ranked, row: IntArray, segment: IntArray) -> tuple[IntArray, IntArray]:
    """How many scores of its ranking are higher than that of each hit, and how many are the same."""
    scores, starts = ranked.scores, ranked.starts
    if not ranked.is_best_first:
        return standing(scores, ranked.lengths, segment, scores[row])
    # The row is the place.
    differs = np.ones(len(scores) + 1, dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=differs[1:-1])
    differs[starts] = True
    first, behind = row.copy(), row + 1
    tied = np.flatnonzero(~(differs[row] & differs[row + 1]))
    if len(tied):
        edges = np.flatnonzero(differs)
        place = np.searchsorted(edges, row[tied], side="right")
        first[tied], behind[tied] = edges[place - 1], edges[place]
    return first - starts[segment], behind - first


def _places_in_ties(
    ranked: Ranked, row: IntArray, segment: IntArray, above: IntArray, same: IntArray, policy: Policy
) -> IntArray:
    """How many documents of its tie group come before each hit."""
    import polars as pl

    tied = np.flatnonzero(same > 1)
    where, sizes = segment[tied], same[tied]
    if ranked.is_best_first:
        rows, group = _neighbours(ranked.starts[where] + above[tied], sizes)
    else:
        rows, group = _scattered(ranked, row[tied], where, sizes)
    frame = pl.DataFrame({"row": rows, "group": group, "doc": ranked.docs[rows]})
    by, descending = tie_key(policy.ties)
    ordered = frame.sort(by, descending=descending)
    place = ordered.select("row", pl.int_range(pl.len()).over("group").alias("place"))
    places = np.zeros(int(rows.max()) + 1, np.int64)
    places[place["row"].to_numpy()] = place["place"].to_numpy()
    out = np.zeros(len(row), np.int64)
    out[tied] = places[row[tied]]
    return out


def _neighbours(first: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """The rows of tie groups that begin at these rows, each group once, and the number of each row's group."""
    first, once = np.unique(first, return_index=True)
    sizes = sizes[once]
    group = np.repeat(np.arange(len(first)), sizes)
    return np.arange(len(group)) + (first - (np.cumsum(sizes) - sizes))[group], group


def _scattered(
    ranked: Ranked, row: IntArray, segment: IntArray, sizes: IntArray
) -> tuple[IntArray, IntArray]:
    """The same where rankings are in any order: each group is looked for in its ranking."""
    keys = np.stack([segment, ranked.scores[row]])
    _, once = np.unique(keys, axis=1, return_index=True)
    members = []
    for hit in once.tolist():
        start, length = int(ranked.starts[segment[hit]]), int(ranked.lengths[segment[hit]])
        around = ranked.scores[start : start + length]
        members.append(np.flatnonzero(around == ranked.scores[row[hit]]) + start)
    return np.concatenate(members), np.repeat(np.arange(len(once)), sizes[once])
