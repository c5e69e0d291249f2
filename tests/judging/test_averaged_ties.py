"""ties="average": the expected value over all orders of the tied documents.

Oracles: every order enumerated, on small inputs; scikit-learn's ndcg_score; closed forms by hand.
"""

from itertools import permutations, product
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score
from strategies import examples
from table import NOT

import ranklens as rl

AVERAGE = [rl.measure(name) for name in NOT if rl.measure(name).definition.average_ties]
REFUSED = [rl.measure(name) for name in NOT if not rl.measure(name).definition.average_ties]

tied_scores = st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=6)
maybe_grades = st.sampled_from([None, None, -1, 0, 1, 2, 4])


def all_orders(scores):
    """Every ranking that the scores allow."""
    groups = [
        [d for d, s in scores.items() if s == value] for value in sorted(set(scores.values()), reverse=True)
    ]
    for order in product(*(permutations(group) for group in groups)):
        yield [doc for group in order for doc in group]


@settings(max_examples=examples(150))
@given(
    scores=tied_scores,
    grades=st.lists(maybe_grades, min_size=6, max_size=6),
    depth=st.sampled_from([None, None, 2, 4]),
)
def test_equals_the_mean_over_all_orders(scores, grades, depth):
    run = {f"d{i}": s for i, s in enumerate(scores)}
    gold = {f"d{i}": g for i, g in enumerate(grades) if g is not None} | {"missed": 2}
    averaged = rl.evaluate({"q": gold}, {"q": run}, AVERAGE, ties="average", depth=depth)
    orders = [rl.evaluate({"q": gold}, {"q": order}, AVERAGE, depth=depth) for order in all_orders(run)]
    for measure in AVERAGE:
        expected = mean(float(scores[measure][0]) for scores in orders)
        hint = f"{measure} is not exact over averaged ties: drop average_ties=True from its @measure"
        assert averaged[measure][0] == pytest.approx(expected, abs=1e-9), hint


@settings(max_examples=examples(50))
@given(scores=tied_scores, grades=st.lists(maybe_grades, min_size=6, max_size=6))
def test_judged_only_equals_the_mean_over_all_orders(scores, grades):
    measures = [m.replace(judged_only=True) for m in AVERAGE]
    run = {f"d{i}": s for i, s in enumerate(scores)}
    gold = {f"d{i}": g for i, g in enumerate(grades) if g is not None} | {"missed": 2}
    averaged = rl.evaluate({"q": gold}, {"q": run}, measures, ties="average")
    orders = [rl.evaluate({"q": gold}, {"q": order}, measures) for order in all_orders(run)]
    for measure in measures:
        expected = mean(float(scores[measure][0]) for scores in orders)
        assert averaged[measure][0] == pytest.approx(expected, abs=1e-9), measure


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0.1, 0.2, 0.3, 0.4])), min_size=2, max_size=40
    ),
    k=st.integers(1, 20),
)
def test_ndcg_equals_scikit_learn(rows, k):
    """Also where a tie lies across the cutoff; scikit-learn averages there as well."""
    grades, scores = zip(*rows, strict=True)
    qrels = {"q": {f"d{i}": g for i, g in enumerate(grades)}}
    run = {"q": {f"d{i}": s for i, s in enumerate(scores)}}
    ours = rl.evaluate(qrels, run, [f"nDCG@{k}", f"DCG@{k}"], ties="average").mean
    assert ours[f"nDCG@{k}"] == pytest.approx(ndcg_score([grades], [scores], k=k), abs=1e-12)
    assert ours[f"DCG@{k}"] == pytest.approx(dcg_score([grades], [scores], k=k), abs=1e-12)


def test_a_constant_scorer_gets_what_chance_gives():
    """One relevant document among n equal ones: RR is the mean of 1/r, P@k is 1/n, whatever the ids."""
    n = 1000
    run = {"q": dict.fromkeys((f"d{i}" for i in range(n)), 0.0)}
    scores = rl.evaluate({"q": {"d17"}}, run, ["RR", "P@10", "Success@10", "AP", "ERR"], ties="average").mean
    assert scores["RR"] == pytest.approx(np.mean(1 / np.arange(1, n + 1)))
    assert scores["AP"] == pytest.approx(scores["RR"])
    assert scores["ERR"] == pytest.approx(scores["RR"] / 2)
    assert scores["P@10"] == pytest.approx(1 / n)
    assert scores["Success@10"] == pytest.approx(10 / n)


@pytest.mark.parametrize("measure", REFUSED, ids=str)
def test_other_measures_are_refused_by_name(measure):
    with pytest.raises(rl.PolicyError, match='ties="average" is not available') as error:
        rl.evaluate({"q": {"a"}}, {"q": ["a"]}, measure, ties="average")
    assert str(measure) in str(error.value)


def test_depth_and_judged_only_leave_no_defined_value():
    with pytest.raises(rl.PolicyError, match="cannot be combined"):
        rl.evaluate({"q": {"a"}}, {"q": {"a": 1, "b": 1}}, "RR", ties="average", depth=1, judged_only=True)
