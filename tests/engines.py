"""Every way to evaluate the same judgments and run: as dicts, frames, files, and on Spark. A test that takes ``engine`` runs on all."""

import os
import random
import sys
from dataclasses import dataclass
from typing import Any

import needs
import numpy as np
import polars as pl
import pytest

import ranklens as rl

NAMES = ("dict", "frame", "file", "spark")


def skip_without_spark():
    """A visible note, where PySpark or Java is not there."""
    pytest.importorskip("pyspark", reason="needs PySpark: pip install pyspark")
    needs.skip_without(needs.java(), ": apt install openjdk-17-jre-headless")


def spark_or_skip():
    """A small session on this machine, shared by all tests of a process; a visible skip where it cannot run."""
    skip_without_spark()
    from pyspark import sql

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), source()]))
    builder = sql.SparkSession.builder.master("local[2]").appName("ranklens tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def source():
    """Where RankLens is imported from, for the processes that Spark starts."""
    return os.path.dirname(os.path.dirname(rl.__file__))


def rows(by_query):
    """``{query: {document: number}}`` as rows."""
    return [(query, doc, float(number)) for query, docs in by_query.items() for doc, number in docs.items()]


def table(triples, number):
    return pl.DataFrame(
        triples, schema={"query": pl.String, "doc": pl.String, number: pl.Float64}, orient="row"
    )


@dataclass(frozen=True)
class Engine:
    """Takes rows of judgments and of a run, and evaluates them its own way."""

    name: str
    folder: Any = None
    spark: Any = None

    def given(self, judgments, run):
        """Judgments and run in the shape of this engine; dicts cannot hold a document twice, so they become lists of pairs."""
        if self.name == "dict":
            return _pairs(judgments), _pairs(run)
        if self.name == "spark":
            make = self.spark.createDataFrame
            return (
                make(judgments, "query string, doc string, grade double"),
                make(run, "query string, doc string, score double"),  # in two partitions, in this order
            )
        gold, ranked = table(judgments, "grade"), table(run, "score")
        if self.name == "frame":
            return gold, ranked
        gold.write_parquet(self.folder / "qrels.parquet")
        ranked.write_parquet(self.folder / "run.parquet")
        return self.folder / "qrels.parquet", self.folder / "run.parquet"

    def evaluate(self, judgments, run, measures, **options):
        return rl.evaluate(*self.given(judgments, run), measures, **options)


def _pairs(triples):
    found = {}
    for query, doc, number in triples:
        found.setdefault(query, []).append((doc, number))
    return found


def messy(seed=3, queries=25):
    """Rows with everything that goes wrong: ties, repeats, NaN, missing, unjudged and empty queries, one long query."""
    draw = random.Random(seed)
    docs = [f"d{i}é" if i % 3 else f"d{i}" for i in range(40)]
    judgments, run = [], []
    for q in range(queries):
        if q % 13:
            picked = draw.sample(docs, draw.randint(1, 12))
            judgments += [(f"q{q}", doc, float(draw.randint(0, 4) if q % 7 else 0)) for doc in picked]
        if q % 11:
            # Dicts count the repeats of unjudged queries, too, so these have none.
            picked = draw.choices(docs, k=300 if q == 5 else draw.randint(1, 60)) if q % 13 else docs
            scores = [0.0, 1.0, 2.0, 3.0, float("nan"), float("-inf")]
            run += [(f"q{q}", doc, draw.choice(scores)) for doc in picked]
    judgments.append((*judgments[0][:2], 3.0))
    draw.shuffle(run)
    return judgments, run


def same(one, other):
    """Whether two scores hold the same values, means and words."""
    order, place = np.argsort(one.queries), np.argsort(other.queries)
    assert [one.queries[i] for i in order] == [other.queries[i] for i in place]
    for name, values in other.values.items():
        found, expected = one.values[name][order], values[place]
        if expected.dtype == object:
            assert found.tolist() == expected.tolist(), name
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)
    for name, mean in other.mean.items():
        assert one.mean[name] == pytest.approx(mean, abs=1e-12), name
    assert one.note == other.note
