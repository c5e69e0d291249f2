"""Rankings + judgments that know more than a grade → :class:`~ranklens.judging.judged.Judged` with its details.

Documents are judged once, under numbers in place of grades: the number says which document a hit is, and with it its grade, its
subtopics and its evidence sets. What plain judgments go through does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any

import numpy as np

from ranklens.arrays import BoolArray, IntArray
from ranklens.errors import InputError
from ranklens.judging.details import Details, Labels
from ranklens.judging.dicts import grades
from ranklens.judging.standing import Standings
from ranklens.policy import Policy
from ranklens.readers.judgments import Judgments

Rank = Callable[[Mapping[Any, Any]], Standings]


def stand(judgments: Judgments, policy: Policy, rank: Rank) -> tuple[Standings, Details]:
    """The places of the judged documents; and the same with what else is known about them.

    ``rank`` finds the places of documents in the run, given judgments.
    """
    numbered = {query: dict(zip(docs, count())) for query, docs in _known(judgments)}
    found = rank(numbered)
    details = _details(judgments, numbered, found, policy)
    details, found, kept = _without_junk(judgments, numbered, details, found)
    placed = np.flatnonzero(details.rank > 0)
    graded = replace(
        found,
        gold_query=details.query[kept],
        gold=details.grade[kept],
        query=details.query[placed],
        rank=details.rank[placed],
        grade=details.grade[placed],
        start=details.start[placed],
        size=details.size[placed],
    )
    return graded, details


def _known(judgments: Judgments) -> Iterable[tuple[Any, Iterable[Any]]]:
    """Each query with the documents that something is known about."""
    if judgments.complete:
        return judgments.items()
    return ((query, _documents(query, judgments)) for query in judgments)


def _documents(query: Any, judgments: Judgments) -> dict[Any, None]:
    """All documents that something is known about, in the query."""
    docs: dict[Any, Any] = dict.fromkeys(judgments[query])
    for topics in (judgments.subtopics or {}).get(query, {}).values():
        docs.update(dict.fromkeys(topics))
    for docs_together in (judgments.evidence or {}).get(query, ()):
        docs.update(dict.fromkeys(docs_together))
    docs.update(dict.fromkeys((judgments.junk or {}).get(query, ())))
    for pairs in judgments.groups_of(query).values():
        docs.update(dict.fromkeys(chain.from_iterable(pairs)))
    return docs


def _details(
    judgments: Judgments, numbered: Mapping[Any, dict[Any, int]], found: Standings, policy: Policy
) -> Details:
    names = list(chain.from_iterable(numbered.values()))
    sizes = np.fromiter(map(len, numbered.values()), np.int64, len(numbered))
    offset = np.cumsum(sizes) - sizes
    row = offset[found.query] + found.grade.astype(np.int64)
    place, start, size = (np.zeros(len(names), np.int64) for _ in range(3))
    place[row], start[row], size[row] = found.rank, found.start, found.size
    return Details(
        n_queries=len(numbered),
        query=np.repeat(np.arange(len(numbered)), sizes),
        names=names,
        grade=_base_grades(judgments, numbered),
        rank=place,
        start=start,
        size=size,
        averaged=policy.ties == "average",
        depth=policy.depth,
        subtopics=_subtopics(judgments, numbered, offset),
        evidence=_evidence(judgments, numbered, offset),
        preferences=_preferences(judgments, numbered, offset),
        documents=judgments.documents,
    )


def _base_grades(judgments: Judgments, numbered: Mapping[Any, dict[Any, int]]) -> Any:
    """The grade of each document, 0 where it is known for something else."""
    known = grades(list(judgments), list(judgments.values())).astype(np.float64)
    if sum(map(len, numbered.values())) == len(known):
        return known  # the documents of the judgments come first, so these are all, in order
    found = [judgments[query].get(doc, 0) for query, docs in numbered.items() for doc in docs]
    return np.array(found, dtype=np.float64)


def _subtopics(
    judgments: Judgments, numbered: Mapping[Any, dict[Any, int]], offset: IntArray
) -> Labels | None:
    if judgments.subtopics is None:
        return None
    by_query = [judgments.subtopics.get(query, {}) for query in numbered]
    tables: list[Any] = [docs for topics in by_query for docs in topics.values()]
    counts = np.fromiter(map(len, by_query), np.int64, len(by_query))
    sizes = np.fromiter(map(len, tables), np.int64, len(tables))
    owner = np.repeat(np.arange(len(by_query)), counts)
    places = chain.from_iterable(
        map(
            map,
            (
                numbers.__getitem__
                for numbers, n in zip(numbered.values(), counts, strict=True)
                for _ in range(n)
            ),
            tables,
        )
    )
    doc = np.fromiter(places, np.int64, int(sizes.sum()))
    label = np.repeat(np.arange(len(tables)), sizes)
    names = [name for topics in by_query for name in topics]
    grade = grades(names, tables).astype(np.float64)
    labels = Labels(owner, np.ones(len(owner)), doc + offset[owner[label]], label, grade)
    return _weighted(_with_positives(labels), judgments, numbered, names, labels)


def _with_positives(labels: Labels) -> Labels:
    """Without subtopics that no document covers: nobody can find anything for them."""
    covered = np.bincount(labels.label[labels.grade > 0], minlength=len(labels)) > 0
    return _kept(labels, covered)


def _kept(labels: Labels, keep: BoolArray) -> Labels:
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


def _weighted(
    labels: Labels, judgments: Judgments, numbered: Mapping[Any, Any], names: list[Any], every: Labels
) -> Labels:
    """With the probability of each subtopic: as given, else all alike."""
    if judgments.intents is None:
        count = np.bincount(labels.query, minlength=len(numbered))
        return replace(labels, weight=1 / count[labels.query])
    queries = list(numbered)
    covered = np.flatnonzero(np.bincount(every.label[every.grade > 0], minlength=len(every)) > 0).tolist()
    weights = [_probability(judgments.intents, queries[every.query[i]], names[i]) for i in covered]
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


def _evidence(
    judgments: Judgments, numbered: Mapping[Any, dict[Any, int]], offset: IntArray
) -> Labels | None:
    if judgments.evidence is None:
        return None
    doc: list[int] = []
    label: list[int] = []
    owner: list[int] = []
    for i, (query, numbers) in enumerate(numbered.items()):
        for together in judgments.evidence.get(query, ()):
            doc += [numbers[one] + int(offset[i]) for one in together]
            label += [len(owner)] * len(together)
            owner.append(i)
    one = np.ones(len(doc))
    return Labels(
        np.array(owner, np.int64),
        np.ones(len(owner)),
        np.array(doc, np.int64),
        np.array(label, np.int64),
        one,
    )


def _preferences(
    judgments: Judgments, numbered: Mapping[Any, dict[Any, int]], offset: IntArray
) -> Labels | None:
    if judgments.preferences is None:
        return None
    doc: list[int] = []
    label: list[int] = []
    owner: list[int] = []
    for i, (query, numbers) in enumerate(numbered.items()):
        for pairs in judgments.groups_of(query).values():
            doc += [numbers[one] + int(offset[i]) for one in chain.from_iterable(pairs)]
            label += [len(owner)] * (2 * len(pairs))
            owner.append(i)
    n = len(owner)
    return Labels(
        np.array(owner, np.int64),
        np.ones(n),
        np.array(doc, np.int64),
        np.array(label, np.int64),
        np.ones(len(doc)),
    )


def _without_junk(
    judgments: Judgments, numbered: Mapping[Any, dict[Any, int]], details: Details, found: Standings
) -> tuple[Details, Standings, IntArray]:
    """Junk is taken out before ranking: what is below it moves up. Also the judged documents that are no junk."""
    judged = np.flatnonzero(_is_graded(judgments, numbered))
    if not judgments.junk:
        return details, found, judged
    junk = np.array(
        [doc in set(judgments.junk.get(query, ())) for query, docs in numbered.items() for doc in docs],
        dtype=bool,
    )
    placed = junk & (details.rank > 0)
    width = int(details.rank.max(initial=0)) + 2
    last = details.rank if not details.averaged else details.start
    above = np.sort(details.query[placed] * width + last[placed])

    def before(place: IntArray) -> IntArray:
        first = np.searchsorted(above, details.query * width)
        return np.searchsorted(above, details.query * width + place, side="left") - first

    in_group = np.searchsorted(
        above, details.query * width + details.start + np.maximum(details.size, 1)
    ) - np.searchsorted(above, details.query * width + details.start)
    gone = (details.rank == 0) | junk
    cleaned = replace(
        details,
        rank=np.where(gone, 0, details.rank - before(details.rank)),
        start=np.where(gone, 0, details.start - before(details.start)),
        size=np.where(gone, 0, details.size - in_group),
    )
    removed = np.bincount(details.query[placed], minlength=details.n_queries)
    return cleaned, replace(found, retrieved=found.retrieved - removed), judged[~junk[judged]]


def _is_graded(judgments: Judgments, numbered: Mapping[Any, dict[Any, int]]) -> BoolArray:
    if judgments.complete:
        return np.ones(sum(map(len, numbered.values())), dtype=bool)
    sizes = zip(judgments.values(), numbered.values(), strict=True)
    every = [(len(graded), len(docs)) for graded, docs in sizes]
    if all(graded == docs for graded, docs in every):
        return np.ones(sum(docs for _, docs in every), dtype=bool)
    # The graded documents of a query are its first.
    return np.concatenate([np.arange(docs) < graded for graded, docs in every] or [np.zeros(0, bool)])
