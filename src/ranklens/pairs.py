"""Every tested pair of systems: p-values that are corrected together, and what each difference amounts to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from ranklens import verdicts
from ranklens.errors import InputError, nearest
from ranklens.stats import (
    CORRECTIONS,
    TESTS,
    EffectSize,
    Interval,
    adjust,
    detectable_difference,
    effect_size,
    paired_test,
    tukey_hsd,
)

if TYPE_CHECKING:
    from ranklens.alignment import Quantity
    from ranklens.judged import BoolArray, FloatArray

_TUKEY = ("tukey", "tukey-randomized")  # correct for all pairs by themselves
ALL_TESTS = (*TESTS, *_TUKEY)
_STRICT = ("bonferroni", "holm", "hochberg")  # keep the chance of any false discovery below alpha


@dataclass(frozen=True)
class Settings:
    """How differences are tested."""

    baseline: str | None = None
    test: str = "randomization"
    correction: str = "holm"
    alpha: float = 0.05
    level: float = 0.95
    seed: int = 0
    resamples: int = 100_000

    def __post_init__(self) -> None:
        for name, allowed in (("test", ALL_TESTS), ("correction", CORRECTIONS)):
            given = getattr(self, name)
            if given not in allowed:
                raise InputError(f"{name}={given!r} is not allowed: {nearest(str(given), allowed)}")
        for name, example in (("alpha", 0.05), ("level", 0.95)):
            given = getattr(self, name)
            if not 0 < given < 1:
                raise InputError(
                    f"{name}={given!r} is not allowed: it is a share between 0 and 1, such as {example}."
                )

    @property
    def is_tukey(self) -> bool:
        return self.test in _TUKEY


@dataclass(frozen=True)
class Family:
    """The tests that are corrected together: the pairs of a measure, over all slices."""

    systems: int
    pairs: int
    slices: int = 1


@dataclass(frozen=True)
class PairResult:
    """Two systems on one measure; every number is of b compared with a.

    ``difference`` is the mean of b less that of a. For a geometric mean (``gm_AP``) the logarithms are compared:
    ``difference``, ``interval``, ``effect`` and ``detectable`` are theirs, and ``exp(difference)`` is the factor between the means.
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
    verdict: str = ""


@dataclass(frozen=True)
class Contrasts:
    """The tested pairs of one measure over some queries; a pair is worked out when it is looked at, as there may be many."""

    quantity: Quantity
    systems: tuple[str, ...]
    values: FloatArray  # systems × queries
    part: str | None  # the slice
    first: Sequence[int]  # the systems of each pair
    second: Sequence[int]
    p_values: FloatArray
    adjusted: FloatArray
    settings: Settings
    family: Family

    def __len__(self) -> int:
        return len(self.first)

    def at(self, index: int) -> PairResult:
        return self._result(index, self.first[index], self.second[index])

    def between(self, a: str, b: str) -> PairResult:
        """The pair in the order asked for."""
        i, j = self.systems.index(a), self.systems.index(b)
        known = self._where
        if (i, j) not in known and (j, i) not in known:
            raise InputError(f"{a} and {b} were not compared: only pairs with the baseline were.")
        return self._result(known.get((i, j), known.get((j, i), 0)), i, j)

    @cached_property
    def _where(self) -> dict[tuple[int, int], int]:
        return {pair: i for i, pair in enumerate(zip(self.first, self.second, strict=True))}

    @property
    def different(self) -> BoolArray:
        """Systems × systems: which were shown to differ."""
        found = np.zeros((len(self.systems), len(self.systems)), dtype=bool)
        found[self.first, self.second] = self.adjusted <= self.settings.alpha
        return found | found.T

    @property
    def alpha(self) -> float:
        """What a single p-value has to stay below in the worst case."""
        strict = self.settings.is_tukey or self.settings.correction in _STRICT
        return self.settings.alpha / self.family.pairs if strict else self.settings.alpha

    def _result(self, index: int, a: int, b: int) -> PairResult:
        quantity, settings = self.quantity, self.settings
        before, after = self.values[a], self.values[b]
        tested = quantity.for_tests(before), quantity.for_tests(after)
        effect = effect_size(*tested, level=settings.level, bounds=quantity.test_bounds, rng=settings.seed)
        n = len(before)
        deviation = float(np.std(tested[1] - tested[0], ddof=1)) if n > 1 else 0.0
        found = PairResult(
            measure=quantity.name,
            a=self.systems[a],
            b=self.systems[b],
            slice=self.part,
            n=n,
            mean_a=quantity.mean(before),
            mean_b=quantity.mean(after),
            difference=effect.difference,
            interval=effect.interval,
            p_value=float(self.p_values[index]),
            adjusted_p=float(self.adjusted[index]),
            significant=bool(self.adjusted[index] <= settings.alpha),
            effect=effect,
            wins=effect.wins,
            ties=effect.ties,
            losses=effect.losses,
            detectable=detectable_difference(deviation, n, alpha=self.alpha),
        )
        return replace(found, verdict=verdicts.of_pair(found, quantity, settings, self.family))


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

    def __iter__(self) -> Iterator[PairResult]:
        return (part.at(i) for part in self.parts for i in range(len(part)))


def contrasts(
    quantity: Quantity,
    systems: tuple[str, ...],
    values_by_slice: dict[str | None, FloatArray],
    settings: Settings,
) -> list[Contrasts]:
    """Test all pairs, or all with the baseline, in each slice, and correct over all these tests."""
    first, second = _pairs(systems, settings.baseline)
    family = Family(len(systems), len(first) * len(values_by_slice), len(values_by_slice))
    found = [_p_values(quantity.for_tests(v), first, second, settings) for v in values_by_slice.values()]
    together = np.concatenate(found)
    if settings.is_tukey:
        adjusted = np.minimum(together * len(values_by_slice), 1.0)
    else:
        adjusted = adjust(together, method=settings.correction)
    parts = np.split(adjusted, len(values_by_slice))
    return [
        Contrasts(quantity, systems, values, name, first, second, p, part, settings, family)
        for (name, values), p, part in zip(values_by_slice.items(), found, parts, strict=True)
    ]


def _pairs(systems: Sequence[str], baseline: str | None) -> tuple[list[int], list[int]]:
    if baseline is not None:
        base = systems.index(baseline)
        others = [i for i in range(len(systems)) if i != base]
        return [base] * len(others), others
    upper = [(i, j) for i in range(len(systems)) for j in range(i + 1, len(systems))]
    return [i for i, _ in upper], [j for _, j in upper]


def _p_values(
    values: FloatArray, first: Sequence[int], second: Sequence[int], settings: Settings
) -> FloatArray:
    """One for each pair, from the same random numbers, so that neither the order nor the number of systems matters."""
    if not first:
        return np.zeros(0)
    if settings.is_tukey:
        together = tukey_hsd(values, randomized=settings.test != "tukey", rng=settings.seed)
        return together.p_values[list(first), list(second)]
    return np.array(
        [
            paired_test(
                values[i],
                values[j],
                method=settings.test,
                rng=settings.seed,
                resamples=settings.resamples,
            ).p_value
            for i, j in zip(first, second, strict=True)
        ]
    )
