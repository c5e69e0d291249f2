"""The overhead of Benchmark: 1,000 queries that take 50 ms each, 50 at a time, so ideally one second."""

import asyncio
import sys
import tempfile
import time

from goals import record

from ranklens import Benchmark

QUERIES, SECONDS, CONCURRENCY = 1_000, 0.05, 50


async def asynchronous(text):
    await asyncio.sleep(SECONDS)
    return [f"d{i}" for i in range(10)]


def synchronous(text):
    time.sleep(SECONDS)
    return [f"d{i}" for i in range(10)]


def instant(text):
    return [f"d{i}" for i in range(10)]


def main():
    queries = {f"q{i}": f"text {i}" for i in range(QUERIES)}
    qrels = {query: {"d3"} for query in queries}
    Benchmark(queries, qrels).run("warm", asynchronous, k=10, concurrency=QUERIES)  # import everything first
    ideal = QUERIES * SECONDS / CONCURRENCY
    for name, retriever in (("async", asynchronous), ("sync, in threads", synchronous)):
        for store in (None, tempfile.mkdtemp()):
            bench = Benchmark(queries, qrels, store=store)
            start = time.perf_counter()
            found = bench.run(name, retriever, concurrency=CONCURRENCY)
            seconds = time.perf_counter() - start
            where = "with a store" if store else "without a store"
            record(
                f"{QUERIES:,} calls of 50 ms, {name}, {where}",
                f"{seconds / ideal:.2f}x",
                "1.3x",
                seconds / ideal <= 1.3,
                f"ideal {ideal:.0f} s",
            )
            print(
                f"{name}, {where}: {seconds:.3f} s, {seconds / ideal:.2f} times the ideal; p50 {1000 * found.latency.p50:.1f} ms"
            )
    for name, options in (
        ("in the caller's thread", {}),
        ("in one thread", {"timeout": 60}),
        ("in 50 threads", {"concurrency": 50}),
    ):
        start = time.perf_counter()
        Benchmark(queries, qrels).run("instant", instant, **options)
        print(
            f"a call that takes no time, {name}: {1e6 * (time.perf_counter() - start) / QUERIES:.0f} µs per query"
        )


if __name__ == "__main__":
    sys.exit(main())
