"""Scores of different runs on one scale: one function per normalisation, applied to each run and query on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import InputError, nearest
from ranklens.fusion.lists import Lists

_LEAST = 1e-9  # what a range of 0 is divided by: equal scores become 0


def _min_max(lists: Lists) -> FloatArray:
    """From 0, the lowest score of the run for the query, to 1, the highest."""
    low = lists.by_query(np.fmin, lists.scores)
    return (lists.scores - low) / np.maximum(lists.by_query(np.fmax, lists.scores) - low, _LEAST)


def _max(lists: Lists) -> FloatArray:
    """Divided by the highest score."""
    return lists.scores / np.maximum(lists.by_query(np.fmax, lists.scores), _LEAST)


def _sum(lists: Lists) -> FloatArray:
    """Minus the lowest score, divided by the sum, so that the scores of a run add up to 1."""
    above = lists.scores - lists.by_query(np.fmin, lists.scores)
    return above / np.maximum(_total(lists, above), _LEAST)


def _z_score(lists: Lists) -> FloatArray:
    """Zero mean and unit variance."""
    length = np.maximum(lists.lengths, 1)
    centred = lists.scores - _total(lists, lists.scores) / length
    return centred / np.maximum(np.sqrt(_total(lists, centred**2) / length), _LEAST)


def _rank(lists: Lists) -> FloatArray:
    """By rank alone: 1 for the first, then evenly down to 1 / n."""
    return 1 - (lists.ranks - 1) / np.maximum(lists.lengths, 1)


def _borda(lists: Lists) -> FloatArray:
    """Borda's points as a share of the candidates; documents that a run lacks share the remaining points equally."""
    points = 1 - (lists.ranks - 1) / lists.pool
    return np.where(lists.retrieved, points, 0.5 - (lists.lengths - 1) / (2 * lists.pool))


def _total(lists: Lists, values: FloatArray) -> FloatArray:
    return lists.by_query(np.add, np.nan_to_num(values))


NORMS: MappingProxyType[str, Callable[[Lists], FloatArray]] = MappingProxyType(
    {
        "min-max": _min_max,
        "min-max-inverted": _min_max,  # of scores whose sign was changed before they were ranked
        "max": _max,
        "sum": _sum,
        "z-score": _z_score,
        "rank": _rank,
        "borda": _borda,
    }
)
_OTHER_NAMES = {"zmuv": "z-score", "zscore": "z-score", "minmax": "min-max", "none": ""}
INVERTED = "min-max-inverted"
BOUNDED = "theoretical"  # needs the bounds of the scores


def norm_name(name: str) -> str:
    """The canonical name of a normalisation; empty for none."""
    spelled = name.lower().replace("_", "-")
    spelled = _OTHER_NAMES.get(spelled, spelled)
    if spelled and spelled != BOUNDED and spelled not in NORMS:
        raise InputError(f"there is no normalisation {name!r}: {nearest(spelled, [*NORMS, BOUNDED])}")
    return spelled


def normalised(lists: Lists, norm: str, bounds: FloatArray | None) -> Lists:
    """The same with scores on one scale; ``bounds`` are the lowest and the highest score that each run can give."""
    if not norm:
        return lists
    if bounds is not None:
        low, high = bounds.T
        outside = (lists.scores < low) | (lists.scores > high)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise InputError(
                f"the score {lists.scores[row, column]:g} of document {lists.docs[int(row)]!r} for query "
                f"{lists.queries[lists.query[row]]!r} is outside the bounds [{low[column]:g}, {high[column]:g}]."
            )
        return replace(lists, scores=(lists.scores - low) / (high - low))
    return replace(lists, scores=NORMS[norm](lists))
