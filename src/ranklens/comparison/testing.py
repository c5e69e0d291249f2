"""Tests of all pairs, or of all with the baseline, corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.contrasts import Contrasts
from ranklens.comparison.settings import Family, Settings
from ranklens.stats import adjust, inputs, paired_test, tukey_hsd
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.randomization import range_p

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.comparison.alignment import Quantity


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
