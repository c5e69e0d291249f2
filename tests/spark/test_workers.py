"""Executors whose Python cannot run RankLens are refused before the first job, in one sentence."""

import os
import subprocess
import sys
import venv

import pytest
from engines import skip_without_spark, source

pytestmark = pytest.mark.slow
SCRIPT = """
import ranklens as rl
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.log.level", "OFF").getOrCreate()
run = spark.createDataFrame([("q1", "a", 1.0)], "query string, doc string, score double")
try:
    rl.evaluate({"q1": {"a": 1}}, run, "RR")
except rl.InputError as error:
    print("refused:", error)
spark.stop()
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python of the same version that has no packages."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.mark.parametrize("python", ["bare", "missing"])
def test_such_executors_are_refused(request, tmp_path, python):
    skip_without_spark()
    executable = str(request.getfixturevalue("bare")) if python == "bare" else "/no/such/python"
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": executable,
        "PYTHONPATH": source(),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    output = tmp_path / "output"
    with output.open("wb") as file:  # a pipe would wait for Java, too
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=False,
            env=environment,
            stdout=file,
            stderr=file,
            timeout=120,
        )
    refused = [line for line in output.read_text().splitlines() if "refused:" in line]
    assert len(refused) == 1, output.read_text()[-2000:]
    assert "The Python of Spark's executors cannot run RankLens (" in refused[0]
    assert ("No module named" if python == "bare" else 'Cannot run program "/no/such/python"') in refused[0]
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in refused[0]
