"""The same as :mod:`~ranklens.judging.known`, from a table with a row per query, subtopic and document."""

from __future__ import annotations

from itertools import count

import numpy as np
import polars as pl

from ranklens.arrays import IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.judging.details import Labels, Late
from ranklens.judging.distinct import distinct
from ranklens.judging.known import Known, completed, unranked
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.judging.segments import Gold, hashes_of
from ranklens.judging.tables import numbered, refuse_infinite_grades

_SPARSE = 32  # times as many places for pairs of subtopic and document as there are pairs are not too many


def number_table(judgments: Judgments, rows: pl.DataFrame) -> Known:
    """What the table of these judgments knows."""
    refuse_infinite_grades(rows)
    queries, number, lengths = numbered(rows["query"])
    rows, q = _in_order(rows, np.repeat(number, lengths))
    rows, label = _in_order(rows, _labels(q, rows["subtopic"]))  # of the same queries
    # A quarter to a third of the time of an evaluation is saved where ids can be numbered.
    sorted_ids = distinct((rows["doc"].str.join("\n").item() + "\n").encode(), q)
    place, first = (sorted_ids.row, sorted_ids.first) if sorted_ids else _documents(q, rows["doc"])
    docs, query = rows["doc"][first], q[first]
    sizes = np.bincount(query, minlength=len(queries))
    offset = np.cumsum(sizes) - sizes
    topics = np.flatnonzero(np.diff(label, prepend=-1))
    owner = q[topics]
    rows_grade = rows["grade"].to_numpy()
    chosen: slice | IntArray = slice(None)
    if _may_repeat(label, place, owner, sizes):
        key = label * (int(place.max(initial=0)) + 1) + place
        order = np.lexsort((-rows_grade, key))  # of a key that is there again, the highest grade counts
        chosen = np.sort(order[np.flatnonzero(np.diff(key[order], prepend=-1))])
    entries = Labels(owner, np.ones(len(owner)), place[chosen], label[chosen], rows_grade[chosen])
    grade = np.full(len(docs), -np.inf)
    every = np.arange(len(docs))
    own = (every - offset[query]).astype(np.float64)
    table = pl.DataFrame({"q": query, "doc": docs, "grade": own})
    names = queries.to_list()
    index = Index(pl.DataFrame({"query": queries[query], "doc": docs, "grade": own}))
    index.for_tables = Gold.of(names, table)
    details = unranked(len(offset), query, Late(docs.to_list, len(docs)), grade, by_id=sorted_ids is not None)
    subtopics = Late(rows["subtopic"][topics].to_list, len(topics))
    labels = {"subtopics": entries}
    return completed(judgments, PreparedJudgments(index), offset, every, details, labels, subtopics)


def _in_order(rows: pl.DataFrame, number: IntArray) -> tuple[pl.DataFrame, IntArray]:
    """The rows in the order of their numbers, and these."""
    if (number[1:] >= number[:-1]).all():
        return rows, number
    order = np.argsort(number, kind="stable")
    return rows[order], number[order]


def _labels(query: IntArray, subtopic: pl.Series) -> IntArray:
    """The number of the subtopic of each row, counted over all queries, which are sorted, in the order in which they first appear."""
    names, number, lengths = numbered(subtopic)
    starts = np.cumsum(lengths) - lengths
    first = np.union1d(starts, np.flatnonzero(np.diff(query, prepend=-1)))
    runs = query[first] * len(names) + number[np.searchsorted(starts, first, side="right") - 1]
    ordered = np.sort(runs)
    label = np.arange(len(runs))
    if (ordered[1:] == ordered[:-1]).any():
        _, met, again = np.unique(runs, return_index=True, return_inverse=True)
        label = np.argsort(np.argsort(met))[again]
    return np.repeat(label, np.diff(first, append=len(query)))


def _documents(query: IntArray, docs: pl.Series) -> tuple[IntArray, IntArray]:
    """The number of the document of each row, counted over all queries; and a row of each document."""
    query = query.astype(np.uint64)
    for seed in count():
        # Part of a hash is enough to tell the documents of a query apart; if not, another one is.
        key = (query << np.uint64(40)) | (hashes_of(docs, seed) >> np.uint64(24))
        order = np.argsort(key)
        new = np.ones(len(key), dtype=bool)
        new[1:] = key[order[1:]] != key[order[:-1]]
        again = np.flatnonzero(~new)
        if (docs[order[again]] == docs[order[again - 1]]).all():
            break
    place = np.empty(len(key), np.int64)
    place[order] = np.cumsum(new) - 1
    return place, order[new]


def _may_repeat(label: IntArray, doc: IntArray, owner: IntArray, documents: IntArray) -> bool:
    """Whether a document may have the same subtopic twice: each pair of them marks its place in a table, if that is not too large."""
    # The documents of a query follow one another, and so do its subtopics.
    wide = documents[owner]
    if int(wide.sum()) > _SPARSE * len(doc):
        return True
    row = np.cumsum(wide) - wide - (np.cumsum(documents) - documents)[owner]
    taken = np.zeros(int(wide.sum()), dtype=bool)
    taken[row[label] + doc] = True
    return int(np.count_nonzero(taken)) < len(doc)
