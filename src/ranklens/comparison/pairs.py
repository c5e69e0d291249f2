"""Every tested pair of systems: p-values that are corrected together, and what each difference amounts to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ranklens.comparison import groups, verdicts
from ranklens.errors import InputError
from ranklens.stats import (
    CORRECTIONS,
    TESTS,
    EffectSize,
    Interval,
    adjust,
    detectable_difference,
    inputs,
    paired_test,
    tukey_hsd,
)
from ranklens.stats.effects import EffectSizes, effect_sizes
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.randomization import ALL_ORDERS, EXACT_UP_TO, range_p

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.comparison.alignment import Quantity

_TUKEY = ("tukey", "tukey-randomized")  # correct for all pairs by themselves
ALL_TESTS = (*TESTS, *_TUKEY)
_SAME = 1e-12  # means that differ by less, relative to the larger, are equal
_REMEMBERED = 5_000  # pairs that are not worked out again
# By test: the most resamples, and how many times a query is drawn in all before there are fewer.
_DRAWS = {
    "randomization": (100_000, 10**10),
    "bootstrap": (100_000, 10**9),
    "tukey-randomized": (10_000, 10**9),
}
_FEWEST = 10_000  # resamples, with which the standard error of p = 0.05 is 0.002
_PATIENCE = 60  # seconds
_CELLS = 1 << 18  # differences held at once
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
        inputs.choice(self.test, "test", ALL_TESTS)
        inputs.choice(self.correction, "correction", CORRECTIONS)
        inputs.share(self.alpha, "alpha", 0.05)
        inputs.share(self.level, "level")

    @property
    def is_tukey(self) -> bool:
        return self.test in _TUKEY

    @property
    def is_resampled(self) -> bool:
        return self.test in ("randomization", "bootstrap")


@dataclass(frozen=True)
class Family:
    """The tests that are corrected together: the pairs of a measure, over all slices."""

    systems: int
    pairs: int
    slices: int = 1


@dataclass(frozen=True)
class Terms:
    """How a pair was tested: by which measure, with which settings, together with which other tests."""

    quantity: Quantity
    settings: Settings
    family: Family


@dataclass(frozen=True)
class PairResult:
    """Two systems on one measure; every number describes b compared with a.

    ``significant`` says that ``adjusted_p`` is not above alpha and that the test favours the system with the better mean:
    the sign and Wilcoxon tests can favour the other.
    ``difference`` is the mean of b minus that of a. For a geometric mean (``gm_AP``) the logarithms are compared:
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
    terms: Terms = field(repr=False, compare=False)

    @cached_property
    def verdict(self) -> str:
        """Which system is better, by how much and how surely, in words."""
        return verdicts.of_pair(self)


@dataclass(frozen=True)
class Contrasts:
    """The tested pairs of one measure over some queries; a pair is computed on access, because there may be many."""

    quantity: Quantity
    systems: tuple[str, ...]
    values: FloatArray  # systems × queries
    part: str | None  # the slice
    first: IntArray  # the systems of each pair
    second: IntArray
    p_values: FloatArray
    adjusted: FloatArray
    significant: BoolArray
    settings: Settings
    family: Family
    _seen: dict[tuple[int, int], PairResult] = field(default_factory=dict, repr=False, compare=False)
    told: dict[int, list[str]] = field(default_factory=dict, repr=False, compare=False)  # verdicts, by block

    def __len__(self) -> int:
        return len(self.first)

    def at(self, index: int) -> PairResult:
        return self._result(index, int(self.first[index]), int(self.second[index]))

    def between(self, a: str, b: str) -> PairResult:
        """The pair in the order asked for."""
        i, j = self.systems.index(a), self.systems.index(b)
        known = self._where
        if (i, j) not in known and (j, i) not in known:
            raise InputError(f"{a} and {b} were not compared: only pairs with the baseline were.")
        return self._result(known.get((i, j), known.get((j, i), 0)), i, j)

    @cached_property
    def _where(self) -> dict[tuple[int, int], int]:
        pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return {pair: i for i, pair in enumerate(pairs)}

    @cached_property
    def different(self) -> BoolArray:
        """Systems × systems: which were shown to differ."""
        found = np.zeros((len(self.systems), len(self.systems)), dtype=bool)
        found[self.first, self.second] = self.significant
        return found | found.T

    @cached_property
    def means(self) -> list[float]:
        """One per system."""
        return [self.quantity.mean(row) for row in self.values]

    @cached_property
    def order(self) -> list[int]:
        """The systems, best first; of equal ones the first given comes first."""
        return self.quantity.best_first(self.means)

    @cached_property
    def groups(self) -> list[list[int]]:
        """Systems that cannot be told apart, best first; a system can be in several groups.

        None with a baseline: the other systems were not tested against each other.
        Where that takes more groups than there are letters: systems that cannot be told apart from the best of their group.
        """
        if self.settings.baseline is not None:
            return []
        different = self.different[np.ix_(self.order, self.order)]
        found = groups.groups(different) or groups.tiers(different)
        return [[self.order[place] for place in group] for group in found]

    @property
    def has_tiers(self) -> bool:
        """Whether a group holds systems that differ."""
        return any(self.different[np.ix_(group, group)].any() for group in self.groups)

    @property
    def alpha(self) -> float:
        """What a single p-value has to stay below in the worst case."""
        strict = self.settings.is_tukey or self.settings.correction in _STRICT
        return self.settings.alpha / self.family.pairs if strict else self.settings.alpha

    @property
    def is_exact(self) -> bool:
        """Whether the test counts all possibilities for any pair, as there are so few queries."""
        return self.settings.test == "randomization" and self.values.shape[1] <= EXACT_UP_TO

    @cached_property
    def exact_pairs(self) -> int:
        """How many pairs differ in so few queries that all possibilities were counted."""
        if self.settings.test != "randomization":
            return 0
        values, pairs = self.quantity.for_tests(self.values), zip(self.first, self.second, strict=True)
        changed = (np.count_nonzero(inputs.differences(values[i], values[j])) for i, j in pairs)
        return sum(int(count) <= EXACT_UP_TO for count in changed)

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that the test can give over so many queries, however large the difference."""
        n, test = self.values.shape[1], self.settings.test
        by_signs = 2.0 ** (1 - n) if test in ("randomization", "wilcoxon", "sign") else 0.0
        is_drawn = self.settings.is_resampled and not self.is_exact
        return max(by_signs, 1 / (self.settings.resamples + 1) if is_drawn else 0.0)

    @cached_property
    def detectable_effect(self) -> float:
        """For differences with a standard deviation of 1."""
        return detectable_difference(1.0, self.values.shape[1], alpha=self.alpha)

    @cached_property
    def terms(self) -> Terms:
        return Terms(self.quantity, self.settings, self.family)

    @cached_property
    def _tested(self) -> FloatArray:
        return self.quantity.for_tests(self.values)

    @cached_property
    def mean_sizes(self) -> FloatArray:
        """How far the systems' means are from 0."""
        return np.asarray(np.abs(self._tested.mean(axis=1)))

    def blocks(self) -> Iterator[Block]:
        """All pairs, so many at a time that memory stays bounded."""
        at_once = max(1, _CELLS // self.values.shape[1])
        for start in range(0, len(self), at_once):
            yield self._block(np.arange(start, min(start + at_once, len(self))))

    def _block(self, index: IntArray, *, turned: bool = False) -> Block:
        """Some pairs; ``turned`` with their systems exchanged."""
        a, b = self.first[index], self.second[index]
        a, b = (b, a) if turned else (a, b)
        changes = inputs.differences(self._tested[a], self._tested[b])
        effects = effect_sizes(changes, level=self.settings.level, bounds=self.quantity.test_bounds)
        return Block(self, index, a, b, effects)

    def _result(self, index: int, a: int, b: int) -> PairResult:
        found = self._seen.get((a, b))
        if found is None:
            found = next(self._block(np.array([index]), turned=a != self.first[index]).results())
        if len(self._seen) < _REMEMBERED:
            self._seen[a, b] = found
        return found


@dataclass(frozen=True)
class Block:
    """Some pairs of a measure, with what their differences amount to: arrays with one value per pair."""

    contrasts: Contrasts
    index: IntArray
    a: IntArray
    b: IntArray
    effects: EffectSizes

    @property
    def difference(self) -> FloatArray:
        """0 for means that are equal but for how they were added up."""
        found, size = self.effects.difference, np.maximum(*(self.contrasts.mean_sizes[[self.a, self.b]]))
        return np.where(np.abs(found) <= _SAME * size, 0.0, found)

    @property
    def detectable(self) -> FloatArray:
        if self.effects.n < 2:
            return np.full(len(self.index), np.inf)
        return self.effects.deviation * self.contrasts.detectable_effect

    def verdicts(self) -> list[str]:
        """In words; they take longer than all numbers, so they are kept."""
        first = int(self.index[0])
        if first not in self.contrasts.told:
            self.contrasts.told[first] = [pair.verdict for pair in self.results()]
        return self.contrasts.told[first]

    def results(self) -> Iterator[PairResult]:
        of, n, difference, detectable = self.contrasts, self.effects.n, self.difference, self.detectable
        for place, (index, a, b) in enumerate(
            zip(self.index.tolist(), self.a.tolist(), self.b.tolist(), strict=True)
        ):
            effect = self.effects.at(place)
            yield PairResult(
                measure=of.quantity.name,
                a=of.systems[a],
                b=of.systems[b],
                slice=of.part,
                n=n,
                mean_a=of.means[a],
                mean_b=of.means[b],
                difference=float(difference[place]),
                interval=effect.interval,
                p_value=float(of.p_values[index]),
                adjusted_p=float(of.adjusted[index]),
                significant=bool(of.significant[index]),
                effect=effect,
                wins=effect.wins,
                ties=effect.ties,
                losses=effect.losses,
                detectable=float(detectable[place]),
                terms=of.terms,
            )


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


def contrasts(
    quantities: Sequence[Quantity],
    systems: tuple[str, ...],
    parts: Mapping[str | None, Mapping[str, FloatArray]],
    settings: Settings,
) -> dict[str | None, list[Contrasts]]:
    """Test all pairs, or all with the baseline, in each part of the queries; correct over all tests of a measure."""
    first, second = _pairs(systems, settings.baseline)
    family = Family(len(systems), len(first) * len(parts), len(parts))
    tested = [quantity for quantity in quantities if quantity.is_tested]
    p_values = {
        name: _p_values([q.for_tests(values[q.name]) for q in tested], first, second, settings)
        for name, values in parts.items()
    }
    found: dict[str | None, list[Contrasts]] = {name: [] for name in parts}
    for i, quantity in enumerate(tested):
        adjusted = _adjusted([p[i] for p in p_values.values()], settings)
        for (name, values), corrected in zip(parts.items(), adjusted, strict=True):
            numbers, p = values[quantity.name], p_values[name][i]
            is_small = corrected <= settings.alpha
            is_small &= _speaks_for_the_better_mean(quantity.for_tests(numbers), first, second, settings)
            found[name].append(
                Contrasts(
                    quantity, systems, numbers, name, first, second, p, corrected, is_small, settings, family
                )
            )
    return found


@dataclass(frozen=True)
class Size:
    """How much is compared."""

    systems: int
    measures: int
    queries: int

    def pairs(self, settings: Settings) -> int:
        with_all = self.systems * (self.systems - 1) // 2
        return with_all if settings.baseline is None else self.systems - 1


def affordable(asked: Settings, size: Size) -> Settings:
    """The number of resamples for so many queries; and another test in place of one that nobody would wait for."""
    settings = replace(asked, resamples=_resamples(asked, size))
    if not (corrected_away(settings, size.pairs(settings)) or _seconds(settings, size) > _PATIENCE):
        return settings
    return replace(settings, test="tukey" if settings.is_tukey else "t")


def corrected_away(settings: Settings, pairs: int) -> bool:
    """Whether no p-value of a resampled test stays small.

    The smallest is one in the number of resamples. Corrected for many pairs that is not small, so all systems would look alike.
    """
    too_many = 2 * pairs > settings.alpha * settings.resamples
    return settings.is_resampled and too_many


def _resamples(settings: Settings, size: Size) -> int:
    """Fewer where there are very many queries, but enough for the smallest corrected p-value to be a twentieth of alpha."""
    if settings.test not in _DRAWS:
        return settings.resamples
    most, draws = _DRAWS[settings.test]
    needed = 0 if settings.is_tukey else math.ceil(20 * size.pairs(settings) / settings.alpha)
    return min(most, max(_FEWEST, needed, draws // size.queries // 1000 * 1000))


def _seconds(settings: Settings, size: Size) -> float:
    """About how long the resampling takes, as measured by benchmarks/comparisons.py."""
    rows = size.systems * size.measures
    per_draw = {
        "randomization": 0.06 * rows,
        "bootstrap": 6 + 0.5 * size.pairs(settings) * size.measures,
        "tukey-randomized": (0.7 if size.systems <= ALL_ORDERS else 7) * rows,
    }
    return 1e-9 * per_draw.get(settings.test, 0.0) * size.queries * settings.resamples


def _pairs(systems: Sequence[str], baseline: str | None) -> tuple[IntArray, IntArray]:
    if baseline is None:
        first, second = np.triu_indices(len(systems), 1)
        return first, second
    base = systems.index(baseline)
    others = np.delete(np.arange(len(systems)), base)
    return np.full(len(others), base), others


def _p_values(
    values: Sequence[FloatArray], first: IntArray, second: IntArray, settings: Settings
) -> list[FloatArray]:
    """For each measure one for each pair, from the same random numbers, so that the order of systems does not matter."""
    if not len(first):
        return [np.zeros(0) for _ in values]
    if not settings.is_tukey:
        how: dict[str, Any] = {"method": settings.test, "rng": settings.seed, "resamples": settings.resamples}
        return pairwise_p(values, first, second, **how)
    if settings.test == "tukey":
        found = [tukey_hsd(scores, rng=settings.seed).p_values for scores in values]
    else:
        found = range_p(values, inputs.generator(settings.seed), settings.resamples)
    return [p[first, second] for p in found]


def _speaks_for_the_better_mean(
    values: FloatArray, first: IntArray, second: IntArray, settings: Settings
) -> BoolArray:
    """Whether the test found the difference in the direction of the means, which those of ranks and signs need not."""
    if settings.test not in ("sign", "wilcoxon"):
        return np.ones(len(first), dtype=bool)
    means = values.mean(axis=1)
    pairs = zip(first, second, strict=True)
    found = [paired_test(values[i], values[j], method=settings.test).statistic for i, j in pairs]
    return np.asarray(np.sign(found) == np.sign(means[second] - means[first]))


def _adjusted(p_values: Sequence[FloatArray], settings: Settings) -> list[FloatArray]:
    """Corrected over the slices too; Tukey's test already corrects for the pairs."""
    if settings.is_tukey:
        return [np.minimum(p * len(p_values), 1.0) for p in p_values]
    together = adjust(np.concatenate(p_values), method=settings.correction)
    return np.split(together, len(p_values))
