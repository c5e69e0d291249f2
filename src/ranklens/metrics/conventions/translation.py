"""A tool's way to evaluate, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ranklens.errors import MeasureError, PolicyError, nearest
from ranklens.metrics import Measure, parse
from ranklens.metrics.names import without_level
from ranklens.policy import EmptyGold, Policy, Ties


@dataclass(frozen=True)
class Convention:
    """How a tool evaluates.

    ``names`` maps its names to ours, with ``{k}`` for the cutoff; ``bare`` are its cutoffs where none is given; ``why`` says what
    differs, by name (``""``: for all). ``tied`` are the names for which it averages over tied documents, ``empty`` what a query
    without relevant documents counts as, where not as the policy has it. ``unknown`` names the conditions under which the tool's
    number cannot be computed here, by name, too; :mod:`ranklens.report.explanation.doubts` has them. With ``levels``, a name may end with the
    lowest relevant grade, as in ranx's ``map@10-l2``.
    """

    name: str
    policy: Policy
    names: Mapping[str, str]
    why: Mapping[str, str] = field(default_factory=dict)
    bare: Mapping[str, int] = field(default_factory=dict)
    tied: frozenset[str] = frozenset()
    empty: Mapping[str, EmptyGold] = field(default_factory=dict)
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: bool = False

    def measure(self, text: str | Measure) -> Measure:
        """Our measure for one of the tool's, e.g. ``ndcg@10`` or ``ndcg_at_10``; our own name for it is understood, too.

        >>> from ranklens.metrics.conventions import convention
        >>> str(convention("xgboost").measure("ndcg")), str(convention("spark").measure("nDCG@10"))
        ('nDCG(gain=exp)@32', 'nDCG(gain=exp)@10')
        """
        if isinstance(text, Measure):
            return text
        base, k = self._own(text)
        if base not in self.names:
            hint = nearest(base, self.names)
            raise MeasureError(f"{self.name} has no measure {text!r} that is known here: {hint}")
        k = k or self.bare.get(base)
        ours = self.names[base]
        _, level = self._without_level(text)
        parsed = parse(ours.replace("@{k}", f"@{k}" if k else "") + (f"-l{level}" if level else ""))
        return parsed if str(parsed) == text.strip() else replace(parsed, asked=text.strip())

    def measures(self, given: str | Measure | Iterable[str | Measure]) -> list[Measure]:
        """The same for several."""
        if isinstance(given, str):
            given = re.split(r"[,\s]+", given.strip())
        parsed = [self.measure(one) for one in ([given] if isinstance(given, Measure) else given)]
        return list({(one, self._policy_of(one)): one for one in parsed}.values())

    def policy_for(self, measures: Iterable[Measure]) -> Policy:
        """The policy of these measures, which must be the same for all of them."""
        measures = list(measures)
        each = {measure.shown: self._policy_of(measure) for measure in measures}
        first, policy = next(iter(each.items()), ("", self.policy))
        other = next((shown for shown, own in each.items() if own != policy), None)
        if other is not None:
            what = (
                "tied documents" if each[other].ties != policy.ties else "queries without relevant documents"
            )
            raise PolicyError(
                f"{self.name} treats {what} differently for {first} and {other}: evaluate them in separate calls."
            )
        return policy

    def _policy_of(self, measure: Measure) -> Policy:
        base, _ = self._own(measure.shown)
        ties: Ties = "average" if base in self.tied else self.policy.ties
        return replace(self.policy, ties=ties, empty=self.empty.get(base, self.policy.empty))

    def doubts(self, text: str) -> list[str]:
        """Under which conditions its number is not known here, by name."""
        base, _ = self._own(text)
        return [*self.unknown.get("", ()), *self.unknown.get(base, ())]

    def reasons(self, text: str) -> list[str]:
        """Why its number differs from the usual one, in sentences."""
        base, k = self._own(text)
        sentences = [self.why[""], *self.own_reasons(text)] if "" in self.why else self.own_reasons(text)
        if k is None and base in self.bare:
            sentences.append(f"Without a cutoff it looks at the first {self.bare[base]} documents.")
        return sentences

    def own_reasons(self, text: str) -> list[str]:
        """The reasons specific to one measure, without those that apply to all measures of the tool."""
        base, _ = self._own(text)
        sentences = [self.why[base]] if base in self.why else []
        return (
            [*sentences, "Tied documents are averaged over all their orders."]
            if base in self.tied
            else sentences
        )

    def _own(self, text: str) -> tuple[str, int | None]:
        """The tool's name and the cutoff, where the measure goes by our name as well."""
        text, _ = self._without_level(text)
        base, k = _taken_apart(text)
        if base in self.names:
            return base, k
        try:
            asked = parse(text)
        except MeasureError:
            return base, k
        if {*dict(asked.params)} - {"k"}:  # which the tool may not have
            return base, k
        ours = {
            own: name
            for own, name in self.names.items()
            if parse(name.replace("@{k}", "")).name == asked.name
        }
        fitting = [own for own, name in ours.items() if ("{k}" in name) == (k is not None)]
        return next(iter([*fitting, *ours]), base), k

    def _without_level(self, text: str) -> tuple[str, str | None]:
        return without_level(text) if self.levels else (text, None)


def _taken_apart(text: str) -> tuple[str, int | None]:
    """``"NDCG_at_10"`` → ``("ndcg", 10)``"""
    match = re.fullmatch(r"\s*(.+?)(?:[@:]|_at_|_cut_)(\d+)(-?)\s*", text)
    base, k, minus = (match[1], int(match[2]), match[3]) if match else (text.strip(), None, "")
    return base.lower() + minus, k
