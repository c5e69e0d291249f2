"""Measures of one's own from a plain function of one query, without arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import MeasureError
from ranklens.judging.judged import Judged
from ranklens.metrics import Better, Cutoff, Measure, measure, parse
from ranklens.metrics.parameters import declare

OneQuery = Callable[..., float]


def measure_from(
    function: OneQuery,
    name: str | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    better: Better = "higher",
) -> Measure:
    """A measure from a function of one query, known under its name from then on.

    ``function`` gets the grades of the ranking, best rank first (0 for documents that are not judged), cut at k if one is given,
    and the grades of all judged documents, highest first; it returns a number. Its keyword-only arguments become parameters of
    the measure. It is called once for each query, so it is slower than a formula over arrays: 5,000
    rankings of 100 documents take 0.04 s in place of 0.0001 s.

    >>> import ranklens as rl
    >>> def best_first(ranked, ideal, *, rel=1):
    ...     "1 if the first document is relevant."
    ...     return float(bool(ranked) and ranked[0] >= rel)
    >>> rl.measure_from(best_first, "BestFirst")
    measure('BestFirst')
    >>> rl.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, ["BestFirst", "BestFirst(rel=2)@5"]).mean
    {'BestFirst': 1.0, 'BestFirst(rel=2)@5': 0.0}
    >>> rl.registry.unregister("BestFirst")
    """
    called = own_name(name, function, "A measure needs a name: measure_from(function, 'Mine')")
    own = _parameters(called, function)

    def by_query(judged: Judged, *, k: int | None = None, **params: object) -> FloatArray:
        ideal = _split(judged.ideal.grade, judged.ideal.query, len(judged))
        ranked = _rankings(judged, k)
        values = np.empty(len(judged))
        for i, (grades, best) in enumerate(zip(ranked, ideal, strict=True)):
            values[i] = _value(function, called, judged.queries[i], grades, best, params)
        return values

    by_query.__doc__ = function.__doc__ or "Your own measure, from a function of one query."
    by_query.__module__, by_query.__qualname__ = function.__module__, function.__qualname__
    cutoff = inspect.Parameter("k", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Cutoff)
    declare(by_query, [cutoff, *own])
    measure(called, low=low, high=high, better=better)(by_query)
    return parse(called)


def own_name(name: str | None, function: Callable[..., object], cure: str) -> str:
    """The name of a measure of one's own: ``name``, else that of its function; a lambda or a partial has none."""
    chosen = str(name or getattr(function, "__name__", ""))
    if not chosen.isidentifier():
        raise MeasureError(f"{cure}, not {chosen!r}.")
    return chosen


def _parameters(name: str, function: OneQuery) -> list[inspect.Parameter]:
    """The keyword-only arguments of the function; the two before them are the grades."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in has no signature
        arguments = []
    plain = [a for a in arguments if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD)]
    if len(plain) != 2 or any(a.kind is a.VAR_KEYWORD for a in arguments):
        raise MeasureError(
            f"{name}: the function takes two arguments, the ranked grades and the ideal ones, and parameters after a '*'."
        )
    return [a for a in arguments if a.kind is a.KEYWORD_ONLY and a.name != "k"]


def _split(grades: FloatArray, query: IntArray, count: int) -> list[list[float]]:
    ends = np.cumsum(np.bincount(query, minlength=count))
    return [part.tolist() for part in np.split(grades, ends[:-1])] if count else []


def _rankings(judged: Judged, k: int | None) -> list[list[float]]:
    """The grades of each ranking, 0 where a document is not judged."""
    hits = judged.hits.top(k)
    retrieved = np.minimum(judged.retrieved, judged.retrieved if k is None else k).tolist()
    places = _split(hits.rank.astype(np.float64), hits.query, len(judged))
    rankings = []
    for length, ranks, grades in zip(
        retrieved, places, _split(hits.grade, hits.query, len(judged)), strict=True
    ):
        ranking = [0.0] * length
        for rank, grade in zip(ranks, grades, strict=True):
            ranking[int(rank) - 1] = grade
        rankings.append(ranking)
    return rankings


def _value(
    function: OneQuery,
    name: str,
    query: str,
    ranked: list[float],
    ideal: list[float],
    params: Mapping[str, object],
) -> float:
    try:
        value = function(ranked, ideal, **params)
    except Exception as error:
        raise MeasureError(
            f"The measure {name} failed for query {query!r}: {type(error).__name__}: {error}"
        ) from error
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MeasureError(
            f"The measure {name} returned {value!r} for query {query!r}; it must return a number."
        ) from None
