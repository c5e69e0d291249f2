"""The same as :mod:`~ranklens.judging.known`, from a table with a row per query, subtopic and document."""

from __future__ import annotations

from itertools import count

import numpy as np
import polars as pl

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.judging.details import Labels, Late
from ranklens.judging.distinct import distinct
from ranklens.judging.known import Known, completed, grade_by_labels
from ranklens.judging.order import not_a_number
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.judging.segments import Gold, hashes_of
from ranklens.judging.tables import numbered

_SPARSE = 32  # times as many places for pairs of subtopic and document as there are pairs are not too many


def number_table(judgments: Judgments, rows: pl.DataFrame) -> Known:
    """What the table of these judgments knows."""
    wrong = rows.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
    if len(wrong):
        query, _, doc, grade = wrong.row(0)
        raise not_a_number("qrels", "grade", query, doc, grade)
    queries, number, lengths = numbered(rows["query"])
    rows, q = _in_order(rows, np.repeat(number, lengths))
    rows, label = _in_order(rows, _labels(q, rows["subtopic"]))  # of the same queries
    sorted_ids = distinct([(rows["doc"].str.join("\n").item() + "\n").encode()], [q])
    place, first = (sorted_ids.row, sorted_ids.first) if sorted_ids else _documents(q, rows["doc"])
    docs, query = rows["doc"][first], q[first]
    sizes = np.bincount(query, minlength=len(queries))
    offset = np.cumsum(sizes) - sizes
    topics = np.flatnonzero(np.diff(label, prepend=-1))
    owner = q[topics]
    entries, grade = (
        _entries(label, place, rows["grade"].to_numpy(), owner, sizes),
        np.full(len(docs), -np.inf),
    )
    grade_by_labels(grade, entries)
    every = np.arange(len(docs))
    own = (every - offset[query]).astype(np.float64)
    table = pl.DataFrame({"q": query, "doc": docs, "grade": own})
    names = queries.to_list()
    index = Index(pl.DataFrame({"query": queries[query], "doc": docs, "grade": own}))
    index.for_tables = Gold.of(names, table)
    found = Known(
        PreparedJudgments(index),
        offset,
        every,
        query,
        Late(docs.to_list, len(docs)),
        grade,
        every,
        subtopics=entries,
        by_id=sorted_ids is not None,
    )
    return completed(found, judgments, Late(rows["subtopic"][topics].to_list, len(topics)))


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


def _entries(
    label: IntArray, doc: IntArray, grade: FloatArray, owner: IntArray, documents: IntArray
) -> Labels:
    """Which document has which subtopic, with its highest grade there; ``documents`` are counts per query."""
    kept = (
        _best_of_repeated(label * (int(doc.max(initial=0)) + 1) + doc, grade)
        if _may_repeat(label, doc, owner, documents)
        else slice(None)
    )
    return Labels(owner, np.ones(len(owner)), doc[kept], label[kept], grade[kept])


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


def _best_of_repeated(key: IntArray, grade: FloatArray) -> slice | IntArray:
    """The rows to keep, where a key appears more than once: that of the highest grade."""
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return slice(None)
    order = np.lexsort((-grade, key))
    first = order[np.flatnonzero(np.diff(key[order], prepend=-1))]
    return np.sort(first)
