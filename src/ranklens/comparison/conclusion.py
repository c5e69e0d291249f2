"""One conclusion from several measures and slices: it names where they disagree, in place of advice that contradicts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.words import several

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison


def conclusion(comparison: Comparison) -> str:
    """What follows from all measures and slices together; empty where each measure says it already, and none contradicts."""
    if len(comparison.systems) < 2:
        return ""
    winners = _winners(comparison)
    if comparison.primary is not None and len(comparison.measures) > 1:
        return _by_primary(comparison, winners)
    if not comparison.is_divided:
        return ""
    told = []
    if len({*winners.values()}) > 1:
        by = "; ".join(
            f"{system} by {several(_measures(comparison, winners, system))}"
            for system in {**dict.fromkeys(winners.values())}
        )
        told.append(
            f"The measures disagree on which system to choose: {by}. Decide which measure counts, and name it with primary= before "
            "you look at new queries."
        )
    told += _exceptions(comparison, winners)
    return " ".join(told)


def disagree(comparison: Comparison) -> bool:
    """Whether measures speak for different systems, or a slice for another than all queries together."""
    winners = _winners(comparison)
    return len({*winners.values()}) > 1 or any(_lost(comparison, measure, winners) for measure in winners)


def _winners(comparison: Comparison) -> dict[str, str]:
    """By measure, the system that it speaks for: better than all others, or the only one better than the baseline."""
    found = {}
    for measure in comparison.measures:
        quantity = comparison.quantity(measure)
        if not quantity.is_tested or quantity.better == "neither" or len(comparison.systems) < 2:
            continue
        best, *others = comparison.ranked(measure)
        if comparison.baseline is None:
            if comparison.told_apart(measure, best) == {*others}:
                found[measure] = best
            continue
        ranked = [best, *others]
        above = ranked[: ranked.index(comparison.baseline)]
        different = comparison.told_apart(measure, comparison.baseline)
        better = [system for system in above if system in different]
        if len(better) == 1 or (not better and different == {*ranked} - {comparison.baseline}):
            found[measure] = better[0] if better else comparison.baseline
    return found


def _lost(comparison: Comparison, measure: str, winners: dict[str, str]) -> dict[str, list[str]]:
    """By system, the slices in which it is better than the winner."""
    found: dict[str, list[str]] = {}
    for part in comparison.slices:
        for ahead, behind in part.pairs.won(measure):
            if behind == winners[measure]:
                found.setdefault(ahead, []).append(part.name)
    return found


def _exceptions(comparison: Comparison, winners: dict[str, str]) -> list[str]:
    told = []
    for measure, winner in winners.items():
        lost = _lost(comparison, measure, winners)
        if lost:
            where = "; ".join(f"{system} is better in {several(parts)}" for system, parts in lost.items())
            told.append(
                f"By {comparison.shown(measure)}, {winner} is better over all queries, but not everywhere: {where}. "
                "Choose by slice if you can tell the slice of a new query, else by how often each slice occurs."
            )
    return told


def _by_primary(comparison: Comparison, winners: dict[str, str]) -> str:
    primary = str(comparison.primary)
    winner, shown = winners.get(primary), comparison.shown(primary)
    others = {
        measure: system for measure, system in winners.items() if measure != primary and system != winner
    }
    told = [
        f"{shown} decides: choose {winner}."
        if winner
        else f"{shown} decides, and by it no system can be chosen."
    ]
    if others:
        names = dict.fromkeys(others.values())
        by = "; ".join(f"{several(_measures(comparison, others, system))} for {system}" for system in names)
        told.append(f"Other measures speak for another system: {by}.")
    if winner:
        told += _exceptions(comparison, {primary: winner})
    return " ".join(told)


def _measures(comparison: Comparison, winners: dict[str, str], system: str) -> list[str]:
    return [comparison.shown(measure) for measure, found in winners.items() if found == system]
