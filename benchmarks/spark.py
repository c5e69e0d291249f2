"""Rows against seconds, memory and shuffled bytes on Spark: RankLens by each of its plans, and PySpark's own RankingMetrics.

    python benchmarks/spark.py [--quick | --huge] [--json results.json]
    python benchmarks/spark.py --fresh --tools RankLens,shuffled,RankingMetrics
    python benchmarks/spark.py --compare 10000000
    python benchmarks/spark.py --skew 10000000

All tools and sizes take turns in one session, after a pass over all but the largest ones that is not counted: its first call is reported separately, as what a
cold session costs. Small sizes are measured several times, and the round with the least CPU seconds counts. ``--huge`` goes on to 10^8
rows, without the slowest tools. With ``--fresh`` every tool and size has a session of its own, after a small run that loads what it needs; so
its memory is its own, too.

Work starts with two DataFrames and ends with four numbers. CPU seconds and peak memory are those of all processes: driver, JVM and
Python workers. Jobs, shuffled bytes and the memory of executors are Spark's own metrics, from its event log; an executor's is the most that its JVM and its Python workers
held during any task, and on ``local[2]`` the JVM is also the driver's. ``--compare`` compares two systems with that many queries by
their sums; ``--skew`` evaluates a single query with that many documents, with a heap of 1 GB.

RankLens takes the plan that it finds best: here it judges small runs on the driver and larger ones in place. "shuffled" shows what one repartition of
judgments and run by query costs, and "counted" the plan of very long queries. RankingMetrics wants arrays, so the rows are grouped for it first, as anyone has to;
its measures are P@10, R@10, nDCG@10 and AP.
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

from goals import record
from rows import pieces

MEASURES = ["P@10", "R@10", "nDCG@10", "AP"]
TOOLS = ("RankLens", "shuffled", "counted", "RankingMetrics")
COUNTED = 2 * 10**7  # rows that are measured of each size, so that small ones are measured several times
ROUNDS = 10  # at most
UNCOUNTED = 10**7  # the largest size of the pass that is not counted
LONGEST = {"counted": 10**6, "RankingMetrics": 10**7}  # rows after which a tool takes too long to wait for
CLOCK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def write(folder, rows, scattered=False, depth=1000):
    """Judgments and a run in folders of Parquet files, a million rows each, so that little is in memory at any time."""
    (folder / "run.parquet").mkdir(parents=True)
    (folder / "qrels.parquet").mkdir()
    for place, (run, gold) in enumerate(pieces(rows, depth=depth)):
        name = f"part-{place:04}.parquet"
        rows_of = run.sample(fraction=1, shuffle=True, seed=1) if scattered else run
        rows_of.write_parquet(folder / "run.parquet" / name, compression="lz4", row_group_size=1 << 18)
        gold.write_parquet(folder / "qrels.parquet" / name)


class Watch(threading.Thread):
    """The processes of this session: the CPU seconds that each has had, also if it has ended, and the most memory of all at once."""

    def __init__(self):
        super().__init__(daemon=True)
        self.spent, self.most, self.looking = {}, 0, threading.Lock()

    def run(self):
        while True:
            self.look()
            time.sleep(0.1)

    def look(self):
        mine, memory = os.getsid(0), 0
        with self.looking:
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    except OSError:
                        continue
                    if int(fields[3]) == mine:
                        self.spent[entry.name, fields[19]] = int(fields[11]) + int(fields[12])
                        memory += int(fields[21]) * PAGE
            self.most = max(self.most, memory)

    def cpu(self):
        self.look()
        return sum(self.spent.values()) / CLOCK


# --- tools


def session(folder, memory, master):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("benchmark")
    settings = {
        "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False, "spark.driver.memory": memory, "spark.executor.memory": memory, "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": 16, "spark.eventLog.enabled": True, "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": False, "spark.eventLog.rolling.enabled": False,
        "spark.executor.processTreeMetrics.enabled": True, "spark.executor.metrics.pollingInterval": "250ms",
    }  # fmt: skip
    for name, value in settings.items():
        builder = builder.config(
            name,
            value if isinstance(value, (int, str)) and not isinstance(value, bool) else str(value).lower(),
        )
    return builder.getOrCreate()


def ranklens(qrels, run, plan):
    from ranklens.metrics import parse_many
    from ranklens.policy import Policy
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
    rows = both.rdd.map(tuple).cache()  # since it computes them again for each measure
    metrics = RankingMetrics(rows)
    found = [metrics.precisionAt(10), metrics.recallAt(10), metrics.ndcgAt(10), metrics.meanAveragePrecision]
    rows.unpersist()
    return found


def frames_of(spark, folder):
    return [spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("qrels", "run")]


def evaluated(tool, qrels, run):
    from ranklens.spark.plan import Plan

    if tool == "RankingMetrics":
        return ranking_metrics(qrels, run)
    plans = {"RankLens": Plan(), "shuffled": Plan(carried=0), "counted": Plan(longest=0)}
    return ranklens(qrels, run, plans[tool])


def skewed(spark, documents):
    """One query, in as many partitions as there are cores, with 100 judged documents."""
    run = spark.range(documents).selectExpr(
        "'q' as query", "concat('d', id) as doc", "double(pmod(xxhash64(id), 1000000)) as score"
    )
    qrels = {"q": {f"d{i * (documents // 100)}": 1 + i % 3 for i in range(100)}}
    from ranklens.spark.plan import Plan

    return ranklens(qrels, run, Plan())


def compared(spark, queries):
    """Two systems whose values are there already: as many queries as asked for, one value each."""
    from types import SimpleNamespace

    from ranklens.comparison.settings import Settings
    from ranklens.metrics import parse
    from ranklens.spark.comparing import compare_large
    from ranklens.spark.statistics import AddUp, Column, added_up
    from ranklens.stats.intervals import Bounds

    def system(seed, shift):
        value = f"1.0D / (1 + pmod(xxhash64(id, {seed}), {shift}))"
        return spark.range(queries).selectExpr("concat('q', id) as query", f"{value} as m0")

    found = {}
    for name, frame in (("a", system(1, 20)), ("b", system(2, 19))):
        moments = added_up(frame, AddUp([Column("m0", False, Bounds(0, 1), 0.0)], []))[0][0]
        found[name] = SimpleNamespace(
            measures=[parse("RR")], frame=frame, queries=range(queries), moments=lambda _, one=moments: one
        )
    settings = Settings(test="randomization", is_default=False)
    return compare_large(found, [parse("RR")], settings, "zero").pair("RR", "a", "b").p_value


def worker(given, events):
    """Some works in turn, ``rounds`` times: a line of JSON with each round of each."""
    watch = Watch()
    watch.start()
    started, spent = time.perf_counter(), watch.cpu()
    spark = session(Path(events), given["memory"], given["master"])
    start = {"seconds": time.perf_counter() - started, "cpu": watch.cpu() - spent}
    works = [(*one, work_of(spark, *one[:3:2])) for one in given["works"]]
    turns = []
    for number in range(-1, max(rounds for _, _, _, rounds, _ in works)):  # -1 is not counted
        for tool, size, _, rounds, work in works:
            if number < rounds if number >= 0 else size <= given["uncounted"]:
                turns.append({"tool": tool, "rows": size, "round": number, **timed(work, watch)})
    spark.stop()
    print(json.dumps({"start": start, "turns": turns}))


def work_of(spark, tool, given):
    if tool in ("compare", "skew"):
        return lambda: {"compare": compared, "skew": skewed}[tool](spark, int(given))
    qrels, run = frames_of(spark, Path(given))
    return lambda: evaluated(tool, qrels, run)


def timed(work, watch):
    watch.most = 0
    since, started, spent = time.time() * 1000, time.perf_counter(), watch.cpu()
    values = work()
    seconds, spent = time.perf_counter() - started, watch.cpu() - spent
    return {
        "seconds": seconds, "cpu": spent, "peak": watch.most, "values": values,
        "since": since, "until": time.time() * 1000,
    }  # fmt: skip


def tasks_of(events):
    """When each task began, on which executor, the bytes that it wrote for others to read, and the most memory of its executor meanwhile."""
    for log in Path(events).iterdir():
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                info, metrics = event["Task Info"], event.get("Task Metrics") or {}
                memory = event.get("Task Executor Metrics") or {}
                yield {
                    "began": info["Launch Time"], "executor": info["Executor ID"],
                    "shuffled": metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0),
                    "heap": memory.get("JVMHeapMemory", 0), "jvm": memory.get("ProcessTreeJVMRSSMemory", 0),
                    "python": memory.get("ProcessTreePythonRSSMemory", 0),
                }  # fmt: skip


def measured(works, memory="2g", master="local[2]", uncounted=UNCOUNTED):
    """What the session took to start, and each round of each work, with Spark's own metrics; all of them in one process."""
    given = {"works": works, "memory": memory, "master": master, "uncounted": uncounted}
    with tempfile.TemporaryDirectory() as events:
        done = subprocess.run(
            [sys.executable, __file__, "--worker", json.dumps(given), events],
            capture_output=True, text=True, start_new_session=True, check=False,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{works}: {done.stderr[-3000:]}")
        found, tasks = json.loads(done.stdout.splitlines()[-1]), list(tasks_of(events))
    for turn in found["turns"]:
        its = [one for one in tasks if turn["since"] <= one["began"] <= turn["until"]]
        turn["shuffled"] = sum(one["shuffled"] for one in its)
        for what in ("heap", "jvm", "python"):
            turn[what] = max((one[what] for one in its), default=0)
    return found


def best_of(turns):
    """By tool and size, the round with the least CPU seconds, and the most memory of any."""
    found = {}
    for turn in turns:
        if turn["round"] >= 0:
            found.setdefault((turn["rows"], turn["tool"]), []).append(turn)
    most = ("peak", "heap", "jvm", "python")
    return [
        {
            **min(rounds, key=lambda one: one["cpu"]),
            **{name: max(one[name] for one in rounds) for name in most},
        }
        for rounds in found.values()
    ]


GRADED = """
from pyspark.sql import SparkSession
from pyspark.mllib.evaluation import RankingMetrics
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
context, java = spark.sparkContext, spark.sparkContext._jvm
def listed(values):
    found = java.java.util.ArrayList()
    for value in values:
        found.add(value)
    return found
ranked, labels, grades = ["b", "a"], ["a", "b"], [1.0, 3.0]
query = getattr(java, "scala").Tuple3(*map(listed, (ranked, labels, grades)))
in_scala = java.org.apache.spark.mllib.evaluation.RankingMetrics.of(context._jsc.parallelize(listed([query])))
in_python = [RankingMetrics(context.parallelize([(one, labels, grades)])) for one in (ranked, labels)]
print(*(metrics.ndcgAt(10) for metrics in (in_scala, *in_python)))
"""


def wrong_ideal():
    """RankingMetrics takes graded labels in the order given for the ideal ranking, so that nDCG can be above 1; its Python side drops the grades."""
    import ranklens as rl

    done = subprocess.run([sys.executable, "-c", GRADED], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-1000:])
    in_scala, best, worst = map(float, done.stdout.split()[-3:])
    ours = [
        rl.evaluate({"q": {"a": 1, "b": 3}}, {"q": run}, "nDCG(gain=exp)@10").mean.popitem()[1]
        for run in (["b", "a"], ["a", "b"])
    ]
    print(
        "\nnDCG@10 with the grades a = 1 and b = 3, exponential gain: of the best ranking, and of the worst"
    )
    print(
        f"  RankLens {ours[0]:.4f}, {ours[1]:.4f}; RankingMetrics from Python {best:.4f}, {worst:.4f}; from Scala {in_scala:.4f} for the best"
    )


def one_line(what, tool, small, large):
    works = [[tool, small, str(small), 0], [tool, large, str(large), 1]]
    found = measured(works, "1g" if tool == "skew" else "2g", uncounted=small)["turns"][-1]
    told = f"{found['seconds']:.1f} s, {found['cpu']:.1f} CPU s, {found['peak'] / 1e6:,.0f} MB, {found['shuffled'] / large:.1f} bytes shuffled of each"
    print(f"{what}: {told}; {found['values']}")


def judge(results):
    """The goals: no slower than RankingMetrics, and a row costs the same whatever the size."""
    by = {(one["rows"], one["tool"]): one for one in results}
    sizes = sorted({size for size, tool in by if tool == "RankLens"})
    for size in sizes:
        if (size, "RankingMetrics") in by:
            ours, theirs = (by[size, tool] for tool in ("RankLens", "RankingMetrics"))
            mine, beside = (
                f"{one['cpu']:.1f} s, executor {(one['jvm'] + one['python']) / 1e6:.0f} MB"
                for one in (ours, theirs)
            )
            beside = f"RankingMetrics {beside}"
            record(f"Spark, {size:,} rows: CPU", mine, "no slower", ours["cpu"] <= theirs["cpu"], beside)
    costs = [by[size, "RankLens"]["cpu"] / size for size in sizes]
    if len(costs) > 1:
        flat = max(costs) / min(costs)
        print(f"RankLens, dearest row against cheapest: {flat:.2f}x")
        record("Spark: cost per row, largest against smallest", f"{flat:.2f}x", "1.3x", flat <= 1.3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--rows", help="sizes, with commas between them")
    parser.add_argument("--scattered", action="store_true", help="rows in random order")
    parser.add_argument("--fresh", action="store_true", help="a session for each tool and size")
    parser.add_argument(
        "--master", default="local[2]", help="where to run: local[2], or local-cluster[1,2,4096]"
    )
    parser.add_argument("--folder", type=Path, help="keep the data here, and take them from here")
    parser.add_argument("--compare", type=int, metavar="QUERIES")
    parser.add_argument("--skew", type=int, metavar="DOCUMENTS")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(json.loads(given.worker[0]), given.worker[1])
    elif given.compare:
        one_line(
            f"two systems x {given.compare:,} queries (randomisation test)",
            "compare",
            1000,
            given.compare,
        )
    elif given.skew:
        one_line(f"one query x {given.skew:,} documents, heap of 1 GB", "skew", 3_000_000, given.skew)
    else:
        with tempfile.TemporaryDirectory() as place:
            curve(given, given.folder or Path(place))


def curve(given, place):
    usual = [10**6, 3 * 10**6, 10**7]
    sizes = usual[:1] if given.quick else [*usual, 3 * 10**7, 10**8] if given.huge else usual
    sizes = [int(float(size)) for size in given.rows.split(",")] if given.rows else sizes
    works = [
        [tool, size, str(made(place, size, given.scattered)), max(min(COUNTED // size, ROUNDS), 1)]
        for size in sizes
        for tool in given.tools.split(",")
        if size <= LONGEST.get(tool, size)
    ]
    small = str(made(place, 100_000, given.scattered))
    results = []
    columns = (
        "seconds",
        "CPU s",
        "CPU µs/row",
        "peak MB",
        "heap MB",
        "JVM MB",
        "Python MB",
        "shuffled B/row",
    )
    print(f"{'rows':>12} {'tool':>15} {' '.join(f'{name:>{len(name) + 1}}' for name in columns)}", flush=True)
    if given.fresh:
        for tool, size, folder, _ in works:
            both = [[tool, 100_000, small, 0], [tool, size, folder, 1]]
            results += shown(best_of(measured(both, master=given.master, uncounted=100_000)["turns"]))
    else:
        found = measured(works, master=given.master)
        results += shown(best_of(found["turns"]))
        first = found["turns"][0]
        print(
            f"Cold: the session starts in {found['start']['seconds']:.1f} s, and its first call ({first['tool']}, {first['rows']:,} rows) "
            f"takes {first['seconds']:.1f} s, {first['cpu']:.1f} CPU s."
        )
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))
    judge(results)
    wrong_ideal()


def shown(results):
    """A line for each, and the values that all tools of a size give."""
    for one in results:
        size, memory = one["rows"], [one[name] / 1e6 for name in ("peak", "heap", "jvm", "python")]
        numbers = f"{one['seconds']:8.1f} {one['cpu']:6.1f} {one['cpu'] / size * 1e6:11.2f}"
        held = f"{memory[0]:8.0f} {memory[1]:8.0f} {memory[2]:7.0f} {memory[3]:10.0f}"
        print(f"{size:12,} {one['tool']:>15} {numbers} {held} {one['shuffled'] / size:15.2f}", flush=True)
        print(" " * 13, [round(value, 6) for value in one["values"]], flush=True)
    return results


def made(place, size, scattered):
    folder = place / f"{size}{' scattered' if scattered else ''}"
    if not folder.exists():
        write(folder, size, scattered)
    return folder


if __name__ == "__main__":
    main()
