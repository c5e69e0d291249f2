"""Rows against seconds, memory and shuffled bytes on Spark: RankLens by each of its plans, and PySpark's own RankingMetrics.

    python benchmarks/spark.py [--quick | --huge] [--json results.json]
    python benchmarks/spark.py --same-session --rounds 2 --rows 1e6,1e7 --tools RankLens,RankingMetrics
    python benchmarks/spark.py --compare 10000000
    python benchmarks/spark.py --skew 10000000

Every tool runs in a process of its own with a session on ``local[2]``, after a small run that loads what it needs; with
``--same-session`` all tools share one and take turns, ``--rounds`` times, of which the best counts. CPU seconds and
peak memory are those of all its processes: driver, JVM and Python workers. Shuffled bytes are Spark's own metrics, from its event
log. ``--compare`` compares two systems with so many queries by their sums; ``--skew`` evaluates a single query with so many
documents, with a heap of 1 GB. ``--huge`` goes on to 10^8 rows, without the slowest tools.

RankLens takes the plan that it finds best: here it judges rows in place, and "shuffled" shows what one repartition of judgments and run by query costs,
and "counted" the plan of very long queries. RankingMetrics wants arrays, so the rows are grouped for it first, as anyone has to; its measures are P@10, R@10, nDCG@10 and AP.
"""

import argparse
import itertools
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


def session(folder, memory):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    settings = {
        "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False, "spark.driver.memory": memory, "spark.log.level": "ERROR",
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
    from ranklens.spark.plan import Plan

    qrels, run = (spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("qrels", "run"))
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
        found[name] = SimpleNamespace(
            measures=[parse("RR")], frame=frame, queries=range(queries), moments=lambda _, one=moments: one
        )
    settings = Settings(test="randomization", is_default=False)
    return compare_large(found, [parse("RR")], settings, "zero").pair("RR", "a", "b").p_value


def worker(tools, small, folder, events, rounds):
    """Each tool in turn, so many times: a line of JSON with the better round of each."""
    spark = session(Path(events), "1g" if tools == "skew" else "2g")
    works = {
        "compare": lambda at: compared(spark, int(at.name)),
        "skew": lambda at: skewed(spark, int(at.name)),
    }
    names = tools.split(",")
    for name in names:
        works.setdefault(name, lambda at, name=name: evaluated(name, spark, at))
        works[name](Path(small))
    turns = [{name: timed(works[name], Path(folder)) for name in names} for _ in range(int(rounds))]
    found = {name: min((turn[name] for turn in turns), key=lambda one: one["cpu"]) for name in names}
    spark.stop()
    print(json.dumps(found))


def timed(work, folder):
    peak = Peak()
    peak.start()
    since, started, spent = time.time() * 1000, time.perf_counter(), cpu()
    values = work(folder)
    seconds, spent = time.perf_counter() - started, cpu() - spent
    peak.over.set()
    return {
        "seconds": seconds, "cpu": spent, "peak": peak.bytes, "values": values,
        "since": since, "until": time.time() * 1000,
    }  # fmt: skip


def shuffled(events, since, until):
    """Bytes that tasks wrote for others to read, of tasks that began in this time."""
    total = 0
    for log in Path(events).iterdir():
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if (
                event["Event"] == "SparkListenerTaskEnd"
                and since <= event["Task Info"]["Launch Time"] <= until
            ):
                metrics = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics", {})
                total += metrics.get("Shuffle Bytes Written", 0)
    return total


def measured(tools, small, folder, rounds=1):
    """By tool; all of them in one process."""
    with tempfile.TemporaryDirectory() as events:
        given = [",".join(tools), str(small), str(folder), events, str(rounds)]
        done = subprocess.run(
            [sys.executable, __file__, "--worker", *given],
            capture_output=True, text=True, start_new_session=True, check=False,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{tools}: {done.stderr[-3000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        return {
            name: {**one, "shuffled": shuffled(events, one["since"], one["until"])}
            for name, one in found.items()
        }


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
    found = measured([tool], Path(str(small)), Path(str(large)))[tool]
    told = f"{found['seconds']:.1f} s, {found['cpu']:.1f} CPU s, {found['peak'] / 1e6:,.0f} MB, {found['shuffled'] / large:.1f} bytes shuffled of each"
    print(f"{what}: {told}; {found['values']}")


def judge(results):
    """The goals: no slower than RankingMetrics, and each further row costs the same."""
    by = {(one["rows"], one["tool"]): one for one in results}
    sizes = sorted({size for size, tool in by if tool == "RankLens"})
    for size in sizes:
        if (size, "RankingMetrics") in by:
            ours, theirs = (by[size, tool] for tool in ("RankLens", "RankingMetrics"))
            beside = f"RankingMetrics {theirs['cpu']:.1f} s, {theirs['peak'] / 1e6:.0f} MB"
            mine = f"{ours['cpu']:.1f} s, {ours['peak'] / 1e6:.0f} MB"
            record(f"Spark, {size:,} rows: CPU", mine, "no slower", ours["cpu"] <= theirs["cpu"], beside)
    steps = [
        (by[b, "RankLens"]["cpu"] - by[a, "RankLens"]["cpu"]) / (b - a) for a, b in itertools.pairwise(sizes)
    ]
    if len(steps) > 1:
        flat = max(steps) / min(steps)
        told = ", ".join(f"{step * 1e6:.2f}" for step in steps)
        print(f"CPU µs for each further row, between the sizes: {told}")
        record("Spark: cost of a further row, largest against smallest", f"{flat:.2f}x", "1.3x", flat <= 1.3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--rows", help="sizes, with commas between them")
    parser.add_argument("--scattered", action="store_true", help="rows in random order")
    parser.add_argument("--same-session", action="store_true", help="all tools in one session, in turn")
    parser.add_argument("--rounds", type=int, default=1, help="how often each tool runs; the best counts")
    parser.add_argument("--folder", type=Path, help="keep the data here, and take them from here")
    parser.add_argument("--compare", type=int, metavar="QUERIES")
    parser.add_argument("--skew", type=int, metavar="DOCUMENTS")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker)
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
    sizes = [10**6] if given.quick else [10**6, 10**7, 10**8] if given.huge else [10**6, 10**7]
    sizes = [int(float(size)) for size in given.rows.split(",")] if given.rows else sizes
    small = made(place, 100_000, given.scattered)
    print(
        f"{'rows':>12} {'tool':>15} {'seconds':>8} {'CPU s':>8} {'CPU µs/row':>11} {'peak MB':>8} {'shuffled B/row':>15}"
    )
    results = []
    for size in sizes:
        folder = made(place, size, given.scattered)
        tools = [tool for tool in given.tools.split(",") if size <= LONGEST.get(tool, size)]
        for group in [tools] if given.same_session else [[tool] for tool in tools]:
            for tool, found in measured(group, small, folder, given.rounds).items():
                results.append({"rows": size, "tool": tool, **found})
                numbers = f"{found['seconds']:8.1f} {found['cpu']:8.1f} {found['cpu'] / size * 1e6:11.2f} {found['peak'] / 1e6:8.0f}"
                print(f"{size:12,} {tool:>15} {numbers} {found['shuffled'] / size:15.2f}", flush=True)
                if given.json:  # as far as it is
                    given.json.write_text(json.dumps(results, indent=2))
        means = {one["tool"]: one["values"] for one in results if one["rows"] == size}
        print(
            " " * 13,
            {tool: [round(value, 6) for value in values] for tool, values in means.items()},
            flush=True,
        )
    judge(results)
    wrong_ideal()


def made(place, size, scattered):
    folder = place / f"{size}{' scattered' if scattered else ''}"
    if not folder.exists():
        write(folder, size, scattered)
    return folder


if __name__ == "__main__":
    main()
