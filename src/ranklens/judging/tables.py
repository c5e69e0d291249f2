"""Tables → :class:`~ranklens.judging.standing.Standings`, on Polars and NumPy.

A run is a table, or a stream of them. Queries are ranked as they come and then forgotten, so memory depends on the size
of a table, not of the run. Only if a query reappears later (the rows are not grouped by query) is the run read
again, and ranked a share of the queries at a time; what does not fit into memory waits in temporary files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.files.output import naming
from ranklens.files.streams import TableStream, ahead
from ranklens.files.temporary import temporary_folder
from ranklens.judging.dicts import grades
from ranklens.judging.judged import Applied
from ranklens.judging.order import best_of_each, check_duplicates, named, not_a_number
from ranklens.judging.segments import Gold, Part, Ranked, hashes_of, may_repeat, rank
from ranklens.judging.standing import Grades, Standings, check_unjudged
from ranklens.policy import Policy
from ranklens.readers import frames, mappings

if TYPE_CHECKING:
    import polars as pl

_WAITING = 1 << 21  # rows of queries at the edges of tables that wait before they are ranked together
_IN_MEMORY = 1 << 29  # bytes of a run whose rows are not grouped by query; what is more waits in temporary files
_SHARES = 64  # of the queries, ranked one after the other where rows are not grouped by query

Tables = TableStream | Iterable["pl.DataFrame"]


def from_frames(qrels: Any, run: Tables, policy: Policy, columns: Mapping[str, str] | None) -> Standings:
    """The places of the judged documents in a run: tables with the columns query, doc and score, one after the other."""
    queries, table, repeated_gold = _judgments(qrels, policy, columns)
    gold = Gold.of(queries, table)
    in_order = None if isinstance(run, TableStream) and run.once else _in_order(run, gold, policy)
    walk = in_order or _scattered(run, gold, policy)
    parts = walk.parts
    duplicates = sum(part.duplicates for part in parts)
    check_duplicates("run", duplicates, next((p.first_duplicate for p in parts if p.duplicates), ""), policy)
    unjudged = _unique(walk.unjudged)
    check_unjudged(len(unjudged), policy, lambda: unjudged[0])
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
        applied=Applied(ignored=len(unjudged), duplicates=duplicates, duplicate_judgments=repeated_gold),
        examples=(walk.example[0], next(iter(table["doc"]), ""), walk.example[1]),
    )


@dataclass
class _Walk:
    """What was found on the way through a run."""

    parts: list[Part] = field(default_factory=list)
    unjudged: list[pl.Series] = field(default_factory=list)  # queries, in order
    example: tuple[str, str] = ("", "")

    def see(self, example: tuple[str, str], unjudged: pl.Series | None) -> None:
        self.example = self.example if self.example != ("", "") else example
        if unjudged is not None and len(unjudged):
            self.unjudged.append(unjudged)


def _unique(parts: list[pl.Series]) -> pl.Series:
    import polars as pl

    return pl.concat([pl.Series(dtype=pl.String), *parts]).unique(maintain_order=True)


def _example(table: pl.DataFrame) -> tuple[str, str]:
    return (table["query"][0], table["doc"][0]) if len(table) else ("", "")


def _each(run: Tables, function: Any) -> Iterator[Any]:
    return run.map(function) if isinstance(run, TableStream) else map(function, run)


# --- rows grouped by query


@dataclass(frozen=True)
class _Piece:
    """One table of the run, ranked but for the judged queries at its edges, which may continue in other tables."""

    codes: IntArray  # of all its queries, in order
    edges: list[tuple[int, pl.DataFrame]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    unjudged: pl.Series | None = None
    example: tuple[str, str] = ("", "")


def _in_order(run: Tables, gold: Gold, policy: Policy) -> _Walk | None:
    """Each query once its last row has been read; None if one reappears later."""
    walk, seen = _Walk(), np.zeros(len(gold.queries), dtype=bool)
    waiting: list[pl.DataFrame] = []  # the rows of queries at the edges of tables; the last one may continue
    last = -1
    for piece in _each(run, partial(_rank_inner, gold=gold, policy=policy)):
        if piece is None:
            return None
        if not len(piece.codes):
            continue
        walk.see(piece.example, piece.unjudged)
        walk.parts += piece.parts
        begun = piece.codes[1:] if piece.codes[0] == last else piece.codes
        begun = begun[begun >= 0]
        if seen[begun].any():
            return None
        seen[begun] = True
        for code, rows in piece.edges:
            if code != last and sum(map(len, waiting)) > _WAITING:
                walk.parts += _rank_waiting(waiting, gold, policy)
                waiting = []
            waiting.append(rows)
            last = code
        last = int(piece.codes[-1])
    walk.parts += _rank_waiting(waiting, gold, policy)
    return walk


def _rank_inner(table: pl.DataFrame, gold: Gold, policy: Policy) -> _Piece | None:
    """Rank all queries of a table but the first and the last; None if one reappears in it."""
    import polars as pl

    runs = table["query"].rle().struct.unnest()
    names, lengths = runs["value"], runs["len"].to_numpy().astype(np.int64)
    if names.n_unique() < len(names):  # before any work that would be for nothing
        return None
    codes = gold.codes(names)
    unjudged = names.filter(pl.Series(codes < 0))
    ends = np.cumsum(lengths)
    edges = [
        (int(codes[i]), _rows(table, int(ends[i] - lengths[i]), int(ends[i])))
        for i in sorted({0, len(names) - 1})
        if len(names) and codes[i] >= 0
    ]
    parts = []
    if len(names) > 2:
        inner = table[int(ends[0]) : int(ends[-2])]
        parts = rank(_judged_queries(inner, codes[1:-1], lengths[1:-1]), gold, policy)
    return _Piece(codes, edges, parts, unjudged, _example(table))


def _rows(table: pl.DataFrame, start: int, stop: int) -> pl.DataFrame:
    """Some rows; copied where they are few, because a slice would keep the whole table in memory."""
    import polars as pl

    rows = table[start:stop]
    if 2 * (stop - start) > len(table):
        return rows
    return pl.DataFrame(rows.to_dict(as_series=False), schema=rows.schema)


def _judged_queries(table: pl.DataFrame, codes: IntArray, lengths: IntArray) -> Ranked:
    """The rows of judged queries."""
    ranked = Ranked(table["doc"], table["score"].to_numpy(), codes, lengths)
    judged = codes >= 0
    return ranked if judged.all() else ranked.keep(np.repeat(judged, lengths))


def _rank_waiting(tables: list[pl.DataFrame], gold: Gold, policy: Policy) -> list[Part]:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *tables])
    runs = table["query"].rle().struct.unnest()
    lengths = runs["len"].to_numpy().astype(np.int64)
    return rank(_judged_queries(table, gold.codes(runs["value"]), lengths), gold, policy)


# --- rows that are not


def _scattered(run: Tables, gold: Gold, policy: Policy) -> _Walk:
    """All rows of judged queries, sorted by query table by table, then ranked a share of the queries at a time."""
    walk = _Walk()
    with temporary_folder() as folder:
        held, size, spills = list[Any](), 0, 0
        for table, unjudged, example in _each(run, partial(_coded, gold=gold)):
            walk.see(example, unjudged)
            held.append(table)
            size += table.estimated_size()
            if size > _IN_MEMORY:
                _spill(held, _edges(gold), folder, spills)
                held, size, spills = [], 0, spills + 1
        shares = (
            partial(_rank_share, held, folder, share, ends, gold, policy)
            for share, ends in enumerate(pairwise(_edges(gold)))
        )
        for parts in ahead(shares):
            walk.parts += parts
    return walk


def _edges(gold: Gold) -> list[int]:
    """Where shares of the queries begin and end."""
    found: list[int] = np.linspace(0, len(gold.queries), _SHARES + 1).astype(np.int64).tolist()
    return found


def _coded(table: pl.DataFrame, gold: Gold) -> tuple[pl.DataFrame, pl.Series, tuple[str, str]]:
    """The rows of judged queries, sorted by the number of the query, ``q``; and the other queries."""
    coded = table.join(gold.numbers, on="query", how="left", maintain_order="left")
    other = coded["q"].is_null()
    unjudged = coded["query"].filter(other).unique(maintain_order=True)
    rows = coded.select("q", "doc", "score")
    return _by_query(rows.filter(~other) if len(unjudged) else rows), unjudged, _example(table)


def _by_query(table: pl.DataFrame) -> pl.DataFrame:
    """Sorted by ``q``; the rows of a query stay in their order. One sort of whole numbers does both."""
    places = np.sort((table["q"].to_numpy().astype(np.int64) << 32) | np.arange(len(table)))
    return table[places & 0xFFFFFFFF]


def _share(table: pl.DataFrame, ends: tuple[int, int]) -> pl.DataFrame:
    first, last = np.searchsorted(table["q"].to_numpy(), ends).tolist()
    return table[first:last]


def _spill(tables: list[pl.DataFrame], edges: list[int], folder: Path, number: int) -> None:
    """Write the rows, one file per share."""
    import polars as pl

    for share, ends in enumerate(pairwise(edges)):
        rows = pl.concat([_share(table, ends) for table in tables])
        with naming(folder):
            rows.write_ipc(folder / f"{share}-{number:06}", compression="lz4")


def _rank_share(
    held: list[pl.DataFrame], folder: Path, share: int, ends: tuple[int, int], gold: Gold, policy: Policy
) -> list[Part]:
    """Rank the queries of a share: its rows in files, then those that are still held."""
    import polars as pl

    schema = {"q": pl.Int32, "doc": pl.String, "score": pl.Float64}
    spilled = [pl.read_ipc(file, memory_map=False) for file in sorted(folder.glob(f"{share}-*"))]
    rows = [_share(table, ends) for table in held]
    table = _by_query(pl.concat([pl.DataFrame(schema=schema), *spilled, *rows]))
    q = table["q"].to_numpy().astype(np.int64)
    first = np.flatnonzero(np.diff(q, prepend=-1))
    ranked = Ranked(table["doc"], table["score"].to_numpy(), q[first], np.diff(first, append=len(q)))
    return rank(ranked, gold, policy)


# --- judgments


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
