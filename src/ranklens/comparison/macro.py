"""The mean over slices of the slices' means: of each system, and the difference of two, which is tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.alignment import settled
from ranklens.comparison.results import SystemResult
from ranklens.stats import Bounds, Clusters, Interval, adjust, inputs
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.significance import DEFAULT_TEST
from ranklens.stats.strata import macro_interval

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.settings import Settings

MACRO = "macro-average"
MOST_PAIRS = 5_000  # of all measures; of more, no intervals are made


def macro_test(settings: Settings) -> str:
    """The test of differences of macro-averages, which are means: the one that was asked for, if it is about means and pairs."""
    return settings.test if settings.procedure.is_of_mean_differences else DEFAULT_TEST


@dataclass(frozen=True)
class MacroPair:
    """Two systems on one measure, where every slice counts the same; every number describes b compared with a.

    ``difference`` is the macro-average of b minus that of a; for a geometric mean, of the logarithms. The p-value is that of the
    randomisation test (the t or bootstrap test, if that was asked for) of what each query, or cluster of queries, adds to the difference, and is
    corrected over the pairs.
    """

    measure: str
    a: str
    b: str
    difference: float
    interval: Interval
    p_value: float
    adjusted_p: float
    significant: bool


@dataclass(frozen=True)
class Strata:
    """The values of each slice, and the cluster of each of its queries."""

    quantities: Sequence[Quantity]
    systems: tuple[str, ...]
    parts: Mapping[str | None, Mapping[str, FloatArray]]
    settings: Settings
    clusters: Sequence[Sequence[Any]] | None = None

    def averages(self) -> Iterator[SystemResult]:
        """For each measure and system the mean over slices of the slices' means."""
        for quantity in self._tested:
            for i, system in enumerate(self.systems):
                rows = [values[i] for values in self._values(quantity)]
                mean = float(np.mean([row.mean() for row in rows]))
                around = quantity.interval_back(self._interval(rows, quantity.test_bounds))
                size = sum(map(len, rows)), settled(quantity.back(mean))
                yield SystemResult(quantity.name, system, MACRO, *size, around)

    def pairs(self, first: IntArray, second: IntArray) -> tuple[MacroPair, ...]:
        """The differences of these pairs of systems, measure by measure; none if there are very many."""
        tested, settings = self._tested, self.settings
        if not len(first) or len(first) * len(tested) > MOST_PAIRS:
            return ()
        added = []  # by each query, or cluster, so that the mean is the macro-average
        for quantity in tested:
            parts = self._values(quantity)
            values = np.concatenate([part / part.shape[1] for part in parts], axis=1) / len(parts)
            if self.clusters is None:
                added.append(values.shape[1] * values)
            else:
                clusters = Clusters.of([label for own in self.clusters for label in own])
                added.append(len(clusters) * clusters.sums(values))
        how: dict[str, Any] = {"method": macro_test(settings), "rng": settings.seed}
        p_values = pairwise_p(added, first, second, **how, resamples=settings.resamples)
        if settings.family == "all":
            adjusted = np.split(adjust(np.concatenate(p_values), method=settings.correction), len(tested))
        else:
            adjusted = [adjust(p, method=settings.correction) for p in p_values]
        pairs = []
        for quantity, *ps in zip(tested, p_values, adjusted, strict=True):
            bounds = quantity.test_bounds
            reach = np.inf if quantity.is_geometric else bounds.high - bounds.low
            for a, b, p, corrected in zip(
                first.tolist(), second.tolist(), *(p.tolist() for p in ps), strict=True
            ):
                rows = [inputs.differences(values[a], values[b]) for values in self._values(quantity)]
                names = quantity.name, self.systems[a], self.systems[b]
                mean, around = (
                    float(np.mean([row.mean() for row in rows])),
                    self._interval(rows, Bounds(-reach, reach)),
                )
                pairs.append(MacroPair(*names, mean, around, p, corrected, corrected <= settings.alpha))
        return tuple(pairs)

    def _interval(self, rows: Sequence[FloatArray], bounds: Bounds) -> Interval:
        return macro_interval(rows, level=self.settings.level, bounds=bounds, clusters=self.clusters)

    def _values(self, quantity: Quantity) -> list[FloatArray]:
        return [quantity.for_tests(values[quantity.name]) for values in self.parts.values()]

    @property
    def _tested(self) -> list[Quantity]:
        return [quantity for quantity in self.quantities if quantity.is_tested]
