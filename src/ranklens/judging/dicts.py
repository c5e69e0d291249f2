"""Dicts of dicts → :class:`~ranklens.judging.standing.Standings`: the fastest way in, for Python objects.

Reading Python objects from memory is what takes the time, so everything here is about reading each of them once, in
tight loops and while it is still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, repeat
from math import nan
from struct import error as StructError  # noqa: N812
from struct import pack, pack_into
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.judging.gold import (
    Documents,
    GoldDicts,
    GoldLists,
    Grades,
    Ideal,
    by_place,
    check_dicts,
    grades,
    id_types,
    refuse_number,
    values_of,
)
from ranklens.judging.judged import Applied
from ranklens.judging.order import check_duplicates, nan_last, tie_order
from ranklens.judging.standing import Standings, check_unjudged, in_order, standing
from ranklens.policy import Policy
from ranklens.readers import mappings

_NOTHING = Applied()
_CHUNK_ROWS = 1 << 16  # documents that are ranked at once
_ABSENT: Documents = {}  # the ranking of a query that the run lacks; an empty answer is another dict
_SHORT = 64  # documents or judgments of a query; longer ones are read one query at a time
_FETCHED = 16  # queries whose ids fit the cache
_WORTH_FETCHING = 16  # ids that can be fetched in the time that one look-up waits for memory
_LOOKED_AT = 64  # queries that tell whether rankings and judgments are short


class NotPlain(Exception):  # noqa: N818  always caught
    """A ranking holds something other than texts and plain numbers."""


def from_dicts(
    qrels: Mapping[Any, Any] | GoldDicts,
    run: Mapping[Any, Any],
    policy: Policy,
    *,
    in_32_bits: bool = False,
    only_plain: bool = False,
) -> Standings:
    """The places of the judged documents, from any shapes that :mod:`ranklens.readers.mappings` knows.

    ``in_32_bits`` rounds scores as pytrec_eval does. ``only_plain`` raises :class:`NotPlain` if a ranking that is read holds anything but
    texts and plain ``int`` or ``float``.
    """
    how = _Reading(in_32_bits, only_plain)
    if not (isinstance(qrels, GoldDicts) and qrels.given.duplicates):
        with suppress(TypeError):  # raised where something is not a dict of dicts
            gold = qrels if isinstance(qrels, GoldDicts) else GoldDicts.of(mappings.Repaired(qrels))
            return _judge_dicts(gold, mappings.Repaired(run), policy, how)
    # Look closely, which takes longer than judging.
    gold = qrels if isinstance(qrels, GoldDicts) else GoldDicts.of(mappings.judgments(qrels))
    rankings = mappings.rankings(run)
    check_duplicates("qrels", gold.given.duplicates, gold.given.first_duplicate, policy)
    check_duplicates("run", rankings.duplicates, rankings.first_duplicate, policy)
    return _judge_dicts(gold, rankings, policy, how)


class _Reading(NamedTuple):
    """How scores are read."""

    in_32_bits: bool
    only_plain: bool

    def rounded(self, scores: FloatArray) -> FloatArray:
        return scores.astype(np.float32).astype(np.float64) if self.in_32_bits else scores

    def check(self, rankings: Iterable[Documents], scores: Iterable[Any]) -> None:
        if self.only_plain and not are_plain(rankings, scores):
            raise NotPlain


def are_plain(rankings: Iterable[Documents], scores: Iterable[Any]) -> bool:
    """Whether ids are texts and scores ``int`` or ``float``: only texts can be joined, and a sum of such numbers is one.

    Looking at each of them in Python would take longer than judging them. Other numbers are noticed unless their sum with a ``float`` is
    one, as that of a ``Fraction`` is.
    """
    try:
        "".join(chain.from_iterable(rankings))
        return type(sum(scores)) in (int, float)
    except (TypeError, OverflowError):
        return False


def _judge_dicts(gold: GoldDicts, rankings: mappings.Repaired, policy: Policy, how: _Reading) -> Standings:
    ranked = rankings.by_query
    if gold.kinds != id_types(ranked):
        if how.only_plain:
            raise NotPlain
        gold, ranked = gold.as_text, mappings.as_text(ranked)
    queries, golds = gold.queries, gold.tables
    found = _rankings_of(queries, ranked)
    parts = [part for chunk in _chunks(gold, found, how) for part in _rank(chunk, policy)]
    all_hits = parts[0] if len(parts) == 1 else _Ranked(*map(np.concatenate, zip(*parts, strict=True)))
    in_run = all_hits.lengths > 0
    without = (all_hits.lengths == 0).nonzero()[0].tolist()
    silent = [i for i in without if found[i] is not _ABSENT]
    if silent:
        in_run[silent] = True
    ignored = len(ranked) - len(found) + len(without) - len(silent)
    check_unjudged(ignored, policy, lambda: next(q for q in ranked if q not in gold.given.by_query))
    ideal = gold.ideal if gold.keeps else Ideal.of(gold.lengths, all_hits.gold)
    repeated, repeated_gold = rankings.duplicates, gold.given.duplicates
    return Standings(
        queries=gold.names,
        retrieved=all_hits.lengths,
        in_run=in_run,
        judged=gold.lengths,
        gold=all_hits.gold,
        query=all_hits.query,
        rank=all_hits.rank,
        grade=all_hits.grade,
        start=all_hits.start,
        size=all_hits.size,
        applied=Applied(ignored=ignored, duplicates=repeated, duplicate_judgments=repeated_gold)
        if ignored or repeated or repeated_gold
        else _NOTHING,
        examples=(next(iter(ranked), ""), _first(golds), _first(found)),
        ideal=ideal,
        in_order=policy.ties != "average",
    )


def _rankings_of(queries: list[Any], ranked: Mapping[Any, Documents]) -> list[Documents]:
    """The ranking of each query, ``_ABSENT`` where the run lacks it."""
    if len(ranked) == len(queries) and list(ranked) == queries:
        return list(ranked.values())
    return list(map(ranked.get, queries, repeat(_ABSENT)))


def _first(tables: Iterable[Documents]) -> Any:
    """A document, to show."""
    return next(chain.from_iterable(tables), "")


class _Chunk(NamedTuple):
    """Some queries that are ranked at once, and how to read them."""

    first: int
    queries: Sequence[Any]
    golds: Sequence[Documents]
    rankings: Sequence[Documents]
    portion: int  # queries that are read at once
    gold_lengths: IntArray
    grades: Grades | None  # None if not known yet
    owners: IntArray | None  # the number of each grade's query; None if not known yet
    how: _Reading
    asks_gold: bool  # about each retrieved document, rather than the run about each judged one
    listed: bool  # golds are lists, in which a document may be there again

    def portions(self, size: int) -> Iterator[_Chunk]:
        if len(self.queries) <= size:
            yield self
            return
        row = 0
        for i in range(0, len(self.queries), size):
            here = slice(i, i + size)
            gold_lengths = self.gold_lengths[here]
            rows = slice(row, row + int(gold_lengths.sum()))
            row = rows.stop
            yield self._replace(
                first=self.first + i,
                queries=self.queries[here],
                golds=self.golds[here],
                rankings=self.rankings[here],
                gold_lengths=gold_lengths,
                grades=None if self.grades is None else self.grades[rows],
                owners=None if self.owners is None else self.owners[rows],
            )

    def numbered(self, lengths: IntArray) -> IntArray:
        """The number of each query, repeated for each of its documents."""
        return np.arange(self.first, self.first + len(self.queries)).repeat(lengths)


def _chunks(gold: GoldDicts, rankings: list[Documents], how: _Reading) -> Iterator[_Chunk]:
    """Chunks of about `_CHUNK_ROWS` documents, to be read in portions that fit the processor's cache.

    Each query is read several times. A portion is a few hundred short queries, or one with many judgments.
    """
    queries = gold.queries
    looked_at = min(len(queries), _LOOKED_AT) or 1
    documents = sum(map(len, rankings[:_LOOKED_AT])) / looked_at
    judged = int(gold.lengths[:_LOOKED_AT].sum()) / looked_at
    asks_gold = documents <= (judged if gold.keeps else min(judged, _SHORT))
    portion = 1 if judged > _SHORT and not asks_gold else 512
    listed = isinstance(gold, GoldLists)
    if isinstance(gold, GoldLists) and (asks_gold or portion == 1):
        gold, listed = gold.dicts, False
    size = max(int(_CHUNK_ROWS * (16 if portion == 1 else 1) / max(documents, 1)), 1)
    known = gold.grades if gold.keeps else None
    owners = gold.ideal.hits.query if gold.keeps and not asks_gold else None
    chunk = _Chunk(
        0, queries, gold.tables, rankings, portion, gold.lengths, known, owners, how, asks_gold, listed
    )
    return chunk.portions(size)


class _Ranked(NamedTuple):
    """The judged documents of a chunk in rank order, and what was read on the way."""

    lengths: IntArray
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
    for one in chunk.portions(1):
        if found := _rank_by_sorting(one, policy):
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


def _rank_by_sorting(one: _Chunk, policy: Policy) -> _Sorted | None:
    """Ask the judgments of one query about each document in rank order. None where that is not enough."""
    gold, ranking = one.golds[0], one.rankings[0]
    try:
        judged = bytes(dict.values(gold))  # a TypeError if it is not a dict
        scores = one.how.rounded(_pack([ranking], len(ranking), one.how))
    except (TypeError, ValueError, OverflowError):
        return None
    if 255 in judged or np.isnan(scores).any():
        return None
    list(gold)  # a tight loop over the ids: brings them into the cache faster than looking them up does
    # 255 means "not judged"
    grade = np.frombuffer(bytes(map(gold.get, ranking, repeat(255))), np.uint8)
    ties = None
    if not (scores[1:] < scores[:-1]).all():
        order = np.argsort(-scores)
        scores = scores[order]
        tied = scores[1:] == scores[:-1]
        if tied.any() and policy.ties == "average":
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
        lengths = np.array([one.length for one in done])
        query = np.repeat(np.arange(first, first + len(done)), [len(one.rank) for one in done])
        start, size = rank, np.ones_like(rank)
        if any(one.ties for one in done):
            start = np.concatenate([one.ties[0] if one.ties else one.rank for one in done])
            size = np.concatenate([one.ties[1] if one.ties else np.ones_like(one.rank) for one in done])
        yield _Ranked(lengths, gold, query, rank, grade, start, size)


def _rank_by_counting(chunk: _Chunk, policy: Policy) -> _Ranked:
    """Count the documents above each one that is both judged and retrieved."""
    portions = [_read(portion, policy) for portion in chunk.portions(chunk.portion)]
    read = portions[0] if len(portions) == 1 else _Read.joined(portions)
    query, grade = read.query - chunk.first if chunk.first else read.query, read.grade
    start = read.lengths.cumsum() - read.lengths
    above, same = _places(read, query, start)
    first = rank = above + 1
    if policy.ties != "average":
        tied = np.count_nonzero(same > 1)  # faster than any(), here and below
        if tied:
            rank, grade = _break_ties(chunk.golds, read, query, start, rank, same > 1, policy)
        place = start[query] + rank - 1
        if np.count_nonzero(place[1:] < place[:-1]):
            order = in_order(place, len(read.scores))  # within queries, so these stay as they are
            rank, grade = rank[order], grade[order]
            first, same = (first[order], same[order]) if tied else (rank, same)
    query = query + chunk.first if chunk.first else query
    return _Ranked(read.lengths, read.gold, query, rank, grade, first, same)


def _places(read: _Read, query: IntArray, start: IntArray) -> tuple[IntArray, IntArray]:
    """How many documents are above each hit, and how many have its score."""
    if read.row is not None:
        falls = read.scores[1:] < read.scores[:-1]
        falls[start[1:][(start[1:] > 0) & (start[1:] < len(read.scores))] - 1] = (
            True  # where another query begins
        )
        if falls.all():
            return read.row - start[query], np.ones(len(query), np.int64)
    return standing(read.scores, read.lengths, query, read.score)


class _Read(NamedTuple):
    """The numbers of some queries, in arrays; and which documents are both judged and retrieved."""

    rankings: Sequence[Documents]
    lengths: IntArray
    gold: Grades
    scores: FloatArray
    query: IntArray
    score: FloatArray
    grade: Grades
    row: IntArray | None  # of each hit among all scores, where judgments were asked

    @classmethod
    def joined(cls, parts: Sequence[_Read]) -> _Read:
        rankings = [ranking for part in parts for ranking in part.rankings]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in cls._fields[1:-1]
        }
        before = np.cumsum([0, *(len(part.scores) for part in parts)]).tolist()
        rows = [part.row + n for part, n in zip(parts, before, strict=False) if part.row is not None]
        return cls(rankings, **columns, row=np.concatenate(rows) if rows else None)


def _read(chunk: _Chunk, policy: Policy) -> _Read:
    n = len(chunk.rankings)
    lengths = np.fromiter(map(len, chunk.rankings), np.int64, n)
    gold = grades(chunk.queries, chunk.golds) if chunk.grades is None else chunk.grades
    rankings, scores = _scores(chunk, int(lengths.sum()), policy)
    if chunk.asks_gold:
        near = len(scores) * _WORTH_FETCHING > len(gold) > _SHORT * n
        answers = _as_array((_look_up_nearby if near else _look_up)(chunk.golds, rankings))
        hit = (~np.isnan(answers)).nonzero()[0]
        query = chunk.numbered(lengths)[hit]
        return _Read(rankings, lengths, gold, scores, query, scores[hit], answers[hit], hit)
    answers = chunk.how.rounded(_as_array(_look_up(rankings, chunk.golds)))
    found = ~np.isnan(answers)
    if chunk.listed:
        found &= gold >= 0  # else the document is there again
    hit = found.nonzero()[0]
    owners = chunk.numbered(chunk.gold_lengths) if chunk.owners is None else chunk.owners
    query = owners[hit]
    return _Read(rankings, lengths, gold, scores, query, answers[hit], gold[hit], None)


def _look_up(tables: Sequence[Documents], keys: Sequence[Documents]) -> list[Any]:
    """``tables[i].get(key, nan)`` for each key of ``keys[i]``, one after the other."""
    return [table.get(key, nan) for table, some in zip(tables, keys, strict=True) for key in some]


def _look_up_nearby(tables: Sequence[Documents], keys: Sequence[Documents]) -> list[Any]:
    """The same; a tight loop over all ids of some tables brings them into the processor's cache beforehand."""
    found: list[Any] = []
    for first in range(0, len(tables), _FETCHED):
        here = slice(first, first + _FETCHED)
        for table in tables[here]:
            list(table)
        found += _look_up(tables[here], keys[here])
    return found


def _scores(chunk: _Chunk, count: int, policy: Policy) -> tuple[Sequence[Documents], FloatArray]:
    """All scores, query after query; and the rankings, with NaN scores put last if that is the policy."""
    try:
        scores = _pack(chunk.rankings, count, chunk.how)
    except (TypeError, ValueError, OverflowError):
        check_dicts(chunk.rankings)
        scores = np.full(1, np.nan)
    if not np.count_nonzero(np.isnan(scores)):
        return chunk.rankings, chunk.how.rounded(scores)
    refuse_number("run", "score", chunk.queries, chunk.rankings, nan_allowed=policy.nan == "last")
    scores = nan_last(
        chunk.how.rounded(np.fromiter(map(float, values_of(chunk.rankings)), np.float64, count))
    )
    rest = iter(scores.tolist())
    rankings = [dict(zip(docs, islice(rest, len(docs)), strict=True)) for docs in chunk.rankings]
    return rankings, scores


def _pack(rankings: Sequence[Documents], count: int, how: _Reading) -> FloatArray:
    if count <= _SHORT * len(rankings):
        scores = [*values_of(rankings)]
        how.check(rankings, scores)
        return _as_array(scores)
    buffer = bytearray(8 * count)
    offset = 0
    try:
        for ranking in rankings:
            how.check([ranking], dict.values(ranking))
            pack_into(f"{len(ranking)}d", buffer, offset, *dict.values(ranking))
            offset += 8 * len(ranking)
    except StructError:
        return np.fromiter(values_of(rankings), np.float64, count)
    return np.frombuffer(buffer)


def _as_array(numbers: Sequence[Any]) -> FloatArray:
    """The numbers as an array; struct packs them faster than NumPy."""
    try:
        return np.frombuffer(pack(f"{len(numbers)}d", *numbers))
    except StructError:  # something that is not a number, but may be turned into one
        return np.fromiter(numbers, np.float64, len(numbers))


def _break_ties(
    golds: Sequence[Documents],
    read: _Read,
    query: IntArray,
    start: IntArray,
    rank: IntArray,
    tied: BoolArray,
    policy: Policy,
) -> tuple[IntArray, Grades]:
    """Ranks (and the grades that go with them) after ordering each tie group that holds a judged document."""
    rank, grade = rank.copy(), read.grade.astype(np.float64)
    rows_of: dict[int, dict[float, list[int]]] = {}
    for row in np.flatnonzero(tied).tolist():
        rows_of.setdefault(int(query[row]), {}).setdefault(float(read.score[row]), []).append(row)
    for q, groups in rows_of.items():
        documents: dict[float, list[Any]] = {score: [] for score in groups}
        scores = read.scores[start[q] : start[q] + read.lengths[q]].tolist()
        for doc, score in zip(read.rankings[q], scores, strict=True):
            if (same := documents.get(score)) is not None:
                same.append(doc)
        gold = by_place(golds[q]) if isinstance(golds[q], list) else golds[q]
        for score, rows in groups.items():
            order = [documents[score][i] for i in tie_order(documents[score], policy.ties)]
            places = [place for place, doc in enumerate(order) if doc in gold]
            rank[rows] += np.array(places)
            grade[rows] = [gold[order[place]] for place in places]
    return rank, grade
