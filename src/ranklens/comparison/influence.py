"""Which queries a result rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ranklens.comparison.significance import independent_values
from ranklens.stats import Clusters, adjust, influence, inputs, paired_test
from ranklens.stats.leave_one_out import mean_without

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import Contrasts


_FEWEST = 8  # queries; a sentence of the report leaves out two
_FEWEST_LEFT = 2  # queries that are left when two are left out
_MOST = 20  # queries that are left out one by one, those that speak loudest


def influence_frame(comparison: Comparison, measure: str, a: str, b: str) -> pl.DataFrame:
    """One row per query, the most influential first: its difference, the mean without it, and whether the verdict changes."""
    import polars as pl

    part = comparison.contrasts(measure)
    left_out = influence(
        part.tested[part.systems.index(a)],
        part.tested[part.systems.index(b)],
        method=part.terms.done,
        clusters=part.clusters,
        rng=part.settings.seed,
        resamples=part.settings.resamples,
    )
    # The verdict also changes where the difference stays significant, but in the other direction.
    place = part.place(a, b)
    moved = _moved(part.p_values[place], left_out.p_value)
    before, after = (
        part.significant[place],
        _significant(part, a, b, np.minimum(left_out.p_without * moved, 1.0)),
    )
    turned = np.sign(left_out.difference_without) != np.sign(left_out.difference.mean())
    ids = comparison.aligned.by_query_id().query_ids
    table = {
        "query": pl.Series(ids, dtype=pl.String),
        "difference": left_out.difference,
        "difference_without": left_out.difference_without,
        "verdict_changes": (after != before) | (after & before & turned),
    }
    return pl.DataFrame(table).select(pl.all().gather(left_out.order.tolist()))


@dataclass(frozen=True)
class Decisive:
    """Queries, or clusters of them, without which a difference would not be significant: without each, or without any two together."""

    names: list[str]
    each: bool
    difference: float  # the mean difference without the first, or without the first two
    are_clusters: bool


def fragile(comparison: Comparison, measure: str, a: str, b: str) -> Decisive | None:
    """What a significant difference hinges on; None if it would be significant without any one or two queries.

    Where queries belong together, whole clusters are left out, as these are what is independent. Judged by t where counting all
    signs would take long.
    """
    part = comparison.contrasts(measure)
    values = part.tested[[part.systems.index(a), part.systems.index(b)]]
    groups, change = part.clusters, inputs.differences(*values)
    sums = change if groups is None else groups.sums(change)
    if not part.significant[part.place(a, b)] or len(sums) < _FEWEST_LEFT + 2:
        return None
    places = np.arange(len(sums)) if groups is None else groups.index
    names: Sequence[str] = comparison.aligned.by_query_id().query_ids
    if groups is not None and comparison.cluster_of is not None:
        labels = dict(zip(places.tolist(), (comparison.cluster_of[query] for query in names), strict=True))
        names = [labels[place] for place in range(len(groups))]

    def is_decided_by(some: IntArray) -> bool:
        p = _p_of_some(part, values, ~np.isin(places, some)) * moved
        return not _significant(part, a, b, np.array([min(p, 1.0)]))[0]

    def decisive(some: IntArray, *, each: bool) -> Decisive:
        left = ~np.isin(places, some[: 1 if each else 2])
        chosen = [names[place] for place in some.tolist()]
        return Decisive(chosen, each, float(change[left].mean()), groups is not None)

    moved = _moved(
        part.p_values[part.place(a, b)], _p_of_some(part, values, np.ones(len(places), dtype=bool))
    )
    loudest, _ = mean_without(sums, _MOST)
    alone = [place for place in loudest[:_MOST].tolist() if is_decided_by(np.array([place]))]
    if alone:
        return decisive(np.array(alone), each=True)
    twos = sliding_window_view(loudest[:_MOST], 2)  # the quietest two last
    count = sum(1 for _ in takewhile(is_decided_by, twos))
    return decisive(loudest[: count + 1], each=False) if count else None


def _p_of_some(part: Contrasts, values: FloatArray, chosen: BoolArray) -> float:
    """The p-value of two rows of values over some queries, by t where the pair's own test takes long."""
    a, b = values[:, chosen]
    if part.clusters is not None:
        groups = Clusters.of(part.clusters.index[chosen].tolist())
        a, b = independent_values(a, groups, part.terms.done), independent_values(b, groups, part.terms.done)
    test = part.terms.procedure
    is_quick = test.compares or test.p_of_wins or test.of_samples or test.is_exact(len(a))
    return paired_test(a, b, method=part.terms.done if is_quick else "t", rng=0).p_value


def told(comparison: Comparison, measure: str) -> str:
    """What is left of the first difference without the two queries that speak loudest for it, in words; empty if there is none."""
    if len(comparison.systems) < 2 or not comparison.quantity(measure).is_tested:
        return ""
    ranked = comparison.ranked(measure)
    reference = comparison.baseline or ranked[1]
    best = next(system for system in ranked if system != reference)
    part = comparison.contrasts(measure)
    i, j = part.systems.index(reference), part.systems.index(best)
    change = inputs.differences(part.tested[i], part.tested[j])
    if len(change) < _FEWEST or not change.any() or part.quantity.is_geometric:
        return ""
    loudest, rest = mean_without(change)
    ids = comparison.aligned.by_query_id().query_ids
    names = " and ".join(ids[place] for place in loudest.tolist())
    return (
        f"{comparison.shown(measure)}: {best} and {reference} differ by {change.mean():+.4f}; without {names}, the two queries that "
        f"contribute most to that, by {rest:+.4f}."
    )


def _moved(own: float, quick: float) -> float:
    """What brings a test that is close to the pair's own, or was drawn anew, to where that was with all queries."""
    return own / quick if own > 0 and quick > 0 else 1.0


def _significant(part: Contrasts, a: str, b: str, p: FloatArray) -> BoolArray:
    """With this p-value in place of the pair's own; the other pairs keep theirs."""
    index, settings = part.place(a, b), part.settings
    own, corrected = part.p_values[index], part.adjusted[index]
    if part.family.pairs == 1:
        return np.asarray(p <= settings.alpha)
    if part.family.pairs != len(part) or part.is_corrected_by_itself:
        factor = corrected / own if corrected < 1 and own > 0 else part.family.pairs
        return np.asarray(p * factor <= settings.alpha)
    # A larger p-value is corrected to a larger one, so the largest significant one is found by halving.
    ordered = np.unique(p)
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        row = part.p_values.copy()
        row[index] = ordered[middle]
        is_small = adjust(row, method=settings.correction)[index] <= settings.alpha
        low, high = (middle + 1, high) if is_small else (low, middle)
    return np.asarray(p < ordered[low] if low < len(ordered) else np.ones(len(p), dtype=bool))
