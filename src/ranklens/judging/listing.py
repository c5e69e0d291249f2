"""Whole rankings as arrays, for measures that look at all retrieved documents, judged or not: diversity, exposure, novelty."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.evidence.contexts import rows_of
from ranklens.data.qrels import Id, Qrels
from ranklens.data.run import Run
from ranklens.judging.hits import Hits
from ranklens.policy import Policy


@dataclass(frozen=True)
class Listing:
    """The retrieved documents of each query by rank; ``doc`` is the place of a document among ``names``."""

    n_queries: int
    query: IntArray
    rank: IntArray
    doc: IntArray
    names: Sequence[str]
    share: float = 1.0  # how often each row is shown, where rankings of one query take turns

    @classmethod
    def taking_turns(cls, rankings: Sequence[Listing]) -> Listing:
        """Several rankings of the same queries, each shown equally often; rows are those of all."""
        names: dict[str, int] = {}
        docs = []
        for one in rankings:
            number = np.array([names.setdefault(name, len(names)) for name in one.names], np.int64)
            docs.append(number[one.doc])
        query = np.concatenate([one.query for one in rankings])
        order = np.argsort(query, kind="stable")
        rank, doc = np.concatenate([one.rank for one in rankings]), np.concatenate(docs)
        share = 1 / len(rankings)
        return cls(rankings[0].n_queries, query[order], rank[order], doc[order], list(names), share)

    def top(self, k: int | None) -> Listing:
        if k is None:
            return self
        shown = self.rank <= k
        return replace(self, query=self.query[shown], rank=self.rank[shown], doc=self.doc[shown])

    def without(self, junk: Mapping[str, Collection[Id]], queries: Sequence[str]) -> Listing:
        """The same after junk is taken out: what is below it moves up."""
        out = {(query, str(doc)) for query in queries for doc in junk.get(query, ())}
        pairs = zip(self.query.tolist(), self.doc.tolist(), strict=True)
        remains = np.array([(queries[q], self.names[d]) not in out for q, d in pairs], dtype=bool)
        query = self.query[remains]
        rank = np.arange(1, len(query) + 1) - np.searchsorted(query, query)
        return Listing(self.n_queries, query, rank, self.doc[remains], self.names)

    def take(self, queries: IntArray, upto: IntArray | None) -> Listing:
        """The rankings of these queries, which may repeat, down to a rank of each."""
        row, query = rows_of(self.query, queries, self.n_queries)
        if upto is not None:
            shown = self.rank[row] <= upto[query]
            row, query = row[shown], query[shown]
        return Listing(len(queries), query, self.rank[row], self.doc[row], self.names)

    def marked(self, hits: Hits) -> FloatArray:
        """1 for each row that is one of these hits, else 0."""
        width = int(max(self.rank.max(initial=0), hits.rank.max(initial=0))) + 1
        return np.isin(self.query * width + self.rank, hits.query * width + hits.rank).astype(np.float64)

    def sum(self, values: FloatArray) -> FloatArray:
        """The sum of values for each query."""
        return self.share * np.bincount(self.query, values, self.n_queries).astype(np.float64, copy=False)

    def mean(self, values: FloatArray) -> FloatArray:
        """The mean of values for each query; 0 if nothing was retrieved."""
        count = np.bincount(self.query, minlength=self.n_queries)
        return self.sum(values) / (self.share * np.maximum(count, 1))


def listing(qrels: Qrels, run: Run, policy: Policy, queries: Sequence[str]) -> Listing:
    """The rankings of these queries."""
    from ranklens.judging.documents import ranking

    ties = "descending" if policy.ties == "average" else policy.ties
    rows = ranking(qrels, run, replace(policy, ties=ties, judged_only=False), queries=list(queries))
    number = {query: i for i, query in enumerate(queries)}
    names: dict[str, int] = {}
    doc = [names.setdefault(name, len(names)) for name in rows["doc"]]
    query = [number[one] for one in rows["query"]]
    rankings = Listing(
        len(queries),
        np.array(query, np.int64),
        rows["rank"].to_numpy().astype(np.int64),
        np.array(doc, np.int64),
        list(names),
    )
    junk = None if qrels.beyond_grades is None else qrels.beyond_grades.junk
    return rankings.without({str(query): docs for query, docs in junk.items()}, queries) if junk else rankings
