"""pytest's hooks: options, the marker and fixture ``retrieval``, and a section at the end of the run.

Every run of pytest loads this module, also those that measure nothing, so it imports nothing else of RankLens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ranklens.testing.retrieval import Retrieval

BASELINE = "retrieval-baseline.json"
HISTORY = "history:"
TOLD = pytest.StashKey[list[dict[str, Any]]]()  # by test: what its checks found
_CARRIED = "ranklens_retrieval"  # the attribute of a report, which travels from parallel workers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command, and the key of the ini file."""
    group = parser.getgroup("retrieval", "retrieval quality (RankLens)")
    group.addoption(
        "--retrieval-baseline",
        metavar="FILE|history:REF",
        help=f"What drops are measured from: a frozen file (by default {BASELINE}), or an entry of the history.",
    )
    group.addoption(
        "--retrieval-update",
        action="store_true",
        help="Write the baseline file from the results of this run instead of checking drops.",
    )
    group.addoption(
        "--retrieval-undecided",
        choices=("fail", "pass"),
        default="fail",
        help="Whether a rule that the queries are too few to decide fails (default) or passes.",
    )
    parser.addini(
        "retrieval_baseline", f"The file of --retrieval-baseline, by default {BASELINE}.", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and collect what tests find."""
    config.addinivalue_line(
        "markers", "retrieval(*rules): checks retrieval quality; the rules are for retrieval.check."
    )
    if config.option.retrieval_update and str(place(config)).startswith(HISTORY):
        raise pytest.UsageError("--retrieval-update writes a file; give it as --retrieval-baseline FILE.")
    if not hasattr(config, "workerinput"):  # the process that prints, not a parallel worker
        config.pluginmanager.register(Session(config), "ranklens-session")


def place(config: pytest.Config) -> str | Path:
    """The file of the baseline, or ``history:REF``."""
    given: str | None = config.option.retrieval_baseline
    if given is not None:
        return given if given.startswith(HISTORY) else config.invocation_params.dir / given
    written = str(config.getini("retrieval_baseline"))
    return written if written.startswith(HISTORY) else config.rootpath / (written or BASELINE)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with the fixture have the marker, too, so that ``-m retrieval`` selects them."""
    for item in items:
        if "retrieval" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("retrieval"):
            item.add_marker("retrieval")


@pytest.fixture
def retrieval(request: pytest.FixtureRequest) -> Retrieval:
    """Checks retrieval quality: ``retrieval.check(scores, "nDCG@10 >= 0.4")``."""
    from ranklens.testing.retrieval import Retrieval

    return Retrieval.of(request.node, place(request.config))


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
    """What all tests found, in the process that prints."""

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
        from ranklens.testing.retrieval import freeze

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
