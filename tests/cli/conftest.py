import pytest
from command_line import GOLDEN


@pytest.fixture
def in_golden(monkeypatch):
    monkeypatch.chdir(GOLDEN)
    monkeypatch.setattr("warnings.showwarning", None)
