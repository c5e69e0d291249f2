"""Tables → :class:`~ranklens.standing.Standings`, on Polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError
from ranklens.from_dicts import grades
from ranklens.judged import Applied, IntArray
from ranklens.policy import Policy
from ranklens.readers import frames, mappings
from ranklens.standing import Standings, check_duplicates, check_unjudged, standing

if TYPE_CHECKING:
    import polars as pl


def _judgments_frame(qrels: Mapping[Any, Any], policy: Policy) -> tuple[pl.DataFrame, list[str], int]:
    """Judgments as a table, all their queries (also those without any document), and the repeated documents."""
    import polars as pl

    given = mappings.judgments(qrels)
    check_duplicates("qrels", given.duplicates, given.first_duplicate, policy)
    golds = list(given.by_query.values())
    columns = {
        "query": [str(query) for query, docs in given.by_query.items() for _ in docs],
        "doc": [str(doc) for docs in golds for doc in docs],
        "grade": grades(list(given.by_query), golds).astype(np.float64),
    }
    schema = {"query": pl.String, "doc": pl.String, "grade": pl.Float64}
    return pl.DataFrame(columns, schema=schema), [str(query) for query in given.by_query], given.duplicates


def from_frames(
    qrels: Any, run: pl.DataFrame, policy: Policy, columns: Mapping[str, str] | None
) -> Standings:
    """The places of the judged documents in a table with the columns query, doc and score."""
    import polars as pl

    if isinstance(qrels, Mapping):
        judgments, queries, dropped = _judgments_frame(qrels, policy)
    else:
        judgments, dropped = frames.qrels_frame(qrels, columns), 0
        queries = judgments["query"].unique(maintain_order=True).to_list()
    wrong = judgments.filter(~pl.col("grade").is_finite() | pl.col("grade").is_null())
    if len(wrong):
        query, doc, grade = wrong.row(0)
        raise InputError(
            f"qrels: the grade of document {doc!r} for query {query!r} is {grade}, not a number."
        )
    codes = pl.DataFrame({"query": queries}, schema={"query": pl.String}).with_row_index("q")
    gold, repeated_gold = _unique(
        judgments.join(codes, on="query", maintain_order="left"), "grade", "qrels", policy
    )
    judged_run = run.join(codes, on="query", maintain_order="left")
    others = run.select(pl.col("query").unique(maintain_order=True)).join(codes, on="query", how="anti")
    check_unjudged(len(others), policy, lambda: others["query"][0])
    ranked, repeated = _unique(_nan_frame(judged_run, policy), "score", "run", policy)
    ranked = ranked.sort("q", maintain_order=True).with_row_index("row")
    hits = ranked.join(gold.select("q", "doc", "grade"), on=["q", "doc"]).sort("row")
    lengths = np.bincount(ranked["q"].to_numpy(), minlength=len(codes)).astype(np.int64)
    query, score = hits["q"].to_numpy().astype(np.int64), hits["score"].to_numpy()
    above, same = standing(ranked["score"].to_numpy(), lengths, query, score)
    rank = above + 1
    if policy.ties != "average" and (same > 1).any():
        rank = rank + _places_in_ties(ranked, hits.filter(pl.Series(same > 1)), hits, policy)
    return Standings(
        codes["query"].to_list(),
        lengths,
        lengths > 0,
        gold["q"].to_numpy().astype(np.int64),
        gold["grade"].to_numpy(),
        query,
        rank,
        hits["grade"].to_numpy(),
        above + 1,
        same,
        Applied(ignored=len(others), duplicates=repeated, duplicate_judgments=dropped + repeated_gold),
    )


def _unique(frame: pl.DataFrame, number: str, what: str, policy: Policy) -> tuple[pl.DataFrame, int]:
    """Each document of a query once, with its highest number; and how many rows that dropped."""
    repeated = frame.filter(frame.select("q", "doc").is_duplicated())
    if not len(repeated):
        return frame, 0
    best_first = frame.with_row_index("order").sort(number, descending=True, maintain_order=True)
    kept = best_first.unique(["q", "doc"], keep="first", maintain_order=True).sort("order")
    dropped = len(frame) - len(kept)
    first = repeated.row(0, named=True)
    check_duplicates(what, dropped, f"document {first['doc']!r} of query {first['query']!r}", policy)
    return kept.drop("order"), dropped


def _nan_frame(run: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    import polars as pl

    nan = run.filter(pl.col("score").is_nan())
    if not len(nan):
        return run
    if policy.nan == "error":
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


def _places_in_ties(ranked: pl.DataFrame, tied: pl.DataFrame, hits: pl.DataFrame, policy: Policy) -> IntArray:
    """How many documents of its tie group come before each hit."""
    import polars as pl

    groups = ranked.join(tied.select("q", "score").unique(), on=["q", "score"], how="semi")
    by = "row" if policy.ties == "input" else "doc"
    ordered = groups.sort(by, descending=policy.ties == "descending")
    placed = ordered.with_columns(pl.int_range(pl.len()).over("q", "score").alias("place"))
    place = hits.join(placed.select("row", "place"), on="row", how="left", maintain_order="left")["place"]
    return place.fill_null(0).to_numpy().astype(np.int64)
