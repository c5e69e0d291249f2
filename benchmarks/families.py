"""Diversity against pyndeval: alpha_nDCG@20 from Python objects, tables and files, its greedy ideal included.

Run with ``python benchmarks/families.py [--quick] [--floor]``. Times are processor time, with clock time in brackets, the best of
three. ``--floor`` adds how long a first step takes that touches all inputs once (reading scores and looking up documents, one join by
Polars, parsing), and a twentieth of pyndeval's time: where the step alone takes longer, no evaluation that begins with it can be twenty times as
fast. It is a floor for that step only: a join made for this purpose may beat one of a table engine, as that of prepared judgments does.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
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


class Best(NamedTuple):
    """Seconds of the processor and of the clock, each the best of some; and what was computed."""

    processor: float
    clock: float
    value: Any

    def __str__(self) -> str:
        return f"{self.processor:.3f} s ({self.clock:.3f} s)"


def best_of(function: Callable[[], Any], times: int = 3) -> Best:
    processor, clock = [], []
    for _ in range(times):
        begun, start = time.perf_counter(), time.process_time()
        value = function()
        processor.append(time.process_time() - start)
        clock.append(time.perf_counter() - begun)
    return Best(min(processor), min(clock), value)


class Floor:
    """First steps of an evaluation, each of which touches all inputs once."""

    def __init__(self, qrels: dict, run: dict, gold: pl.DataFrame, rows: pl.DataFrame, folder: Path) -> None:
        self.qrels, self.run, self.gold, self.rows, self.folder = qrels, run, gold, rows, folder

    def dicts(self) -> int:
        """Read every score, and look up every judged document: in C, without keeping anything else."""
        scores = np.fromiter(chain.from_iterable(map(dict.values, self.run.values())), np.float64)
        found = 0
        for query, topics in self.qrels.items():
            known = self.run[query]
            found += sum(map(known.__contains__, chain.from_iterable(topics.values())))
        return len(scores) + found

    def tables(self) -> int:
        """Find the rows of the run that are judged: one join of both columns of ids."""
        return len(self.rows.join(self.gold, on=["query", "doc"], how="semi"))

    def hashed(self) -> int:
        """Hash the run's ids, and sort the scores of each query."""
        hashes = self.rows.select(pl.col("query", "doc").hash())
        width = len(self.rows) // len(self.run)
        scores = self.rows["score"].to_numpy()[: width * len(self.run)].reshape(-1, width)
        return len(hashes) + len(np.sort(scores, axis=1))

    def trec(self) -> int:
        """Parse the fields that are needed."""
        gold, run = (
            self._text(name, wanted) for name, wanted in (("gold", [1, 2, 3, 4]), ("run", [1, 3, 5]))
        )
        return len(gold) + len(run)

    def _text(self, name: str, wanted: list[int]) -> pl.DataFrame:
        schema = {
            f"column_{i}": pl.Float64 if i == wanted[-1] else pl.String
            for i in range(1, 5 if name == "gold" else 7)
        }
        columns = [f"column_{i}" for i in wanted]
        path = self.folder / f"{name}.txt"
        return pl.read_csv(path, separator=" ", has_header=False, schema=schema, columns=columns)

    def parquet(self) -> int:
        """Read the columns."""
        return sum(len(pl.read_parquet(self.folder / f"{name}.parquet")) for name in ("gold", "run"))


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
    floor = Floor(qrels, run, gold_table, run_table, folder)
    ways = {
        "from its own objects (dicts, tuples)": (lambda: mine(qrels, run), lambda: mean(pyndeval.ndeval(gold, rows, measures)), floor.dicts),
        "from dicts": (lambda: mine(qrels, run), lambda: mean(pyndeval.ndeval(judged(), ranked(), measures)), floor.dicts),
        "judgments prepared, from its own objects": (lambda: mine(prepared, run), lambda: mean(evaluator.evaluate(rows)), floor.dicts),
        "from tables": (
            lambda: mine(gold_table, run_table),
            lambda: mean(pyndeval.ndeval(gold_table.iter_rows(), run_table.iter_rows(), measures)),
            floor.tables,
        ),
        "judgments prepared, from tables": (
            lambda: mine(prepared_table, run_table),
            lambda: mean(evaluator.evaluate(run_table.iter_rows())),
            floor.hashed,
        ),
        "from TREC files": (
            lambda: mine(folder / "gold.txt", folder / "run.txt"),
            lambda: mean(pyndeval.ndeval(read_gold(folder / "gold.txt"), read_run(folder / "run.txt"), measures)),
            lambda: floor.trec() + floor.tables(),
        ),
        "from Parquet files": (
            lambda: mine(folder / "gold.parquet", folder / "run.parquet"),
            lambda: mean(pyndeval.ndeval(
                pl.read_parquet(folder / "gold.parquet").iter_rows(), pl.read_parquet(folder / "run.parquet").iter_rows(), measures
            )),
            lambda: floor.parquet() + floor.tables(),
        ),
    }  # fmt: skip
    print(f"{queries} queries x {DOCUMENTS} documents x {SUBTOPICS} subtopics, alpha_nDCG@20")
    for way, (ours, theirs, touching) in ways.items():
        own, peer = best_of(ours), best_of(theirs)
        assert abs(own.value - peer.value) < 1e-9
        times = f"{peer.processor / own.processor:.1f}x as fast"
        print(f"{way}: ranklens {own}, pyndeval {peer}: {times}")
        if "--floor" in sys.argv:
            limit = peer.processor / TIMES
            print(f"  touching the inputs once: {best_of(touching)}; pyndeval / {TIMES}: {limit:.3f} s")
        what = f"alpha_nDCG@20, {queries:,} x {DOCUMENTS} x {SUBTOPICS} subtopics, {way}"
        reached = peer.processor >= TIMES * own.processor
        record(what, times, f"{TIMES}x pyndeval", reached, f"pyndeval {peer.processor:.2f} s")


if __name__ == "__main__":
    main()
