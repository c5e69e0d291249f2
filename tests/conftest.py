"""What every run of the tests shares. A plain run is quick: it leaves out tests marked ``slow`` and tries fewer random examples.

``scripts/test --all`` sets ``RANKLENS_TEST_ALL=1``, which runs everything. Both say at the end what they did.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

ALL = os.environ.get("RANKLENS_TEST_ALL", "") not in ("", "0")
LEFT_OUT = pytest.StashKey[int]()

for name, examples in (("full", 100), ("quick", 25)):
    settings.register_profile(
        name, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("full" if ALL else "quick")


@pytest.hookimpl(trylast=True)  # after -k and -m, so that only what was asked for is counted
def pytest_collection_modifyitems(config, items):
    if ALL or config.option.markexpr:  # whoever writes -m has chosen
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    config.stash[LEFT_OUT] = len(slow)


def pytest_sessionfinish(session):
    """A parallel worker tells the number to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


class Parallel:
    """Hooks of pytest-xdist, which is not there in every environment."""

    @staticmethod
    def pytest_testnodedown(node):
        output = getattr(node, "workeroutput", {})  # a worker that crashed has none
        node.config.stash[LEFT_OUT] = output.get("left_out", 0)


def pytest_configure(config):
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Parallel())


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    left_out = config.stash.get(LEFT_OUT, 0)
    examples = f"{settings.default.max_examples} random examples per property"
    if ALL:
        terminalreporter.write_line(f"Slow tests were included, with {examples}.")
    elif left_out:
        terminalreporter.write_line(
            f"{left_out} slow tests were left out, and {examples} were tried: scripts/test --all runs everything."
        )
    else:
        terminalreporter.write_line(f"Tried {examples}: scripts/test --all tries more.")
