"""The fixture ``retrieval``: results checked against rules within a test, and baselines that are frozen on request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, RankLensError
from ranklens.guard.baselines import HISTORY, Baseline
from ranklens.guard.checking import gate, refuse_to_freeze
from ranklens.guard.context import MIN_CHECKED, share_of
from ranklens.guard.results import records_of
from ranklens.guard.rules import Rule
from ranklens.guard.testing.plugin import CHECKED, FAILED, TOLD, option
from ranklens.guard.verdicts import Outcome, Undecided
from ranklens.guard.wording import headline, lines
from ranklens.retrieval.benchmark import Benchmark
from ranklens.words import counted, several

if TYPE_CHECKING:
    import pytest

    from ranklens.scores.history.record import Record


@dataclass
class Retrieval:
    """What a test knows about retrieval: its rules, and the baseline of the run."""

    test: str  # as pytest names it: tests/test_search.py::test_quality
    baseline: str | Path
    marked: Sequence[str] = ()
    update: bool = False
    undecided: Undecided = "fail"
    told: list[dict[str, Any]] = field(default_factory=list)
    option: str = "--retrieval-update"  # which writes the baseline
    checked: set[str] = field(default_factory=set)  # rules
    # Of checks, which fail the test even if it catches what they raise.
    failures: list[str] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, item: pytest.Item, baseline: str | Path) -> Retrieval:
        """The fixture for one test."""
        marks = [rule for mark in item.iter_markers("retrieval") for rule in mark.args]
        options = item.config.option
        told = item.stash.setdefault(TOLD, [])
        checked = item.stash[CHECKED] = set[str]()  # anew for a test that is run again
        failures = item.stash[FAILED] = list[str]()
        return cls(
            item.nodeid,
            baseline,
            marks,
            options.ranklens_update,
            options.ranklens_undecided,
            told,
            option(item.config, "update"),
            checked,
            failures,
        )

    def check(
        self,
        results: object,
        *rules: str | Rule,
        name: str | None = None,
        baseline: object = None,
        undecided: Undecided | None = None,
        queries: object = None,
        clusters: object = None,
        common: bool = False,
        min_checked: float | str = MIN_CHECKED,
    ) -> Outcome:
        """Fail the test unless every rule holds; returns the verdicts.

        ``results`` are scores, ``{system: scores}`` or a benchmark whose retrievers have run. ``rules`` are those of
        :func:`ranklens.gate`; without any, those of the marker ``@pytest.mark.retrieval(…)``, which must all be checked. ``name`` tells several checks of a
        test apart, and is the name in the baseline file. The rest is as in :func:`ranklens.gate`.
        """
        __tracebackhide__ = True
        try:
            options = {
                "undecided": undecided or self.undecided,
                "clusters": clusters,
                "common": common,
                "min_checked": min_checked,
            }
            outcome = self._checked(results, rules, name, baseline, queries, options)
        except RankLensError as error:
            self.failures.append(str(error))
            raise error.with_traceback(None) from None  # the user's line says more than ours
        if outcome.failed:
            report = "\n".join([*outcome.stored, *lines(outcome)])
            self.failures.append(report)
            raise AssertionError(report)  # its first line is in pytest's summary
        return outcome

    def _checked(
        self,
        results: object,
        rules: Sequence[str | Rule],
        name: str | None,
        baseline: object,
        queries: object,
        options: Mapping[str, Any],
    ) -> Outcome:
        """The verdicts, which are also kept for the end of the run."""
        wanted = [Rule.parse(rule) for rule in rules or self.marked]
        if not wanted:
            raise InputError("There is no rule to check; pass one, such as 'nDCG@10 >= 0.4'.")
        if not isinstance(results, (Mapping, Benchmark)):
            results = {name or self.test.rpartition("::")[2]: results}
        self.checked |= {str(rule) for rule in wanted}
        measures = list(dict.fromkeys(rule.measure for rule in wanted if rule.measure is not None))
        measured = records_of(results, measures)
        keys = self._named(measured.records, name)
        checked = [rule for rule in wanted if not (self.update and baseline is None and rule.is_drop)]
        outcome = Outcome(())  # a run that only freezes drops holds nothing against anything
        if checked:
            outcome = gate(
                measured.records,
                checked,
                baseline=self._against(checked, keys, baseline),
                queries=measured.fields if queries is None else queries,
                **options,
            )
        if self.update:
            for record in measured.records.values():
                refuse_to_freeze(wanted, record, share_of(options["min_checked"]))
        outcome = replace(outcome, stored=measured.stored)
        frozen = {}  # at the end of the run, if it is good enough
        if self.update and not outcome.failed:
            records = {keys[one]: record for one, record in measured.records.items()}
            frozen = {key: Baseline({key: record}).to_text() for key, record in records.items()}
        verdicts = [*outcome.stored, *map(headline, outcome.verdicts)]
        self.told.append({"lines": verdicts, "frozen": frozen})
        return outcome

    def _named(self, records: Mapping[str, Record], name: str | None) -> dict[str, str]:
        """The name of each system in the baseline file: that of the check, and of the system if there may be several."""
        own = name or self.test
        last = self.test.rpartition("::")[2]
        keys = {one: own if one in (name, last) else f"{own} {one}" for one in records}
        twice = self._keys & {*keys.values()}
        if twice:
            raise InputError(
                f"{self.test} checks {min(twice)!r} twice, so both would share one baseline; give each check a name=."
            )
        self._keys |= {*keys.values()}
        return keys

    def _against(self, rules: Sequence[Rule], keys: Mapping[str, str], given: object) -> Baseline | None:
        if not any(rule.is_drop for rule in rules):
            return None
        if given is not None or str(self.baseline).startswith(HISTORY):
            return Baseline.of_any(given if given is not None else str(self.baseline), systems=list(keys))
        frozen = read_frozen(Path(self.baseline), self.option)
        missing = [key for key in keys.values() if key not in frozen.records]
        if missing:
            raise InputError(
                f"{self.baseline} has no results of {missing[0]!r} yet. Write them with: pytest {self.option}, then commit the file."
            )
        return Baseline({one: frozen.records[key] for one, key in keys.items()}, str(self.baseline))


def rules_of(marks: Iterable[pytest.Mark]) -> list[Rule]:
    """The rules of markers; what is no rule is an error, whether or not the test checks anything."""
    rules: list[Rule] = []
    for mark in marks:
        if mark.kwargs:
            raise InputError(
                f"@pytest.mark.retrieval takes rules and nothing else, not {next(iter(mark.kwargs))}=…; write "
                "@pytest.mark.retrieval('nDCG@10 >= 0.4')."
            )
        rules += [Rule.parse(rule) for rule in mark.args]
    return rules


def unchecked(rules: Iterable[Rule], checked: Collection[str]) -> str:
    """What to say of the rules of a marker that no check went by; empty if there are none."""
    left = [str(rule) for rule in rules if str(rule) not in checked]
    if not left:
        return ""
    return (
        f"The test passed without checking {several(left)}, which its marker asks for. Call retrieval.check(results) without "
        "rules, or remove the rule from the marker."
    )


def read_frozen(path: Path, option: str) -> Baseline:
    """The baseline file; a message that is for users of pytest if there is none."""
    if not path.exists():
        raise InputError(
            f"{path}: there is no baseline yet. Write it with: pytest {option}, then commit the file."
        )
    return Baseline.read(path)


def freeze(texts: Mapping[str, str], path: Path) -> str:
    """Put results into the baseline file, next to those of tests that did not run; says what was written."""
    before = dict(Baseline.read(path).records) if path.exists() else {}
    new = {key: Baseline.from_text(text, str(path)).records[key] for key, text in texts.items()}
    Baseline({**before, **new}).write(path)
    kept = len(before.keys() - new.keys())
    more = f", {counted(kept, 'other')} kept" if kept else ""
    return f"{path}: {counted(len(new), 'baseline')} written{more}; commit it."
