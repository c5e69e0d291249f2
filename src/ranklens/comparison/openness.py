"""Which differences unjudged documents leave open: the systems' ranges overlap, although the difference is significant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.words import counted, plural, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.alignment import Aligned, Quantity
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.results import PairResult
    from ranklens.metrics.residual.ranges import Range
    from ranklens.scores import Scores

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

    ends = {name: (one.low, one.high) for name, one in ranges(comparison, measure).items()}
    undecided = open_pairs(comparison, measure, ends)
    rows = []
    for name in comparison.ranked(measure):
        open_to = [other for pair in undecided if name in pair for other in pair if other != name]
        rows.append((name, comparison.result(measure, name).mean, *ends[name], open_to))
    kinds = {"system": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**kinds, "open_to": pl.List(pl.String)}, orient="row")


def open_pairs(
    comparison: Comparison, measure: str, ends: Mapping[str, tuple[float, float]]
) -> list[tuple[str, str]]:
    """The pairs that differ significantly while their ranges overlap, the better system first."""
    quantity = comparison.quantity(measure)
    return [pair for pair in comparison.pairs.won(measure) if _overlap(quantity, ends, *pair)]


def _overlap(quantity: Quantity, ends: Mapping[str, tuple[float, float]], ahead: str, behind: str) -> bool:
    """Whether the lowest value of the better system is not above the highest of the other."""
    first, second = (behind, ahead) if quantity.better == "lower" else (ahead, behind)
    return ends[first][0] <= ends[second][1]


@dataclass(frozen=True, eq=False)
class Unjudged:
    """What unjudged documents leave open; computed on first access."""

    aligned: Aligned
    scores: Mapping[str, Scores]

    @cached_property
    def ranges(self) -> dict[str, dict[str, tuple[float, float]]]:
        """By measure and system, where it is quick and judgments say what is not relevant; else nothing.

        A golden set names the expected documents alone: its unjudged documents are meant to be not relevant.
        """
        from ranklens.metrics.residual.ranges import is_defined

        judged = [scores.judged for scores in self.scores.values() if scores.is_ranked]
        if len(judged) < max(2, len(self.aligned.systems)) or self.aligned.left_out:
            return {}
        is_cheap = sum(int(one.retrieved.sum()) for one in judged) <= _CHEAP
        if not is_cheap or not any((one.ideal.grade == 0).any() for one in judged):
            return {}
        compared = {quantity.name for quantity in self.aligned.quantities}
        ends: dict[str, dict[str, tuple[float, float]]] = {}
        for measure in next(iter(self.scores.values())).measures:
            if str(measure) in compared and all(is_defined(measure, one) for one in judged):
                bounds = {name: self.scores[name].bounds(measure) for name in self.aligned.systems}
                ends[str(measure)] = {name: (one.low, one.high) for name, one in bounds.items()}
        return ends

    def leaves_open(self, pair: PairResult) -> bool:
        """Whether the two could be the other way round, although their difference is significant; over all queries."""
        if not pair.significant or pair.slice is not None or pair.measure not in self.ranges:
            return False
        quantity = pair.terms.quantity
        is_a_ahead = (pair.difference < 0) != (quantity.better == "lower")
        ahead, behind = (pair.a, pair.b) if is_a_ahead else (pair.b, pair.a)
        return _overlap(quantity, self.ranges[pair.measure], ahead, behind)


def told(comparison: Comparison, measure: str) -> str:
    """In words; empty if nothing is open."""
    pairs = comparison.open_pairs.get(measure, [])
    if not pairs:
        return ""
    ends = comparison.cheap_bounds[measure]
    ahead, behind = pairs[0]
    more = f" So is that of {counted(len(pairs) - 1, 'more pair')}." if len(pairs) > 1 else ""
    return (
        f"if unjudged documents were judged, the mean of {ahead} would be {_span(*ends[ahead])} and that of {behind} "
        f"{_span(*ends[behind])}, so the order of the two is open although their difference is significant.{more}"
    )


def _span(low: float, high: float) -> str:
    return f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"between {low:.3f} and {high:.3f}"
