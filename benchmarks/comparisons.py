"""What takes long with very much data: statistics, tables of pairs, explanations and judgments, each with its goal.

Every piece of work runs in a process of its own, because only a process knows its peak of memory. The least CPU time of two
counts, as other work on the machine slows a wall clock down; both are printed. ``--quick`` compares a million queries
once, and leaves out the rest.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goals import record

MEASURES = ["nDCG@10", "AP", "RR", "R@100", "P@10", "nDCG@20", "R@10", "P@5", "RR@10", "Success@10"]


def systems(count, queries, measures):
    """Values of systems that differ a little, with many zeros."""
    import numpy as np
    import polars as pl

    draw, ids = np.random.default_rng(0), [f"q{i}" for i in range(queries)]
    difficulty = draw.random((measures, queries)) * (draw.random((measures, queries)) > 0.3)
    found = {}
    for i in range(count):
        noise = draw.normal(0.0005 * i, 0.2, (measures, queries))
        values = np.clip(difficulty + noise, 0, 1)
        found[f"s{i}"] = pl.DataFrame({"query": ids, **dict(zip(MEASURES, values, strict=False))})
    return found


def tested(test):
    import ranklens as rl

    given = systems(3, 100_000, 5)
    return lambda: rl.compare_scores(given, test=test)


def many_pairs():
    import ranklens as rl

    given = systems(200, 250, 10)

    def work():
        comparison = rl.compare_scores(given)
        return comparison.pairs_frame(), comparison.to_json()

    return work


def many_queries(slices=0):
    import ranklens as rl

    given = systems(2, 1_000_000, 5)
    by = {f"q{i}": f"slice {i % slices}" for i in range(1_000_000)} if slices else None
    return lambda: rl.compare_scores(given, by=by)


def large_report(folder):
    import ranklens as rl

    comparison = rl.compare_scores(systems(2, 1_000_000, 5))

    def work():
        page = comparison.to_html(folder / "report.html")
        assert page.stat().st_size < 20e6

    return work


def long_ranking():
    import ranklens as rl

    run = {"q": {f"d{i}": -float(i) for i in range(5_000_000)}}
    qrels = {"q": {f"d{i}": 1 for i in range(0, 5_000_000, 100_000)}}
    return lambda: rl.explain("AP", qrels, run, query="q")


def many_judgments(folder):
    import ranklens as rl

    return lambda: rl.evaluate(folder / "qrels.txt", folder / "run.txt", "nDCG@10,AP,RR").mean


def write_judgments(folder):
    import numpy as np
    import polars as pl

    draw, size = np.random.default_rng(0), 10_000_000
    query, doc = pl.Series(np.arange(size) // 100), pl.Series(draw.integers(0, 8_800_000, size))
    rows = pl.DataFrame({"q": query, "zero": 0, "d": doc, "grade": draw.integers(0, 4, size)})
    rows = rows.unique(["q", "d"], maintain_order=True)
    rows = rows.with_columns(pl.format("q{}", "q").alias("q"), pl.format("doc{}", "d").alias("d"))
    rows.write_csv(folder / "qrels.txt", separator=" ", include_header=False)
    run = rows.filter(pl.int_range(pl.len()) % 20 == 0)
    run = run.select(
        "q", pl.lit("Q0"), "d", rank=pl.lit(1), score=pl.Series(draw.random(len(run))), tag=pl.lit("t")
    )
    run.write_csv(folder / "run.txt", separator=" ", include_header=False)


COMPARED = "compare, 2 x 5 x 1,000,000"
# With the most seconds and megabytes, where there is a goal.
WORK = {
    "randomisation test, 100,000 x 3 x 5": (lambda _: tested("randomization"), 20, None),
    "bootstrap test, 100,000 x 3 x 5": (lambda _: tested("bootstrap"), 20, None),
    "randomised Tukey, 100,000 x 3 x 5": (lambda _: tested("tukey-randomized"), 20, None),
    "compare, pairs and JSON, 200 x 10 x 250": (lambda _: many_pairs(), 8, 400),
    COMPARED: (lambda _: many_queries(), 15, 1500),
    "the same in 300 slices": (lambda _: many_queries(300), 30, 1500),
    "report of the same, under 20 MB": (large_report, 30, None),
    "explain a ranking of 5,000,000": (lambda _: long_ranking(), None, None),
    "10,000,000 judgments": (many_judgments, None, 1000),
}


def measure(name, folder):
    """In this process: seconds, CPU seconds and peak MB."""
    import resource

    work = WORK[name][0](Path(folder))
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps([wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def apart(*arguments):
    command = [sys.executable, __file__, *map(os.fspath, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def show(name, folder, rounds):
    """Measure a piece of work, print what it took, and keep its goal."""
    _, seconds, megabytes = WORK[name]
    runs = [json.loads(apart("--measure", name, folder)) for _ in range(rounds)]
    wall, cpu, peak = min(r[0] for r in runs), min(r[1] for r in runs), max(r[2] for r in runs)
    met = (seconds is None or cpu <= seconds) and (megabytes is None or peak <= megabytes)
    goals = ", ".join(
        f"{limit} {unit}" for limit, unit in ((seconds, "s"), (megabytes, "MB")) if limit is not None
    )
    if goals:
        record(name, f"{cpu:.1f} s, {peak:.0f} MB", goals, met, f"by the clock {wall:.1f} s")
    verdict = ("met" if met else "NOT met") if goals else ""
    print(f"  {name:40}{wall:9.1f}{cpu:8.1f}{peak:7.0f} MB  {goals:14}{verdict}", flush=True)


def main():
    if sys.argv[1:2] == ["--write"]:
        write_judgments(Path(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
        return
    print(f"\n{'Very much data':42}{'seconds':>9}{'CPU':>8}{'memory':>10}  goal")
    with tempfile.TemporaryDirectory() as folder:
        if "--quick" in sys.argv:
            show(COMPARED, folder, 1)
            return
        apart("--write", folder)
        for name in WORK:
            show(name, folder, 2)


if __name__ == "__main__":
    main()
