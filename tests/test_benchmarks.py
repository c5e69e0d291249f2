"""Benchmarks that make objects of the package themselves run with it; the numbers that they print are looked at elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TRENDS = """
import trends
trends.LOOKS = 3
print(trends._alarms(("RR-like", 25, 1.0, 0)))
trends.SLIDES = {"ten of ten queries in each of two entries": (10, 2, 10)}
print(trends._slide(("ten of ten queries in each of two entries", 0.0, 0)))
"""


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="there is no folder of benchmarks")
def test_the_simulation_of_trends_makes_entries_that_a_history_compares():
    done = subprocess.run(
        [sys.executable, "-c", TRENDS], cwd=BENCHMARKS, capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": ":".join(["", *sys.path]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.split() == ["False", "1"], done.stderr
