"""How long a report takes to write, against two goals, how large it is, and the time until a browser paints it.

Run by scripts/bench; the browser is skipped if Playwright or Chromium is missing. Times are the least of three, by the clock
and of the processor: on a busy machine the second says more.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from goals import record

import ranklens as rl
from ranklens.report.html import write_report

WRITING = 5.0  # seconds for 10,000 queries x 5 systems with texts
TRACK = {"seconds": 20.0, "megabytes": 15.0, "paint": 2000.0}  # of 500 runs x 50 topics x 1,000 documents
AGAINST_COMPARE = 1.6  # times the time of compare, for two runs of 500 queries x 1,000 documents


class Taken(NamedTuple):
    """Seconds."""

    clock: float
    processor: float


def now() -> Taken:
    """The processor's time is that of this process and of those that it has run."""
    spent = os.times()
    return Taken(time.perf_counter(), spent.user + spent.system + spent.children_user + spent.children_system)


def least(work: Callable[[], object], times: int = 3) -> Taken:
    """The least time of several, which is the one that others disturbed least."""
    found = []
    for _ in range(times):
        start = now()
        work()
        found.append(Taken(*(after - before for after, before in zip(now(), start, strict=True))))
    return Taken(min(one.clock for one in found), min(one.processor for one in found))


def made(n: int, depth: int = 100) -> tuple[rl.Comparison, dict[str, str], dict[str, str]]:
    """Runs of ``depth`` documents that partly agree, with texts of typical length."""
    draw = random.Random(0)
    words = ["".join(draw.choices("aeioudlmnrst", k=draw.randint(3, 9))) for _ in range(20_000)]

    def text(k: int) -> str:
        return " ".join(words[int(draw.paretovariate(1.1) * 20) % len(words)] for _ in range(k))

    queries = {f"{1_000_000 + i}": text(8) for i in range(n)}
    qrels, runs = {}, {f"system {s}": {} for s in range(5)}
    for query in queries:
        pool = [f"D{draw.randrange(8_800_000)}" for _ in range(depth)]
        qrels[query] = {doc: draw.randint(1, 3) for doc in pool[: draw.randint(1, 4)]}
        for s, run in enumerate(runs.values()):
            run[query] = {doc: round(draw.gauss(0, 1) - 0.02 * s * i, 4) for i, doc in enumerate(pool)}
    corpus = {doc: text(55) for run in runs.values() for docs in run.values() for doc in list(docs)[:12]}
    return rl.compare(qrels, runs, "nDCG@10,RR@10,R@100,AP,P@10", test="t"), queries, corpus


def paint(path: Path) -> str:
    """Milliseconds to the first contentful paint, and until everything is drawn."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "not painted: Playwright is missing"
    if chromium is None:
        return "not painted: Chromium is missing"
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        page = playwright.chromium.launch(executable_path=chromium, args=arguments).new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        done = page.evaluate("performance.now()")
        return f"first paint {first:,.0f} ms, all drawn {done:,.0f} ms"


def writing(folder: Path) -> None:
    for n in (100, 10_000):
        comparison, queries, corpus = made(n)
        for name, texts in (("ids only", {}), ("with texts", {"queries": queries, "corpus": corpus})):
            path = folder / "report.html"
            taken = least(lambda: write_report(comparison, path, **texts))  # noqa: B023  called here
            size = path.stat().st_size / 1e6
            goal = f" (goal: under {WRITING:g} s)" if n == 10_000 else ""
            if goal:
                what = f"report of {n:,} queries x 5 systems, {name}"
                met = taken.processor <= WRITING
                record(what, f"{taken.processor:.1f} s, {size:.1f} MB", f"{WRITING:g} s", met)
            print(
                f"{n:>6,} queries x 5 systems, {name:10}: {size:5.1f} MB, written in {taken.clock:4.1f} s, "
                f"{taken.processor:4.1f} s of the processor{goal}, {paint(path)}"
            )


def against_compare(folder: Path, n: int = 500, depth: int = 1000) -> None:
    """The commands on the same files, from start to exit, as people run them."""
    draw = random.Random(0)
    with (folder / "qrels.txt").open("w") as qrels:
        qrels.writelines(f"{q} 0 D{draw.randrange(3000)} 1\n" for q in range(n) for _ in range(20))
    runs = [folder / name for name in ("a.txt", "b.txt")]
    for run in runs:
        with run.open("w") as file:
            for q in range(n):
                docs = draw.sample(range(3000), depth)
                file.writelines(f"{q} Q0 D{d} {i + 1} {depth - i} {run.stem}\n" for i, d in enumerate(docs))
    files = [str(folder / "qrels.txt"), *map(str, runs), "-m", "nDCG@10,RR,AP"]

    def command(*words: str) -> Callable[[], object]:
        line = [sys.executable, "-m", "ranklens", words[0], *files, *words[1:]]
        return lambda: subprocess.run(line, check=True, capture_output=True)

    compare, report = least(command("compare")), least(command("report", "-o", str(folder / "r.html")))
    ratio = report.processor / compare.processor
    beside = f"compare {compare.processor:.2f} s"
    record(
        f"report of two runs, {n:,} x {depth:,}",
        f"{report.processor:.2f} s",
        f"{AGAINST_COMPARE:g}x",
        ratio < AGAINST_COMPARE,
        beside,
    )
    print(
        f"{n:,} queries x {depth:,} documents, two runs: compare {compare.clock:.2f} s, report {report.clock:.2f} s; "
        f"{report.clock / compare.clock:.2f} times by the clock, {report.processor / compare.processor:.2f} of the processor "
        f"(goal: under {AGAINST_COMPARE:g})"
    )


def track(folder: Path, systems: int = 500, topics: int = 50, depth: int = 1000) -> None:
    """A whole track, by the command on its files."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    ids = np.array([f"DOC-{i:06d}" for i in range(40_000)])
    pools = [rng.choice(len(ids), 3 * depth, replace=False) for _ in range(topics)]
    relevant = rng.integers(20, 200, topics)
    with (folder / "track.qrels").open("w") as qrels:
        for t, pool in enumerate(pools):
            grades = ((doc, int(place < relevant[t])) for place, doc in enumerate(pool[:1000]))
            qrels.writelines(f"{t} 0 {ids[doc]} {grade}\n" for doc, grade in grades)
    (folder / "track").mkdir()
    query = np.repeat([str(t) for t in range(topics)], depth)
    for s in range(systems):
        scores = rng.normal(0, 1, (topics, 3 * depth))
        for t in range(topics):
            scores[t, : relevant[t]] += rng.normal(0.5 + s / systems, 0.4)
        order = np.argsort(-scores, axis=1)[:, :depth]
        docs = np.concatenate([ids[pool[places]] for pool, places in zip(pools, order, strict=True)])
        columns = {"q": query, "z": "Q0", "d": docs, "r": np.tile(np.arange(depth), topics)}
        score = np.take_along_axis(scores, order, 1).ravel().round(4)
        run = pl.DataFrame(columns).with_columns(s=score, t=pl.lit(f"team{s % 40}-{s}"))
        run.write_csv(folder / "track" / f"input.{s}", separator=" ", include_header=False)
    page = folder / "track.html"
    files = [str(folder / "track.qrels"), str(folder / "track" / "*"), "--by-team", "tag", "-o", str(page)]
    line = [sys.executable, "-m", "ranklens", "report", *files]
    taken = least(lambda: subprocess.run(line, check=True, capture_output=True), times=1)
    size, painted = page.stat().st_size / 1e6, paint(page)
    what = f"report of {systems} runs x {topics} topics x {depth:,} documents"
    met = taken.clock <= TRACK["seconds"] and size <= TRACK["megabytes"]
    ours, goal = f"{taken.clock:.1f} s, {size:.1f} MB", f"{TRACK['seconds']:g} s, {TRACK['megabytes']:g} MB"
    record(what, ours, goal, met, f"CPU {taken.processor:.1f} s; {painted}")
    print(
        f"{systems} runs x {topics} topics x {depth:,} documents: {size:.1f} MB (goal: under {TRACK['megabytes']:g}), "
        f"{taken.clock:.1f} s, {taken.processor:.1f} s of the processor (goal: under {TRACK['seconds']:g} s on two processors), "
        f"{painted} (goal: first paint under {TRACK['paint']:,.0f} ms)"
    )


def main() -> None:
    if "--track" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            track(Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        against_compare(Path(folder))
        writing(Path(folder))
        track(Path(folder))


if __name__ == "__main__":
    main()
