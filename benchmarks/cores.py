"""Both cores: one large file and several runs, with one thread and with all that this process may use.

The best of several wall times counts, in processes that take turns. On a busy machine the gain is smaller than it is.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from goals import record
from rows import make


def work(folder, kind, runs):
    import ranklens as rl

    files = [Path(folder, f"run.{kind}")] * int(runs)
    qrels = Path(folder, "qrels.parquet")
    if len(files) == 1:
        return lambda: rl.evaluate(qrels, files[0], "nDCG@10,AP,RR").mean
    named = {f"run {i}": file for i, file in enumerate(files)}
    return lambda: rl.compare(qrels, named, "nDCG@10,AP,RR", test="t")


def measure(*given):
    """In this process: the least wall time."""
    call, taken = work(*given), []
    while len(taken) < 2 or (len(taken) < 10 and sum(taken) < 1):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    print(json.dumps(min(taken)))


def seconds(threads, *given):
    limits = {"RANKLENS_THREADS": "1", "POLARS_MAX_THREADS": "1"} if threads == 1 else {}
    command = [sys.executable, __file__, "--measure", *map(str, given)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **limits})
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(*given.measure)
        return
    cores = pl.thread_pool_size()  # what affinity and the limits of a container leave
    if cores < 2:
        print("There is one core only, so nothing is measured.")
        return
    rows = 10**6 if given.quick else 5 * 10**6
    with tempfile.TemporaryDirectory() as name:
        folders = {"large": Path(name, "large"), "small": Path(name, "small")}
        make(folders["large"], rows, kinds=("txt", "parquet"))
        make(folders["small"], rows // 20, kinds=("txt",))
        for what, folder, kind, runs in (
            (f"one TREC run of {rows:,} rows", "large", "txt", 1),
            (f"one Parquet run of {rows:,} rows", "large", "parquet", 1),
            (f"compare 8 TREC runs of {rows // 20:,} rows", "small", "txt", 8),
        ):
            taken = {1: [], cores: []}
            for _ in range(2 if given.quick else 4):
                for threads, found in taken.items():
                    found.append(seconds(threads, folders[folder], kind, runs))
            one, all_of_them = (min(found) for found in taken.values())
            gain = one / all_of_them
            print(
                f"{what}: {one:.2f} s with one thread, {all_of_them:.2f} s with {cores} cores, {gain:.2f}x",
                flush=True,
            )
            beside = f"one thread {one:.2f} s"
            record(f"{what}, {cores} cores", f"{gain:.2f}x", "faster than one thread", gain > 1, beside)


if __name__ == "__main__":
    main()
