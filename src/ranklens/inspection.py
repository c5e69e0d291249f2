"""Which queries and which documents made the difference between two systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError, nearest
from ranklens.ranking import judgments, ranking

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison import Comparison


def by_difference(comparison: Comparison, measure: str, a: str, b: str) -> pl.DataFrame:
    """The columns query, a, b, difference (and slice), from the largest loss of b to its largest gain."""
    import polars as pl

    values = comparison.values(measure)
    first, second = (values[comparison.systems.index(name)] for name in (a, b))
    table = pl.DataFrame(
        {
            "query": pl.Series(comparison.query_ids, dtype=pl.String),
            **dict(zip(_columns(a, b), (first, second), strict=True)),
            "difference": second - first,
        }
    )
    if comparison.slice_of is not None:
        slice_of = comparison.slice_of
        table = table.with_columns(pl.Series("slice", [slice_of[q] for q in comparison.query_ids]))
    return table.sort("difference", "query")


def _columns(*systems: str) -> list[str]:
    """The systems' names, told apart from the other columns."""
    return [f"{name} (system)" if name in ("query", "difference", "slice") else name for name in systems]


def side_by_side(comparison: Comparison, query: str, a: str, b: str, depth: int) -> pl.DataFrame:
    """The columns doc, grade, rank_<a>, rank_<b> and change; ranks are over the whole ranking.

    Rows stand in the order of b's first ``depth`` documents, then follow those that only a has there, then the relevant
    documents that neither has.
    """
    import polars as pl

    ranks = {name: _ranks(comparison, query, name).rename({"rank": f"rank_{name}"}) for name in (a, b)}
    assert comparison.evidence is not None
    evidence = comparison.evidence
    judged = judgments(evidence.qrels, columns=evidence.columns).filter(pl.col("query") == query)
    rank_a, rank_b = pl.col(f"rank_{a}"), pl.col(f"rank_{b}")
    in_a, in_b = (rank_a <= depth).fill_null(value=False), (rank_b <= depth).fill_null(value=False)
    relevant = (pl.col("grade") >= evidence.policy.rel).fill_null(value=False)
    table = (
        ranks[a]
        .join(ranks[b], on="doc", how="full", coalesce=True)
        .join(judged.select("doc", "grade"), on="doc", how="full", coalesce=True)
        .filter(in_a | in_b | relevant)
    )
    change = (
        pl.when(in_a & in_b & (rank_a == rank_b))
        .then(pl.lit("same"))
        .when(in_a & in_b & (rank_b < rank_a))
        .then(pl.lit("up"))
        .when(in_a & in_b)
        .then(pl.lit("down"))
        .when(in_b)
        .then(pl.lit("new"))
        .when(in_a)
        .then(pl.lit("lost"))
        .otherwise(pl.lit("missed"))
    )
    place = pl.when(in_b).then(0).when(in_a).then(1).otherwise(2)
    order = pl.when(in_b).then(rank_b).when(in_a).then(rank_a).otherwise(None)
    return (
        table.with_columns(change.alias("change"))
        .sort(place, order, -pl.col("grade"), pl.min_horizontal(rank_a, rank_b), "doc", nulls_last=True)
        .select("doc", "grade", f"rank_{a}", f"rank_{b}", "change")
    )


def _ranks(comparison: Comparison, query: str, name: str) -> pl.DataFrame:
    evidence = comparison.evidence
    if evidence is None or name not in evidence.runs:
        raise InputError(
            f"The ranking of {name} is not known: it was given as values. Compare runs with ranklens.compare to see documents."
        )
    if query not in comparison.query_ids:
        known = comparison.query_ids
        raise InputError(
            f"There is no query {query!r} among the {len(known):,} compared, such as {known[0]!r}: "
            f"{nearest(str(query), known)}".rstrip(": ")
        )
    found = ranking(
        evidence.qrels, evidence.runs[name], evidence.policy, queries=[query], columns=evidence.columns
    )
    return found.select("doc", "rank")
