"""Rows against CPU seconds and peak memory: RankLens, queries written by hand for Polars and DuckDB, and parsing alone.

    python benchmarks/rows.py [--quick | --huge] [--json results.json]

Every tool reads the same file in a process of its own, after a small one that loads what it needs; the best of two or more runs counts. CPU
seconds of all threads are compared, because other work on the machine slows a wall clock down. The queries written by hand compute
the same three measures, but know no policies: they break ties as they like, and neither look for repeated documents nor for NaN.
DuckDB is left out if it is not installed. ``--huge`` adds 5·10^7 and 10^8 rows, for which
the queries by hand need 8 GB.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from goals import missing, record

MEASURES = "nDCG@10,AP,RR"
STEP = 1_000_000  # rows made at a time


# --- data


def pieces(rows, depth=100, documents=8_800_000, judged=10):
    """A run with ``depth`` documents per query, best first, of which about half the judged ones are retrieved; and judgments, about a million rows at a time."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(0)
    ids = (pl.format("q{}", "query").alias("query"), pl.format("doc{}", "doc").alias("doc"))

    def table(number, **columns):
        return pl.DataFrame(columns).unique(["query", "doc"], maintain_order=True).select(*ids, number)

    for first in range(0, rows // depth, max(STEP // depth, 1)):
        queries = np.arange(first, min(first + STEP // depth, rows // depth))
        docs = draw.integers(0, documents, (len(queries), depth))
        scores = -np.sort(-draw.random(docs.shape), axis=1)
        places = np.argsort(draw.random(docs.shape), axis=1)[:, :judged]
        retrieved = np.take_along_axis(docs, places, axis=1)
        others = draw.integers(0, documents, retrieved.shape)
        gold = np.where(draw.random(retrieved.shape) < 0.5, retrieved, others)
        grades = draw.integers(0, 4, gold.size)
        yield (
            table("score", query=np.repeat(queries, depth), doc=docs.ravel(), score=scores.ravel()),
            table("grade", query=np.repeat(queries, judged), doc=gold.ravel(), grade=grades),
        )


def write(folder, rows, shuffled=False, kinds=("parquet",), **shape):
    """Judgments, and a run in one file of each kind; made in parts, as it may be larger than memory."""
    import polars as pl

    (folder / "parts").mkdir(parents=True)
    golds = []
    for number, (part, gold) in enumerate(pieces(rows, **shape)):
        part.write_parquet(folder / "parts" / f"{number:06}.parquet")
        golds.append(gold)
    pl.concat(golds).write_parquet(folder / "qrels.parquet")
    run = pl.scan_parquet(folder / "parts")
    if shuffled:
        run = run.collect().sample(fraction=1, shuffle=True, seed=1).lazy()
    trec = run.select("query", pl.lit("Q0"), "doc", rank=pl.lit(1), score="score", tag=pl.lit("t"))
    writers = {
        "parquet": lambda path: run.sink_parquet(path, compression="lz4", row_group_size=1 << 18),
        "csv": run.sink_csv,
        "jsonl": run.sink_ndjson,
        "txt": lambda path: trec.sink_csv(path, separator=" ", include_header=False),
    }
    for kind in kinds:
        writers[kind](folder / f"run.{kind}")
    shutil.rmtree(folder / "parts")


# --- tools


def scan(path):
    import polars as pl

    if path.suffix == ".txt":
        names = ["query", "Q0", "doc", "rank", "score", "tag"]
        table = pl.scan_csv(path, has_header=False, separator=" ", new_columns=names, quote_char=None)
        return table.select("query", "doc", "score")
    return {".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson, ".parquet": pl.scan_parquet}[path.suffix](path)


def parsing(qrels, run):
    return lambda: scan(run).collect().height


def ranklens(qrels, run):
    import ranklens as rl

    return lambda: rl.evaluate(qrels, run, MEASURES).mean


def ranklens_frame(qrels, run, convert):
    import polars as pl

    import ranklens as rl

    gold, frame = pl.read_parquet(qrels), convert(run)
    return lambda: rl.evaluate(gold, frame, MEASURES).mean


def polars(qrels, run):
    import polars as pl

    def work():
        gold = pl.read_parquet(qrels).lazy()
        rank = pl.col("score").rank("ordinal", descending=True).over("query")
        hits = scan(run).with_columns(rank=rank).join(gold, on=["query", "doc"]).filter(pl.col("grade") > 0)
        gain = pl.col("grade") / (pl.col("rank") + 1).log(2)
        found = (
            hits.sort("query", "rank")
            .group_by("query")
            .agg(
                dcg=gain.filter(pl.col("rank") <= 10).sum(),
                rr=1 / pl.col("rank").min(),
                ap=((pl.int_range(pl.len()) + 1) / pl.col("rank")).sum(),
            )
        )
        ideal = gold.filter(pl.col("grade") > 0).group_by("query")
        ideal = ideal.agg(pl.col("grade").sort(descending=True).head(10), relevant=pl.len())
        ideal = ideal.with_columns(rank=pl.int_ranges(1, pl.col("grade").list.len() + 1))
        ideal = ideal.explode("grade", "rank").group_by("query")
        ideal = ideal.agg(best=gain.sum(), relevant=pl.col("relevant").first())
        values = ideal.join(found, on="query", how="left").fill_null(0)
        sums = values.select(
            (pl.col("dcg") / pl.col("best")).sum(),
            (pl.col("ap") / pl.col("relevant")).sum(),
            pl.col("rr").sum(),
        )
        queries = gold.select(pl.col("query").n_unique()).collect().item()
        return [total / queries for total in sums.collect().row(0)]

    return work


def duckdb(qrels, run):
    import duckdb

    columns = "select column0 as query, column2 as doc, column4 as score from"
    text = f"({columns} read_csv('{run}', header = false, delim = ' ', quote = ''))"
    table = text if run.suffix == ".txt" else f"'{run}'"
    query = f"""
    with gold as (select * from '{qrels}'),
    ranked as (select query, doc, row_number() over (partition by query order by score desc) as rank from {table}),
    hits as (select query, rank, grade, row_number() over (partition by query order by rank) as n
             from ranked join gold using (query, doc) where grade > 0),
    found as (select query, sum(case when rank <= 10 then grade / log2(rank + 1) else 0 end) as dcg,
              max(1 / rank) as rr, sum(n / rank) as ap from hits group by query),
    best as (select query, grade, row_number() over (partition by query order by grade desc) as rank from gold
             where grade > 0),
    ideal as (select query, sum(case when rank <= 10 then grade / log2(rank + 1) else 0 end) as best,
              count(*) as relevant from best group by query),
    counted as (select count(distinct query) as queries from gold)
    select sum(dcg / best) / any_value(queries), sum(ap / relevant) / any_value(queries),
           sum(rr) / any_value(queries) from counted, ideal left join found using (query)
    """
    return lambda: duckdb.sql(query).fetchall()[0]


def whole(run):
    import polars as pl

    return pl.read_parquet(run)


TOOLS = {
    "RankLens": ranklens,
    "Polars by hand": polars,
    "DuckDB by hand": duckdb,
    "parsing alone": parsing,
    "Polars frame": lambda q, r: ranklens_frame(q, r, whole),
    "pandas frame": lambda q, r: ranklens_frame(q, r, lambda path: whole(path).to_pandas()),
    "LazyFrame": lambda q, r: ranklens_frame(q, r, scan),
}
FILES = ["RankLens", "Polars by hand", "DuckDB by hand", "parsing alone"]
FRAMES = ["Polars frame", "pandas frame", "LazyFrame"]


# --- measuring


def used():
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024


def measure(tool, folder, kind, warm):
    """In this process: CPU seconds, how far the peak of memory rose in MB, and the wall time.

    Memory is that of the first run: allocators keep more the more runs there are, and a fast tool makes more of them.
    """
    TOOLS[tool](Path(warm) / "qrels.parquet", Path(warm) / "run.parquet")()
    work, runs = TOOLS[tool](Path(folder) / "qrels.parquet", Path(folder) / f"run.{kind}"), []
    before, memory = used()[1], 0.0
    while len(runs) < 2 or (len(runs) < 15 and sum(cpu for cpu, _ in runs) < 0.5):
        cpu, wall = used()[0], time.perf_counter()
        work()
        runs.append((used()[0] - cpu, time.perf_counter() - wall))
        memory = used()[1] - before if len(runs) == 1 else memory
    print(json.dumps({"cpu": min(r[0] for r in runs), "wall": min(r[1] for r in runs), "memory": memory}))


def make(folder, rows, **options):
    """In another process: a process starts with the peak of memory of the one that started it, so this one stays small."""
    given = json.dumps([str(folder), rows, options])
    subprocess.run([sys.executable, __file__, "--write", given], check=True)


def side_by_side(title, rows, tools, folder, kind, warm):
    print(f"\n{title}\n  {'':20}{'CPU seconds':>13}{'per million':>13}{'memory':>12}", flush=True)
    found = {}
    for tool in tools:
        command = [sys.executable, __file__, "--measure", tool, str(folder), kind, str(warm)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            lacks_duckdb = "No module named 'duckdb'" in done.stderr
            print(f"  {tool:20}{'not installed: pip install duckdb' if lacks_duckdb else done.stderr[-300:]}")
            continue
        found[tool] = one = json.loads(done.stdout)
        print(
            f"  {tool:20}{one['cpu']:13.2f}{one['cpu'] / rows * 1e6:13.3f}{one['memory']:9.0f} MB", flush=True
        )
    return found


def judge_files(title, found):
    """Never slower than a query by hand, with less memory."""
    peers = {tool: found[tool] for tool in ("Polars by hand", "DuckDB by hand") if tool in found}
    cpu, memory = (min(p[what] for p in peers.values()) for what in ("cpu", "memory"))
    mine, parse = found["RankLens"], found["parsing alone"]["cpu"]
    beside = ", ".join(f"{tool} {one['cpu']:.2f} s" for tool, one in peers.items())
    beside = f"{beside}, parsing alone {parse:.2f} s"
    record(f"{title}: CPU", f"{mine['cpu']:.2f} s", "no slower by hand", mine["cpu"] <= cpu, beside)
    if memory > 0:  # small data fit into what was used before
        beside = ", ".join(f"{tool} {one['memory']:.0f} MB" for tool, one in peers.items())
        met = mine["memory"] <= memory
        record(f"{title}: memory", f"{mine['memory']:.0f} MB", "no more than by hand", met, beside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to a million rows")
    parser.add_argument("--huge", action="store_true", help="also 5·10^7 and 10^8 rows")
    parser.add_argument("--json", type=Path, help="write the curve to a file, for docs/make_speed.py")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        folder, rows, options = given.write
        write(Path(folder), rows, **options)
        return
    if given.measure:
        measure(*given.measure)
        return
    sizes = (
        [10**5, 10**6] if given.quick else [10**5, 10**6, 10**7, *([5 * 10**7, 10**8] if given.huge else [])]
    )
    largest, curve = (10**6 if given.quick else 10**7), {}
    if find_spec("duckdb") is None:
        missing("duckdb")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder / "warm", 10_000)
        warm = folder / "warm"
        for rows in sizes:
            make(
                folder / str(rows),
                rows,
                kinds=("parquet", "txt", "csv", "jsonl") if rows == largest else ("parquet",),
            )
            title = f"Parquet, {rows:,} rows"
            curve[rows] = side_by_side(title, rows, FILES, folder / str(rows), "parquet", warm)
            judge_files(title, curve[rows])
        if given.json:
            given.json.write_text(json.dumps(curve, indent=1) + "\n")
        per_row = {rows: found["RankLens"]["cpu"] / rows for rows, found in curve.items() if rows >= 10**6}
        if len(per_row) > 1:  # one size says nothing about others
            flat = max(per_row.values()) / min(per_row.values())
            what = "cost per row from 10^6 rows on, largest against smallest"
            record(what, f"{flat:.2f}x", "1.2x", flat <= 1.2)
        for kind, name in (("txt", "TREC"), ("csv", "CSV"), ("jsonl", "JSONL")):
            title = f"{name}, {largest:,} rows"
            judge_files(title, side_by_side(title, largest, FILES, folder / str(largest), kind, warm))
        shapes = {
            "shuffled": {"shuffled": True},
            "20 of 20,000 items for each user": {"depth": 20, "documents": 20_000, "judged": 5},
        }
        for name, shape in shapes.items():
            make(folder / name, largest, **shape)
            title = f"Parquet, {name}, {largest:,} rows"
            judge_files(title, side_by_side(title, largest, FILES, folder / name, "parquet", warm))
        found = side_by_side(
            f"Frames, {largest:,} rows", largest, FRAMES, folder / str(largest), "parquet", warm
        )
        ratio = found["pandas frame"]["cpu"] / found["Polars frame"]["cpu"]
        beside = f"Polars frame {found['Polars frame']['cpu']:.2f} s"
        record("pandas frame", f"{found['pandas frame']['cpu']:.2f} s", "1.5x", ratio <= 1.5, beside)


if __name__ == "__main__":
    main()
