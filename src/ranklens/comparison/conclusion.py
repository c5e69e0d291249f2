"""One conclusion from several measures and slices: it names where they disagree, in place of advice that contradicts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.comparison import margins
from ranklens.comparison.alignment import Quantity
from ranklens.comparison.wording import superior
from ranklens.errors import MeasureError, nearest
from ranklens.words import plural, several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.settings import Settings


def primary_measure(settings: Settings, quantities: Sequence[Quantity]) -> str | None:
    """The canonical name of the primary measure: the one named, else the first that can speak for a system.

    None if all measures are one family, whose p-values are corrected over all of them.
    """
    by_name = {quantity.name: quantity for quantity in quantities}
    name = settings.primary
    if name is None:
        rated = (one.name for one in quantities if one.is_tested and one.better != "neither")
        return next(rated, None) if settings.family == "measure" else None
    primary = name if name in by_name else Quantity.named(name).name
    if primary not in by_name:
        raise MeasureError(f"The primary measure {name} is not compared: {nearest(primary, by_name)}")
    if not by_name[primary].is_tested:
        raise MeasureError(f"The primary measure {primary} is a count, which is not tested: choose another.")
    return primary


def conclusion(comparison: Comparison) -> str:
    """What follows from all measures and slices together; empty where each measure says it already, and none contradicts."""
    if len(comparison.systems) < 2:
        return ""
    winners, said = _winners(comparison), []
    if comparison.primary is not None:
        said += _by_primary(comparison, comparison.primary, winners)
        winners = {measure: system for measure, system in winners.items() if measure == comparison.primary}
    elif len({*winners.values()}) > 1:
        by = "; ".join(
            f"{system} by {several([comparison.shown(name) for name, best in winners.items() if best == system])}"
            for system in {**dict.fromkeys(winners.values())}
        )
        said.append(
            f"The measures disagree on which system to choose: {by}. Decide which measure counts, and name it with primary= before "
            "you look at new queries."
        )
    for measure, winner in winners.items():
        lost = _lost(comparison, measure, winners)
        if lost:
            where = "; ".join(f"{system} is better in {several(parts)}" for system, parts in lost.items())
            said.append(
                f"By {comparison.shown(measure)}, {winner} is better over all queries, but not everywhere: {where}. "
                "Choose by slice if you can tell the slice of a new query, else by how often each slice occurs."
            )
    return " ".join(said)


def disagree(comparison: Comparison) -> bool:
    """Whether the recommendation is in dispute: between measures without a primary one, or by a slice."""
    winners = _winners(comparison)
    if comparison.primary is not None:
        winners = {measure: system for measure, system in winners.items() if measure == comparison.primary}
    return len({*winners.values()}) > 1 or any(_lost(comparison, measure, winners) for measure in winners)


def _winners(comparison: Comparison) -> dict[str, str]:
    """By measure, the system that it speaks for: better than all others, or the only one better than the baseline."""
    winners = {}
    for measure in comparison.measures:
        quantity = comparison.quantity(measure)
        if not quantity.is_tested or quantity.better == "neither" or len(comparison.systems) < 2:
            continue
        best, *others = comparison.ranked(measure)
        if comparison.baseline is None:
            if comparison.told_apart(measure, best) == {*others}:
                winners[measure] = best
            continue
        ranked = [best, *others]
        above = ranked[: ranked.index(comparison.baseline)]
        different = comparison.told_apart(measure, comparison.baseline)
        better = [system for system in above if system in different]
        if len(better) == 1 or (not better and different == {*ranked} - {comparison.baseline}):
            winners[measure] = better[0] if better else comparison.baseline
    return winners


def _lost(comparison: Comparison, measure: str, winners: dict[str, str]) -> dict[str, list[str]]:
    """By system, the slices in which it is better than the winner."""
    lost: dict[str, list[str]] = {}
    for part in comparison.slices:
        for ahead, behind in part.pairs.won(measure):
            if behind == winners[measure]:
                lost.setdefault(ahead, []).append(part.name)
    return lost


def _by_primary(comparison: Comparison, primary: str, winners: dict[str, str]) -> list[str]:
    """On which of several measures a recommendation rests, and which others contradict it."""
    others = [name for name in comparison.measures if comparison.quantity(name).is_tested and name != primary]
    if not others:
        return []
    said = f"Any recommendation rests on {comparison.shown(primary)} alone, the primary measure"
    if comparison.settings.family == "measure":
        shown = several([comparison.shown(name) for name in others])
        said += f"; {shown} {plural(len(others), 'is', 'are')} described only, not corrected over measures"
    winner = winners.get(primary)
    recommended = [] if winner is None else [winner]
    # Or those among which the measure leaves the choice, because the margin makes them equally good.
    best = comparison.baseline or comparison.ranked(primary)[0]
    equal = {best, *margins.as_good(comparison, primary, best)}
    open_ = {*comparison.systems} - comparison.told_apart(primary, best)
    if len(equal) > 1 and open_ <= equal and winner in (None, *equal):
        recommended = sorted(equal)
    sentences = [f"{said}."]
    for name in others if recommended else ():
        ranked = comparison.ranked(name)
        last = max(recommended, key=ranked.index)
        different = comparison.told_apart(name, last)
        ahead = [system for system in ranked[: ranked.index(last)] if system in different]
        if ahead and comparison.quantity(name).better != "neither":
            word, verb = superior(comparison.contrasts(name).terms), plural(len(ahead), "is", "are")
            sentences.append(
                f"By {comparison.shown(name)}, however, {several(ahead)} {verb} {word} than {last}."
            )
    return sentences
