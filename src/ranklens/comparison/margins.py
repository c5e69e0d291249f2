"""Whether systems are no worse than others, or equivalent, up to a margin: one decision per pair and direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison import alignment
from ranklens.errors import MeasureError, nearest
from ranklens.stats.margins import Decision, Margin, careful_p, decide

if TYPE_CHECKING:
    from collections.abc import Callable

    from ranklens.arrays import FloatArray
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.settings import Settings

    Adjust = Callable[[Sequence[Sequence[FloatArray]], Settings], list[list[FloatArray]]]

_CELLS = 1 << 20  # differences held at once


def margins_of(given: Any, quantities: Sequence[alignment.Quantity]) -> dict[str, Margin]:
    """The margin of each measure that has one: one for all, or ``{measure: margin}``.

    None for what has no better end, and, if it is a number, for a geometric mean, of which only factors are compared.
    """
    if given is None:
        return {}
    by_name = {quantity.name: quantity for quantity in quantities}
    margins = {} if isinstance(given, Mapping) else dict.fromkeys(by_name, Margin.of(given))
    spelled = {quantity.asked or quantity.name: quantity.name for quantity in quantities}
    for asked, margin in given.items() if isinstance(given, Mapping) else ():
        name = spelled.get(str(asked), str(asked))
        if name not in by_name:
            name = alignment.Quantity.named(name).name
        if name not in by_name:
            raise MeasureError(f"margin: {asked} is not compared: {nearest(str(asked), by_name)}")
        margins[name] = Margin.of(margin)
    return {
        name: margin
        for name, margin in margins.items()
        if by_name[name].is_tested and by_name[name].better != "neither"
        if margin.relative or not by_name[name].is_geometric
    }


def with_decisions(
    tested: Mapping[str | None, list[Contrasts]], settings: Settings, adjust: Adjust
) -> dict[str | None, list[Contrasts]]:
    """The same with a decision for each pair, in both directions; corrected as the tests are."""
    if not settings.margins:
        return dict(tested)
    corrected = replace(settings, test="t") if settings.is_of_all_pairs else settings
    sides = []
    for turned in (False, True):
        raw = [[_p_values(part, turned=turned) for part in parts] for parts in tested.values()]
        no_worse = adjust([[p[0] for p in part] for part in raw], corrected)
        equivalent = adjust([[np.maximum(*p) for p in part] for part in raw], corrected)
        sides.append((no_worse, equivalent))
    return {
        name: [
            _decided(part, [(side[0][i][j], side[1][i][j]) for side in sides]) for j, part in enumerate(parts)
        ]
        for i, (name, parts) in enumerate(tested.items())
    }


def _decided(part: Contrasts, sides: Sequence[tuple[FloatArray, FloatArray]]) -> Contrasts:
    margin = part.settings.margins.get(part.quantity.name)
    if margin is None:
        return part
    alpha, sign = part.settings.alpha, -1 if part.quantity.better == "lower" else 1
    means = np.array(part.means)
    gain = sign * (means[part.second] - means[part.first])
    decisions: list[list[Decision]] = [
        decide(no_worse <= alpha, equivalent <= alpha, part.significant, -gain if turned else gain)
        for turned, (no_worse, equivalent) in enumerate(sides)
    ]
    return replace(part, decisions=(decisions[0], decisions[1]))


def _p_values(part: Contrasts, *, turned: bool) -> tuple[FloatArray, FloatArray]:
    """For each pair, that b is not worse than a by the margin, and that it is not better by it."""
    margin = part.settings.margins.get(part.quantity.name)
    ones = np.ones(len(part))
    if margin is None or not len(part):
        return ones, ones
    low, high = ones.copy(), ones.copy()
    values, sign = part.tested, -1.0 if part.quantity.better == "lower" else 1.0
    at_once = max(1, _CELLS // part.values.shape[1])
    for start in range(0, len(part), at_once):
        some = slice(start, start + at_once)
        a, b = part.first[some], part.second[some]
        a, b = (b, a) if turned else (a, b)
        change = sign * (values[b] - values[a])
        if part.quantity.is_geometric:  # a share of the mean is a difference of logarithms
            down, up = (
                np.full(change.shape, size) for size in (-np.log1p(-margin.size), np.log1p(margin.size))
            )
        else:
            down = up = margin.reach(values[a])
        if part.clusters is not None:
            change, down, up = (part.clusters.shares(each) for each in (change, down, up))
        # Systems with the same values are equivalent on these queries, as the gate passes what changed nothing.
        differ = change.any(axis=-1)
        low[some] = np.where(differ, careful_p(change, down), 0.0)
        high[some] = np.where(differ, careful_p(-change, up), 0.0)
    return low, high
