"""Whether systems are no worse than others, or equivalent, up to a margin: one decision per pair and direction, and its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison import alignment
from ranklens.errors import MeasureError, nearest
from ranklens.stats.margins import Decision, Margin, careful_p, decide
from ranklens.stats.ppi import powered
from ranklens.words import plural, several

if TYPE_CHECKING:
    from collections.abc import Callable

    from ranklens.arrays import FloatArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.results import PairResult
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
    if part.labels is not None:
        a, b = (part.second, part.first) if turned else (part.first, part.second)
        reach = 2 * (part.quantity.bounds.high - part.quantity.bounds.low)
        labels = part.labels
        better, worse = (
            labels.changed(lambda row, way=way: way * (row[b] - row[a]) + margin.reach(row[a]))  # type: ignore[misc]
            for way in (sign, -sign)
        )
        return powered(better, reach=reach).tail(), powered(worse, reach=reach).tail()
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


def of_pair(pair: PairResult) -> str:
    """What the margin adds to the verdict on a pair; empty where that says it already, or there is none."""
    margin = pair.terms.settings.margins.get(pair.measure)
    if pair.ties == pair.n:
        return ""
    if pair.decision == "equivalent" and pair.significant:
        return f"they differ, but by less than the margin of {margin}"
    if pair.decision == "equivalent":
        return f"up to the margin of {margin} they are equivalent"
    if pair.decision == "no worse":
        return f"{pair.b} is no worse than {pair.a}, up to the margin of {margin}"
    if pair.decision == "undecided":
        return f"with a margin of {margin}, it is undecided whether {pair.b} is as good as {pair.a}"
    return ""


def of_measure(comparison: Comparison, measure: str) -> str:
    """How the others compare with the baseline, or with the best system, up to the margin; empty if there is none."""
    margin = comparison.settings.margins.get(measure)
    if margin is None or len(comparison.systems) < 2:
        return ""
    ranked = comparison.ranked(measure)
    reference = comparison.baseline or ranked[0]
    decided: dict[str | None, list[str]] = {}
    for system in ranked:
        if system != reference and (pair := comparison.pair(measure, reference, system)).ties < pair.n:
            decided.setdefault(pair.decision, []).append(system)
    words = {"equivalent": f"equivalent to {reference}", "no worse": f"no worse than {reference}"}
    said = [
        f"{several(names)} {plural(len(names), 'is', 'are')} {word}"
        for decision, word in words.items()
        if (names := decided.get(decision))
    ]
    if open_ := decided.get("undecided"):
        said.append(
            f"it is undecided whether {several(open_)} {plural(len(open_), 'is', 'are')} as good as {reference}"
        )
    return f" Within the margin of {margin}, {'; '.join(said)}." if said else ""


def as_good(comparison: Comparison, measure: str, best: str) -> list[str]:
    """The systems that the margin makes as good as this one, best first."""
    if measure not in comparison.settings.margins:
        return []
    others = [system for system in comparison.ranked(measure) if system != best]
    pairs = (comparison.pair(measure, best, other) for other in others)
    return [pair.b for pair in pairs if pair.decision == "equivalent" and pair.ties < pair.n]


def equivalent(comparison: Comparison, measure: str, best: str, others: list[str]) -> bool:
    """Whether the margin makes all of these as good as the best."""
    return bool(others) and {*others} <= {*as_good(comparison, measure, best)}
