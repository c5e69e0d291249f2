"""The same as :mod:`~ranklens.judging.known`, from dicts of subtopics alone: no document is looked at one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from ranklens.judging.details import Labels, Late
from ranklens.judging.distinct import distinct
from ranklens.judging.gold import ByPlace, GoldLists, grades
from ranklens.judging.known import Known, completed, grade_by_labels, sizes_of
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.readers.judgments import Judgments


def number_subtopics(judgments: Judgments) -> Known | None:
    """What these judgments know; None where ids are not text, or cannot be sorted fast."""
    queries, by_query = list(judgments.subtopics), list(judgments.subtopics.values())
    try:
        listed, ids = _listed(by_query)
    except (TypeError, UnicodeEncodeError):
        return None
    sizes = sizes_of(listed)
    owner = np.repeat(np.arange(len(queries)), sizes)
    found = distinct(ids, owner)
    if found is None or None in queries:
        return None
    offset = np.cumsum(sizes) - sizes
    place = np.full(len(owner), -1)  # where a document is there again
    place[found.first] = found.first - offset[owner[found.first]]
    gold = GoldLists.of_lists(ByPlace(queries, listed), place, sizes)
    topics = [*chain.from_iterable(topics.values() for topics in by_query)]
    names = [*chain.from_iterable(by_query)]
    labels = Labels(
        np.repeat(np.arange(len(queries)), sizes_of(by_query)),
        np.ones(len(topics)),
        found.row,
        np.repeat(np.arange(len(topics)), sizes_of(topics)),
        grades(names, topics).astype(np.float64),
    )
    every = np.arange(len(found.first))
    grade = np.full(len(every), -np.inf)
    grade_by_labels(grade, labels)
    documents = Late(
        lambda: [*map([*chain.from_iterable(listed)].__getitem__, found.first.tolist())], len(every)
    )
    whole = Known(
        PreparedJudgments(Index.of(gold)),
        offset,
        found.row,
        owner[found.first],
        documents,
        grade,
        every,
        subtopics=labels,
        by_id=True,
    )
    return completed(whole, judgments, names)


def _listed(by_query: Iterable[Mapping[Any, Mapping[Any, float]]]) -> tuple[list[list[Any]], bytes]:
    """The documents of each query; and the ids of all, one per line, read while they are in the processor's cache."""
    listed, texts = [], []
    for topics in by_query:
        docs = [*chain.from_iterable(topics.values())]
        listed.append(docs)
        if docs:
            texts.append("\n".join(docs))
    texts.append("")
    return listed, "\n".join(texts).encode()
