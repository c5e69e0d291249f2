"""A table of rankings → the ranks of its judged documents.

The table is walked as a whole only where that is cheap: where one query ends and the next begins, which documents are
judged for any query, whether any document appears twice. All else looks at the judged documents alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.judging.order import best_of_each, named, nan_last, not_a_number, tie_key
from ranklens.judging.standing import standing
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

_LONG = 64  # documents of a query; repeated documents are looked for query by query in longer rankings
_HASHED = 1 << 20  # documents at once
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Gold:
    """The judgments, prepared for look-ups: a table ``q, doc, grade`` sorted by ``q``, the number of its query.

    ``filter`` says, by the last bits of a document's hash, whether it may be judged for any query: nearly all documents
    are not, and need no further look. ``keys`` are sorted hashes of query and document, ``rows`` say where each is in
    the table.
    """

    queries: Sequence[str]
    table: pl.DataFrame
    seed: int
    filter: BoolArray
    keys: Hashes
    rows: IntArray

    @classmethod
    def of(cls, queries: Sequence[str], table: pl.DataFrame) -> Gold:
        """The first seed that gives each judgment a unique hash; the first one practically always does."""
        number, seed = table["q"].to_numpy(), -1
        keys: Hashes = np.zeros(2, np.uint64)
        while seed < 0 or (keys[1:] == keys[:-1]).any():
            seed += 1
            docs = hashes_of(table["doc"], seed)
            found = _filter(docs)
            unsorted = _salt(number)
            unsorted ^= docs
            del docs  # it is large where there are many judgments, and so is each of the others
            rows = np.argsort(unsorted)
            keys = unsorted[rows]
            rows = rows.astype(np.int32) if len(rows) < 1 << 31 else rows
        del unsorted
        return cls(queries, table, seed, found, keys, rows)

    @cached_property
    def code(self) -> Mapping[str, int]:
        return {query: i for i, query in enumerate(self.queries)}

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """The number ``q`` of each ``query``."""
        import polars as pl

        queries = pl.DataFrame({"query": self.queries}, schema={"query": pl.String})
        return queries.with_row_index("q").with_columns(pl.col("q").cast(pl.Int32))

    @cached_property
    def grades(self) -> FloatArray:
        return self.table["grade"].to_numpy()


def hashes_of(docs: pl.Series, seed: int = 0) -> Hashes:
    """A slice at a time, because the table engine keeps the memory of a long column when it is done with it."""
    if len(docs) <= _HASHED:
        return docs.hash(seed).to_numpy()
    found = np.empty(len(docs), np.uint64)
    for start in range(0, len(docs), _HASHED):
        found[start : start + _HASHED] = docs.slice(start, _HASHED).hash(seed).to_numpy()
    return found


def _salt(query: IntArray) -> Hashes:
    """A number for each query that makes its documents differ from those of others."""
    salt: Hashes = query.astype(np.uint64)
    salt += np.uint64(1)  # in place: there may be as many as there are judgments
    salt *= np.uint64(0x9E3779B97F4A7C15)
    return salt


def _filter(docs: Hashes) -> BoolArray:
    """By the last bits of a hash, whether a document has them; a slice at a time, as there may be very many."""
    size = 1 << min(max((64 * len(docs)).bit_length(), 10), 26)
    found = np.zeros(size, dtype=bool)
    for start in range(0, len(docs), _HASHED):
        found[(docs[start : start + _HASHED] & np.uint64(size - 1)).view(np.int64)] = True
    return found


@dataclass(frozen=True)
class Part:
    """The judged documents of some queries of the run: numbers of queries, lengths of their rankings, and places."""

    codes: IntArray
    lengths: IntArray
    query: IntArray
    rank: IntArray
    grade: FloatArray
    start: IntArray
    size: IntArray
    duplicates: int
    first_duplicate: str


@dataclass(frozen=True)
class Ranked:
    """Rows grouped by query: ``codes`` and ``lengths`` say which query each segment belongs to."""

    docs: pl.Series
    scores: FloatArray
    codes: IntArray
    lengths: IntArray

    @cached_property
    def starts(self) -> IntArray:
        return np.cumsum(self.lengths) - self.lengths

    def hashes(self, seed: int) -> Hashes:
        return hashes_of(self.docs, seed)

    def keep(self, rows: BoolArray) -> Ranked:
        """Some of the rows."""
        import polars as pl

        segment = np.repeat(np.arange(len(self.codes)), self.lengths)[rows]
        lengths = np.bincount(segment, minlength=len(self.codes))
        kept = lengths > 0
        return Ranked(self.docs.filter(pl.Series(rows)), self.scores[rows], self.codes[kept], lengths[kept])


def rank(ranked: Ranked, gold: Gold, policy: Policy) -> Part:
    """The places of the judged documents."""
    has_nan = bool(np.isnan(ranked.scores).any())
    if has_nan:
        ranked = replace(ranked, scores=nan_last(ranked.scores))
    hashes = ranked.hashes(gold.seed)
    ranked, repeated, first = _without_duplicates(ranked, hashes, gold.queries)
    if has_nan and policy.nan == "error":
        _refuse_nan(ranked, gold.queries)
    row, segment, grade = _judged_rows(ranked, ranked.hashes(gold.seed) if repeated else hashes, gold)
    above, same = standing(ranked.scores, ranked.lengths, segment, ranked.scores[row])
    place = above + 1
    if policy.ties != "average" and (same > 1).any():
        place = place + _places_in_ties(ranked, row, segment, same > 1, policy)
    query = ranked.codes[segment]
    return Part(ranked.codes, ranked.lengths, query, place, grade, above + 1, same, repeated, first)


def _refuse_nan(ranked: Ranked, queries: Sequence[str]) -> None:
    for row in np.flatnonzero(np.isneginf(ranked.scores))[:1].tolist():  # what nan_last makes of NaN alone
        segment = np.searchsorted(ranked.starts, row, side="right") - 1
        raise not_a_number("run", "score", queries[ranked.codes[segment]], ranked.docs[row], float("nan"))


def _without_duplicates(ranked: Ranked, hashes: Hashes, queries: Sequence[str]) -> tuple[Ranked, int, str]:
    """Each document of a query once, at its best place; how many rows that dropped, and the first of them."""
    import polars as pl

    if not may_repeat(hashes, ranked.lengths):
        return ranked, 0, ""
    segment = np.repeat(np.arange(len(ranked.codes)), ranked.lengths)
    frame = pl.DataFrame({"segment": segment, "doc": ranked.docs, "score": ranked.scores})
    frame = frame.with_row_index("row")
    repeated = frame.filter(frame.select("segment", "doc").is_duplicated())
    if not len(repeated):
        return ranked, 0, ""
    kept = best_of_each(frame, ["segment", "doc"], "score")["row"].to_numpy()
    rows = np.zeros(len(frame), dtype=bool)
    rows[kept] = True
    example = named(repeated["doc"][0], queries[ranked.codes[repeated["segment"][0]]])
    return ranked.keep(rows), len(frame) - len(kept), example


def may_repeat(hashes: Hashes, lengths: IntArray) -> bool:
    """Whether two documents of a query have the same hash; cheaper than comparing their ids.

    >>> hashes = np.array([5, 7, 5], np.uint64)
    >>> may_repeat(hashes, np.array([2, 1])), may_repeat(hashes, np.array([3]))
    (False, True)
    """
    import polars as pl

    if len(hashes) <= _LONG * len(lengths):
        salted = np.repeat(_salt(np.arange(len(lengths))), lengths)
        salted ^= hashes
        return pl.Series(salted).n_unique() < len(hashes)
    starts = np.cumsum(lengths) - lengths
    half = hashes.astype(np.uint32)  # sorts twice as fast; where two are the same, the whole hashes decide
    if (lengths == lengths[0]).all():
        rows = np.sort(half.reshape(len(lengths), -1), axis=1)
        suspects = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1)).tolist()
    else:
        suspects = [i for i, part in enumerate(np.split(half, starts[1:])) if _has_equal(part)]
    return any(_has_equal(hashes[starts[i] : starts[i] + lengths[i]]) for i in suspects)


def _has_equal(values: npt.NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def _judged_rows(ranked: Ranked, hashes: Hashes, gold: Gold) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, segment and grade of the retrieved documents that are judged, by row."""
    last_bits = hashes.view(np.int64) & (len(gold.filter) - 1)
    row = np.flatnonzero(gold.filter[last_bits])
    segment = np.searchsorted(ranked.starts, row, side="right") - 1
    key = hashes[row] ^ _salt(ranked.codes[segment])
    place = np.minimum(np.searchsorted(gold.keys, key), max(len(gold.keys) - 1, 0))
    found = np.flatnonzero(gold.keys[place] == key) if len(gold.keys) else place
    row, segment, judgment = row[found], segment[found], gold.rows[place[found]]
    # The hashes are the same; the ids decide.
    same = (ranked.docs[row] == gold.table["doc"][judgment]).to_numpy()
    same &= ranked.codes[segment] == gold.table["q"].to_numpy()[judgment]
    return row[same], segment[same], gold.grades[judgment[same]]


def _places_in_ties(
    ranked: Ranked, row: IntArray, segment: IntArray, tied: BoolArray, policy: Policy
) -> IntArray:
    """How many documents of its tie group come before each hit."""
    import polars as pl

    starts, members, group = ranked.starts, [], []
    groups = {
        (int(s), float(score)) for s, score in zip(segment[tied], ranked.scores[row[tied]], strict=True)
    }
    for number, (s, score) in enumerate(groups):
        around = ranked.scores[starts[s] : starts[s] + ranked.lengths[s]]
        members.append(np.flatnonzero(around == score) + starts[s])
        group.append(np.full(len(members[-1]), number))
    rows = np.concatenate(members)
    frame = pl.DataFrame({"row": rows, "group": np.concatenate(group), "doc": ranked.docs[rows]})
    by, descending = tie_key(policy.ties)
    ordered = frame.sort(by, descending=descending)
    place = ordered.select("row", pl.int_range(pl.len()).over("group").alias("place"))
    places = np.zeros(int(rows.max()) + 1, np.int64)
    places[place["row"].to_numpy()] = place["place"].to_numpy()
    out = np.zeros(len(row), np.int64)
    out[tied] = places[row[tied]]
    return out
