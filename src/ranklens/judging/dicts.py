"""Dicts of dicts → :class:`~ranklens.judging.standing.Standings`: the fastest way in, for Python objects.

Reading Python objects from memory is what takes the time, so everything here is about reading each of them once, in
C loops (``map``, ``chain``, ``fromiter``) and while it is still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from math import isfinite, isnan
from operator import attrgetter
from struct import error as StructError  # noqa: N812
from struct import pack, pack_into
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.errors import InputError
from ranklens.judging.judged import Applied
from ranklens.judging.order import check_duplicates, nan_last, not_a_number, tie_order
from ranklens.judging.standing import Grades, Standings, check_unjudged, standing
from ranklens.policy import Policy
from ranklens.readers import mappings

Documents: TypeAlias = dict[Any, Any]  # of one query: document → grade, or document → score

_CHUNK_ROWS = 1 << 16  # documents that are ranked at once
_ABSENT: Documents = {}  # the ranking of a query that the run lacks; an empty answer is another dict
_SHORT = 64  # documents or judgments of a query; longer ones are read one query at a time


def from_dicts(qrels: Mapping[Any, Any], run: Mapping[Any, Any], policy: Policy) -> Standings:
    """The places of the judged documents, from any shapes that :mod:`ranklens.readers.mappings` knows."""
    with suppress(TypeError):  # raised where something is not a dict of dicts
        return _judge_dicts(mappings.Repaired(qrels), mappings.Repaired(run), policy)
    # Look closely, which takes longer than judging.
    judgments, rankings = mappings.judgments(qrels), mappings.rankings(run)
    check_duplicates("qrels", judgments.duplicates, judgments.first_duplicate, policy)
    check_duplicates("run", rankings.duplicates, rankings.first_duplicate, policy)
    return _judge_dicts(judgments, rankings, policy)


def grades(queries: Sequence[Any], golds: Sequence[Documents]) -> Grades:
    """All grades, query after query."""
    try:  # whole grades from 0 to 255 fit a byte, which is the fastest way from Python objects to an array
        return np.frombuffer(bytes(_values(golds)), np.uint8)
    except (TypeError, ValueError):
        _check_dicts(golds)
    try:
        found = np.fromiter(_values(golds), np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, np.nan)
    if not np.isfinite(found).all():
        _refuse_number("qrels", "grade", queries, golds)
    return found


def _judge_dicts(judgments: mappings.Repaired, rankings: mappings.Repaired, policy: Policy) -> Standings:
    by_query, ranked = judgments.by_query, rankings.by_query
    if _id_types(by_query) != _id_types(ranked):
        by_query, ranked = mappings.as_text(by_query), mappings.as_text(ranked)
    queries, golds = list(by_query), list(by_query.values())
    if None in by_query or any(map(dict.__contains__, golds, repeat(None))):
        raise InputError("qrels: the id of a query or document is None; None never matches anything.")
    found = _rankings_of(queries, ranked)
    parts = [part for chunk in _chunks(queries, golds, found) for part in _rank(chunk, policy)]
    all_hits = _Ranked(*map(np.concatenate, zip(*parts, strict=True)))
    in_run = np.ones(len(found), dtype=bool)
    for i in np.flatnonzero(all_hits.lengths == 0).tolist():
        in_run[i] = found[i] is not _ABSENT
    ignored = len(ranked) - int(in_run.sum())
    check_unjudged(ignored, policy, lambda: next(q for q in ranked if q not in by_query))
    return Standings(
        queries=queries if set(map(type, queries)) <= {str} else [str(query) for query in queries],
        retrieved=all_hits.lengths,
        in_run=in_run,
        gold_query=np.repeat(np.arange(len(queries)), all_hits.gold_lengths),
        gold=all_hits.gold,
        query=all_hits.query,
        rank=all_hits.rank,
        grade=all_hits.grade,
        start=all_hits.start,
        size=all_hits.size,
        applied=Applied(
            ignored=ignored, duplicates=rankings.duplicates, duplicate_judgments=judgments.duplicates
        ),
        examples=(next(iter(ranked), ""), _first(golds), _first(found)),
    )


def _rankings_of(queries: list[Any], ranked: Mapping[Any, Documents]) -> list[Documents]:
    """The ranking of each query, ``_ABSENT`` where the run lacks it."""
    if len(ranked) == len(queries) and list(ranked) == queries:
        return list(ranked.values())
    return list(map(ranked.get, queries, repeat(_ABSENT)))


def _id_types(by_query: Mapping[Any, Documents]) -> tuple[type, type]:
    """The types of the first query id and the first document id: "7" and 7 are the same id, so they must agree."""
    # A TypeError if there is something else than dicts.
    documents = chain.from_iterable(map(dict.keys, by_query.values()))
    return type(next(iter(by_query), None)), type(next(documents, None))


def _first(tables: Iterable[Documents]) -> Any:
    """A document, to show."""
    return next(chain.from_iterable(tables), "")


class _Chunk(NamedTuple):
    """Some queries that are ranked at once, and in which portions to read them."""

    first: int
    queries: Sequence[Any]
    golds: Sequence[Documents]
    rankings: Sequence[Documents]
    portion: int

    def portions(self) -> Iterator[_Chunk]:
        for i in range(0, max(len(self.queries), 1), self.portion):
            here = slice(i, i + self.portion)
            yield _Chunk(
                self.first + i, self.queries[here], self.golds[here], self.rankings[here], self.portion
            )


def _chunks(queries: list[Any], golds: list[Documents], rankings: list[Documents]) -> Iterator[_Chunk]:
    """Chunks of about `_CHUNK_ROWS` documents, to be read in portions that fit the processor's cache.

    Each query is read several times. A portion is a few hundred short queries, or one with many judgments.
    """
    documents = np.mean([1, *map(len, rankings[:64])])
    portion = 1 if np.mean([0, *map(len, golds[:64])]) > _SHORT else 512
    size = max(int(_CHUNK_ROWS * (16 if portion == 1 else 1) / documents), 1)
    for i in range(0, max(len(queries), 1), size):
        yield _Chunk(i, queries[i : i + size], golds[i : i + size], rankings[i : i + size], portion)


class _Ranked(NamedTuple):
    """The judged documents of a chunk in rank order, and what was read on the way."""

    lengths: IntArray
    gold_lengths: IntArray
    gold: Grades
    query: IntArray
    rank: IntArray
    grade: Grades
    start: IntArray
    size: IntArray


def _rank(chunk: _Chunk, policy: Policy) -> Iterator[_Ranked]:
    """Query by query where most documents are judged, else all at once."""
    if chunk.portion > 1 or sum(map(len, chunk.golds)) <= sum(map(len, chunk.rankings)):
        yield _rank_by_counting(chunk, policy)
        return
    done: list[_Sorted] = []
    for one in chunk.portions():
        if found := _rank_by_sorting(one.golds[0], one.rankings[0], policy):
            done.append(found)
        else:
            yield from _gather(done, one.first - len(done))
            yield _rank_by_counting(one, policy)
            done = []
    yield from _gather(done, chunk.first + len(chunk.queries) - len(done))


class _Sorted(NamedTuple):
    """The judged documents of one query in rank order, the grades of all, and how many were retrieved."""

    rank: IntArray
    grade: npt.NDArray[np.uint8]
    gold: npt.NDArray[np.uint8]
    length: int
    ties: tuple[IntArray, IntArray] | None = None  # the first rank and size of each document's tie group


def _rank_by_sorting(gold: Documents, ranking: Documents, policy: Policy) -> _Sorted | None:
    """Ask the judgments of one query about each document in rank order. None where that is not enough."""
    try:
        judged = bytes(dict.values(gold))  # a TypeError if it is not a dict
        scores = np.frombuffer(pack(f"{len(ranking)}d", *dict.values(ranking)))
    except (TypeError, ValueError, OverflowError, StructError):
        return None
    if 255 in judged:
        return None
    list(gold)  # a tight loop over the ids: brings them into the cache faster than looking them up does
    # 255 means "not judged"
    grade = np.frombuffer(bytes(map(gold.get, ranking, repeat(255))), np.uint8)
    ties = None
    if not (scores[1:] < scores[:-1]).all():
        order = np.argsort(-scores)  # NaN comes last
        scores = scores[order]
        tied = scores[1:] == scores[:-1]
        if isnan(scores[-1]) or (tied.any() and policy.ties == "average"):
            return None
        if tied.any():
            ties = _order_ties(order, tied, list(ranking), policy)
        grade = grade[order]
    hit = np.flatnonzero(grade != 255)
    # kind="stable" is a radix sort for bytes, and spares sorting all grades later
    best_first = np.sort(np.frombuffer(judged, np.uint8), kind="stable")[::-1]
    groups = None if ties is None else (ties[0][hit], ties[1][hit])
    return _Sorted(hit + 1, grade[hit], best_first, len(ranking), groups)


def _order_ties(
    order: IntArray, tied: BoolArray, ids: Sequence[Any], policy: Policy
) -> tuple[IntArray, IntArray]:
    """Put tied documents in the order of the policy; the first rank and size of the tie group at each place."""
    start, size = np.arange(1, len(order) + 1), np.ones(len(order), np.int64)
    for first, last in _runs(tied):
        rows = np.sort(order[first:last])  # as they came
        order[first:last] = rows[tie_order([ids[i] for i in rows], policy.ties)]
        start[first:last], size[first:last] = first + 1, last - first
    return start, size


def _runs(tied: BoolArray) -> Iterator[tuple[int, int]]:
    """The ranges of equal neighbours, given which ones are equal to their successor."""
    edges = np.flatnonzero(np.diff(tied.astype(np.int8), prepend=0, append=0)).tolist()
    return ((first, last + 1) for first, last in zip(edges[::2], edges[1::2], strict=True))


def _gather(done: Sequence[_Sorted], first: int) -> Iterator[_Ranked]:
    if done:
        rank, grade, gold = (np.concatenate([one[column] for one in done]) for column in range(3))
        lengths, gold_lengths = (
            np.array([one.length for one in done]),
            np.array([len(one.gold) for one in done]),
        )
        query = np.repeat(np.arange(first, first + len(done)), [len(one.rank) for one in done])
        start, size = rank, np.ones_like(rank)
        if any(one.ties for one in done):
            start = np.concatenate([one.ties[0] if one.ties else one.rank for one in done])
            size = np.concatenate([one.ties[1] if one.ties else np.ones_like(one.rank) for one in done])
        yield _Ranked(lengths, gold_lengths, gold, query, rank, grade, start, size)


def _rank_by_counting(chunk: _Chunk, policy: Policy) -> _Ranked:
    """Ask the run about each judged document, and count the documents above it."""
    portions = [_read(portion, policy) for portion in chunk.portions()]
    rankings = [ranking for portion in portions for ranking in portion.rankings]
    read = _Read(rankings, *map(np.concatenate, [*zip(*portions, strict=True)][1:]))
    query, grade = read.query - chunk.first, read.grade
    above, same = standing(read.scores, read.lengths, query, read.score)
    rank = above + 1
    if policy.ties != "average":
        if (same > 1).any():
            rank, grade = _break_ties(chunk.golds, read, query, rank, same > 1, policy)
        place = (np.cumsum(read.lengths) - read.lengths)[query] + rank - 1
        if (place[1:] < place[:-1]).any():
            # Ranks are unique now, so each hit has its own place in the concatenated rankings: no need to sort.
            hit_at = np.full(len(read.scores), -1)
            hit_at[place] = np.arange(len(query))
            order = hit_at[hit_at >= 0]
            query, rank, above, same, grade = (
                query[order],
                rank[order],
                above[order],
                same[order],
                grade[order],
            )
    return _Ranked(
        read.lengths, read.gold_lengths, read.gold, query + chunk.first, rank, grade, above + 1, same
    )


class _Read(NamedTuple):
    """The numbers of some queries, in arrays; and which of the judged documents were retrieved."""

    rankings: Sequence[Documents]
    lengths: IntArray
    gold_lengths: IntArray
    gold: Grades
    scores: FloatArray
    query: IntArray
    score: FloatArray
    grade: Grades


def _read(chunk: _Chunk, policy: Policy) -> _Read:
    lengths = np.fromiter(map(len, chunk.rankings), np.int64, len(chunk.rankings))
    gold_lengths = np.fromiter(map(len, chunk.golds), np.int64, len(chunk.golds))
    gold = grades(chunk.queries, chunk.golds)
    rankings, scores = _scores(chunk, int(lengths.sum()), policy)
    answers = np.fromiter(_look_up(rankings, chunk.golds), np.float64, len(gold))  # None becomes NaN
    hit = np.flatnonzero(~np.isnan(answers))
    query = np.repeat(np.arange(chunk.first, chunk.first + len(lengths)), gold_lengths)[hit]
    return _Read(rankings, lengths, gold_lengths, gold, scores, query, answers[hit], gold[hit])


def _look_up(
    tables: Sequence[Documents], keys: Sequence[Documents], *default: Iterable[Any]
) -> Iterator[Any]:
    """``tables[i].get(key)`` for each key of ``keys[i]``, one after the other."""
    return chain.from_iterable(map(map, map(attrgetter("get"), tables), keys, *map(repeat, default)))


def _scores(chunk: _Chunk, count: int, policy: Policy) -> tuple[Sequence[Documents], FloatArray]:
    """All scores, query after query; and the rankings, with NaN scores put last if that is the policy."""
    try:
        scores = _pack(chunk.rankings, count)
    except (TypeError, ValueError, OverflowError):
        _check_dicts(chunk.rankings)
        scores = np.full(1, np.nan)
    if not np.isnan(scores).any():
        return chunk.rankings, scores
    _refuse_number("run", "score", chunk.queries, chunk.rankings, nan_allowed=policy.nan == "last")
    scores = nan_last(np.fromiter(map(float, _values(chunk.rankings)), np.float64, count))
    parts = np.split(scores, np.cumsum([len(docs) for docs in chunk.rankings])[:-1])
    rankings = [
        dict(zip(docs, part.tolist(), strict=True)) for docs, part in zip(chunk.rankings, parts, strict=True)
    ]
    return rankings, scores


def _pack(rankings: Sequence[Documents], count: int) -> FloatArray:
    if count <= _SHORT * len(rankings):
        return np.fromiter(_values(rankings), np.float64, count)
    # struct reads the numbers of a long ranking faster than NumPy does
    buffer = bytearray(8 * count)
    offset = 0
    try:
        for ranking in rankings:
            pack_into(f"{len(ranking)}d", buffer, offset, *dict.values(ranking))
            offset += 8 * len(ranking)
    except StructError:  # something that is not a number, but may be turned into one
        return np.fromiter(_values(rankings), np.float64, count)
    return np.frombuffer(buffer)


def _values(dicts: Iterable[Documents]) -> Iterator[Any]:
    return chain.from_iterable(map(dict.values, dicts))


def _check_dicts(values: Iterable[Any]) -> None:
    if not all(isinstance(value, dict) for value in values):
        raise TypeError


def _refuse_number(
    what: str, role: str, queries: Sequence[Any], tables: Sequence[Documents], *, nan_allowed: bool = False
) -> None:
    """Raise for the first grade or score that is not a number."""
    for query, docs in zip(queries, tables, strict=True):
        for doc, number in docs.items():
            value = mappings.as_number(number)
            if (
                value is None
                or (isnan(value) and not nan_allowed)
                or (role == "grade" and not isfinite(value))
            ):
                raise not_a_number(what, role, query, doc, number)


def _break_ties(
    golds: Sequence[Documents], read: _Read, query: IntArray, rank: IntArray, tied: BoolArray, policy: Policy
) -> tuple[IntArray, Grades]:
    """Ranks (and the grades that go with them) after ordering each tie group that holds a judged document."""
    rank, grade = rank.copy(), read.grade.astype(np.float64)
    rows_of: dict[int, dict[float, list[int]]] = {}
    for row in np.flatnonzero(tied).tolist():
        rows_of.setdefault(int(query[row]), {}).setdefault(float(read.score[row]), []).append(row)
    for q, groups in rows_of.items():
        documents: dict[float, list[Any]] = {score: [] for score in groups}
        for doc, score in read.rankings[q].items():
            if (same := documents.get(float(score))) is not None:
                same.append(doc)
        gold = golds[q]
        for score, rows in groups.items():
            order = [documents[score][i] for i in tie_order(documents[score], policy.ties)]
            places = [place for place, doc in enumerate(order) if doc in gold]
            rank[rows] += np.array(places)
            grade[rows] = [gold[order[place]] for place in places]
    return rank, grade
