"""What judgments know besides a grade, in numbers, whatever is ranked: made once, and kept where judgments are prepared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.mappings import Repaired
from ranklens.errors import InputError
from ranklens.judging.details import Labels
from ranklens.judging.gold import GoldDicts, Ideal, grades
from ranklens.judging.hits import Hits
from ranklens.judging.prepared import Index, PreparedJudgments


@dataclass(frozen=True, eq=False)
class Known:
    """All documents that something is known about, by query, and what is known.

    ``numbers`` are judgments with a number for a grade, which are looked up in a run: with the ``offset`` of its query, the number of
    a document is its place in ``row``, which holds its row here.
    """

    numbers: PreparedJudgments
    offset: IntArray
    row: IntArray
    query: IntArray
    names: Sequence[Any]
    grade: FloatArray  # 0 where a document is known for something else
    graded: IntArray  # the rows of documents that have a grade and are no junk
    junk: BoolArray | None = None
    subtopics: Labels | None = None
    evidence: Labels | None = None
    preferences: Labels | None = None
    strata: Labels | None = None
    probabilities: Labels | None = None
    by_id: bool = False  # the documents of each query are in ascending order of their ids
    made: dict[Any, Any] = field(default_factory=dict)  # by measures, of all this

    def __len__(self) -> int:
        return len(self.offset)

    @cached_property
    def ideal(self) -> Ideal:
        """The documents that have a grade, best first."""
        every = len(self.graded) == len(self.query)
        query, grade = (
            (self.query, self.grade) if every else (self.query[self.graded], self.grade[self.graded])
        )
        return Ideal.of(np.bincount(query, minlength=len(self)), grade, query)


def known(judgments: Judgments) -> Known:
    """What these judgments know; of prepared ones it is kept."""
    if judgments.known is not None:
        kept: Known = judgments.known
        return kept
    if judgments.table is not None:  # then nothing else is known
        from ranklens.judging.known_tables import number_table

        found = number_table(judgments, judgments.table)
    else:
        found = (_by_subtopic(judgments) if judgments.only_subtopics else None) or _number(judgments)
    if judgments.keeps:
        judgments.known = found
    return found


def _by_subtopic(judgments: Judgments) -> Known | None:
    from ranklens.judging.known_subtopics import number_subtopics

    return number_subtopics(judgments)


class _Numbers:
    """A number for each document of each query: how many had been met with it when it first was."""

    def __init__(self, queries: Sequence[Any]) -> None:
        self.queries = queries
        self.by_query: list[dict[Any, int]] = [{} for _ in queries]
        self.met = np.zeros(len(queries), np.int64)

    def of(self, docs: Iterable[Iterable[Any]], sizes: IntArray) -> IntArray:
        """The numbers of these documents, counted per query."""
        first_met = (numbers.setdefault for numbers in self.by_query)
        found = chain.from_iterable(map(map, first_met, docs, map(count, self.met.tolist())))
        self.met = self.met + sizes
        return np.fromiter(found, np.int64, int(sizes.sum()))

    def labels(self, by_query: Sequence[Collection[Collection[Any]]]) -> Labels:
        """Each table of documents as a label of its query, of grade 1."""
        owner = np.repeat(np.arange(len(by_query)), sizes_of(by_query))
        sizes = sizes_of(list(chain.from_iterable(by_query)))
        per_query = np.bincount(owner, sizes, len(by_query)).astype(np.int64)
        doc = self.of(map(chain.from_iterable, by_query), per_query)
        label = np.repeat(np.arange(len(sizes)), sizes)
        return Labels(owner, np.ones(len(owner)), doc, label, np.ones(len(doc)))

    def judgments(self, number: IntArray, sizes: IntArray) -> PreparedJudgments:
        """The numbers for grades, ready for look-ups."""
        source = dict(zip(self.queries, self.by_query, strict=True))
        gold = GoldDicts.of(Repaired(source), keeps=True)
        query, grade = np.repeat(np.arange(len(sizes)), sizes), number.astype(np.float64)
        # The highest number is never needed, so they need not be sorted.
        ideal = Ideal(Hits(query, number + 1, grade, len(sizes)), np.zeros(len(sizes)))
        vars(gold).update(lengths=sizes, grades=grade, ideal=ideal)  # as a cached_property keeps what it made
        return PreparedJudgments(Index.of(gold))


def sizes_of(tables: Sequence[Collection[Any]]) -> IntArray:
    """How many each of them holds."""
    return np.fromiter(map(len, tables), np.int64, len(tables))


def _number(judgments: Judgments) -> Known:
    queries = judgments.queries()
    numbers = _Numbers(queries)
    given = list(judgments.grades.values()) if judgments.has_grades else [{}] * len(queries)
    numbers.of(given, sizes_of(given))  # so the graded documents of a query are its first
    graded = sizes_of(numbers.by_query)
    names, subtopics = _subtopics(judgments, numbers)
    evidence = preferences = strata = probabilities = junk = None
    if judgments.evidence is not None:
        sets = (map(frozenset, judgments.evidence.get(query, ())) for query in queries)
        evidence = numbers.labels([dict.fromkeys(each) for each in sets])  # a repeated set is one
    if judgments.preferences is not None:
        groups = [judgments.groups_of(query).values() for query in queries]
        preferences = numbers.labels([[[*chain.from_iterable(pairs)] for pairs in of] for of in groups])
    if judgments.strata is not None:
        strata = numbers.labels([_by_stratum(judgments.strata.get(query, {})) for query in queries])
    if judgments.probabilities is not None:
        chances = [dict(judgments.probabilities.get(query, {})) for query in queries]
        probabilities = replace(
            numbers.labels([(each,) for each in chances]), grade=grades(queries, chances).astype(np.float64)
        )
    if judgments.junk:
        junk = numbers.labels([(judgments.junk.get(query, ()),) for query in queries])
    sizes, offset = sizes_of(numbers.by_query), np.cumsum(numbers.met) - numbers.met
    query = np.repeat(np.arange(len(queries)), sizes)
    found = numbers.judgments(
        np.fromiter(chain.from_iterable(map(dict.values, numbers.by_query)), np.int64), sizes
    )
    place = offset[query] + found.index.for_dicts.grades.astype(np.int64)
    row = np.zeros(int(numbers.met.sum()), np.int64)
    row[place] = np.arange(len(place))
    subtopics, evidence, preferences, strata, probabilities, junk = (
        one and replace(one, doc=row[offset[one.query[one.label]] + one.doc])
        for one in (subtopics, evidence, preferences, strata, probabilities, junk)
    )
    grade = np.full(len(query), -np.inf)
    if judgments.has_grades:
        grade[np.arange(len(query)) - (np.cumsum(sizes) - sizes)[query] < graded[query]] = grades(
            queries, given
        )
    else:
        grade_by_labels(grade, subtopics, evidence)
    every = list(chain.from_iterable(numbers.by_query))
    whole = Known(
        found,
        offset,
        row,
        query,
        every,
        grade,
        row,
        None,
        subtopics,
        evidence,
        preferences,
        strata,
        probabilities,
    )
    return completed(whole, judgments, names, junk)


def _by_stratum(strata: Mapping[Any, Any]) -> list[list[Any]]:
    """The documents of each stratum."""
    found: dict[Any, list[Any]] = {}
    for doc, stratum in strata.items():
        found.setdefault(stratum, []).append(doc)
    return [*found.values()]


def grade_by_labels(grade: FloatArray, subtopics: Labels | None, evidence: Labels | None = None) -> None:
    """The highest grade of each document in any subtopic; else 1 in an evidence set."""
    if subtopics is not None:
        np.maximum.at(grade, subtopics.doc, subtopics.grade)
    if evidence is not None:
        here = evidence.doc[grade[evidence.doc] == -np.inf]
        grade[here] = 1


def completed(found: Known, judgments: Judgments, names: Sequence[Any], junk: Labels | None = None) -> Known:
    """With which documents have a grade, and the subtopics that count; ``names`` are those of all subtopics."""
    graded = found.grade != -np.inf
    found.grade[~graded] = 0
    is_junk = None
    if junk is not None:
        is_junk = np.zeros(len(graded), dtype=bool)
        is_junk[junk.doc] = True
        graded &= ~is_junk
    every = found.subtopics
    subtopics = None if every is None else _weighted(_with_positives(every), judgments, names, every)
    return replace(found, graded=np.flatnonzero(graded), junk=is_junk, subtopics=subtopics)


def _subtopics(judgments: Judgments, numbers: _Numbers) -> tuple[list[Any], Labels | None]:
    """The names of all subtopics, and the subtopics, uncovered ones included."""
    if judgments.subtopics is None:
        return [], None
    by_query = [judgments.subtopics.get(query, {}) for query in numbers.queries]
    names = [name for topics in by_query for name in topics]
    tables = [docs for topics in by_query for docs in topics.values()]
    grade = grades(names, tables).astype(np.float64)
    return names, replace(numbers.labels([topics.values() for topics in by_query]), grade=grade)


def _with_positives(labels: Labels) -> Labels:
    """Without subtopics that no document covers: no ranking can find anything for them."""
    keep = _covered(labels)
    if keep.all():
        return labels
    entries = np.flatnonzero(keep[labels.label])
    return Labels(
        labels.query[keep],
        labels.weight[keep],
        labels.doc[entries],
        (np.cumsum(keep) - 1)[labels.label[entries]],
        labels.grade[entries],
    )


def _covered(labels: Labels) -> BoolArray:
    found: BoolArray = np.bincount(labels.label[labels.grade > 0], minlength=len(labels)) > 0
    return found


def _weighted(labels: Labels, judgments: Judgments, names: Sequence[Any], every: Labels) -> Labels:
    """With the probability of each subtopic, as given or else all alike, and with which of them are navigational."""
    if judgments.intents is None and judgments.navigational is None:
        number = np.bincount(labels.query)
        return replace(labels, weight=1 / number[labels.query])
    queries = judgments.queries()
    covered = [(queries[every.query[i]], names[i]) for i in np.flatnonzero(_covered(every)).tolist()]
    if judgments.navigational is not None:
        of_query = {str(query): {*map(str, topics)} for query, topics in judgments.navigational.items()}
        kinds = [str(name) in of_query.get(str(query), ()) for query, name in covered]
        labels = replace(labels, navigational=np.array(kinds, dtype=bool))
    if judgments.intents is None:
        return replace(labels, weight=1 / np.bincount(labels.query)[labels.query])
    weights = [_probability(judgments.intents, query, name) for query, name in covered]
    return replace(labels, weight=np.array(weights, dtype=np.float64))


def _probability(intents: Mapping[Any, Mapping[Any, float]], query: Any, subtopic: Any) -> float:
    given = intents.get(query, intents.get(str(query), {}))
    value = given.get(subtopic, given.get(str(subtopic)))
    if value is None:
        raise InputError(
            f"intents: subtopic {subtopic!r} of query {query!r} has no probability; give one for each subtopic.",
            query=str(query),
        )
    return float(value)
