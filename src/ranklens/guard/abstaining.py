"""Rules about abstentions: ``abstained >= 80%`` and ``false_abstentions <= 5%``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.guard.deciding import placed
from ranklens.guard.rules import ABSTAINED
from ranklens.guard.verdicts import Loss, Status, Verdict
from ranklens.tables.digits import reaches

if TYPE_CHECKING:
    from ranklens.guard.context import GateTerms
    from ranklens.guard.rules import Rule
    from ranklens.scores.history.record import Record

_SHOWN = 5  # questions that were wrongly answered, or wrongly not


def of_abstentions(rule: Rule, record: Record, terms: GateTerms) -> Verdict:
    """The share of questions that got nothing back, against what is required or allowed."""
    counted = record.abstentions
    if counted is None:
        raise InputError(
            f'{rule}: {record.system} does not say which questions have no answer; judge it by a golden set with "answerable": false.'
        )
    is_right = rule.subject == ABSTAINED
    side = counted.unanswerable if is_right else counted.answerable
    around = side.interval() if rule.confidence is None else side.interval(2 * rule.confidence - 1)
    if side.share is None or around is None:
        kind = "unanswerable" if is_right else "answerable"
        raise InputError(
            f"{rule}: {record.system} answered no {kind} question, so there is nothing to check."
        )
    expected = len(side.queries) + counted.unasked if is_right else record.expected
    terms.refuse_few(rule, record.system, len(side.queries), expected)
    value, limit = side.share, rule.limit.amount
    holds = reaches(value, limit) if is_right else reaches(-value, -limit)
    status: Status = "passed" if holds else "failed"
    if rule.confidence is not None:
        status = placed(rule.operator, limit, around)
    nothing = {*side.nothing}
    wrong = [query for query in side.queries if (query in nothing) != is_right]
    lost = [
        Loss(query, None, float(query in nothing), record.texts.get(query, "")) for query in wrong[:_SHOWN]
    ]
    return Verdict(
        rule,
        record.system,
        status,
        value,
        limit,
        limit - value if is_right else value - limit,
        interval=around if rule.confidence is not None else None,
        queries=len(side.queries),
        lost=tuple(lost) if status != "passed" else (),
    )
