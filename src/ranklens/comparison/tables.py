"""A comparison as tables: who leads, which pairs differ, what holds in each slice, and the table of a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ranklens.comparison import openness, wording
from ranklens.comparison.cautions import replaced
from ranklens.comparison.macro import macro_test
from ranklens.comparison.settings import Settings
from ranklens.comparison.teams import best_of_teams
from ranklens.scores import details
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.effects import METHODS
from ranklens.stats.intervals import words_of_method
from ranklens.stats.joint import RESAMPLES as JOINT_RESAMPLES
from ranklens.stats.randomization import EXACT_UP_TO
from ranklens.stats.significance import BINARY_TEST, SIGNIFICANCE_TESTS
from ranklens.tables.table import Cell, Lines, Printout, Table
from ranklens.words import counted, p_cell, said_once, several, shortened

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.macro import MacroPair
    from ranklens.comparison.pairs import PairResult
    from ranklens.comparison.results import SystemResult
    from ranklens.comparison.settings import Family
    from ranklens.stats import Interval

_WIDEST_TEXT = 100  # letters of a question
_EFFECTS = (
    "dz, g: the mean difference in standard deviations of the differences (Cohen), and corrected for few queries (Hedges).\n"
    "P(better): the share of queries where the first of the pair is better; ties count half."
)
MOST_SYSTEMS, MOST_PAIRS, MOST_ROWS, MOST_NOTES = 20, 15, 40, 6  # shown for each measure, in print


def printout(comparison: Comparison, *, intervals: bool = True) -> Printout:
    """All that a reader needs to decide: leaders, pairs, slices, the verdict, what it rests on, cautions.

    Without ``intervals`` there are none, neither in columns nor in sentences.
    """
    parts: list[Table | Lines] = [leaders(comparison)]
    if comparison.teams:
        parts.append(best_of_teams(comparison))
    if len(comparison.pairs):
        parts.append(pairs(comparison))
    if comparison.slices:
        parts.append(slices(comparison))
    if comparison.macro_pairs:
        parts.append(macro_pairs(comparison))
    if not intervals:
        parts = [_without(part, _interval_header(comparison)) for part in parts if isinstance(part, Table)]
    shown = comparison.shown
    said = [
        (shown(name), wording.of_measure(comparison, name, intervals=intervals).text)
        for name in comparison.measures
    ]
    said += [(f"{shown(name)} by slice", wording.of_slices(comparison, name)) for name in comparison.measures]
    said += [(f"{shown(name)}, open", openness.told(comparison, name)) for name in comparison.measures]
    said.append(("Conclusion", comparison.conclusion))
    said += [(name, text) for name, text in wording.of_failures(comparison.scores).items()]
    parts.append(Lines("Verdict", [f"{name}: {text}" for name, text in said if text]))
    parts.append(Lines("What was compared", note(comparison)))
    if comparison.cautions:
        parts.append(Lines("Keep in mind", comparison.cautions))
    return Printout(parts)


def leaders(comparison: Comparison) -> Table:
    """One row per measure and system, best first; those that do not differ significantly from the best are bold.

    With a baseline most pairs were not tested; then the best means are bold.
    """
    rows = []
    for name in comparison.measures:
        ranked = comparison.ranked(name)
        behind = _behind(comparison, name, ranked)
        for i, system in enumerate(ranked[:MOST_SYSTEMS]):
            numbers = _numbers(comparison, comparison.result(name, system), strong=system not in behind)
            rows.append([comparison.shown(name) if i == 0 else "", system, *numbers])
        if len(ranked) > MOST_SYSTEMS:
            rows.append(["", f"… {len(ranked) - MOST_SYSTEMS:,} more", "", "", ""])
    header = ["measure", "system", "mean", _interval_header(comparison), "group"]
    return _without_empty(Table(header, rows, left=2))


def _behind(comparison: Comparison, measure: str, ranked: Sequence[str]) -> set[str]:
    """The systems that are not bold."""
    if not is_rated(comparison, measure):
        return set(ranked)
    if comparison.baseline is None:
        return comparison.told_apart(measure, ranked[0])
    mean = {system: comparison.result(measure, system).mean for system in ranked}
    return {system for system in ranked if mean[system] != mean[ranked[0]]}


def is_rated(comparison: Comparison, measure: str) -> bool:
    """Whether systems are tested by this measure, and one can be better than another."""
    quantity = comparison.quantity(measure)
    return quantity.is_tested and quantity.better != "neither"


def pairs(comparison: Comparison) -> Table:
    """One row per measure and pair: those with the baseline, or all; if there are many, those with the leader."""
    rows, hidden = [], 0
    for name in comparison.measures:
        if not comparison.quantity(name).is_tested:
            continue
        shown = _pairs_to_show(comparison, name)
        tested = comparison.contrasts(name)
        hidden += len(tested) - len(shown)
        label_of = comparison.shown(name)
        rows += [[label_of if i == 0 else "", *_pair(comparison, pair)] for i, pair in enumerate(shown)]
    corrected = CORRECTIONS_BY_NAME[comparison.correction].words
    if comparison.settings.is_joint:
        corrected = "max-t"
    is_plain = (
        comparison.settings.is_of_all_pairs or not corrected or comparison.pairs.parts[0].family.pairs < 2
    )
    chance = "p" if is_plain else f"p ({corrected})"
    header = ["measure", "pair", "difference", _interval_header(comparison), chance, "win/tie/loss", ""]
    return Table(header, rows, left=2, note=_not_shown(hidden))


def _not_shown(hidden: int) -> str:
    return f"{hidden:,} more pairs are not shown; see pairs_frame() or the JSON." if hidden else ""


def effects(comparison: Comparison) -> Table:
    """One row per measure and pair that :func:`pairs` shows: how large the difference is, standardised and in queries."""
    rows, hidden = [], 0
    for name in comparison.measures:
        if comparison.quantity(name).is_tested:
            shown = _pairs_to_show(comparison, name)
            hidden += len(comparison.contrasts(name)) - len(shown)
            rows += [
                [comparison.shown(name) if i == 0 else "", *_effect(pair)] for i, pair in enumerate(shown)
            ]
    around = _interval_header(comparison)
    header = ["measure", "pair", "dz", "g", around, "P(better)", around]
    return Table(header, rows, left=2, note="\n".join(filter(None, [_EFFECTS, _not_shown(hidden)])))


def _effect(pair: PairResult) -> list[str]:
    found = pair.effect
    return [
        f"{pair.b} vs {pair.a}",
        f"{found.cohen_dz:+.2f}",
        f"{found.hedges_g:+.2f}",
        _short(found.hedges_g_interval),
        f"{found.probability:.2f}",
        _short(found.probability_interval),
    ]


def _short(around: Interval) -> str:
    return f"[{around.low:.2f}, {around.high:.2f}]"


def slices(comparison: Comparison) -> Table:
    """One row per measure, slice and system, and the macro-average: the mean over slices."""
    rows = []
    for name in comparison.measures:
        parts = [*(part.results for part in comparison.slices), comparison.macro]
        found = [_slice_rows(comparison, [r for r in results if r.measure == name]) for results in parts]
        shown = [row for part in found for row in part][:MOST_ROWS]
        rows += [[comparison.shown(name) if i == 0 else "", *row] for i, row in enumerate(shown)]
        if (hidden := sum(map(len, found)) - len(shown)) > 0:
            rows.append(["", f"… {hidden:,} more rows", *[""] * 5])
    header = ["measure", "slice", "system", "queries", "mean", _interval_header(comparison), "group"]
    return _without_empty(Table(header, rows, left=3))


def macro_pairs(comparison: Comparison) -> Table:
    """One row per measure and pair: the difference of their macro-averages, the most certain first."""
    rows: list[list[str]] = []
    for name in comparison.measures:
        found = sorted((p for p in comparison.macro_pairs if p.measure == name), key=lambda p: p.p_value)
        shown = [_macro_row(comparison, pair) for pair in found[:MOST_PAIRS]]
        rows += [[comparison.shown(name) if i == 0 else "", *row] for i, row in enumerate(shown)]
    corrected = CORRECTIONS_BY_NAME[comparison.correction].words
    chance = f"p ({corrected})" if corrected and len(comparison.slices[0].pairs.parts[0]) > 1 else "p"
    header = ["measure", "macro-average", "difference", _interval_header(comparison), chance, ""]
    return Table(header, rows, left=2)


def _macro_row(comparison: Comparison, pair: MacroPair) -> list[str]:
    quantity = comparison.quantity(pair.measure)
    size, around = _sizes(pair, quantity)
    word = wording.direction(pair.difference, quantity) if pair.significant else "not significant"
    return [f"{pair.b} vs {pair.a}", size, around, p_cell(pair.adjusted_p, comparison.alpha), word]


def queries(
    comparison: Comparison,
    measure: str,
    a: str | None,
    b: str | None,
    most: int,
    texts: Mapping[str, str] | None = None,
) -> Table:
    """The queries with the largest differences, from the largest loss of b to its largest gain; with texts, if given."""
    found = comparison.queries(measure, a, b)
    found = found.drop("question", strict=False)
    texts = {**comparison.texts, **(texts or {})}
    largest = sorted(found.rows(), key=lambda row: -abs(row[3]))[:most]
    rows = [
        [
            row[0],
            *([shortened(texts.get(row[0], ""), _WIDEST_TEXT)] if texts else []),
            f"{row[1]:.4f}",
            f"{row[2]:.4f}",
            f"{row[3]:+.4f}",
            *row[4:],
        ]
        for row in sorted(largest, key=lambda row: row[3])
    ]
    title = f"{comparison.shown(measure)}: the {len(rows):,} queries of {len(found):,} that differ most"
    header = [found.columns[0], *(["question"] if texts else []), *found.columns[1:]]
    return Table(header, rows, title=title, left=2 if texts else 1)


def documents(
    comparison: Comparison, query: str, a: str | None, b: str | None, text: str | None = None
) -> Table:
    """Two rankings of a query side by side."""
    found = comparison.documents(query, a, b).drop("question", strict=False)
    text = text or comparison.texts.get(query)
    rows = [
        [
            doc,
            "" if grade is None else f"{grade:g}",
            *("" if rank is None else f"{rank:,}" for rank in ranks),
            change,
        ]
        for doc, grade, *ranks, change in found.iter_rows()
    ]
    asked = f" ({shortened(text, None)})" if text else ""
    title = f"Query {query}{asked}: the first documents of both, and relevant ones missed"
    return Table(found.columns, rows, title=title)


def method(comparison: Comparison) -> str:
    """The test and the correction in words."""
    family = comparison.pairs.parts[0].family
    by_test: dict[str, list[Contrasts]] = {}
    for part in comparison.pairs.parts:
        by_test.setdefault(part.terms.done, []).append(part)
    texts = [_test(test, parts) for test, parts in by_test.items()]
    if len(texts) > 1:
        names = [
            several([comparison.shown(part.quantity.name) for part in parts]) for parts in by_test.values()
        ]
        texts = [f"{text} for {measures}" for text, measures in zip(texts, names, strict=True)]
    n = f"n = {len(comparison.query_ids):,}"
    if clusters := comparison.pairs.parts[0].terms.clusters:
        n += f" queries in {counted(clusters, 'cluster')}"
    return f"{', '.join(texts)}, two-sided, {n}{_corrected(comparison, family)}"


def _test(test: str, parts: Sequence[Contrasts]) -> str:
    text, settings = SIGNIFICANCE_TESTS[test].words, parts[0].settings
    if any(part.clusters is not None for part in parts):
        text += " by cluster"
    if settings.is_joint:
        return f"{text} with {JOINT_RESAMPLES:,} resamples"
    if not SIGNIFICANCE_TESTS[test].is_resampled:
        return text
    exact = sum(part.exact_pairs for part in parts)
    if exact == sum(map(len, parts)):
        return f"exact {text}"
    drawn = f"{text} with {settings.resamples:,} resamples"
    return drawn + (f" (exact where at most {EXACT_UP_TO} queries differ)" if exact else "")


def _intervals(comparison: Comparison) -> str:
    """How intervals were made."""
    means = dict.fromkeys(r.interval.method for r in comparison.results if r.interval is not None)
    blocks = (next(part.blocks()) for part in comparison.pairs.parts if len(part))
    used = dict.fromkeys(METHODS[place] for block in blocks for place in block.effects.method.tolist())
    of_means, of_differences = (several([*map(words_of_method, names)]) for names in (means, used))
    if comparison.settings.is_joint:
        return (
            f"Intervals of means are {of_means}; those of differences hold together and agree with the tests."
        )
    if means.keys() == used.keys():
        return f"Intervals are {of_means}, not corrected for the number of pairs."
    return f"Intervals of means are {of_means}; of differences {of_differences}, not corrected for the number of pairs."


def note(comparison: Comparison, *, parameters: bool = True) -> list[str]:
    """What was averaged over, with the ``parameters`` of measures, what retrievers answered, and how differences were tested."""
    lines = [*_described(comparison, parameters=parameters), *_answered(comparison)]
    if len(comparison.pairs):
        text = method(comparison)
        has_letters = any(result.group for result in comparison.results)
        grouped = (
            " Systems that share a group letter do not differ significantly."
            if has_letters
            else only_with_baseline(comparison)
        )
        lines.append(
            f"{text[0].upper()}{text[1:]}, alpha = {comparison.alpha:g}, seed {comparison.seed}.{grouped} {_intervals(comparison)}"
        )
    if comparison.settings.margins and len(comparison.pairs):
        lines.append(_margins(comparison))
    lines += _of_slices(comparison) if len(comparison.pairs) else []
    if comparison.macro_pairs:
        by = "query" if comparison.cluster_of is None else "cluster"
        name = SIGNIFICANCE_TESTS[macro_test(comparison.settings)].words
        lines.append(f"Differences of macro-averages: {name} of what each {by} adds to them.")
    return lines


def methods_of_tests(comparison: Comparison) -> list[str]:
    """How differences were tested, for a paper."""
    if not len(comparison.pairs):
        return []
    tests = method(comparison)
    is_named_after_someone = tests.partition(" ")[0].endswith("'s")
    text = f"Differences were tested with {'' if is_named_after_someone else 'the '}{tests} (alpha = {comparison.alpha:g})."
    binary = [
        part for part in comparison.pairs.parts if part.terms.done == BINARY_TEST and part.settings.is_default
    ]
    if binary:
        names = several([part.quantity.name for part in binary])
        text += (
            f" McNemar's test replaces the default randomisation test where all values are 0 or 1 ({names})."
        )
    text = " ".join([text, *_replaced(comparison)])
    intervals = f"{100 * comparison.level:.4g}% intervals{_intervals(comparison).removeprefix('Intervals')}"
    said = [text, only_with_baseline(comparison).strip(), intervals]
    said += [_margins(comparison)] if comparison.settings.margins else []
    said += _of_slices(comparison)
    if comparison.primary is not None and len(comparison.pairs.parts) > 1:
        said.append(f"{comparison.primary} is the primary measure; recommendations rest on it alone.")
    return [sentence for sentence in said if sentence]


def _replaced(comparison: Comparison) -> list[str]:
    """Why a test was done in place of the default one."""
    if not comparison.settings.is_default:
        return []
    asked = replace(comparison.settings, test=Settings.test)
    in_slices = (part for one in comparison.slices for part in one.pairs.parts)
    return [*replaced(asked, [*comparison.pairs.parts, *in_slices], advice=False)]


def _of_slices(comparison: Comparison) -> list[str]:
    """What the tests in slices are corrected for."""
    if not comparison.slices:
        return []
    family = comparison.slices[0].pairs.parts[0].family
    what = "all measures" if family.measures > 1 else "each measure"
    return [f"In slices, p-values are corrected over the {family.pairs:,} tests of {what} in all slices."]


def _margins(comparison: Comparison) -> str:
    """Which differences do not matter, and how that was tested."""
    by_margin: dict[str, list[str]] = {}
    for name, margin in comparison.settings.margins.items():
        by_margin.setdefault(str(margin), []).append(comparison.shown(name))
    told = [f"{margin} for {several(names)}" for margin, names in by_margin.items()]
    return (
        f"Margin: {'; '.join(told)}. Two one-sided tests, of which each takes the larger p-value of Student's t and of the bound of "
        "Fay and Feuer (1997) for skewed differences, corrected for the number of pairs, decide whether a system is no worse or equivalent."
    )


def only_with_baseline(comparison: Comparison) -> str:
    """That other pairs were not tested, if so."""
    if comparison.baseline is None or len(comparison.systems) < 3:
        return ""
    return f" Only pairs with {comparison.baseline} were tested."


def _corrected(comparison: Comparison, family: Family) -> str:
    """What p-values are corrected for, and that this does not include measures, if there are several."""
    pairs, name = family.pairs, CORRECTIONS_BY_NAME[comparison.correction].words
    tested = sum(comparison.quantity(measure).is_tested for measure in comparison.measures)
    is_each = tested > 1 and family.measures == 1
    if comparison.settings.is_of_all_pairs:
        said = f"which corrects for all pairs of {len(comparison.systems):,} systems"
    elif comparison.settings.is_joint:
        said = f"which corrects for {counted(pairs, 'pair')}"
    elif pairs < 2:
        said = "a single pair" if is_each else "a single pair: no correction needed"
    elif not name:
        said = f"not corrected for {pairs:,} pairs"
    else:
        said = (
            f"{name} over the {pairs:,} pairs of {'all measures' if family.measures > 1 else 'each measure'}"
        )
    return f", {said}{', not corrected over measures' if is_each else ''}"


def _described(comparison: Comparison, *, parameters: bool) -> list[str]:
    """What was evaluated for each system, once for those that share it; what all share is said once."""
    lines = []
    if comparison.aligned.left_out:
        n = counted(len(comparison.query_ids), "query")
        lines.append(f"{n} compared, which all systems have; means are over these.")
    found = {name: _evaluated(comparison, name, parameters=parameters) for name in comparison.systems}
    return [*lines, *said_once(found, MOST_NOTES)]


def _evaluated(comparison: Comparison, system: str, *, parameters: bool) -> tuple[str, ...]:
    """What a system's means are over, and what was decided on the way."""
    scores = comparison.scores.get(system)
    if scores is None:
        return (f"{counted(len(comparison.query_ids), 'query')} averaged", "values as given")
    # The mean of a system is over the queries that all have, which can be fewer than it was evaluated on.
    done = "evaluated" if comparison.aligned.left_out else "averaged"
    return tuple(details(scores.account(), scores.measures, done=done, parameters=parameters))


def _answered(comparison: Comparison) -> list[str]:
    """The status of the queries where retrievers were run, once for those that share it."""
    lines: dict[str, list[str]] = {}
    for system, counts in (comparison.status or {}).items():
        text = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        lines.setdefault(text, []).append(system)
    answers = [f"Answers of {several(systems)}: {text}." for text, systems in lines.items()]
    return [*answers, *_spent(comparison)]


def _spent(comparison: Comparison) -> list[str]:
    """Tokens and cost in all, the least first."""
    told = {what: sorted(sums.items(), key=lambda item: item[1]) for what, sums in comparison.spent.items()}
    return [
        f"{what.capitalize()} in all: {', '.join(f'{name} {amount:,.6g}' for name, amount in sums)}."
        for what, sums in told.items()
    ]


def _numbers(comparison: Comparison, found: SystemResult, *, strong: bool = False) -> list[str]:
    """Mean, interval and group."""
    is_sum = comparison.quantity(found.measure).aggregate == "sum"
    mean = f"{found.mean:,.0f}" if is_sum else f"{found.mean:.4f}"
    interval = str(found.interval) if found.interval is not None else ""
    return [Cell(mean, strong=strong), interval, found.group]


def _slice_rows(comparison: Comparison, found: Sequence[SystemResult]) -> list[list[str]]:
    """Slice, system, queries, mean, interval, group; the systems in the order of the leaders."""
    if not found:
        return []
    order = {system: i for i, system in enumerate(comparison.ranked(found[0].measure)[:MOST_SYSTEMS])}
    shown = sorted((r for r in found if r.system in order), key=lambda r: order[r.system])
    return [
        [str(r.slice) if i == 0 else "", r.system, f"{r.n:,}" if i == 0 else "", *_numbers(comparison, r)]
        for i, r in enumerate(shown)
    ]


def _pairs_to_show(comparison: Comparison, measure: str) -> list[PairResult]:
    """With a baseline: it comes first, so that signs show gains; else the better one comes last, so that they are positive."""
    ranked = comparison.ranked(measure)
    if comparison.baseline is not None:
        others = [system for system in ranked if system != comparison.baseline]
        return [comparison.pair(measure, comparison.baseline, system) for system in others[:MOST_PAIRS]]
    every = (
        [(worse, better) for i, better in enumerate(ranked) for worse in ranked[i + 1 :]]
        if len(ranked) <= 6
        else [(worse, ranked[0]) for worse in ranked[1:]]
    )
    return [comparison.pair(measure, a, b) for a, b in every[:MOST_PAIRS]]


def _pair(comparison: Comparison, pair: PairResult) -> list[str]:
    quantity = comparison.quantity(pair.measure)
    size, around = _sizes(pair, quantity)
    chance = p_cell(pair.adjusted_p, comparison.alpha)
    counts = f"{pair.wins}/{pair.ties}/{pair.losses}"
    word = wording.in_a_word(pair, quantity) + (", open" if pair.is_open else "")
    return [f"{pair.b} vs {pair.a}", size, around, chance, counts, word]


def _sizes(pair: PairResult | MacroPair, quantity: Quantity) -> tuple[str, str]:
    """The difference, or the factor of a geometric mean, and its interval; none if nothing is known of its width."""
    if pair.interval.low == pair.interval.high:
        return _signed(
            pair.difference
        ) if not quantity.is_geometric else f"× {math.exp(pair.difference):.4f}", ""
    if quantity.is_geometric:
        return f"× {math.exp(pair.difference):.4f}", str(quantity.interval_back(pair.interval))
    return _signed(pair.difference), str(pair.interval)


def _signed(difference: float) -> str:
    """Four decimals, or what is left of a difference that these would show as 0."""
    if not difference:
        return "0.0000"
    return f"{difference:+.4f}" if abs(difference) >= 0.00005 else f"{difference:+.0e}"


def _interval_header(comparison: Comparison) -> str:
    return f"{comparison.level:.0%} interval"


def _without_empty(table: Table) -> Table:
    """Columns that say nothing are left out: letters, where there is one system only, or a baseline."""
    return _keep(table, [i for i in range(len(table.header)) if any(row[i] for row in table.rows)])


def _without(table: Table, column: str) -> Table:
    return _keep(table, [i for i, name in enumerate(table.header) if name != column])


def _keep(table: Table, columns: Sequence[int]) -> Table:
    header, *rows = ([row[i] for i in columns] for row in (table.header, *table.rows))
    return replace(table, header=header, rows=rows)
