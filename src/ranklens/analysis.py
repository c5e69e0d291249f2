"""Means, intervals, tests and tie groups of aligned values: over all queries, or slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens import letters
from ranklens.pairs import Contrasts, PairResult, Pairs, Settings, contrasts

if TYPE_CHECKING:
    from ranklens.alignment import Aligned, Quantity
    from ranklens.judged import FloatArray
    from ranklens.stats import Interval


@dataclass(frozen=True)
class SystemResult:
    """One system on one measure. ``group`` holds letters: systems that share one could not be told apart.

    A count such as ``NumRel`` is a sum (in ``mean``), has no interval and is not tested (no letters).
    """

    measure: str
    system: str
    slice: str | None
    n: int
    mean: float
    interval: Interval | None
    group: str = ""


@dataclass(frozen=True)
class SliceResult:
    """The same comparison over some of the queries."""

    name: str
    n: int
    results: tuple[SystemResult, ...]
    pairs: Sequence[PairResult]


def analyse(
    aligned: Aligned, parts: dict[str | None, dict[str, FloatArray]], settings: Settings
) -> dict[str | None, tuple[tuple[SystemResult, ...], Pairs]]:
    """Results and pairs for each part of the queries, corrected over all parts."""
    results: dict[str | None, list[SystemResult]] = {name: [] for name in parts}
    pairs: dict[str | None, list[Contrasts]] = {name: [] for name in parts}
    for quantity in aligned.quantities:
        values = {name: part[quantity.name] for name, part in parts.items()}
        if not quantity.is_tested:
            for name, numbers in values.items():
                results[name] += _results(aligned, quantity, numbers, name, settings, None)
            continue
        for found in contrasts(quantity, aligned.systems, values, settings):
            pairs[found.part].append(found)
            results[found.part] += _results(aligned, quantity, found.values, found.part, settings, found)
    return {name: (tuple(results[name]), Pairs(pairs[name])) for name in parts}


def _results(
    aligned: Aligned,
    quantity: Quantity,
    values: FloatArray,
    slice_name: str | None,
    settings: Settings,
    found: Contrasts | None,
) -> list[SystemResult]:
    means = [quantity.mean(row) for row in values]
    group = [""] * len(means)
    if found is not None:
        order = np.argsort(np.array(means) * (1 if quantity.better == "lower" else -1), kind="stable")
        for system, text in zip(order, letters.letters(found.different[np.ix_(order, order)]), strict=True):
            group[system] = text
    return [
        SystemResult(
            quantity.name,
            system,
            slice_name,
            values.shape[1],
            mean,
            quantity.interval(row, settings.level),
            text,
        )
        for system, mean, row, text in zip(aligned.systems, means, values, group, strict=True)
    ]
