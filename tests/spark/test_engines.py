"""One suite, every engine: the whole registry gives the same values, whatever holds the data."""

import pytest
from engines import Engine, messy, same
from richer import RICH
from table import NOT

import ranklens as rl
from ranklens.metrics import parse_many

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore"
    ),  # of PySpark's sockets, and about repeated documents, which are meant here
]
POLICIES = {
    "usual": {},
    "averaged": {"ties": "average", "missing": "skip"},
    "in order": {"ties": "input", "empty": "skip", "depth": 7},
    "condensed": {"ties": "ascending", "judged_only": True, "empty": "one", "rel": 2},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_all_measures(engine, policy):
    judgments, run = messy()
    options = {"nan": "last", **POLICIES[policy]}
    averaged = options.get("ties") == "average"
    wanted = [name for name in NOT if not averaged or parse_many([name])[0].definition.average_ties]
    expected = Engine("frame").evaluate(judgments, run, wanted, **options)
    found = engine.evaluate(judgments, run, wanted, **options)
    same(found, expected)
    for measure in expected.measures:
        if measure.definition.aggregate in ("mean", "geometric"):
            here, there = found.interval(measure), expected.interval(measure)
            assert (here.low, here.high) == pytest.approx((there.low, there.high), abs=1e-9), measure
            assert (here.method, here.clipped) == (there.method, there.clipped), measure


@pytest.mark.parametrize("knows", ["subtopics", "evidence", "preferences", "documents"])
def test_judgments_that_know_more(spark, knows):
    wanted = [name for name, needs in RICH.items() if needs == knows]
    judged = {
        "subtopics": {
            "q1": {"s1": {"a": 1, "b": 2}, "s2": {"c": 1}},
            "q2": {"s1": {"d": 1}},
            "q3": {"s1": {"a": 1}},
        },
        "evidence": {"q1": [{"a", "c"}, {"b"}], "q2": [{"d"}], "q3": [{"x"}]},
        "preferences": {"q1": [("a", "b"), ("c", "d")], "q2": [("d", "a")]},
        "documents": {
            doc: {"group": "g" + str(i % 2), "features": [float(i), 1.0], "understandability": i / 5}
            for i, doc in enumerate("abcde")
        },
    }[knows]
    grades = (
        {"q1": {"a": 2, "b": 1}, "q2": {"d": 1}, "q3": {"a": 1}}
        if knows in ("documents", "preferences")
        else None
    )
    qrels = rl.Judgments(grades, **{knows: judged})
    run = [(q, doc, 9.0 - i) for q in ("q1", "q2") for i, doc in enumerate("bcade")]
    _, ranked = Engine("frame").given([], run)
    _, on_spark = Engine("spark", spark=spark).given([], run)
    expected = rl.evaluate(qrels, ranked, wanted)
    same(rl.evaluate(qrels, on_spark, wanted), expected)


def test_engine_that_is_wrong_is_noticed():
    judgments, run = messy()
    expected = Engine("frame").evaluate(judgments, run, ["nDCG@10"], nan="last")
    other = Engine("frame").evaluate(judgments, run, ["nDCG@10"], nan="last", ties="ascending")
    with pytest.raises(AssertionError):
        same(other, expected)
