"""Every way to combine the rankings of several runs: one function each, over :class:`~ranklens.fusion.lists.Lists`.

A function takes the lists and keyword-only parameters and returns one score per candidate. What a run did not retrieve adds nothing,
unless the function says otherwise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key
from types import MappingProxyType
from typing import Any

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import InputError, nearest
from ranklens.fusion.lists import Lists

Weights = FloatArray  # one per run


@dataclass(frozen=True)
class Method:
    """A way to fuse, with its names and what it is called with."""

    name: str
    function: Callable[..., FloatArray]
    by: str  # "scores" or "ranks": what it looks at

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters and their defaults; weights default to equal ones."""
        signature = inspect.signature(self.function).parameters.values()
        return {one.name: one.default for one in signature if one.kind is one.KEYWORD_ONLY}

    @property
    def is_weighted(self) -> bool:
        """Whether each run can have a weight."""
        return "weights" in self.parameters


_METHODS: dict[str, Method] = {}
_NAMES: dict[str, str] = {}


def _register(
    name: str, *aliases: str, by: str
) -> Callable[[Callable[..., FloatArray]], Callable[..., FloatArray]]:
    def register(function: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
        _METHODS[name] = Method(name, function, by)
        _NAMES.update(dict.fromkeys((name, *aliases), name))
        return function

    return register


def method(name: str) -> Method:
    """The method of a name, in any spelling: ``rrf``, ``CombMNZ``, ``comb_mnz``, ``mnz``."""
    spelled = name.lower().replace("-", "_").removeprefix("comb_").removeprefix("comb")
    if spelled not in _NAMES:
        raise InputError(f"there is no fusion method {name!r}: {nearest(spelled, _NAMES)}")
    return _METHODS[_NAMES[spelled]]


def _total(values: FloatArray) -> FloatArray:
    """The sum over the runs, to which those that lack the document add nothing."""
    total: FloatArray = np.nansum(values, axis=1)
    return total


# --- of scores


@_register("min", by="scores")
def comb_min(lists: Lists) -> FloatArray:
    """CombMIN: the lowest score of a document."""
    return np.asarray(np.fmin.reduce(lists.scores, axis=1))


@_register("max", by="scores")
def comb_max(lists: Lists) -> FloatArray:
    """CombMAX: the highest score of a document."""
    return np.asarray(np.fmax.reduce(lists.scores, axis=1))


@_register("med", "median", by="scores")
def comb_med(lists: Lists) -> FloatArray:
    """CombMED: the median of a document's scores."""
    return np.asarray(np.nanmedian(lists.scores, axis=1)) if len(lists.scores) else np.zeros(0)


@_register("sum", by="scores")
def comb_sum(lists: Lists) -> FloatArray:
    """CombSUM: the sum of a document's scores."""
    return _total(lists.scores)


@_register("anz", by="scores")
def comb_anz(lists: Lists) -> FloatArray:
    """CombANZ: the mean of a document's scores over the runs that retrieved it."""
    return comb_sum(lists) / lists.count


@_register("mnz", by="scores")
def comb_mnz(lists: Lists) -> FloatArray:
    """CombMNZ: the sum of a document's scores, times the number of runs that retrieved it."""
    return comb_sum(lists) * lists.count


@_register("gmnz", by="scores")
def comb_gmnz(lists: Lists, *, gamma: float = 1.0) -> FloatArray:
    """CombGMNZ: the sum of a document's scores, times the number of runs that retrieved it to the power of gamma."""
    return comb_sum(lists) * lists.count**gamma


@_register("wsum", "weighted_sum", "w_sum", by="scores")
def weighted_sum(lists: Lists, *, weights: Weights) -> FloatArray:
    """The weighted sum of a document's scores."""
    return _total(lists.scores * weights)


@_register("wmnz", "w_mnz", by="scores")
def weighted_mnz(lists: Lists, *, weights: Weights) -> FloatArray:
    """The sum of a document's scores, times the sum of the weights of the runs that retrieved it."""
    return np.asarray(comb_sum(lists) * (lists.retrieved * weights).sum(axis=1))


@_register("mixed", by="scores")
def mixed(lists: Lists, *, weights: Weights) -> FloatArray:
    """The weighted sum of a document's scores, times the square root of the number of runs that retrieved it."""
    return weighted_sum(lists, weights=weights) * np.sqrt(lists.count)


# --- of ranks


@_register("rrf", "reciprocal_rank_fusion", by="ranks")
def rrf(lists: Lists, *, k: float = 60, weights: Weights) -> FloatArray:
    """Reciprocal rank fusion: the (weighted) sum of 1 / (k + rank)."""
    return _total(weights / (k + lists.ranks))


@_register("isr", by="ranks")
def isr(lists: Lists) -> FloatArray:
    """Inverse square ranks: the sum of 1 / rank², times the number of runs that retrieved the document."""
    return _inverse_squares(lists) * lists.count


@_register("log_isr", by="ranks")
def log_isr(lists: Lists) -> FloatArray:
    """The sum of 1 / rank², times the logarithm of the number of runs: documents of a single run get 0."""
    return _inverse_squares(lists) * np.log(lists.count)


@_register("logn_isr", by="ranks")
def logn_isr(lists: Lists, *, sigma: float = 0.01) -> FloatArray:
    """The sum of 1 / rank², times the logarithm of the number of runs plus sigma."""
    return _inverse_squares(lists) * np.log(lists.count + sigma)


def _inverse_squares(lists: Lists) -> FloatArray:
    return _total(1 / lists.ranks**2)


@_register("borda", "bordafuse", "w_bordafuse", "weighted_bordafuse", "weighted_borda", by="ranks")
def borda(lists: Lists, *, weights: Weights) -> FloatArray:
    """Borda count: with n candidates, rank 1 gets n points, rank 2 n − 1 …; documents that a run lacks share the remaining points equally."""
    points = lists.pool - lists.ranks + 1
    return np.asarray(np.where(lists.retrieved, points, (lists.pool - lists.lengths + 1) / 2) @ weights)


@_register("condorcet", "w_condorcet", "weighted_condorcet", by="ranks")
def condorcet(lists: Lists, *, weights: Weights) -> FloatArray:
    """Condorcet fusion: documents are sorted by pairwise (weighted) majority votes of the runs; ties keep Borda's order.

    A majority need not be transitive, so the order may depend on where sorting starts: at Borda's, and not at an arbitrary one.
    """
    ranks = np.where(lists.retrieved, lists.ranks, np.inf)
    start = lists.order(borda(lists, weights=weights))
    points = np.empty(len(start))
    shares = weights.tolist()
    for rows in np.split(start, lists.starts[1:]):
        ranks_of = dict(zip(rows.tolist(), ranks[rows].tolist(), strict=True))

        def ahead(one: int, other: int, ranks_of: Mapping[int, list[float]] = ranks_of) -> int:
            """Negative if the weights of the runs that rank the first one higher are larger."""
            votes = zip(ranks_of[one], ranks_of[other], shares, strict=True)
            against = sum(
                share if theirs < ours else -share for ours, theirs, share in votes if ours != theirs
            )
            return int(against > 0) - int(against < 0)

        points[sorted(ranks_of, key=cmp_to_key(ahead))] = np.arange(len(rows), 0, -1)
    return points


@_register("rbc", "rbp", "rank_biased_centroid", by="ranks")
def rbc(lists: Lists, *, phi: float = 0.8, weights: Weights) -> FloatArray:
    """Rank-biased centroid: each rank weighs (1 − phi) · phi^(rank − 1), as in RBP."""
    return _total(weights * (1 - phi) * phi ** (lists.ranks - 1))


@_register("round_robin", "interleave", by="ranks")
def round_robin(lists: Lists) -> FloatArray:
    """The runs take turns, in their order: the first document of each, then the second …"""
    runs = lists.ranks.shape[1]
    turn = np.fmin.reduce((lists.ranks - 1) * runs + np.arange(runs), axis=1)
    return np.asarray(1 / (1 + turn))


METHODS = MappingProxyType(_METHODS)
