"""Which queries a result rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.comparison.significance import independent_values
from ranklens.stats import Clusters, adjust, influence, inputs, paired_test
from ranklens.stats.leave_one_out import mean_without
from ranklens.stats.paired import NOT_OF_MEANS
from ranklens.stats.randomization import EXACT_UP_TO

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.stats import Influence


_FEWEST = 8  # queries; with fewer, every one decides


def influence_frame(comparison: Comparison, measure: str, a: str, b: str) -> pl.DataFrame:
    """One row per query, the most influential first: its difference, the mean without it, and whether the verdict changes."""
    import polars as pl

    part = comparison.contrasts(measure)
    found = _influence(part, a, b)
    changes = _changes(part, a, b, found)
    ids = comparison.aligned.by_query_id().query_ids
    table = {
        "query": pl.Series(ids, dtype=pl.String),
        "difference": found.difference,
        "difference_without": found.difference_without,
        "verdict_changes": changes,
    }
    return pl.DataFrame(table).select(pl.all().gather(found.order.tolist()))


@dataclass(frozen=True)
class Decisive:
    """One or two queries, or clusters of them, without which a significant pair could not be told apart."""

    names: list[str]
    difference: float  # the mean difference without them
    are_clusters: bool


def fragile(comparison: Comparison, measure: str, a: str, b: str) -> Decisive | None:
    """What a significant pair rests on; None if it would be told apart without any one or two queries.

    Where queries belong together, whole clusters are left out, as these are what is independent. Judged by t where counting all
    signs would take long.
    """
    part = comparison.contrasts(measure)
    values = part.tested[[part.systems.index(a), part.systems.index(b)]]
    groups, change = part.clusters, inputs.differences(*values)
    sums = change if groups is None else groups.sums(change)
    if not part.significant[part.place(a, b)] or len(sums) < _FEWEST:
        return None
    loudest, _ = mean_without(sums)
    for most in (1, 2):
        kept = ~np.isin(np.arange(len(sums)) if groups is None else groups.index, loudest[:most])
        if not _significant(part, a, b, np.array([_p_of_some(part, values, kept)]))[0]:
            names = _names(comparison, groups)
            chosen = [names[place] for place in loudest[:most].tolist()]
            return Decisive(chosen, float(change[kept].mean()), groups is not None)
    return None


def _p_of_some(part: Contrasts, values: FloatArray, kept: BoolArray) -> float:
    """The p-value of two rows of values over some queries."""
    a, b = values[:, kept]
    if part.clusters is not None:
        groups = Clusters.of(part.clusters.index[kept].tolist())
        a, b = independent_values(a, groups, part.terms.done), independent_values(b, groups, part.terms.done)
    return paired_test(a, b, method=_quick(part, len(a)), rng=0).p_value


def _names(comparison: Comparison, groups: Clusters | None) -> Sequence[str]:
    """Of the queries, or of their clusters."""
    ids = comparison.aligned.by_query_id().query_ids
    if groups is None or comparison.cluster_of is None:
        return ids
    labels = dict(zip(groups.index.tolist(), (comparison.cluster_of[query] for query in ids), strict=True))
    return [labels[place] for place in range(len(groups))]


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
        f"speak loudest for that, by {rest:+.4f}."
    )


def _quick(part: Contrasts, n: int) -> str:
    """The test of the pair, or one that is close to it and takes no time."""
    done = part.terms.done
    return (
        done
        if done in (*NOT_OF_MEANS, "mcnemar", "welch") or (done == "randomization" and n <= EXACT_UP_TO)
        else "t"
    )


def _influence(part: Contrasts, a: str, b: str) -> Influence:
    i, j = part.systems.index(a), part.systems.index(b)
    return influence(
        part.tested[i],
        part.tested[j],
        method="randomization" if part.terms.done == "mcnemar" else part.terms.done,
        clusters=part.clusters,
        rng=part.settings.seed,
        resamples=part.settings.resamples,
    )


def _changes(part: Contrasts, a: str, b: str, found: Influence) -> BoolArray:
    """Whether the pair is told apart with all queries but not without one, the other way round, or in the other direction."""
    before = _significant(part, a, b, np.array([found.p_value]))[0]
    after = _significant(part, a, b, found.p_without)
    turned = np.sign(found.difference_without) != np.sign(
        inputs.sample(found.difference, "difference").mean()
    )
    return np.asarray((after != before) | (after & before & turned))


def _significant(part: Contrasts, a: str, b: str, p: FloatArray) -> BoolArray:
    """With this p-value in place of the pair's own; the other pairs keep theirs."""
    index, settings = part.place(a, b), part.settings
    own, corrected = part.p_values[index], part.adjusted[index]
    if part.family.pairs == 1:
        return np.asarray(p <= settings.alpha)
    if part.family.pairs != len(part) or part.is_corrected_by_itself:
        factor = corrected / own if corrected < 1 and own > 0 else part.family.pairs
        return np.asarray(p * factor <= settings.alpha)
    rows = [np.concatenate([part.p_values[:index], [one], part.p_values[index + 1 :]]) for one in p.tolist()]
    return np.array([adjust(row, method=settings.correction)[index] <= settings.alpha for row in rows])
