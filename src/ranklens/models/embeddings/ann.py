"""What an approximate index loses: how much of the exact result it finds, and what that costs in quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ranklens import words
from ranklens.arrays import FloatArray
from ranklens.data.readers import frames, mappings
from ranklens.errors import InputError, warn
from ranklens.judging.order import check_duplicates
from ranklens.models.embeddings.ranking import Run
from ranklens.policy import Policy
from ranklens.scores import Scores
from ranklens.scores.evaluation import evaluate
from ranklens.stats import inputs
from ranklens.stats.intervals import Bounds, Interval, interval
from ranklens.tables.table import Shown, Table

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import TypeIs

    from ranklens.metrics import Measure


_LOOKED_AT, _ENOUGH = 20, 10_000  # documents of a query and pairs in total whose order is compared
_TELLING = 6  # pairs of documents in opposite orders; fewer are no evidence …
_MANIFOLD = 10  # … nor if a tenth of all pairs are in the same order


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
            means = f"{self.approximate.mean[name]:.4f}", f"{self.exact.mean[name]:.4f} exact"
            rows.append([name, *means, f"{0.0 - lost:+.4f}"])
        return Table(["measure", "approximate", "95% interval, or exact", "difference"], rows)


def ann_recall(
    approximate: object,
    exact: object,
    k: int = 10,
    *,
    qrels: object = None,
    measures: str | Measure | Sequence[str | Measure] = "nDCG@10, R@10",
) -> AnnRecall:
    """The share of the exact best ``k`` that an approximate index finds; with ``qrels`` also what measures lose by it.

    Both are runs: ``{query: [documents, best first]}`` or ``{query: {document: score}}``, with higher scores for better documents. The
    exact one comes from ``evaluate_embeddings(..., top=k).run``; its queries are averaged, and one that the index did not answer counts
    as 0. A document that ties with the k-th exact one may stand in for it: that run knows which do; of any other, those that it holds
    beyond the first ``k``. Where the exact side has fewer than ``k`` documents, all of them are looked for; if it has none, the query
    counts as 1. The number -1, which FAISS puts where it found no more, is no document.

    >>> ann_recall({"q": ["a", "c"]}, {"q": ["a", "b"]}, k=2).mean
    0.5
    """
    k = inputs.count(k, "k")
    near, right = _read(approximate, "approximate"), _read(exact, "exact")
    if not right:
        raise InputError("The exact run has no queries; evaluate_embeddings(..., top=k).run is one.")
    missing = [query for query in right if query not in near]
    if missing and len(missing) == len(right):
        raise InputError(
            f"The approximate and the exact run have no query in common (exact: {missing[0]!r}); both need the same ids."
        )
    if _has_scores(approximate) or _has_scores(exact):
        _refuse_distances(near, right)
    tied = {query: exact.tied(query) for query in right} if isinstance(exact, Run) else {}
    values = np.array(
        [_overlap(near.get(query, {}), docs, k, tied.get(query, set())) for query, docs in right.items()]
    )
    lacking = exact.lacks_ties if isinstance(exact, Run) else ()
    unsure = sum(
        query in lacking and query in near and value < 1 for query, value in zip(right, values, strict=True)
    )
    if unsure:
        warn(
            f"Of {words.counted(unsure, 'query', 'queries')}, more documents tie with the last of the exact run than it holds. "
            f"An index that found others of them at rank {k} is counted as having missed, so recall may be higher."
        )
    scores = (
        (None, None) if qrels is None else (evaluate(qrels, near, measures), evaluate(qrels, right, measures))
    )
    return AnnRecall(k, tuple(right), values, *scores)


def _read(run: object, name: str) -> mappings.ByQuery:
    """A run by query with text as ids, refused where a score is not a number."""
    if frames.is_frame(run):
        table = frames.run_frame(run).select("query", "doc", "score").rename({"score": "grade"})
        run = frames.by_query(table)
    if not isinstance(run, Mapping):
        raise InputError(
            f"{name} is {words.kind(run)}; pass a dict by query or a table. evaluate_embeddings(..., top=k).run is one."
        )
    dicts = mappings.rankings({query: _without_padding(ranking) for query, ranking in run.items()})
    check_duplicates(name, dicts.duplicates, dicts.first_duplicate, Policy())
    for query, docs in dicts.by_query.items():
        for doc, score in docs.items():
            number = mappings.as_number(score)
            if number is None or number != number:  # noqa: PLR0124  NaN
                raise InputError(
                    f"{name}: the score of document {doc!r} for query {query!r} is {score!r}, not a number.",
                    query=query,
                    document=doc,
                )
    return mappings.as_text(dicts.by_query)


def _without_padding(ranking: object) -> object:
    """Without the document -1, which is text in tables."""
    if isinstance(ranking, Mapping):
        return {doc: score for doc, score in ranking.items() if str(doc) != "-1"}
    if isinstance(ranking, (list, tuple, np.ndarray)):
        return [one for one in ranking if str(one[0] if _is_pair(one) else one) != "-1"]
    return ranking


def _has_scores(run: object) -> bool:
    """Whether a run is more than lists of documents, best first, which cannot hold distances."""
    if not isinstance(run, Mapping):
        return True
    return any(isinstance(docs, Mapping) or any(map(_is_pair, docs)) for docs in run.values())


def _is_pair(item: object) -> TypeIs[tuple[object, ...] | list[object]]:
    """Whether this is a document with its score."""
    return isinstance(item, (tuple, list)) and len(item) > 0


def _refuse_distances(approximate: mappings.ByQuery, exact: mappings.ByQuery) -> None:
    """Where one run has the documents of both in the opposite order, its scores are distances."""
    same = opposite = 0
    for query, docs in exact.items():
        there, below = approximate.get(query, {}), min(docs.values(), default=0) - 1
        common = islice((doc for doc in docs if doc in there), _LOOKED_AT)
        others = islice((doc for doc in there if doc not in docs), _LOOKED_AT)  # the exact run puts them last
        pairs = np.array([(docs.get(doc, below), there[doc]) for doc in (*common, *others)], float)
        exact_steps, steps = (np.sign(one[:, None] - one) for one in pairs.reshape(-1, 2).T)
        agreement = exact_steps * steps
        same, opposite = same + int((agreement > 0).sum()) // 2, opposite + int((agreement < 0).sum()) // 2
        if same + opposite > _ENOUGH:
            break
    if opposite >= _TELLING and opposite > _MANIFOLD * same:
        raise InputError(
            "The approximate and the exact run have the same documents in opposite orders, so one of them seems to contain distances. "
            "Higher scores must mean better documents: pass {document: -distance}, or lists of documents, best first."
        )


def _overlap(approximate: Mapping[str, float], exact: Mapping[str, float], k: int, tied: set[str]) -> float:
    """The share of the best ``k``; ``tied`` are documents that have the score of the last exact one."""
    best = sorted(exact.values(), reverse=True)[:k]
    if not best:
        return 1.0
    standing_in = {**dict.fromkeys(tied, min(exact.values())), **exact} if tied else exact
    scores = [
        standing_in[doc]
        for doc in sorted(approximate, key=lambda doc: -approximate[doc])[:k]
        if doc in standing_in
    ]
    # Whichever of the documents that tie with the last one were found, they take the places that are left to them.
    better = sum(score > best[-1] for score in scores)
    return (better + min(sum(score == best[-1] for score in scores), best.count(best[-1]))) / len(best)
