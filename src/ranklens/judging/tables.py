"""Tables → :class:`~ranklens.judging.standing.Standings`, on Polars and NumPy.

A run is a table, or a stream of them. Queries are ranked as they come and then forgotten, so memory depends on the size
of a table, not of the run. Only if a query reappears later (the rows are not grouped by query) is the run read
again: sorted in memory if it is small, otherwise through temporary files, each with a share of the queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.files.output import naming
from ranklens.files.streams import TableStream
from ranklens.files.temporary import temporary_folder
from ranklens.judging.gold import Grades, grades
from ranklens.judging.judged import Applied
from ranklens.judging.order import best_of_each, check_duplicates, named, not_a_number
from ranklens.judging.prepared import index_of
from ranklens.judging.segments import Gold, Part, Ranked, hashes_of, may_repeat, rank
from ranklens.judging.standing import Standings, check_unjudged
from ranklens.policy import Policy
from ranklens.readers import frames, mappings

if TYPE_CHECKING:
    import polars as pl

_IN_MEMORY = 1 << 21  # rows that are sorted, or waited for before they are ranked, at a time
_SHARES = 64  # into which a large run whose rows are not grouped by query is divided

Tables = TableStream | Iterable["pl.DataFrame"]


def from_frames(qrels: Any, run: Tables, policy: Policy, columns: Mapping[str, str] | None) -> Standings:
    """The places of the judged documents in a run: tables with the columns query, doc and score, one after the other."""
    queries, table, repeated_gold, gold = _indexed(qrels, policy, columns)
    walk = _in_order(run, gold, policy) or _scattered(run, gold, policy)
    parts = walk.parts
    duplicates = sum(part.duplicates for part in parts)
    check_duplicates("run", duplicates, next((p.first_duplicate for p in parts if p.duplicates), ""), policy)
    check_unjudged(len(walk.unjudged), policy, lambda: next(iter(walk.unjudged)))
    retrieved = np.zeros(len(queries), np.int64)
    for part in parts:
        retrieved[part.codes] = part.lengths
    return Standings(
        queries=queries,
        retrieved=retrieved,
        in_run=retrieved > 0,
        gold_query=table["q"].to_numpy(),
        gold=_as_bytes(gold.grades),
        query=np.concatenate([part.query for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        grade=np.concatenate([part.grade for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        size=np.concatenate([part.size for part in parts]),
        applied=Applied(ignored=len(walk.unjudged), duplicates=duplicates, duplicate_judgments=repeated_gold),
        examples=(walk.example[0], next(iter(table["doc"]), ""), walk.example[1]),
    )


@dataclass
class _Walk:
    """What was found on the way through a run."""

    parts: list[Part] = field(default_factory=list)
    unjudged: dict[str, None] = field(default_factory=dict)  # queries, in order
    example: tuple[str, str] = ("", "")

    def see(self, example: tuple[str, str]) -> None:
        self.example = self.example if self.example != ("", "") else example


def _each(run: Tables, function: Any) -> Iterator[Any]:
    return run.map(function) if isinstance(run, TableStream) else map(function, run)


# --- rows grouped by query


@dataclass(frozen=True)
class _Piece:
    """One table of the run, ranked: its first and last query, which may continue in other tables, and the rest."""

    edges: list[tuple[str, pl.DataFrame]]
    inner: list[str]
    part: Part | None
    example: tuple[str, str]


def _in_order(run: Tables, gold: Gold, policy: Policy) -> _Walk | None:
    """Each query once its last row has been read; None if one reappears later."""
    walk, seen = _Walk(), set[str]()
    waiting: list[pl.DataFrame] = []  # the rows of queries at the edges of tables; the last one may continue
    last: str | None = None
    for piece in _each(run, partial(_rank_inner, gold=gold, policy=policy)):
        walk.see(piece.example)
        names = [*piece.inner, *(name for name, _ in piece.edges)]
        if piece.edges and piece.edges[0][0] == last:
            names.remove(last)
        if len({*names}) < len(names) or not seen.isdisjoint(names):
            return None
        seen.update(names)
        if piece.part is not None:
            walk.parts.append(piece.part)
        for name, rows in piece.edges:
            if name != last and sum(map(len, waiting)) > _IN_MEMORY:
                walk.parts.append(_rank_waiting(waiting, gold, policy))
                waiting = []
            waiting.append(rows)
            last = name
    walk.parts.append(_rank_waiting(waiting, gold, policy))
    walk.unjudged = {name: None for name in seen if name not in gold.code}
    return walk


def _rank_inner(table: pl.DataFrame, gold: Gold, policy: Policy) -> _Piece:
    """Rank all queries of a table but the first and the last."""
    runs = table["query"].rle().struct.unnest()
    names, lengths = runs["value"].to_list(), runs["len"].to_numpy().astype(np.int64)
    if not names:
        return _Piece([], [], None, ("", ""))
    example = (names[0], table["doc"][0])
    if len(names) < 3:
        edges = list(zip(names, (_rows(table, *ends) for ends in _ends(lengths)), strict=True))
        return _Piece(edges, [], None, example)
    first, last = int(lengths[0]), len(table) - int(lengths[-1])
    edges = [(names[0], _rows(table, 0, first)), (names[-1], _rows(table, last, len(table)))]
    ranked = _judged_queries(table[first:last], names[1:-1], lengths[1:-1], gold)
    return _Piece(edges, names[1:-1], rank(ranked, gold, policy), example)


def _ends(lengths: IntArray) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(lengths)
    return zip((ends - lengths).tolist(), ends.tolist(), strict=True)


def _rows(table: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """Some rows; copied where they are few, because a slice would keep the whole table in memory."""
    import polars as pl

    rows = table[start:stop]
    if 2 * (stop - start) > len(table):
        return rows
    return pl.DataFrame(rows.to_dict(as_series=False), schema=rows.schema)


def _judged_queries(table: pl.DataFrame, names: list[str], lengths: IntArray, gold: Gold) -> Ranked:
    """The rows of judged queries."""
    codes = np.array([gold.code.get(name, -1) for name in names], dtype=np.int64)
    ranked = Ranked(table["doc"], table["score"].to_numpy(), codes, lengths)
    judged = codes >= 0
    return ranked if judged.all() else ranked.keep(np.repeat(judged, lengths))


def _rank_waiting(tables: list[pl.DataFrame], gold: Gold, policy: Policy) -> Part:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *tables])
    runs = table["query"].rle().struct.unnest()
    names, lengths = runs["value"].to_list(), runs["len"].to_numpy().astype(np.int64)
    return rank(_judged_queries(table, names, lengths, gold), gold, policy)


# --- rows that do not


def _scattered(run: Tables, gold: Gold, policy: Policy) -> _Walk:
    """All rows of judged queries, sorted by query: in memory if they are few, else a share of the queries at a time."""
    walk = _Walk()
    with temporary_folder() as folder:
        held, rows, spills = list[Any](), 0, 0
        for table, unjudged, example in _each(run, partial(_coded, gold=gold)):
            walk.see(example)
            walk.unjudged.update(dict.fromkeys(unjudged))
            held.append(table)
            rows += len(table)
            if rows > _IN_MEMORY:
                _spill(held, folder, spills)
                held, rows, spills = [], 0, spills + 1
        if not spills:
            walk.parts.append(_rank_share(held, gold, policy))
            return walk
        if held:
            _spill(held, folder, spills)
        for share in range(_SHARES):
            walk.parts.append(_rank_share(_read_share(folder, share), gold, policy))
    return walk


def _coded(table: pl.DataFrame, gold: Gold) -> tuple[pl.DataFrame, list[str], tuple[str, str]]:
    """The rows of judged queries with the number of the query as ``q``; and the other queries."""
    import polars as pl

    example = (table["query"][0], table["doc"][0]) if len(table) else ("", "")
    coded = table.join(gold.numbers, on="query", how="left", maintain_order="left")
    unjudged = coded.filter(pl.col("q").is_null())["query"].unique(maintain_order=True).to_list()
    return coded.drop_nulls("q").select("q", "doc", "score"), unjudged, example


def _spill(tables: list[pl.DataFrame], folder: Path, number: int) -> None:
    """Write the rows, one file per share."""
    import polars as pl

    table = pl.concat(tables)
    for (share,), rows in (
        table.with_columns(share=pl.col("q") % _SHARES)
        .partition_by("share", as_dict=True, include_key=False)
        .items()
    ):
        with naming(folder):
            rows.write_ipc(folder / f"{share}-{number:06}", compression="lz4")


def _read_share(folder: Path, share: int) -> list[pl.DataFrame]:
    import polars as pl

    return [pl.read_ipc(file) for file in sorted(folder.glob(f"{share}-*"))]


def _rank_share(tables: list[pl.DataFrame], gold: Gold, policy: Policy) -> Part:
    import polars as pl

    schema = {"q": pl.Int32, "doc": pl.String, "score": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *tables])
    q = table["q"].to_numpy()
    order = np.argsort(q, kind="stable")  # within a query, rows stay in the order of the run
    q = q[order].astype(np.int64)
    first = np.flatnonzero(np.diff(q, prepend=-1))
    lengths = np.diff(first, append=len(q))
    ranked = Ranked(table["doc"][order], table["score"].to_numpy()[order], q[first], lengths)
    return rank(ranked, gold, policy)


# --- judgments


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
    # Judgments mostly stand query by query: then there are few runs of equal queries, and ids need not be copied.
    runs = table["query"].rle().struct.unnest()
    queries = runs["value"].unique(maintain_order=True)
    codes = pl.DataFrame({"value": queries}).with_row_index("q")
    number = runs.join(codes, on="value", maintain_order="left")["q"].to_numpy().astype(np.int64)
    q = np.repeat(number, runs["len"].to_numpy())
    found = table.select(pl.Series("q", q), "doc", "grade")
    in_order = (number[1:] >= number[:-1]).all()
    return queries.to_list(), found if in_order else found.sort("q", maintain_order=True)


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
