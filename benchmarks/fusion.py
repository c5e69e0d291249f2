"""Fusing three runs, next to ranx; and whether tuning is honest.

Every piece of work runs in a process of its own. ranx is warm: its functions were compiled in an earlier call of the same process. From dicts,
both start with dicts; ranx builds its own form of a run first. ``--quick`` fuses a tenth of the queries; ``--honesty`` simulates tuning instead.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goals import record

DOCUMENTS, POOL, RUNS = 1000, 3000, 3
WORK = {"rrf": {"method": "rrf"}, "min-max CombSUM": {"method": "sum", "norm": "min-max"}}


def runs(queries):
    import numpy as np

    draw = np.random.default_rng(0)

    def one():
        found = {}
        for query in range(queries):
            docs = draw.choice(POOL, DOCUMENTS, replace=False) + 997 * query
            scores = np.sort(draw.random(DOCUMENTS))[::-1].tolist()
            found[f"q{query}"] = dict(zip((f"doc{doc}" for doc in docs.tolist()), scores, strict=True))
        return found

    return [one() for _ in range(RUNS)]


def write(given, folder):
    paths = []
    for number, run in enumerate(given):
        paths.append(folder / f"run{number}.txt")
        with paths[-1].open("w") as file:
            for query, docs in run.items():
                file.writelines(
                    f"{query} Q0 {doc} {rank} {score} run{number}\n"
                    for rank, (doc, score) in enumerate(docs.items(), 1)
                )
    return paths


def measured(tool, source, options, queries, folder):
    """Seconds of the processor for one warm call, and the memory in MB that it needs beyond its input."""
    paths = [Path(folder) / f"run{number}.txt" for number in range(RUNS)]
    given = runs(queries) if source == "dicts" else paths
    small = runs(3) if source == "dicts" else paths
    if tool == "ranklens":
        import ranklens as rl

        def work(given):
            return rl.fuse(given, **options)
    else:
        from ranx import Run, fuse

        def work(given):
            as_runs = [
                Run(one) if source == "dicts" else Run.from_file(str(one), kind="trec") for one in given
            ]
            return fuse(as_runs, norm=options.get("norm"), method=options["method"])

    if tool == "ranx" or source == "dicts":
        work(small)
    before = _memory("VmRSS")
    start = time.process_time()
    work(given)
    return time.process_time() - start, _memory("VmHWM") - before


def _memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


def compare(queries):
    with tempfile.TemporaryDirectory() as folder:
        write(runs(queries), Path(folder))
        for source in ("dicts", "files"):
            for name in WORK:
                ours, theirs = (
                    json.loads(
                        subprocess.run(
                            [sys.executable, __file__, "--one", tool, source, name, str(queries), folder],
                            capture_output=True,
                            text=True,
                            check=True,
                            env={**os.environ, "NUMBA_DISABLE_PERFORMANCE_WARNINGS": "1"},
                        ).stdout.splitlines()[-1]
                    )
                    for tool in ("ranklens", "ranx")
                )
                print(
                    f"{name} from {source}, {queries:,} x {DOCUMENTS:,} x {RUNS}: {ours[0]:.2f} CPU s and {ours[1]:,.0f} MB, "
                    f"ranx {theirs[0]:.2f} s and {theirs[1]:,.0f} MB"
                )
                faster, smaller = theirs[0] / ours[0], ours[1] / theirs[1]
                record(f"{name} from {source}", f"{faster:.1f}x", "10x", faster >= 10, "ranx")
                record(f"{name} from {source}, memory", f"{smaller:.0%}", "33%", smaller <= 1 / 3, "ranx")


def honesty(experiments=400, queries=40):
    """Thirty useless settings on two equal systems: how often the honest interval holds the truth, and how often tuning claims a gain."""
    import numpy as np

    import ranklens as rl

    draw = np.random.default_rng(0)
    weights = [(1 - step / 29, step / 29) for step in range(30)]
    names = [f"q{i}" for i in range(queries)]
    qrels = {name: {"x"} for name in names}
    held, claimed, best = 0, 0, 0.0

    def run():
        scores = draw.random((queries, 8))
        return {
            name: dict(zip("xabcdefg", row, strict=True))
            for name, row in zip(names, scores.tolist(), strict=True)
        }

    value = float(np.mean(1 / np.arange(1, 9)))  # the expected RR of a random order, whatever the weights
    for seed in range(experiments):
        tuned = rl.tune(qrels, {"a": run(), "b": run()}, "RR", over={"weights": weights}, rng=seed)
        held += tuned.interval.low <= value <= tuned.interval.high
        best += tuned.optimistic / experiments
        pair = tuned.comparison.pair("RR", "rrf", "tuned")
        claimed += bool(pair.significant and pair.difference > 0)
    print(
        f"{experiments} experiments, 30 useless settings, {queries} queries: the interval holds the truth in {held / experiments:.3f}, "
        f"tuned is called better in {claimed / experiments:.3f}; the truth is {value:.3f}, the optimistic mean {best:.3f}"
    )
    record(
        "coverage of the held-out interval", f"{held / experiments:.3f}", "0.93", held / experiments >= 0.93
    )
    record(
        "false claims of a gain by tuning",
        f"{claimed / experiments:.3f}",
        "0.06",
        claimed / experiments <= 0.06,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _, _, tool, source, name, queries, folder = sys.argv
        print(json.dumps(measured(tool, source, WORK[name], int(queries), folder)))
    elif "--honesty" in sys.argv:
        honesty()
    else:
        compare(698 if "--quick" in sys.argv else 6980)
