"""The same as :mod:`~ranklens.judging.known`, from a table with a row per query, subtopic and document."""

from __future__ import annotations

import numpy as np
import polars as pl

from ranklens.arrays import IntArray
from ranklens.judging.details import Labels
from ranklens.judging.known import Known, completed, grade_by_labels
from ranklens.judging.order import not_a_number
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.readers.judgments import Judgments


def number_table(judgments: Judgments) -> Known:
    """What the table of these judgments knows."""
    rows: pl.DataFrame = judgments.table
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
    docs = rows.select("q", "query", "doc").unique(["q", "doc"], maintain_order=True)
    sizes = np.bincount(docs["q"].to_numpy(), minlength=len(judgments.queries()))
    offset = np.cumsum(sizes) - sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(len(docs)) - offset[query]
    entries = _entries(rows, docs)
    numbered = docs.select("query", "doc", pl.Series("grade", number.astype(np.float64)))
    found = Known(
        PreparedJudgments(Index(numbered)),
        offset,
        query,
        docs["doc"].to_list(),
        np.full(len(docs), -np.inf),
        np.zeros(0, np.int64),
    )
    grade_by_labels(found.grade, entries)
    names = rows["subtopic"].gather(np.flatnonzero(np.diff(entries.label, prepend=-1))).to_list()
    return completed(found, judgments, entries, names, None)


def _first_met(rows: pl.DataFrame, *columns: str) -> pl.Series:
    """Number the values of these columns in the order in which they appear."""
    run = rows.select(pl.struct(columns).rle_id() if len(columns) > 1 else pl.col(columns[0]).rle_id())
    run = run.to_series().to_numpy()
    values = rows.select(columns)[np.flatnonzero(np.diff(run.astype(np.int64), prepend=-1))]
    order = values.unique(maintain_order=True).with_row_index("number")
    number = values.join(order, on=list(columns), how="left", maintain_order="left")["number"].to_numpy()
    return pl.Series(number.astype(np.int64)[run])


def _entries(rows: pl.DataFrame, docs: pl.DataFrame) -> Labels:
    """Which document has which subtopic, with its highest grade there."""
    at = docs.select("q", "doc").with_row_index("row")
    row = rows.select("q", "doc").join(at, on=["q", "doc"], how="left", maintain_order="left")["row"]
    doc, label = row.to_numpy().astype(np.int64), rows["label"].to_numpy()
    grade = rows["grade"].to_numpy()
    owner = rows["q"].to_numpy()[np.flatnonzero(np.diff(label, prepend=-1))]
    kept = _best_of_repeated(label * len(docs) + doc, grade)
    return Labels(owner, np.ones(len(owner)), doc[kept], label[kept], grade[kept])


def _best_of_repeated(key: IntArray, grade: np.ndarray) -> slice | IntArray:
    """The rows to keep, where a key appears more than once: that of the highest grade."""
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return slice(None)
    order = np.lexsort((-grade, key))
    first = order[np.flatnonzero(np.diff(key[order], prepend=-1))]
    return np.sort(first)
