"""Judged documents that have no score: what a first stage missed, or what ``mask`` leaves out of a ranking."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np

from ranklens import words
from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import InputError, RankLensError, hearing, warn
from ranklens.judging.gold import grades
from ranklens.judging.standing import check_unjudged
from ranklens.metrics import Measure
from ranklens.models.embeddings.rows import Rows
from ranklens.models.embeddings.task import judgments_by_text
from ranklens.models.embeddings.vectors import Table, as_list, taken
from ranklens.policy import Policy


@runtime_checkable
class ByName(Protocol):
    """A dict, or a pandas Series, whose order says nothing."""

    def items(self) -> Iterable[tuple[object, object]]: ...


LABELS = "labels"  # relevant="labels": nothing else is relevant


def with_all_relevant(rows: Rows, relevant: object, policy: Policy) -> Rows:
    """The rows, and the judged documents that are not among them.

    ``relevant`` holds all judgments, or how many documents are relevant for each query; by default the labels are all there is.
    """
    if relevant is None or (isinstance(relevant, str) and relevant == LABELS):
        return rows
    counts = _counts(relevant, rows)
    if counts is None:
        by_query = judgments_by_text(relevant, policy, "relevant")[0]
        names, sizes = list(by_query), [len(docs) for docs in by_query.values()]
        grade = grades(names, list(by_query.values())).astype(np.float64)
    else:
        names, sizes = list(counts), list(counts.values())
        grade = np.ones(sum(sizes))
    number = {name: at for at, name in enumerate(rows.queries)}
    fresh = [name for name in names if name not in number]
    number |= {name: len(rows.queries) + at for at, name in enumerate(fresh)}
    place = np.array([number[name] for name in names], np.int64)
    judged = set(names)
    unjudged = [name for name in rows.queries if name not in judged]
    check_unjudged(len(unjudged), policy, lambda: unjudged[0])
    every = replace(rows, queries=[*rows.queries, *fresh], absent=len(fresh))
    complete = _difference(every, np.repeat(place, sizes), grade)
    return complete if not unjudged else _only(complete, np.sort(place), unjudged)


def _counts(relevant: object, rows: Rows) -> dict[str, int] | None:
    """How many documents are relevant, by query; None where judgments were given."""
    if isinstance(relevant, (str, os.PathLike, Table)):
        return None
    if isinstance(relevant, ByName):
        names, listed = [str(name) for name, _ in relevant.items()], [one for _, one in relevant.items()]
    elif isinstance(relevant, Sized):
        names, listed = list(rows.queries), as_list(relevant, "relevant")
    else:
        return None
    real = [float(one) for one in listed if isinstance(one, (int, float, np.floating, np.integer))]
    numbers = [int(one) for one in real if one.is_integer()]
    if len(numbers) < len(listed):
        return None
    counts = dict(zip(names, numbers, strict=False))
    lacking = next((name for name in rows.queries if name not in counts), None)
    if len(listed) != len(names):
        raise InputError(
            f"relevant has {len(listed):,} numbers for {words.counted(len(names), 'query', 'queries')}; pass one for each."
        )
    if lacking is not None:
        raise InputError(f"relevant has no number for query {lacking!r}; pass one for every query.")
    lowest = min(counts.values(), default=0)
    if lowest < 0:
        raise InputError(f"relevant contains {lowest}; the number of relevant documents is at least 0.")
    if not set(np.unique(rows.label[rows.label > 0]).tolist()) <= {1.0}:
        raise InputError(
            f"relevant contains numbers of documents, but labels have grades up to {rows.label.max():g}, so the grades of the others are "
            "unknown: pass judgments as relevant={query: {document: grade}}."
        )
    return counts


def _difference(rows: Rows, query: IntArray, grade: FloatArray) -> Rows:
    """The judgments that no labelled document accounts for."""
    pairs = np.stack([np.concatenate([query, rows.query]), np.concatenate([grade, rows.label])])
    kinds, kind = np.unique(pairs, axis=1, return_inverse=True)
    kind = kind.reshape(-1)  # NumPy 2.0 keeps the axis
    judged, labelled = (
        np.bincount(some, minlength=kinds.shape[1]) for some in (kind[: len(query)], kind[len(query) :])
    )
    for at in np.flatnonzero((labelled > judged) & (kinds[1] > 0))[:1].tolist():
        raise InputError(
            f"Query {rows.queries[int(kinds[0, at])]!r} has {words.counted(int(labelled[at]), 'document')} with label {kinds[1, at]:g}, but "
            f"relevant has {judged[at]:,} for it. relevant must include all that is relevant, also the scored documents."
        )
    more = np.maximum(judged - labelled, 0)
    return replace(
        rows, unscored_query=np.repeat(kinds[0].astype(np.int64), more), unscored=np.repeat(kinds[1], more)
    )


def _only(rows: Rows, kept: IntArray, unjudged: Sequence[str]) -> Rows:
    """The rows of some queries."""
    here = np.flatnonzero(np.isin(rows.query, kept))
    return replace(
        rows,
        query=np.searchsorted(kept, rows.query[here]),
        score=taken(rows.score, here),
        label=rows.label[here],
        queries=[rows.queries[at] for at in kept.tolist()],
        docs=None if rows.docs is None else [rows.docs[at] for at in here.tolist()],
        unscored_query=np.searchsorted(kept, rows.unscored_query),
        unjudged=unjudged,
    )


def warn_of_candidates(measures: Sequence[Measure]) -> None:
    """Where the labels are taken for all there is, measures that depend on it may be too high."""
    named = [
        measure.shown for measure in measures if not measure.definition.is_foreign and _counts_all(measure)
    ]
    if named:
        warn(
            f"{words.several(named)} {'takes' if len(named) == 1 else 'take'} the labelled documents for all relevant ones. "
            "If a first stage chose them, pass relevant=judgments, or how many documents are relevant for each query; "
            "if nothing is missing, pass relevant='labels'."
        )


@lru_cache(maxsize=1000)
def _counts_all(measure: Measure) -> bool:
    """Whether the value of a ranking changes with a relevant document that is not in it."""
    from ranklens.metrics.instances import parameters
    from ranklens.scores.evaluation import evaluate

    run, rel = {"q": ["x", "a"]}, parameters(measure).get("rel", 1)
    try:
        with hearing():
            alone, more = (
                evaluate({"q": gold}, run, measure)[str(measure)][0]
                for gold in ({"a": rel}, {"a": rel, "b": rel + 1})
            )
    except RankLensError:  # of measures that need more than grades
        return False
    return bool(alone != more)
