"""Plain lists of ids → :class:`~ranklens.judging.judged.Judged`, in microseconds: for calls with one ranking.

Nothing is decided here. Whatever takes a decision (repeated documents, scores, NaN, ids of several types, items that are not
ids) is left to :func:`ranklens.judge`, and a test compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranklens.judging.hits import Hits
from ranklens.judging.judged import NO_TIES, Applied, Judged
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.judging.gold import Documents

_POLICY = Policy()
_FEW = 1024  # documents; slices of what is there already are made in no time
_ZEROS, _NUMBERS = np.zeros(_FEW, np.int64), np.arange(1, _FEW + 1)
_ZEROS.setflags(write=False)
_NUMBERS.setflags(write=False)
_GOLD_TYPES = (dict, set, frozenset, list, tuple)
_RANKING_TYPES = (list, tuple)
_applied = lru_cache(maxsize=64)(Applied)


def judge_plain(queries: Sequence[str], golds: Sequence[Any], rankings: Sequence[Any]) -> Judged | None:
    """What :func:`ranklens.judge` gives with default policies; None where a closer look is needed.

    >>> judged = judge_plain(["q"], [{"a", "b"}], [["x", "a"]])
    >>> judged.hits.rank, judged.ideal.grade, judge_plain(["q"], [{"a"}], [["a", "a"]])
    (array([2]), array([1., 1.]), None)
    """
    if len(queries) == 1:
        read = _read(golds[0], rankings[0])
        if read is None:
            return None
        if not read.rank:  # retrieved ids may begin like judged ones, which is worth a warning
            texts = tuple(doc for doc in golds[0] if type(doc) is str)
            if any(type(doc) is str and doc.startswith(texts) for doc in rankings[0]):
                return None
        return _judged(queries, [read], read.rank, read.grade, read.ideal)
    all_read = [*map(_read, golds, rankings)]
    some = [read for read in all_read if read is not None]
    if len(some) < len(all_read) or not any(read.rank for read in some):
        return None
    columns = [[*chain.from_iterable(column)] for column in [*zip(*some, strict=True)][:3]]
    return _judged(queries, some, *columns)


class _Read(NamedTuple):
    """One query: the ranks and grades of the judged documents that were retrieved, and all grades, best first."""

    rank: list[int]
    grade: list[float]
    ideal: list[float]
    retrieved: int


def _read(gold: Any, ranking: Any) -> _Read | None:
    table = _plain_gold(gold)
    if table is None or type(ranking) not in _RANKING_TYPES:
        return None
    # All ids are text, or all are whole numbers, and none is repeated.
    kinds = {*map(type, ranking), *map(type, table)}
    if not (kinds <= {str} or kinds <= {int}) or len({*ranking}) < len(ranking):
        return None
    rank = [place for place, doc in enumerate(ranking, 1) if doc in table]
    grade = [table[ranking[place - 1]] for place in rank]
    return _Read(rank, grade, sorted(table.values(), reverse=True), len(ranking))


def _judged(
    queries: Sequence[str], read: Sequence[_Read], rank: list[int], grade: list[float], ideal: list[float]
) -> Judged | None:
    n = len(queries)
    try:
        grades, best = np.array(grade, np.float64), np.array(ideal, np.float64)
    except OverflowError:  # more than a floating-point number holds
        return None
    if n == 1 and len(ideal) <= _FEW and len(rank) <= _FEW:
        query, ideal_query, ideal_rank = _ZEROS[: len(rank)], _ZEROS[: len(ideal)], _NUMBERS[: len(ideal)]
    else:
        ideal_rank = np.arange(1, len(ideal) + 1)
        lengths = np.array([len(one.ideal) for one in read])
        query = np.arange(n).repeat([len(one.rank) for one in read])
        ideal_query = np.arange(n).repeat(lengths)
        ideal_rank -= (lengths.cumsum() - lengths).repeat(lengths)
    empty = len([one for one in read if not one.ideal or one.ideal[0] < 1])
    silent = len([one for one in read if not one.retrieved])
    return Judged(
        queries,
        Hits(query, np.array(rank, np.int64), grades, n),
        Hits(ideal_query, ideal_rank, best, n),
        np.array([one.retrieved for one in read], np.int64),
        max(0.0, float(max(ideal, default=0.0))),
        _POLICY,
        _applied(queries=n, empty=empty, silent=silent),
        NO_TIES,
    )


def _plain_gold(gold: Any) -> Documents | None:
    """Finite grades by document; None where that takes a closer look."""
    if type(gold) is dict:
        kinds = {*map(type, gold.values())}
        if not kinds <= {int, float} or (float in kinds and not all(map(isfinite, gold.values()))):
            return None
        return gold
    if type(gold) not in _GOLD_TYPES:
        return None
    try:
        table = dict.fromkeys(gold, 1)
    except TypeError:  # something that is no id
        return None
    return table if len(table) == len(gold) else None
