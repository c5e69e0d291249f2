"""What a comparison finds: one system on one measure, two of them, and the pairs of all measures in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from ranklens.comparison import wording

if TYPE_CHECKING:
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.settings import HowTested
    from ranklens.stats import Decision, EffectSize, Interval


@dataclass(frozen=True)
class SystemResult:
    """One system on one measure. ``group`` holds letters: systems that share one do not differ significantly.

    There are no letters with a baseline (the others were not tested against each other) or for a single system.
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
class PairResult:
    """Two systems on one measure; every number describes b compared with a.

    ``wins`` counts the queries where b has the better value (where neither end is better: the higher one), and the effect's
    ``probability`` is that of b being better. ``difference``, its interval and the standardised effects keep the sign of
    ``mean_b - mean_a``, whichever end is better.
    ``significant`` says that ``adjusted_p`` is not above alpha and that the test favours the system with the better mean:
    the sign and Wilcoxon tests can favour the other.
    ``difference`` is the mean of b minus that of a. For a geometric mean (``gm_AP``) the logarithms are compared:
    ``difference``, ``interval``, ``effect`` and ``detectable`` are theirs, and ``exp(difference)`` is the factor between the means.
    With a margin, ``decision`` says whether b is better than a, no worse, equivalent, worse, or whether that is undecided.
    """

    measure: str
    a: str
    b: str
    slice: str | None
    n: int
    mean_a: float
    mean_b: float
    difference: float
    interval: Interval
    p_value: float
    adjusted_p: float
    significant: bool
    effect: EffectSize
    wins: int
    ties: int
    losses: int
    detectable: float
    deviation: float
    terms: HowTested = field(repr=False, compare=False)
    decision: Decision | None = None
    reverse_decision: Decision | None = None  # of a compared with b

    @cached_property
    def is_open(self) -> bool:
        """Whether unjudged documents could turn the difference round, although the difference is significant.

        Only where judgments say what is not relevant and few documents were retrieved; :meth:`ranklens.Comparison.bounds` always answers.
        """
        unjudged = self.terms.unjudged
        return unjudged is not None and unjudged.leaves_open(self)

    @cached_property
    def verdict(self) -> str:
        """Which system is better, by how much and how surely, in words."""
        return wording.of_pair(self)


class Pairs(Sequence[PairResult]):
    """The pairs of all measures, one after the other."""

    def __init__(self, parts: Sequence[Contrasts]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    @overload
    def __getitem__(self, index: int) -> PairResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PairResult, ...]: ...
    def __getitem__(self, index: int | slice) -> PairResult | tuple[PairResult, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        place = range(len(self))[index]
        for part in self.parts:
            if place < len(part):
                return part.at(place)
            place -= len(part)
        raise IndexError(index)

    def won(self, measure: str) -> Iterator[tuple[str, str]]:
        """The pairs of a measure that differ, the better system first."""
        for part in self.parts:
            if part.quantity.name == measure:
                place = {system: i for i, system in enumerate(part.order)}
                for a, b in zip(*np.nonzero(np.triu(part.different)), strict=True):
                    ahead, behind = sorted((int(a), int(b)), key=lambda system: place[system])
                    yield part.systems[ahead], part.systems[behind]

    def __iter__(self) -> Iterator[PairResult]:
        return (pair for part in self.parts for block in part.blocks() for pair in block.results())
