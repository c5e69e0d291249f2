"""Which queries a result rests on, and the Bayesian view of it: tables by query and by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats import adjust, influence, inputs, paired_test, probabilities
from ranklens.stats.influences import mean_without
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


def fragile(comparison: Comparison, measure: str, a: str, b: str) -> tuple[list[str], float] | None:
    """The one or two queries without which a significant pair could not be told apart, and the mean difference without them.

    None if there are none. Judged by t where counting all signs would take long.
    """
    part = comparison.contrasts(measure)
    i, j = part.systems.index(a), part.systems.index(b)
    change = inputs.differences(part.tested[i], part.tested[j])
    is_simple = part.clusters is None and part.terms.done != "welch"
    if not (is_simple and part.significant[part.place(a, b)] and len(change) >= _FEWEST):
        return None
    loudest, _ = mean_without(change)
    ids = comparison.aligned.by_query_id().query_ids
    for most in (1, 2):
        left = np.delete(change, loudest[:most])
        p = paired_test(np.zeros_like(left), left, method=_quick(part, len(left)), rng=0).p_value
        if not _significant(part, a, b, np.array([p]))[0]:
            return [ids[place] for place in loudest[:most].tolist()], float(left.mean())
    return None


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
        if done in ("wilcoxon", "sign", "mcnemar") or (done == "randomization" and n <= EXACT_UP_TO)
        else "t"
    )


def probabilities_frame(comparison: Comparison, rope: float, method: str) -> pl.DataFrame:
    """One row per measure and pair: how likely b is better than a, practically equal, and worse."""
    import polars as pl

    rows = []
    for part in comparison.pairs.parts:
        for i, j in zip(part.first.tolist(), part.second.tolist(), strict=True):
            values = part.units[[i, j]]
            found = probabilities(*values, rope=rope, method=method, rng=comparison.seed)
            better, worse = found.better, found.worse
            if part.quantity.better == "lower":
                better, worse = worse, better
            rows.append(
                (
                    comparison.shown(part.quantity.name),
                    part.systems[i],
                    part.systems[j],
                    better,
                    found.equal,
                    worse,
                    found.method,
                )
            )
    names = ("measure", "a", "b", "better", "equal", "worse", "method")
    kinds = {name: pl.Float64 if name in ("better", "equal", "worse") else pl.String for name in names}
    return pl.DataFrame(rows, schema=kinds, orient="row")


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
