"""Tests of all pairs, or of all with the baseline, corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ranklens.comparison.contrasts import Contrasts, powered_pairs
from ranklens.comparison.margins import with_decisions
from ranklens.comparison.settings import Family, HowTested, Settings
from ranklens.stats import Clusters, Simultaneous, adjust, inputs, simultaneous
from ranklens.stats.bounded import is_binary
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.significance import BINARY_TEST, DEFAULT_TEST, MAX_T, POWERED, SIGNIFICANCE_TESTS

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.openness import Unjudged
    from ranklens.stats.ppi import Labels


def contrasts(
    quantities: Sequence[Quantity],
    systems: tuple[str, ...],
    parts: Mapping[str | None, Mapping[str, FloatArray]],
    settings: Settings,
    clusters: Mapping[str | None, Clusters] | None = None,
    unjudged: Unjudged | None = None,
    labels: Mapping[str, Labels] | None = None,
) -> dict[str | None, list[Contrasts]]:
    """Test all pairs, or all with the baseline, in each part of the queries; correct over all tests of a family."""
    if settings.baseline is None:
        first, second = np.triu_indices(len(systems), 1)
    else:
        base = systems.index(settings.baseline)
        second = np.delete(np.arange(len(systems)), base)
        first = np.full_like(second, base)
    tested = [quantity for quantity in quantities if quantity.is_tested]
    measures = len(tested) if settings.family == "all" else 1
    family = Family(len(systems), len(first) * len(parts) * measures, len(parts), measures)
    done = [MAX_T if settings.is_joint else settings.test] * len(tested)
    if labels is not None:
        done = [POWERED] * len(tested)
    elif settings.is_default and settings.test == DEFAULT_TEST and not settings.is_joint and not clusters:
        for i, quantity in enumerate(tested):
            if all(is_binary(values[quantity.name], *quantity.bounds) for values in parts.values()):
                done[i] = BINARY_TEST
    groups = {name: (clusters or {}).get(name) for name in parts}
    units = {
        name: [
            independent_values(quantity.for_tests(values[quantity.name]), groups[name], test)
            for quantity, test in zip(tested, done, strict=True)
        ]
        for name, values in parts.items()
    }
    if labels is None:
        p_values = [_p_values(independent, first, second, settings, done) for independent in units.values()]
    else:
        p_values = [
            [powered_pairs(quantity, labels[quantity.name], first, second).p_values for quantity in tested]
        ]
    reach = [np.inf if clusters else one.test_bounds.high - one.test_bounds.low for one in tested]
    joint = _joint(units, reach, first, second, settings, len(parts) * measures)
    adjusted = [[one.adjusted_p for one in part] for part in joint] or _adjusted(p_values, settings)
    by_part: dict[str | None, list[Contrasts]] = {name: [] for name in parts}
    for place, (name, values) in enumerate(parts.items()):
        own_clusters = groups[name]
        count = None if own_clusters is None else len(own_clusters)
        for i, quantity in enumerate(tested):
            corrected = adjusted[place][i]
            is_small = corrected <= settings.alpha
            is_small &= _speaks_for_the_better_mean(units[name][i], first, second, done[i], is_small)
            contrasts_of_measure = Contrasts(
                terms=HowTested(quantity, settings, family, done[i], unjudged, count),
                systems=systems,
                values=values[quantity.name],
                part=name,
                first=first,
                second=second,
                p_values=p_values[place][i],
                adjusted=corrected,
                significant=is_small,
                clusters=own_clusters,
                joint=joint[place][i] if joint else None,
                labels=None if labels is None else labels[quantity.name],
            )
            by_part[name].append(contrasts_of_measure)
    return with_decisions(by_part, settings, _adjusted)


def independent_values(values: FloatArray, clusters: Clusters | None, test: str) -> FloatArray:
    """What is independent: the values of queries, or what clusters add to the mean; tests of ranks and wins take their means."""
    if clusters is None:
        return values
    return clusters.means(values) if SIGNIFICANCE_TESTS[test].compares else clusters.shares(values)


def _joint(
    units: Mapping[str | None, Sequence[FloatArray]],
    reach: Sequence[float],
    first: IntArray,
    second: IntArray,
    settings: Settings,
    families: int,
) -> list[list[Simultaneous]]:
    """Intervals that hold together, by part and measure, if they are asked for and there is anything to compare."""
    fewest = min((values.shape[1] for part in units.values() for values in part), default=0)
    if not settings.is_joint or fewest < 2 or not len(first):
        return []
    joint_intervals = partial(
        simultaneous, first=first, second=second, level=settings.level, parts=families, rng=settings.seed
    )
    return [
        [joint_intervals(values, reach=most) for values, most in zip(part, reach, strict=True)]
        for part in units.values()
    ]


def _p_values(
    values: Sequence[FloatArray],
    first: IntArray,
    second: IntArray,
    settings: Settings,
    done: Sequence[str],
) -> list[FloatArray]:
    """For each measure one for each pair, from the same random numbers, so that the order of systems does not matter."""
    if not len(first):
        return [np.zeros(0) for _ in values]
    of_all_pairs = settings.procedure.of_all_pairs
    if of_all_pairs is not None:
        return [p[first, second] for p in of_all_pairs(values, settings.seed, settings.resamples)]
    by_measure: dict[int, FloatArray] = {}
    for test in dict.fromkeys(done):
        places = [i for i, name in enumerate(done) if name == test]
        p_values = pairwise_p(
            [values[i] for i in places],
            first,
            second,
            method="t" if test == MAX_T else test,  # before correction, the p-values of both are the same
            rng=settings.seed,
            resamples=settings.resamples,
        )
        by_measure |= zip(places, p_values, strict=True)
    return [by_measure[i] for i in range(len(done))]


def _speaks_for_the_better_mean(
    values: FloatArray, first: IntArray, second: IntArray, test: str, is_small: BoolArray
) -> BoolArray:
    """Whether the test found the difference in the direction of the means, which those of ranks and signs need not."""
    agrees = np.ones(len(first), dtype=bool)
    of_differences = SIGNIFICANCE_TESTS[test].of_differences
    if not SIGNIFICANCE_TESTS[test].compares or of_differences is None:
        return agrees
    means = values.mean(axis=1)
    for pair in np.flatnonzero(is_small):
        i, j = first[pair], second[pair]
        change = inputs.differences(values[i], values[j])
        agrees[pair] = np.sign(of_differences(change).statistic) == np.sign(means[j] - means[i])
    return agrees


def _adjusted(p_values: Sequence[Sequence[FloatArray]], settings: Settings) -> list[list[FloatArray]]:
    """Adjusted p-values by part and measure: also corrected over the parts, and over the measures if they are one family.

    Tukey's test already corrects for the pairs.
    """
    parts, measures = len(p_values), len(p_values[0])
    if settings.is_of_all_pairs:
        others = parts * (measures if settings.family == "all" else 1)
        return [[np.minimum(p * others, 1.0) for p in part] for part in p_values]
    together = [[i] for i in range(measures)] if settings.family == "measure" else [list(range(measures))]
    adjusted: list[list[FloatArray]] = [[np.zeros(0)] * measures for _ in p_values]
    for family in filter(None, together):
        cells = [(part, i) for part in range(parts) for i in family]
        corrected = adjust(
            np.concatenate([p_values[part][i] for part, i in cells]), method=settings.correction
        )
        for (part, i), p in zip(cells, np.split(corrected, len(cells)), strict=True):
            adjusted[part][i] = p
    return adjusted
