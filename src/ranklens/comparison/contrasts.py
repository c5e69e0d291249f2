"""The tested pairs of one measure as arrays: p-values, and what each difference amounts to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.comparison import groups, wording
from ranklens.comparison.alignment import settled
from ranklens.comparison.results import PairResult
from ranklens.comparison.settings import smallest_p
from ranklens.errors import InputError
from ranklens.stats import Bounds, detectable_difference, inputs
from ranklens.stats.bounded import sparse_ends
from ranklens.stats.clusters import cluster_ends
from ranklens.stats.effects import METHODS, EffectSizes, cliff_deltas, effect_sizes, joined
from ranklens.stats.ppi import Labels, Powered, powered
from ranklens.stats.ppi import joined as all_rows
from ranklens.stats.randomization import EXACT_UP_TO

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.settings import Family, HowTested, Settings
    from ranklens.stats import Clusters, Decision, Simultaneous

_SAME = 1e-12  # means that differ by less, relative to the larger, are equal
_REMEMBERED = 5_000  # pairs that are not worked out again
_CELLS = 1 << 17  # differences held at once; more would not stay in the cache
_ROWS, _MOST_CELLS = 1 << 11, 1 << 22  # pairs of a block, and their differences


@dataclass(frozen=True)
class Contrasts:
    """The tested pairs of one measure over some queries; a pair is computed on access, because there may be many."""

    terms: HowTested
    systems: tuple[str, ...]
    values: FloatArray  # systems × queries
    part: str | None  # the slice
    first: IntArray  # the systems of each pair
    second: IntArray
    p_values: FloatArray
    adjusted: FloatArray
    significant: BoolArray
    clusters: Clusters | None = None  # of the queries
    joint: Simultaneous | None = None  # intervals that hold together
    labels: Labels | None = None  # of people and a model, where a model has labelled queries
    # Of each pair, and with its systems exchanged.
    decisions: tuple[list[Decision], list[Decision]] | None = None
    _seen: dict[tuple[int, int], PairResult] = field(default_factory=dict, repr=False, compare=False)
    told: dict[int, list[str]] = field(default_factory=dict, repr=False, compare=False)  # verdicts, by block
    _measured: dict[int, EffectSizes] = field(default_factory=dict, repr=False, compare=False)  # by block

    def __len__(self) -> int:
        return len(self.first)

    @property
    def quantity(self) -> Quantity:
        return self.terms.quantity

    @property
    def settings(self) -> Settings:
        return self.terms.settings

    @property
    def family(self) -> Family:
        return self.terms.family

    def at(self, index: int) -> PairResult:
        return self._result(index, int(self.first[index]), int(self.second[index]))

    def between(self, a: str, b: str) -> PairResult:
        """The pair in the order asked for."""
        return self._result(self.place(a, b), self.systems.index(a), self.systems.index(b))

    def place(self, a: str, b: str) -> int:
        """Where the pair is, whatever its order."""
        i, j = self.systems.index(a), self.systems.index(b)
        place = max(int(self._where[i, j]), int(self._where[j, i]))
        if place < 0:
            raise InputError(f"{a} and {b} were not compared: only pairs with the baseline were.")
        return place

    @cached_property
    def _where(self) -> IntArray:
        """Systems × systems: where each pair is; -1 where there is none."""
        places = np.full((len(self.systems), len(self.systems)), -1)
        places[self.first, self.second] = np.arange(len(self))
        return places

    @cached_property
    def different(self) -> BoolArray:
        """Systems × systems: which were shown to differ."""
        differ = np.zeros((len(self.systems), len(self.systems)), dtype=bool)
        differ[self.first, self.second] = self.significant
        return differ | differ.T

    @cached_property
    def ahead(self) -> BoolArray:
        """Systems × systems: which (rows) were shown to be better than which (columns)."""
        place = np.argsort(self.order)
        return np.asarray(self.different & (place[:, None] < place[None, :]))

    @cached_property
    def means(self) -> list[float]:
        """One per system."""
        if self.labels is not None:
            return list(map(settled, powered(self.labels).estimate.tolist()))
        return [self.quantity.mean(row) for row in self.values]

    @cached_property
    def order(self) -> list[int]:
        """The systems, best first; of equal ones the first given comes first."""
        return self.quantity.best_first(self.means)

    @cached_property
    def groups(self) -> list[list[int]]:
        """Systems that do not differ significantly, best first; a system can be in several groups.

        None with a baseline: the other systems were not tested against each other.
        None where the alphabet does not suffice for them, either.
        """
        if self.settings.baseline is not None:
            return []
        by_place = groups.groups(self.different[np.ix_(self.order, self.order)]) or []
        return [[self.order[place] for place in group] for group in by_place]

    @property
    def has_too_many_groups(self) -> bool:
        """Whether systems were tested against each other, but letters cannot say what was found."""
        return self.settings.baseline is None and len(self.systems) > 1 and not self.groups

    @cached_property
    def alpha(self) -> float:
        """What a single p-value has to stay below in the worst case."""
        return self.settings.hardest(max(1, self.family.pairs))

    @cached_property
    def exact_pairs(self) -> int:
        """How many pairs differ in so few queries that all possibilities were counted."""
        if self.terms.procedure.shared_draws != "signs":
            return 0
        values, pairs = self.units, zip(self.first, self.second, strict=True)
        changed = (np.count_nonzero(inputs.differences(values[i], values[j])) for i, j in pairs)
        return sum(int(count) <= EXACT_UP_TO for count in changed)

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that the test can give over ``n`` queries, however large the difference."""
        test, n = self.terms.procedure, self.units.shape[1]
        is_drawn = test.is_resampled and not test.is_exact(n)
        return max(smallest_p(self.terms.done, n), 1 / (self.settings.resamples + 1) if is_drawn else 0.0)

    @cached_property
    def detectable_effect(self) -> float:
        """For differences with a standard deviation of 1; infinite if the test cannot find any, however large."""
        n = self.units.shape[1]
        if smallest_p(self.terms.done, n) > self.alpha:
            return np.inf
        # Deviations are those of as many independent queries; clusters are fewer.
        return float(detectable_difference(1.0, n, alpha=self.alpha) * (n / self.values.shape[1]) ** 0.5)

    @cached_property
    def tested(self) -> FloatArray:
        """Systems × queries: the values whose means are compared."""
        return self.quantity.for_tests(self.values)

    @cached_property
    def units(self) -> FloatArray:
        """Systems × what is independent: the values of queries, or what clusters of them add to the mean."""
        return self.tested if self.clusters is None else self.clusters.shares(self.tested)

    @property
    def is_corrected_by_itself(self) -> bool:
        """Whether the test corrects for the number of pairs."""
        return self.settings.is_of_all_pairs or self.settings.is_joint

    def some_changes(self, most: int = 100) -> Iterator[FloatArray]:
        """The differences by query of the first pairs."""
        for i, j in zip(self.first[:most].tolist(), self.second[:most].tolist(), strict=True):
            yield inputs.differences(self.tested[i], self.tested[j])

    @cached_property
    def variances(self) -> FloatArray:
        """Of the systems' values."""
        return np.asarray(self.tested.var(axis=1, ddof=1))

    @cached_property
    def cliff(self) -> FloatArray:
        """Cliff's delta of each two systems: entry i, j of j compared with i."""
        return cliff_deltas(self.values)

    @cached_property
    def mean_sizes(self) -> FloatArray:
        """How far the systems' means are from 0."""
        return np.asarray(np.abs(self.tested.mean(axis=1)))

    def blocks(self) -> Iterator[PairBlock]:
        """All pairs, in portions that keep tables small; their effects are kept for the next table."""
        at_once = max(1, min(_ROWS, _MOST_CELLS // self.values.shape[1]))
        for start in range(0, len(self), at_once):
            index = np.arange(start, min(start + at_once, len(self)))
            if start not in self._measured:
                pieces = np.array_split(index, -(-index.size * self.values.shape[1] // _CELLS))
                effects = [self._block(piece).effects for piece in pieces if len(piece)]
                self._measured[start] = joined(effects)
            yield PairBlock(self, index, self.first[index], self.second[index], self._measured[start])

    def _block(self, index: IntArray, *, turned: bool = False) -> PairBlock:
        """Some pairs; ``turned`` with their systems exchanged."""
        a, b = self.first[index], self.second[index]
        a, b = (b, a) if turned else (a, b)
        changes = inputs.differences(self.tested[a], self.tested[b])
        better = self.quantity.better
        effects = effect_sizes(changes, level=self.settings.level, bounds=self._ends, better=better)
        if self.terms.procedure.of_samples and changes.shape[1] > 1:
            effects = effects.unpaired(self.variances[a], self.variances[b], self._ends)
        return PairBlock(self, index, a, b, self._with_other_ends(effects, changes, index, turned=turned))

    @property
    def _ends(self) -> Bounds:
        # Logarithms have ends by convention only, which say nothing about how large a difference may be.
        has_ends = not self.quantity.is_geometric or self.values.shape[1] < 2
        return self.quantity.test_bounds if has_ends else Bounds()

    @property
    def _reach(self) -> Bounds:
        width = self._ends.high - self._ends.low
        return Bounds(-width, width)

    def _with_other_ends(
        self, effects: EffectSizes, changes: FloatArray, index: IntArray, *, turned: bool
    ) -> EffectSizes:
        """With intervals that hold together, or those of clusters; the deviation is then that of as many independent queries."""
        if self.labels is not None:
            a, b = self.first[index], self.second[index]
            found = powered_pairs(self.quantity, self.labels, *((b, a) if turned else (a, b)))
            ends = found.ends(self.settings.level)
            low, high = np.maximum(ends[0], self._reach.low), np.minimum(ends[1], self._reach.high)
            return replace(
                effects,
                difference=found.estimate,
                low=low,
                high=high,
                clipped=(low > ends[0]) | (high < ends[1]),
                deviation=found.error * effects.n**0.5,
                method=np.full(len(low), METHODS.index("ppi++")),
            )
        if self.clusters is not None and effects.n > 1:
            low, high, clipped = cluster_ends(changes, self.clusters, self.settings.level, self._reach)
            deviation = self.clusters.error(changes) * effects.n**0.5
            method = np.full(len(low), METHODS.index("cluster t"))
            flat = changes.any(axis=1) | np.isfinite(self._reach.high)
            flat &= high - low <= inputs.NOISE * np.abs(changes).max(axis=1)
            if flat.any():
                method[flat] = METHODS.index("adjusted t")
                # All clusters differ by the same or by nothing: two more are imagined, one that each system wins.
                most = self._reach.high * self.clusters.sizes.max() * len(self.clusters) / self.clusters.n
                ends = sparse_ends(self.clusters.shares(changes[flat]), self.settings.level, most)
                low[flat], high[flat] = (
                    np.maximum(ends[0], self._reach.low),
                    np.minimum(ends[1], self._reach.high),
                )
                clipped[flat] = (low[flat] > ends[0]) | (high[flat] < ends[1])
            effects = replace(
                effects, low=low, high=high, clipped=clipped, deviation=deviation, method=method
            )
        if self.joint is not None:
            low, high = self.joint.low[index], self.joint.high[index]
            low, high = (-high, -low) if turned else (low, high)
            low, high = np.maximum(low, self._reach.low), np.minimum(high, self._reach.high)
            effects = replace(
                effects,
                low=low,
                high=high,
                clipped=(low == self._reach.low) | (high == self._reach.high),
                method=np.full(len(low), METHODS.index("simultaneous")),
            )
        return effects

    def _result(self, index: int, a: int, b: int) -> PairResult:
        pair = self._seen.get((a, b))
        if pair is None:
            pair = next(self._block(np.array([index]), turned=a != self.first[index]).results())
        if len(self._seen) < _REMEMBERED:
            self._seen[a, b] = pair
        return pair


def powered_pairs(quantity: Quantity, labels: Labels, a: IntArray, b: IntArray) -> Powered:
    """The differences of some pairs of systems, by judgments of people and labels of a model."""
    queries = labels.human.shape[-1] + labels.only.shape[-1]
    reach = 2 * (quantity.bounds.high - quantity.bounds.low)
    pieces = max(1, -(-len(a) * queries // _CELLS))
    parts = [
        powered(labels.differences(*some), reach=reach)
        for some in zip(np.array_split(a, pieces), np.array_split(b, pieces), strict=True)
    ]
    return all_rows(parts)


@dataclass(frozen=True)
class PairBlock:
    """Some pairs of a measure, with what their differences amount to: arrays with one value per pair."""

    contrasts: Contrasts
    index: IntArray
    a: IntArray
    b: IntArray
    effects: EffectSizes

    @property
    def difference(self) -> FloatArray:
        """0 for means that are equal but for how they were added up."""
        change, size = self.effects.difference, np.maximum(*self.contrasts.mean_sizes[[self.a, self.b]])
        return np.where(np.abs(change) <= _SAME * size, 0.0, change)

    @property
    def deviation(self) -> FloatArray:
        """Of what the test looks at: the differences by query, or, where queries are not paired, the values of both systems."""
        if not self.contrasts.terms.procedure.of_samples or self.effects.n < 2:
            return self.effects.deviation
        variance = self.contrasts.variances
        return np.asarray((variance[self.a] + variance[self.b]) ** 0.5)

    @property
    def detectable(self) -> FloatArray:
        if self.effects.n < 2 or np.isinf(self.contrasts.detectable_effect):
            return np.full(len(self.index), np.inf)
        return self.deviation * self.contrasts.detectable_effect

    def decisions(self, *, reverse: bool = False) -> list[Decision | None]:
        """With a margin: better, no worse, equivalent, worse or undecided, of b compared with a, or the reverse."""
        decisions = self.contrasts.decisions
        if decisions is None:
            return [None] * len(self.index)
        turned = (self.a != self.contrasts.first[self.index]) != reverse
        return [decisions[int(side)][place] for side, place in zip(turned, self.index.tolist(), strict=True)]

    def verdicts(self) -> list[str]:
        """In words; they take longer than all numbers, so they are kept."""
        first = int(self.index[0])
        if first not in self.contrasts.told:
            self.contrasts.told[first] = [wording.of_pair(pair) for pair in self.results()]
        return self.contrasts.told[first]

    def results(self) -> Iterator[PairResult]:
        part, names, means = self.contrasts, self.contrasts.systems, self.contrasts.means
        tests = [column[self.index] for column in (part.p_values, part.adjusted, part.significant)]
        columns = (self.a, self.b, self.difference, *tests, self.detectable, self.deviation)
        decisions = zip(self.decisions(), self.decisions(reverse=True), strict=True)
        effects = self.effects.one_by_one(cliff=part.cliff[self.a, self.b])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for effect, row, (decision, reverse) in zip(effects, rows, decisions, strict=True):
            a, b, difference, p, adjusted, significant, detectable, deviation = row
            yield PairResult(
                measure=part.quantity.name,
                a=names[a],
                b=names[b],
                slice=part.part,
                n=self.effects.n,
                mean_a=means[a],
                mean_b=means[b],
                difference=difference,
                interval=effect.interval,
                p_value=p,
                adjusted_p=adjusted,
                significant=significant,
                effect=effect,
                wins=effect.wins,
                ties=effect.ties,
                losses=effect.losses,
                detectable=detectable,
                deviation=deviation,
                decision=decision,
                reverse_decision=reverse,
                terms=part.terms,
            )
