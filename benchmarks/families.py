"""Diversity against pyndeval: alpha_nDCG@20 from Python objects, its greedy ideal included.

Run with ``python benchmarks/families.py [--quick]``. Times are processor time, the best of three.
"""

from __future__ import annotations

import random
import sys
import time

from goals import missing, record

import ranklens as rl

TIMES = 20  # as fast as pyndeval
DOCUMENTS, SUBTOPICS, JUDGED, COVERING = 100, 5, 100, 10


def collection(queries: int) -> tuple[dict, dict]:
    """Queries with a hundred retrieved documents, and five subtopics of ten relevant documents each."""
    rng, qrels, run = random.Random(1), {}, {}
    for q in range(queries):
        docs = [f"doc-{rng.randrange(10**7):07}" for _ in range(2 * JUDGED)]
        qrels[str(q)] = {str(s): dict.fromkeys(rng.sample(docs, COVERING), 1) for s in range(SUBTOPICS)}
        run[str(q)] = {doc: rng.random() for doc in rng.sample(docs, DOCUMENTS)}
    return qrels, run


def best_of(function, times: int = 3) -> tuple[float, float]:
    found = []
    for _ in range(times):
        start = time.process_time()
        value = function()
        found.append(time.process_time() - start)
    return min(found), value


def main() -> None:
    try:
        import pyndeval
    except ImportError:
        missing("pyndeval")
        return
    queries = 1_000 if "--quick" in sys.argv else 10_000
    qrels, run = collection(queries)
    judged = [
        pyndeval.SubtopicQrel(q, s, d, g)
        for q, topics in qrels.items()
        for s, docs in topics.items()
        for d, g in docs.items()
    ]
    ranked = [pyndeval.ScoredDoc(q, d, s) for q, docs in run.items() for d, s in docs.items()]

    def theirs() -> float:
        values = pyndeval.ndeval(judged, ranked, measures=["alpha-nDCG@20"])
        return sum(value["alpha-nDCG@20"] for value in values.values()) / len(values)

    ours, mine = best_of(
        lambda: rl.evaluate(qrels, run, "alpha_nDCG@20", ties="ascending").mean["alpha_nDCG@20"]
    )
    peer, value = best_of(theirs)
    assert abs(mine - value) < 1e-9
    print(f"{queries} queries x {DOCUMENTS} documents x {SUBTOPICS} subtopics, alpha_nDCG@20")
    print(f"ranklens {ours:.3f} s, pyndeval {peer:.3f} s: {peer / ours:.1f} times as fast")
    what = f"alpha_nDCG@20, {queries:,} x {DOCUMENTS} x {SUBTOPICS} subtopics"
    times = f"{peer / ours:.1f}x as fast"
    record(what, times, f"{TIMES}x pyndeval", peer >= TIMES * ours, f"pyndeval {peer:.2f} s")


if __name__ == "__main__":
    main()
