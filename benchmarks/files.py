"""TREC and Parquet files to five measures, whole processes: RankLens against pytrec_eval and ranx.

``--huge`` adds a run file of 5 GB, for which only RankLens is measured: its memory must stay bounded.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shapes import SHAPES, make

RANKLENS = [sys.executable, "-m", "ranklens.cli", "evaluate", "-m", "nDCG@10,AP,RR,R@100,P@10"]
LIBRARY = """
import sys, ranklens
for run in sys.argv[2:]:
    ranklens.evaluate(sys.argv[1], run, "nDCG@10,AP,RR,R@100,P@10").mean
"""
PYTREC_EVAL = """
import sys, pytrec_eval
qrels = pytrec_eval.parse_qrel(open(sys.argv[1]))
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10"})
for run in sys.argv[2:]:
    evaluator.evaluate(pytrec_eval.parse_run(open(run)))
"""
RANX = """
import sys, ranx
qrels = ranx.Qrels.from_file(sys.argv[1], kind="trec")
for path in sys.argv[2:]:
    run = ranx.Run.from_file(path, kind="trec")
    ranx.evaluate(qrels, run, ["ndcg@10", "map", "mrr", "recall@100", "precision@10"], make_comparable=True)
"""


def process(command, repeat=3):
    """Best seconds and peak MB of a whole process."""
    best, peak = float("inf"), 0.0
    for _ in range(repeat):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command[:4]} failed: {child.stderr.read().decode()[-500:]}")
        best, peak = min(best, time.perf_counter() - start), max(peak, usage.ru_maxrss / 1024)
    return best, peak


def write(folder, factor):
    qrels, run = make(SHAPES["passages"].smaller(factor))
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())
    )
    with (folder / "run.txt").open("w") as file:
        for q, docs in run.items():
            ranked = sorted(docs.items(), key=lambda item: -item[1])
            file.writelines(f"{q} Q0 {d} {i} {s:.6f} tag\n" for i, (d, s) in enumerate(ranked, 1))
    for i in range(1, 6):
        (folder / f"run{i}.txt").symlink_to("run.txt")
    subprocess.run(
        [sys.executable, "-m", "ranklens.cli", "convert", folder / "run.txt", folder / "run.parquet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def report(title, rows, reference):
    print(f"\n{title}\n  {'':34}{'seconds':>10}{'speed':>9}{'memory':>10}")
    for name, (seconds, megabytes) in rows.items():
        print(
            f"  {name:34}{seconds:10.2f}{rows[reference][0] / seconds:8.1f}x{megabytes:7.0f} MB", flush=True
        )


def huge(folder):
    """About 5 GB: the run again and again, with other query ids."""
    copies = 5_000_000_000 // (folder / "run.txt").stat().st_size + 1
    for name, target in (("run.txt", "huge.txt"), ("qrels.txt", "huge-qrels.txt")):
        with (folder / target).open("w") as out:
            for i in range(copies):
                with (folder / name).open() as lines:
                    out.writelines(f"c{i}-{line}" for line in lines)
    size = (folder / "huge.txt").stat().st_size / 1e9
    seconds, megabytes = process([*RANKLENS, folder / "huge-qrels.txt", folder / "huge.txt"], repeat=1)
    print(f"\nA run of {size:.1f} GB: {seconds:.1f} s, peak {megabytes:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries")
    parser.add_argument("--huge", action="store_true", help="a run of 5 GB as well")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(Path(options.write[0]), int(options.write[1]))
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: Linux counts the peak of a parent for its children, too.
        subprocess.run(
            [sys.executable, __file__, "--write", name, "10" if options.quick else "1"], check=True
        )
        one, five = (
            [folder / "qrels.txt", folder / "run.txt"],
            [folder / "qrels.txt", *(folder / f"run{i}.txt" for i in range(1, 6))],
        )
        python = [sys.executable, "-c"]
        rows = {
            "RankLens, in Python": process([*python, LIBRARY, *one]),
            "RankLens, command line": process([*RANKLENS, *one]),
            "RankLens, Parquet, in Python": process([*python, LIBRARY, one[0], folder / "run.parquet"]),
            "pytrec_eval": process([*python, PYTREC_EVAL, *one], 2),
            "ranx": process([*python, RANX, *one], 1),
        }
        report("One TREC run of 6,980 x 1,000, whole process", rows, "pytrec_eval")
        rows = {
            "RankLens, command line": process([*RANKLENS, *five]),
            "pytrec_eval": process([*python, PYTREC_EVAL, *five], 1),
        }
        report("Five such runs", rows, "pytrec_eval")
        if options.huge:
            huge(folder)


if __name__ == "__main__":
    main()
