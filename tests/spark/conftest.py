import pytest
from engines import NAMES, Engine, spark_or_skip


@pytest.fixture(scope="session")
def spark():
    return spark_or_skip()


@pytest.fixture(params=NAMES)
def engine(request, tmp_path):
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    return Engine(request.param, tmp_path, session)
