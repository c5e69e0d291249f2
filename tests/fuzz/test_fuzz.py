"""The fuzzer, for a short time with seeds of its own; ``scripts/fuzz --minutes 10`` runs it longer."""

import pytest

pytest.importorskip("resource")  # which Windows lacks

from fuzz import hostile, naive

FIRST = 20_000_000


@pytest.mark.parametrize("part", range(2))
def test_the_first_cases(tmp_path, part):
    tally = hostile.Tally()
    for seed in range(FIRST + 60 * part, FIRST + 60 * (part + 1)):
        hostile.run_case(seed, tmp_path / "case", tally)
    assert tally.wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_more_cases(tmp_path, part):
    tally = hostile.run_for(20, FIRST + (1 + part) * 1_000_000, tmp_path / "case")
    assert tally.wrong == [], hostile.report(tally)
    assert tally.compared > tally.cases / 50, hostile.report(tally)


def test_the_naive_reader_can_tell_a_difference(tmp_path, monkeypatch):
    for name, text in (("q", "q1 0 d1 1\n"), ("r", "q1 Q0 d1 1 1 t\nq1 Q0 x 2 2 t\n")):
        (tmp_path / name).write_text(text)
    assert hostile.difference("trec", tmp_path / "q", tmp_path / "r") == ""
    monkeypatch.setattr(naive, "read_pair", lambda *_: ({"q1": {"d1": 1.0}}, {"q1": {"d1": 1.0}}))
    assert "is not" in hostile.difference("trec", tmp_path / "q", tmp_path / "r")
