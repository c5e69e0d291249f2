"""Rows against seconds, memory and shuffled bytes on Spark: RankLens by each of its plans, and PySpark's own RankingMetrics.

    python benchmarks/spark.py [--quick | --huge] [--json results.json]
    python benchmarks/spark.py --compare 10000000

Every tool runs in a process of its own with a session on ``local[2]``, after a small run that loads what it needs. CPU seconds and
peak memory are those of all its processes: driver, JVM and Python workers. Shuffled bytes are Spark's own metrics, from its event
log. ``--compare`` compares two systems with so many queries by their sums. ``--huge`` goes on to 10^8 rows.

RankingMetrics wants arrays, so the rows are grouped for it first, as anyone has to; its measures are P@10, R@10, nDCG@10 and AP.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from rows import write

MEASURES = ["P@10", "R@10", "nDCG@10", "AP"]
TOOLS = ("in place", "shuffled", "counted", "RankingMetrics")
CLOCK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def family():
    """The processes of this session: the fields of /proc/PID/stat behind the name."""
    mine = os.getsid(0)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == mine:
                yield fields


def cpu():
    return sum(sum(map(int, fields[11:15])) for fields in family()) / CLOCK


class Peak(threading.Thread):
    """The most memory that all processes held at once."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes, self.over = 0, threading.Event()

    def run(self):
        while not self.over.wait(0.1):
            self.bytes = max(self.bytes, sum(int(fields[21]) for fields in family()) * PAGE)


# --- tools


def session(folder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    settings = {
        "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False, "spark.driver.memory": "2g", "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": 16, "spark.eventLog.enabled": True, "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": False, "spark.eventLog.rolling.enabled": False,
    }  # fmt: skip
    for name, value in settings.items():
        builder = builder.config(
            name,
            value if isinstance(value, (int, str)) and not isinstance(value, bool) else str(value).lower(),
        )
    return builder.getOrCreate()


def ranklens(qrels, run, plan):
    from ranklens.policy import Policy
    from ranklens.registry import parse_many
    from ranklens.spark.evaluation import evaluate

    scores = evaluate(qrels, run, parse_many(MEASURES), Policy(), plan=plan)
    found = [scores.mean[name] for name in MEASURES]
    scores.free()
    return found


def ranking_metrics(qrels, run):
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as F  # noqa: N812

    best_first = F.sort_array(F.collect_list(F.struct("score", "doc")), asc=False)
    lists = run.groupBy("query").agg(F.transform(best_first, lambda one: one["doc"]).alias("ranked"))
    relevant = qrels.filter("grade >= 1").groupBy("query").agg(F.collect_list("doc").alias("relevant"))
    both = lists.join(relevant, "query").select("ranked", "relevant")
    metrics = RankingMetrics(both.rdd.map(tuple))
    return [metrics.precisionAt(10), metrics.recallAt(10), metrics.ndcgAt(10), metrics.meanAveragePrecision]


def evaluated(tool, spark, folder):
    from ranklens.spark.evaluation import Plan

    qrels, run = (spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("qrels", "run"))
    if tool == "RankingMetrics":
        return ranking_metrics(qrels, run)
    plans = {
        "in place": Plan(carried=10**7),
        "shuffled": Plan(carried=0, in_place=False),
        "counted": Plan(carried=10**7, longest=0),
    }
    return ranklens(qrels, run, plans[tool])


def compared(spark, queries):
    """Two systems whose values are there already: as many queries as asked for, one value each."""
    from types import SimpleNamespace

    from ranklens.comparison.settings import Settings
    from ranklens.registry import parse
    from ranklens.spark.comparing import compare_large
    from ranklens.spark.statistics import AddUp, Column, added_up
    from ranklens.stats.intervals import Bounds

    def system(seed, shift):
        value = f"1.0D / (1 + pmod(xxhash64(id, {seed}), {shift}))"
        return spark.range(queries).selectExpr("concat('q', id) as query", f"{value} as m0")

    found = {}
    for name, frame in (("a", system(1, 20)), ("b", system(2, 19))):
        moments = added_up(frame, AddUp([Column("m0", False, Bounds(0, 1), 0.0)], []))[0][0]
        found[name] = SimpleNamespace(measures=[parse("RR")], frame=frame, moments=lambda _, one=moments: one)
    return [
        compare_large(found, Settings(test=test, is_default=False), "zero").pair("RR", "a", "b").p_value
        for test in ("t", "randomization", "bootstrap")
    ]


def worker(tool, small, folder, events):
    spark = session(Path(events))
    small, folder = Path(small), Path(folder)
    work = (
        (lambda at: compared(spark, int(at.name)))
        if tool == "compare"
        else (lambda at: evaluated(tool, spark, at))
    )
    work(small)
    peak = Peak()
    peak.start()
    started, spent = time.perf_counter(), cpu()
    values = work(folder)
    seconds, spent = time.perf_counter() - started, cpu() - spent
    peak.over.set()
    since = time.time() * 1000 - seconds * 1000
    spark.stop()
    print(
        json.dumps({"seconds": seconds, "cpu": spent, "peak": peak.bytes, "since": since, "values": values})
    )


def shuffled(events, since):
    """Bytes that tasks wrote for others to read, of tasks that began after the warm-up."""
    total = 0
    for log in Path(events).iterdir():
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event["Task Info"]["Launch Time"] >= since:
                total += (
                    (event.get("Task Metrics") or {})
                    .get("Shuffle Write Metrics", {})
                    .get("Shuffle Bytes Written", 0)
                )
    return total


def measured(tool, small, folder):
    with tempfile.TemporaryDirectory() as events:
        command = [sys.executable, __file__, "--worker", tool, str(small), str(folder), events]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            command, capture_output=True, text=True, start_new_session=True, env=environment, check=False
        )
        if done.returncode:
            raise SystemExit(f"{tool}: {done.stderr[-3000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        return {**found, "shuffled": shuffled(events, found["since"])}


def wrong_ideal():
    """RankingMetrics takes graded labels in the order given for the ideal ranking, so that nDCG can be above 1."""
    import ranklens as rl

    code = (
        "from pyspark.sql import SparkSession; from pyspark.mllib.evaluation import RankingMetrics\n"
        "s = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').config('spark.log.level', 'ERROR').getOrCreate()\n"
        "print(RankingMetrics(s.sparkContext.parallelize([(['b', 'a'], ['a', 'b'], [1.0, 3.0])])).ndcgAt(10))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    ours = rl.evaluate({"q": {"a": 1, "b": 3}}, {"q": ["b", "a"]}, "nDCG(gain=exp)@10").mean
    told = done.stdout.split()[-1] if done.returncode == 0 else f"failed: {done.stderr[-300:]}"
    print(
        f"\nThe best ranking of a (grade 1) and b (grade 3): RankingMetrics says nDCG@10 = {told}, RankLens {next(iter(ours.values()))}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--rows", help="sizes, with commas between them")
    parser.add_argument("--scattered", action="store_true", help="rows in random order")
    parser.add_argument("--compare", type=int, metavar="QUERIES")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=4)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker)
        return
    if given.compare:
        found = measured("compare", Path("1000"), Path(str(given.compare)))
        told = f"{found['seconds']:.1f} s, {found['cpu']:.1f} CPU s, {found['peak'] / 1e6:,.0f} MB"
        print(f"two systems x {given.compare:,} queries (t, randomisation and bootstrap): {told}")
        return
    sizes = [10**6] if given.quick else [10**6, 10**7, 10**8] if given.huge else [10**6, 10**7]
    sizes = [int(float(size)) for size in given.rows.split(",")] if given.rows else sizes
    results = []
    with tempfile.TemporaryDirectory() as place:
        small = Path(place, "small")
        write(small, 100_000)
        print(
            f"{'rows':>12} {'tool':>15} {'seconds':>8} {'CPU s':>8} {'CPU µs/row':>11} {'peak MB':>8} {'shuffled B/row':>15}"
        )
        for size in sizes:
            folder = Path(place, str(size))
            write(folder, size, shuffled=given.scattered)
            for tool in given.tools.split(","):
                found = measured(tool, small, folder)
                results.append({"rows": size, "tool": tool, **found})
                numbers = f"{found['seconds']:8.1f} {found['cpu']:8.1f} {found['cpu'] / size * 1e6:11.2f} {found['peak'] / 1e6:8.0f}"
                print(f"{size:12,} {tool:>15} {numbers} {found['shuffled'] / size:15.2f}", flush=True)
            means = {one["tool"]: one["values"] for one in results if one["rows"] == size}
            print(" " * 13, {tool: [round(value, 6) for value in values] for tool, values in means.items()})
    if not given.rows:
        wrong_ideal()
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
