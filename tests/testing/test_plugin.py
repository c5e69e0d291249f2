"""The plugin, in runs of pytest of its own."""

import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import walk_packages

import pytest

import ranklens

pytest_plugins = ["pytester"]
# Runs within this process forget what they load, and these cannot be loaded twice.
OURS = [one.name for one in walk_packages(ranklens.__path__, "ranklens.") if "__main__" not in one.name]
for name in ("numpy", "polars", "scipy.stats", *OURS):
    with suppress(ImportError):  # of packages that are not installed
        import_module(name)
# Already loaded where the package is installed with its entry point.
LOADED = any(point.value == "ranklens.guard.testing.plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if LOADED else ("-p", "ranklens.guard.testing.plugin")

SUITE = """
from pathlib import Path
import pytest, ranklens as rl

QRELS = {f"q{i}": {"a": 1} for i in range(60)}
BAD = int(Path("bad.txt").read_text())  # queries for which the retriever is wrong
SCORES = rl.evaluate(QRELS, {q: ["b", "a"] if i < BAD else ["a"] for i, q in enumerate(QRELS)}, "RR")

def test_floor(retrieval):
    outcome = retrieval.check(SCORES, "RR >= 0.9")
    assert outcome.passed

@pytest.mark.retrieval("RR drop <= 0.02 @ 95%")
def test_drop(retrieval):
    retrieval.check(SCORES)

@pytest.mark.parametrize("k", [1, 2])
def test_bench(retrieval, k):
    bench = rl.Benchmark({q: q for q in QRELS}, QRELS)
    bench.run("mine", lambda text: ["a"], k=k)
    retrieval.check(bench, "RR drop <= 1%", "failed <= 0")

def test_other():
    pass
"""


@pytest.fixture
def project(pytester):
    pytester.makepyfile(test_search=SUITE)

    def run(*options, bad=0):
        Path("bad.txt").write_text(str(bad))
        apart = "-n" in options
        start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        return start(*PLUGIN, "-p", "no:cacheprovider", *options)

    run.path = pytester.path
    return run


def test_baselines_are_written_on_request_and_held_against(project):
    without = project()
    without.assert_outcomes(passed=2, failed=3)
    without.stdout.fnmatch_lines(["*there is no baseline yet. Write it with: pytest --retrieval-update*"])
    project("--retrieval-update").assert_outcomes(passed=5)
    written = (project.path / "retrieval-baseline.json").read_text()
    assert '"test_search.py::test_drop": {' in written
    assert '"test_search.py::test_bench[2] mine": {' in written
    good = project()
    good.assert_outcomes(passed=5)
    good.stdout.fnmatch_lines(
        [
            "*= retrieval quality =*",
            "passed: RR of test_floor: 1.0000 >= required 0.9",
            "passed: RR of test_drop: 1.0000 against the baseline's 1.0000; no query changed",
        ]
    )
    bad = project(bad=20)
    bad.assert_outcomes(passed=3, failed=2)
    bad.stdout.fnmatch_lines(
        [
            "*AssertionError: failed: RR >= 0.9: RR of test_floor: 0.8333 < required 0.9*",
            "*failed: RR drop <= 0.02 @ 95%: RR of test_drop: 0.8333 against the baseline's 1.0000*",
            "*lost most: q0 1.00 * 0.50*",
        ]
    )
    assert (
        project.path / "retrieval-baseline.json"
    ).read_text() == written  # only --retrieval-update changes it
    bad.stdout.fnmatch_lines(
        ["FAILED test_search.py::test_floor - AssertionError: failed: RR >= 0.9: RR of *"]
    )
    for output in (bad, without):  # our own lines do not help
        assert not any("retrieval.py:" in line or "baselines.py:" in line for line in output.outlines)


def test_what_is_not_good_enough_is_not_frozen_and_others_stay(project):
    project("--retrieval-update")
    before = (project.path / "retrieval-baseline.json").read_text()
    again = project("--retrieval-update", "-k", "test_drop", bad=6)
    again.assert_outcomes(passed=1, deselected=4)
    again.stdout.fnmatch_lines(["*retrieval-baseline.json: 1 baseline written, 3 others kept; commit it."])
    assert (project.path / "retrieval-baseline.json").read_text() != before
    project("-k", "test_drop or test_bench", bad=6).assert_outcomes(passed=3, deselected=2)
    project("--retrieval-update", "-k", "test_floor", bad=30).assert_outcomes(failed=1, deselected=4)


@pytest.mark.slow
def test_parallel_workers_bring_their_results(project):
    pytest.importorskip("xdist")
    project("-n", "2", "--retrieval-update").assert_outcomes(passed=5)
    found = project("-n", "2", bad=20)
    found.assert_outcomes(passed=3, failed=2)
    told = [line.split(":")[0] for line in found.outlines if line.startswith(("passed: ", "FAILED: "))]
    assert sorted(told) == ["FAILED"] * 2 + ["passed"] * 4
    alone = project("--retrieval-update", "--retrieval-baseline", "alone.json")
    alone.assert_outcomes(passed=5)
    assert (project.path / "alone.json").read_text() == (project.path / "retrieval-baseline.json").read_text()


def test_tests_are_selected_by_the_marker(project):
    project("-m", "retrieval", "--strict-markers", "--retrieval-update").assert_outcomes(
        passed=4, deselected=1
    )
    project("-m", "not retrieval").assert_outcomes(passed=1, deselected=4)


def test_undecided_rules_fail_unless_told_otherwise(project):
    project("--retrieval-update")
    project("-k", "test_drop", bad=2).assert_outcomes(failed=1, deselected=4)
    found = project("-k", "test_drop", "--retrieval-undecided", "pass", bad=2)
    found.assert_outcomes(passed=1, deselected=4)
    found.stdout.fnmatch_lines(["UNDECIDED: RR of test_drop: *"])


def test_the_ini_file_names_the_baseline(project):
    (project.path / "pytest.ini").write_text("[pytest]\nretrieval_baseline = frozen/search.json\n")
    (project.path / "frozen").mkdir()
    project("--retrieval-update").assert_outcomes(passed=5)
    assert (project.path / "frozen" / "search.json").exists()
    project().assert_outcomes(passed=5)


def test_a_history_cannot_be_updated(project):
    found = project("--retrieval-update", "--retrieval-baseline", "history:main")
    found.stderr.fnmatch_lines(["*--retrieval-update writes a file; give it as --retrieval-baseline FILE.*"])
    assert found.ret == pytest.ExitCode.USAGE_ERROR


def test_a_broken_baseline_is_not_overwritten(project):
    (project.path / "retrieval-baseline.json").write_text("{}")
    found = project("--retrieval-update")
    found.stdout.fnmatch_lines(["*The baseline was not written: *retrieval-baseline.json is not a baseline*"])
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    assert (project.path / "retrieval-baseline.json").read_text() == "{}"


def test_mistakes_in_tests_are_told(pytester):
    pytester.makepyfile(
        """
        import ranklens as rl
        SCORES = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR")

        def test_no_rule(retrieval):
            retrieval.check(SCORES)

        def test_twice(retrieval):
            retrieval.check(SCORES, "RR >= 0.1")
            retrieval.check(SCORES, "RR >= 0.1", name="second")
            retrieval.check(SCORES, "RR >= 0.2")
        """
    )
    found = pytester.runpytest_inprocess(*PLUGIN)
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(
        ["*There is no rule to check*", "*twice, so both would share one baseline; give each check a name=.*"]
    )


def test_a_run_without_checks_shows_nothing(pytester):
    pytester.makepyfile("def test_it(): pass")
    found = pytester.runpytest_inprocess(*PLUGIN)
    found.assert_outcomes(passed=1)
    assert "retrieval" not in "\n".join(found.outlines)
    assert not (pytester.path / "retrieval-baseline.json").exists()


def test_the_plugin_costs_nothing_to_load():
    code = "import pytest, sys; before = {*sys.modules}; import ranklens.guard.testing.plugin; print(*{*sys.modules} - before)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("ranklens")}
    folders = ("", ".guard", ".guard.testing", ".guard.testing.plugin")
    assert ours == {f"ranklens{name}" for name in folders}
    assert {*loaded} - ours <= {
        "json",
        "json.decoder",
        "json.encoder",
        "json.scanner",
        "_json",
    }


def test_the_entry_point_is_declared():
    content = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nranklens = "ranklens.guard.testing.plugin"\n' in content


TAKEN = """
def pytest_addoption(parser):
    parser.addoption("--retrieval-update", action="store", default="theirs")
    parser.addini("retrieval_baseline", "theirs")

def pytest_report_header(config):
    return f"theirs: {config.getoption('--retrieval-update')}"
"""


@pytest.mark.parametrize("place", ["conftest", "plugin"])
def test_options_of_other_projects_come_first(project, monkeypatch, place):
    project.path.joinpath("conftest.py" if place == "conftest" else "theirs.py").write_text(TAKEN)
    theirs = () if place == "conftest" else ("-p", "theirs")
    monkeypatch.syspath_prepend(project.path)
    found = project(*theirs, "--retrieval-update", "mine", "-k", "test_other")
    found.assert_outcomes(passed=1, deselected=4)
    found.stdout.fnmatch_lines(["theirs: mine"])
    project(*theirs).stdout.fnmatch_lines(["*Write it with: pytest --ranklens-update*"])
    project(*theirs, "--ranklens-update").assert_outcomes(passed=5)
    assert (project.path / "retrieval-baseline.json").exists()
    project(*theirs, "--retrieval-undecided", "pass").assert_outcomes(passed=5)


MARKED = """
import pytest
import ranklens as rl

QRELS = {f"q{i}": {"a"} for i in range(20)}
SCORES = rl.evaluate(QRELS, {q: ["x", "a"] for q in QRELS}, "RR")


@pytest.mark.retrieval("RR >= 0.99")
def test_never_checks():
    pass


@pytest.mark.retrieval("RR >= 0.99")
def test_never_calls_check(retrieval):
    pass


@pytest.mark.retrieval("RR >= 0.99")
def test_checks_another_rule(retrieval):
    retrieval.check(SCORES, "RR >= 0.1")


@pytest.mark.retrieval("RR is nice")
def test_nonsense():
    pass


@pytest.mark.retrieval("RR >= 0")
def test_cannot_fail():
    pass


@pytest.mark.retrieval(rule="RR >= 0.99")
def test_named():
    pass


@pytest.mark.retrieval("RR >= 0.3", "RR >= 0.4")
def test_checks_its_rules(retrieval):
    retrieval.check(SCORES)


@pytest.mark.retrieval("RR >= 0.3")
def test_checks_its_rule_and_another(retrieval):
    retrieval.check(SCORES, "RR >= 0.3", "RR >= 0.2")


@pytest.mark.retrieval
def test_only_selected():
    pass


@pytest.mark.retrieval("RR >= 0.3")
@pytest.mark.skip(reason="not today")
def test_skipped(retrieval):
    pass
"""


@pytest.mark.parametrize("apart", [[], ["-n", "1"]])
def test_the_rules_of_a_marker_are_checked_or_the_test_fails(pytester, apart):
    pytester.makepyfile(MARKED)
    found = pytester.runpytest_subprocess(*PLUGIN, *apart)
    found.assert_outcomes(passed=3, failed=6, skipped=1)
    out = found.stdout.str()
    assert out.count("without checking 'RR >= 0.99'") + out.count("without checking RR >= 0.99") >= 3
    for part in (
        "'RR is nice' is not a rule",
        "'RR >= 0': it can never fail",
        "takes rules and nothing else, not rule=",
    ):
        assert part in out
