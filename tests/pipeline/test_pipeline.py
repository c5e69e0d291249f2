"""Pipeline measures against scikit-learn, SciPy, enumeration and pencil."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn import metrics as sklearn_metrics

import ranklens as rl
from ranklens.recipes.pipeline import gate_efficiency, k_sweep, reranking_improvement, routing_accuracy
from ranklens.stats import relative_interval, share_interval

experts = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1)
decisions = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1)


# Routing


@given(experts)
def test_routing_equals_scikit_learn(pairs):
    expected, actual = map(list, zip(*pairs, strict=True))
    result = routing_accuracy(expected, actual)
    assert result.accuracy == pytest.approx(sklearn_metrics.accuracy_score(expected, actual))
    labels = [e.expert for e in result.experts]
    assert labels == sorted({*expected, *actual})
    scores = {"average": None, "labels": labels, "zero_division": 0}
    assert [e.precision for e in result.experts] == pytest.approx(
        sklearn_metrics.precision_score(expected, actual, **scores)
    )
    assert [e.recall for e in result.experts] == pytest.approx(
        sklearn_metrics.recall_score(expected, actual, **scores)
    )
    matrix = sklearn_metrics.confusion_matrix(expected, actual, labels=list("abcd"))
    assert [[result.counts.get((row, column), 0) for column in "abcd"] for row in "abcd"] == matrix.tolist()
    assert sum(result.to_frame()["queries"]) == result.n == len(pairs)


@pytest.mark.parametrize(("hits", "n"), [(0, 3), (3, 3), (7, 10), (1, 1)])
def test_interval_of_a_share_equals_scipys_wilson(hits, n):
    theirs = scipy_stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    result = routing_accuracy([1] * n, [1] * hits + [0] * (n - hits), level=0.9)
    assert tuple(result.interval) == pytest.approx((theirs.low, theirs.high))
    assert result.interval == share_interval(hits / n, n, level=0.9)


def test_queries_are_matched_by_name_and_what_does_not_match_is_told():
    result = routing_accuracy(
        {"q1": "sql", "q2": "docs", "q3": "docs"}, {"q3": "docs", "q1": None, "q9": "sql"}
    )
    assert result.accuracy == pytest.approx(1 / 3)
    assert result.counts == {("sql", "(nowhere)"): 1, ("docs", "(nowhere)"): 1, ("docs", "docs"): 1}
    assert [e.expert for e in result.experts] == ["docs", "sql"]
    assert str(result.confusion()).splitlines()[2].split() == ["docs", "1", "1"]
    assert "over 3 queries; 1 query without an expected value ignored" in str(result)
    assert "<table>" in result._repr_html_()


# Gate


@given(decisions)
def test_gate_equals_scikit_learn(pairs):
    needed, retrieved = map(list, zip(*pairs, strict=True))
    result = gate_efficiency(needed, retrieved)
    assert result.efficiency == pytest.approx(100 * sum(not a and not b for a, b in pairs) / len(pairs))
    low, high = result.interval
    assert 0 <= low <= result.efficiency + 1e-9
    assert result.efficiency - 1e-9 <= high <= 100
    for label, precision, recall in [
        (True, result.precision, result.recall),
        (False, result.skip_precision, result.skip_recall),
    ]:
        scores = {"pos_label": label, "zero_division": 0}
        assert precision == pytest.approx(sklearn_metrics.precision_score(needed, retrieved, **scores))
        assert recall == pytest.approx(sklearn_metrics.recall_score(needed, retrieved, **scores))
    assert sum(result.to_frame()["queries"]) == len(pairs)


def test_gate_by_hand():
    result = gate_efficiency({"a": 1, "b": 0, "c": 0, "d": 0}, {"a": 0, "b": 0, "c": 0, "d": 1, "z": 1})
    assert (
        result.rightly_skipped,
        result.wrongly_skipped,
        result.wrongly_retrieved,
        result.rightly_retrieved,
    ) == (2, 1, 1, 0)
    assert result.efficiency == 50
    assert "50.0% [15.0%, 85.0%] of 4 queries rightly skipped retrieval" in str(result)


WRONG = [
    (routing_accuracy, [], [], "expected is empty"),
    (routing_accuracy, ["a"], ["a", "b"], "expected has 1 entries, but actual has 2"),
    (routing_accuracy, {"q": "a"}, ["a"], "give two dicts by query, or two lists"),
    (routing_accuracy, {"q": None}, {"q": "a"}, "query 'q' has no expert"),
    (routing_accuracy, "abc", ["a", "b", "c"], "expected is 'abc'; pass a dict by query, or a list"),
    (gate_efficiency, {"q": True}, {}, "retrieved: query 'q' has None; it is True or False"),
    (gate_efficiency, ["yes"], [True], "needed: query 1 has 'yes'; it is True or False"),
    (gate_efficiency, [2], [True], "needed: query 1 has 2"),
]


@pytest.mark.parametrize(("function", "first", "second", "message"), WRONG, ids=[m for *_, m in WRONG])
def test_wrong_input_gets_one_clear_error(function, first, second, message):
    with pytest.raises(rl.InputError) as error:
        function(first, second)
    assert message in str(error.value)


# Reranking


def example(queries=30, seed=0):
    rng = random.Random(seed)
    docs = [f"d{i}" for i in range(40)]
    qrels = {f"q{i}": {doc: rng.randint(1, 3) for doc in rng.sample(docs, 4)} for i in range(queries)}

    def ordered(skill):
        return {q: sorted(docs, key=lambda d: -skill * qrels[q].get(d, 0) - rng.random()) for q in qrels}

    return qrels, ordered(0.2), ordered(0.4)


def test_improvement_and_its_test():
    qrels, before, after = example()
    result = reranking_improvement(qrels, before, after)
    old, new = (rl.evaluate(qrels, run, "nDCG@10") for run in (before, after))
    a, b = old["nDCG@10"], new["nDCG@10"]
    assert (result.before, result.after) == pytest.approx((a.mean(), b.mean()))
    assert result.improvement == pytest.approx(100 * (b.mean() - a.mean()) / a.mean())
    theirs = scipy_stats.permutation_test(
        (a, b), lambda x, y: np.mean(y - x), permutation_type="samples", rng=1
    )
    assert result.test.p_value == pytest.approx(theirs.pvalue, abs=0.01)
    by_t = reranking_improvement(qrels, before, after, test="t").test
    assert by_t.p_value == pytest.approx(scipy_stats.ttest_rel(b, a).pvalue)
    low, high = result.interval
    theirs = scipy_stats.bootstrap((a, b), lambda x, y, axis: 100 * (y.mean(axis) / x.mean(axis) - 1), paired=True, vectorized=True, method="percentile", rng=1)  # fmt: skip
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval), rel=0.05)
    assert result == reranking_improvement(qrels, before, after)  # the same seed, the same answer
    assert result.to_frame()["improvement"][0] == result.improvement


def test_relative_interval_by_enumeration():
    a, b = np.array([0.2, 0.4, 0.4, 0.2]), np.array([0.4, 0.4, 0.6, 0.3])
    draws = [list(draw) for draw in itertools.product(range(4), repeat=4)]
    ratios = [b[draw].mean() / a[draw].mean() - 1 for draw in draws]
    exact = np.quantile(ratios, [0.1, 0.9], method="inverted_cdf")
    assert tuple(relative_interval(a, b, level=0.8, rng=3)) == pytest.approx(exact)


def test_before_0_has_no_percentage():
    result = reranking_improvement(
        {"q": {"a"}, "r": {"b"}}, {"q": ["x"], "r": ["y"]}, {"q": ["a"], "r": ["y"]}, "RR"
    )
    assert result.improvement is None
    assert result.interval is None
    assert result.effect.difference == 0.5
    assert "the mean before is 0, so there is no percentage: the difference is +0.5000" in str(result)
    assert result.to_frame()["low"][0] is None


def test_mostly_0_before_leaves_the_interval_open_but_never_nan():
    qrels = {f"q{i}": {"a"} for i in range(4)}
    before = {f"q{i}": ["a"] if i == 0 else ["x"] for i in range(4)}
    after = {f"q{i}": ["a"] for i in range(4)}
    result = reranking_improvement(qrels, before, after, "RR")
    assert result.improvement == 300
    assert result.interval.high == math.inf
    assert 0 <= result.interval.low < math.inf
    assert "nan" not in str(result).lower()


def test_one_query_answers_sensibly():
    result = reranking_improvement({"q": {"a"}}, {"q": ["x", "a"]}, {"q": ["a", "x"]}, "RR")
    assert result.improvement == 100
    assert tuple(result.interval) == (-100, math.inf)
    assert result.test.p_value == 1
    assert "of 1 query" in str(result)


def test_only_queries_that_both_have_are_compared():
    qrels = {"q": {"a"}, "r": {"a"}, "s": {"a"}}
    before, after = {"q": ["a"], "r": ["x", "a"]}, {"r": ["a"], "s": ["a"]}
    assert reranking_improvement(qrels, before, after, "RR", missing="skip").n == 1
    assert reranking_improvement(qrels, before, after, "RR").n == 3
    with pytest.raises(rl.InputError, match="no evaluated query in common"):
        reranking_improvement(qrels, {"q": ["a"]}, {"s": ["a"]}, "RR", missing="skip")


@pytest.mark.parametrize("measure", ["nDCG@10,RR", "NumRet", "rag"])
def test_one_averaged_measure_is_asked_for(measure):
    with pytest.raises(rl.MeasureError, match="pass one measure that is averaged"):
        reranking_improvement({"q": {"a"}}, {"q": ["a"]}, {"q": ["a"]}, measure)


# How many documents to rerank


def test_sweep_by_hand():
    qrels = {"q": {"a": 3, "b": 1}}
    first, reranked = {"q": ["x", "b", "a", "y"]}, {"q": ["a", "y", "b", "x"]}
    sweep = k_sweep(qrels, first, reranked, ks=[1, 2, 3, 4], measure="RR")
    assert sweep.first_stage == 0.5
    assert [(p.k, p.recall, p.mean, p.ceiling) for p in sweep.points] == [
        (1, 0, 0.5, 0.5),  # x | b a y
        (2, 0.5, 1, 1),  # b x | a y
        (3, 1, 1, 1),
        (4, 1, 1, 1),
    ]
    ndcg = k_sweep(qrels, first, reranked, ks=[4], measure="nDCG@2").points[0]
    assert ndcg.mean == pytest.approx(3 / (3 + 1 / math.log2(3)))  # a y | the ideal is a b
    assert ndcg.ceiling == 1


def test_sweep_ends_at_the_reranked_run_and_starts_at_the_first_stage():
    qrels, first, reranked = example()
    sweep = k_sweep(qrels, first, reranked, ks=[40, 1, 10])
    assert [p.k for p in sweep.points] == [1, 10, 40]
    assert sweep.points[-1].mean == rl.evaluate(qrels, reranked, "nDCG@10").mean["nDCG@10"]
    assert sweep.first_stage == sweep.points[0].mean == rl.evaluate(qrels, first, "nDCG@10").mean["nDCG@10"]
    assert [p.recall for p in sweep.points] == [
        rl.evaluate(qrels, first, f"R@{p.k}").mean[f"R@{p.k}"] for p in sweep.points
    ]
    assert all(p.mean <= p.ceiling + 1e-12 for p in sweep.points)
    assert sweep.to_frame()["k"].to_list() == [0, 1, 10, 40]


@pytest.mark.parametrize(
    "shape",
    [
        list,
        lambda docs: [(d, -i) for i, d in enumerate(docs)],
        lambda docs: {d: -i for i, d in enumerate(docs)},
    ],
)
def test_a_function_reranks_as_its_run_does(shape):
    qrels, first, reranked = example(5)
    asked = []

    def reranker(text, docs):
        asked.append((text, len(docs)))
        return shape([doc for doc in reranked[text.removeprefix("text of ")] if doc in docs])

    texts = {q: f"text of {q}" for q in qrels}
    assert k_sweep(qrels, first, reranker, ks=[3, 7], queries=texts) == k_sweep(
        qrels, first, reranked, ks=[3, 7]
    )
    assert sorted(asked) == sorted((text, k) for text in texts.values() for k in (3, 7))


def test_documents_that_the_reranker_left_out_stay_below_and_are_counted():
    sweep = k_sweep({"q": {"a"}}, {"q": ["x", "a", "y"]}, {"q": ["y"]}, ks=[3], measure="RR")
    assert sweep.points[0].mean == pytest.approx(1 / 3)  # y x a
    assert "lacks 2 of the 3 documents in the top 3" in sweep.note


def test_wrong_sweeps_get_one_clear_error():
    qrels, run = {"q": {"a"}}, {"q": ["a"]}
    with pytest.raises(rl.InputError, match="returned 'z' for query 'q', which is not among the documents"):
        k_sweep(qrels, run, lambda _, __: ["z"])
    with pytest.raises(rl.InputError, match=r"ks=\[0\] is not allowed"):
        k_sweep(qrels, run, run, ks=[0])
    with pytest.raises(rl.PolicyError, match="needs a single order of documents"):
        k_sweep(qrels, run, run, ties="average")
    with pytest.raises(rl.InputError, match="contains the NoneType None"):
        k_sweep(qrels, run, lambda _, __: None)


def test_a_recall_can_be_swept_too():
    sweep = k_sweep({"q": {"a"}}, {"q": ["x", "a"]}, {"q": ["a", "x"]}, ks=[1, 2], measure="R@1")
    assert [p.mean for p in sweep.points] == [0, 1]


def test_several_experts_per_query_get_partial_credit():
    expected = {"q1": {"sql", "docs"}, "q2": "web", "q3": ["sql"], "q4": {"docs", "web"}, "q5": "sql"}
    actual = {"q1": ["docs"], "q2": {"web", "sql"}, "q3": "sql", "q4": ("web", "docs"), "q5": []}
    result = routing_accuracy(expected, actual)
    assert result.accuracy == (0.5 + 0.5 + 1 + 1 + 0) / 5
    assert result.exact == 2 / 5
    assert result.counts["docs + sql", "docs"] == 1
    assert result.counts["sql", "(nowhere)"] == 1
    found = {e.expert: (e.expected, e.chosen, e.correct) for e in result.experts}
    assert found == {"docs": (2, 2, 2), "sql": (3, 2, 1), "web": (2, 2, 2)}
    assert "accuracy 0.6000" in str(result)
    assert "(exact 0.4000)" in str(result)
    with pytest.raises(rl.InputError, match="query 'q' has no expert"):
        routing_accuracy({"q": set()}, {"q": "a"})
