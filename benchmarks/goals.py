"""Every goal of the benchmarks in one table: what was measured, what it should be, and whether that is met.

Benchmarks call :func:`record`; ``scripts/bench`` names a file in the environment, and prints the table at the end.
"""

import json
import os
import sys
from pathlib import Path

FILE = "RANKLENS_GOALS"


def record(what, measured, goal, met):
    """Keep a goal for the table at the end; without one, this does nothing."""
    if os.environ.get(FILE):
        with Path(os.environ[FILE]).open("a") as file:
            file.write(json.dumps([what, measured, goal, bool(met)]) + "\n")


def main(file):
    """The table; the status is 1 if a goal is not met."""
    rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
    widths = [max(len(str(row[i])) for row in [["goal", "measured", "wanted"], *rows]) for i in range(3)]
    print(f"\n{'goal':{widths[0]}}  {'measured':>{widths[1]}}  {'wanted':>{widths[2]}}  verdict")
    for what, measured, goal, met in rows:
        verdict = "met" if met else "NOT met"
        print(f"{what:{widths[0]}}  {measured:>{widths[1]}}  {goal:>{widths[2]}}  {verdict}")
    return 0 if all(row[3] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
