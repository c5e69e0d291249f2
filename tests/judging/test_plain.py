"""The light way to judge plain lists: what it gives is what ``judge`` gives, and what takes a decision is left to it."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.judging.plain import judge_plain

ids = st.sampled_from([f"d{i}" for i in range(8)])
rankings = st.lists(ids, unique=True) | st.lists(st.integers(-2, 5), unique=True)
golds = (
    st.sets(ids)
    | st.lists(ids, unique=True)
    | st.dictionaries(ids, st.integers(-1, 3) | st.floats(0, 3))
    | st.sets(st.integers(-2, 5))
)


@given(st.lists(st.tuples(golds, rankings), min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_it_equals_judge(pairs):
    names = [f"q{number}" for number in range(len(pairs))]
    found = judge_plain(names, [gold for gold, _ in pairs], [ranking for _, ranking in pairs])
    if found is None:
        return
    gold = {name: gold for name, (gold, _) in zip(names, pairs, strict=True)}
    expected = rl.judge(gold, {name: ranking for name, (_, ranking) in zip(names, pairs, strict=True)})
    assert found.queries == expected.queries
    assert (found.max_grade, found.policy, found.applied) == (
        expected.max_grade,
        expected.policy,
        expected.applied,
    )
    for one, other in ((found.hits, expected.hits), (found.ideal, expected.ideal)):
        for column, wanted in zip(astuple(one), astuple(other), strict=True):
            np.testing.assert_array_equal(column, wanted)
            assert getattr(column, "dtype", None) == getattr(wanted, "dtype", None)
    np.testing.assert_array_equal(found.retrieved, expected.retrieved)


@pytest.mark.parametrize(
    ("gold", "ranking"),
    [
        ({"a"}, ["a", "a"]),  # repeated
        (["a", "a"], ["a"]),
        ({"a": float("nan")}, ["a"]),
        ({"a": True}, ["a"]),
        ({"a": 10**400}, ["a"]),
        ({"1"}, [1]),  # the same id
        ({"a"}, [("a", 0.5)]),  # scores
        ({"a"}, {"a": 0.5}),
        ({"a"}, [None]),
        ([["a"]], ["a"]),
        ({"d1"}, ["d1#3"]),  # chunks, which are warned of
    ],
)
def test_what_takes_a_decision_is_left_to_judge(gold, ranking):
    assert judge_plain(["q"], [gold], [ranking]) is None


def test_usual_lists_take_the_light_way():
    assert judge_plain(["q"], [{"a", "b"}], [["x", "a"]]) is not None
    assert judge_plain(["q"], [{"a": 2.5}], [("x", "a")]) is not None
    assert judge_plain(["q"], [[]], [[]]) is not None
    assert judge_plain(["q"], [{"a"}], [["x"]]) is not None
