"""Values checked by hand, to the four decimals that they were written down with."""

import pytest
from worked import EXAMPLES

import ranklens as rl


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_worked_example(example):
    scores = rl.evaluate(example.qrels, example.run, list(example.values))
    for name, expected in example.values.items():
        assert scores.mean[str(rl.measure(name))] == pytest.approx(expected, abs=5e-5), name


def test_parts_of_a_dcg_by_hand():
    """Example 4: 1, 1.8928, 0, 0.8614, 0.3869 at ranks 1 to 5."""
    judged = rl.judge({"q": {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}}, {"q": list("cadbe")})
    running = [rl.measure(f"DCG@{k}")(judged)[0] for k in range(1, 6)]
    parts = [after - before for before, after in zip([0, *running], running, strict=False)]
    assert parts == pytest.approx([1, 1.8928, 0, 0.8614, 0.3869], abs=5e-5)


def test_reciprocal_ranks_one_by_one():
    rankings = [["x", "r"], ["r"], ["x", "y", "r"]]
    assert [rl.reciprocal_rank(r, {"r"}) for r in rankings] == pytest.approx([0.5, 1, 1 / 3])
    assert rl.mean_reciprocal_rank(rankings, [{"r"}] * 3) == pytest.approx(0.6111, abs=5e-5)


def test_trapezoids_of_landmark_retrieval():
    """Positives at ranks 1 and 3, as revisitop's compute_ap has it: (1 + (1/2 + 2/3) / 2) / 2."""
    found = rl.evaluate({"q": {"a", "b"}}, {"q": ["a", "x", "b"]}, "AP(interpolation=trapezoid)").mean
    assert found["AP(interpolation=trapezoid)"] == pytest.approx(0.7917, abs=1e-4)


def test_average_precision_at_r():
    """Three relevant documents, hits at ranks 1 and 3: (1 + 2/3) / 3; a hit at rank 4 does not count."""
    found = rl.evaluate({"q": {"a", "b", "c"}}, {"q": ["a", "x", "b", "c"]}, ["AP@R", "MnR"]).mean
    assert found == pytest.approx({"AP_R": 5 / 9, "MnR": 1})
