"""Tables → :class:`~ranklens.judging.standing.Standings`, on Polars and NumPy.

A run is a table, or a stream of them. Queries are ranked as they come and then forgotten (:mod:`~ranklens.judging.grouped`), so
memory depends on the size of a table, not of the run. Only if a query reappears later (the rows are not grouped by query) is
the run read again (:mod:`~ranklens.judging.scattered`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.files.streams import TableStream
from ranklens.judging.gold import Grades, grades
from ranklens.judging.grouped import in_order
from ranklens.judging.judged import Applied
from ranklens.judging.order import best_of_each, check_duplicates, named, not_a_number
from ranklens.judging.prepared import index_of
from ranklens.judging.scattered import scattered
from ranklens.judging.segments import Gold, hashes_of, may_repeat
from ranklens.judging.standing import Standings, check_unjudged
from ranklens.judging.walk import Tables
from ranklens.policy import Policy
from ranklens.readers import frames, mappings

if TYPE_CHECKING:
    import polars as pl


def from_frames(qrels: Any, run: Tables, policy: Policy, columns: Mapping[str, str] | None) -> Standings:
    """The places of the judged documents in a run: tables with the columns query, doc and score, one after the other."""
    queries, table, repeated_gold, gold = _indexed(qrels, policy, columns)
    once = isinstance(run, TableStream) and run.once
    walk = (None if once else in_order(run, gold, policy)) or scattered(run, gold, policy)
    parts = walk.parts
    duplicates = sum(part.duplicates for part in parts)
    check_duplicates("run", duplicates, next((p.first_duplicate for p in parts if p.duplicates), ""), policy)
    unjudged = walk.unjudged()
    check_unjudged(len(unjudged), policy, lambda: unjudged[0])
    retrieved = np.zeros(len(queries), np.int64)
    for part in parts:
        retrieved[part.codes] = part.lengths
    return Standings(
        queries=queries,
        retrieved=retrieved,
        in_run=retrieved > 0,
        judged=gold.counts,
        gold=_as_bytes(gold.grades),
        query=np.concatenate([part.query for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        grade=np.concatenate([part.grade for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        size=np.concatenate([part.size for part in parts]),
        applied=Applied(ignored=len(unjudged), duplicates=duplicates, duplicate_judgments=repeated_gold),
        examples=(walk.example[0], next(iter(table["doc"]), ""), walk.example[1]),
    )


def _indexed(
    qrels: Any, policy: Policy, columns: Mapping[str, str] | None
) -> tuple[list[str], pl.DataFrame, int, Gold]:
    """What :func:`_judgments` finds and its index: kept for the next run where judgments are prepared."""
    index = index_of(qrels)
    if index is not None and index.for_tables is not None:
        kept: tuple[list[str], pl.DataFrame, int, Gold] = index.for_tables
        return kept
    queries, table, repeated = _judgments(qrels if index is None else index.source, policy, columns)
    found = queries, table, repeated, Gold.of(queries, table)
    if index is not None and not repeated:  # which each run would be told of
        index.for_tables = found
    return found


def _judgments(
    qrels: Any, policy: Policy, columns: Mapping[str, str] | None
) -> tuple[list[str], pl.DataFrame, int]:
    """All judged queries, a table ``q, doc, grade`` sorted by query, and how many repeated documents it lacks."""
    if isinstance(qrels, Mapping):
        queries, table, dropped = _judgments_of_dicts(qrels, policy)
    else:
        queries, table = _judgments_of_table(frames.qrels_frame(qrels, columns))
        dropped = 0
    table, repeated = _highest_grades(queries, table, policy)
    return queries, table, dropped + repeated


def _judgments_of_dicts(qrels: Mapping[Any, Any], policy: Policy) -> tuple[list[str], pl.DataFrame, int]:
    import polars as pl

    given = mappings.judgments(qrels)
    check_duplicates("qrels", given.duplicates, given.first_duplicate, policy)
    queries, golds = [str(query) for query in given.by_query], list(given.by_query.values())
    columns = {
        "q": np.repeat(np.arange(len(golds)), [len(gold) for gold in golds]),
        "doc": [str(doc) for gold in golds for doc in gold],
        "grade": grades(queries, golds).astype(np.float64),
    }
    schema = {"q": pl.Int64, "doc": pl.String, "grade": pl.Float64}
    return queries, pl.DataFrame(columns, schema=schema), given.duplicates


def _judgments_of_table(table: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    import polars as pl

    wrong = table.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
    if len(wrong):
        query, doc, grade = wrong.row(0)
        raise not_a_number("qrels", "grade", query, doc, grade)
    queries, number, lengths = numbered(table["query"])
    found = table.select(pl.Series("q", np.repeat(number, lengths)), "doc", "grade")
    in_order = (number[1:] >= number[:-1]).all()
    return queries.to_list(), found if in_order else found.sort("q", maintain_order=True)


def numbered(column: pl.Series) -> tuple[pl.Series, IntArray, IntArray]:
    """The values of a column as they first appear; and of each run of equal ones, the number of its value and its length.

    >>> import polars as pl
    >>> numbered(pl.Series(["b", "b", "a", "b"]))[1:]
    (array([0, 1, 0]), array([2, 1, 1]))
    """
    import polars as pl

    # Judgments mostly stand query by query: then there are few runs of equal queries, and ids need not be copied.
    runs = column.rle().struct.unnest()
    values, number = runs["value"], np.arange(len(runs))
    if values.n_unique() < len(values):
        values = values.unique(maintain_order=True)
        codes = pl.DataFrame({"value": values}).with_row_index("number")
        found = runs.join(codes, on="value", how="left", maintain_order="left")["number"]
        number = found.to_numpy().astype(np.int64)
    return values, number, runs["len"].to_numpy().astype(np.int64)


def _as_bytes(grades: FloatArray) -> Grades:
    """Whole grades from 0 to 255 in an eighth of the memory; counting them is faster than sorting, too."""
    if grades.min(initial=0) < 0 or grades.max(initial=0) > 255:
        return grades
    small = grades.astype(np.uint8)
    return small if np.array_equal(small, grades) else grades


def _highest_grades(queries: list[str], table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, int]:
    """Each document of a query once, and how many rows that dropped."""
    if not may_repeat(hashes_of(table["doc"]), np.bincount(table["q"].to_numpy())):
        return table, 0
    repeated = table.filter(table.select("q", "doc").is_duplicated())
    if not len(repeated):
        return table, 0
    kept = best_of_each(table, ["q", "doc"], "grade").sort("q", maintain_order=True)
    dropped = len(table) - len(kept)
    check_duplicates("qrels", dropped, named(repeated["doc"][0], queries[repeated["q"][0]]), policy)
    return kept, dropped
