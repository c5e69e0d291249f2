"""The size of a report for 10,000 queries x 5 systems, the time to write it, and the time until a browser paints it.

Run by scripts/bench; the browser is skipped if Playwright or Chromium is missing.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from pathlib import Path

import ranklens as rl
from ranklens.report.html import write_report


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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for n in (100, 10_000):
            comparison, queries, corpus = made(n)
            for name, texts in (("ids only", {}), ("with texts", {"queries": queries, "corpus": corpus})):
                start = time.perf_counter()
                path = write_report(comparison, Path(folder) / "report.html", **texts)
                took = time.perf_counter() - start
                size = path.stat().st_size / 1e6
                print(
                    f"{n:>6,} queries x 5 systems, {name:10}: {size:5.1f} MB, written in {took:4.1f} s, {paint(path)}"
                )


if __name__ == "__main__":
    main()
