"""The same as :mod:`~ranklens.judging.known`, from dicts of subtopics alone: no document is looked at one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.judging.details import Labels, Late
from ranklens.judging.distinct import distinct
from ranklens.judging.gold import ByPlace, GoldLists, Grades, Lists, grades
from ranklens.judging.known import Known, completed, grade_by_labels, sizes_of
from ranklens.judging.prepared import Index, PreparedJudgments

_AT_ONCE = 512  # queries whose documents fit the processor's cache


def number_subtopics(judgments: Judgments) -> Known | None:
    """What these judgments know; None where ids are not text, or cannot be sorted fast."""
    queries = list(judgments.subtopics)
    if not queries:
        return None
    try:
        read = _Read.of(list(judgments.subtopics.values()))
    except (TypeError, UnicodeEncodeError):
        return None
    sizes = np.diff(read.docs.edges)
    owner = np.repeat(np.arange(len(queries)), sizes)
    found = distinct(read.ids, np.split(owner, read.docs.edges[_AT_ONCE:-1:_AT_ONCE]))
    if found is None or None in queries:
        return None
    offset = np.cumsum(sizes) - sizes
    query = owner[found.first]
    place = np.full(len(owner), -1)  # where a document is there again
    place[found.first] = found.first - offset[query]
    gold = GoldLists.of_lists(ByPlace(queries, read.docs), place, sizes)
    labels = Labels(
        np.repeat(np.arange(len(queries)), read.topics),
        np.ones(len(read.names)),
        found.row,
        np.repeat(np.arange(len(read.names)), read.sizes),
        read.grade,
    )
    every = np.arange(len(query))
    grade = np.full(len(every), -np.inf)
    grade_by_labels(grade, labels)
    documents = Late(lambda: [*map(read.docs.docs.__getitem__, found.first.tolist())], len(every))
    numbers = PreparedJudgments(Index.of(gold))
    whole = Known(numbers, offset, found.row, query, documents, grade, every, subtopics=labels, by_id=True)
    return completed(whole, judgments, read.names)


@dataclass(frozen=True)
class _Read:
    """All that dicts of subtopics hold, read once, some queries at a time: their documents then stay in the processor's cache."""

    docs: Lists  # of each query
    ids: list[bytes]  # of documents, one per line
    topics: IntArray  # how many subtopics each query has
    names: list[Any]  # of all subtopics
    sizes: IntArray  # how many documents each of them has
    grade: FloatArray  # of each document there

    @classmethod
    def of(cls, by_query: list[dict[Any, dict[Any, float]]]) -> _Read:
        """A TypeError where something is not a dict, or an id not text."""
        docs, names, texts = [], [], []
        topics, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        graded: list[Grades] = [np.zeros(0, np.uint8)]
        for first in range(0, len(by_query), _AT_ONCE):
            some = by_query[first : first + _AT_ONCE]
            tables, own = [*chain.from_iterable(map(dict.values, some))], [*chain.from_iterable(some)]
            every = [*chain.from_iterable(tables)]
            texts.append("\n".join([*every, ""]).encode())
            topics.append(sizes_of(some))
            sizes.append(sizes_of(tables))
            graded.append(grades(own, tables))
            names += own
            docs += every
        each, counts = np.concatenate(sizes), np.concatenate(topics)
        edges = np.append(0, np.cumsum(each))[np.append(0, np.cumsum(counts))]
        grade = np.concatenate(graded).astype(np.float64)
        return cls(Lists(docs, edges.tolist()), texts, counts, names, each, grade)
