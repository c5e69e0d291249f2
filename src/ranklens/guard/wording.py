"""Verdicts in words: what was found against what is allowed, by how much, and which queries lost most."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

from ranklens.guard.deciding import NO_CHANGE
from ranklens.guard.rules import ABSTAINED, ABSTENTIONS, FAILED, LATENCIES
from ranklens.tables.digits import SHOWN
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import counted, in_one_line, plural, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ranklens.guard.verdicts import Outcome, Verdict

_WORDS = {"passed": "passed", "failed": "FAILED", "undecided": "UNDECIDED"}
_TEXT = 50  # letters of a question
_ERROR = 200  # letters of an error


def finding(verdict: Verdict) -> str:
    """What was found against what is allowed, in one sentence."""
    rule = verdict.rule
    if rule.subject == FAILED:
        number, limit = verdict.value or 0, verdict.limit
        share = f" ({rule.limit} of {counted(verdict.queries, 'query')})" if rule.limit.relative else ""
        return f"failed calls of {verdict.system}: {number:,g} {'<=' if verdict.passed else '>'} allowed {limit:,g}{share}"
    if rule.subject in ABSTENTIONS:
        return _abstentions(verdict)
    if rule.subject in LATENCIES:
        allowed = f"allowed {1000 * verdict.limit:,g} ms"
        if verdict.value is None:
            time = f"not known, because nothing was answered; {allowed}"
        else:
            time = f"{1000 * verdict.value:,.1f} ms {'<=' if verdict.passed else '>'} {allowed}"
        percentile = str(rule.subject).removeprefix("p")
        return f"{percentile}th percentile of the latency of {verdict.system}: {time}"
    about = f"{rule.shown} of {verdict.system}: "
    if rule.confidence is None:
        allowed = f"allowed {verdict.limit:g}" if _is_ceiling(verdict) else f"required {verdict.limit:g}"
        sign = (
            ("<=" if verdict.passed else ">") if _is_ceiling(verdict) else (">=" if verdict.passed else "<")
        )
        side = "above" if _is_ceiling(verdict) else "below"
        why = f", {rule.limit} {side} the baseline's {verdict.baseline:.4f}" if rule.is_drop else ""
        return f"{about}{verdict.value or 0.0:.{SHOWN}f} {sign} {allowed}{why}"
    return about + (_change(verdict) if rule.is_drop else _mean(verdict))


def headline(verdict: Verdict) -> str:
    """The status, the rule and the finding.

    The start of a line in logs, and of an annotation.
    """
    return f"{_WORDS[verdict.status]}: {verdict.sentence}"


def lines(outcome: Outcome) -> Iterator[str]:
    """For standard error: each rule that does not pass, why, and which queries lost most."""
    for verdict in outcome.failed:
        yield f"{verdict.status}: {verdict.rule}: {verdict.sentence}"
        yield from (f"  {line}" for line in reasons(verdict))


def reasons(verdict: Verdict) -> list[str]:
    """Which queries lost most, and the errors of failed calls."""
    lines = [
        f"{counted(calls, 'call')} failed: {shortened(error, _ERROR)}" for error, calls in verdict.causes
    ]
    losses = []
    for loss in verdict.lost:
        question = f" “{shortened(loss.text, _TEXT)}”" if loss.text else ""
        before = "" if loss.before is None else f"{loss.before:.2f} → "
        value = "" if verdict.rule.subject in ABSTENTIONS else f" {before}{loss.after:.2f}"
        losses.append(f"{in_one_line(loss.query)}{question}{value}")
    if losses and verdict.rule.subject in ABSTENTIONS:
        word = "answered" if verdict.rule.subject == ABSTAINED else "got nothing back"
        lines.append(f"{word}: {', '.join(losses)}")
    elif losses:
        word = "lost most" if verdict.lost[0].before is not None else "lowest"
        lines.append(f"{word}: {'; '.join(losses)}")
    if verdict.why:
        lines.append(f"why they fail: {', '.join(f'{cause} ({number:,})' for cause, number in verdict.why)}")
    return lines


def printout(outcome: Outcome) -> Printout:
    """One row per rule and system, then what lies behind those that do not pass."""
    header = ["", "rule", "system", "value", "limit", "baseline", "change", "interval", "queries"]
    word = "passed" if outcome.passed else "failed"
    statuses = [verdict.status for verdict in outcome.verdicts]
    numbers = [(statuses.count(status), status) for status in ("passed", "failed", "undecided")]
    counts = ", ".join(f"{number} {status}" for number, status in numbers if number) or "no rule"
    about = [*([outcome.about] if outcome.about else []), *outcome.notes]
    for sure in dict.fromkeys(verdict.rule.confidence for verdict in outcome.verdicts):
        if sure is not None:  # what it means for the interval next to it
            level = f"{100 * (2 * sure - 1):.12g}%"
            about.append(f"@ {100 * sure:.12g}% is a one-sided bound: the end of a {level} interval.")
    table = Table(
        header,
        [_row(verdict) for verdict in outcome.verdicts],
        title=f"Gate {word}: {counts}",
        note="\n".join(about),
        left=3,
    )
    parts: list[Table | Lines] = [
        table,
        *(Lines(headline(verdict), reasons(verdict)) for verdict in outcome.failed),
    ]
    return Printout([*(Lines(line, ()) for line in outcome.stored), *parts])


def _row(verdict: Verdict) -> Sequence[str]:
    rule = verdict.rule
    return [
        _WORDS[verdict.status],
        str(rule),
        verdict.system,
        "–" if verdict.value is None else _number(verdict, verdict.value),
        _number(verdict, verdict.limit),
        "" if verdict.baseline is None else f"{verdict.baseline:.{SHOWN}f}",
        "" if verdict.change is None else f"{verdict.change:+.{SHOWN}f}",
        _ends(verdict),
        f"{verdict.queries:,}" if verdict.queries else "",
    ]


def _number(verdict: Verdict, value: float) -> str:
    if verdict.rule.subject == FAILED:
        return f"{value:,g}"
    if verdict.rule.subject in LATENCIES:
        return f"{1000 * value:,.1f} ms"
    return f"{value:.{SHOWN}f}"


def _ends(verdict: Verdict) -> str:
    """The interval, if it says anything."""
    around = verdict.interval
    if around is None or around.method == NO_CHANGE or isinf(around.low) or isinf(around.high):
        return ""
    return f"[{_signed(verdict, around.low)}, {_signed(verdict, around.high)}]"


def _signed(verdict: Verdict, end: float) -> str:
    """An end of an interval: of a change, perhaps as a share, or of a mean."""
    if not verdict.rule.is_drop:
        return f"{end:.{SHOWN}f}"
    return f"{100 * end:+.2f}%" if verdict.rule.limit.relative else f"{end:+.{SHOWN}f}"


def _is_ceiling(verdict: Verdict) -> bool:
    rule = verdict.rule
    if rule.is_drop and rule.measure is not None:
        return rule.measure.definition.better == "lower"
    return rule.operator == "<="


def _change(verdict: Verdict) -> str:
    """A change with its interval against the drop that is allowed."""
    rule, around = verdict.rule, verdict.interval
    means = f"{verdict.value or 0.0:.{SHOWN}f} against the baseline's {verdict.baseline or 0.0:.{SHOWN}f}"
    if around is not None and around.method == NO_CHANGE:
        return f"{means}; no query changed"
    worse = "+" if _is_ceiling(verdict) else "-"
    allowed = f"{worse}{rule.limit}"
    ends = _ends(verdict)
    sure = f"{100 * (rule.confidence or 0):g}%"
    beyond, within = ("above", "below") if _is_ceiling(verdict) else ("below", "above")
    too_few = f"; {_queries_are(verdict)} too few to tell"
    worst = None if around is None else (around.high if _is_ceiling(verdict) else -around.low)
    if worst is not None and 0 < worst < 1e6:  # which limit these queries could decide
        size = f"{100 * worst:.2g}%" if rule.limit.relative else f"{worst:.2g}"
        too_few += f" (a drop of up to about {size} is possible)"
    decided = {
        "passed": f"{within} the allowed {allowed} with {sure} confidence",
        "failed": f"{beyond} the allowed {allowed} with {sure} confidence",
        "undecided": f"{f'on both sides of the allowed {allowed}' if ends else f'with {allowed} allowed'}{too_few}",
    }
    change = f"{verdict.change or 0.0:+.{SHOWN}f}{_with_level(verdict, ends)}"
    return f"{means}, a change of {change}, {decided[verdict.status]}"


def _with_level(verdict: Verdict, ends: str) -> str:
    """The interval with its level: each end alone has the confidence of the rule."""
    around = verdict.interval
    return f" ({100 * around.level:.12g}% interval {ends})" if around is not None and ends else ""


def _queries_are(verdict: Verdict) -> str:
    """As in "5 queries are"."""
    return f"{counted(verdict.queries, 'query')} {plural(verdict.queries, 'is', 'are')}"


def _abstentions(verdict: Verdict) -> str:
    is_right = verdict.rule.subject == ABSTAINED
    kind = f"{'un' if is_right else ''}answerable question"
    share, number = verdict.value or 0.0, round((verdict.value or 0.0) * verdict.queries)
    about = (
        f"{number:,} of {counted(verdict.queries, kind)} got nothing back from {verdict.system} ({share:.1%})"
    )
    if verdict.rule.confidence is not None:
        return f"{about}: {_mean(verdict)}"
    return f"{about}, {verdict.rule.limit} {'required' if is_right else 'allowed'}"


def _mean(verdict: Verdict) -> str:
    """A mean with its interval against the least that is required."""
    around, limit = verdict.interval, f"{verdict.limit:g}"
    ends = "" if around is None else f"[{around.low:.{SHOWN}f}, {around.high:.{SHOWN}f}]"
    sure = f"{100 * (verdict.rule.confidence or 0):g}%"
    good, bad = ("at most", "above") if _is_ceiling(verdict) else ("at least", "below")
    decided = {
        "passed": f"{good} {limit} with {sure} confidence",
        "failed": f"{bad} {limit} with {sure} confidence",
        "undecided": f"perhaps {good} {limit}, perhaps {bad} it; {_queries_are(verdict)} too few to tell",
    }
    return f"{verdict.value or 0.0:.{SHOWN}f}{_with_level(verdict, ends)}, {decided[verdict.status]}"
