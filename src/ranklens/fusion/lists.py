"""Several runs, side by side: one row per document of a query, one column per run. All that a fusion method sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.data.readers.mappings import ByQuery, as_number, under_text
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_QUERIES = 64  # of dicts at a time: enough to make NumPy worthwhile, few enough for the processor's cache
_ROWS = 1 << 18  # of tables at a time


@dataclass(frozen=True)
class Lists:
    """What each of several runs retrieved for some queries.

    A row is a *candidate*, a document that at least one run retrieved for a query; rows are grouped by query. A column is a run.
    Scores and ranks (from 1) are NaN where the run did not retrieve the document.
    """

    queries: Sequence[str]
    docs: pl.Series | Sequence[str]  # of the candidates
    query: IntArray  # of the candidates, as a place in `queries`
    scores: FloatArray
    ranks: FloatArray
    retrieved: BoolArray
    repeated: int = 0  # documents that a run retrieved more than once for a query; the best rank counts

    @cached_property
    def count(self) -> FloatArray:
        """The number of runs that retrieved each candidate."""
        return np.asarray(self.retrieved.sum(axis=1), float)

    @cached_property
    def starts(self) -> IntArray:
        """The first row of each query that has candidates."""
        return np.flatnonzero(np.diff(self.query, prepend=-1))

    def by_query(self, reduce: np.ufunc, values: FloatArray) -> FloatArray:
        """Values reduced over the candidates of each query (``np.fmin``, ``np.add`` …), repeated for each of its rows."""
        if not len(self.query):
            return values
        reduced: FloatArray = reduce.reduceat(values, self.starts, axis=0)
        return reduced.repeat(np.diff(self.starts, append=len(self.query)), axis=0)

    @cached_property
    def lengths(self) -> FloatArray:
        """How many documents each run retrieved for the query of each candidate."""
        return self.by_query(np.add, self.retrieved.astype(float))

    @cached_property
    def pool(self) -> FloatArray:
        """How many candidates the query of each candidate has, as a column."""
        return self.by_query(np.add, np.ones((len(self.query), 1)))

    @property
    def lacking(self) -> BoolArray:
        """Which queries (rows) have no documents from which runs (columns)."""
        lacks = np.ones((len(self.queries), self.scores.shape[1]), bool)
        lacks[self.query[self.starts]] = self.lengths[self.starts] == 0
        return lacks

    def filled(self) -> Lists:
        """The same with the lowest score of its run for the query, and the rank after its last, wherever a run lacks a document."""
        lowest = np.nan_to_num(self.by_query(np.fmin, self.scores))
        return replace(
            self,
            scores=np.where(self.retrieved, self.scores, lowest),
            ranks=np.where(self.retrieved, self.ranks, self.lengths + 1),
        )

    def where(self, rows: BoolArray) -> Lists:
        """Some of the candidates, with the ranks that they have."""
        return replace(
            self,
            docs=self.ids(np.flatnonzero(rows)),
            query=self.query[rows],
            scores=self.scores[rows],
            ranks=self.ranks[rows],
            retrieved=self.retrieved[rows],
        )

    def first(self, window: int) -> Lists:
        """Only the first ``window`` documents of each run."""
        inside = self.ranks <= window
        cut = replace(
            self,
            scores=np.where(inside, self.scores, np.nan),
            ranks=np.where(inside, self.ranks, np.nan),
            retrieved=inside,
        )
        return cut.where(np.asarray(inside.any(axis=1)))

    def ids(self, rows: IntArray) -> pl.Series | list[str]:
        """The documents of some candidates."""
        if isinstance(self.docs, Sequence):
            return [self.docs[row] for row in rows.tolist()]
        return self.docs[rows]

    def order(self, fused: FloatArray) -> IntArray:
        """The rows of each query from the highest to the lowest fused score; ties by document id, descending."""
        tied = np.argsort(-fused, kind="stable")
        order = tied[np.argsort(self.query[tied], kind="stable")]
        same = (fused[order][1:] == fused[order][:-1]) & (self.query[order][1:] == self.query[order][:-1])
        return np.lexsort((_descending(self.docs), -fused, self.query)) if same.any() else order


@dataclass(frozen=True)
class Rows:
    """The documents of one run, in the order of the queries: which candidate each is, and its score."""

    candidate: IntArray
    score: FloatArray


def side_by_side(
    queries: Sequence[str], docs: pl.Series | Sequence[str], query: IntArray, runs: Sequence[Rows]
) -> Lists:
    """The rows of all runs by candidate, with their ranks: by score, ties by document id in descending order."""
    scores = np.full((len(query), len(runs)), np.nan)
    ranks = np.full_like(scores, np.nan)
    repeated = 0
    smaller_ids: IntArray | None = None
    for column, rows in enumerate(runs):
        of_query = query[rows.candidate]
        inside = np.diff(of_query) == 0
        falls = np.diff(rows.score)
        if (falls[inside] < 0).all() and (np.diff(of_query) >= 0).all():
            order = np.arange(len(rows.score))
        else:
            smaller_ids = _descending(docs) if smaller_ids is None else smaller_ids
            order = np.lexsort((smaller_ids[rows.candidate], -rows.score, of_query))
        candidate, of_query = rows.candidate[order], of_query[order]
        first = np.unique(candidate, return_index=True)[1] if _repeats(candidate) else None
        if first is not None:
            repeated += len(candidate) - len(first)
            first.sort()
            order, candidate, of_query = order[first], candidate[first], of_query[first]
        starts = np.flatnonzero(np.diff(of_query, prepend=-1))
        lengths = np.diff(starts, append=len(candidate))
        scores[candidate, column] = rows.score[order]
        ranks[candidate, column] = np.arange(1, len(candidate) + 1) - starts.repeat(lengths)
    return Lists(queries, docs, query, scores, ranks, ~np.isnan(ranks), repeated)


def _repeats(candidate: IntArray) -> bool:
    return bool(len(candidate)) and bool((np.bincount(candidate) > 1).any())


def _descending(docs: pl.Series | Sequence[str]) -> IntArray:
    """The place of each id if all were sorted in descending order of their bytes."""
    if isinstance(docs, Sequence):
        order = np.array(sorted(range(len(docs)), key=docs.__getitem__, reverse=True), np.int64)
    else:
        order = docs.arg_sort(descending=True).to_numpy().astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def of_dicts(runs: Sequence[ByQuery], queries: Iterable[str], sign: int = 1) -> Iterator[Lists]:
    """Runs as ``{query: {document: score}}``, some queries at a time; with the sign -1, the lowest score is the best."""
    remaining = iter(queries)
    while together := list(islice(remaining, _QUERIES)):
        yield _block_of_dicts(runs, together, sign)


def _block_of_dicts(runs: Sequence[ByQuery], queries: Sequence[str], sign: int) -> Lists:
    docs: list[str] = []
    sizes: list[int] = []
    places: list[list[int]] = [[] for _ in runs]
    scores: list[list[object]] = [[] for _ in runs]
    for query in queries:
        rankings = [_with_text_ids(run.get(query, {}), query) for run in runs]
        candidates = dict.fromkeys(chain.from_iterable(rankings))
        place = dict(zip(candidates, count(len(docs)), strict=False))
        docs += candidates
        sizes.append(len(candidates))
        for column, ranking in enumerate(rankings):
            places[column] += map(place.__getitem__, ranking)
            scores[column] += ranking.values()
    query_of = np.arange(len(queries)).repeat(sizes)
    rows = [
        Rows(np.array(rows, np.int64), sign * _numbers(values))
        for rows, values in zip(places, scores, strict=True)
    ]
    _refuse_nan(rows, queries, query_of, docs)
    return side_by_side(queries, docs, query_of, rows)


def _with_text_ids(ranking: Mapping[Any, Any], query: str) -> Mapping[str, Any]:
    is_text = {*map(type, ranking)} <= {str}
    return ranking if is_text else under_text(ranking.items(), f"the documents of query {query!r}")


def _numbers(values: Sequence[object]) -> FloatArray:
    """Scores as floats; NaN for whatever is none."""
    if {*map(type, values)} <= {float, int}:
        return np.array(values, float)
    numbers = [as_number(value) for value in values]
    return np.array([np.nan if number is None else number for number in numbers], float)


def _refuse_nan(
    runs: Sequence[Rows], queries: Sequence[str], query: IntArray, docs: pl.Series | Sequence[str]
) -> None:
    for rows in runs:
        if (bad := rows.candidate[np.isnan(rows.score)]).size:
            raise InputError(
                f"the score of document {docs[int(bad[0])]!r} for query {queries[query[bad[0]]]!r} is not a number, so it cannot be "
                "fused; remove the document or give it a score."
            )


def of_tables(tables: Sequence[pl.DataFrame], sign: int = 1) -> Iterator[Lists]:
    """Runs as tables ``query, doc, score``, some queries at a time, in the order of their first appearance."""
    import polars as pl

    queries = pl.concat([table["query"].unique(maintain_order=True) for table in tables]).unique(
        maintain_order=True
    )
    kind = pl.Enum(queries)
    ordered, bounds = [], []
    for table in tables:
        codes = table["query"].cast(kind).to_physical().to_numpy().astype(np.int64)
        if (codes[1:] < codes[:-1]).any():
            order = np.argsort(codes, kind="stable")
            table, codes = table[order], codes[order]  # noqa: PLW2901
        ordered.append(table)
        bounds.append(np.searchsorted(codes, np.arange(len(queries) + 1)))
    names = queries.to_list()
    rows = np.cumsum(np.sum([np.diff(bound) for bound in bounds], axis=0))
    first = 0
    while first < len(names):
        before = rows[first - 1] if first else 0
        end = max(int(np.searchsorted(rows, before + _ROWS, side="right")), first + 1)
        parts = [table[int(b[first]) : int(b[end])] for table, b in zip(ordered, bounds, strict=True)]
        sizes = [np.diff(bound[first : end + 1]) for bound in bounds]
        yield _block_of_tables(names[first:end], parts, sizes, sign)
        first = end


def _block_of_tables(
    queries: Sequence[str], tables: Sequence[pl.DataFrame], sizes: Sequence[IntArray], sign: int
) -> Lists:
    import polars as pl

    docs = pl.concat([table["doc"] for table in tables])
    # Categories of their own, which are let go with the block.
    code = docs.cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy().astype(np.int64)
    query = np.concatenate([np.arange(len(queries)).repeat(size) for size in sizes])
    width = int(code.max(initial=0)) + 1
    keys, first, candidate = np.unique(query * width + code, return_index=True, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    runs = [
        Rows(rows, sign * table["score"].cast(pl.Float64).fill_null(np.nan).to_numpy())
        for rows, table in zip(np.split(candidate, ends), tables, strict=True)
    ]
    docs = docs[first]
    _refuse_nan(runs, queries, keys // width, docs)
    return side_by_side(queries, docs, keys // width, runs)
