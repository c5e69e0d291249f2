"""Every goal of the benchmarks in one table: the work, what RankLens takes, what it is compared with, the goal, and whether it is met.

Benchmarks call :func:`record`; ``scripts/bench`` names a file in the environment, and prints the table at the end.
"""

import json
import os
import sys
from pathlib import Path

FILE = "RANKLENS_GOALS"
COLUMNS = ("work", "RankLens", "compared with", "goal", "verdict")


def record(work, ours, goal, met, beside=""):
    """Keep a goal for the table at the end; without one, this does nothing."""
    _keep(work, ours, beside, goal, "met" if met else "NOT met")


def _keep(*row):
    if os.environ.get(FILE):
        with Path(os.environ[FILE]).open("a") as file:
            file.write(json.dumps(row) + "\n")


def missing(package):
    """Say, here and in the table, that a peer is not there to be compared with."""
    print(f"{package} is not installed, so nothing is compared with it: pip install {package}", flush=True)
    _keep(f"compared with {package}", "", f"not installed: pip install {package}", "", "")


def failed(benchmark):
    """Say in the table that a benchmark did not come to its end; the others are still worth something."""
    _keep(benchmark, "", "", "runs to its end", "NOT met")


def main(file):
    """The table; the status is 1 if a goal is not met."""
    rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
    widths = [max(len(str(row[i])) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]
    print()
    for row in [COLUMNS, ["-" * width for width in widths], *rows]:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")
    verdicts = [row[-1] for row in rows if row[-1]]
    print(f"\n{verdicts.count('met')} of {len(verdicts)} goals are met.")
    return 1 if "NOT met" in verdicts else 0


if __name__ == "__main__":
    sys.exit(failed(sys.argv[2]) if sys.argv[1] == "--failed" else main(sys.argv[1]))
