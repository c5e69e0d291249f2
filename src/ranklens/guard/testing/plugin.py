"""pytest's hooks: options, the marker and fixture ``retrieval``, and a section at the end of the run.

Every run of pytest loads this module, also those that measure nothing, so it imports nothing else of RankLens.
"""

from __future__ import annotations

import json
from argparse import ArgumentError
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ranklens.guard.testing.retrieval import Retrieval

BASELINE = "retrieval-baseline.json"
HISTORY = "history:"
_SHORT = pytest.StashKey[set[str]]()  # the names that are ours, out of those that other projects may have
TOLD = pytest.StashKey[list[dict[str, Any]]]()  # by test: what its checks found
CHECKED = pytest.StashKey[set[str]]()  # by test: the rules that its checks went by
FAILED = pytest.StashKey[list[str]]()  # by test: what its checks failed with
_CARRIED = "ranklens_retrieval"  # the attribute of a report, which travels from parallel workers


_OPTIONS: dict[str, dict[str, Any]] = {
    "baseline": {
        "metavar": "FILE|history:REF",
        "help": f"Baseline for drops: a frozen file (by default {BASELINE}), or an entry of the history (history:REF).",
    },
    "update": {
        "action": "store_true",
        "help": "Write the baseline file from the results of this run instead of checking drops.",
    },
    "undecided": {
        "choices": ("fail", "pass"),
        "default": "fail",
        "help": "Whether a rule that the queries are too few to decide fails (default) or passes.",
    },
}
_INI = f"The file of --retrieval-baseline, by default {BASELINE}."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command and the key of the ini file, by names that no other project has."""
    _add(parser, "ranklens", [*_OPTIONS])
    parser.addini("ranklens_baseline", _INI, default="")


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> None:
    """The same as ``--retrieval-…``, unless a plugin or a ``conftest.py``, which are loaded by now, has options of these names."""
    ours = early_config.stash[_SHORT] = set[str]()
    for name in _OPTIONS:
        with suppress(ValueError, ArgumentError):
            _add(parser, "retrieval", [name])
            ours.add(f"--retrieval-{name}")
    with suppress(ValueError, AssertionError):
        parser.addini("retrieval_baseline", _INI, default="")
        ours.add("retrieval_baseline")


def _add(parser: pytest.Parser, prefix: str, names: list[str]) -> None:
    group = parser.getgroup("ranklens", "retrieval quality (RankLens)")
    for name in names:
        group.addoption(f"--{prefix}-{name}", dest=f"ranklens_{name}", **_OPTIONS[name])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and collect what tests find."""
    config.addinivalue_line(
        "markers", "retrieval(*rules): checks retrieval quality; the rules are for retrieval.check."
    )
    if config.option.ranklens_update and str(place(config)).startswith(HISTORY):
        update, baseline = option(config, "update"), option(config, "baseline")
        raise pytest.UsageError(f"{update} writes a file; give it as {baseline} FILE.")
    if not hasattr(config, "workerinput"):  # the process that prints, not a parallel worker
        config.pluginmanager.register(Session(config), "ranklens-session")


def option(config: pytest.Config, name: str) -> str:
    """How an option is spelled in this run."""
    short = f"--retrieval-{name}"
    return short if short in config.stash.get(_SHORT, ()) else f"--ranklens-{name}"


def place(config: pytest.Config) -> str | Path:
    """The file of the baseline, or ``history:REF``."""
    given: str | None = config.option.ranklens_baseline
    if given is not None:
        return given if given.startswith(HISTORY) else config.invocation_params.dir / given
    key = "retrieval_baseline"
    short = config.getini(key) if key in config.stash.get(_SHORT, ()) else ""
    written = str(config.getini("ranklens_baseline") or short)
    return written if written.startswith(HISTORY) else config.rootpath / (written or BASELINE)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with the fixture also get the marker, so that ``-m retrieval`` selects them."""
    for item in items:
        if "retrieval" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("retrieval"):
            item.add_marker("retrieval")


@pytest.fixture
def retrieval(request: pytest.FixtureRequest) -> Retrieval:
    """Checks retrieval quality: ``retrieval.check(scores, "nDCG@10 >= 0.4")``."""
    from ranklens.guard.testing.retrieval import Retrieval

    return Retrieval.of(request.node, place(request.config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Fail a test that passes or is skipped although a check failed in it, or passes without having checked every rule of its marker."""
    marks = [mark for mark in item.iter_markers("retrieval") if mark.args or mark.kwargs]
    rules: list[Any] = []
    if marks:
        from ranklens.guard.testing.retrieval import rules_of

        rules = rules_of(marks)
    try:
        result = yield
    except pytest.skip.Exception:
        _refuse_ignored(item)
        raise
    _refuse_ignored(item)
    if rules:
        from ranklens.guard.testing.retrieval import unchecked

        checked: set[str] = item.stash.get(CHECKED, set())
        left_out = unchecked(rules, checked)
        if left_out:
            pytest.fail(left_out, pytrace=False)
    return result


def _refuse_ignored(item: pytest.Item) -> None:
    failures = item.stash.get(FAILED, [])
    if failures:
        pytest.fail(f"The test went on although a check failed:\n{failures[0]}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Let the report carry what the test found, also from a parallel worker."""
    report = yield
    told = item.stash.get(TOLD, None)
    if told:
        setattr(report, _CARRIED, json.dumps(told))
        item.stash[TOLD] = []
    return report


class Session:
    """The results of all tests, in the process that prints them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.lines: list[str] = []
        self.frozen: dict[str, str] = {}  # baselines of single checks, as texts
        self.wrote = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for one in json.loads(getattr(report, _CARRIED, "[]")):
            self.lines += one["lines"]
            self.frozen |= one["frozen"]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.frozen:
            return
        from ranklens.errors import InputError
        from ranklens.guard.testing.retrieval import freeze

        path = Path(place(self.config))
        try:
            self.wrote = freeze(self.frozen, path)
        except InputError as error:
            self.wrote = f"The baseline was not written: {error}"
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.lines and not self.wrote:
            return
        terminalreporter.section("retrieval quality")
        for line in [*self.lines, *([self.wrote] if self.wrote else [])]:
            terminalreporter.write_line(line)
