"""Which queries and which documents made the difference between two systems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklens.errors import InputError, nearest
from ranklens.judging.documents import judgments, ranking, with_further
from ranklens.stats import inputs

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison


def by_difference(comparison: Comparison, measure: str, a: str, b: str) -> pl.DataFrame:
    """The columns query, question (if known), a, b, difference (and slice), from the largest loss of b to its largest gain."""
    import polars as pl

    values, texts, ids = comparison.values(measure), comparison.texts, comparison.query_ids
    columns: dict[str, Any] = {"query": pl.Series(ids, dtype=pl.String)}
    if texts:
        columns["question"] = [texts.get(query) for query in ids]
    first, second = (values[comparison.systems.index(name)] for name in (a, b))
    for name, row in ((a, first), (b, second)):
        is_taken = name in ("query", "question", "difference", "slice")
        columns[f"{name} (system)" if is_taken else name] = row
    columns["difference"] = second - first
    if comparison.slice_of is not None:
        columns["slice"] = [comparison.slice_of[query] for query in ids]
    return pl.DataFrame(columns).sort("difference", "query")


def side_by_side(comparison: Comparison, query: str, a: str, b: str, depth: int) -> pl.DataFrame:
    """The columns question (if known), doc, grade, rank_<a>, rank_<b> and change; ranks are over the whole ranking.

    Rows follow the order of b's first ``depth`` documents, then those that only a has there, then the relevant
    documents that both missed. The grade is null for an unjudged document. If a call failed, nothing is known
    about its documents: every change is ``failed``.
    """
    import polars as pl

    inputs.count(depth, "depth")
    evidence, ids = comparison.evidence, comparison.query_ids
    unknown = next((name for name in (a, b) if evidence is None or name not in evidence.runs), None)
    if evidence is None or unknown is not None:
        raise InputError(
            f"The ranking of {unknown} is unknown, because only its values were given. Pass runs to ranklens.compare to see documents."
        )
    if query not in ids:
        raise InputError(f"There is no query {query!r} among those compared: {nearest(str(query), ids)}")
    judged = judgments(evidence.qrels).filter(pl.col("query") == query)
    ranks: list[dict[str, int]] = []
    for name in (a, b):
        run = evidence.run(name)
        ranked = with_further(ranking(evidence.qrels, run, evidence.policy, queries=[query]), run, judged)
        ranks.append(dict(ranked.select("doc", "rank").iter_rows()))
    before, after = ranks
    grades = dict(judged.select("doc", "grade").iter_rows())
    every = (
        _Move(doc, grades.get(doc), before.get(doc, math.inf), after.get(doc, math.inf))
        for doc in {*before, *after, *grades}
    )
    shown = [one for one in every if one.is_shown(depth, evidence.policy.rel)]
    failed = any(query in comparison.errors.get(name, {}) for name in (a, b))
    rows = []
    for one in sorted(shown, key=lambda one: (one.place(depth), one.doc)):
        change = "failed" if failed else one.change(depth)
        rows.append((one.doc, one.grade, before.get(one.doc), after.get(one.doc), change))
    schema = {"doc": pl.String, "grade": pl.Float64, f"rank_{a}": pl.Int64, f"rank_{b}": pl.Int64}
    table = pl.DataFrame(rows, schema={**schema, "change": pl.String}, orient="row")
    text = comparison.texts.get(query)
    return table if text is None else table.select(pl.lit(text).alias("question"), pl.all())


class _Move(NamedTuple):
    """A document in two rankings; the rank is infinity where it was not retrieved."""

    doc: str
    grade: float | None
    before: float
    after: float

    def is_shown(self, depth: int, rel: float) -> bool:
        is_relevant = self.grade is not None and self.grade >= rel
        return is_relevant or min(self.before, self.after) <= depth

    def place(self, depth: int) -> tuple[float, float]:
        """Its position among the documents shown."""
        if self.after <= depth:
            return 0, self.after
        return (1, self.before) if self.before <= depth else (2, -(self.grade or 0))

    def change(self, depth: int) -> str:
        """What became of its rank."""
        if max(self.before, self.after) <= depth:
            return "same" if self.after == self.before else "up" if self.after < self.before else "down"
        return "new" if self.after <= depth else "lost" if self.before <= depth else "missed"
