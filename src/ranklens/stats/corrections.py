"""Corrections for multiple tests: if you look often enough, you find a small p-value by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray, IntArray

DEFAULT_CORRECTION = "holm"


@dataclass(frozen=True)
class Correction:
    """What a correction is called, how it makes p-values larger, and what it promises."""

    words: str  # its name in a sentence; empty for none
    adjust: Callable[[FloatArray], FloatArray]  # rising p-values, which may then exceed 1
    # What the smallest of ``tests`` p-values has to stay below if only one of them is small: the worst case.
    hardest: Callable[[float, int], float] = lambda alpha, tests: alpha / tests
    # Whether it keeps the chance of any false discovery below alpha, not just their expected share.
    is_strict: bool = True
    in_sensitivity: bool = False
    source: str = ""  # its key in metrics/literature.py


def _hommel(rising: FloatArray) -> FloatArray:
    """Simes' test of every set of hypotheses that holds the one in question (Hommel 1988; the algorithm is Wright's, 1992)."""
    m = len(rising)
    place = np.arange(1, m + 1)
    adjusted = np.full(m, (m * rising / place).min(initial=1.0))
    for size in range(m - 1, 1, -1):
        small, large = rising[: m - size + 1], rising[m - size + 1 :]
        least = (size * large / np.arange(2, size + 1)).min()
        floor = np.concatenate((np.minimum(size * small, least), np.full(size - 1, 0.0)))
        floor[m - size + 1 :] = floor[m - size]
        adjusted = np.maximum(adjusted, floor)
    return np.asarray(np.maximum(adjusted, rising))


def _step_up(rising: FloatArray, weights: FloatArray | IntArray) -> FloatArray:
    """No p-value is larger than the next one, each times its weight."""
    return np.asarray(np.minimum.accumulate((rising * weights)[::-1])[::-1])


def _places(rising: FloatArray) -> IntArray:
    return np.arange(1, len(rising) + 1)


# Everything that speaks of corrections reads them here.
CORRECTIONS_BY_NAME: dict[str, Correction] = {
    "bonferroni": Correction(
        "Bonferroni", lambda rising: rising * len(rising), in_sensitivity=True, source="dunn1961"
    ),
    "holm": Correction(
        "Holm",
        lambda rising: np.maximum.accumulate(rising * _places(rising)[::-1]),
        in_sensitivity=True,
        source="holm1979",
    ),
    "hochberg": Correction(
        "Hochberg", lambda rising: _step_up(rising, _places(rising)[::-1]), source="hochberg1988"
    ),
    "hommel": Correction("Hommel", _hommel, source="hommel1988"),
    "bh": Correction(
        "Benjamini-Hochberg",
        lambda rising: _step_up(rising, len(rising) / _places(rising)),
        is_strict=False,
        in_sensitivity=True,
        source="benjamini1995",
    ),
    "by": Correction(
        "Benjamini-Yekutieli",
        lambda rising: _step_up(rising, len(rising) / _places(rising) * (1 / _places(rising)).sum()),
        hardest=lambda alpha, tests: alpha / tests / sum(1 / place for place in range(1, tests + 1)),
        is_strict=False,
        source="benjamini2001",
    ),
    "none": Correction(
        "", lambda rising: rising, hardest=lambda alpha, _: alpha, is_strict=False, in_sensitivity=True
    ),
}
CORRECTIONS = tuple(CORRECTIONS_BY_NAME)


def adjust(p_values: npt.ArrayLike, *, method: str = DEFAULT_CORRECTION) -> FloatArray:
    """The p-values of several tests, made larger so that they can be compared with alpha as if there were one.

    ``bonferroni``, ``holm``, ``hochberg`` and ``hommel`` keep the chance of any false discovery below alpha; ``bh`` and ``by``
    (Benjamini with Hochberg, with Yekutieli) the expected share of false discoveries.

    >>> adjust([0.01, 0.04, 0.03], method="holm")
    array([0.03, 0.06, 0.06])
    """
    inputs.choice(method, "method", CORRECTIONS)
    p = inputs.numbers(p_values, "p_values")
    for position in np.flatnonzero((p < 0) | (p > 1))[:1]:
        raise InputError(f"p_values[{position}] is {p[position]}: a p-value must be between 0 and 1.")
    order, adjusted = np.argsort(p, kind="stable"), np.empty(len(p))
    adjusted[order] = np.minimum(CORRECTIONS_BY_NAME[method].adjust(p[order]), 1)
    return adjusted


def share_of_look(look: int) -> float:
    """The share of alpha for one look at data that keep coming in; the shares of all looks, without end, add up to 1.

    >>> [round(share_of_look(look), 3) for look in (1, 2, 10)]
    [0.608, 0.152, 0.006]
    """
    return 6 / (np.pi * look) ** 2
