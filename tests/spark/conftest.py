import pytest
from engines import NAMES, Engine, spark_or_skip

from ranklens.spark import evaluation
from ranklens.spark.plan import Plan


@pytest.fixture(scope="session")
def spark():
    return spark_or_skip()


@pytest.fixture(autouse=True)
def on_the_cluster(monkeypatch):
    """Runs of tests are small, and would all be judged on the driver."""
    monkeypatch.setattr(evaluation, "USUAL", Plan(handed=0))


@pytest.fixture(params=["on the cluster", "on the driver"])
def anywhere(request, monkeypatch):
    """Judged by executors, and then by the driver."""
    monkeypatch.setattr(evaluation, "USUAL", Plan(handed=0) if request.param == "on the cluster" else Plan())


@pytest.fixture(params=NAMES)
def engine(request, tmp_path):
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    return Engine(request.param, tmp_path, session)
