"""Diversity against pyndeval: alpha_nDCG@20 from Python objects, tables and files, its greedy ideal included.

Run with ``python benchmarks/families.py [--quick]``. Times are processor time, the best of three.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
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


def files(folder: Path, gold: pl.DataFrame, run: pl.DataFrame) -> None:
    """Both as TREC text and as Parquet."""
    gold.select("query", "subtopic", "doc", "grade").write_csv(
        folder / "gold.txt", separator=" ", include_header=False
    )
    trec = run.select(
        "query", pl.lit("Q0"), "doc", pl.lit(1).alias("rank"), "score", pl.lit("run").alias("tag")
    )
    trec.write_csv(folder / "run.txt", separator=" ", include_header=False)
    gold.write_parquet(folder / "gold.parquet")
    run.write_parquet(folder / "run.parquet")


def read_gold(path: Path) -> Iterator[tuple]:
    """Lines as pyndeval's users read them: it reads no files."""
    with path.open() as lines:
        for query, subtopic, doc, grade in map(str.split, lines):
            yield query, subtopic, doc, int(grade)


def read_run(path: Path) -> Iterator[tuple]:
    with path.open() as lines:
        for query, _, doc, _, score, _ in map(str.split, lines):
            yield query, doc, float(score)


def best_of(function, times: int = 3) -> tuple[float, float]:
    found = []
    for _ in range(times):
        start = time.process_time()
        value = function()
        found.append(time.process_time() - start)
    return min(found), value


def main() -> None:
    with TemporaryDirectory() as folder:
        measure(Path(folder))


def measure(folder: Path) -> None:
    try:
        import pyndeval
    except ImportError:
        missing("pyndeval")
        return
    queries = 1_000 if "--quick" in sys.argv else 10_000
    qrels, run = collection(queries)
    measures = ["alpha-nDCG@20"]

    def judged() -> list:
        return [
            (q, s, d, g) for q, topics in qrels.items() for s, docs in topics.items() for d, g in docs.items()
        ]

    def ranked() -> list:
        return [(q, d, s) for q, docs in run.items() for d, s in docs.items()]

    def mean(values: dict) -> float:
        return sum(value[measures[0]] for value in values.values()) / len(values)

    def mine(gold, found) -> float:
        return rl.evaluate(gold, found, "alpha_nDCG@20", ties="ascending").mean["alpha_nDCG@20"]

    gold, rows = judged(), ranked()
    evaluator, prepared = pyndeval.RelevanceEvaluator(gold, measures), rl.judgments(qrels)
    gold_table = pl.DataFrame(gold, schema=["query", "subtopic", "doc", "grade"], orient="row")
    run_table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    prepared_table = rl.judgments(gold_table)
    files(folder, gold_table, run_table)
    ways = {
        "from its own objects (dicts, tuples)": (lambda: mine(qrels, run), lambda: mean(pyndeval.ndeval(gold, rows, measures))),
        "from dicts": (lambda: mine(qrels, run), lambda: mean(pyndeval.ndeval(judged(), ranked(), measures))),
        "judgments prepared, from its own objects": (lambda: mine(prepared, run), lambda: mean(evaluator.evaluate(rows))),
        "from tables": (
            lambda: mine(gold_table, run_table),
            lambda: mean(pyndeval.ndeval(gold_table.iter_rows(), run_table.iter_rows(), measures)),
        ),
        "judgments prepared, from tables": (
            lambda: mine(prepared_table, run_table),
            lambda: mean(evaluator.evaluate(run_table.iter_rows())),
        ),
        "from TREC files": (
            lambda: mine(folder / "gold.txt", folder / "run.txt"),
            lambda: mean(pyndeval.ndeval(read_gold(folder / "gold.txt"), read_run(folder / "run.txt"), measures)),
        ),
        "from Parquet files": (
            lambda: mine(folder / "gold.parquet", folder / "run.parquet"),
            lambda: mean(pyndeval.ndeval(
                pl.read_parquet(folder / "gold.parquet").iter_rows(), pl.read_parquet(folder / "run.parquet").iter_rows(), measures
            )),
        ),
    }  # fmt: skip
    print(f"{queries} queries x {DOCUMENTS} documents x {SUBTOPICS} subtopics, alpha_nDCG@20")
    for way, (ours, theirs) in ways.items():
        (seconds, value), (peer, other) = best_of(ours), best_of(theirs)
        assert abs(value - other) < 1e-9
        times = f"{peer / seconds:.1f}x as fast"
        print(f"{way}: ranklens {seconds:.3f} s, pyndeval {peer:.3f} s: {times}")
        what = f"alpha_nDCG@20, {queries:,} x {DOCUMENTS} x {SUBTOPICS} subtopics, {way}"
        record(what, times, f"{TIMES}x pyndeval", peer >= TIMES * seconds, f"pyndeval {peer:.2f} s")


if __name__ == "__main__":
    main()
