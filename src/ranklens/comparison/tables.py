"""A comparison as tables: who leads, which pairs differ, what holds in each slice, and the table of a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ranklens.comparison import openness, wording
from ranklens.comparison.cautions import replaced
from ranklens.comparison.contrasts import powered_pairs
from ranklens.comparison.macro import macro_test
from ranklens.comparison.settings import Settings
from ranklens.comparison.teams import best_of_teams
from ranklens.scores import details
from ranklens.scores.powered import described
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.effects import METHODS
from ranklens.stats.intervals import words_of_method
from ranklens.stats.joint import RESAMPLES as JOINT_RESAMPLES
from ranklens.stats.ppi import powered
from ranklens.stats.randomization import EXACT_UP_TO
from ranklens.stats.significance import BINARY_TEST, SIGNIFICANCE_TESTS
from ranklens.tables.table import Cell, Lines, Printout, Table
from ranklens.words import counted, p_cell, said_once, several, shortened

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.macro import MacroPair
    from ranklens.comparison.results import PairResult, SystemResult
    from ranklens.comparison.settings import Family
    from ranklens.stats import Interval

_WIDEST_TEXT = 100  # letters of a question
_EFFECTS = (
    "dz, g: the mean difference in standard deviations of the differences (Cohen), and corrected for few queries (Hedges).\n"
    "P(better): the share of queries where the first of the pair is better; ties count half."
)
_WORTH = 4  # systems and pairs whose weight is stated
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
        around = _interval_header(comparison)
        tables = [part for part in parts if isinstance(part, Table)]
        parts = [_keep(one, [i for i, name in enumerate(one.header) if name != around]) for one in tables]
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
        if not is_rated(comparison, name):
            behind = {*ranked}
        elif comparison.baseline is None:
            behind = comparison.told_apart(name, ranked[0])
        else:
            means = {system: comparison.result(name, system).mean for system in ranked}
            behind = {system for system in ranked if means[system] != means[ranked[0]]}
        for i, system in enumerate(ranked[:MOST_SYSTEMS]):
            numbers = _numbers(comparison, comparison.result(name, system), strong=system not in behind)
            rows.append([comparison.shown(name) if i == 0 else "", system, *numbers])
        if len(ranked) > MOST_SYSTEMS:
            rows.append(["", f"… {len(ranked) - MOST_SYSTEMS:,} more", "", "", ""])
    header = ["measure", "system", "mean", _interval_header(comparison), "group"]
    return _without_empty(Table(header, rows, left=2))


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
        for i, pair in enumerate(shown):
            size, around = _sizes(pair, tested.quantity)
            chance, counts = (
                p_cell(pair.adjusted_p, comparison.alpha),
                f"{pair.wins}/{pair.ties}/{pair.losses}",
            )
            word = wording.in_a_word(pair, tested.quantity) + (", open" if pair.is_open else "")
            label = comparison.shown(name) if i == 0 else ""
            rows.append([label, f"{pair.b} vs {pair.a}", size, around, chance, counts, word])
    settings = comparison.settings
    corrected = "max-t" if settings.is_joint else CORRECTIONS_BY_NAME[settings.correction].words
    is_plain = settings.is_of_all_pairs or not corrected or comparison.pairs.parts[0].family.pairs < 2
    chance = "p" if is_plain else f"p ({corrected})"
    header = ["measure", "pair", "difference", _interval_header(comparison), chance, "win/tie/loss", ""]
    return Table(header, rows, left=2, note=_not_shown(hidden))


def _not_shown(hidden: int) -> str:
    return f"{hidden:,} more pairs are not shown; see pairs_frame() or the JSON." if hidden else ""


def effects(comparison: Comparison) -> Table:
    """One row per measure and pair that :func:`pairs` shows: how large the difference is, standardised and in queries."""
    rows, hidden = [], 0
    for name in comparison.measures:
        if not comparison.quantity(name).is_tested:
            continue
        shown = _pairs_to_show(comparison, name)
        hidden += len(comparison.contrasts(name)) - len(shown)
        for i, pair in enumerate(shown):
            one, label = pair.effect, comparison.shown(name) if i == 0 else ""
            g = [f"{one.hedges_g:+.2f}", _short(one.hedges_g_interval)]
            probability = [f"{one.probability:.2f}", _short(one.probability_interval)]
            rows.append([label, f"{pair.b} vs {pair.a}", f"{one.cohen_dz:+.2f}", *g, *probability])
    around = _interval_header(comparison)
    header = ["measure", "pair", "dz", "g", around, "P(better)", around]
    return Table(header, rows, left=2, note="\n".join(filter(None, [_EFFECTS, _not_shown(hidden)])))


def _short(around: Interval) -> str:
    return f"[{around.low:.2f}, {around.high:.2f}]"


def slices(comparison: Comparison) -> Table:
    """One row per measure, slice and system, and the macro-average: the mean over slices."""
    rows = []
    for name in comparison.measures:
        parts = [*(part.results for part in comparison.slices), comparison.macro]
        order = {system: i for i, system in enumerate(comparison.ranked(name)[:MOST_SYSTEMS])}
        every: list[list[str]] = []
        for results in parts:
            leading = [r for r in results if r.measure == name and r.system in order]
            for i, r in enumerate(sorted(leading, key=lambda r: order[r.system])):
                part, n = (str(r.slice), f"{r.n:,}") if i == 0 else ("", "")
                every.append([part, r.system, n, *_numbers(comparison, r)])
        shown = every[:MOST_ROWS]
        rows += [[comparison.shown(name) if i == 0 else "", *row] for i, row in enumerate(shown)]
        if len(every) > len(shown):
            rows.append(["", f"… {len(every) - len(shown):,} more rows", *[""] * 5])
    header = ["measure", "slice", "system", "queries", "mean", _interval_header(comparison), "group"]
    return _without_empty(Table(header, rows, left=3))


def macro_pairs(comparison: Comparison) -> Table:
    """One row per measure and pair: the difference of their macro-averages, the most certain first."""
    rows: list[list[str]] = []
    for name in comparison.measures:
        quantity = comparison.quantity(name)
        tested = sorted((p for p in comparison.macro_pairs if p.measure == name), key=lambda p: p.p_value)
        for i, pair in enumerate(tested[:MOST_PAIRS]):
            size, around = _sizes(pair, quantity)
            word = wording.direction(pair.difference, quantity) if pair.significant else "not significant"
            label, p = comparison.shown(name) if i == 0 else "", p_cell(pair.adjusted_p, comparison.alpha)
            rows.append([label, f"{pair.b} vs {pair.a}", size, around, p, word])
    corrected = CORRECTIONS_BY_NAME[comparison.correction].words
    chance = f"p ({corrected})" if corrected and len(comparison.slices[0].pairs.parts[0]) > 1 else "p"
    header = ["measure", "macro-average", "difference", _interval_header(comparison), chance, ""]
    return Table(header, rows, left=2)


def queries(
    comparison: Comparison,
    measure: str,
    a: str | None,
    b: str | None,
    most: int,
    texts: Mapping[str, str] | None = None,
) -> Table:
    """The queries with the largest differences, from the largest loss of b to its largest gain; with texts, if given."""
    frame = comparison.queries(measure, a, b).drop("question", strict=False)
    texts = {**comparison.texts, **(texts or {})}
    largest = sorted(frame.rows(), key=lambda row: -abs(row[3]))[:most]
    rows = []
    for query, first, second, change, *rest in sorted(largest, key=lambda row: row[3]):
        question = [shortened(texts.get(query, ""), _WIDEST_TEXT)] if texts else []
        rows.append([query, *question, f"{first:.4f}", f"{second:.4f}", f"{change:+.4f}", *rest])
    title = f"{comparison.shown(measure)}: the {len(rows):,} queries of {len(frame):,} that differ most"
    header = [frame.columns[0], *(["question"] if texts else []), *frame.columns[1:]]
    return Table(header, rows, title=title, left=2 if texts else 1)


def documents(
    comparison: Comparison, query: str, a: str | None, b: str | None, text: str | None = None
) -> Table:
    """Two rankings of a query side by side."""
    frame = comparison.documents(query, a, b).drop("question", strict=False)
    text = text or comparison.texts.get(query)
    rows = []
    for doc, grade, *ranks, change in frame.iter_rows():
        places = ["" if rank is None else f"{rank:,}" for rank in ranks]
        rows.append([doc, "" if grade is None else f"{grade:g}", *places, change])
    asked = f" ({shortened(text, None)})" if text else ""
    title = f"Query {query}{asked}: the first documents of both, and relevant ones missed"
    return Table(frame.columns, rows, title=title)


def method(comparison: Comparison) -> str:
    """The test and the correction in words."""
    family = comparison.pairs.parts[0].family
    by_test: dict[str, list[Contrasts]] = {}
    for part in comparison.pairs.parts:
        by_test.setdefault(part.terms.done, []).append(part)
    texts = []
    for test, parts in by_test.items():
        names = several([comparison.shown(part.quantity.name) for part in parts])
        text, settings = SIGNIFICANCE_TESTS[test].words, parts[0].settings
        text += " by cluster" if any(part.clusters is not None for part in parts) else ""
        exact = sum(part.exact_pairs for part in parts)
        if settings.is_joint:
            text += f" with {JOINT_RESAMPLES:,} resamples"
        elif SIGNIFICANCE_TESTS[test].is_resampled and exact == sum(map(len, parts)):
            text = f"exact {text}"
        elif SIGNIFICANCE_TESTS[test].is_resampled:
            text += f" with {settings.resamples:,} resamples"
            text += f" (exact where at most {EXACT_UP_TO} queries differ)" if exact else ""
        texts.append(text + (f" for {names}" if len(by_test) > 1 else ""))
    n = f"n = {len(comparison.query_ids):,}"
    if clusters := comparison.pairs.parts[0].terms.clusters:
        n += f" queries in {counted(clusters, 'cluster')}"
    return f"{', '.join(texts)}, two-sided, {n}{_corrected(comparison, family)}"


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
    lines = []
    if comparison.aligned.left_out:
        n = counted(len(comparison.query_ids), "query")
        lines.append(f"{n} compared, which all systems have; means are over these.")
    # The mean of a system is over the queries that all have, which can be fewer than it was evaluated on.
    done = "evaluated" if comparison.aligned.left_out else "averaged"
    as_given = f"{counted(len(comparison.query_ids), 'query')} averaged", "values as given"
    described: dict[str, tuple[str, ...]] = dict.fromkeys(comparison.systems, as_given)
    for system, scores in comparison.scores.items():
        described[system] = (*details(scores.account(), scores.measures, done=done, parameters=parameters),)
    lines += [*said_once(described, MOST_NOTES), *_answered(comparison), *_of_labels(comparison)]
    if len(comparison.pairs):
        text, grouped = method(comparison), only_with_baseline(comparison)
        if any(result.group for result in comparison.results):
            grouped = " Systems that share a group letter do not differ significantly."
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


def _of_labels(comparison: Comparison) -> list[str]:
    """How many queries a model alone has labelled, how far it was listened to, and what that is worth."""
    labelled = comparison.aligned.labelled
    if labelled is None:
        return []
    lines = [
        f"A model alone has labelled {counted(len(labelled.queries), 'more query', 'more queries')}. Means and differences use both (PPI++), each "
        "with a weight of its own, so that a difference need not equal that of the means. The human-judged queries must be a random sample of all."
    ]
    for part in comparison.pairs.parts:
        assert part.labels is not None
        n = part.values.shape[1]
        found = powered(part.labels)
        worth = dict(zip(part.systems, zip(found.weight, n * found.gain, strict=True), strict=True))
        if len(part):
            change = powered_pairs(part.quantity, part.labels, part.first[:1], part.second[:1])
            name = f"{part.systems[part.second[0]]} vs {part.systems[part.first[0]]}"
            worth[name] = (change.weight[0], n * change.gain[0])
        shown = dict([*worth.items()][-_WORTH:])
        lines.append(f"{comparison.shown(part.quantity.name)}: {described(shown)}.")
    return lines


def methods_of_tests(comparison: Comparison) -> list[str]:
    """How differences were tested, for a paper."""
    if not len(comparison.pairs):
        return []
    tests = method(comparison)
    is_named_after_someone = tests.partition(" ")[0].endswith("'s")
    text = f"Differences were tested with {'' if is_named_after_someone else 'the '}{tests} (alpha = {comparison.alpha:g})."
    was_replaced = [part for part in comparison.pairs.parts if part.terms.done == BINARY_TEST]
    if was_replaced and comparison.pairs.parts[0].settings.is_default:
        names = several([part.quantity.name for part in was_replaced])
        text += (
            f" McNemar's test replaces the default randomisation test where all values are 0 or 1 ({names})."
        )
    if comparison.settings.is_default:
        asked = replace(comparison.settings, test=Settings.test)
        in_slices = (part for one in comparison.slices for part in one.pairs.parts)
        text = " ".join([text, *replaced(asked, [*comparison.pairs.parts, *in_slices], advice=False)])
    intervals = f"{100 * comparison.level:.4g}% intervals{_intervals(comparison).removeprefix('Intervals')}"
    said = [text, only_with_baseline(comparison).strip(), intervals]
    said += [_margins(comparison)] if comparison.settings.margins else []
    said += _of_slices(comparison)
    if comparison.primary is not None and len(comparison.pairs.parts) > 1:
        said.append(f"{comparison.primary} is the primary measure; recommendations rest on it alone.")
    return [sentence for sentence in said if sentence]


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
    each = [f"{margin} for {several(names)}" for margin, names in by_margin.items()]
    if comparison.aligned.labelled is not None:
        return f"Margin: {'; '.join(each)}. Two one-sided prediction-powered t tests decide whether a system is no worse or equivalent."
    return (
        f"Margin: {'; '.join(each)}. Two one-sided tests, of which each takes the larger p-value of Student's t and of the bound of "
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


def _answered(comparison: Comparison) -> list[str]:
    """Where retrievers were run: the status of the queries, once for systems that share it, then tokens and cost."""
    lines: dict[str, list[str]] = {}
    for system, counts in (comparison.status or {}).items():
        text = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        lines.setdefault(text, []).append(system)
    answers = [f"Answers of {several(systems)}: {text}." for text, systems in lines.items()]
    for what, sums in comparison.spent.items():
        least_first = sorted(sums.items(), key=lambda item: item[1])
        answers.append(
            f"{what.capitalize()} in total: {', '.join(f'{name} {amount:,.6g}' for name, amount in least_first)}."
        )
    return answers


def _numbers(comparison: Comparison, result: SystemResult, *, strong: bool = False) -> list[str]:
    """Mean, interval and group."""
    is_sum = comparison.quantity(result.measure).aggregate == "sum"
    mean = f"{result.mean:,.0f}" if is_sum else f"{result.mean:.4f}"
    interval = str(result.interval) if result.interval is not None else ""
    return [Cell(mean, strong=strong), interval, result.group]


def _pairs_to_show(comparison: Comparison, measure: str) -> list[PairResult]:
    """With a baseline: it comes first, so that signs show gains; else the better one comes last, so that they are positive."""
    ranked = comparison.ranked(measure)
    if comparison.baseline is not None:
        others = [system for system in ranked if system != comparison.baseline]
        return [comparison.pair(measure, comparison.baseline, system) for system in others[:MOST_PAIRS]]
    leading = ranked if len(ranked) <= 6 else ranked[:1]
    every = [(worse, better) for i, better in enumerate(leading) for worse in ranked[i + 1 :]]
    return [comparison.pair(measure, a, b) for a, b in every[:MOST_PAIRS]]


def _sizes(pair: PairResult | MacroPair, quantity: Quantity) -> tuple[str, str]:
    """The difference, or the factor of a geometric mean, and its interval; none if nothing is known of its width."""
    difference, around = pair.difference, str(pair.interval)
    if quantity.is_geometric:
        size, around = f"× {math.exp(difference):.4f}", str(quantity.interval_back(pair.interval))
    elif 0 < abs(difference) < 0.00005:  # four decimals would show it as 0
        size = f"{difference:+.0e}"
    else:
        size = f"{difference:+.4f}" if difference else "0.0000"
    return size, "" if pair.interval.low == pair.interval.high else around


def _interval_header(comparison: Comparison) -> str:
    return f"{comparison.level:.0%} interval"


def _without_empty(table: Table) -> Table:
    """Columns that say nothing are left out: letters, where there is one system only, or a baseline."""
    return _keep(table, [i for i in range(len(table.header)) if any(row[i] for row in table.rows)])


def _keep(table: Table, columns: Sequence[int]) -> Table:
    header, *rows = ([row[i] for i in columns] for row in (table.header, *table.rows))
    return replace(table, header=header, rows=rows)
