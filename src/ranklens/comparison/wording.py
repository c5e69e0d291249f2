"""What a comparison says, in words: never more than the test supports."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ranklens.comparison import margins
from ranklens.comparison.settings import fewest_queries
from ranklens.stats import queries_needed
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.intervals import words_of_method
from ranklens.stats.power import queries_for_default_test
from ranklens.stats.significance import BINARY_TEST, DEFAULT_TEST, SIGNIFICANCE_TESTS
from ranklens.words import counted, p_cell, percent, plural, several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.results import PairResult
    from ranklens.comparison.settings import Family, HowTested, Settings
    from ranklens.scores import Scores

_COULD_TURN = "unjudged documents could reverse their order"
_FAR = 100  # times as many queries: too far to plan for
_MOST_NAMES = 3  # queries that are named if a result hinges on each
_INCONCLUSIVE = "the data show neither a difference nor equivalence"


def of_failures(scores: Mapping[str, Scores]) -> dict[str, str]:
    """Which systems' calls failed, and what that means for their means."""
    sentences = {}
    for name, one in scores.items():
        applied, counts_0 = one.applied, one.policy.missing == "zero"
        asked = applied.queries if counts_0 else applied.queries + applied.missing + applied.failed
        if applied.failed:
            share = f"{percent(applied.failed / asked)} of its calls failed ({applied.failed:,} of {asked:,})"
            sentences[name] = f"{share}, {'counted as 0' if counts_0 else 'left out'}."
    return sentences


class Finding(NamedTuple):
    """What is claimed, and why; a heading shows the claim alone.

    >>> Finding("A count", ": ", "shown, but not tested.").text
    'A count: shown, but not tested.'
    """

    claim: str  # without a full stop
    joint: str = "."
    reasons: str = ""

    @property
    def text(self) -> str:
        return "".join(self)


def of_pair(pair: PairResult, *, intervals: bool = True) -> str:
    """Which of two systems is better, by how much, how certain that is, and which differences often go undetected."""
    is_open = f"open, as {_COULD_TURN}" if pair.is_open else ""
    parts = (_of_pair(pair, intervals=intervals).text, margins.of_pair(pair), is_open)
    return "; ".join(filter(None, parts))


def _of_pair(pair: PairResult, *, intervals: bool) -> Finding:
    quantity = pair.terms.quantity
    is_b_ahead = (pair.difference > 0) != (quantity.better == "lower")
    if pair.difference == 0:  # the first by name, so that the order asked for does not matter
        is_b_ahead = pair.b < pair.a
    ahead, behind = (pair.b, pair.a) if is_b_ahead else (pair.a, pair.b)
    if pair.ties == pair.n:
        where = "every query" if pair.n > 1 else "the one query"
        return Finding(f"{ahead} and {behind} have the same value for {where}", "")
    amount = facts(pair, intervals=intervals)
    if pair.significant:
        joint, by = (", ", "") if pair.terms.procedure.compares else (" ", "by ")
        return Finding(f"{ahead} is {superior(pair.terms)} than {behind}", joint, f"{by}{amount}")
    if pair.adjusted_p <= pair.terms.settings.alpha:
        compared = pair.terms.procedure.compares
        claim = f"{compared.capitalize()} and means disagree on {ahead} and {behind}"
        return Finding(
            claim, ": ", f"{compared} favour {behind}, but {ahead} has the {_word(quantity)} mean; {amount}"
        )
    equal = f"No significant difference between {ahead} and {behind}"
    return Finding(equal, ": ", amount if pair.terms.procedure.compares else f"the means differ by {amount}")


def of_measure(comparison: Comparison, measure: str, *, intervals: bool = True) -> Finding:
    """Which system to choose by one measure, and how certain that is; also without the intervals of differences."""
    finding = _of_measure(comparison, measure, intervals=intervals)
    if margin := margins.of_measure(comparison, measure):
        return finding._replace(joint=finding.joint or ".", reasons=f"{finding.reasons}{margin}")
    return finding


def _of_measure(comparison: Comparison, measure: str, *, intervals: bool) -> Finding:
    quantity, ranked = comparison.quantity(measure), comparison.ranked(measure)
    if not quantity.is_tested:
        kind = "A median" if quantity.aggregate == "median" else "A count"
        return Finding(kind, ": ", "shown, but not tested.")
    if len(ranked) == 1:
        only = comparison.result(measure, ranked[0])
        claim = f"{only.mean:.4f}{f' {only.interval}' if intervals else ''} for {ranked[0]}"
        return Finding(claim, "; ", "there is no other system to compare it with.")
    if len(ranked) == 2:
        finding = _of_pair(comparison.pair(measure, *ranked), intervals=intervals)
        if not finding.reasons:
            return Finding(finding.claim)
        return finding._replace(reasons=f"{finding.reasons}.{_advice(comparison, measure, ranked)}")
    if comparison.baseline is not None:
        return _against_baseline(comparison, measure, ranked, intervals=intervals)
    return _leader(comparison, measure, ranked, intervals=intervals)


def _leader(comparison: Comparison, measure: str, ranked: Sequence[str], *, intervals: bool) -> Finding:
    """The first, and the systems that it is not significantly better than."""
    best, *others = ranked
    word = superior(comparison.contrasts(measure).terms)
    different = comparison.told_apart(measure, best)
    rivals = [system for system in others if system not in different]
    behind = [system for system in others if system in different]
    pair = comparison.pair(measure, best, (rivals or others)[0])
    amount = facts(pair, intervals=intervals)
    advice = _advice(comparison, measure, [best, *rivals])
    if not rivals:
        all_others = "both others" if len(others) == 2 else f"all {len(others):,} others"
        lead = _lead(pair, f"its lead over the closest, {others[0]}, is")
        return Finding(f"{best} is {word} than {all_others}", "; ", f"{lead} {amount}.{advice}")
    if comparison.result(measure, best).mean == comparison.result(measure, others[-1]).mean:
        is_same = all(comparison.pair(measure, best, other).ties == pair.n for other in others)
        same = "value for every query" if is_same else "mean"
        return Finding(f"All {len(ranked):,} systems have the same {same}")
    most = "highest" if comparison.quantity(measure).better == "neither" else "best"
    to_whom = f" from {rivals[0]}" if len(rivals) > 1 else ""
    beaten = f" {best} is {word} than {several(behind)}." if behind else ""
    if all(comparison.pair(measure, best, rival).ties == pair.n for rival in rivals):
        leaders = several([best, *rivals])
        return Finding(f"{leaders} have the {most} mean and the same value for every query", ".", beaten)
    return Finding(
        f"{best} has the {most} mean, but is not significantly {word} than {several(rivals)}",
        ": ",
        f"{_lead(pair, f'the difference{to_whom} is')} {amount}.{beaten}{advice}",
    )


def _lead(pair: PairResult, words: str) -> str:
    """Words before the size of a difference; those of a test that is not about means name the pair instead."""
    return f"{pair.a} and {pair.b}:" if pair.terms.procedure.compares else words


def _against_baseline(
    comparison: Comparison, measure: str, ranked: Sequence[str], *, intervals: bool
) -> Finding:
    baseline, word = str(comparison.baseline), superior(comparison.contrasts(measure).terms)
    is_rated = comparison.quantity(measure).better != "neither"
    different = comparison.told_apart(measure, baseline)
    above = ranked[: ranked.index(baseline)]
    better = [system for system in above if system in different]
    worse = [system for system in ranked if system in different and system not in above]
    same = [system for system in ranked if system not in different and system != baseline]
    parts: list[str] = []

    def closest(system: str) -> str:
        pair = comparison.pair(measure, baseline, system)
        return f"{_lead(pair, f'the difference from {system} is')} {facts(pair, intervals=intervals)}"

    if better:
        pair = comparison.pair(measure, baseline, better[0])
        by = "" if pair.terms.procedure.compares else "by "
        claim, joint = f"{_are(better)} {word} than {baseline}", "; "
        if len(better) == 1:
            joint = " " if by else ", "
        name = "" if len(better) == 1 else f"{better[0]} "
        parts.append(f"{name}{by}{facts(pair, intervals=intervals)}.")
    else:
        claim, joint = f"No system is significantly {word} than {baseline}", ". "
    if same:
        do = plural(len(same), "does", "do")
        parts.append(f"{several(same)} {do} not differ significantly from {baseline}; {closest(same[0])}.")
    if worse:
        below = word.replace("better", "worse").replace("higher", "lower")
        size = "" if better or same else f"; {closest(worse[0])}"
        little = [system for system in worse if system in margins.as_good(comparison, measure, baseline)]
        if little:
            size = f", but {'' if little == worse else several(little) + ' '}by less than the margin{size}"
        parts.append(f"{_are(worse)} {below} than {baseline}{size}.")
    if is_rated and decides(comparison, measure):
        as_good = margins.as_good(comparison, measure, baseline)
        if as_good and (not better or (len(better) == 1 and better[0] in as_good)):
            equal = [*better, baseline] if better else [baseline, *as_good]
            parts.append(_cheapest(equal, do_differ={*equal} <= different | {baseline}).strip())
        else:
            parts.append(_advice_against_baseline(comparison, measure, better, same, worse))
    elif len(better) > 1:
        parts.append("Only pairs with the baseline were tested.")
    return Finding(claim, joint, " ".join(parts)) if parts else Finding(claim)


def _advice_against_baseline(
    comparison: Comparison, measure: str, better: Sequence[str], same: Sequence[str], worse: Sequence[str]
) -> str:
    """Never about two systems of which neither is the baseline, as these were not tested."""
    baseline = str(comparison.baseline)
    if len(better) > 1:
        return "Only pairs with the baseline were tested: those that beat it may be equally good."
    if better:
        untested = f" {several([*better, *same])} were not tested against each other." if same else ""
        caution = _caution(comparison, measure, baseline, better[0])
        return f"{_recommended(f'{better[0]} over {baseline}', caution)}{untested}"
    if not same:
        return _recommended(baseline, _caution(comparison, measure, worse[0], baseline))
    others = "; the others were not tested against each other" if len(same) > 1 else ""
    return f"Nothing here justifies replacing {baseline}{others}."


def _are(names: Sequence[str]) -> str:
    return f"{several(names)} {plural(len(names), 'is', 'are')}"


def of_slices(comparison: Comparison, measure: str) -> str:
    """Which pairs differ in which slices."""
    if not comparison.slices or not comparison.quantity(measure).is_tested or len(comparison.systems) < 2:
        return ""
    where: dict[tuple[str, str], list[str]] = {}
    for part in comparison.slices:
        for pair in part.pairs.won(measure):
            where.setdefault(pair, []).append(part.name)
    baseline = comparison.baseline
    if not where:
        none = f"no system differs significantly from {baseline}"
        none = "no two systems differ significantly" if baseline is None else none
        return f"{none} in any of the {len(comparison.slices):,} slices."
    word, ranked = superior(comparison.contrasts(measure).terms), comparison.ranked(measure)
    order = sorted(where, key=lambda pair: (ranked.index(pair[0]), ranked.index(pair[1])))
    listed = [f"{a} is {word} than {b} in {several(where[a, b])}" for a, b in order[:6]]
    hidden = f"; {len(order) - 6:,} more pairs differ in some slice" if len(order) > 6 else ""
    other = "pair" if baseline is None else f"pair with {baseline}"
    return "; ".join(listed) + f"{hidden}. No other {other} differs significantly in a slice."


def facts(pair: PairResult, *, intervals: bool = True) -> str:
    """The size of a difference, how likely it is by chance, and which differences often go undetected."""
    unlike, compared = _unlike_interval(pair) if intervals else "", pair.terms.procedure.compares
    low, high = pair.interval
    difference, what, decimals = abs(pair.difference), "", 3
    if pair.difference < 0:  # that of the one ahead over the other
        low, high = -high, -low
    if pair.terms.quantity.is_geometric:
        difference, low, high, what = math.exp(difference), math.exp(low), math.exp(high), "a factor of "
    elif 0 < difference < 0.001:
        decimals = 5
    size = f"{what}{difference:.{decimals}f}" + (
        f" [{low:.{decimals}f}, {high:.{decimals}f}]" if intervals else ""
    )
    if not compared:
        return f"{size}, {_chance(pair)}{unlike}{_unseen(pair)}"
    more, fewer = max(pair.wins, pair.losses), min(pair.wins, pair.losses)
    counts = f" ({more:,} to {fewer:,})" if pair.terms.procedure.p_of_wins else ""
    return f"{_chance(pair)} for {compared}{counts}; the means differ by {size}{unlike}"


def _unlike_interval(pair: PairResult) -> str:
    """Why test and interval disagree, where they do."""
    quantity, settings, family = pair.terms.quantity, pair.terms.settings, pair.terms.family
    contains = pair.interval.low <= 0 <= pair.interval.high
    if pair.significant != contains or (pair.adjusted_p <= settings.alpha and not pair.significant):
        return ""
    if abs(settings.level + settings.alpha - 1) > 1e-9:
        reason = f"has a level of {settings.level:.4g}, while the test has an alpha of {settings.alpha:g}"
    elif pair.terms.procedure.compares:
        reason = f"is that of the means, while the test compares {pair.terms.procedure.compares}"
    elif not contains and family.pairs > 1 and (settings.is_of_all_pairs or pair.p_value <= settings.alpha):
        reason = "is not corrected for the number of pairs"
    else:
        reason = f"is {words_of_method(pair.interval.method)}, a different method from the test"
    nothing = 1 if quantity.is_geometric else 0
    return f" (the interval {'contains' if contains else 'excludes'} {nothing}, but {reason})"


def decides(comparison: Comparison, measure: str) -> bool:
    """Whether advice may follow from this measure: it is the primary one, or there is none, and nothing contradicts."""
    return comparison.primary in (None, measure) and not comparison.is_divided


def _advice(comparison: Comparison, measure: str, ranked: Sequence[str]) -> str:
    """What to do: choose the best; or what would decide between it and those that it is not significantly better than."""
    if comparison.quantity(measure).better == "neither" or not decides(comparison, measure):
        return ""
    best, *others = ranked
    rivals = [system for system in others if system not in comparison.told_apart(measure, best)]
    if not rivals:
        if equal := margins.as_good(comparison, measure, best):
            return _cheapest([best, *equal], do_differ=True)
        closest = next(system for system in comparison.ranked(measure) if system != best)
        return f" {_recommended(best, _caution(comparison, measure, closest, best))}"
    if margins.equivalent(comparison, measure, best, rivals):
        return _cheapest([best, *rivals], do_differ=False)
    pair = comparison.pair(measure, best, rivals[0])
    if pair.adjusted_p <= pair.terms.settings.alpha:
        return ""  # a test of ranks or wins that speaks for the other one: more queries would not settle that
    to_whom = f" between {best} and {rivals[0]}" if len(rivals) > 1 else ""
    if pair.decision not in (None, "undecided") or pair.reverse_decision not in (None, "undecided"):
        to_whom = f" whether {best} or {rivals[0]} is better"  # not whether one of them is good enough
    advice, needed = f" Inconclusive{to_whom}: {_INCONCLUSIVE}.", roughly_needed(comparison, pair)
    if needed is not None:
        units = "queries" if pair.terms.clusters is None else "clusters of queries"
        end, is_factor = _nearest_end(pair), pair.terms.quantity.is_geometric
        least = f"factor is {math.exp(end):.3f}" if is_factor else f"difference is {_decimals(end)}"
        advice += f" If the true {least}, the near end of its interval, you would need about {needed:,} {units} to detect it."
    return advice


def _recommended(system: str, caution: str) -> str:
    return f"Prefer {system}, with caution: {caution}." if caution else f"Choose {system}."


def _cheapest(systems: Sequence[str], *, do_differ: bool) -> str:
    """Of systems that the margin makes as good as one of them, whether or not they were shown to differ."""
    least = "cheaper" if len(systems) == 2 else "cheapest"
    why = "they differ, but" if do_differ else "if they differ at all, it is"
    return f" Choose the {least} of {several(systems)}: {why} by less than the margin."


def _caution(comparison: Comparison, measure: str, behind: str, ahead: str) -> str:
    """What speaks against trusting a choice: that a few queries decide, or that unjudged documents could; empty if nothing does."""
    from ranklens.comparison.influence import fragile

    has_labels = comparison.aligned.labelled is not None
    reasons, decisive = [], None if has_labels else fragile(comparison, measure, behind, ahead)
    if decisive is not None:  # by each of some queries, or any two together
        names, which = decisive.names, "one" if decisive.each else "two"
        one, many = ("cluster", "clusters") if decisive.are_clusters else ("query", "queries")
        if len(names) == (1 if decisive.each else 2):
            whom = f"{plural(len(names), one, many)} {several(names)}"
        else:
            whom = f"any {which} of {len(names)} {many} ({several(names, _MOST_NAMES)})"
        reasons.append(f"the result hinges on {whom}")
    if comparison.pair(measure, behind, ahead).is_open:
        reasons.append(_COULD_TURN)
    return ", and ".join(reasons)


def _nearest_end(pair: PairResult) -> float:
    """The end of the interval that is closer to 0; 0 if the interval contains 0."""
    low, high = pair.interval
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high))


def roughly_needed(comparison: Comparison, pair: PairResult) -> int | None:
    """How many queries, or clusters of them, would detect the smallest difference that the interval contains.

    Rounded up to two significant digits, so that the promise holds. None if the interval contains 0, as no number of queries is
    enough then, if that many are far away, or if the test is not about means.
    """
    effect, deviation = _nearest_end(pair), pair.deviation
    if not effect or not deviation or pair.n < 2 or pair.terms.procedure.compares:
        return None
    units = pair.terms.clusters or pair.n
    alpha, spread = comparison.contrasts(pair.measure).alpha, deviation * (units / pair.n) ** 0.5
    needed = max(queries_needed(effect, spread, alpha=alpha), fewest_queries(pair.terms.done, alpha))
    if pair.terms.done in (DEFAULT_TEST, BINARY_TEST):
        differing = 1.0 if pair.terms.clusters else 1 - pair.ties / pair.n
        is_binary = pair.terms.done == BINARY_TEST
        needed = queries_for_default_test(effect, spread, alpha=alpha, differing=differing, binary=is_binary)
    if not units < needed <= _FAR * units:
        return None
    step = int(10 ** max(len(str(needed)) - 2, 0))
    return -(-needed // step) * step


def p_text(p: float, alpha: float = 0.05) -> str:
    """A p-value in a sentence.

    >>> p_text(0.0021), p_text(0.00004)
    ('p = 0.002', 'p < 0.001')
    """
    cell = p_cell(p, alpha)
    return f"p {cell}" if cell.startswith("<") else f"p = {cell}"


@lru_cache(maxsize=64)
def correction_text(settings: Settings, family: Family) -> str:
    """How p-values were corrected: empty where there is nothing to correct for."""
    slices = f" in {family.slices:,} slices" if family.slices > 1 else ""
    slices += f" on {family.measures:,} measures" if family.measures > 1 else ""
    if settings.is_joint:
        return f" by the max-t test over {counted(family.pairs // family.slices // family.measures, 'pair')}{slices}"
    if settings.is_of_all_pairs:
        return f" by {SIGNIFICANCE_TESTS[settings.test].words} over {family.systems:,} systems{slices}"
    pairs = family.pairs // family.slices // family.measures
    if family.pairs < 2:
        return ""
    over = f"{counted(pairs, 'pair')}{slices}"
    if not CORRECTIONS_BY_NAME[settings.correction].words:
        return f", not corrected for {over}"
    return f" after {CORRECTIONS_BY_NAME[settings.correction].words} over {over}"


def in_a_word(pair: PairResult, quantity: Quantity) -> str:
    """How b compares with a, in a few words, for a table."""
    if pair.ties == pair.n:
        return "same values"
    if pair.decision is not None:
        return pair.decision
    if not pair.significant:
        return "not significant"
    return direction(pair.difference, quantity)


def direction(difference: float, quantity: Quantity) -> str:
    """What a system is that has this difference over another."""
    up, down = ("higher", "lower") if quantity.better == "neither" else ("better", "worse")
    return up if (difference > 0) != (quantity.better == "lower") else down


def _word(quantity: Quantity) -> str:
    return "higher" if quantity.better == "neither" else "better"


def superior(terms: HowTested) -> str:
    """In what one system is ahead of another: its mean, unless the test is about something else."""
    compared = terms.procedure.compares
    return f"{_word(terms.quantity)} by {compared}" if compared else _word(terms.quantity)


def _chance(pair: PairResult) -> str:
    settings, family = pair.terms.settings, pair.terms.family
    alone = ", not corrected over measures" if pair.terms.is_secondary else ""
    return f"{p_text(pair.adjusted_p, settings.alpha)}{correction_text(settings, family)}{alone}"


def _decimals(size: float) -> str:
    return f"{size:.{3 if size >= 0.001 else 5}f}"


def _unseen(pair: PairResult) -> str:
    """Which differences often go undetected: at the one named here, the power is 0.8."""
    if pair.n < 2:
        return "; one query is not enough to conclude anything about others"
    clusters = pair.terms.clusters
    have = f"{pair.n:,} queries" if clusters is None else f"{counted(clusters, 'cluster')} of queries"
    if math.isinf(pair.detectable):
        return f"; with {have} the test cannot show any difference"
    if not pair.detectable or pair.interval.method == "adjusted t":
        return ""  # where few queries differ, how much differences vary is hardly known
    often = "undetected more than 20% of the time"
    if pair.significant and abs(pair.difference) < pair.detectable:
        return f"; with {have}, a difference this small goes {often}, so its size is probably overstated"
    if pair.terms.quantity.is_geometric:
        limit = f"factors under {math.exp(pair.detectable):.3f}"
    else:
        limit = f"differences under {_decimals(pair.detectable)}"
    return f"; with {have}, {limit} go {often}"
