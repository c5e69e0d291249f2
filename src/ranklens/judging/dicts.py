"""Dicts of dicts → :class:`~ranklens.judging.standing.Standings`: the fastest way in, for Python objects.

Reading Python objects from memory is what takes the time, so everything here is about reading each of them once, in
tight loops and while it is still in the processor's cache.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from itertools import chain, islice, repeat
from math import nan
from struct import Struct, pack, pack_into
from struct import error as StructError  # noqa: N812
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers import mappings
from ranklens.data.readers.mappings import Id, Number
from ranklens.judging.gold import (
    LOOKED_AT,
    Documents,
    GoldDicts,
    Grades,
    Ideal,
    are_mixed,
    check_dicts,
    floats,
    grades,
    id_types,
    refuse_none,
    refuse_number,
    types_of_documents,
    values_of,
)
from ranklens.judging.judged import Applied
from ranklens.judging.order import check_duplicates, nan_last, tie_order
from ranklens.judging.standing import (
    AT_ONCE,
    Sampled,
    Standings,
    check_unjudged,
    compare,
    in_order,
    lacking_most,
    standing,
)
from ranklens.policy import Policy

_NOTHING = Applied()
_CHUNK_ROWS = 1 << 16  # documents that are ranked at once
_ABSENT: Documents = {}  # the ranking of a query that the run lacks; an empty answer is another dict
_STRANGE = 1_000  # rankings without a hit that tell whether ids are of another type
_SHORT = 64  # documents or judgments of a query; longer ones are read one query at a time
_FETCHED = 16  # queries whose ids fit the cache
_WORTH_FETCHING = 16  # ids that can be fetched in the time that one look-up waits for memory


class NotPlain(Exception):  # noqa: N818  always caught
    """A ranking holds something other than texts and plain numbers."""


def from_dicts(
    qrels: Mapping[Id, Any] | GoldDicts,
    run: Mapping[Id, Any],
    policy: Policy,
    *,
    in_32_bits: bool = False,
    only_plain: bool = False,
) -> Standings:
    """The places of the judged documents, from any shapes that :mod:`ranklens.data.readers.mappings` knows.

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


def from_prepared(gold: GoldDicts, run: Mapping[Id, Any], policy: Policy) -> Standings:
    """:func:`from_dicts` of prepared judgments: only the queries of the run are looked at."""
    asked = gold.of_run(run)
    standings = from_dicts(asked, run, policy)
    if asked is gold or policy.missing == "skip":
        return standings
    place = np.fromiter(map(gold.place.__getitem__, asked.queries), np.int64, len(asked.queries))
    retrieved, in_run = np.zeros(len(gold.queries), np.int64), np.zeros(len(gold.queries), dtype=bool)
    retrieved[place], in_run[place] = standings.retrieved, standings.in_run
    return standings._replace(
        queries=gold.names,
        retrieved=retrieved,
        in_run=in_run,
        judged=gold.lengths,
        gold=gold.grades,
        query=place[standings.query],
        ideal=gold.ideal,
        left_out=0,
    )


class _Reading(NamedTuple):
    """How scores are read."""

    in_32_bits: bool
    only_plain: bool

    def rounded(self, scores: FloatArray) -> FloatArray:
        return scores.astype(np.float32) if self.in_32_bits else scores

    def check(self, rankings: Iterable[Documents], scores: Iterable[Number]) -> None:
        if self.only_plain and not are_plain(rankings, scores):
            raise NotPlain


def are_plain(rankings: Iterable[Documents], scores: Iterable[Number]) -> bool:
    """Whether ids are texts and scores ``int`` or ``float``: only texts can be joined, and a sum of such numbers is one.

    Looking at each of them in Python would take longer than judging them. Other numbers are noticed unless their sum with a ``float`` is
    one, as that of a ``Fraction`` is.
    """
    try:
        ids: list[str] = []
        for ranking in rankings:
            ids += ranking
        "".join(ids)
        return type(sum(scores)) in (int, float)
    except (TypeError, OverflowError):
        return False


def _judge_dicts(
    gold: GoldDicts, rankings: mappings.Repaired, policy: Policy, how: _Reading, *, are_texts: bool = False
) -> Standings:
    """``are_texts`` says that all ids are; else they become texts where types differ."""
    ranked = rankings.by_query
    looks = not (are_texts or how.only_plain)  # at types, which are known otherwise
    if how.only_plain and gold.kinds != id_types(ranked):
        raise NotPlain
    if looks:
        kinds = id_types(ranked)
        refuse_none("run", ranked)
        # Where two retrievers have put their results together, one's ids come first and the other's last.
        last = types_of_documents(ranked.values(), last=True)
        if gold.kinds != kinds or gold.is_mixed or len(last) > 1:
            return _judge_as_text(gold, rankings, policy, how)
    if len(ranked) == len(gold.queries) and list(ranked) == gold.queries:
        retrieved = list(ranked.values())
    else:
        retrieved = list(map(ranked.get, gold.queries, repeat(_ABSENT)))
    sizes = [*map(len, retrieved)]
    lacks_some = 0 in sizes
    # Without any, the first ids tell all types.
    if lacks_some and not are_texts and (are_mixed(gold.queries) or are_mixed(ranked)):
        return _judge_as_text(gold, rankings, policy, how)
    lengths = np.fromiter(sizes, np.int64, len(sizes))
    # 5 to 8% faster with 50 queries of 20 documents than the steps below, which larger data need.
    all_hits, ideal = _rank_at_once(gold, retrieved, sizes, lengths, how), None
    may_tie = all_hits is None
    if all_hits is None:
        parts = [
            part for chunk in _chunks(gold, retrieved, sizes, lengths, how) for part in _rank(chunk, policy)
        ]
        all_hits = parts[0] if len(parts) == 1 else _Ranked(*map(np.concatenate, zip(*parts, strict=True)))
        ideal = None if gold.keeps else Ideal.of(gold.lengths, all_hits.gold)
    many = max(len(ranked), len(gold.queries)) > LOOKED_AT
    if looks and many:  # ids of another type may be why nothing retrieved is judged
        idle = ((np.bincount(all_hits.query, minlength=len(retrieved)) == 0) & (lengths > 0)).nonzero()[0]
        some = idle[:: len(idle) // _STRANGE + 1].tolist()
        firsts = (next(iter(docs), None) for i in some for docs in (gold.tables[i], retrieved[i]))
        if len({gold.kinds[1], *map(type, firsts)} - {type(None)}) > 1:
            return _judge_as_text(gold, rankings, policy, how)
    in_run = lengths > 0
    ignored = len(ranked) - len(retrieved)
    if lacks_some:
        in_run = np.fromiter((ranking is not _ABSENT for ranking in retrieved), np.bool_, len(retrieved))
        ignored += len(retrieved) - int(np.count_nonzero(in_run))

    def unjudged() -> Iterator[Id]:
        return (query for query in ranked if query not in gold.given.by_query)

    def sample(most: int) -> Iterator[Sampled]:
        some = lacking_most(all_hits.query, gold.lengths, lengths, most)
        return ((gold.tables[number], retrieved[number]) for number in some)

    check_unjudged(ignored, policy, lambda: next(unjudged()))
    repeated, repeated_gold = rankings.duplicates, gold.given.duplicates
    return Standings(
        queries=gold.names,
        retrieved=lengths,
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
        examples=(next(iter(ranked), ""), _first(gold.tables), _first(retrieved)),
        ideal=ideal or gold.ideal,
        in_order=policy.ties != "average",
        may_tie=may_tie,
        unjudged=unjudged,
        sample=sample,
        left_out=gold.left_out,
    )


def _first(tables: Iterable[Documents]) -> Id:
    """A document, to show."""
    return next(chain.from_iterable(tables), "")


def _judge_as_text(gold: GoldDicts, rankings: mappings.Repaired, policy: Policy, how: _Reading) -> Standings:
    """With text for all ids, which takes long."""
    text = replace(rankings, by_query=mappings.as_text(rankings.by_query))
    return _judge_dicts(gold.as_text, text, policy, how, are_texts=True)


class _Chunk(NamedTuple):
    """Some queries that are ranked at once, and how to read them."""

    first: int
    queries: Sequence[Id]
    golds: Sequence[Documents]
    rankings: Sequence[Documents]
    lengths: IntArray  # of the rankings
    documents: int  # of all of them
    portion: int  # queries that are read at once
    gold_lengths: IntArray
    grades: Grades | None  # None if not known yet
    owners: IntArray | None  # the number of each grade's query; None if not known yet
    how: _Reading
    asks_gold: bool  # about each retrieved document, rather than the run about each judged one

    def portions(self, size: int) -> Iterator[_Chunk]:
        """The same, ``size`` queries at a time."""
        if len(self.queries) <= size:
            yield self
            return
        row = 0
        for i in range(0, len(self.queries), size):
            here = slice(i, i + size)
            gold_lengths = self.gold_lengths[here]
            rows = slice(row, row + int(gold_lengths.sum()))
            row = rows.stop
            lengths = self.lengths[here]
            yield self._replace(
                first=self.first + i,
                queries=self.queries[here],
                golds=self.golds[here],
                rankings=self.rankings[here],
                lengths=lengths,
                documents=int(lengths.sum()),
                gold_lengths=gold_lengths,
                grades=None if self.grades is None else self.grades[rows],
                owners=None if self.owners is None else self.owners[rows],
            )

    def numbered(self, lengths: IntArray) -> IntArray:
        """The number of each query, repeated for each of its documents."""
        return np.arange(self.first, self.first + len(self.queries)).repeat(lengths)


def _chunks(
    gold: GoldDicts, rankings: list[Documents], sizes: list[int], lengths: IntArray, how: _Reading
) -> Iterable[_Chunk]:
    """Chunks of about `_CHUNK_ROWS` documents, to be read in portions that fit the processor's cache.

    Each query is read several times. A portion is a few hundred short queries, or one with many judgments.
    """
    n, documents, judged = len(sizes), sum(sizes), gold.documents
    asks_gold = documents <= (judged if gold.keeps else min(judged, _SHORT * n))
    portion = 1 if judged > _SHORT * n and not asks_gold else 512
    all_grades = gold.grades if gold.keeps else None
    owners = gold.ideal.hits.query if gold.keeps and not asks_gold else None
    chunk = _Chunk(
        0,
        gold.queries,
        gold.tables,
        rankings,
        lengths,
        documents,
        portion,
        gold.lengths,
        all_grades,
        owners,
        how,
        asks_gold,
    )
    each = documents / n if documents else 1.0
    return chunk.portions(max(int(_CHUNK_ROWS * (16 if portion == 1 else 1) / each), 1))


class _Ranked(NamedTuple):
    """The judged documents of a chunk in rank order, and what was read on the way."""

    gold: Grades
    query: IntArray
    rank: IntArray
    grade: Grades
    start: IntArray
    size: IntArray


def _rank_at_once(
    gold: GoldDicts, rankings: Sequence[Documents], sizes: list[int], lengths: IntArray, how: _Reading
) -> _Ranked | None:
    """Little data in which nothing is unusual, in as few steps as possible: with little data, steps are what takes the time. None for any other."""
    count, longest = sum(sizes), max(sizes, default=0)
    most = max(gold.documents, len(sizes))
    if longest * most > AT_ONCE or count <= gold.documents:
        return None
    all_grades, owners = gold.grades, gold.ideal.hits.query
    try:
        scores = how.rounded(_pack(rankings, count, how))
        answers = how.rounded(_as_array(_look_up(rankings, gold.tables)))
    except (TypeError, ValueError, OverflowError):
        return None
    hit = (answers == answers).nonzero()[0]  # noqa: PLR0124  not NaN
    query, grade = owners[hit], all_grades[hit]
    above, same = compare(scores, lengths, longest, query, answers[hit])
    if same is not None or np.count_nonzero(np.isnan(scores)):
        return None
    rank = above + 1
    order = (query * longest + rank).argsort(kind="stable")
    rank = rank[order]
    return _Ranked(all_grades, query, rank, grade[order], rank, np.ones(len(rank), np.int64))


def _rank(chunk: _Chunk, policy: Policy) -> Iterator[_Ranked]:
    """Query by query where most documents are judged, else all at once."""
    if chunk.portion > 1 or int(chunk.gold_lengths.sum()) <= chunk.documents:
        yield _rank_by_counting(chunk, policy)
        return
    done: list[_Sorted] = []
    for one in chunk.portions(1):
        if ranked := _rank_by_sorting(one, policy):
            done.append(ranked)
        else:
            yield from _gather(done, one.first - len(done))
            yield _rank_by_counting(one, policy)
            done = []
    yield from _gather(done, chunk.first + len(chunk.queries) - len(done))


class _Sorted(NamedTuple):
    """The judged documents of one query in rank order, and the grades of all."""

    rank: IntArray
    grade: npt.NDArray[np.uint8]
    gold: npt.NDArray[np.uint8]
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
    return _Sorted(hit + 1, grade[hit], best_first, groups)


def _order_ties(
    order: IntArray, tied: BoolArray, ids: Sequence[Id], policy: Policy
) -> tuple[IntArray, IntArray]:
    """Put tied documents in the order of the policy; the first rank and size of the tie group at each place."""
    start, size = np.arange(1, len(order) + 1), np.ones(len(order), np.int64)
    # Where a range of equal neighbours begins, and where it ends.
    edges = np.flatnonzero(np.diff(tied.astype(np.int8), prepend=0, append=0)).tolist()
    for first, last in zip(edges[::2], (edge + 1 for edge in edges[1::2]), strict=True):
        rows = np.sort(order[first:last])  # as they came
        order[first:last] = rows[tie_order([ids[i] for i in rows], policy.ties)]
        start[first:last], size[first:last] = first + 1, last - first
    return start, size


def _gather(done: Sequence[_Sorted], first: int) -> Iterator[_Ranked]:
    if done:
        rank, grade, gold = (np.concatenate([one[column] for one in done]) for column in range(3))
        query = np.repeat(np.arange(first, first + len(done)), [len(one.rank) for one in done])
        start, size = rank, np.ones_like(rank)
        if any(one.ties for one in done):
            start = np.concatenate([one.ties[0] if one.ties else one.rank for one in done])
            size = np.concatenate([one.ties[1] if one.ties else np.ones_like(one.rank) for one in done])
        yield _Ranked(gold, query, rank, grade, start, size)


def _rank_by_counting(chunk: _Chunk, policy: Policy) -> _Ranked:
    """Count the documents above each one that is both judged and retrieved."""
    portions = [_read(portion, policy) for portion in chunk.portions(chunk.portion)]
    read = portions[0] if len(portions) == 1 else _Read.joined(portions)
    query, grade = read.query - chunk.first if chunk.first else read.query, read.grade
    start = chunk.lengths.cumsum() - chunk.lengths
    falls = read.scores[1:] < read.scores[:-1] if read.row is not None else np.zeros(1, bool)
    if read.row is not None:
        falls[start[(start > 0) & (start < len(read.scores))] - 1] = True  # where another query begins
    if read.row is not None and falls.all():  # no scores tie, and a row says the rank
        above, same = read.row - start[query], np.ones(len(query), np.int64)
    else:
        above, same = standing(read.scores, chunk.lengths, query, read.score)
    first = rank = above + 1
    if policy.ties != "average":
        tied = np.count_nonzero(same > 1)  # faster than any(), here and below
        if tied:
            rank, grade = _break_ties(chunk, read, query, rank, same > 1, policy)
        place = start[query] + rank
        if np.count_nonzero(place[1:] < place[:-1]):
            order = in_order(place - 1, chunk.documents)  # within queries, so these stay as they are
            rank, grade = rank[order], grade[order]
            first, same = (first[order], same[order]) if tied else (rank, same)
    return _Ranked(read.gold, read.query, rank, grade, first, same)


class _Read(NamedTuple):
    """The numbers of some queries, in arrays; and which documents are both judged and retrieved."""

    rankings: Sequence[Documents]
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
    gold = grades(chunk.queries, chunk.golds) if chunk.grades is None else chunk.grades
    rankings, scores = _scores(chunk, policy)
    if chunk.asks_gold:
        # A tight loop over the ids of some tables brings them into the processor's cache before they are looked up: 15 to 20%
        # faster with 1,000 judgments for each of 400 queries.
        nearby = len(scores) * _WORTH_FETCHING > len(gold) > _SHORT * len(rankings)
        step = _FETCHED if nearby else max(len(rankings), 1)
        grades_found: list[Id] = []
        for first in range(0, len(rankings), step):
            tables = chunk.golds[first : first + step]
            for table in tables if nearby else ():
                list(table)
            grades_found += _look_up(tables, rankings[first : first + step])
        answers = _as_array(grades_found)
        hit = (answers == answers).nonzero()[0]  # noqa: PLR0124  not NaN
        query = chunk.numbered(chunk.lengths)[hit]
        return _Read(rankings, gold, scores, query, scores[hit], answers[hit], hit)
    answers = chunk.how.rounded(_as_array(_look_up(rankings, chunk.golds)))
    hit = (answers == answers).nonzero()[0]  # noqa: PLR0124  not NaN
    owners = chunk.numbered(chunk.gold_lengths) if chunk.owners is None else chunk.owners
    return _Read(rankings, gold, scores, owners[hit], answers[hit], gold[hit], None)


def _look_up(tables: Sequence[Documents], keys: Sequence[Documents]) -> list[Id]:
    """``tables[i].get(key, nan)`` for each key of ``keys[i]``, one after the other."""
    return [table.get(key, nan) for table, some in zip(tables, keys, strict=True) for key in some]


def _scores(chunk: _Chunk, policy: Policy) -> tuple[Sequence[Documents], FloatArray]:
    """All scores, query after query; and the rankings, with NaN scores put last if that is the policy."""
    try:
        scores = _pack(chunk.rankings, chunk.documents, chunk.how)
    except (TypeError, ValueError, OverflowError):
        check_dicts(chunk.rankings)
        scores = np.full(1, np.nan)
    if not np.count_nonzero(np.isnan(scores)):
        return chunk.rankings, chunk.how.rounded(scores)
    refuse_number("run", "score", chunk.queries, chunk.rankings, nan_allowed=policy.nan == "last")
    scores = nan_last(
        chunk.how.rounded(np.fromiter(map(float, values_of(chunk.rankings)), np.float64, chunk.documents))
    )
    rest = iter(scores.tolist())
    rankings = [dict(zip(docs, islice(rest, len(docs)), strict=True)) for docs in chunk.rankings]
    return rankings, scores


def _pack(rankings: Sequence[Documents], count: int, how: _Reading) -> FloatArray:
    # struct takes a seventh to two thirds of the time that NumPy takes.
    if count <= _SHORT * len(rankings):
        scores = (*values_of(rankings),)
        how.check(rankings, scores)
        try:
            return np.frombuffer(Struct(f"{count}d").pack(*scores))  # takes the tuple as it is
        except StructError:
            return floats(values_of(rankings), count)
    buffer = bytearray(8 * count)
    offset = 0
    try:
        for ranking in rankings:
            how.check([ranking], dict.values(ranking))
            pack_into(f"{len(ranking)}d", buffer, offset, *dict.values(ranking))
            offset += 8 * len(ranking)
    except StructError:
        return floats(values_of(rankings), count)
    return np.frombuffer(buffer)


def _as_array(numbers: Sequence[Number]) -> FloatArray:
    """The numbers as an array; struct packs them faster than NumPy."""
    try:
        return np.frombuffer(pack(f"{len(numbers)}d", *numbers))
    except StructError:  # something that is not a number, but may be turned into one
        return floats(numbers, len(numbers))


def _break_ties(
    chunk: _Chunk,
    read: _Read,
    query: IntArray,
    rank: IntArray,
    tied: BoolArray,
    policy: Policy,
) -> tuple[IntArray, Grades]:
    """Ranks (and the grades that go with them) after ordering each tie group that holds a judged document."""
    rank, grade = rank.copy(), read.grade.astype(np.float64)
    ends, golds = chunk.lengths.cumsum(), chunk.golds
    rows_of: dict[int, dict[float, list[int]]] = {}
    for row in np.flatnonzero(tied).tolist():
        rows_of.setdefault(int(query[row]), {}).setdefault(float(read.score[row]), []).append(row)
    for q, groups in rows_of.items():
        documents: dict[float, list[Id]] = {score: [] for score in groups}
        scores = read.scores[ends[q] - chunk.lengths[q] : ends[q]].tolist()
        for doc, score in zip(read.rankings[q], scores, strict=True):
            if (same := documents.get(score)) is not None:
                same.append(doc)
        gold = golds[q]
        for score, rows in groups.items():
            order = [documents[score][i] for i in tie_order(documents[score], policy.ties)]
            places = [place for place, doc in enumerate(order) if doc in gold]
            rank[rows] += np.array(places)
            grade[rows] = [gold[order[place]] for place in places]
    return rank, grade


# NumPy lets go of Python's global lock in every call on more than some hundred numbers, and a waiting thread takes it at once. Eight
# threads that evaluate dicts would hand it over hundreds of times per evaluation, which takes longer than the evaluation does. So each
# thread does a whole step before the next one begins. Python that runs threads side by side has no such lock, and needs no turns.
_HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()
_turns: dict[str, AbstractContextManager[object]] = {}


def turn() -> AbstractContextManager[object]:
    """To be held while one thread works on dicts; nothing in it may wait for another thread."""
    return _turns["next"]


def _begin_turns() -> None:
    """Also in a forked process: another thread may have had its turn in the one that it was forked from."""
    _turns["next"] = RLock() if _HAS_LOCK else nullcontext()


_begin_turns()
if sys.platform != "win32":  # where nothing is forked
    os.register_at_fork(after_in_child=_begin_turns)
