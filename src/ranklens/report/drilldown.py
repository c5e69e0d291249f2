"""What the page shows of single queries: the rankings side by side, and the relevant documents that are missing in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranklens.judging.documents import judgments, ranking
from ranklens.report.chart_data import registered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from ranklens.comparison.systems import Comparison

LOOKED_UP = 100  # how deep a document of one ranking is looked for in the others
MISSED = 50  # relevant documents listed for a query at most, those of the highest grade


@dataclass(frozen=True)
class Drilldown:
    """One row for each query and document to show, sorted by query; ``number`` is the document's place in ``documents``.

    The columns of a system end in its number: ``rank_0``, ``score_0``, ``tied_0``, ``repeats_0``.
    """

    depth: int
    rel: float
    max_grade: float
    rows: pl.DataFrame
    documents: pl.DataFrame  # doc, relevant (to any query), rank (its best)
    relevant: Sequence[int]  # by query: how many there are
    systems: Sequence[int]  # whose rankings are known
    scored: Sequence[int]  # whose scores say more than the order does

    def queries(self) -> Iterator[dict[str, Any]]:
        """For each query, in order, what the page reads: documents, grades, and by system ranks and scores."""
        fields = [name for name in self.rows.columns if name != "query"]
        grouped = self.rows.group_by("query", maintain_order=True).agg(fields)
        found = {row["query"]: row for row in grouped.iter_rows(named=True)}
        empty = dict.fromkeys(fields, ())
        for number, relevant in enumerate(self.relevant):
            yield self._query(found.get(number, empty), relevant)

    def _query(self, row: dict[str, Any], relevant: int) -> dict[str, Any]:
        ranks = [[rank or 0 for rank in row[f"rank_{s}"]] for s in self.systems]
        found: dict[str, Any] = {"d": list(row["number"]), "g": [_tidy(g) for g in row["grade"]], "r": ranks}
        found["R"] = relevant
        if self.scored:
            found["s"] = [
                [_tidy(x) for x in row[f"score_{s}"]] if s in self.scored else None for s in self.systems
            ]
        for key, column in (("x", "repeats"), ("t", "tied")):
            marked = [
                [place, i, int(value)]
                for place, s in enumerate(self.systems)
                for i, value in enumerate(row[f"{column}_{s}"])
                if value
            ]
            if marked:
                found[key] = marked
        return found


def drilldown(comparison: Comparison) -> Drilldown | None:
    """The documents to show for each query; nothing where the comparison was made from values alone."""
    evidence = comparison.evidence
    if evidence is None:
        return None
    import polars as pl

    depth = _depth(comparison)
    number = pl.DataFrame(
        {"query": comparison.query_ids, "number": range(len(comparison.query_ids))},
        schema={"query": pl.String, "number": pl.Int64},
    )
    gold = judgments(evidence.qrels, columns=evidence.columns).join(number, on="query")
    gold = gold.select(query="number", doc="doc", grade="grade")
    relevant = gold.filter(pl.col("grade") >= evidence.policy.rel)
    rankings: dict[int, pl.DataFrame] = {}
    for s, system in enumerate(comparison.systems):
        if system in evidence.runs:
            ranked = ranking(evidence.qrels, evidence.runs[system], evidence.policy, columns=evidence.columns)
            near = ranked.filter((pl.col("rank") <= LOOKED_UP) | (pl.col("grade") >= evidence.policy.rel))
            rankings[s] = near.join(number, on="query").drop("query").rename({"number": "query"})
    listed = relevant.sort("query", "grade", descending=[False, True], maintain_order=True)
    parts = [listed.group_by("query", maintain_order=True).head(MISSED).select("query", "doc")]
    parts += [r.filter(pl.col("rank") <= depth).select("query", "doc") for r in rankings.values()]
    rows = pl.concat(parts).unique().join(gold, on=["query", "doc"], how="left")
    for s, ranked in rankings.items():
        rows = rows.join(_columns(ranked, s, depth), on=["query", "doc"], how="left")
    best = pl.min_horizontal([pl.lit(1 << 60), *(f"rank_{s}" for s in rankings)]).alias("rank")
    rows = rows.with_columns(best).sort(
        "query", "rank", "grade", "doc", descending=[False, False, True, False], nulls_last=True
    )
    documents = rows.group_by("doc", maintain_order=True).agg(
        (pl.col("grade") >= evidence.policy.rel).any().fill_null(value=False).alias("relevant"),
        pl.min("rank"),
    )
    rows = rows.join(documents.select("doc").with_row_index("number"), on="doc", maintain_order="left")
    counts = dict(relevant.group_by("query").len().iter_rows())
    return Drilldown(
        depth,
        evidence.policy.rel,
        float(gold["grade"].max() or 0),  # type: ignore[arg-type]
        rows.drop("doc", "rank"),
        documents,
        [counts.get(i, 0) for i in range(len(comparison.query_ids))],
        list(rankings),
        [s for s, ranked in rankings.items() if not _only_order(ranked)],
    )


def _depth(comparison: Comparison) -> int:
    """As deep as the measures look, within what people read."""
    cutoffs = [m.k for m in map(registered, comparison.measures) if m is not None and m.k is not None]
    return min(max([10, *cutoffs]), 20)


def _columns(ranked: pl.DataFrame, system: int, depth: int) -> pl.DataFrame:
    import polars as pl

    seen = pl.col("rank") <= depth
    return ranked.select(
        "query",
        "doc",
        pl.col("rank").alias(f"rank_{system}"),
        pl.when(seen).then(pl.col("score").round_sig_figs(6)).alias(f"score_{system}"),
        pl.when(seen).then(pl.col("tied")).alias(f"tied_{system}"),
        pl.when(seen).then(pl.col("repeats")).alias(f"repeats_{system}"),
    )


def _only_order(ranked: pl.DataFrame) -> bool:
    """A plain list, or a file of ranks, has scores that were made from the order."""
    made = (ranked["score"] + ranked["rank"]).round(9)
    return bool(made.is_in([0.0, 1.0]).all())


def _tidy(value: float | None) -> float | None:
    """Whole numbers without a point, which is shorter; what JSON cannot hold as nothing."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else value
