"""Embeddings on the processor: ranks by counting against top-k as other tools take it, and how far from the bare matrix product.

``python benchmarks/models.py`` takes 1,000 x 100,000 x 384; ``--large`` adds 6,980 x 500,000 x 768, once, which takes many minutes, and ``--part``
a tenth of its queries (peers take ten times as long for all; counting less, since documents are prepared once for all queries). Peers that
are not installed (torch, faiss-cpu) are left out. Wall and CPU time are the best of some runs; ratios are of CPU time, because
other work on the machine disturbs the clock. Memory is the peak that the work adds, measured in a process of its own; importing torch is
not counted. ``--threads 1`` takes one thread instead of all. ``--judged`` takes 1 to 31 judged documents for each query, which a good model ranks first
or which stand at random places: counting compares with each of them, a top k does not care.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

SHAPES = {"small": (1_000, 100_000, 384), "part": (698, 500_000, 768), "large": (6_980, 500_000, 768)}
OURS = "ranklens, with torch"  # on a processor that is fast at int8 or bfloat16
GOALS = {
    "ranklens": ("bare product", 1.6),
    "torch top 1,000": (OURS, 3.0),
    "faiss flat, top 1,000": (OURS, 3.0),
}


def vectors(shape):
    queries, documents, size = SHAPES[shape]
    rng = np.random.default_rng(0)
    d = np.empty((documents, size), np.float32)
    for i in range(0, documents, 5_000):
        part = rng.normal(
            size=(min(5_000, documents - i), size)
        )  # small parts, so that they do not hide the peak of the work
        d[i : i + 5_000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    gold = rng.integers(0, documents, queries)
    q = d[gold] + 0.1 * rng.normal(size=(queries, size)).astype(np.float32)
    return q / np.linalg.norm(q, axis=1, keepdims=True), d, {str(i): {str(g): 1} for i, g in enumerate(gold)}


def with_judged(judged, place):
    """The small shape with more judged documents: near their query, as a good model has them, or at random places."""
    q, d, _ = vectors("small")
    rng = np.random.default_rng(1)
    gold = rng.permutation(len(d))[: len(q) * judged].reshape(len(q), judged)
    if place == "first":
        for i in range(judged):
            near = q + 0.1 * rng.normal(size=q.shape).astype(np.float32)
            d[gold[:, i]] = near / np.linalg.norm(near, axis=1, keepdims=True)
    return q, d, {str(i): {str(g): 1 for g in row} for i, row in enumerate(gold.tolist())}


def bare_product(q, d, qrels):
    for i in range(0, len(d), 16_384):
        for j in range(0, len(q), 1024):
            q[j : j + 1024] @ d[i : i + 16_384].T


def ranklens(q, d, qrels):
    import ranklens as rl

    rl.evaluate_embeddings(q, d, qrels, ["nDCG@10", "RR@10"])


def ranklens_with_torch(q, d, qrels):
    import ranklens as rl

    rl.evaluate_embeddings(q, d, qrels, ["nDCG@10", "RR@10"], device="cpu")


def ranklens_with_the_top_100(q, d, qrels):
    import ranklens as rl

    rl.evaluate_embeddings(q, d, qrels, ["nDCG@10", "RR@10"], top=100)


def torch_top(q, d, qrels):
    """Blocks of 50,000 documents, the best 1,000 of each merged: what MTEB and sentence-transformers do, without their Python lists."""
    import torch

    q, d = torch.from_numpy(q), torch.from_numpy(d)
    best = None
    for i in range(0, len(d), 50_000):
        values, where = (q @ d[i : i + 50_000].T).topk(1000, 1)
        where = where + i
        if best is not None:
            values, where = torch.cat([best[0], values], 1), torch.cat([best[1], where], 1)
            values, order = values.topk(1000, 1)
            where = where.gather(1, order)
        best = values, where


def faiss_flat(q, d, qrels, k=1000):
    """The search of a flat index without the index, which would copy the documents first; larger blocks than its own are faster here."""
    import faiss

    faiss.cvar.distance_compute_blas_database_bs = 4096
    faiss.knn(q, d, k, faiss.METRIC_INNER_PRODUCT)


def faiss_flat_100(q, d, qrels):
    faiss_flat(q, d, qrels, 100)


def sentence_transformers(q, d, qrels):
    """Its evaluator on the same embeddings: the best 100, and Python lists of them."""
    import torch
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    class Model:
        def encode_query(self, *args, **kwargs):
            return torch.from_numpy(q)

    evaluator = InformationRetrievalEvaluator(
        {str(i): "" for i in range(len(q))},
        {str(i): "" for i in range(len(d))},
        {query: set(docs) for query, docs in qrels.items()},
        score_functions={"dot": lambda a, b: a @ b.T},
    )
    evaluator.compute_metrices(Model(), corpus_embeddings=torch.from_numpy(d))


WORK = {
    "bare product": bare_product,
    "ranklens": ranklens,
    OURS: ranklens_with_torch,
    "ranklens, also the top 100": ranklens_with_the_top_100,
    "torch top 1,000": torch_top,
    "faiss flat, top 1,000": faiss_flat,
    "faiss flat, top 100": faiss_flat_100,
    "sentence-transformers": sentence_transformers,
}


OF_JUDGED = ["bare product", "ranklens", OURS, "faiss flat, top 100", "faiss flat, top 1,000"]


def measured(name, shape, times):
    given = vectors(shape) if shape in SHAPES else with_judged(int(shape.split()[0]), shape.split()[1])
    if name in (OURS, "torch top 1,000", "sentence-transformers"):
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    runs = []
    for _ in range(times):
        wall, used = time.perf_counter(), time.process_time()
        try:
            WORK[name](*given)
        except ImportError:
            return None
        runs.append((time.process_time() - used, time.perf_counter() - wall))
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    return {"cpu": min(runs)[0], "wall": min(wall for _, wall in runs), "memory": memory}


def run_alone(name, shape, times, threads):
    """In a process of its own."""
    command = [sys.executable, __file__, "--one", name, shape, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **threads})
    return json.loads(done.stdout.splitlines()[-1])


def by_judged(threads):
    print("\n{:,} queries x {:,} documents x {} dimensions, float32, CPU / product".format(*SHAPES["small"]))
    print(f"\n| judged documents of each query | {' | '.join(OF_JUDGED[1:])} | torch / faiss, top 100 |")
    print("| --- " * (len(OF_JUDGED) + 1) + "|")
    for place in ("first", "anywhere"):
        for judged in (1, 3, 10, 31):
            found = {name: run_alone(name, f"{judged} {place}", 3, threads) for name in OF_JUDGED}
            cpu = {name: row["cpu"] for name, row in found.items() if row is not None}
            ratios = [
                f"{cpu[name] / cpu['bare product']:.2f}" if name in cpu else "not installed"
                for name in OF_JUDGED[1:]
            ]
            against = cpu.get(OURS, 0) / cpu.get("faiss flat, top 100", float("inf"))
            print(f"| {judged}, {place} | {' | '.join(ratios)} | {against:.2f} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--large", action="store_true")
    options.add_argument("--part", action="store_true")
    options.add_argument("--judged", action="store_true")
    options.add_argument("--threads", type=int, help="of BLAS, torch and faiss")
    options.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(measured(chosen.one[0], chosen.one[1], int(chosen.one[2]))))
        return
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    threads = dict.fromkeys(limits, str(chosen.threads)) if chosen.threads else {}
    if chosen.judged:
        by_judged(threads)
        return
    for shape in ["small", *["part"] * chosen.part, *["large"] * chosen.large]:
        print("\n{:,} queries x {:,} documents x {} dimensions, float32".format(*SHAPES[shape]))
        print(
            f"\n| {'work':<28} | wall, s | CPU, s | memory, MB | CPU / product | CPU / ranklens, with torch | goal |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- |")
        found = {}
        for name in WORK:
            found[name] = run_alone(name, shape, {"small": 4, "part": 2, "large": 1}[shape], threads)
        for name, row in found.items():
            if row is None:
                print(f"| {name:<28} | not installed |")
                continue
            product = row["cpu"] / found["bare product"]["cpu"]
            ours = row["cpu"] / (found[OURS] or found["ranklens"])["cpu"]
            against, goal = GOALS.get(name, ("", 0))
            reached = (
                ""
                if not goal
                else f"{'at most' if against == 'bare product' else 'at least'} {goal:g}x {against}"
            )
            print(
                f"| {name:<28} | {row['wall']:.2f} | {row['cpu']:.2f} | {row['memory']:,} | {product:.2f} | {ours:.2f} | {reached} |"
            )


if __name__ == "__main__":
    main()
