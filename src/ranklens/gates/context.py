"""What rules need besides results: a baseline, the fields of queries, and what may be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens.comparison.clusters import by_label, clusters_of
from ranklens.comparison.slices import slices_of
from ranklens.errors import InputError, InPython, nearest
from ranklens.gates.baselines import Baseline
from ranklens.gates.rules import Rule
from ranklens.gates.verdicts import Undecided
from ranklens.history.differences import Differences, differences
from ranklens.history.record import Record
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.stats import Clusters


@dataclass(frozen=True)
class Terms:
    """What rules need besides results."""

    baseline: Baseline | None = None
    undecided: Undecided = "fail"
    queries: Any = None
    clusters: Any = None
    common: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)  # by system

    def slice(self, rule: Rule, ids: Sequence[str]) -> list[str]:
        """The queries that a rule is about."""
        if rule.slice is None:
            return list(ids)
        named = slices_of(rule.slice.field, self._table(rule), ids)
        chosen = [query for query in ids if named[query] == rule.slice.value]
        if not chosen:
            raise InputError(
                f"{rule}: no query has {rule.slice.field}={rule.slice.value}: "
                f"{nearest(rule.slice.value, dict.fromkeys(named.values()))}"
            )
        return chosen

    def _table(self, rule: Rule) -> Any:
        if self.queries is None:
            raise InputError(
                f"{rule} needs the field {rule.slice.field if rule.slice else ''!r} of the queries; pass ",
                InPython("queries=…", "--queries FILE", "data.queries"),
                ".",
            )
        return self.queries

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
    def note(self) -> str:
        """On which queries the two are compared, if not on all; empty if nothing differs."""
        if not self.changes.data:
            return ""
        common = counted(len(self.changes.common), "query")
        return f"{self.now.system} is compared on {common} with the same judgments: {self.changes}."

    def refuse_other_terms(self, terms: Terms) -> None:
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
