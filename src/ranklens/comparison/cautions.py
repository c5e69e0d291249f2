"""What to keep in mind when reading a comparison: sentences, each about something that was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.comparison import clusters
from ranklens.comparison.alignment import is_cost
from ranklens.comparison.effort import corrected_away
from ranklens.comparison.slices import NONE
from ranklens.stats import inputs
from ranklens.stats.student import t_quantile
from ranklens.words import counted, percent, several

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Aligned
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.settings import Settings
    from ranklens.scores import Scores

_FEW_QUERIES = 20
_FEW_JUDGED = 2  # documents per query, where only the right ones are named
_UNSEEN = 0.2  # the probability with which rare differences are missed
_RARE = 0.025  # of queries: a larger share of them is hardly missed
_SMALL = 0.25  # of the range of a measure
_AGAINST = 0.2  # of the queries that differ: if more favour the other system, the difference does not rest on many small wins
_COCHRAN = 25  # times the squared skewness: the queries from which on Student's t is about right
_STRONG = 1  # skewness; few normal values often have half as much by chance
_LOW_SHARE, _UNEVEN_SHARE = 0.5, 0.1  # of the top k judged; between two systems


def cautions(
    aligned: Aligned,
    asked: Settings,
    tested: Sequence[Contrasts],
    scores: Mapping[str, Scores],
    slice_of: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The sentences that apply."""
    yield from _missing(aligned, scores)
    whole = [part for part in tested if part.part is None]  # over all queries, not a slice of them
    groups = next((part.clusters for part in whole if part.clusters), None)
    n, what = (len(aligned.query_ids), "query") if groups is None else (len(groups), "cluster of queries")
    if n == 1:
        yield f"There is only one {what}, so nothing can be concluded about others."
    elif n < _FEW_QUERIES:
        yield f"There are only {_units(n, groups)}: intervals are wide, and only large differences can be shown."
    texts = next(iter(scores.values())).texts if scores else {}
    if worth := clusters.described(tested):
        yield worth
    elif tested and (suggestion := clusters.suggested(aligned.query_ids, texts)):
        number, one, other = suggestion
        yield (
            f"Queries such as {one} and {other} look as if they belong together. If they do, differences are less certain than they "
            f"look: pass clusters=, with which {counted(len(aligned.query_ids), 'query')} may count as {number:,}."
        )
    yield from replaced(asked, tested)
    yield from _out_of_reach(tested)
    yield from _rare(whole)
    yield from _skewed(whole)
    if len({part.part is None for part in tested if len(part)}) == 2:
        yield (
            "All queries and slices are corrected separately: between equal systems, one of the two shows a difference in up to "
            f"{percent(2 * tested[0].settings.alpha)} of comparisons."
        )
    unlettered = list(dict.fromkeys(part.quantity.name for part in tested if part.has_too_many_groups))
    if unlettered:
        yield f"There are no group letters for {several(unlettered)}: more than 26 would be needed. See the table of pairs."
    for quantity in aligned.quantities:
        if quantity.better == "neither" and not quantity.is_known and is_cost(quantity.name):
            yield (
                f"RankLens does not know whether higher or lower values of {quantity.name} are better, so it recommends nothing. If lower "
                f'is better, pass better={{"{quantity.name}": "lower"}}.'
            )
    yield from _beyond_own_interval(tested)
    yield from _twins(aligned)
    yield from unlike_policies(scores)
    yield from _judged(scores)
    unsliced = sum(name == NONE for name in slice_of.values()) if slice_of else 0
    if unsliced:
        has, they = ("has", "it forms") if unsliced == 1 else ("have", "they form")
        yield f"{counted(unsliced, 'query')} {has} no value to slice by: {they} the slice {NONE}."


def _missing(aligned: Aligned, scores: Mapping[str, Scores]) -> Iterator[str]:
    failed = {name: s.applied.failed for name, s in scores.items() if s.applied.failed}
    if failed and aligned.left_out and aligned.missing == failed:
        yield f"Left out because calls failed: {counted(aligned.left_out, 'query')} ({_counts(failed)})."
    elif aligned.left_out:
        yield f"Left out because a system lacks them: {counted(aligned.left_out, 'query')} ({_counts(aligned.missing)})."
    elif aligned.missing:
        yield f"Queries that a system lacks and others have score 0: {_counts(aligned.missing)}."
    zero = {name: s.applied.missing for name, s in scores.items() if s.policy.missing == "zero"}
    if any(zero.values()):
        yield f"Judged queries missing from a run score 0: {_counts(zero)}."
    for reason, measures in aligned.dropped.items():
        if measures:
            yield f"Left out, because {reason}: {several(measures)}."


def _units(n: int, clusters: object) -> str:
    """A number of queries, or of clusters of them."""
    return counted(n, "query") if clusters is None else f"{counted(n, 'cluster')} of queries"


def replaced(asked: Settings, tested: Sequence[Contrasts], *, advice: bool = True) -> Iterator[str]:
    """Where another test was done, and why: over all queries, or else in slices."""
    fewer = " With a baseline there are fewer." if advice else ""
    first = {part.part is None: part for part in reversed(tested)}
    for part in (first[key] for key in (True, False) if key in first):
        used, resamples = part.settings, f"{part.settings.resamples:,} resamples"
        if used.test == asked.test:
            continue
        names = (used.procedure.words, asked.procedure.words)
        done, meant = (name if name.startswith("Tukey") else f"the {name}" for name in names)
        where = "" if part.part is None else "In slices, "
        instead = f"{where}{done if where else done[0].upper() + done[1:]} was used in place of {meant}: "
        if corrected_away(replace(used, test=asked.test), part.family.pairs):
            yield (
                f"{instead}with {resamples} no p-value stays small when corrected for {part.family.pairs:,} tests.{fewer}"
            )
        else:
            yield f"{instead}{resamples} of {counted(part.values.shape[1], 'query')} would take long."
        if part.part is None:
            return


def _out_of_reach(tested: Sequence[Contrasts]) -> Iterator[str]:
    """Where the smallest p-value that the test can give is not small enough, however large the difference."""
    unable = [part for part in tested if len(part) and part.smallest_p > part.alpha]
    if not unable:
        return
    first = unable[0]
    many = f" over {first.family.pairs:,} pairs" if first.family.pairs > 1 else ""
    if first.part is None:
        yield (
            f"No difference can be significant{many}, however large: with {_units(first.units.shape[1], first.clusters)} the test "
            f"gives no p-value below {first.smallest_p:.3g}."
        )
    else:
        parts = list(dict.fromkeys(str(part.part) for part in unable))
        yield f"No difference can be significant{many} in slices with this few queries: {several(parts)}."


def _rare(tested: Sequence[Contrasts]) -> Iterator[str]:
    """Where one system wins nearly always, by little: rare large losses, which would outweigh that, may be missing."""
    for part in tested:
        width, n = part.quantity.bounds.high - part.quantity.bounds.low, part.units.shape[1]
        share = 1 - _UNSEEN ** (1 / max(n, 1))  # of queries, which n of them all miss with this probability
        if part.quantity.is_geometric or n < 2 or not np.isfinite(width) or share <= _RARE:
            continue
        for pair in np.flatnonzero(part.significant).tolist():
            first, second = part.first[pair], part.second[pair]
            mean = float(part.tested[second].mean() - part.tested[first].mean())
            largest = float(np.abs(part.tested[second] - part.tested[first]).max())
            change = np.sign(inputs.differences(part.units[first], part.units[second]))
            is_one_sided = (change == -np.sign(mean)).sum() <= _AGAINST * np.count_nonzero(change)
            if is_one_sided and largest < _SMALL * width and abs(mean) < share * (width - largest):
                names = part.systems[first], part.systems[second]
                what = "queries" if part.clusters is None else "clusters"
                yield (
                    f"{part.quantity.name}: {several(names)} differ by at most {largest:.2g} in any query. With {_units(n, part.clusters)}, "
                    f"large differences in {percent(share)} of {what} go undetected {percent(_UNSEEN)} of the time, and could outweigh these "
                    "small ones."
                )
                return


def _skewed(tested: Sequence[Contrasts]) -> Iterator[str]:
    """Where intervals of values without known ends, such as latencies, cover less than they promise."""
    names = []
    for part in tested:
        if np.isfinite(part.quantity.test_bounds.high - part.quantity.test_bounds.low):
            continue
        centred = part.units - part.units.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1)
        varies = spread > 0
        skewness = (centred[varies] ** 3).mean(axis=1) / spread[varies] ** 3
        if (skewness**2 > max(_STRONG, part.units.shape[1] / _COCHRAN)).any():
            names.append(part.quantity.name)
    if names:
        yield (
            f"The values of {several(names)} are strongly skewed: a few large ones decide the mean, and its interval misses the true mean "
            "more often than it promises. Compare the median or logarithms, or collect more queries."
        )


def _beyond_own_interval(tested: Sequence[Contrasts]) -> Iterator[str]:
    """Tukey's test assumes that all systems vary equally; if they do not, it may find too much in those that vary most."""
    pairs: list[str] = []
    for part in tested:
        n = part.values.shape[1]
        if n < 2 or not part.settings.procedure.assumes_equal_variances:
            continue
        values = part.quantity.for_tests(part.values)
        reach = t_quantile(n - 1, (1 + part.settings.level) / 2)
        for a in np.unique(part.first[part.significant]):
            others = part.second[part.significant & (part.first == a)]
            change = values[others] - values[a]
            contains_0 = np.abs(change.mean(axis=1)) < reach * change.std(axis=1, ddof=1) / np.sqrt(n)
            pairs += (f"{part.systems[a]} and {part.systems[b]}" for b in others[contains_0])
    pairs = list(dict.fromkeys(pairs))
    if pairs:
        yield (
            "Tukey's test assumes that all systems vary equally. It calls these pairs different although the interval of their "
            f"difference contains 0: {'; '.join(pairs[:3])}{f'; {len(pairs) - 3:,} more' if len(pairs) > 3 else ''}. "
            "Test these with the randomisation or t test and Holm's correction."
        )


def _twins(aligned: Aligned) -> Iterator[str]:
    """Systems with the same values throughout are often the same run given twice."""
    rows = np.concatenate([aligned.values[q.name] for q in aligned.quantities], axis=1)
    same: dict[bytes, list[str]] = {}
    for system, row in zip(aligned.systems, rows, strict=True):
        same.setdefault(row.tobytes(), []).append(system)
    for twins in same.values():
        if len(twins) > 1 and aligned.left_out:
            yield f"The same values for all queries that were compared: {several(twins)}. They may differ for those left out."
        elif len(twins) > 1:
            yield f"Identical values for all queries: {several(twins)}. Are these the same run?"


def unlike_policies(scores: Mapping[str, Scores]) -> Iterator[str]:
    """Where systems were evaluated by different policies, or by unknown ones."""
    unknown = [name for name, one in scores.items() if not one.knows_policy]
    policies = {name: asdict(one.policy) for name, one in scores.items() if name not in unknown}
    if unknown and policies:
        yield f"The policies behind {several(unknown)} are not known: a table of values does not say."
    for field in next(iter(policies.values()), {}):
        kinds: dict[str, list[str]] = {}
        for name, policy in policies.items():
            kinds.setdefault(str(policy[field]), []).append(name)
        if len(kinds) > 1:
            each = "; ".join(f"{kind} for {several(names)}" for kind, names in kinds.items())
            yield f"The systems were evaluated with different policies: {field} is {each}."


def _judged(scores: Mapping[str, Scores]) -> Iterator[str]:
    """Unjudged documents count as not relevant, which is unfair to a system that finds new documents."""
    # Documents further down are judged less often, so a longer run would look less judged.
    depth = min((one.basis.longest for one in scores.values()), default=0)
    shares = {name: one.account(depth=depth).share for name, one in scores.items()}
    judged_of = {name: share for name, share in shares.items() if share is not None}
    ranked = [one.judged for one in scores.values() if one.is_ranked]
    if not judged_of or any(judged.details and judged.details.is_sample for judged in ranked):
        return  # measures of samples estimate the others, and evaluate warns of all other measures
    low, high = (choose(judged_of, key=judged_of.__getitem__) for choose in (min, max))
    # Where only relevant documents are judged, a larger share is what a better system has, not a favour.
    has_others = any((judged.ideal.grade <= 0).any() for judged in ranked)
    if has_others and judged_of[high] - judged_of[low] > _UNEVEN_SHARE:
        yield (
            f"Judgments favour {high}: {percent(judged_of[high])} of its top {depth:,} documents are judged, but only {percent(judged_of[low])} of {low}'s. "
            f"Unjudged documents count as not relevant, so {low} may be better than it looks."
        )
        return
    # Golden sets judge one or two documents per query: most of what is returned is not judged then.
    is_golden = all(len(judged.ideal) <= _FEW_JUDGED * len(judged) for judged in ranked)
    if judged_of[low] < _LOW_SHARE and (has_others or not is_golden):
        yield f"Only {percent(judged_of[low])} of the top {depth:,} documents of {low} are judged; the others count as not relevant."


def _counts(by_system: Mapping[str, int]) -> str:
    each = [f"{count:,} for {name}" for name, count in by_system.items() if count]
    return ", ".join(each[:8]) + (f" and {len(each) - 8:,} more systems" if len(each) > 8 else "")
