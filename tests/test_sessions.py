"""Measures of sessions, against values worked out from the formulas: grades 0, 1, 0 and 2, 0, 1."""

import pytest

import ranklens as rl

QRELS = {"q1": {"b": 1, "a": 0}, "q2": {"d": 2, "f": 1}}
RUN = {"q1": ["a", "b", "c"], "q2": ["d", "e", "f"]}
ORDER = {"s": ["q1", "q2"]}


def judged(**options):
    return rl.judge_sessions(QRELS, RUN, ORDER, **options)


def test_discounted_gain():
    assert judged().sdcg()["s"] == pytest.approx(2.091235, abs=1e-6)
    assert judged().sdcg(kind="jiang")["s"] == pytest.approx(3.645666, abs=1e-6)
    assert judged().sdcg(1)["s"] == pytest.approx(2 / 1.5)


def test_rank_biased_precision():
    assert judged().srbp(0.8, 0.5)["s"] == pytest.approx(0.234667, abs=1e-6)
    assert judged().srbp(0.8, 1.0)["s"] == pytest.approx(0.16)  # never asks again: RBP of the first query
    alone = rl.evaluate({"q1": QRELS["q1"]}, RUN, "RBP(p=0.8)").mean["RBP"]
    assert alone == pytest.approx(0.16)


def test_the_ideal_session_scores_1():
    best = {"q1": ["b", "a"], "q2": ["d", "f"]}
    for kind in ("jarvelin", "jiang"):
        assert rl.judge_sessions(QRELS, best, ORDER).nsdcg(kind=kind)["s"] == pytest.approx(1)
        assert 0 < judged().nsdcg(kind=kind)["s"] < 1


def test_means_by_turn():
    assert judged().by_turn("RR") == {1: 0.5, 2: 1.0}


def test_wrong_input_gets_one_clear_error():
    with pytest.raises(rl.InputError, match="Query 'q2' is judged, but in no session"):
        rl.judge_sessions(QRELS, RUN, {"s": ["q1"]})
    with pytest.raises(rl.MeasureError, match="bases above 1"):
        judged().sdcg(b=1)
    with pytest.raises(rl.MeasureError, match="p between 0 and 1"):
        judged().srbp(1.5)
