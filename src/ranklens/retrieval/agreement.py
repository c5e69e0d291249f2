"""How far retrievers agree: what can be said without judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from ranklens.errors import InputError, nearest
from ranklens.stats.overlap import rbo
from ranklens.tables.table import Shown, Table

if TYPE_CHECKING:
    import polars as pl

    from ranklens.retrieval.answers import RetrieverRun


@dataclass(frozen=True)
class PairAgreement:
    """Two retrievers: for each query that both answered, how much their first ``k`` results have in common.

    ``overlap`` is the share of documents that both have, ``rbo`` the rank-biased overlap, which weighs early ranks more. Two
    empty answers agree; an empty one and another have nothing in common.
    """

    a: str
    b: str
    overlap: Mapping[str, float]
    rbo: Mapping[str, float]
    same_first: int  # queries with the same first document

    @property
    def n(self) -> int:
        """How many queries both answered."""
        return len(self.overlap)

    @property
    def mean_overlap(self) -> float:
        return _mean(self.overlap)

    @property
    def mean_rbo(self) -> float:
        return _mean(self.rbo)


@dataclass(frozen=True)
class Agreement(Shown):
    """How far retrievers agree, pair by pair; made by :meth:`ranklens.Benchmark.agreement`."""

    pairs: tuple[PairAgreement, ...]
    k: int
    p: float

    def pair(self, a: str, b: str) -> PairAgreement:
        """Two retrievers, in either order."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {a, b}:
                return pair
        names = dict.fromkeys(name for pair in self.pairs for name in (pair.a, pair.b))
        unknown = next((name for name in (a, b) if name not in names), None)
        if unknown is None:
            raise InputError(f"A retriever agrees with itself: name two, not {a!r} twice.")
        raise InputError(f"There is no retriever {unknown!r}: {nearest(unknown, names)}")

    def table(self) -> Table:
        """One row per pair."""
        rows = []
        for pair in sorted(self.pairs, key=lambda pair: pair.mean_rbo):
            numbers = [f"{pair.mean_overlap:.4f}", f"{pair.mean_rbo:.4f}", f"{pair.same_first:,}"]
            rows.append([f"{pair.a} and {pair.b}", f"{pair.n:,}", *(numbers if pair.n else ["–"] * 3)])
        note = f"Over the queries that both answered; RBO with p={self.p:g}. Agreement says nothing about quality: both may be wrong."
        return Table(["pair", "queries", f"overlap@{self.k}", "RBO", "same first"], rows, note=note)

    def to_frame(self) -> pl.DataFrame:
        """One row per pair and query: a, b, query, overlap, rbo."""
        import polars as pl

        rows = [
            (pair.a, pair.b, query, share, pair.rbo[query])
            for pair in self.pairs
            for query, share in pair.overlap.items()
        ]
        names = {"a": pl.String, "b": pl.String, "query": pl.String, "overlap": pl.Float64, "rbo": pl.Float64}
        return pl.DataFrame(rows, schema=names, orient="row")


def agreement(results: Mapping[str, RetrieverRun], k: int, p: float) -> Agreement:
    """Every pair of retrievers."""
    pairs = []
    for one, other in combinations(results.values(), 2):
        overlap, biased, same = {}, {}, 0
        for query in (query for query in one.run if query in other.run):
            first, second = (list(dict.fromkeys(run[query]))[:k] for run in (one.run, other.run))
            longest = max(len(first), len(second))
            overlap[query] = len({*first} & {*second}) / longest if longest else 1.0
            biased[query] = rbo(first, second, p).ext if first and second else overlap[query]
            same += first[:1] == second[:1]
        pairs.append(PairAgreement(one.name, other.name, overlap, biased, same))
    return Agreement(tuple(pairs), k, p)


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values) if values else 0.0
