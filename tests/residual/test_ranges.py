"""What unjudged documents leave open, against every way to judge them."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import NOT

import ranklens as rl
from ranklens.errors import MeasureError, PolicyError
from ranklens.metrics.residual import completion
from ranklens.metrics.residual.ranges import is_defined

DOCS = list("abcdefgh")
pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
EVERY = [rl.measure(name) for name in NOT]
UNDEFINED = {name for name, lacks in NOT.items() if "bounds" in lacks}
IF_BINARY = {name for name, lacks in NOT.items() if "graded bounds" in lacks}
MORE = [
    "AP@2",
    "F@2",
    "R@2",
    "nERR@2",
    "Q@2",
    "R(cap=true)@2",
    "nDCG@2",
    "nDCG(log_base=2)@4",
    "DCG(gains={1: 5, 2: 3})@3",
    "CG(gains={1: 5, 2: 3})@3",
    "RBP(gain=raw)@3",
    "RBP(gain=linear, max_grade=8)@3",
    "AP(interpolation=trapezoid)@3",
    "pAUC@1",
    "PAP@1",
    "PAP@3",
    "SDCG(expect=ETU)@3",
    "SDCG(expect=ED)@3",
    "P_CWL(expect=ETU)@2",
    "SET(beta=0.2)@2",
]


def queries(grades):
    """Judgments of a few documents and a ranking that holds unjudged ones; two queries, so that grades are shared."""
    judged = st.dictionaries(st.sampled_from(DOCS), grades, max_size=4)
    ranking = st.lists(st.sampled_from(DOCS), unique=True, max_size=6)
    return st.lists(st.tuples(judged, ranking), min_size=2, max_size=2)


def every_way(qrels, run, measures, levels):
    """``{(measure, query): all values}``, by judging every unjudged document that was retrieved in every way."""
    found = {}
    for query, ranking in run.items():
        known = {doc: grade for doc, grade in qrels[query].items() if grade >= 0}
        unjudged = [doc for doc in ranking if doc not in known]
        ways = [
            known | dict(zip(unjudged, grades, strict=True))
            for grades in product(levels, repeat=len(unjudged))
        ]
        # One evaluation for all ways; a query with the highest grade keeps that the same.
        many = {str(i): way for i, way in enumerate(ways)} | {"top": {"x": max(levels)}}
        scores = rl.evaluate(many, {**dict.fromkeys(many, ranking), "top": ["x"]}, measures)
        for measure in measures:
            values = dict(zip(scores.queries, scores[measure].tolist(), strict=True))
            found[str(measure), query] = [values[str(i)] for i in range(len(ways))]
    return found


def check(case, measures):
    qrels = {f"q{i}": judged for i, (judged, _) in enumerate(case)}
    run = {f"q{i}": ranking for i, (_, ranking) in enumerate(case)}
    levels = sorted({0, *(grade for judged in qrels.values() for grade in judged.values() if grade > 0)})
    levels = levels if len(levels) > 1 else [0, 1]
    scores = rl.evaluate(qrels, run, measures)
    measures = [m for m in measures if is_defined(m, scores.judged)]
    expected = every_way(qrels, run, measures, levels)
    for measure in measures:
        found = scores.bounds(measure)
        for query, low, high in found.per_query.rows():
            values = expected[str(measure), query]
            tail = 0.0
            if measure.name == "RBP" and measure.k is None and set(run[query]) - set(qrels[query]):
                tail = dict(measure.params)["p"] ** len(run[query])  # relevant ones beyond the end
            assert low == pytest.approx(min(values), abs=1e-12), (measure, query)
            assert high == pytest.approx(max(values) + tail, abs=1e-12), (measure, query)


@given(queries(st.sampled_from([0, 1])))
def test_binary_judgments_in_every_way(case):
    check(case, [*EVERY, *map(rl.measure, MORE)])


@given(queries(st.sampled_from([0, 1, 2, 4])))
def test_graded_judgments_in_every_way(case):
    check(case, [*EVERY, *map(rl.measure, MORE)])


def test_which_measures_have_no_bounds():
    graded = rl.judge({"q": {"a": 1, "b": 2}}, {"q": ["a", "x"]})
    binary = rl.judge({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]})
    assert {name for name in NOT if not is_defined(rl.measure(name), graded)} == UNDEFINED | IF_BINARY
    assert {name for name in NOT if not is_defined(rl.measure(name), binary)} == UNDEFINED


@pytest.mark.parametrize("name", sorted(UNDEFINED))
def test_they_are_refused_by_name(name):
    scores = rl.evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, "RR")
    with pytest.raises(MeasureError, match=re.escape(f"The bounds of {rl.measure(name)} are not defined: ")):
        scores.bounds(name)


@given(queries(st.sampled_from([0, 1, 2])), st.sampled_from([0.3, 0.8]))
def test_rbp_is_open_by_its_residual(case, p):
    qrels, run = (
        {f"q{i}": judged for i, (judged, _) in enumerate(case)},
        {f"q{i}": ranking for i, (_, ranking) in enumerate(case)},
    )
    scores = rl.evaluate(qrels, run, [f"RBP(p={p})", f"RBPres(p={p})"])
    found = scores.bounds(f"RBP(p={p})")
    width = found.per_query["high"].to_numpy() - found.per_query["low"].to_numpy()
    assert width == pytest.approx(scores[f"RBPres(p={p})"])
    assert found.low == pytest.approx(scores.mean[f"RBP(p={p})"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("SDCG(residual=true)@5", "it is about the judgments themselves"),
        ("RBP_CWL", "residual=true says by how much it could rise"),
        ("INST", "it may rise or fall if an unjudged document turns out to be relevant"),
    ],
)
def test_user_models_without_bounds_say_why(name, why):
    scores = rl.evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, "RR")
    with pytest.raises(MeasureError, match=re.escape(why)):
        scores.bounds(name)


def test_raw_rbp_is_open_by_its_residual_times_the_highest_grade():
    scores = rl.evaluate(
        {"q": {"a": 1, "b": 3}}, {"q": ["a", "x"]}, ["RBP(p=0.5, gain=raw)", "RBPres(p=0.5)"]
    )
    found = scores.bounds("RBP(p=0.5, gain=raw)")
    assert (found.low, found.high) == pytest.approx(
        (0.5, 0.5 + 3 * 0.5)
    )  # all the weight below the first rank


def test_queries_in_pieces_give_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    qrels = {
        f"q{i}": {str(d): int(rng.integers(0, 3)) for d in rng.choice(30, 6, replace=False)}
        for i in range(20)
    }
    run = {f"q{i}": [str(d) for d in rng.choice(30, rng.integers(0, 15), replace=False)] for i in range(20)}
    names = ["nDCG@10", "AP", "P@5", "R@5", "ERR"]
    whole = {name: rl.evaluate(qrels, run, names).bounds(name) for name in names}
    monkeypatch.setattr(completion, "_ROWS", 25)
    for name in names:
        pieces = rl.evaluate(qrels, run, names).bounds(name)
        assert pieces.per_query.equals(whole[name].per_query)
        assert (pieces.low, pieces.high) == (whole[name].low, whole[name].high)


def test_the_value_lies_between():
    scores = rl.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["x", "a", "y", "b"]}, ["nDCG@10", "AP", "P@5"])
    for name, mean in scores.mean.items():
        found = scores.bounds(name)
        assert found.low <= mean <= found.high
        assert found.open == 1
    assert str(scores.bounds("P@5")) == "[0.4000, 0.8000]"


def test_nothing_is_open_if_all_is_judged():
    scores = rl.evaluate({"q": {"a": 2, "b": 1}, "missing": {"c": 1}}, {"q": ["b", "a"]}, ["nDCG@10", "AP"])
    for name, mean in scores.mean.items():
        found = scores.bounds(name)
        assert (found.low, found.high, found.open) == pytest.approx((mean, mean, 0))


@pytest.mark.parametrize("policy", [{"ties": "average"}, {"judged_only": True}, {"empty": "one"}])
def test_policies_that_have_no_bounds(policy):
    scores = rl.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 2.0}}, "RR", **policy)
    with pytest.raises(PolicyError, match="The bounds of RR are not defined with "):
        scores.bounds("RR")


def test_scores_without_rankings_are_refused():
    scores = rl.evaluate({"q1": {"a": 1}}, {"q1": ["x", "a"]}, "RR")
    with pytest.raises(rl.InputError, match="values but no rankings"):
        rl.Scores.from_json(scores.to_json()).bounds("RR")
