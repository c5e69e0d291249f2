"""Which differences unjudged documents leave open: the systems' ranges overlap, although the test separates them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.residual.ranges import is_defined
from ranklens.words import plural, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.residual.ranges import Range

_CHEAP = 20_000  # retrieved documents of all systems: what is found out unasked takes no time


def ranges(comparison: Comparison, measure: str) -> dict[str, Range]:
    """By system, between which values the mean lies, whatever the grades of unjudged documents."""
    without = [name for name in comparison.systems if name not in comparison.scores]
    if without:
        raise InputError(
            f"{several(without)} {plural(len(without), 'has', 'have')} no rankings here, so nothing is known about unjudged documents."
        )
    return {name: comparison.scores[name].bounds(measure) for name in comparison.systems}


def ranges_frame(comparison: Comparison, measure: str) -> pl.DataFrame:
    """One row per system, best first: system, mean, low, high, open_to."""
    import polars as pl

    found = ranges(comparison, measure)
    ends = {name: (one.low, one.high) for name, one in found.items()}
    undecided = open_pairs(comparison, measure, ends)
    rows = [
        (
            name,
            comparison.result(measure, name).mean,
            *ends[name],
            [other for pair in undecided if name in pair for other in pair if other != name],
        )
        for name in comparison.ranked(measure)
    ]
    kinds = {"system": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**kinds, "open_to": pl.List(pl.String)}, orient="row")


def open_pairs(
    comparison: Comparison, measure: str, ends: dict[str, tuple[float, float]]
) -> list[tuple[str, str]]:
    """The pairs that the test separates while their ranges overlap, the better system first."""
    is_lower = comparison.quantity(measure).better == "lower"

    def overlap(ahead: str, behind: str) -> bool:
        first, second = (behind, ahead) if is_lower else (ahead, behind)
        return ends[first][0] <= ends[second][1]

    return [pair for pair in comparison.pairs.won(measure) if overlap(*pair)]


def cheap_ranges(comparison: Comparison) -> dict[str, dict[str, tuple[float, float]]]:
    """By measure and system, where nobody has to wait for it and judgments say what is not relevant; else nothing.

    A golden set names the expected documents alone: its unjudged documents are meant to be not relevant.
    """
    judged = [scores.judged for scores in comparison.scores.values()]
    if len(judged) < max(2, len(comparison.systems)) or comparison.aligned.left_out:
        return {}
    if sum(int(one.retrieved.sum()) for one in judged) > _CHEAP:
        return {}
    if not any((one.ideal.grade == 0).any() for one in judged):
        return {}
    asked = next(iter(comparison.scores.values())).measures
    known = [str(measure) for measure in asked if all(is_defined(measure, one) for one in judged)]
    return {
        measure: {name: (one.low, one.high) for name, one in ranges(comparison, measure).items()}
        for measure in known
        if measure in comparison.measures
    }


def told(comparison: Comparison, measure: str) -> str:
    """In words; empty if nothing is open."""
    found = comparison.open_pairs.get(measure, [])
    if not found:
        return ""
    ends = comparison.cheap_bounds[measure]
    ahead, behind = found[0]
    more = f" The same holds for {len(found) - 1:,} more." if len(found) > 1 else ""
    (low, high), (other_low, other_high) = ends[ahead], ends[behind]
    return (
        f"if unjudged documents were judged, {ahead} could have any mean in [{low:.3f}, {high:.3f}] and {behind} in "
        f"[{other_low:.3f}, {other_high:.3f}], so the order of the two is open although the test separates them.{more}"
    )
