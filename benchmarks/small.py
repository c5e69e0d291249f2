"""Small calls: one query, fifty queries, and the same judgments again, next to pytrec_eval and plain Python loops.

Everything runs in one process, in turns, and the least CPU time of several rounds counts, so that other work on the machine
disturbs little. `python benchmarks/small.py --quick` takes a few seconds.
"""

import argparse
import math
import random
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import polars as pl
from goals import missing, record

import ranklens as rl
from ranklens import pytrec_eval as drop_in

try:
    import pytrec_eval
except ImportError:
    pytrec_eval = drop_in  # which is then compared with itself
    missing("pytrec_eval")

MEASURES, TREC = ["nDCG@10", "AP", "RR"], {"ndcg_cut_10", "map", "recip_rank"}
SINGLE = [
    rl.recall_at_k, rl.precision_at_k, rl.f1_at_k, rl.hit_rate_at_k, rl.reciprocal_rank, rl.average_precision_at_k, rl.dcg_at_k,
    rl.ndcg_at_k,
]  # fmt: skip
METRICS = [rl.RecallAtK(10), rl.NDCGAtK(10), rl.AveragePrecisionAtK(10), rl.MeanReciprocalRank()]
MICRO, MILLI = 1e6, 1e3


def least(works, rounds, times):
    """The least CPU seconds of each work, over rounds in which all take turns."""
    best = dict.fromkeys(works, math.inf)
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            for _ in range(times):
                work()
            best[name] = min(best[name], (time.process_time() - start) / times)
    return best


def collection(queries, documents, judged, seed=1):
    rng = random.Random(seed)
    pool = 4 * max(documents, judged)
    qrels = {
        f"q{q}": {f"d{q}-{i}": rng.randint(0, 2) for i in rng.sample(range(pool), judged)}
        for q in range(queries)
    }
    run = {
        query: {f"d{query[1:]}-{i}": rng.random() for i in rng.sample(range(pool), documents)}
        for query in qrels
    }
    return qrels, run


def plain_ndcg(ranking, grades, k=10):
    found = sum(grades.get(doc, 0) / math.log2(i + 2) for i, doc in enumerate(ranking[:k]))
    best = sum(grade / math.log2(i + 2) for i, grade in enumerate(sorted(grades.values(), reverse=True)[:k]))
    return found / best if best else 0.0


def show(work, ours, beside, goal, met):
    record(work, ours, goal, met, beside)
    print(f"| {work:58} | {ours:>10} | {beside:32} | {goal:34} | {'met' if met else 'MISSED':6} |")


def one_query(rounds):
    rng = random.Random(1)
    ranking = [f"d{i}" for i in range(20)]
    grades = {doc: rng.randint(1, 3) for doc in [*rng.sample(ranking, 4), "x", "y"]}
    item = rl.DatasetItem(actual_ranking=ranking, expected_reference=grades)
    works = {function.__name__: lambda f=function: f(ranking, grades, 10) for function in SINGLE}
    works |= {type(metric).__name__: lambda m=metric: m.evaluate(item) for metric in METRICS}
    works["plain"] = lambda: plain_ndcg(ranking, grades)
    best = least(works, rounds, 200)
    plain = f"plain Python nDCG {best.pop('plain') * MICRO:.1f} µs"
    for name, seconds in best.items():
        show(f"{name}, 20 documents", f"{seconds * MICRO:.0f} µs", plain, "30 µs", seconds < 30e-6)
    many = least({"many": lambda: rl.ndcg_at_k([ranking] * 1000, [grades] * 1000, 10)}, 3, 1)["many"] / 1000
    show(
        "ndcg_at_k, 1,000 queries at once, each",
        f"{many * MICRO:.1f} µs",
        plain,
        "less than one by one",
        many < best["ndcg_at_k"],
    )


def fifty_queries(rounds):
    qrels, run = collection(50, 20, 10)
    _, other = collection(50, 20, 10, seed=2)
    frame = pl.DataFrame(
        [(q, d, s) for q, docs in run.items() for d, s in docs.items()],
        ["query", "doc", "score"],
        orient="row",
    )
    pandas, prepared = frame.to_pandas(), rl.judgments(qrels)
    evaluator, ours = pytrec_eval.RelevanceEvaluator(qrels, TREC), drop_in.RelevanceEvaluator(qrels, TREC)
    works = {
        "whole": lambda: pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run),
        "alone": lambda: evaluator.evaluate(run),
        "dicts": lambda: rl.evaluate(qrels, run, MEASURES).mean,
        "prepared": lambda: rl.evaluate(prepared, run, MEASURES).mean,
        "drop-in": lambda: ours.evaluate(run),
        "Polars": lambda: rl.evaluate(qrels, frame, MEASURES).mean,
        "pandas": lambda: rl.evaluate(qrels, pandas, MEASURES).mean,
    }
    best = least(works, rounds, 20)
    best |= least(
        {
            "t": lambda: rl.compare(qrels, {"a": run, "b": other}, MEASURES, test="t"),
            "randomization": lambda: rl.compare(qrels, {"a": run, "b": other}, MEASURES),
        },
        rounds,
        2,
    )
    whole, alone = (f"pytrec_eval {best[name] * MILLI:.2f} ms" for name in ("whole", "alone"))
    for name, goal, beside, limit in (
        ("dicts", "pytrec_eval's constructor + evaluate", whole, best["whole"]),
        ("prepared", "pytrec_eval prepared", f"{alone}, prepared", best["alone"]),
        ("drop-in", "pytrec_eval prepared", f"{alone}, prepared", best["alone"]),
        ("Polars", "1.5 ms", "", 1.5e-3),
        ("pandas", "1.5 ms", "", 1.5e-3),
    ):
        show(f"evaluate 50 x 20, {name}", f"{best[name] * MILLI:.2f} ms", beside, goal, best[name] <= limit)
    for name in ("t", "randomization"):
        show(
            f"compare two systems, 50 x 20, {name}",
            f"{best[name] * MILLI:.1f} ms",
            "",
            "5 ms",
            best[name] < 5e-3,
        )


def again(rounds):
    for queries, documents, judged in ((4_000, 10, 100), (400, 100, 1_000), (20_000, 2, 20)):
        qrels, run = collection(queries, documents, judged)
        evaluator, prepared = pytrec_eval.RelevanceEvaluator(qrels, TREC), rl.judgments(qrels)
        ours = drop_in.RelevanceEvaluator(qrels, TREC)
        best = least(
            {
                "peer": lambda e=evaluator, r=run: e.evaluate(r),
                "ours": lambda p=prepared, r=run: rl.evaluate(p, r, MEASURES).mean,
                "drop-in": lambda e=ours, r=run: e.evaluate(r),
            },
            rounds,
            1,
        )
        shape = f"{queries:,} x {documents}, {queries * judged:,} judgments"
        peer = f"pytrec_eval prepared {best['peer'] * MILLI:.1f} ms"
        for name, called in (("ours", "rl.judgments"), ("drop-in", "the drop-in")):
            met = best[name] <= best["peer"]
            show(f"{called}: {shape}", f"{best[name] * MILLI:.1f} ms", peer, "pytrec_eval prepared", met)


def one_of_many(rounds):
    """A run of one query: what it costs may not depend on how many queries are judged."""
    times = {}
    for queries in (100, 100_000):
        qrels, run = collection(queries, 20, 3)
        run = {"q7": run["q7"]}
        evaluator, prepared = pytrec_eval.RelevanceEvaluator(qrels, TREC), rl.judgments(qrels)
        ours = drop_in.RelevanceEvaluator(qrels, TREC)
        works = {
            "rl.judgments, missing='skip'": lambda p=prepared, r=run: (
                rl.evaluate(p, r, MEASURES, missing="skip").mean
            ),
            "the drop-in": lambda o=ours, r=run: o.evaluate(r),
            "peer": lambda e=evaluator, r=run: e.evaluate(r),
        }
        times[queries] = least(works, rounds, 20)
    for name in ("rl.judgments, missing='skip'", "the drop-in"):
        few, many = (best[name] for best in times.values())
        beside = f"pytrec_eval {times[100_000]['peer'] * MICRO:.0f} µs; of 100: {few * MICRO:.0f} µs"
        show(
            f"{name}: one query of 100,000",
            f"{many * MICRO:.0f} µs",
            beside,
            "as of 100 queries, within a half",
            many < 1.5 * few,
        )


def threads(rounds):
    qrels, run = collection(200, 50, 10)

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC)
    works = {
        "ours": lambda: rl.evaluate(qrels, run, MEASURES).mean,
        "peer": lambda: evaluator.evaluate(run),
    }

    def shared(work, workers):
        """Handing tasks over to a pool costs some 0.1 ms each, so one thread is that of a pool, too."""
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda _: work(), range(64)))

    best = least(
        {
            (name, workers): lambda w=work, n=workers: shared(w, n)
            for name, work in works.items()
            for workers in (1, 8)
        },
        rounds,
        1,
    )
    ratio, peer = (best[name, 8] / best[name, 1] for name in works)
    beside = f"one thread 1x; pytrec_eval {peer:.2f}x"
    show("eight threads on dicts, CPU", f"{ratio:.2f}x", beside, "one thread, within a tenth", ratio < 1.1)


def memory(calls):
    qrels, run = collection(5, 5, 3)
    ranking, gold = ["a", "b"], {"b"}
    prepared = rl.judgments(qrels)

    def work():
        rl.evaluate(prepared, run, MEASURES)
        rl.evaluate(qrels, run, MEASURES)
        rl.ndcg_at_k(ranking, gold, 5)

    for _ in range(200):
        work()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(calls):
        work()
    grown = (tracemalloc.get_traced_memory()[0] - before) / 1024
    tracemalloc.stop()
    show(f"{calls:,} calls: memory that stays", f"{grown:.0f} KB", "", "50 KB", grown < 50)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 15
    print(f"| {'work':58} | {'RankLens':>10} | {'compared with':32} | {'goal':34} | {'':6} |")
    print(f"| {'-' * 58} | {'-' * 10} | {'-' * 32} | {'-' * 34} | ------ |")
    one_query(rounds)
    fifty_queries(rounds)
    again(rounds)
    one_of_many(rounds)
    threads(rounds)
    memory(2_000 if rounds == 5 else 10_000)


if __name__ == "__main__":
    main()
