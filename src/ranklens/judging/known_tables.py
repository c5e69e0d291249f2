"""The same as :mod:`~ranklens.judging.known`, from a table with a row per query, subtopic and document."""

from __future__ import annotations

from itertools import count

import numpy as np
import polars as pl

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.details import Labels, Late
from ranklens.judging.distinct import distinct
from ranklens.judging.known import Known, completed, grade_by_labels
from ranklens.judging.order import not_a_number
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.judging.segments import Gold, hashes_of
from ranklens.readers.judgments import Judgments

_SPARSE = 32  # times as many places for pairs of subtopic and document as there are pairs are not too many


def number_table(judgments: Judgments, rows: pl.DataFrame) -> Known:
    """What the table of these judgments knows."""
    wrong = rows.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
    if len(wrong):
        query, _, doc, grade = wrong.row(0)
        raise not_a_number("qrels", "grade", query, doc, grade)
    rows = rows.with_columns(_first_met(rows, "query").alias("q"))
    if not rows["q"].is_sorted():
        rows = rows.sort("q", maintain_order=True)
    rows = rows.with_columns(_first_met(rows, "q", "subtopic").alias("label"))
    if not rows["label"].is_sorted():
        rows = rows.sort("label", maintain_order=True)
    ids = rows["doc"].str.join("\n").item() + "\n"
    sorted_ids = distinct([ids.encode()], [rows["q"].to_numpy()])
    place, first = (sorted_ids.row, sorted_ids.first) if sorted_ids else _documents(rows)
    docs = rows.select("q", "query", "doc")[first]
    queries = judgments.queries()
    sizes = np.bincount(docs["q"].to_numpy(), minlength=len(queries))
    offset = np.cumsum(sizes) - sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    number = (np.arange(len(docs)) - offset[query]).astype(np.float64)
    entries, grade = _entries(rows, place, sizes), np.full(len(docs), -np.inf)
    grade_by_labels(grade, entries)
    every = np.arange(len(docs))
    index = Index(docs.select("query", "doc", pl.Series("grade", number)))
    table = docs.select("q", "doc", pl.Series("grade", number))
    index.for_tables = queries, table, 0, Gold.of(queries, table)
    names = Late(docs["doc"].to_list, len(docs))
    by_id = sorted_ids is not None
    found = Known(
        PreparedJudgments(index), offset, every, query, names, grade, every, subtopics=entries, by_id=by_id
    )
    topics = rows["subtopic"][np.flatnonzero(np.diff(rows["label"].to_numpy(), prepend=-1))].to_list()
    return completed(found, judgments, topics)


def _documents(rows: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """The number of the document of each row, counted over all queries; and a row of each document."""
    query, docs = rows["q"].to_numpy().astype(np.uint64), rows["doc"]
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


def _first_met(rows: pl.DataFrame, *columns: str) -> pl.Series:
    """Number the values of these columns in the order in which they appear."""
    runs = rows.select(pl.struct(columns).rle_id() if len(columns) > 1 else pl.col(columns[0]).rle_id())
    run = runs.to_series().to_numpy().astype(np.int64)
    values = rows.select(columns)[np.flatnonzero(np.diff(run, prepend=-1))]
    order = values.unique(maintain_order=True).with_row_index("number")
    number = values.join(order, on=list(columns), how="left", maintain_order="left")["number"].to_numpy()
    return pl.Series(number.astype(np.int64)[run])


def _entries(rows: pl.DataFrame, doc: IntArray, documents: IntArray) -> Labels:
    """Which document has which subtopic, with its highest grade there; each query has so many ``documents``."""
    label, grade = rows["label"].to_numpy(), rows["grade"].to_numpy()
    owner = rows["q"].to_numpy()[np.flatnonzero(np.diff(label, prepend=-1))]
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
