"""Which queries and which documents made the difference between two systems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ranklens.errors import InputError, nearest
from ranklens.judging.documents import judgments, ranking, with_further
from ranklens.stats import inputs

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison, Evidence


def by_difference(comparison: Comparison, measure: str, a: str, b: str) -> pl.DataFrame:
    """The columns query, question (if known), a, b, difference (and slice), from the largest loss of b to its largest gain."""
    import polars as pl

    values, texts = comparison.values(measure), comparison.texts
    first, second = (values[comparison.systems.index(name)] for name in (a, b))
    table = pl.DataFrame(
        {
            "query": pl.Series(comparison.query_ids, dtype=pl.String),
            **({"question": [texts.get(query) for query in comparison.query_ids]} if texts else {}),
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
    taken = ("query", "question", "difference", "slice")
    return [f"{name} (system)" if name in taken else name for name in systems]


def side_by_side(comparison: Comparison, query: str, a: str, b: str, depth: int) -> pl.DataFrame:
    """The columns question (if known), doc, grade, rank_<a>, rank_<b> and change; ranks are over the whole ranking.

    Rows follow the order of b's first ``depth`` documents, then those that only a has there, then the relevant
    documents that both missed. The grade is null for an unjudged document. If a call failed, nothing is known
    about its documents: every change is ``failed``.
    """
    import polars as pl

    inputs.count(depth, "depth")
    evidence = _evidence(comparison, query, a, b)
    judged = judgments(evidence.qrels).filter(pl.col("query") == query)
    before, after = (_ranks(evidence, query, name, judged) for name in (a, b))
    grades = dict(judged.select("doc", "grade").iter_rows())
    every = (
        _Move(doc, grades.get(doc), before.get(doc, math.inf), after.get(doc, math.inf))
        for doc in {*before, *after, *grades}
    )
    shown = [one for one in every if one.is_shown(depth, evidence.policy.rel)]
    failed = any(query in comparison.errors.get(name, {}) for name in (a, b))
    rows = [
        (
            one.doc,
            one.grade,
            before.get(one.doc),
            after.get(one.doc),
            "failed" if failed else one.change(depth),
        )
        for one in sorted(shown, key=lambda one: (one.place(depth), one.doc))
    ]
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


def _evidence(comparison: Comparison, query: str, a: str, b: str) -> Evidence:
    evidence = comparison.evidence
    unknown = next((name for name in (a, b) if evidence is None or name not in evidence.runs), None)
    if evidence is None or unknown is not None:
        raise InputError(
            f"The ranking of {unknown} is unknown, because only its values were given. Pass runs to ranklens.compare to see documents."
        )
    known = comparison.query_ids
    if query not in known:
        raise InputError(f"There is no query {query!r} among those compared: {nearest(str(query), known)}")
    return evidence


def _ranks(evidence: Evidence, query: str, name: str, gold: pl.DataFrame) -> dict[str, int]:
    run = evidence.run(name)
    found = with_further(ranking(evidence.qrels, run, evidence.policy, queries=[query]), run, gold)
    return dict(found.select("doc", "rank").iter_rows())
