"""What an approximate index loses: how much of the exact result it finds, and what that costs in quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens import words
from ranklens.arrays import FloatArray
from ranklens.errors import InputError
from ranklens.evaluation import evaluate
from ranklens.judging.order import check_duplicates
from ranklens.policy import Policy
from ranklens.readers import mappings
from ranklens.scores import Scores
from ranklens.stats.intervals import Bounds, Interval, interval
from ranklens.tables.table import Shown, Table

if TYPE_CHECKING:
    import polars as pl

    from ranklens.registry import Measure


@dataclass(frozen=True)
class AnnRecall(Shown):
    """The overlap of approximate and exact results, query by query; made by :func:`ann_recall`."""

    k: int
    queries: tuple[str, ...]
    values: FloatArray
    approximate: Scores | None = None
    exact: Scores | None = None

    @property
    def mean(self) -> float:
        """The mean share of the exact best k that was found."""
        return float(self.values.mean())

    @property
    def interval(self) -> Interval:
        return interval(self.values, bounds=Bounds(0.0, 1.0))

    @property
    def lost(self) -> Mapping[str, float]:
        """For each measure: the exact mean minus the approximate one."""
        if self.approximate is None or self.exact is None:
            return {}
        return {name: value - self.approximate.mean[name] for name, value in self.exact.mean.items()}

    @property
    def per_query(self) -> pl.DataFrame:
        """A Polars frame: query, recall."""
        import polars as pl

        return pl.DataFrame({"query": list(self.queries), "recall": self.values})

    def table(self) -> Table:
        rows = [[f"recall of the exact top {self.k}", f"{self.mean:.4f}", str(self.interval), ""]]
        for name, lost in self.lost.items():
            assert self.approximate is not None
            assert self.exact is not None
            rows.append(
                [
                    name,
                    f"{self.approximate.mean[name]:.4f}",
                    f"{self.exact.mean[name]:.4f} exact",
                    f"{0.0 - lost:+.4f}",
                ]
            )
        return Table(["measure", "approximate", "95% interval, or exact", "difference"], rows)


def ann_recall(
    approximate: Any,
    exact: Any,
    k: int = 10,
    *,
    qrels: Any = None,
    measures: str | Measure | Sequence[str | Measure] = "nDCG@10, R@10",
) -> AnnRecall:
    """The share of the exact best ``k`` that an approximate index finds; with ``qrels`` also what measures lose by it.

    Both are runs: ``{query: [documents, best first]}`` or ``{query: {document: score}}``, with higher scores for better documents. The
    exact one comes from ``evaluate_embeddings(..., top=k).run``; its queries are averaged, and one that the index did not answer counts
    as 0. A document that ties with the k-th exact one may stand in for it, where scores are known. Where the exact side has fewer than
    ``k`` documents, all of them are looked for; if it has none, the query counts as 1.

    >>> found = ann_recall({"q": ["a", "c"]}, {"q": ["a", "b"]}, k=2)
    >>> found.mean
    0.5
    """
    if k < 1:
        raise InputError(f"k={k} is not allowed: it is a whole number from 1.")
    near, right = _read(approximate, "approximate"), _read(exact, "exact")
    if not right:
        raise InputError("The exact run has no queries; evaluate_embeddings(..., top=k).run is one.")
    missing = [query for query in right if query not in near]
    if missing and len(missing) == len(right):
        raise InputError(
            f"The approximate and the exact run have no query in common (exact: {missing[0]!r}); both need the same ids."
        )
    values = np.array([_overlap(near.get(query, {}), docs, k) for query, docs in right.items()])
    scores = (
        (None, None) if qrels is None else (evaluate(qrels, near, measures), evaluate(qrels, right, measures))
    )
    return AnnRecall(k, tuple(right), values, *scores)


def _read(run: Any, name: str) -> mappings.ByQuery:
    """A run by query with text as ids, refused where a score is not a number."""
    found = mappings.rankings(_run(run, name))
    check_duplicates(name, found.duplicates, found.first_duplicate, Policy())
    for query, docs in found.by_query.items():
        for doc, score in docs.items():
            number = mappings.as_number(score)
            if number is None or number != number:  # noqa: PLR0124  NaN
                raise InputError(
                    f"{name}: the score of document {doc!r} for query {query!r} is {score!r}, not a number.",
                    query=query,
                    document=doc,
                )
    return mappings.as_text(found.by_query)


def _run(run: Any, name: str) -> Mapping[Any, Any]:
    if isinstance(run, Mapping):
        return run
    from ranklens.readers import frames

    if frames.is_frame(run):
        return frames.by_query(
            frames.run_frame(run).select("query", "doc", "score").rename({"score": "grade"})
        )
    raise InputError(
        f"{name} is {words.kind(run)}; pass a dict by query or a table. evaluate_embeddings(..., top=k).run is one."
    )


def _overlap(approximate: Mapping[str, float], exact: Mapping[str, float], k: int) -> float:
    best = sorted(exact.values(), reverse=True)[:k]
    if not best:
        return 1.0
    found = [exact[doc] for doc in sorted(approximate, key=lambda doc: -approximate[doc])[:k] if doc in exact]
    # Whichever of the documents that tie with the last one were found, they take the places that are left to them.
    better = sum(score > best[-1] for score in found)
    return (better + min(sum(score == best[-1] for score in found), best.count(best[-1]))) / len(best)
