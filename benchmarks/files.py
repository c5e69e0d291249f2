"""TREC and Parquet files to five measures, whole processes: RankLens against pytrec_eval and ranx.

Tools take turns, so that other load on the machine slows all of them equally, and the best time of each counts. ``--huge``
adds runs of 5 GB (plain, compressed, and with the rows of every query scattered over the whole file), for which only
RankLens is measured: its memory must stay bounded.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from goals import missing, record
from shapes import SHAPES, make

TIMES, MEMORY = (
    9,
    1 / 5,
)  # as fast as pytrec_eval's load and evaluate, and of its memory; of all 6,980 queries
START = 0.2  # CPU seconds for a small collection, start to exit
HUGE = 300  # MB for a run of 5 GB
GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
RANKLENS = [sys.executable, "-m", "ranklens.cli.main", "evaluate", "-m", "nDCG@10,AP,RR,R@100,P@10"]
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


def process(command):
    """Seconds, peak MB and CPU seconds of a whole process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{command[:4]} failed: {child.stderr.read().decode()[-500:]}")
    return seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def side_by_side(commands, rounds=3):
    """The best seconds, the highest peak and the best CPU seconds of each command; they take turns."""
    found = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(process(command))
    each = {name: list(zip(*runs, strict=True)) for name, runs in found.items()}
    return {name: (min(wall), max(peak), min(cpu)) for name, (wall, peak, cpu) in each.items()}


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
        [sys.executable, "-m", "ranklens.cli.main", "convert", folder / "run.txt", folder / "run.parquet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def report(title, rows, reference):
    print(f"\n{title}\n  {'':34}{'seconds':>10}{'speed':>9}{'memory':>10}")
    for name, (seconds, megabytes, _) in rows.items():
        print(
            f"  {name:34}{seconds:10.2f}{rows[reference][0] / seconds:8.1f}x{megabytes:7.0f} MB", flush=True
        )


def huge(folder):
    """About 5 GB: the run repeated with other query ids; then rank by rank, so that no query is contiguous."""
    copies = 5_000_000_000 // (folder / "run.txt").stat().st_size + 1
    for name, target in (("run.txt", "huge.txt"), ("qrels.txt", "huge-qrels.txt")):
        with (folder / target).open("w") as out:
            for i in range(copies):
                with (folder / name).open() as lines:
                    out.writelines(f"c{i}-{line}" for line in lines)
    measure(folder, "huge.txt", "plain")
    subprocess.run(["gzip", "-1", "--force", folder / "huge.txt"], check=True)
    measure(folder, "huge.txt.gz", "compressed with gzip")
    (folder / "huge.txt.gz").unlink()
    lines = (folder / "run.txt").read_text().splitlines(keepends=True)
    documents = SHAPES["passages"].documents
    with (folder / "scattered.txt").open("w") as out:
        for rank in range(documents):
            for i in range(copies):
                out.writelines(f"c{i}-{line}" for line in lines[rank::documents])
    measure(folder, "scattered.txt", "every query scattered over the whole file")


def measure(folder, name, kind):
    size = (folder / name).stat().st_size / 1e9
    seconds, megabytes, _ = process([*RANKLENS, folder / "huge-qrels.txt", folder / name])
    record(
        f"a run of {size:.1f} GB, {kind}",
        f"{megabytes:.0f} MB",
        f"{HUGE} MB",
        megabytes <= HUGE,
        f"{seconds:.0f} s",
    )
    print(f"\nA run of {size:.1f} GB, {kind}: {seconds:.0f} s, peak {megabytes:.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries")
    parser.add_argument("--huge", action="store_true", help="add runs of 5 GB; needs 15 GB of disk")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(Path(options.write[0]), int(options.write[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a separate process: Linux counts a parent's peak for its children too.
        subprocess.run(
            [sys.executable, __file__, "--write", name, "10" if options.quick else "1"], check=True
        )
        compare(folder, whole=not options.quick)
        if options.huge:
            huge(folder)


def compare(folder, whole):
    python, qrels, run = [sys.executable, "-c"], folder / "qrels.txt", folder / "run.txt"
    five = [folder / f"run{i}.txt" for i in range(1, 6)]
    small = [GOLDEN / "qrels.txt", GOLDEN / "run.txt"]
    rows = side_by_side(
        {
            "RankLens, in Python": [*python, LIBRARY, qrels, run],
            "RankLens, command line": [*RANKLENS, qrels, run],
            "RankLens, Parquet, in Python": [*python, LIBRARY, qrels, folder / "run.parquet"],
            "pytrec_eval": [*python, PYTREC_EVAL, qrels, run],
        }
    )
    if whole and find_spec("ranx") is None:
        missing("ranx")
    elif whole:  # which compiles for longer than a small part of the data takes
        rows |= side_by_side({"ranx": [*python, RANX, qrels, run]}, 1)
    keep("one TREC run, whole process", rows, "RankLens, in Python", whole)
    keep("one TREC run, command line", rows, "RankLens, command line", whole)
    report("One TREC run of 6,980 x 1,000, whole process", rows, "pytrec_eval")
    start = side_by_side({"python": [*python, LIBRARY, *small], "command": [*RANKLENS, *small]}, 5)
    trec, parquet = (rows[f"RankLens,{kind} in Python"][0] - start["python"][0] for kind in ("", " Parquet,"))
    keep("one Parquet run, whole process", rows, "RankLens, Parquet, in Python", whole)
    print(f"\nParquet compared with TREC, without start-up: {trec / parquet:.1f}x")
    wall, _, cpu = start["command"]
    print(
        f"A small collection on the command line, start to exit: {wall:.2f} s, {cpu:.2f} s of the processor"
    )
    what = "a small collection by command, start to exit, CPU"
    record(what, f"{cpu:.2f} s", f"{START:g} s", cpu <= START, f"by the clock {wall:.2f} s")
    rows = side_by_side(
        {
            "RankLens, command line": [*RANKLENS, qrels, *five],
            "pytrec_eval": [*python, PYTREC_EVAL, qrels, *five],
        },
        2,
    )
    keep("five TREC runs, command line", rows, "RankLens, command line", whole)
    report("Five such runs", rows, "pytrec_eval")


def keep(work, rows, ours, whole):
    """N times as fast as pytrec_eval with a part of its memory; with a tenth of the data, which mostly start up, no slower."""
    seconds, peer = rows[ours][0], rows["pytrec_eval"][0]
    least = TIMES if whole else 1
    times = f"{peer / seconds:.1f}x as fast"
    record(work, times, f"{least}x pytrec_eval", peer >= least * seconds, f"pytrec_eval {peer:.2f} s")
    if whole:
        megabytes, theirs = rows[ours][1], rows["pytrec_eval"][1]
        met = megabytes <= MEMORY * theirs
        record(f"{work}: memory", f"{megabytes:.0f} MB", "a fifth", met, f"pytrec_eval {theirs:.0f} MB")


if __name__ == "__main__":
    main()
