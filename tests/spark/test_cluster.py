"""A standalone cluster: a master and two workers, started here; the example job runs on it, and a worker is killed in the middle."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from engines import skip_without_spark, source

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
EXAMPLE = Path(__file__).parents[2] / "examples" / "spark" / "job.py"
# Each of 24 partitions takes half a second, so that there is a middle; the values are known.
SLOW = """
import sys, time
import ranklens as rl
from ranklens.spark import evaluation
from ranklens.spark.plan import Plan
evaluation.USUAL = Plan(handed=0)  # such a small run would come to the driver
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def slowly(batches):
    time.sleep(0.5)
    yield from batches
rows = spark.range(0, 24000, 1, 24).selectExpr("concat('q', id div 10) as query", "concat('d', id % 10) as doc", "double(id % 10) as score")
run = rows.mapInArrow(slowly, rows.schema)
qrels = spark.range(2400).selectExpr("concat('q', id) as query", "concat('d', id % 10) as doc")
print("ready", flush=True)
scores = rl.evaluate(qrels, run, ["RR", "NumQ", "NumRet"])
print("found", scores.mean["RR"], scores.mean["NumQ"], scores.mean["NumRet"], flush=True)
spark.stop()
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment():
    paths = [source(), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
    }


class Cluster:
    """Processes of the cluster, each with its children in a group of its own."""

    def __init__(self, folder):
        import pyspark

        self.folder, self.processes = folder, []
        self.launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        where = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
        self.start("master", "org.apache.spark.deploy.master.Master", *where, "--port", str(port))
        self.wait_for("master", "I have been elected leader")
        for name in ("one", "two"):
            where = [
                "--host",
                "127.0.0.1",
                "--webui-port",
                str(free_port()),
                "--work-dir",
                str(folder / name),
            ]
            self.start(
                name,
                "org.apache.spark.deploy.worker.Worker",
                *where,
                "--cores",
                "1",
                "--memory",
                "1g",
                self.url,
            )
        for name in ("one", "two"):
            self.wait_for(name, "Successfully registered with master")

    def start(self, name, *command):
        log = (self.folder / f"{name}.log").open("w")
        started = subprocess.Popen(
            [str(self.launcher), *command], stdout=log, stderr=log, env=environment(), start_new_session=True
        )
        self.processes.append(started)

    def wait_for(self, name, text, seconds=120):
        until = time.monotonic() + seconds
        while text not in (self.folder / f"{name}.log").read_text():
            if time.monotonic() > until:
                pytest.fail(f"{name} did not start: {(self.folder / f'{name}.log').read_text()[-2000:]}")
            time.sleep(0.2)

    def kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def submit(self, *arguments):
        settings = {"spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.log.level": "ERROR", "spark.driver.memory": "1g",
                    "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1"}  # fmt: skip
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command = [
            str(self.launcher.parent / "spark-submit"),
            "--master",
            self.url,
            *given,
            *map(str, arguments),
        ]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    skip_without_spark()
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    for process in reversed(found.processes):
        found.kill(process)


def test_example_job(cluster, tmp_path):
    job = cluster.submit(EXAMPLE, "--output", tmp_path / "scores")
    printed, said = job.communicate(timeout=240)
    assert job.returncode == 0, said[-3000:]
    assert "2,000 queries averaged" in printed
    assert "new is better than old" in printed
    values = pl.read_parquet(str(tmp_path / "scores" / "system=new" / "*.parquet"))
    assert values.columns == ["query", "nDCG@10", "RR", "R@10"]
    assert values.height == 2_000


def test_worker_killed_in_the_middle(cluster, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    job = cluster.submit(tmp_path / "slow.py")
    assert "ready\n" in job.stdout  # after what Spark has to say of other packages
    time.sleep(5)
    cluster.kill(cluster.processes[2])
    assert job.poll() is None  # it was in the middle
    printed, said = job.communicate(timeout=240)
    assert job.returncode == 0, said[-3000:]
    means = sum(1 / (10 - place) for place in range(10)) / 10
    name, reciprocal, queries, retrieved = printed.splitlines()[-1].split()
    assert (name, float(queries), float(retrieved)) == ("found", 2_400, 24_000)
    assert float(reciprocal) == pytest.approx(means, abs=1e-12)
