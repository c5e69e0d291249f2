"""Tables → :class:`~ranklens.judging.standing.Standings`, on Polars and NumPy.

A run is a table, or a stream of them. Queries are ranked as they come and then forgotten (:mod:`~ranklens.judging.grouped`), so
memory depends on the size of a table, not of the run. Only if a query reappears later (the rows are not grouped by query) is
the run read again (:mod:`~ranklens.judging.scattered`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import numpy as np
import polars as pl

from ranklens.arrays import IntArray
from ranklens.data.files.streams import TableStream
from ranklens.data.qrels import Dicts, Qrels
from ranklens.data.readers import mappings
from ranklens.judging.gold import grades
from ranklens.judging.grouped import in_order
from ranklens.judging.inputs import index_of
from ranklens.judging.judged import Applied
from ranklens.judging.order import best_of_each, check_duplicates, not_a_number
from ranklens.judging.scattered import Tables, scattered
from ranklens.judging.segments import Gold
from ranklens.judging.standing import Sampled, Standings, check_unjudged
from ranklens.policy import Policy


def from_tables(qrels: Qrels, run: Tables, policy: Policy) -> Standings:
    """The places of the judged documents in a run: tables with the columns query, doc and score, one after the other."""
    gold, repeated_gold = _indexed(qrels, policy)
    once = isinstance(run, TableStream) and run.once
    walk = (None if once else in_order(run, gold, policy)) or scattered(run, gold, policy)
    parts = walk.parts
    duplicates = sum(part.duplicates for part in parts)
    check_duplicates(
        "run", duplicates, next((p.first_duplicate for p in parts if p.duplicates), None), policy
    )
    unjudged = walk.unjudged()
    check_unjudged(len(unjudged), policy, lambda: unjudged[0])
    retrieved = np.zeros(len(gold.queries), np.int64)
    codes = np.concatenate([part.codes for part in parts])
    retrieved[codes] = np.concatenate([part.lengths for part in parts])
    rank = np.concatenate([part.rank for part in parts])

    def sample(most: int) -> Iterator[Sampled]:
        some = [one for part in parts for one in part.sample]
        for code, docs in some[:: len(some) // most + 1]:
            yield gold.docs.slice(int(gold.starts[code]), int(gold.counts[code])), docs

    start, size = (
        rank,
        np.broadcast_to(np.int64(1), len(rank)),
    )  # most runs have no ties, and this takes no memory then
    if any(part.size is not None for part in parts):
        start = np.concatenate([part.rank if part.start is None else part.start for part in parts])
        sizes = [size[: len(part.rank)] if part.size is None else part.size for part in parts]
        size = np.concatenate(sizes)
    return Standings(
        queries=list(gold.queries),
        retrieved=retrieved,
        in_run=retrieved > 0,
        judged=gold.counts,
        gold=gold.grades,
        query=np.concatenate([part.query for part in parts]),
        rank=rank,
        grade=np.concatenate([part.grade for part in parts]),
        start=start,
        size=size,
        applied=Applied(ignored=len(unjudged), duplicates=duplicates, duplicate_judgments=repeated_gold),
        examples=(walk.example[0], next(iter(gold.docs), ""), walk.example[1]),
        in_order=policy.ties != "average" and bool((codes[1:] > codes[:-1]).all()),
        may_tie=any(part.size is not None for part in parts),
        unjudged=lambda: unjudged,
        sample=sample,
    )


def _indexed(qrels: Qrels, policy: Policy) -> tuple[Gold, int]:
    """The index of all judgments, and how many repeated documents were dropped; cached on prepared judgments."""
    index = index_of(qrels)
    if index is not None and index.for_tables is not None:
        return index.for_tables, 0
    judged = qrels.judged if index is None else index.source
    repeated = 0
    if isinstance(judged, Mapping):
        queries, table, repeated = _judgments_of_dicts(judged, policy)
    else:
        refuse_infinite_grades(judged)
        names, number, lengths = numbered(judged["query"])
        queries = names.to_list()
        table = judged.select(pl.Series("q", np.repeat(number, lengths)), "doc", "grade")
        if (number[1:] < number[:-1]).any():
            table = table.sort("q", maintain_order=True)
    gold = Gold.hashed(queries, table)
    if gold is None:
        again = table.filter(table.select("q", "doc").is_duplicated())
        if len(again):  # each document of a query once, with its highest grade
            rows = len(table)
            table = best_of_each(table, ["q", "doc"], "grade").sort("q", maintain_order=True)
            first = mappings.Place(again["doc"][0], queries[again["q"][0]])
            check_duplicates("qrels", rows - len(table), first, policy)
            repeated += rows - len(table)
        gold = Gold.of(queries, table)
    if index is not None and not repeated:  # else every run has to warn of them
        index.for_tables = gold
    return gold, repeated


def _judgments_of_dicts(qrels: Dicts, policy: Policy) -> tuple[list[str], pl.DataFrame, int]:
    repaired = mappings.judgments(qrels)
    check_duplicates("qrels", repaired.duplicates, repaired.first_duplicate, policy)
    by_query = repaired.by_query
    if {*map(type, by_query), *map(type, chain.from_iterable(by_query.values()))} - {str}:
        by_query = mappings.as_text(by_query)
    queries, golds = list(by_query), list(by_query.values())
    columns = {
        "q": np.repeat(np.arange(len(golds)), [len(gold) for gold in golds]),
        "doc": [*chain.from_iterable(golds)],
        "grade": grades(queries, golds).astype(np.float64),
    }
    schema = {"q": pl.Int64, "doc": pl.String, "grade": pl.Float64}
    return queries, pl.DataFrame(columns, schema=schema), repaired.duplicates


def refuse_infinite_grades(table: pl.DataFrame) -> None:
    """Raise for the first grade that is missing, NaN or infinite."""
    wrong = table.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
    if len(wrong):
        row = wrong.row(0, named=True)
        raise not_a_number("qrels", "grade", row["query"], row["doc"], row["grade"])


def numbered(column: pl.Series) -> tuple[pl.Series, IntArray, IntArray]:
    """The values of a column as they first appear; and of each run of equal ones, the number of its value and its length.

    >>> import polars as pl
    >>> numbered(pl.Series(["b", "b", "a", "b"]))[1:]
    (array([0, 1, 0]), array([2, 1, 1]))
    """
    # Judgments mostly stand query by query: then there are few runs of equal queries, and ids need not be copied.
    runs = column.rle().struct.unnest()
    values, number = runs["value"], np.arange(len(runs))
    if values.n_unique() < len(values):
        values = values.unique(maintain_order=True)
        codes = pl.DataFrame({"value": values}).with_row_index("number")
        numbers = runs.join(codes, on="value", how="left", maintain_order="left")["number"]
        number = numbers.to_numpy().astype(np.int64)
    return values, number, runs["len"].to_numpy().astype(np.int64)
