"""The ranks of the judged documents, before policies for whole queries are applied.

The rank of a judged document is *counted* (how many scores are higher), so a ranking is never sorted as a whole unless
it holds many judged documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.errors import Option, PolicyError
from ranklens.judging.gold import Grades, Ideal
from ranklens.judging.judged import Applied
from ranklens.policy import Policy
from ranklens.words import counted

_SORTED = 2_000  # hits; more of them are put in order faster by writing each to its place …
_SPARSE = 2  # … unless there are this many times as many places
_CHUNK_ROWS = 1 << 16  # scores that are compared at once
# Comparisons that are made in one go: with little data, the number of calls is what takes the time.
AT_ONCE = 1 << 15
# What takes how long, in comparisons of one score: counting has some overhead in each query.
_COUNT_QUERY, _SORT_SCORE, _FIND_HIT = 70, 10, 60


Sampled: TypeAlias = "tuple[Iterable[Any], Iterable[Any]]"  # judged and retrieved documents of a query


def no_sample(most: int) -> Iterable[Sampled]:  # noqa: ARG001
    """Where documents are not at hand."""
    return ()


def lacking_most(query: IntArray, judged: IntArray, retrieved: IntArray, most: int) -> list[int]:
    """Some of the queries that retrieved something, but not all of their judged documents; those without a hit come first.

    >>> lacking_most(np.array([0, 0, 2]), np.array([2, 1, 2, 1]), np.array([5, 5, 5, 0]), 9)
    [1, 2]
    """
    hits = np.bincount(query, minlength=len(judged))
    some = (hits < judged) & (retrieved > 0)
    idle, others = ((some & kind).nonzero()[0] for kind in (hits == 0, hits > 0))
    return [*idle[:: len(idle) // most + 1].tolist(), *others[:: len(others) // most + 1].tolist()][:most]


class Standings(NamedTuple):
    """The judged documents that were retrieved, by query, with their places; and all grades, by query."""

    queries: list[str]
    retrieved: IntArray
    in_run: BoolArray
    judged: IntArray  # how many documents of each query are
    gold: Grades
    query: IntArray
    rank: IntArray  # with averaged ties: the first rank of the tie group
    grade: Grades
    start: IntArray  # the tie group: its first rank and its size
    size: IntArray
    applied: Applied
    # For messages: a query of the run, a judged and a retrieved document.
    examples: tuple[Any, Any, Any] = ("", "", "")
    ideal: Ideal | None = None  # where it is known already
    in_order: bool = False  # whether the hits of each query are known to be in rank order
    may_tie: bool = True  # whether judged documents may share their scores with others
    unjudged: Callable[[], Iterable[Any]] = tuple  # the queries of the run that are not judged
    sample: Callable[[int], Iterable[Sampled]] = (
        no_sample  # some queries with judged documents that were not retrieved
    )
    explained: bool = False  # a warning has said why no judged document is retrieved
    left_out: int = 0  # judged queries that the run lacks, and that were not looked at


def in_order(place: IntArray, places: int) -> IntArray:
    """Which hit comes first, second and so on; no two are at the same of all ``places``.

    >>> in_order(np.array([7, 2, 5]), 10)
    array([1, 2, 0])
    """
    if len(place) <= _SORTED or places > _SPARSE * len(place):
        return place.argsort(kind="stable")  # fastest for hits that stand query by query already
    hit_at = np.full(places, -1)
    hit_at[place] = np.arange(len(place))
    return hit_at[hit_at >= 0]


def standing(
    scores: FloatArray, lengths: IntArray, query: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray]:
    """For each wanted score: how many of its query's scores are higher, and how many are the same.

    ``scores`` holds the rankings one after the other, ``lengths`` their lengths; ``query`` says to which of them each
    wanted score belongs, and is sorted.

    >>> standing(np.array([3.0, 1, 1, 7]), np.array([3, 1]), np.array([0, 1]), np.array([1.0, 7]))
    (array([1, 0]), array([2, 1]))
    """
    longest = int(lengths.max(initial=0))
    if longest * max(len(wanted), len(lengths)) <= AT_ONCE:
        above, same = compare(scores, lengths, longest, query, wanted)
        return above, np.ones(len(wanted), np.int64) if same is None else same
    if len(scores) > 2 * _CHUNK_ROWS and len(lengths) > 1:
        return _in_chunks(scores, lengths, query, wanted)
    filled = np.flatnonzero(lengths)
    # A ranking that holds a hit is not empty.
    lengths, query = lengths[filled], (np.cumsum(lengths > 0) - 1)[query]
    most_hits = int(np.bincount(query, minlength=1).max())
    counting = most_hits * (len(scores) + _COUNT_QUERY * len(lengths))
    searching = _SORT_SCORE * len(scores) + _FIND_HIT * len(wanted)
    return (_count if counting <= searching else _search)(scores, lengths, query, wanted)


def compare(
    scores: FloatArray, lengths: IntArray, longest: int, query: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray | None]:
    """Compare each hit with all scores of its query, which stand in a matrix. ``None`` in place of how many are the same, if no hit ties."""
    if longest * len(lengths) == len(scores):
        rankings = scores.reshape(len(lengths), longest)
    else:
        rankings = np.full((len(lengths), longest), np.nan)  # which is neither higher nor the same
        rankings[np.arange(longest) < lengths[:, None]] = scores
    around, hit = rankings.take(query, 0), wanted[:, None]
    equal = around == hit
    tied = np.count_nonzero(equal) > len(wanted)  # each hit has its own score once
    return (around > hit).sum(1), equal.sum(1) if tied else None


def _in_chunks(
    scores: FloatArray, lengths: IntArray, query: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray]:
    """A part of the queries at a time: comparing is fastest while the scores are in the processor's cache."""
    end = np.cumsum(lengths)
    edges = [0]
    while edges[-1] < len(lengths):
        before = int(end[edges[-1] - 1]) if edges[-1] else 0
        edges.append(max(edges[-1] + 1, int(np.searchsorted(end, before + _CHUNK_ROWS, side="right"))))
    parts = []
    for first, last in pairwise(edges):
        rows = slice(int(end[first] - lengths[first]), int(end[last - 1]))
        hits = slice(*np.searchsorted(query, [first, last]).tolist())
        parts.append(standing(scores[rows], lengths[first:last], query[hits] - first, wanted[hits]))
    above, same = (np.concatenate(part) for part in zip(*parts, strict=True))
    return above, same


def _count(
    scores: FloatArray, lengths: IntArray, query: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray]:
    """Compare all scores with the first hit of their query, then with the second, and so on."""
    above, same = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    start = np.cumsum(lengths) - lengths
    # The small type is several times faster.
    counter = np.int16 if lengths.max(initial=0) < 1 << 15 else np.int64
    ordinal = np.arange(len(query)) - np.searchsorted(query, query)
    for i in range(int(ordinal.max(initial=-1)) + 1):
        row = np.flatnonzero(ordinal == i)
        hits = np.full(len(lengths), np.nan)
        hits[query[row]] = wanted[row]
        hit = np.repeat(hits, lengths)
        above[row] = np.add.reduceat(scores > hit, start, dtype=counter)[query[row]]
        same[row] = np.add.reduceat(scores == hit, start, dtype=counter)[query[row]]
    return above, same


def _search(
    scores: FloatArray, lengths: IntArray, query: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray]:
    """Sort the scores of each query and find the hits in them: of all queries whose lengths have the same number of bits at once."""
    bits = np.frexp(lengths)[1]
    sizes = sorted({*bits.tolist()})
    if len(sizes) == 1:
        return _search_alike(scores, lengths, query, wanted, 1 << sizes[0])
    above, same = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
    for size in sizes:
        alike = bits == size
        hits = np.flatnonzero(alike[query])
        some, number = scores[np.repeat(alike, lengths)], (np.cumsum(alike) - 1)[query[hits]]
        above[hits], same[hits] = _search_alike(some, lengths[alike], number, wanted[hits], 1 << size)
    return above, same


def _search_alike(
    scores: FloatArray, lengths: IntArray, query: IntArray, wanted: FloatArray, width: int
) -> tuple[IntArray, IntArray]:
    """The same in a table with a row for each ranking; ``width`` is a power of two, and no ranking is as long."""
    table = np.full((len(lengths), width), np.inf)
    table[np.arange(width) < lengths[:, None]] = -scores
    table.sort(axis=1)
    falling, sought, first = table.ravel(), -wanted, query * width

    def before(is_before: np.ufunc) -> IntArray:
        """How many scores come before each hit, by halving."""
        place, step = first - 1, width >> 1
        while step:
            place += is_before(falling[place + step], sought) * step
            step >>= 1
        count: IntArray = np.minimum(place - first + 1, lengths[query])  # beyond that, nothing is infinite
        return count

    above = before(np.less)
    empty = table.size - len(scores)
    tied = np.count_nonzero(table[:, 1:] == table[:, :-1]) > empty - len(lengths)
    return above, before(np.less_equal) - above if tied else np.ones(len(wanted), np.int64)


def check_unjudged(ignored: int, policy: Policy, first: Callable[[], Any]) -> None:
    """Refuse unjudged queries of the run, if that is the policy."""
    if ignored and policy.unjudged_queries == "error":
        raise PolicyError(
            f"{counted(ignored, 'query of the run is', 'queries of the run are')} not judged (first: {first()!r}). "
            "Remove the unjudged queries, or choose ",
            Option("unjudged_queries", "ignore"),
            ".",
            query=first(),
        )
