"""The numbers behind every chart, as Polars tables; :mod:`ranklens.report.charts` and the HTML page draw the same ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ranklens.comparison import wording
from ranklens.comparison.alignment import Quantity
from ranklens.errors import InputError, MeasureError
from ranklens.metrics import Measure, parse
from ranklens.retrieval.answers import Latency

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.results import PairResult, SystemResult
    from ranklens.scores import Scores

    MeasureName: TypeAlias = str | Measure | None
    Row: TypeAlias = dict[str, Any]  # of a table that is drawn: texts and numbers by column

KS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
NOT_FOUND = "not found"
_ONE_SYSTEM = "This chart shows pairs of systems, but only one was evaluated; compare at least two."
_FIRST_RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)  # the last rank of each bar


def main_measure(comparison: Comparison, measure: MeasureName = None) -> str:
    """The canonical name of a measure that was compared; the first one by default."""
    if measure is None:
        return comparison.measures[0]
    name = Quantity.named(measure).name
    comparison.values(name)  # refuses what was not compared
    return name


def registered(name: str) -> Measure | None:
    """The measure of the registry that has this name; None for values that were made elsewhere."""
    try:
        return parse(name)
    except MeasureError:
        return None


def leaderboard(comparison: Comparison, measure: str) -> pl.DataFrame:
    """``system, mean, low, high, group, n``, the best system first."""
    results = [comparison.result(measure, system) for system in comparison.ranked(measure)]
    return _table([{**_mean(r), "group": r.group, "n": r.n} for r in results])


def differences(comparison: Comparison, measure: str) -> pl.DataFrame:
    """``pair, a, b, difference, low, high, margin, label`` of the pairs with the baseline, or with the best system."""
    ranked = comparison.ranked(measure)
    reference = comparison.baseline or ranked[0]
    pairs = [comparison.pair(measure, reference, system) for system in ranked if system != reference]
    if not pairs:
        raise InputError(_ONE_SYSTEM)
    quantity = comparison.quantity(measure)
    return _table(
        [
            {"pair": f"{p.b} − {p.a}", "a": p.a, "b": p.b, "difference": p.difference, "low": p.interval.low,
             "high": p.interval.high, "margin": margin_size(p), "label": wording.in_a_word(p, quantity)}
            for p in pairs
        ]
    )  # fmt: skip


def margin_size(pair: PairResult) -> float | None:
    """The margin in units of the difference: a share is that of a's mean, or of the factor between geometric means."""
    margin = pair.terms.settings.margins.get(pair.measure)
    if margin is None:
        return None
    if pair.terms.quantity.is_geometric:
        return math.log1p(margin.size)
    return margin.size * (abs(pair.mean_a) if margin.relative else 1.0)


def deltas(comparison: Comparison, measure: str, a: str | None, b: str | None) -> pl.DataFrame:
    """``query, <a>, <b>, difference``, the largest gain of b first."""
    table = comparison.queries(measure, a, b)
    if table.columns[1] == "question":  # no system is called that there
        table = table.drop("question")
    return table.sort("difference", "query", descending=[True, False])


def slices(comparison: Comparison, measure: str) -> pl.DataFrame:
    """``slice, n, system, mean, low, high``; refused where the comparison was made without slices."""
    if not comparison.slices:
        raise InputError("This comparison has no slices; pass the slice of each query: compare(…, by=…).")
    results = [(part.name, r) for part in comparison.slices for r in part.results if r.measure == measure]
    return _table([{"slice": name, "n": r.n, **_mean(r)} for name, r in results])


def significance(comparison: Comparison, measure: str) -> pl.DataFrame:
    """``a, b, difference, adjusted_p, significant`` in both directions; difference is b - a."""
    pairs = [p for p in comparison.pairs if p.measure == measure]
    if not pairs:
        raise InputError(_ONE_SYSTEM)
    both = [(p.a, p.b, p.difference, p) for p in pairs] + [(p.b, p.a, -p.difference, p) for p in pairs]
    return _table(
        [
            {"a": a, "b": b, "difference": d, "adjusted_p": p.adjusted_p, "significant": p.significant}
            for a, b, d, p in both
        ]
    )


def over_k(comparison: Comparison, measure: str, ks: Sequence[int] = KS) -> pl.DataFrame:
    """``system, k, mean, low, high``: the measure at growing cutoffs, up to the longest ranking."""
    at_k = registered(measure)
    if at_k is None or at_k.definition.at != "k":
        raise MeasureError(
            f"{measure} has no cutoff, so it cannot be drawn over k; choose one such as nDCG@10."
        )
    scores = evaluated(comparison)
    longest = max(s.basis.longest for s in scores.values())
    reached = [k for k in ks if k <= longest] or list(ks[:1])
    return _curves(comparison, {float(k): at_k.replace(k=k) for k in reached}, "k")


def of_coverage(comparison: Comparison, measure: MeasureName = None) -> Measure:
    """The measure of coverage to draw over budgets, without a cutoff: that which was asked for, else the first compared, else TokenRecall."""
    names = [main_measure(comparison, measure)] if measure is not None else comparison.measures
    for found in filter(None, map(registered, names)):
        if "budget" in found.definition.parameters and found.name != "ContextTokens":
            return found.replace(k=None, budget=None, step=None)
    if measure is not None:
        raise MeasureError(
            f"{measure} takes no budget; choose a measure such as TokenRecall or PassageRecall."
        )
    return parse("TokenRecall")


def over_tokens(comparison: Comparison, measure: MeasureName = None) -> pl.DataFrame:
    """``system, tokens, mean, low, high``: a measure of coverage at growing budgets, up to the longest context."""
    drawn, lengths = of_coverage(comparison, measure), [parse("ContextTokens@1"), parse("ContextTokens")]
    values = [scores.measured(lengths).values for scores in evaluated(comparison).values()]
    first, whole = (
        np.concatenate([one.over(comparison.query_ids)[str(length)] for one in values]) for length in lengths
    )
    least, most = min(first[first > 0], default=1.0), max(float(whole.max(initial=0)), 1.0)
    steps = [float(base * 10**power) for power in range(12) for base in (1, 1.5, 2, 3, 5, 7)]
    budgets = [step for step in steps if least <= step < most] + [math.ceil(most)]
    return _curves(
        comparison, {float(budget): drawn.replace(budget=int(budget)) for budget in budgets}, "tokens"
    )


def precision_recall(comparison: Comparison) -> pl.DataFrame:
    """``system, recall, mean, low, high``: interpolated precision at eleven levels of recall."""
    from ranklens.metrics.formulas.average_precision import RECALL_LEVELS

    rel = next(iter(evaluated(comparison).values())).policy.rel
    levels = {r: parse(f"IPrec@{r:g}").replace(rel=rel) for r in RECALL_LEVELS}
    return _curves(comparison, levels, "recall")


def first_relevant(comparison: Comparison) -> pl.DataFrame:
    """``system, rank, order, queries, share``: the rank of the first relevant document, in bars.

    The last bar counts queries for which nothing relevant was found. Over averaged ties these are expected numbers.
    """
    rows: list[Row] = []
    scores = evaluated(comparison)
    deepest = max(max(s.basis.longest, 1) for s in scores.values())
    bars = _bars(deepest)
    for system, score in scores.items():
        place = score.values.place
        counted = np.array([place.get(query, -1) for query in comparison.query_ids], dtype=np.int64)
        hits = score.judged.relevant(score.judged.policy.rel)
        hits = hits.where(np.isin(hits.query, counted))
        chance = hits.first() * (hits.spread.share if hits.spread is not None else 1.0)
        bar = np.searchsorted(np.array(list(bars.values())), hits.rank)
        counts = np.bincount(bar, chance, minlength=len(bars))[: len(bars)]
        counts[-1] = len(counted) - counts[:-1].sum()
        for order, (label, count) in enumerate(zip(bars, counts.round(9).tolist(), strict=True)):
            bar_of = {"system": system, "rank": label, "order": order, "queries": max(count, 0.0)}
            rows.append({**bar_of, "share": max(count, 0.0) / max(len(counted), 1)})
    return _table(rows)


def latency(comparison: Comparison, measure: str) -> pl.DataFrame:
    """``system, mean, low, high, p50, p95, front``: quality and seconds per query; ``front``: no other is better in both."""
    if not comparison.latencies:
        raise InputError("There are no latencies; use Benchmark.run to measure them.")
    import polars as pl

    times = timed(comparison)
    table = leaderboard(comparison, measure).filter(pl.col("system").is_in(list(times)))
    table = table.with_columns(
        pl.Series("p50", [times[system].p50 for system in table["system"]], dtype=pl.Float64),
        pl.Series("p95", [times[system].p95 for system in table["system"]], dtype=pl.Float64),
    )
    sign = -1 if Quantity.named(measure).better == "lower" else 1
    quality, seconds = sign * table["mean"].to_numpy(), table["p50"].to_numpy()
    better = (quality[None, :] >= quality[:, None]) & (seconds[None, :] <= seconds[:, None])
    strictly = (quality[None, :] > quality[:, None]) | (seconds[None, :] < seconds[:, None])
    return table.with_columns(pl.Series("front", ~np.any(better & strictly, axis=1), dtype=pl.Boolean))


def timed(comparison: Comparison) -> dict[str, Latency]:
    """The latency of each system whose calls were timed."""
    return {
        system: Latency.of(seconds)
        for system, seconds in (comparison.latencies or {}).items()
        if len(seconds)
    }


def evaluated(comparison: Comparison) -> Mapping[str, Scores]:
    """The systems that were judged here; those given as bare values have no ranks to draw."""
    if not comparison.scores:
        raise InputError("This chart needs the rankings, but the systems were given as values by query.")
    return comparison.scores


def without_cutoff(comparison: Comparison, measure: str) -> str:
    """What to call a measure whose cutoff varies, in the spelling that was asked for if that ends in ``@k``."""
    name = comparison.shown(measure) if measure in comparison.measures else measure
    return name.rpartition("@")[0] or measure.rpartition("@")[0] or measure


def _curves(comparison: Comparison, measures: Mapping[float, Measure], axis: str) -> pl.DataFrame:
    rows: list[Row] = []
    for system, score in evaluated(comparison).items():
        aligned = score.measured(list(measures.values())).values.over(comparison.query_ids)
        for x, measure in measures.items():
            values, quantity = aligned[str(measure)], Quantity.named(measure)
            low, high = quantity.interval(values, comparison.level) or (None, None)
            rows.append({"system": system, axis: x, "mean": quantity.mean(values), "low": low, "high": high})
    return _table(rows)


def _bars(deepest: int) -> dict[str, int]:
    """The label of each bar and the last rank that belongs to it; the last bar is for what was not found."""
    bars, before = {}, 0
    for last in _FIRST_RANKS:
        bars[str(last) if last == before + 1 else f"{before + 1}–{last}"] = last
        before = last
        if last >= deepest:
            break
    else:
        bars[f"> {before}"] = np.iinfo(np.int64).max - 1
    bars[NOT_FOUND] = np.iinfo(np.int64).max
    return bars


def _mean(result: SystemResult) -> Row:
    """A sum (of a count) has no interval: its ends are the value itself."""
    low, high = result.interval if result.interval is not None else (result.mean, result.mean)
    return {"system": result.system, "mean": result.mean, "low": low, "high": high}


def _table(rows: Sequence[Row]) -> pl.DataFrame:
    import polars as pl

    texts = ("system", "slice", "rank", "group", "a", "b", "pair", "label")
    kinds = dict.fromkeys(texts, pl.String) | {"n": pl.Int64, "order": pl.Int64, "significant": pl.Boolean}
    return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in rows[0]})
