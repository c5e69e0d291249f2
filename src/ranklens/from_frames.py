"""Tables → :class:`~ranklens.standing.Standings`, on Polars and NumPy.

The table of a run is walked as a whole only where that is cheap: where one query ends and the next begins, which
documents are judged for any query, whether any document is there twice. All else looks at the judged documents alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ranklens.errors import InputError
from ranklens.from_dicts import grades
from ranklens.judged import Applied, BoolArray, FloatArray, IntArray
from ranklens.policy import Policy
from ranklens.readers import frames, mappings
from ranklens.standing import Standings, check_duplicates, check_unjudged, standing

if TYPE_CHECKING:
    import polars as pl

_LONG = 64  # documents of a query; repeated documents are looked for query by query in longer rankings


def from_frames(
    qrels: Any, run: Iterable[pl.DataFrame], policy: Policy, columns: Mapping[str, str] | None
) -> Standings:
    """The places of the judged documents in a run: tables with the columns query, doc and score, one after the other.

    Queries are ranked as they come and then forgotten, so memory depends on the size of a table, not of the run. Only
    where a query comes back later is the run put together as a whole, for which it is walked again.
    """
    queries, table, repeated_gold = _judgments(qrels, policy, columns)
    code = {query: i for i, query in enumerate(queries)}
    gold = _Gold(code, table, _filter(table["doc"]))
    parts = _rank_in_order(run, gold, policy)
    if parts is None:
        import polars as pl

        whole = pl.concat(run).sort("query", maintain_order=True)
        parts = [_rank(whole, gold, policy)]
    duplicates = sum(part.duplicates for part in parts)
    check_duplicates("run", duplicates, next((p.first_duplicate for p in parts if p.duplicates), ""), policy)
    others = [query for part in parts for query in part.unjudged]
    check_unjudged(len(others), policy, lambda: others[0])
    retrieved = np.zeros(len(queries), np.int64)
    for part in parts:
        retrieved[part.codes] = part.lengths
    return Standings(
        queries=queries,
        retrieved=retrieved,
        in_run=retrieved > 0,
        gold_query=table["q"].to_numpy(),
        gold=table["grade"].to_numpy(),
        query=np.concatenate([part.query for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        grade=np.concatenate([part.grade for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        size=np.concatenate([part.size for part in parts]),
        applied=Applied(ignored=len(others), duplicates=duplicates, duplicate_judgments=repeated_gold),
        examples=(parts[0].example[0], next(iter(table["doc"]), ""), parts[0].example[1]),
    )


@dataclass(frozen=True)
class _Gold:
    """The judgments: the number of each query, a table ``q, doc, grade``, and a filter for documents.

    The filter says, by the last bits of a document's hash, whether it may be judged for any query: nearly all
    documents are not, and need no further look.
    """

    code: Mapping[str, int]
    table: pl.DataFrame
    filter: BoolArray


def _filter(docs: pl.Series) -> BoolArray:
    size = 1 << min(max((64 * len(docs)).bit_length(), 10), 26)
    found = np.zeros(size, dtype=bool)
    found[docs.hash().to_numpy() & np.uint64(size - 1)] = True
    return found


@dataclass(frozen=True)
class _Part:
    """The judged documents of some queries of the run."""

    codes: IntArray
    lengths: IntArray
    query: IntArray
    rank: IntArray
    grade: FloatArray
    start: IntArray
    size: IntArray
    unjudged: list[str]
    duplicates: int
    first_duplicate: str
    example: tuple[str, str]


def _rank_in_order(run: Iterable[pl.DataFrame], gold: _Gold, policy: Policy) -> list[_Part] | None:
    """Each query when its last row has come; None if one comes back after that."""
    import polars as pl

    parts: list[_Part] = []
    seen: set[str] = set()
    rest: pl.DataFrame | None = None
    for table in run:
        block = table if rest is None else pl.concat([rest, table])
        if not len(block):
            continue
        last = int(block["query"].rle().struct.field("len")[-1])  # the last query may go on in the next table
        rest, block = block[len(block) - last :], block[: len(block) - last]
        if len(block) and not _rank_if_new(block, seen, parts, gold, policy):
            return None
    final = (
        rest
        if rest is not None
        else pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "score": pl.Float64})
    )
    return parts if _rank_if_new(final, seen, parts, gold, policy) else None


def _rank_if_new(
    block: pl.DataFrame,
    seen: set[str],
    parts: list[_Part],
    gold: _Gold,
    policy: Policy,
) -> bool:
    names = block["query"].rle().struct.field("value").to_list()
    if len(set(names)) < len(names) or not seen.isdisjoint(names):
        return False
    seen.update(names)
    parts.append(_rank(block, gold, policy))
    return True


def _rank(run: pl.DataFrame, gold: _Gold, policy: Policy) -> _Part:
    """All queries of a table whose rows stand query by query."""
    ranked, unjudged = _by_query(_nan_last(run, gold.code, policy), gold.code)
    ranked, repeated, first = _without_duplicates(ranked, list(gold.code))
    hits = _judged_rows(ranked, gold)
    row, segment = hits["row"].to_numpy(), hits["segment"].to_numpy()
    above, same = standing(ranked.scores, ranked.lengths, segment, ranked.scores[row])
    rank = above + 1
    if policy.ties != "average" and (same > 1).any():
        rank = rank + _places_in_ties(ranked, row, segment, same > 1, policy)
    return _Part(
        codes=ranked.codes,
        lengths=ranked.lengths,
        query=ranked.codes[segment],
        rank=rank,
        grade=hits["grade"].to_numpy(),
        start=above + 1,
        size=same,
        unjudged=unjudged,
        duplicates=repeated,
        first_duplicate=first,
        example=(next(iter(run["query"]), ""), next(iter(run["doc"]), "")),
    )


@dataclass(frozen=True)
class _Ranked:
    """A run whose rows stand query by query: ``codes`` and ``lengths`` say which query each segment belongs to."""

    docs: pl.Series
    scores: FloatArray
    codes: IntArray
    lengths: IntArray

    @property
    def starts(self) -> IntArray:
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        return self.docs.hash().to_numpy()

    def keep(self, rows: BoolArray) -> _Ranked:
        import polars as pl

        segment = np.repeat(np.arange(len(self.codes)), self.lengths)[rows]
        lengths = np.bincount(segment, minlength=len(self.codes))
        kept = lengths > 0
        return _Ranked(self.docs.filter(pl.Series(rows)), self.scores[rows], self.codes[kept], lengths[kept])


def _judgments(
    qrels: Any, policy: Policy, columns: Mapping[str, str] | None
) -> tuple[list[str], pl.DataFrame, int]:
    """All judged queries, a table ``q, doc, grade`` sorted by query, and how many repeated documents it lacks."""
    import polars as pl

    dropped = 0
    if isinstance(qrels, Mapping):
        given = mappings.judgments(qrels)
        check_duplicates("qrels", given.duplicates, given.first_duplicate, policy)
        golds, dropped = list(given.by_query.values()), given.duplicates
        queries = [str(query) for query in given.by_query]
        table = {
            "q": np.repeat(np.arange(len(golds)), [len(gold) for gold in golds]),
            "doc": [str(doc) for gold in golds for doc in gold],
            "grade": grades(queries, golds).astype(np.float64),
        }
        frame = pl.DataFrame(table, schema={"q": pl.Int64, "doc": pl.String, "grade": pl.Float64})
    else:
        frame = frames.qrels_frame(qrels, columns)
        queries = frame["query"].unique(maintain_order=True).to_list()
        wrong = frame.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
        if len(wrong):
            query, doc, grade = wrong.row(0)
            raise InputError(
                f"qrels: the grade of document {doc!r} for query {query!r} is {grade}, not a number."
            )
        codes = pl.DataFrame({"query": queries}, schema={"query": pl.String}).with_row_index("q")
        frame = frame.join(codes, on="query", maintain_order="left").with_columns(pl.col("q").cast(pl.Int64))
        frame = frame.sort("q", maintain_order=True).select("q", "doc", "grade")
    repeated = frame.filter(frame.select("q", "doc").is_duplicated())
    if len(repeated):
        best_first = frame.sort("grade", descending=True, maintain_order=True)
        kept = best_first.unique(["q", "doc"], keep="first", maintain_order=True).sort(
            "q", maintain_order=True
        )
        first = f"document {repeated['doc'][0]!r} of query {queries[repeated['q'][0]]!r}"
        check_duplicates("qrels", len(frame) - len(kept), first, policy)
        frame, dropped = kept, dropped + len(frame) - len(kept)
    return queries, frame, dropped


def _nan_last(run: pl.DataFrame, code: Mapping[str, int], policy: Policy) -> pl.DataFrame:
    import polars as pl

    if not run["score"].is_nan().any():
        return run
    nan = run.filter(pl.col("score").is_nan() & pl.col("query").is_in(list(code)))
    if policy.nan == "error" and len(nan):
        first = nan.row(0, named=True)
        raise InputError(
            f"run: the score of document {first['doc']!r} for query {first['query']!r} is not a number. "
            'Remove it, or choose nan="last".'
        )
    lowest = float(-np.finfo(np.float64).max)
    score = (
        pl.when(pl.col("score").is_nan())
        .then(float("-inf"))
        .otherwise(pl.max_horizontal("score", pl.lit(lowest)))
    )
    return run.with_columns(score.alias("score"))


def _by_query(run: pl.DataFrame, code: Mapping[str, int]) -> tuple[_Ranked, list[str]]:
    """The rows of judged queries, query by query; and the other queries."""
    runs = run["query"].rle().struct.unnest()
    names = runs["value"].to_list()
    codes = np.array([code.get(name, -1) for name in names], dtype=np.int64)
    lengths = runs["len"].to_numpy().astype(np.int64)
    ranked = _Ranked(run["doc"], run["score"].to_numpy(), codes, lengths)
    unjudged = [name for name in names if name not in code]
    return (ranked.keep(np.repeat(codes >= 0, lengths)) if unjudged else ranked), unjudged


def _without_duplicates(ranked: _Ranked, queries: list[str]) -> tuple[_Ranked, int, str]:
    """Each document of a query once, at its best place; how many rows that dropped, and the first of them."""
    import polars as pl

    if not _may_repeat(ranked):
        return ranked, 0, ""
    segment = np.repeat(np.arange(len(ranked.codes)), ranked.lengths)
    frame = pl.DataFrame({"segment": segment, "doc": ranked.docs, "score": ranked.scores}).with_row_index(
        "row"
    )
    repeated = frame.filter(frame.select("segment", "doc").is_duplicated())
    if not len(repeated):
        return ranked, 0, ""
    best_first = frame.sort("score", descending=True, maintain_order=True)
    kept = best_first.unique(["segment", "doc"], keep="first", maintain_order=True)["row"].to_numpy()
    rows = np.zeros(len(frame), dtype=bool)
    rows[kept] = True
    example = f"document {repeated['doc'][0]!r} of query {queries[ranked.codes[repeated['segment'][0]]]!r}"
    return ranked.keep(rows), len(frame) - len(kept), example


def _may_repeat(ranked: _Ranked) -> bool:
    """Whether two documents of a query have the same hash; cheaper than comparing their ids."""
    import polars as pl

    hashes, lengths = ranked.hashes, ranked.lengths
    if len(hashes) <= _LONG * len(lengths):
        salt = np.arange(1, len(lengths) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return pl.Series(hashes ^ np.repeat(salt, lengths)).n_unique() < len(hashes)
    half = hashes.astype(np.uint32)  # sorts twice as fast; where two are the same, the whole hashes decide
    if (lengths == lengths[0]).all():
        rows = np.sort(half.reshape(len(lengths), -1), axis=1)
        suspects = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1)).tolist()
    else:
        parts = np.split(half, ranked.starts[1:])
        suspects = [i for i, part in enumerate(parts) if _has_equal(part)]
    return any(_has_equal(hashes[(at := ranked.starts[i]) : at + lengths[i]]) for i in suspects)


def _has_equal(values: npt.NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def _judged_rows(ranked: _Ranked, gold: _Gold) -> pl.DataFrame:
    """``row, segment, grade`` of the retrieved documents that are judged, by row."""
    import polars as pl

    row = np.flatnonzero(gold.filter[ranked.hashes & np.uint64(len(gold.filter) - 1)])
    segment = np.searchsorted(np.cumsum(ranked.lengths), row, side="right")
    candidates = pl.DataFrame(
        {"row": row.astype(np.int64), "segment": segment, "q": ranked.codes[segment], "doc": ranked.docs[row]}
    )
    return candidates.join(gold.table, on=["q", "doc"]).sort("row").select("row", "segment", "grade")


def _places_in_ties(
    ranked: _Ranked, row: IntArray, segment: IntArray, tied: BoolArray, policy: Policy
) -> IntArray:
    """How many documents of its tie group come before each hit."""
    import polars as pl

    starts, members, group = ranked.starts, [], []
    groups = {
        (int(s), float(score)) for s, score in zip(segment[tied], ranked.scores[row[tied]], strict=True)
    }
    for number, (s, score) in enumerate(groups):
        around = ranked.scores[starts[s] : starts[s] + ranked.lengths[s]]
        members.append(np.flatnonzero(around == score) + starts[s])
        group.append(np.full(len(members[-1]), number))
    rows = np.concatenate(members)
    frame = pl.DataFrame({"row": rows, "group": np.concatenate(group), "doc": ranked.docs[rows]})
    by = "row" if policy.ties == "input" else "doc"
    ordered = frame.sort(by, descending=policy.ties == "descending")
    place = ordered.select("row", pl.int_range(pl.len()).over("group").alias("place"))
    places = np.zeros(int(rows.max()) + 1, np.int64)
    places[place["row"].to_numpy()] = place["place"].to_numpy()
    out = np.zeros(len(row), np.int64)
    out[tied] = places[row[tied]]
    return out
