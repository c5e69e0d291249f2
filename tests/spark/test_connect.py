"""DataFrames of Spark Connect: a process has either these or classic ones, so that the work is done in another process."""

import json
import os
import subprocess
import sys

import pytest
from engines import messy, skip_without_spark, source, table

import ranklens as rl

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
MEASURES = ["nDCG@10", "AP", "RR"]
WORK = """
import json, sys
from pyspark.sql import SparkSession
import ranklens as rl
from ranklens.policy import Policy
from ranklens.metrics import parse_many
from ranklens.spark import comparing
from ranklens.spark.evaluation import evaluate
from ranklens.spark.plan import Plan

given = json.load(sys.stdin)
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
gold = spark.createDataFrame(given["judgments"], "query string, doc string, grade double")
run = spark.createDataFrame(given["run"], "query string, doc string, score double")
lists = spark.createDataFrame([("u", ["a", "b"])], "user string, recommendations array<string>")
plans = [Plan(handed=0), Plan(carried=5), Plan(longest=50), Plan()]
scores = [evaluate(gold, run, parse_many(given["measures"]), Policy(nan="last"), plan=plan) for plan in plans]
comparing.COLLECTED = 1
large = rl.compare(None, {"one": scores[0], "two": scores[1]}, ["AP"], test="randomization")
print(json.dumps({
    "means": [one.mean for one in scores],
    "queries": [count for one in (scores[0], scores[3]) for count in (one.to_spark().count(), one.per_query.height)],
    "list": rl.evaluate({"u": {"b": 1}}, lists, "RR").mean["RR"],
    "p": large.pair("AP", "one", "two").p_value,
}))
spark.stop()
"""


def test_spark_connect():
    skip_without_spark()
    pytest.importorskip("grpc", reason="needs Spark Connect: pip install 'pyspark[connect]>=4'")
    judgments, run = messy()
    given = json.dumps({"judgments": judgments, "run": run, "measures": MEASURES})
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": source()}
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        check=False,
        input=given,
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    expected = rl.evaluate(table(judgments, "grade"), table(run, "score"), MEASURES, nan="last")
    for means in found["means"]:
        assert means == pytest.approx(expected.mean, abs=1e-12)
    assert found["queries"] == [len(expected.queries)] * 4
    assert (found["list"], found["p"]) == (0.5, 1.0)
