"""The grammar of rules, parsed once: ``SUBJECT[FIELD=VALUE] drop <= LIMIT @ CONFIDENCE%``.

The subject is a measure, ``failed`` (calls), a percentile of the latency (``p50``, ``p90``, ``p95``, ``p99``), ``abstained``
or ``false_abstentions``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ranklens.errors import InputError, MeasureError
from ranklens.metrics import Measure, parse
from ranklens.scores import GEOMETRIC_FLOOR
from ranklens.scores.history.record import PERCENTILES

Operator = Literal[">=", "<="]
FAILED = "failed"
ABSTAINED = "abstained"  # of unanswerable questions, the share that got nothing back
ABSTENTIONS = (ABSTAINED, "false_abstentions")  # and of the others
LATENCIES = tuple(f"p{number}" for number in PERCENTILES)
GRAMMAR = (
    "Write a rule as 'nDCG@10 >= 0.42', 'nDCG@10 drop <= 1%', 'nDCG@10 drop <= 0.01 @ 95%', 'failed <= 0', 'p95 <= 200ms', "
    "'abstained >= 80%', 'false_abstentions <= 5%', or for a "
    "slice 'nDCG@10[type=factoid] >= 0.4'."
)
_RULE = re.compile(
    r"(?P<subject>[^\s<>=].*?)\s*(?:\[(?P<field>[^\[\]=]+)=(?P<value>[^\]]*)\])?(?P<drop>\s+drop)?\s*(?P<operator>>=|<=)\s*"
    r"(?P<limit>[^\s@]+(?:\s*(?:%|ms|s))?)(?:\s*@\s*(?P<confidence>[^\s@%]+(?:\s*%)?))?",
    re.DOTALL,
)
_SECONDS = {"ms": 0.001, "s": 1.0}


@dataclass(frozen=True)
class Limit:
    """A number, or a share: of the baseline for a drop, of all queries for failed calls.

    >>> Limit.parse("2%"), Limit.parse(0.01).below(0.5)
    (Limit(amount=0.02, relative=True), 0.49)
    """

    amount: float
    relative: bool = False

    @classmethod
    def parse(cls, given: object) -> Limit:
        try:
            text = str(given).strip()
            limit = (
                cls(float(text.removesuffix("%")) / 100, relative=True)
                if text.endswith("%")
                else cls(float(text))
            )
        except ValueError:
            limit = cls(-1)
        if isinstance(given, bool) or not 0 <= limit.amount < float("inf"):
            raise InputError(f"{given!r} is not allowed: it is a number from 0, or text such as '2%'.")
        return limit

    def of(self, baseline: float) -> float:
        """How much that is for a baseline."""
        return self.amount * abs(baseline) if self.relative else self.amount

    def below(self, baseline: float) -> float:
        return baseline - self.of(baseline)

    def above(self, baseline: float) -> float:
        return baseline + self.of(baseline)

    def __str__(self) -> str:
        return f"{100 * self.amount:.12g}%" if self.relative else f"{self.amount:.12g}"


class Slice(NamedTuple):
    """The queries whose field has a value."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"[{self.field}={self.value}]"


@dataclass(frozen=True)
class Rule:
    """One condition. ``key`` is the key of the configuration that it was written under.

    >>> rule = Rule.parse("ndcg_cut_10[type=how-to] drop <= 1% @ 95%")
    >>> str(rule.measure), rule.slice, rule.is_drop, rule.limit, rule.confidence
    ('nDCG@10', Slice(field='type', value='how-to'), True, Limit(amount=0.01, relative=True), 0.95)
    >>> str(rule), str(Rule.parse("p95<=0.2s")), Rule.parse(str(rule)) == rule
    ('ndcg_cut_10[type=how-to] drop <= 1% @ 95%', 'p95 <= 200ms', True)
    """

    subject: Measure | str
    operator: Operator
    limit: Limit
    is_drop: bool = False
    slice: Slice | None = None
    confidence: float | None = None
    key: str = "rules"

    @classmethod
    def parse(cls, text: str | Rule) -> Rule:
        """A rule from text; one that could never fail, or never pass, is an error."""
        if isinstance(text, Rule):
            return text
        text = str(text)
        parts = _RULE.fullmatch(text.strip())
        if parts is None:
            hint = ""
            if re.search(r"(?<![<>])=(?!=)", text) and not re.search(r"[<>]=", text):
                hint = "Use >= or <=. "
            elif re.search(r"[<>](?!=)", text):
                hint = "Use >= or <=, which include the limit. "
            raise InputError(f"{text!r:.80} is not a rule. {hint}{GRAMMAR}")
        part = parts.groupdict()
        subject = part["subject"].strip()
        try:
            rule = cls(
                subject if subject in (FAILED, *ABSTENTIONS, *LATENCIES) else parse(subject),
                ">=" if part["operator"] == ">=" else "<=",
                _limit(subject, part["limit"], is_drop=bool(part["drop"])),
                bool(part["drop"]),
                Slice(part["field"].strip(), part["value"].strip()) if part["field"] else None,
                _confidence(part["confidence"]),
            )
            wrong = senseless(rule)
        except (InputError, MeasureError) as error:
            raise InputError(f"{text!r:.80}: {error}") from None
        if wrong:
            raise InputError(f"{text!r:.80}: {wrong}")
        return rule

    @property
    def measure(self) -> Measure | None:
        """None for rules about calls."""
        return self.subject if isinstance(self.subject, Measure) else None

    @property
    def shown(self) -> str:
        """The subject, as it was asked for, with its slice."""
        name = self.subject.shown if isinstance(self.subject, Measure) else self.subject
        return f"{name}{self.slice or ''}"

    @property
    def needs_baseline(self) -> bool:
        return self.is_drop

    def with_measure(self, measure: Measure) -> Rule:
        """The same for a measure with the policy's relevance level."""
        return replace(self, subject=measure)

    def __str__(self) -> str:
        limit = str(self.limit)
        if self.subject in LATENCIES:
            limit = f"{1000 * self.limit.amount:.12g}ms"
        drop = " drop" if self.is_drop else ""
        sure = f" @ {100 * self.confidence:.12g}%" if self.confidence is not None else ""
        return f"{self.shown}{drop} {self.operator} {limit}{sure}"


def senseless(rule: Rule) -> str:
    """Why a rule could never fail, never pass, or says the opposite of what is meant; empty if all is well."""
    if rule.measure is None:
        return _senseless_abstentions(rule) if rule.subject in ABSTENTIONS else _senseless_call(rule)
    definition = rule.measure.definition
    low, high = definition.low, definition.high
    if definition.aggregate not in ("mean", "geometric"):
        return f"{rule.shown} is not a mean, so there is no rule for it."
    if rule.is_drop:
        return _senseless_drop(rule, high - low)
    wrong_way = {"higher": "<=", "lower": ">="}.get(definition.better)
    if rule.operator == wrong_way:
        right_way = ">=" if wrong_way == "<=" else "<="
        return f"{definition.better} values of {rule.shown} are better; write {right_way}."
    return _out_of_reach(
        rule.operator, rule.limit.amount, rule.measure.shown, lowest_mean(rule.measure), high
    )


def lowest_mean(measure: Measure) -> float:
    """The lowest mean that any values have; in geometric ones, 0 counts as 0.00001.

    >>> lowest_mean(parse("AP")), lowest_mean(parse("gm_AP"))
    (0.0, 1e-05)
    """
    definition = measure.definition
    return max(definition.low, GEOMETRIC_FLOOR) if definition.aggregate == "geometric" else definition.low


def _out_of_reach(operator: Operator, limit: float, name: str, low: float, high: float) -> str:
    """A floor that every value reaches, or none; the same for a ceiling."""
    if operator == "<=":
        if limit >= high:
            return f"it can never fail: {name} is always at most {high:g}."
        return "" if limit >= low else f"{limit:g} can never be reached: {name} is at least {low:g}."
    if limit <= low:
        return f"it can never fail: {name} is always at least {low:g}."
    hint = f" For {limit:g}%, write {limit / 100:g}." if high == 1 and limit <= 100 else ""
    return "" if limit <= high else f"{limit:g} can never be reached: {name} is at most {high:g}.{hint}"


def _senseless_call(rule: Rule) -> str:
    if rule.operator == ">=" or rule.is_drop or rule.confidence is not None or rule.slice is not None:
        usual = "200ms" if rule.subject in LATENCIES else "0"
        return f"{rule.subject} has an upper limit and nothing else: write '{rule.subject} <= {usual}'."
    is_share_of_all = rule.subject == FAILED and rule.limit.relative and rule.limit.amount >= 1
    return "it can never fail: give less than 100%." if is_share_of_all else ""


def _senseless_abstentions(rule: Rule) -> str:
    operator: Operator = ">=" if rule.subject == ABSTAINED else "<="
    if rule.operator != operator or rule.is_drop or rule.slice is not None:
        return f"write '{rule.subject} {operator} {'80%' if operator == '>=' else '5%'}', without a drop or a slice."
    never = 0.0 if operator == ">=" else 1.0
    return f"it can never fail: give another share than {never:.0%}." if rule.limit.amount == never else ""


def _senseless_drop(rule: Rule, span: float) -> str:
    """A drop as wide as the measure's whole range always passes, and 10 may be meant as 10%."""
    drop = rule.limit
    if rule.operator == ">=":
        return "a drop has an upper limit; write 'drop <= …'."
    most = 1.0 if drop.relative else span
    if drop.amount < most:
        return ""
    hint = (
        "" if drop.relative or drop.amount >= 100 else f"; for {drop} percent of the baseline, write {drop}%"
    )
    return f"{drop} can never fail: give less than {'100%' if drop.relative else f'{most:g}'}{hint}."


def floor_of(value: object) -> float:
    """A floor as a number; ``80%`` could also be one of the baseline, so it is refused with the number that is meant."""
    text = str(value).strip()
    try:
        meant = float(text.removesuffix("%")) / 100 if text.endswith("%") else None
        number = float(text) if meant is None else 0.0
    except ValueError:
        raise InputError(f"{value!r} is not a number.") from None
    if meant is not None:
        raise InputError(f"{value!r} is not allowed: a floor is a mean, so write {meant:g}.")
    return number


def _limit(subject: str, text: str, *, is_drop: bool) -> Limit:
    if subject in LATENCIES:
        time = re.fullmatch(r"([0-9.]+)\s*(ms|s)", text.strip())
        if time is None:
            raise InputError(f"{text!r} is not a time; write 200ms or 0.2s.")
        return Limit(Limit.parse(time[1]).amount * _SECONDS[time[2]])
    if subject in ABSTENTIONS:
        share = Limit.parse(text).amount
        if share > 1:
            raise InputError(f"{text!r} is not a share; write 80% or 0.8.")
        return Limit(share, relative=True)
    if is_drop or subject == FAILED:
        return Limit.parse(text)
    return Limit(floor_of(text))


def _confidence(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0.5 < share < 1:
        raise InputError(
            f"@ {text} is not allowed: the confidence is above 50% and below 100%, such as @ 95%."
        )
    return share
