"""Results checked against rules: :func:`gate` → :class:`~ranklens.guard.verdicts.Outcome`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import Given, InputError, InPython, Option, nearest
from ranklens.guard.abstaining import of_abstentions
from ranklens.guard.baselines import Baseline
from ranklens.guard.context import LOWER_IT, MIN_CHECKED, GateTerms, Pair, UncheckedError, share_of
from ranklens.guard.deciding import change_interval, decide, placed
from ranklens.guard.results import records_of
from ranklens.guard.rules import ABSTENTIONS, FAILED, Rule, lowest_mean
from ranklens.guard.verdicts import UNDECIDED, Loss, Outcome, Status, Undecided, Verdict
from ranklens.scores import interval_of, logs_with_floor, total
from ranklens.scores.history.differences import differences
from ranklens.scores.history.record import Record
from ranklens.stats import Bounds, Interval, cluster_interval, inputs
from ranklens.tables.digits import reaches
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.stats import Clusters

_SHOWN = 5  # queries that lost most
_CAUSES = 3  # errors of failed calls
_ROUNDED = 1e-9  # how far rounding may take a value out of a measure's range


def gate(
    results: object,
    rules: str | Rule | Sequence[str | Rule],
    *,
    baseline: object = None,
    undecided: Undecided = "fail",
    queries: object = None,
    clusters: object = None,
    common: bool = False,
    min_checked: float | str = MIN_CHECKED,
) -> Outcome:
    """Check results against rules.

    ``results`` are :class:`~ranklens.Scores`, ``{system: scores}``, or a :class:`~ranklens.Benchmark` whose retrievers have run. ``rules``
    are texts such as ``"nDCG@10 >= 0.42"``, ``"nDCG@10 drop <= 1%"``, ``"nDCG@10 drop <= 0.01 @ 95%"``, ``"failed <= 0"``, ``"p95 <=
    200ms"``, ``"abstained >= 80%"``, ``"false_abstentions <= 5%"`` and, for a slice, ``"nDCG@10[type=how-to] >= 0.4"``. A drop is one below the ``baseline``: the path of a baseline file,
    ``"history:REF"``, scores, or ``{system: scores}``. With a confidence, a rule can be undecided; ``undecided`` says whether it then
    fails or passes. ``queries`` is the table with the fields of slices, ``clusters`` says which queries belong together, as in
    :func:`ranklens.compare`. If the judgments differ from those of the baseline, that is an error, unless ``common=True``
    compares on the queries whose judgments are the same. A rule that less than ``min_checked`` of the queries would decide, because the
    others were not answered or have other judgments, is an error.

    >>> import ranklens as rl
    >>> qrels = {f"q{i}": {"a": 1} for i in range(60)}
    >>> old = rl.evaluate(qrels, {q: ["a", "b"] for q in qrels}, "RR")
    >>> new = rl.evaluate(qrels, {q: ["b", "a"] if q in ("q3", "q7") else ["a"] for q in qrels}, "RR")
    >>> outcome = gate(new, ["RR >= 0.9", "RR drop <= 1%", "RR drop <= 0.2 @ 95%"], baseline=old)
    >>> outcome.passed, [verdict.status for verdict in outcome.verdicts]
    (False, ['passed', 'failed', 'passed'])
    >>> [loss.query for loss in outcome.failed[0].lost]
    ['q3', 'q7']
    """
    if not isinstance(rules, (str, Rule, Iterable)) or isinstance(rules, Mapping):
        raise InputError(Given("rules", rules), " is not a list of rules, such as ['nDCG@10 >= 0.4'].")
    wanted = [Rule.parse(rule) for rule in ([rules] if isinstance(rules, (str, Rule)) else rules)]
    if not wanted:
        raise InputError("There is no rule to check; pass at least one, such as 'nDCG@10 >= 0.4'.")
    inputs.choice(undecided, "undecided", UNDECIDED)
    measures = list(dict.fromkeys(rule.measure for rule in wanted if rule.measure is not None))
    measured = records_of(results, measures, digested=baseline is not None)
    before = None if baseline is None else Baseline.of_any(baseline, systems=list(measured.records))
    fields = measured.fields if queries is None else queries
    terms = GateTerms(before, undecided, fields, clusters, common, min_checked=share_of(min_checked))
    return replace(check(wanted, measured.records, terms), stored=measured.stored)


def check(rules: Iterable[Rule], records: Mapping[str, Record], terms: GateTerms) -> Outcome:
    """One verdict for each rule and system."""
    return check_each(((rule, record) for rule in rules for record in records.values()), terms)


def check_each(asked: Iterable[tuple[Rule, Record]], terms: GateTerms) -> Outcome:
    """One verdict for each rule with the system that it is about.

    A rule that cannot be decided is an error, unless another one fails: that is the news, and what was not checked a note.
    """
    verdicts: list[Verdict] = []
    unchecked: list[UncheckedError] = []
    records: dict[str, Record] = {}
    compared: dict[str, Record] = {}
    for rule, record in asked:
        records[record.system] = record
        try:
            if rule.measure is None:
                verdict = _of_calls(rule, record, terms)
            else:
                reported = rule.with_measure(_reported(rule.measure, record))
                verdict = (_drop if rule.is_drop else _floor)(reported, record, terms)
            note = terms.notes.get(record.system, "")
            verdicts.append(replace(verdict, undecided=terms.undecided, note=note))
        except UncheckedError as error:
            unchecked.append(error)
        else:
            compared |= {record.system: record} if rule.is_drop else {}
    if all(verdict.passed for verdict in verdicts):
        if unchecked:
            raise unchecked[0]
        if not verdicts:
            raise InputError("There is nothing to check: no system, or no rule. Name at least one of each.")
        for record in records.values():
            refuse_unanswered(record)
    notes = [*map(str, unchecked)]
    notes += [
        f"{record.system}: {len(record.queries):,} of {counted(record.expected, 'query')} were checked; the others were not answered."
        for record in records.values()
        if record.left_out
    ]
    notes += [
        f"{record.system}: {counted(record.ones, 'query')} without relevant documents counted as 1."
        for record in records.values()
        if record.ones
    ]
    unanswerable = max((record.unanswerable for record in records.values()), default=0)
    if unanswerable:
        notes.append(f"{counted(unanswerable, 'unanswerable question')} excluded.")
    before = terms.baseline
    if before is None or not compared:
        return Outcome(tuple(verdicts), notes=notes)
    pairs = [Pair(before.of(record.system), record) for record in compared.values()]
    counts = {pair.coverage for pair in pairs}
    about = f"Compared with {before.name}{f': {min(counts)}' if len(counts) == 1 else ''}."
    notes += [f"{pair.now.system}: {pair.coverage}." for pair in pairs if len(counts) > 1]
    return Outcome(tuple(verdicts), about, [*notes, *(pair.note for pair in pairs if pair.note)])


def refuse_unanswered(record: Record) -> None:
    """A system without a successful call was not measured, whatever its zeros are compared with."""
    if record.queries and record.unanswered >= record.expected:
        causes = Counter(record.errors.values()).most_common(1)
        why = f"; the first error is: {causes[0][0].rstrip('.')}" if causes else ""
        raise InputError(
            f"{record.system} was not measured: none of {counted(record.expected, 'query')} was answered{why}."
        )


def refuse_to_freeze(rules: Iterable[Rule], record: Record, least: float) -> None:
    """Results that no later ones should be held against: too few queries were answered, or no drop below them would ever fail."""
    refuse_unanswered(record)
    lost = max(record.unanswered, record.left_out)
    if record.expected - lost < least * record.expected:
        raise InputError(
            f"No baseline was written: {lost:,} of {counted(record.expected, 'query')} of {record.system} were not answered, and at "
            f"least {100 * least:.12g}% are needed. Find out why, or",
            *LOWER_IT,
        )
    for rule in rules:
        if rule.is_drop and rule.measure is not None and rule.slice is None:
            measure = _reported(rule.measure, record)
            _refuse_bottomless(rule.with_measure(measure), record.mean(measure))


def _of_calls(rule: Rule, record: Record, terms: GateTerms) -> Verdict:
    if rule.subject in ABSTENTIONS:
        return of_abstentions(rule, record, terms)
    if rule.subject == FAILED:
        if record.failed is None:
            raise InputError(f"{rule}: {record.system} is a run, which does not say which calls failed.")
        asked, failed = record.expected, record.unanswered
        limit = rule.limit.amount * asked if rule.limit.relative else rule.limit.amount
        if limit >= asked:
            raise InputError(
                f"{rule} can never fail: {record.system} was asked {counted(asked, 'query')}. Give a lower limit."
            )
        causes = list(Counter(record.errors.values()).most_common(_CAUSES))
        causes += [("no answer was logged", record.missing)] if record.missing else []
        status: Status = "passed" if failed <= limit else "failed"
        return Verdict(
            rule, record.system, status, failed, limit, failed - limit, queries=asked, causes=tuple(causes)
        )
    limit = rule.limit.amount
    if record.latency is None and record.failed is None:
        raise InputError(f"{rule}: {record.system} is a run, which does not say how long calls took.")
    value = None if record.latency is None else record.latency[str(rule.subject)]
    if value is None:  # nothing was answered, which is no way to be fast
        return Verdict(rule, record.system, "failed", None, limit)
    if record.untimed:
        raise UncheckedError(
            f"{rule}: of {counted(record.untimed, 'answered query')} of {record.system}, the log does not say how long the call took. "
            "Log the time of every call, or leave the rule out."
        )
    terms.refuse_few(rule, record.system, record.timed, record.expected)
    status = "passed" if value <= limit else "failed"
    return Verdict(rule, record.system, status, value, limit, value - limit, queries=record.timed)


def _reported(measure: Measure, record: Record) -> Measure:
    """Under the name that it has with the policy's relevance level."""
    from ranklens.metrics import with_rel

    level = record.policy.get("rel")
    return with_rel(measure, level if isinstance(level, (int, float)) else 1)


def _floor(rule: Rule, record: Record, terms: GateTerms) -> Verdict:
    """A mean against a number."""
    assert rule.measure is not None
    definition, limit = rule.measure.definition, rule.limit.amount
    ids = terms.slice(rule, record.queries)
    terms.refuse_few(rule, record.system, len(ids), len(ids) + record.left_out)
    values = _values(record, rule.measure, ids)
    value = total(definition.aggregate, values)
    around: Interval | None = None
    status: Status = "passed" if _holds(rule.operator, value, limit) else "failed"
    if rule.confidence is not None:
        clusters, level = terms.grouped(ids), 2 * rule.confidence - 1
        bounds = Bounds(definition.low, definition.high)
        if clusters is not None and definition.aggregate == "mean":
            around = cluster_interval(values, clusters, level=level, bounds=bounds)
        else:
            around = interval_of(definition.aggregate, values, level=level, bounds=bounds)
        assert around is not None  # rules are about means
        status = placed(rule.operator, limit, around)
    beyond = limit - value if rule.operator == ">=" else value - limit
    lost = () if status == "passed" else _weakest(rule.measure, record, values, ids, terms)
    best = definition.low if definition.better == "lower" else definition.high
    below = [] if status == "passed" else [ids[place] for place in np.flatnonzero(values != best).tolist()]
    return Verdict(
        rule,
        record.system,
        status,
        value,
        limit,
        beyond,
        interval=around,
        queries=len(ids),
        lost=lost,
        why=_why(record, rule.measure, below),
    )


def _drop(rule: Rule, record: Record, terms: GateTerms) -> Verdict:
    """A mean against that of the baseline, on the same queries."""
    assert rule.measure is not None
    if terms.baseline is None:
        raise InputError(f"{rule} needs a baseline: pass ", Option("baseline"), ".")
    pair = Pair(terms.baseline.of(record.system), record)
    pair.refuse_other_terms(terms)
    if str(rule.measure) not in pair.before.values:
        raise InputError(
            f"{terms.baseline.name} has no {rule.measure}: {nearest(str(rule.measure), pair.before.values)} ",
            InPython("Write a new one.", "Add it with --update."),
        )
    definition = rule.measure.definition
    sign = -1.0 if definition.better == "lower" else 1.0
    ids = terms.slice(rule, pair.changes.common)
    alone = max(len(pair.before.queries), len(record.queries)) - len(pair.changes.common)
    terms.refuse_few(rule, record.system, len(ids), len(ids) + max(record.left_out, alone))
    terms.refuse_unanswered(rule, pair.before)
    before, now = (_values(one, rule.measure, ids) for one in (pair.before, record))
    old, new = total(definition.aggregate, before), total(definition.aggregate, now)
    limit = _refuse_bottomless(rule, old)
    status: Status = "passed" if _holds(">=" if sign > 0 else "<=", new, limit) else "failed"
    around = None
    if rule.confidence is not None:
        status, around = _decided(rule, before, now, sign, terms.grouped(ids))
    return Verdict(
        rule,
        record.system,
        status,
        new,
        limit,
        sign * (limit - new),
        old,
        new - old,
        around,
        len(ids),
        () if status == "passed" else _losses(record, before, now, ids, sign),
        why=() if status == "passed" else _why(record, rule.measure, _worse(before, now, ids, sign)),
    )


def _worse(before: FloatArray, now: FloatArray, ids: Sequence[str], sign: float) -> list[str]:
    return [ids[place] for place in np.flatnonzero(sign * inputs.differences(before, now) < 0).tolist()]


def _why(record: Record, measure: Measure, queries: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return record.why.of(measure, queries) if record.why is not None and queries else ()


def _refuse_bottomless(rule: Rule, old: float) -> float:
    """The worst mean that a drop allows; it must be possible to be worse."""
    assert rule.measure is not None
    definition = rule.measure.definition
    if definition.better == "lower":
        limit, worst = rule.limit.above(old), definition.high
        is_bottomless = limit >= worst
    else:
        limit, worst = rule.limit.below(old), lowest_mean(rule.measure)
        is_bottomless = limit <= worst
    if is_bottomless:
        raise InputError(
            f"{rule} can never fail: the baseline's {rule.shown} is {old:.4g}, and no value is worse than {worst:g}. "
            "Give a smaller drop, or a baseline that measured something."
        )
    return limit


def _decided(
    rule: Rule, before: FloatArray, now: FloatArray, sign: float, clusters: Clusters | None
) -> tuple[Status, Interval]:
    """By two one-sided tests; the interval is of the change, as it is written in the limit."""
    assert rule.measure is not None
    assert rule.confidence is not None
    back: Callable[[float], float] = float
    allowed, unit = rule.limit.amount, np.abs(before) if rule.limit.relative else np.ones(len(before))
    if rule.measure.definition.aggregate == "geometric":
        if not rule.limit.relative:
            raise InputError(
                f"{rule}: with a confidence, the drop of a geometric mean is a share such as 2%."
            )
        # A share of a geometric mean is a difference of logarithms.
        before, now = logs_with_floor(before), logs_with_floor(now)
        allowed, unit, back = -float(np.log1p(-allowed)), np.ones(len(before)), np.expm1
    gain = sign * inputs.differences(before, now)
    status = decide(gain, unit, allowed, rule.confidence, clusters)
    around = change_interval(gain, unit, rule.confidence, clusters)
    ends = sorted(float(back(sign * end)) for end in (around.low, around.high))
    return status, replace(around, low=ends[0], high=ends[1])


def _holds(operator: str, value: float, limit: float) -> bool:
    return reaches(value, limit) if operator == ">=" else reaches(-value, -limit)


def _values(record: Record, measure: Measure, ids: Sequence[str]) -> FloatArray:
    """In the order of the queries asked for, which need not be the record's."""
    values = record.of_measure(measure, ids)
    low, high = measure.definition.low, measure.definition.high
    usual = np.isfinite(values) & (low - _ROUNDED <= values) & (values <= high + _ROUNDED)
    if not usual.all():
        query = ids[int(np.argmin(usual))]
        raise InputError(
            f"{measure} of {record.system} is {values[ids.index(query)]} for query {query!r}; rules need numbers from {low:g} to {high:g}.",
            query=query,
        )
    return values


def _losses(
    record: Record, before: FloatArray, now: FloatArray, ids: Sequence[str], sign: float
) -> tuple[Loss, ...]:
    """The queries that lost most, the largest loss first."""
    gain = sign * inputs.differences(before, now)
    order = [int(place) for place in np.argsort(gain, kind="stable")[:_SHOWN] if gain[place] < 0]
    return tuple(
        Loss(ids[place], float(before[place]), float(now[place]), record.texts.get(ids[place], ""))
        for place in order
    )


def _weakest(
    measure: Measure, record: Record, values: FloatArray, ids: Sequence[str], terms: GateTerms
) -> tuple[Loss, ...]:
    """Where a mean is too low: the queries that lost most, if a baseline knows them all, else those with the lowest values."""
    sign = -1.0 if measure.definition.better == "lower" else 1.0
    before = terms.baseline.records.get(record.system) if terms.baseline is not None else None
    if before is not None and str(measure) in before.values and not differences(before, record).any:
        lost = _losses(record, _values(before, measure, ids), values, ids, sign)
        if lost:
            return lost
    order = np.argsort(sign * values, kind="stable")[:_SHOWN].tolist()
    return tuple(
        Loss(ids[place], None, float(values[place]), record.texts.get(ids[place], "")) for place in order
    )
