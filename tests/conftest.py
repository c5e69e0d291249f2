"""What every run of the tests shares. A plain run is quick: it leaves out tests marked ``slow`` and tries fewer random examples.

``scripts/test --all`` sets ``RANKLENS_TEST_ALL=1``, which runs everything. Both say at the end what they did. With
``RANKLENS_TEST_SKIPS=fail`` a test that is skipped fails: the environment was made so that none is.
"""

import logging
import os

import pytest
from hypothesis import HealthCheck, settings

ALL = os.environ.get("RANKLENS_TEST_ALL", "") not in ("", "0")
SKIPS_FAIL = os.environ.get("RANKLENS_TEST_SKIPS", "") == "fail"
# What decides on a change tries the same examples every time: new ones are for those who look for faults, not for those who wait.
FIXED = os.environ.get("RANKLENS_TEST_FIXED", "") not in ("", "0")
LEFT_OUT = pytest.StashKey[int]()

for name, examples in (("full", 100), ("quick", 25)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=examples,
        derandomize=FIXED,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("full" if ALL else "quick")


@pytest.fixture(autouse=True)
def no_job_of_github(monkeypatch):
    """Commands append to the summary of a job; that of the job that runs the tests is not theirs."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture(autouse=True)
def nobody_listens():
    """Progress goes to Python's logging where somebody listens; some integration packages set the root logger to that for good."""
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("ranklens").setLevel(logging.NOTSET)


@pytest.hookimpl(trylast=True)  # after -k and -m, so that only what was asked for is counted
def pytest_collection_modifyitems(config, items):
    if ALL or config.option.markexpr:  # whoever writes -m has chosen
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    config.stash[LEFT_OUT] = len(slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return failed_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return failed_if_skipped((yield))


def failed_if_skipped(report):
    if SKIPS_FAIL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        *_, reason = report.longrepr
        report.longrepr = f"{reason} (RANKLENS_TEST_SKIPS=fail)"
    return report


class Parallel:
    """Hooks of pytest-xdist, which is not there in every environment. All workers collect the same tests."""

    @staticmethod
    def pytest_testnodedown(node):
        output = getattr(node, "workeroutput", {})  # a worker that crashed has none
        node.config.stash[LEFT_OUT] = max(output.get("left_out", 0), node.config.stash.get(LEFT_OUT, 0))


def pytest_configure(config):
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Parallel())


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around pytest's own, so that the note is the last line
def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workeroutput"):  # a parallel worker tells the process that prints
        config.workeroutput["left_out"] = config.stash.get(LEFT_OUT, 0)
    result = yield
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        more = "" if ALL else " scripts/test --all runs everything."
        reporter.write_line(
            f"Slow tests left out: {config.stash.get(LEFT_OUT, 0)}. "
            f"Random examples per property: {settings.default.max_examples}.{more}"
        )
    return result
