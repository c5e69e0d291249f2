"""The fixture ``retrieval``: results checked against rules within a test, and baselines that are frozen on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, RankLensError
from ranklens.gates.baselines import HISTORY, Baseline
from ranklens.gates.checking import gate
from ranklens.gates.results import records_of
from ranklens.gates.rules import Rule
from ranklens.gates.verdicts import Outcome, Undecided
from ranklens.gates.wording import headline, lines
from ranklens.retrieval.benchmark import Benchmark
from ranklens.testing.plugin import TOLD
from ranklens.words import counted

if TYPE_CHECKING:
    import pytest

    from ranklens.history.record import Record


@dataclass
class Retrieval:
    """What a test knows about retrieval: its rules, and the baseline of the run."""

    test: str  # as pytest names it: tests/test_search.py::test_quality
    baseline: str | Path
    marked: Sequence[str] = ()
    update: bool = False
    undecided: Undecided = "fail"
    told: list[dict[str, Any]] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, item: pytest.Item, baseline: str | Path) -> Retrieval:
        """For one test."""
        marks = [rule for mark in item.iter_markers("retrieval") for rule in mark.args]
        options = item.config.option
        told = item.stash.setdefault(TOLD, [])
        return cls(item.nodeid, baseline, marks, options.retrieval_update, options.retrieval_undecided, told)

    def check(
        self,
        results: Any,
        *rules: str | Rule,
        name: str | None = None,
        baseline: Any = None,
        undecided: Undecided | None = None,
        queries: Any = None,
        clusters: Any = None,
        common: bool = False,
    ) -> Outcome:
        """Fail the test unless every rule holds; returns the verdicts.

        ``results`` are scores, ``{system: scores}`` or a benchmark whose retrievers have run. ``rules`` are those of
        :func:`ranklens.gate`; without any, those of the marker ``@pytest.mark.retrieval(…)``. ``name`` tells several checks of a
        test apart, and is the name in the baseline file. The rest is as in :func:`ranklens.gate`.
        """
        __tracebackhide__ = True
        try:
            outcome = self._checked(results, rules, name, baseline, undecided, queries, clusters, common)
        except RankLensError as error:
            raise error.with_traceback(None) from None  # the user's line says more than ours
        if not outcome.passed:
            raise AssertionError("\n".join(lines(outcome)))  # its first line is in pytest's summary
        return outcome

    def _checked(
        self,
        results: Any,
        rules: Sequence[str | Rule],
        name: str | None,
        baseline: Any,
        undecided: Undecided | None,
        queries: Any,
        clusters: Any,
        common: bool,
    ) -> Outcome:
        """The verdicts, which are also kept for the end of the run."""
        wanted = [Rule.parse(rule) for rule in rules or self.marked]
        if not wanted:
            raise InputError("There is no rule to check; pass one, such as 'nDCG@10 >= 0.4'.")
        if not isinstance(results, (Mapping, Benchmark)):
            results = {name or self.test.rpartition("::")[2]: results}
        measures = list(dict.fromkeys(rule.measure for rule in wanted if rule.measure is not None))
        found = records_of(results, measures)
        keys = self._named(found.records, name)
        held = [rule for rule in wanted if not rule.is_drop] if self.update and baseline is None else wanted
        against = self._against(held, keys, baseline)
        outcome = Outcome(())  # a run that only freezes drops holds nothing against anything
        if held:
            outcome = gate(
                found.records,
                held,
                baseline=against,
                undecided=undecided or self.undecided,
                queries=found.fields if queries is None else queries,
                clusters=clusters,
                common=common,
            )
        self._tell(outcome, {keys[one]: record for one, record in found.records.items()})
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

    def _against(self, rules: Sequence[Rule], keys: Mapping[str, str], given: Any) -> Baseline | None:
        if not any(rule.is_drop for rule in rules):
            return None
        if given is not None or str(self.baseline).startswith(HISTORY):
            return Baseline.of_any(given if given is not None else str(self.baseline), systems=list(keys))
        frozen = read_frozen(Path(self.baseline))
        missing = [key for key in keys.values() if key not in frozen.records]
        if missing:
            raise InputError(
                f"{self.baseline} has no results of {missing[0]!r} yet. Write them with: pytest --retrieval-update, then commit the file."
            )
        return Baseline({one: frozen.records[key] for one, key in keys.items()}, str(self.baseline))

    def _tell(self, outcome: Outcome, records: Mapping[str, Record]) -> None:
        """Keep what was found for the end of the run, and what is to be frozen if it is good enough."""
        frozen = {}
        if self.update and outcome.passed:
            frozen = {key: Baseline({key: record}).to_text() for key, record in records.items()}
        self.told.append({"lines": [headline(verdict) for verdict in outcome.verdicts], "frozen": frozen})


def read_frozen(path: Path) -> Baseline:
    """The baseline file; a message that is for users of pytest if there is none."""
    if not path.exists():
        raise InputError(
            f"{path}: there is no baseline yet. Write it with: pytest --retrieval-update, then commit the file."
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
