"""What judgments know besides a grade, in numbers, whatever is ranked: made once, and kept where judgments are prepared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.qrels import Id
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.mappings import Repaired
from ranklens.errors import InputError
from ranklens.judging.details import Details, Labels
from ranklens.judging.gold import GoldDicts, Ideal, grades
from ranklens.judging.hits import Hits
from ranklens.judging.prepared import Index, PreparedJudgments


@dataclass(frozen=True, eq=False)
class Known:
    """What judgments know, whatever is ranked: the ``details`` of a run that retrieves nothing.

    ``numbers`` are judgments with a number for a grade, which are looked up in a run: with the ``offset`` of its query, the number of
    a document is its place in ``row``, which holds its row in the details.
    """

    numbers: PreparedJudgments
    offset: IntArray
    row: IntArray
    details: Details
    graded: IntArray  # the rows of documents that have a grade and are no junk
    junk: BoolArray | None = None

    @cached_property
    def ideal(self) -> Ideal:
        """The documents that have a grade, best first."""
        query, grade = self.details.query, self.details.grade
        if len(self.graded) < len(query):
            query, grade = query[self.graded], grade[self.graded]
        return Ideal.of(np.bincount(query, minlength=len(self.offset)), grade, query)


def known(judgments: Judgments) -> Known:
    """What these judgments know; of prepared ones it is kept."""
    if judgments.known is not None:
        known_before: Known = judgments.known
        return known_before
    if judgments.table is not None:  # then nothing else is known
        from ranklens.judging.known_tables import number_table

        numbered = number_table(judgments, judgments.table)
    else:
        numbered = _number(judgments)
    if judgments.keeps:
        judgments.known = numbered
    return numbered


def _number(judgments: Judgments) -> Known:
    queries = judgments.queries()
    numbers = _Numbers(queries)
    given = list(judgments.grades.values()) if judgments.has_grades else [{}] * len(queries)
    numbers.of(given, sizes_of(given))  # so the graded documents of a query are its first
    graded = sizes_of(numbers.by_query)
    topics, labels = _labels(judgments, numbers)
    sizes, offset = sizes_of(numbers.by_query), np.cumsum(numbers.met) - numbers.met
    query = np.repeat(np.arange(len(queries)), sizes)
    number = np.fromiter(chain.from_iterable(map(dict.values, numbers.by_query)), np.int64)
    row = np.zeros(int(numbers.met.sum()), np.int64)
    row[offset[query] + number] = np.arange(len(number))
    labels = {
        part: replace(one, doc=row[offset[one.query[one.label]] + one.doc]) for part, one in labels.items()
    }
    grade = np.full(len(query), -np.inf)
    if judgments.has_grades:
        first = np.cumsum(sizes) - sizes
        grade[np.arange(len(query)) - first[query] < graded[query]] = grades(queries, given)
    names = list(chain.from_iterable(numbers.by_query))
    details = unranked(len(offset), query, names, grade)
    return completed(judgments, numbers.judgments(number, sizes), offset, row, details, labels, topics)


def _labels(judgments: Judgments, numbers: _Numbers) -> tuple[list[Id], dict[str, Labels]]:
    """The names of all subtopics, uncovered ones included; and the labels by the part of the judgments that they come from."""
    queries, labels = numbers.queries, dict[str, Labels]()
    topics: list[Id] = []
    if judgments.subtopics is not None:
        by_query = [judgments.subtopics.get(query, {}) for query in queries]
        topics = [name for tables in by_query for name in tables]
        grade = grades(topics, [docs for tables in by_query for docs in tables.values()])
        every = numbers.labels([tables.values() for tables in by_query])
        labels["subtopics"] = replace(every, grade=grade.astype(np.float64))
    if judgments.evidence is not None:
        sets = (map(frozenset, judgments.evidence.get(query, ())) for query in queries)
        labels["evidence"] = numbers.labels([dict.fromkeys(each) for each in sets])  # a repeated set is one
    if judgments.preferences is not None:
        groups = [judgments.groups_of(query).values() for query in queries]
        pairs = [[[*chain.from_iterable(group)] for group in of_query] for of_query in groups]
        labels["preferences"] = numbers.labels(pairs)
    if judgments.strata is not None:
        strata: list[dict[Id, list[Id]]] = [{} for _ in queries]
        for query, members in zip(queries, strata, strict=True):
            for doc, stratum in judgments.strata.get(query, {}).items():
                members.setdefault(stratum, []).append(doc)
        labels["strata"] = numbers.labels([members.values() for members in strata])
    if judgments.probabilities is not None:
        chances = [dict(judgments.probabilities.get(query, {})) for query in queries]
        drawn = numbers.labels([(each,) for each in chances])
        labels["probabilities"] = replace(drawn, grade=grades(queries, chances).astype(np.float64))
    if judgments.junk:
        labels["junk"] = numbers.labels([(judgments.junk.get(query, ()),) for query in queries])
    return topics, labels


def unranked(
    n_queries: int, query: IntArray, names: Sequence[Id], grade: FloatArray, *, by_id: bool = False
) -> Details:
    """Documents that no run has ranked yet; minus infinity is the grade of those that have none."""
    nowhere = np.zeros(len(query), np.int64)
    return Details(n_queries, query, names, grade, nowhere, nowhere, nowhere, by_id=by_id)


def completed(
    judgments: Judgments,
    numbers: PreparedJudgments,
    offset: IntArray,
    row: IntArray,
    details: Details,
    labels: dict[str, Labels],
    topics: Sequence[Id],
) -> Known:
    """With the grades that follow from labels, and with the subtopics that count; ``topics`` names all of them."""
    grade, every, evidence = details.grade, labels.get("subtopics"), labels.get("evidence")
    if not judgments.has_grades and every is not None:  # the highest grade in any subtopic
        np.maximum.at(grade, every.doc, every.grade)
    if not judgments.has_grades and evidence is not None:  # else 1 in an evidence set
        grade[evidence.doc[grade[evidence.doc] == -np.inf]] = 1
    graded, junk = grade != -np.inf, None
    grade[~graded] = 0
    if "junk" in labels:
        junk = np.zeros(len(graded), dtype=bool)
        junk[labels["junk"].doc] = True
        graded &= ~junk
    details = replace(
        details,
        subtopics=every and _weighted(_with_positives(every), judgments, topics, every),
        evidence=evidence,
        preferences=labels.get("preferences"),
        strata=labels.get("strata"),
        probabilities=labels.get("probabilities"),
        documents=judgments.documents,
    )
    return Known(numbers, offset, row, details, np.flatnonzero(graded), junk)


class _Numbers:
    """A number for each document of each query: how many had been met with it when it first was."""

    def __init__(self, queries: Sequence[Id]) -> None:
        self.queries = queries
        self.by_query: list[dict[Id, int]] = [{} for _ in queries]
        self.met = np.zeros(len(queries), np.int64)

    def of(self, docs: Iterable[Iterable[Id]], sizes: IntArray) -> IntArray:
        """The numbers of these documents; ``sizes`` says how many each query has."""
        first_met = (numbers.setdefault for numbers in self.by_query)
        numbers = chain.from_iterable(map(map, first_met, docs, map(count, self.met.tolist())))
        self.met = self.met + sizes
        return np.fromiter(numbers, np.int64, int(sizes.sum()))

    def labels(self, by_query: Sequence[Collection[Collection[Id]]]) -> Labels:
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
        # No measure reads these numbers as grades, so they need not be sorted.
        ideal = Ideal(Hits(query, number + 1, grade, len(sizes)), np.zeros(len(sizes)))
        vars(gold).update(lengths=sizes, grades=grade, ideal=ideal)  # as a cached_property keeps what it made
        return PreparedJudgments(Index.of(gold))


def sizes_of(tables: Sequence[Collection[Id]]) -> IntArray:
    """How many each of them holds."""
    return np.fromiter(map(len, tables), np.int64, len(tables))


def _with_positives(labels: Labels) -> Labels:
    """Without subtopics that no document covers: no ranking can score on them."""
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
    is_covered: BoolArray = np.bincount(labels.label[labels.grade > 0], minlength=len(labels)) > 0
    return is_covered


def _weighted(labels: Labels, judgments: Judgments, names: Sequence[Id], every: Labels) -> Labels:
    """With the probability of each subtopic, as given or else all alike, and with which of them are navigational."""
    labels = replace(labels, weight=1 / np.bincount(labels.query)[labels.query])
    if judgments.intents is None and judgments.navigational is None:
        return labels
    queries = judgments.queries()
    covered = [(queries[every.query[i]], names[i]) for i in np.flatnonzero(_covered(every)).tolist()]
    if judgments.navigational is not None:
        of_query = {str(query): {*map(str, topics)} for query, topics in judgments.navigational.items()}
        kinds = [str(name) in of_query.get(str(query), ()) for query, name in covered]
        labels = replace(labels, navigational=np.array(kinds, dtype=bool))
    if judgments.intents is None:
        return labels
    weights: list[float] = []
    for query, name in covered:
        chances = judgments.intents.get(query, judgments.intents.get(str(query), {}))
        chance = chances.get(name, chances.get(str(name)))
        if chance is None:
            raise InputError(
                f"intents: subtopic {name!r} of query {query!r} has no probability; give one for each subtopic.",
                query=str(query),
            )
        weights.append(float(chance))
    return replace(labels, weight=np.array(weights, dtype=np.float64))
