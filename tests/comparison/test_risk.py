"""Risk of compared systems: the numbers of ranklens.stats, in the direction of the measure."""

import pytest

import ranklens as rl
from ranklens import stats

VALUES = {
    "old": {"q1": {"x": 0.5}, "q2": {"x": 0.4}, "q3": {"x": 0.9}},
    "new": {"q1": {"x": 0.7}, "q2": {"x": 0.1}, "q3": {"x": 0.9}},
}


def listed(system):
    return [row["x"] for row in VALUES[system].values()]


def test_numbers_are_those_of_the_statistics():
    found = rl.compare_scores(VALUES, baseline="old").risk("x", alpha=2)
    assert found["system"].to_list() == ["old", "new"]
    assert found["urisk"].to_list() == [None, stats.urisk(listed("new"), listed("old"), 2)]
    assert found["trisk"].to_list() == [None, stats.trisk(listed("new"), listed("old"), 2)]
    assert found["georisk"].to_list() == list(stats.georisk({s: listed(s) for s in VALUES}, 2).values())


def test_where_lower_is_better_higher_is_a_loss():
    found = rl.compare_scores(VALUES, better={"x": "lower"}).risk("x", baseline="old")
    assert found["urisk"][1] == pytest.approx((2 * -0.2 + 0.3 + 0) / 3)
    assert found["georisk"].to_list() == [None, None]  # of values of 0 or more, higher ones better


def test_unknown_systems_and_undirected_measures_are_refused():
    runs = {"a": {"q1": ["d"]}, "b": {"q1": ["x"]}}
    found = rl.compare({"q1": {"d"}}, runs, ["RR", "Judged@1"])
    assert found.risk("RR")["trisk"].to_list() == [None, None]  # one query has no standard error
    with pytest.raises(rl.RankLensError, match="c"):
        found.risk("RR", baseline="c")
    with pytest.raises(rl.InputError, match="does not say which values are better"):
        found.risk("Judged@1")
