"""One set of judgments from those of several assessors, and machine labels where people have judged nothing; each grade keeps its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.assessment import assessors
from ranklens.assessment.ratings import Ratings, assessors_named
from ranklens.data.qrels import read_qrels
from ranklens.data.readers.judgments import Judgments
from ranklens.errors import InputError
from ranklens.judging.documents import judgments as judged_table
from ranklens.stats import inputs
from ranklens.tables.table import Table
from ranklens.words import counted, percent, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray, IntArray

METHODS = ("majority", "median", "mean", "dawid-skene", "mace")
TIES = ("higher", "lower")
HUMAN, MACHINE = "human", "machine"


class Sourced(Judgments):
    """Judgments that know who judged each document: ``{query: {document: grade}}``, to be passed on like any others."""

    @property
    def qrels(self) -> dict[str, dict[str, float]]:
        """The grades as a plain dict."""
        return {str(query): dict(docs) for query, docs in self.grades.items()}

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of grades by source, the largest first."""
        found = Counter(source for docs in (self.sources or {}).values() for source in docs.values())
        return {source: count / found.total() for source, count in found.most_common()}

    def to_frame(self) -> pl.DataFrame:
        """One row per grade: query, doc, grade, source."""
        import polars as pl

        sources = self.sources or {}
        rows = [
            (str(query), str(doc), float(grade), sources.get(query, {}).get(doc))
            for query, docs in self.grades.items()
            for doc, grade in docs.items()
        ]
        names = {"query": pl.String, "doc": pl.String, "grade": pl.Float64, "source": pl.String}
        return pl.DataFrame(rows, schema=names, orient="row")

    def summary(self) -> Table:
        """Where the judgments come from."""
        rows = [[source, percent(share)] for source, share in self.shares.items()]
        return Table(["source", "share"], rows)

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().to_html()


class Merged(Sourced):
    """What several assessors say together; made by :func:`merge_judgments`.

    ``quality`` has one row per assessor: how many documents were judged, how often with the merged grade, and, if a model was fitted, the competence that it estimates.
    ``posterior`` has the probability of each grade by that model, ``disputed`` are the documents on which the most votes were tied.
    """

    def __init__(
        self, ratings: Ratings, grades: FloatArray, method: str, fit: assessors.Fit | None, tied: int
    ) -> None:
        names = [
            several([who for who, known in zip(ratings.assessors, row, strict=True) if known])
            for row in ~np.isnan(ratings.grades)
        ]
        sources: dict[str, dict[str, str]] = {}
        for query, doc, source in zip(ratings.query.tolist(), ratings.docs, names, strict=True):
            sources.setdefault(ratings.queries[query], {})[doc] = source
        super().__init__(ratings.by_query(grades), sources=sources)
        self.ratings, self.merged, self.method, self.fit, self.disputed = ratings, grades, method, fit, tied

    @cached_property
    def quality(self) -> pl.DataFrame:
        """One row per assessor: assessor, documents, agreement (with the merged grade), competence."""
        import polars as pl

        known = ~np.isnan(self.ratings.grades)
        same = (self.ratings.grades == self.merged[:, None]).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        competence = [None] * len(same) if self.fit is None else self.fit.competence.tolist()
        columns = {"assessor": self.ratings.assessors, "documents": known.sum(axis=0), "agreement": same}
        return pl.DataFrame({**columns, "competence": pl.Series(competence, dtype=pl.Float64)})

    @cached_property
    def posterior(self) -> pl.DataFrame | None:
        """One row per document: query, doc, and the probability of each grade; None if no model was fitted."""
        import polars as pl

        if self.fit is None:
            return None
        queries = [self.ratings.queries[place] for place in self.ratings.query.tolist()]
        grades = {f"{grade:g}": self.fit.posterior[:, i] for i, grade in enumerate(self.ratings.scale)}
        return pl.DataFrame({"query": queries, "doc": list(self.ratings.docs), **grades})

    def summary(self) -> Table:
        """One row per assessor."""
        rows = [
            [name, f"{n:,}", percent(same), "–" if competence is None else f"{competence:.2f}"]
            for name, n, same, competence in self.quality.iter_rows()
        ]
        note = f"{counted(len(self.ratings), 'document')} of {counted(len(self.ratings.queries), 'query')} merged by {self.method}"
        note += f"; {counted(self.disputed, 'tied vote')}" if self.disputed else ""
        return Table(["assessor", "documents", "gave the merged grade", "competence"], rows, note=f"{note}.")


def merge_judgments(
    judgments: Sequence[object] | Mapping[str, object],
    method: str = "majority",
    *,
    ties: str = "higher",
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> Merged:
    """One grade per document from those of several assessors; the result can be passed on as judgments.

    - ``majority``: the grade that most gave, among equally frequent ones the ``higher`` (or ``lower``).
    - ``median``: the middle one, or the higher (lower) of two; ``mean``: the mean, which need not be a grade.
    - ``dawid-skene``: the most likely grade if each assessor has a table of errors; ``mace``: if each one sometimes guesses. Both weigh assessors by
      how far they agree with the others, and need many documents.

    ``judgments`` is a list with one set of judgments per assessor, ``{assessor: judgments}``, or a list with one table that names assessors.

    >>> merged = merge_judgments({"ann": {"q": {"a": 2, "b": 0}}, "bob": {"q": {"a": 1, "b": 0}}, "eve": {"q": {"a": 2}}})
    >>> merged["q"], merged.sources["q"]["b"]
    ({'a': 2, 'b': 0}, 'ann and bob')
    """
    inputs.choice(method, "method", METHODS)
    inputs.choice(ties, "ties", TIES)
    ratings = assessors_named(judgments) if isinstance(judgments, Mapping) else Ratings.of(judgments, names)
    counts, scale = ratings.counts, ratings.scale
    fit = None
    if method == "majority":
        best = counts.max(axis=1, keepdims=True)
        tied = int(((counts == best).sum(axis=1) > 1).sum())
        return Merged(ratings, scale[_one(counts == best, ties)], method, None, tied)
    if method in ("median", "mean"):
        grades = np.nanmean(ratings.grades, axis=1) if method == "mean" else _median(ratings.grades, ties)
        return Merged(ratings, grades, method, None, 0)
    fit = (
        assessors.dawid_skene(counts_of(ratings))
        if method == "dawid-skene"
        else assessors.mace(counts_of(ratings), seed)
    )
    close = fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - inputs.NOISE
    return Merged(ratings, scale[_one(close, ties)], method, fit, 0)


def counts_of(ratings: Ratings) -> FloatArray:
    """Documents × assessors × grades."""
    return np.asarray(ratings.codes[:, :, None] == np.arange(len(ratings.scale)), dtype=np.float64)


def _one(possible: BoolArray, ties: str) -> IntArray:
    """The highest or lowest of the grades that are possible for each document."""
    if ties == "lower":
        return np.asarray(possible.argmax(axis=1))
    return np.asarray(possible.shape[1] - 1 - possible[:, ::-1].argmax(axis=1))


def _median(grades: FloatArray, ties: str) -> FloatArray:
    """The middle grade; of two, the higher or the lower."""
    ordered, number = np.sort(grades, axis=1), (~np.isnan(grades)).sum(axis=1)  # NaN comes last
    middle = number // 2 if ties == "higher" else (number - 1) // 2
    return np.asarray(np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0])


class Filled(Sourced):
    """Judgments by people, with machine labels for retrieved documents that they did not judge; made by :func:`fill`.

    ``added`` is the number of labels that were taken, ``unjudged`` that of retrieved documents which neither judged.
    """

    def __init__(
        self,
        grades: Mapping[str, Mapping[str, float]],
        sources: Mapping[str, Mapping[str, str]],
        added: int,
        unjudged: int,
    ) -> None:
        super().__init__(grades, sources=sources)
        self.added, self.unjudged = added, unjudged

    def summary(self) -> Table:
        """One row per source."""
        total = sum(map(len, self.grades.values()))
        rows = [[source, f"{share * total:,.0f}", percent(share)] for source, share in self.shares.items()]
        note = f"{counted(self.added, 'label')} of the machine added"
        note += f"; {counted(self.unjudged, 'retrieved document')} judged by neither" if self.unjudged else ""
        return Table(
            ["source", "judgments", "share"], rows, note=f"{note}. No judgment by a person was changed."
        )


def fill(qrels: object, run: object, labels: object, *, depth: int | None = None) -> Filled:
    """Judgments with machine labels for the retrieved documents that people have not judged; no judgment by a person is overwritten.

    ``run`` is one run or ``{name: run}``; with ``depth``, its first documents alone are looked at. Only queries that people judged are filled: for others there is
    nothing to be filled up. Every table of scores states the share of labels by source. Machine labels have errors of their own, so that the intervals of
    such scores are too narrow; ``evaluate(…, machine=labels)`` has intervals that are not.

    >>> filled = fill({"q": {"a": 2, "b": 0}}, {"q": ["c", "a", "b"]}, {"q": {"a": 0, "c": 1, "d": 3}})
    >>> filled["q"], filled.shares
    ({'a': 2, 'b': 0, 'c': 1}, {'human': 0.666..., 'machine': 0.333...})
    """
    from ranklens.assessment.systems import named_runs, retrieved_by

    gold = read_qrels(qrels)
    known = {str(query): docs for query, docs in _grades(gold).items()}
    offered = _grades(labels)
    first = next(iter(run.values()), None) if isinstance(run, Mapping) else None
    has_names = isinstance(first, Mapping) and isinstance(
        next(iter(first.values()), None), (Mapping, list, tuple)
    )
    runs = named_runs(gold, run) if has_names else {"run": run}
    grades = {query: dict(docs) for query, docs in known.items()}
    sources = {query: dict.fromkeys(docs, HUMAN) for query, docs in known.items()}
    added = 0
    missing: set[tuple[str, str]] = set()
    for one in runs.values():
        for query, doc in retrieved_by(gold, one, depth):
            label = offered.get(query, {}).get(doc)
            if doc in grades.get(query, {}):
                continue
            if label is None or query not in grades:
                missing.add((query, doc))
                continue
            grades[query][doc], sources[query][doc] = label, MACHINE
            added += 1
    if not known:
        raise InputError(
            "There are no judgments to fill up; pass labels as the judgments if people have judged nothing."
        )
    return Filled(grades, sources, added, len(missing))


def _grades(judgments: object) -> dict[str, dict[str, float]]:
    """By query, without documents that were pooled and not judged."""
    found: dict[str, dict[str, float]] = {}
    for query, doc, grade in judged_table(judgments).iter_rows():
        if grade >= 0:
            found.setdefault(query, {})[doc] = int(grade) if grade == int(grade) else grade
    return found
