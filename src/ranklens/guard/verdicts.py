"""What became of rules, as data: :class:`Verdict` for one rule and system, :class:`Outcome` for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ranklens.guard import wording
from ranklens.guard.rules import Rule
from ranklens.words import finite, in_one_line

if TYPE_CHECKING:
    from pathlib import Path

    from ranklens.stats import Interval
    from ranklens.tables.table import Printout

Status = Literal["passed", "failed", "undecided"]
Undecided = Literal["fail", "pass"]
UNDECIDED: tuple[Undecided, ...] = ("fail", "pass")
# The keys of a verdict in JSON, in this order.
_FACTS = (
    "gate", "rule", "system", "status", "passed", "measure", "slice", "value", "limit", "excess", "baseline", "change", "low", "high",
    "confidence", "queries", "lost", "causes", "why", "text", "note",
)  # fmt: skip


class Loss(NamedTuple):
    """A query that lost; without a baseline, one with a low value, and ``before`` is None."""

    query: str
    before: float | None
    after: float
    text: str = ""

    @property
    def size(self) -> tuple[bool, float]:
        """How much was lost, to sort by; queries that have no value before come after all others, the lowest first."""
        if self.before is None:
            return False, -self.after
        return True, abs(self.before - self.after)


@dataclass(frozen=True)
class Verdict:
    """One rule for one system.

    ``value`` is what was measured: a mean, failed calls, or seconds; ``limit`` is the least (or most) that is allowed, and
    ``excess`` by how much the value is beyond it (0 or less where it is not). For a drop, ``baseline`` is the mean to compare with
    and ``change`` how far the value is from it; with a confidence, ``interval`` is that of the change (a share of the baseline if
    the limit is one) or, without a drop, of the mean. ``lost`` are the queries that lost most, ``causes`` the errors of failed
    calls with their number, ``why`` the causes of failing queries with theirs (of those that lost, for a drop). ``passed`` counts an undecided verdict as the user chose.
    """

    rule: Rule
    system: str
    status: Status
    value: float | None
    limit: float
    excess: float | None = None
    baseline: float | None = None
    change: float | None = None
    interval: Interval | None = None
    queries: int = 0
    lost: tuple[Loss, ...] = ()
    causes: tuple[tuple[str, int], ...] = ()
    why: tuple[tuple[str, int], ...] = ()
    undecided: Undecided = "fail"
    note: str = ""  # what to know about the value

    @property
    def passed(self) -> bool:
        return self.status == "passed" or (self.status == "undecided" and self.undecided == "pass")

    def __bool__(self) -> bool:
        return self.passed

    @property
    def gate(self) -> str:
        """The key of the configuration: floors, max_regression, max_failed, max_latency_p95 or rules."""
        return self.rule.key

    @property
    def measure(self) -> str | None:
        """The canonical name; None for rules about calls."""
        return None if self.rule.measure is None else str(self.rule.measure)

    @property
    def text(self) -> str:
        """What was found against what is allowed, in words."""
        return in_one_line(wording.finding(self))

    @property
    def sentence(self) -> str:
        """The text, and the note if there is one."""
        return in_one_line(f"{self.text} ({self.note})") if self.note else self.text

    def to_dict(self) -> dict[str, object]:
        """All facts, for JSON."""
        around = self.interval
        changed = {
            "rule": str(self.rule),
            "slice": None if self.rule.slice is None else self.rule.slice._asdict(),
            "low": None if around is None else finite(around.low),
            "high": None if around is None else finite(around.high),
            "confidence": self.rule.confidence,
            "lost": [loss._asdict() for loss in self.lost],
            "causes": [{"error": error, "calls": calls} for error, calls in self.causes],
            "why": [{"cause": cause, "queries": queries} for cause, queries in self.why],
        }
        return {key: changed[key] if key in changed else getattr(self, key) for key in _FACTS}


@dataclass(frozen=True)
class Outcome:
    """All verdicts; prints as a list of what passed and failed, and which queries lost most.

    ``about`` says what the results were compared with, ``stored`` which answers come from a store instead of the retriever.
    """

    verdicts: tuple[Verdict, ...]
    about: str = ""
    notes: Sequence[str] = field(default=())
    stored: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every rule held; without a verdict, nothing did."""
        return bool(self.verdicts) and all(verdict.passed for verdict in self.verdicts)

    def __bool__(self) -> bool:  # so that "assert gate(…)" does not pass whatever was found
        return self.passed

    @property
    def failed(self) -> list[Verdict]:
        """The verdicts that do not pass, undecided ones among them if these fail."""
        return [verdict for verdict in self.verdicts if not verdict.passed]

    def to_dict(self) -> dict[str, object]:
        """All facts, for JSON, with a format version."""
        return {
            "format_version": 1,
            "passed": self.passed,
            "about": self.about,
            "notes": list(self.notes),
            "stored": list(self.stored),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    def printout(self) -> Printout:
        return wording.printout(self)

    def to_markdown(self) -> str:
        """A comment for a pull request: the verdict, one row per rule, the queries that lost most, the details folded."""
        from ranklens.guard.comment import to_markdown

        return to_markdown(self)

    def to_junit(self) -> str:
        """JUnit XML: one test case per rule and system."""
        from ranklens.guard.junit import to_junit

        return to_junit(self)

    def to_github(self, file: Path | None = None) -> str:
        """What ``print`` shows, and below it the annotations."""
        return f"{self}\n\n{self.to_annotations(file)}"

    def to_annotations(self, file: Path | None = None) -> str:
        """Annotations of GitHub Actions, at the configuration's file if there is one."""
        from ranklens.guard.github import to_annotations

        return to_annotations(self, file)

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()
