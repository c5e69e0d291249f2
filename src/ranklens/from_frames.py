"""Tables → :class:`~ranklens.standing.Standings`, on Polars and NumPy.

The table of a run is walked as a whole only where that is cheap: where one query ends and the next begins, which
documents are judged for any query, whether any document is there twice. All else looks at the judged documents alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
    qrels: Any, run: pl.DataFrame, policy: Policy, columns: Mapping[str, str] | None
) -> Standings:
    """The places of the judged documents in a table with the columns query, doc and score."""
    queries, gold, repeated_gold = _judgments(qrels, policy, columns)
    code = {query: i for i, query in enumerate(queries)}
    ranked, ignored = _by_query(_nan_last(run, code, policy), code, policy)
    ranked, repeated = _without_duplicates(ranked, queries, policy)
    hits = _judged_rows(ranked, gold)
    row, segment = hits["row"].to_numpy(), hits["segment"].to_numpy()
    above, same = standing(ranked.scores, ranked.lengths, segment, ranked.scores[row])
    rank = above + 1
    if policy.ties != "average" and (same > 1).any():
        rank = rank + _places_in_ties(ranked, row, segment, same > 1, policy)
    retrieved = np.zeros(len(queries), np.int64)
    retrieved[ranked.codes] = ranked.lengths
    return Standings(
        queries=queries,
        retrieved=retrieved,
        in_run=retrieved > 0,
        gold_query=gold["q"].to_numpy(),
        gold=gold["grade"].to_numpy(),
        query=ranked.codes[segment],
        rank=rank,
        grade=hits["grade"].to_numpy(),
        start=above + 1,
        size=same,
        applied=Applied(ignored=ignored, duplicates=repeated, duplicate_judgments=repeated_gold),
        examples=tuple(next(iter(part), "") for part in (run["query"], gold["doc"], run["doc"])),  # type: ignore[arg-type]
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


def _by_query(run: pl.DataFrame, code: Mapping[str, int], policy: Policy) -> tuple[_Ranked, int]:
    """The rows of judged queries, query by query; and how many other queries there are."""
    runs = run["query"].rle().struct.unnest()
    if runs["value"].is_duplicated().any():  # a query comes back later: bring its rows together
        run = run.sort("query", maintain_order=True)
        runs = run["query"].rle().struct.unnest()
    names = runs["value"].to_list()
    codes = np.array([code.get(name, -1) for name in names], dtype=np.int64)
    ignored = int((codes < 0).sum())
    check_unjudged(ignored, policy, lambda: names[int(np.argmin(codes))])
    lengths = runs["len"].to_numpy().astype(np.int64)
    ranked = _Ranked(run["doc"], run["score"].to_numpy(), codes, lengths)
    return (ranked.keep(np.repeat(codes >= 0, lengths)) if ignored else ranked), ignored


def _without_duplicates(ranked: _Ranked, queries: list[str], policy: Policy) -> tuple[_Ranked, int]:
    """Each document of a query once, at its best place; and how many rows that dropped."""
    import polars as pl

    if not _may_repeat(ranked):
        return ranked, 0
    segment = np.repeat(np.arange(len(ranked.codes)), ranked.lengths)
    frame = pl.DataFrame({"segment": segment, "doc": ranked.docs, "score": ranked.scores}).with_row_index(
        "row"
    )
    best_first = frame.sort("score", descending=True, maintain_order=True)
    kept = best_first.unique(["segment", "doc"], keep="first")["row"].to_numpy()
    dropped = len(frame) - len(kept)
    if dropped:
        first = frame.filter(frame.select("segment", "doc").is_duplicated()).row(0, named=True)
        query = queries[ranked.codes[first["segment"]]]
        check_duplicates("run", dropped, f"document {first['doc']!r} of query {query!r}", policy)
    rows = np.zeros(len(frame), dtype=bool)
    rows[kept] = True
    return ranked.keep(rows), dropped


def _may_repeat(ranked: _Ranked) -> bool:
    """Whether two documents of a query have the same hash; cheaper than comparing their ids."""
    import polars as pl

    hashes = ranked.docs.hash().to_numpy()
    if len(hashes) <= _LONG * len(ranked.lengths):
        salt = np.arange(1, len(ranked.codes) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return pl.Series(hashes ^ np.repeat(salt, ranked.lengths)).n_unique() < len(hashes)
    for start, length in zip(ranked.starts.tolist(), ranked.lengths.tolist(), strict=True):
        ordered = np.sort(hashes[start : start + length])
        if (ordered[1:] == ordered[:-1]).any():
            return True
    return False


def _judged_rows(ranked: _Ranked, gold: pl.DataFrame) -> pl.DataFrame:
    """``row, segment, grade`` of the retrieved documents that are judged, by row."""
    import polars as pl

    row = ranked.docs.is_in(gold["doc"].unique().implode()).arg_true().to_numpy()
    segment = np.searchsorted(np.cumsum(ranked.lengths), row, side="right")
    candidates = pl.DataFrame(
        {"row": row.astype(np.int64), "segment": segment, "q": ranked.codes[segment], "doc": ranked.docs[row]}
    )
    return candidates.join(gold, on=["q", "doc"]).sort("row").select("row", "segment", "grade")


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
