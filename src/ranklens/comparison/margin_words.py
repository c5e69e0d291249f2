"""What a margin decides, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.words import plural, several

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.results import PairResult


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
    return f" Up to the margin of {margin}, {'; '.join(said)}." if said else ""


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
