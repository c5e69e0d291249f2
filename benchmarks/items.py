"""Ten thousand items through MetricRunner with all seven metrics, and where the time is spent."""

import random
import time

from goals import record

from ranklens import (
    AveragePrecisionAtK,
    DatasetItem,
    F1AtK,
    HitRateAtK,
    MeanReciprocalRank,
    MetricRunner,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
)

ITEMS, RETRIEVED, EXPECTED = 10_000, 20, 4
GOALS = {"items through the runner": 2.0}  # CPU seconds
METRICS = [
    HitRateAtK(10), MeanReciprocalRank(), NDCGAtK(10), PrecisionAtK(10), RecallAtK(10), AveragePrecisionAtK(10), F1AtK(10),
]  # fmt: skip


def records(seed=1):
    rng = random.Random(seed)
    documents = [f"doc-{i}" for i in range(200)]
    for i in range(ITEMS):
        ranking = rng.sample(documents, RETRIEVED)
        gold = dict.fromkeys([*rng.sample(documents, EXPECTED - 1), *rng.sample(ranking, 1)])
        yield {
            "id": i,
            "actual_ranking": [{"id": doc, "score": 1 / n} for n, doc in enumerate(ranking, 1)],
            "expected_reference": [{"id": doc, "relevance": rng.randint(1, 3)} for doc in gold],
        }


def timed(name, work):
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    print(f"  {name:46}{seconds:8.3f} s")
    if name in GOALS:
        what = f"{ITEMS:,} items x {len(METRICS)} metrics: {name}"
        record(what, f"{seconds:.2f} s", f"{GOALS[name]:g} s", seconds <= GOALS[name])
    return result


def main():
    rows = list(records())
    print(f"{ITEMS:,} items of {RETRIEVED} documents, {len(METRICS)} metrics")
    runner = MetricRunner(METRICS, thresholds={"nDCG@10": 0.2})
    runner.run(rows[:1])  # import everything first
    items = timed("records to items", lambda: [DatasetItem.from_record(row) for row in rows])
    result = timed("items through the runner", lambda: runner.run(items))
    timed("means, intervals, thresholds, table", lambda: str(result))
    timed("all results with signals, item by item", lambda: len(result.results))
    one = timed(
        "one item, one metric, 100 times", lambda: [METRICS[2].evaluate(items[0]) for _ in range(100)]
    )
    assert one[0].score == result[0]["nDCG@10"].score


if __name__ == "__main__":
    main()
