"""Judgments as dicts, checked and numbered; and what follows from them alone, whatever is ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, repeat
from math import isfinite, isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers import mappings
from ranklens.data.readers.mappings import Id, Number
from ranklens.errors import InputError
from ranklens.judging.hits import Hits
from ranklens.judging.order import not_a_number

Grades: TypeAlias = FloatArray | npt.NDArray[np.uint8]
_COUNTED = 1 << 20  # grades at once
LOOKED_AT = 4_096  # rankings whose ids tell the types of all
_FEW = 10_000  # grades, which are sorted before it is clear whether they are in order
Documents: TypeAlias = dict[Id, Number]  # of one query: document → grade, or document → score


@dataclass(frozen=True, eq=False)
class Ideal:
    """All judged documents by descending grade, and what measures made of them alone."""

    hits: Hits
    best: FloatArray  # the highest grade of each query, 0 where nothing is judged
    kept: dict[Any, Any] = field(default_factory=dict)
    whole: Ideal | None = None  # of all judged queries, where these are only some

    def has_relevant(self, rel: float) -> tuple[BoolArray, int]:
        """Which queries have a document of at least this grade, and how many of all judged ones have none."""
        key = ("has relevant", rel)
        if key not in self.kept:
            relevant = self.best >= rel
            without = len(relevant) - int(np.count_nonzero(relevant))
            self.kept[key] = relevant, without if self.whole is None else self.whole.has_relevant(rel)[1]
        cached: tuple[BoolArray, int] = self.kept[key]
        return cached

    @cached_property
    def highest(self) -> float:
        """The highest grade of all judged queries."""
        return float(self.best.max(initial=0)) if self.whole is None else self.whole.highest

    @classmethod
    def of(cls, lengths: IntArray, grade: Grades, query: IntArray | None = None) -> Ideal:
        """From all grades, query after query, and how many each query has; ``query`` is that of each grade, if it is known."""
        n, start = len(lengths), lengths.cumsum() - lengths
        query = np.arange(n).repeat(lengths) if query is None else query
        ordered = _descending(query, grade, n)
        best = np.zeros(n)
        filled = lengths.nonzero()[0]
        first = start[filled]
        best[filled] = ordered[first]
        # 1, 2, 3 … in each query, without anything else as large.
        rank = np.ones(len(query), np.int64)
        rank[first[1:]] -= lengths[filled[:-1]]
        rank.cumsum(out=rank)
        return cls(Hits(query, rank, ordered, n), best)


def _descending(query: IntArray, grade: Grades, n: int) -> FloatArray:
    """The grades of each query from high to low."""
    if len(grade) <= _FEW and grade.dtype == np.uint8:
        lowest = query * 256
        falling = lowest - grade
        falling.sort()
        return (lowest - falling).astype(np.float64)
    levels = int(grade.max(initial=0)) + 1
    if ((grade[1:] <= grade[:-1]) | (query[1:] != query[:-1])).all():
        return grade.astype(np.float64)
    if grade.dtype == np.uint8 and n * levels <= 4 * len(grade) + 1000:
        # Few whole grades: counting them is much faster than sorting; a slice at a time, without anything as large as the judgments.
        counts = np.zeros(n * levels, np.int64)
        for start in range(0, len(query), _COUNTED):
            here = slice(start, start + _COUNTED)
            first = int(query[start]) * levels
            place = query[here] * levels - first
            place += (levels - 1 - grade[here]).astype(np.uint8)
            some = np.bincount(place)
            counts[first : first + len(some)] += some
        each = np.broadcast_to(np.arange(levels - 1, -1, -1.0), (n, levels))
        return each.ravel().repeat(counts)
    return grade[np.lexsort((-grade.astype(np.float64), query))].astype(np.float64)


@dataclass(frozen=True, eq=False)
class GoldDicts:
    """Judgments as dicts by query. What is only worth keeping for further runs is made on use."""

    given: mappings.Repaired
    queries: list[Id]
    tables: list[Documents]
    kinds: tuple[type, type]  # of the first query and the first document
    keeps: bool = False  # whether further runs follow
    whole: GoldDicts | None = None  # all judged queries, where these are only some

    @classmethod
    def of(
        cls, given: mappings.Repaired, *, keeps: bool = False, whole: GoldDicts | None = None
    ) -> GoldDicts:
        """Raises TypeError unless the judgments are a dict of dicts."""
        by_query = given.by_query
        queries, tables = list(by_query), list(by_query.values())
        kinds = id_types(by_query)
        refuse_none("qrels", by_query)
        return cls(given, queries, tables, kinds, keeps, whole)

    @cached_property
    def as_text(self) -> GoldDicts:
        """The same with text for other ids."""
        return GoldDicts.of(
            replace(self.given, by_query=mappings.as_text(self.given.by_query)),
            keeps=self.keeps,
            whole=self.whole,
        )

    @cached_property
    def is_mixed(self) -> bool:
        """Whether the ids of documents are of several types, as far as a few tell."""
        return len(types_of_documents(self.tables)) > 1

    @cached_property
    def names(self) -> list[str]:
        """The ids of the queries as text."""
        return self.queries if self.have_names else [str(query) for query in self.queries]

    @cached_property
    def have_names(self) -> bool:
        """Whether the ids of all queries are text."""
        return {*map(type, self.queries)} <= {str}

    @cached_property
    def place(self) -> dict[Id, int]:
        """The number of each query."""
        return {query: number for number, query in enumerate(self.queries)}

    @cached_property
    def lengths(self) -> IntArray:
        """How many documents are judged, by query."""
        return np.fromiter(map(len, self.tables), np.int64, len(self.tables))

    @cached_property
    def grades(self) -> Grades:
        """All grades, query after query."""
        return grades(self.queries, self.tables)

    @property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers from 0 on, as search engines never score."""
        return self.grades.dtype == np.uint8

    @cached_property
    def ideal(self) -> Ideal:
        """What follows from the judgments alone."""
        own = Ideal.of(self.lengths, self.grades)
        return own if self.whole is None else replace(own, whole=self.whole.ideal)  # replacing takes 4 µs

    @property
    def left_out(self) -> int:
        """How many judged queries are not among these."""
        return 0 if self.whole is None else len(self.whole.queries) - len(self.queries)

    @cached_property
    def documents(self) -> int:
        """How many documents are judged."""
        return int(self.lengths.sum()) if self.keeps else sum(map(len, self.tables))

    @cached_property
    def starts(self) -> IntArray:
        """The place of each query's first grade among all."""
        return np.cumsum(self.lengths) - self.lengths

    def of_run(self, run: Mapping[Id, Any]) -> GoldDicts:
        """The queries of a run, if they are few and all judged; otherwise all, for messages that name ids which do not match."""
        few = 0 < 2 * len(run) < len(self.queries)
        plain = few and not self.given.duplicates and self.have_names
        if not plain or not all(map(self.place.__contains__, run)):
            return self
        return self.only([self.queries[place] for place in sorted(map(self.place.__getitem__, run))])

    def only(self, queries: Sequence[Id]) -> GoldDicts:
        """Some of the queries, which are all judged; what was made for all of them is used again."""
        if queries == self.queries:
            return self
        by_query = self.given.by_query
        chosen = {query: by_query[query] for query in queries}
        repaired = mappings.Repaired(chosen)
        gold = GoldDicts(repaired, [*queries], [*chosen.values()], self.kinds, self.keeps, self)
        at = np.fromiter(map(self.place.__getitem__, queries), np.int64, len(queries))
        lengths = self.lengths[at]
        query = np.repeat(np.arange(len(at)), lengths)
        rows = np.repeat(self.starts[at] - np.cumsum(lengths) + lengths, lengths)
        rows += np.arange(len(query))
        best_first = self.ideal.hits
        hits = Hits(query, best_first.rank[rows], best_first.grade[rows], len(at))
        ideal = Ideal(hits, self.ideal.best[at], whole=self.ideal)
        # As a cached_property keeps what it made.
        vars(gold).update(lengths=lengths, grades=self.grades[rows], ideal=ideal)
        return gold


def id_types(by_query: Mapping[Id, Documents]) -> tuple[type, type]:
    """The types of the first query id and the first document id: "7" and 7 are the same id, so they must agree."""
    # A TypeError if there is something else than dicts.
    documents = chain.from_iterable(map(dict.keys, by_query.values()))
    return type(next(iter(by_query), None)), type(next(documents, None))


def refuse_none(what: str, by_query: Mapping[Id, Documents]) -> None:
    """None stands for an id that is missing. A TypeError if there is something else than dicts."""
    if None in by_query or any(map(dict.__contains__, by_query.values(), repeat(None))):
        raise InputError(f"{what}: the id of a query or document is None; None never matches anything.")
    if what == "qrels" and any(map(dict.__contains__, by_query.values(), repeat(""))):
        raise InputError(
            "qrels: the id of a document is empty; it would match every retrieved document without an id."
        )


def types_of_documents(tables: Collection[Documents], *, last: bool = False) -> set[type]:
    """The types of ids, as far as a few tell: all of the first query, and the first one of every other, with ``last`` also the last one.

    To look at all would take as long as to judge them.
    """
    some = tables if len(tables) <= LOOKED_AT else [*islice(tables, LOOKED_AT)]
    none = repeat(None)  # where there is no document
    kinds = {*map(type, map(next, map(iter, some), none)), *map(type, next(iter(some), ()))}
    if last:
        kinds |= {*map(type, map(next, map(reversed, some), none))}
    return kinds - {type(None)}


def are_mixed(ids: Collection[Id]) -> bool:
    """Whether ids are of several types.

    >>> are_mixed(["1", "2"]), are_mixed([1, 2]), are_mixed(["1", 2])
    (False, False, True)
    """
    try:
        "".join(ids)  # which only texts can be: the fastest way to look at all
    except TypeError:
        return len({*map(type, ids)}) > 1
    return False


def grades(queries: Sequence[Id], golds: Sequence[Documents]) -> Grades:
    """All grades, query after query."""
    try:  # whole grades from 0 to 255 fit a byte, which is the fastest way from Python objects to an array
        return np.frombuffer(bytes(values_of(golds)), np.uint8)
    except (TypeError, ValueError):
        check_dicts(golds)
    try:
        numbers = floats(values_of(golds))
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(1, np.nan)
    if not np.isfinite(numbers).all():
        refuse_number("qrels", "grade", queries, golds)
    return numbers


def floats(numbers: Iterable[Number], count: int = -1) -> FloatArray:
    """Numbers of any type, text included; NaN where one is none, as NumPy reads None."""
    return np.fromiter(map(mappings.as_number, numbers), np.float64, count)


def values_of(dicts: Iterable[Documents]) -> Iterator[Number]:
    """All numbers, query after query."""
    return chain.from_iterable(map(dict.values, dicts))


def check_dicts(values: Iterable[object]) -> None:
    """A TypeError where something is not a dict."""
    if not all(isinstance(value, dict) for value in values):
        raise TypeError


def refuse_number(
    what: str, role: str, queries: Sequence[Id], tables: Sequence[Documents], *, nan_allowed: bool = False
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
