"""What rules need besides results: a baseline, the fields of queries, and what may be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.comparison.clusters import by_label, clusters_of
from ranklens.comparison.slices import slices_of
from ranklens.errors import InputError, InPython, nearest
from ranklens.guard.baselines import Baseline
from ranklens.guard.rules import Rule
from ranklens.guard.verdicts import Undecided
from ranklens.scores.history.differences import Differences, differences
from ranklens.scores.history.record import Record
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.stats import Clusters


MIN_CHECKED = 0.95  # of the queries, below which a rule is not decided
LOWER_IT = (" lower the share with ", InPython("min_checked=…", "--min-checked", "gates.min_checked"), ".")


class UncheckedError(InputError):
    """A rule that the results at hand cannot decide, whatever becomes of the others."""


def share_of(given: object) -> float:
    """A share from a number or from text.

    >>> share_of("90%"), share_of(0.5)
    (0.9, 0.5)
    """
    text = str(given).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if isinstance(given, bool) or not 0 < share <= 1:
        raise InputError(
            f"{given!r} is not allowed: the share of queries that must be checked is above 0% and at most 100%, such as '95%'."
        )
    return share


@dataclass(frozen=True)
class GateTerms:
    """What rules need besides results."""

    baseline: Baseline | None = None
    undecided: Undecided = "fail"
    queries: object = None
    clusters: object = None
    common: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)  # by system
    min_checked: float = MIN_CHECKED

    def refuse_few(self, rule: Rule, system: str, checked: int, queries: int) -> None:
        """A rule is about all queries, so most of them must be there; of a slice, all that are missing could belong to it."""
        if checked and checked >= self.min_checked * queries:
            return
        raise UncheckedError(
            f"{rule}: only {checked:,} of {counted(queries, 'query')} of {system} could be checked, and at least "
            f"{100 * self.min_checked:.12g}% are needed. Find out what became of the others, or",
            *LOWER_IT,
        )

    def refuse_unanswered(self, rule: Rule, before: Record) -> None:
        """A baseline of zeros that stand for failed calls would let anything pass."""
        if before.expected - before.unanswered >= self.min_checked * before.expected:
            return
        name = self.baseline.name if self.baseline is not None else "the baseline"
        raise InputError(
            f"{rule}: {before.unanswered:,} of {counted(before.expected, 'query')} of {name} were not answered, and at least "
            f"{100 * self.min_checked:.12g}% are needed. Write a new baseline, or",
            *LOWER_IT,
        )

    def slice(self, rule: Rule, ids: Sequence[str]) -> list[str]:
        """The queries that a rule is about."""
        if rule.slice is None:
            return list(ids)
        if self.queries is None:
            raise InputError(
                f"{rule} needs the field {rule.slice.field!r} of the queries; pass ",
                InPython("queries=…", "--queries FILE", "data.queries"),
                ".",
            )
        named = slices_of(rule.slice.field, self.queries, ids)
        chosen = [query for query in ids if named[query] == rule.slice.value]
        if not chosen:
            raise InputError(
                f"{rule}: no query has {rule.slice.field}={rule.slice.value}: "
                f"{nearest(rule.slice.value, dict.fromkeys(named.values()))}"
            )
        return chosen

    def grouped(self, ids: Sequence[str]) -> Clusters | None:
        """The clusters of some queries."""
        if self.clusters is None:
            return None
        return by_label(clusters_of(self.clusters, self.queries, ids), ids)


@dataclass(frozen=True)
class Pair:
    """A system and what it is compared with."""

    before: Record
    now: Record

    @cached_property
    def changes(self) -> Differences:
        return differences(self.before, self.now)

    @property
    def coverage(self) -> str:
        """How many of the baseline's queries are compared."""
        common, before = len(self.changes.common), len(self.before.queries)
        whose = "its" if self.before.system == self.now.system else f"{self.before.system}'s"
        return f"{common:,} of {whose} {counted(before, 'query')} checked"

    @property
    def note(self) -> str:
        """On which queries the two are compared, if not on all; empty if nothing differs."""
        if not self.changes.data:
            return ""
        common = counted(len(self.changes.common), "query")
        return f"{self.now.system} is compared on {common} with the same judgments: {self.changes}."

    def refuse_other_terms(self, terms: GateTerms) -> None:
        """Numbers that were made differently are not compared."""
        name = terms.baseline.name if terms.baseline is not None else "The baseline"
        update = InPython("write a new baseline", "update the baseline with --update")
        if self.changes.policy:
            raise InputError(
                f"{name} was measured with another policy: {self.changes}. Use the same, or ", update, "."
            )
        if self.changes.data and not (terms.common and self.changes.common):
            raise InputError(
                f"{name} was measured on other queries or judgments: {self.changes}. ",
                update,
                ", or compare the queries whose judgments are the same with ",
                InPython("common=True", "--common", "gates.common: true"),
                ".",
            )
