"""The single-query functions: they call the registry, so the batch is their oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl

FUNCTIONS = {
    rl.recall_at_k: "R",
    rl.precision_at_k: "P",
    rl.f1_at_k: "F",
    rl.hit_rate_at_k: "Success",
    rl.success_at_k: "Success",
    rl.reciprocal_rank: "RR",
    rl.average_precision_at_k: "AP",
    rl.dcg_at_k: "DCG",
    rl.ndcg_at_k: "nDCG",
}
docs = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(
    retrieved=docs,
    relevant=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3)),
    k=st.integers(1, 10),
)
def test_each_equals_the_batch(retrieved, relevant, k):
    for function, name in FUNCTIONS.items():
        measure = rl.measure(name) @ k
        expected = rl.evaluate({"q": relevant}, {"q": retrieved}, measure)[measure][0]
        value = function(retrieved, relevant, k=k)
        assert value == expected
        assert type(value) is float


def test_gold_as_set_list_or_grades():
    for relevant in ({"a", "b"}, ["a", "b"], ("a", "b"), {"a": 1, "b": 3}):
        assert rl.recall_at_k(["a", "x"], relevant, k=2) == 0.5


def test_without_k_the_whole_ranking_counts():
    assert rl.recall_at_k(["x", "y", "a"], {"a"}) == 1
    assert rl.precision_at_k(["x", "a"], {"a"}) == 0.5


def test_exponential_gain_and_beta():
    assert rl.ndcg_at_k(["b", "a"], {"a": 3, "b": 1}, gain="exp") != rl.ndcg_at_k(
        ["b", "a"], {"a": 3, "b": 1}
    )
    assert rl.f1_at_k(["a", "x", "y"], {"a"}, beta=2) == pytest.approx(5 * (1 / 3) / (4 / 3 + 1))


def test_precision_recall_f1_takes_iterators():
    result = rl.precision_recall_f1(iter([1, 2, 3, 4, 5]), iter([1, 3, 6, 7]))
    assert result == pytest.approx((0.4, 0.5, 4 / 9))
    assert result.f1 == pytest.approx(4 / 9)


def test_mean_reciprocal_rank():
    assert rl.mean_reciprocal_rank([["a"], ["x", "y", "a"], ["x"]], [{"a"}] * 3) == pytest.approx(
        0.4444, abs=5e-5
    )
    assert rl.mean_reciprocal_rank([], []) == 0
    with pytest.raises(rl.InputError, match="2 rankings but 1 sets"):
        rl.mean_reciprocal_rank([["a"], ["b"]], [{"a"}])


def test_duplicates_never_push_a_value_above_1():
    with pytest.warns(rl.RankLensWarning):
        assert rl.recall_at_k(["a", "a"], {"a"}, k=2) == 1
    with pytest.warns(rl.RankLensWarning):
        assert rl.ndcg_at_k(["a", "a"], {"a"}, k=2) == 1


def test_wrong_arguments_get_one_clear_error():
    with pytest.raises(rl.MeasureError, match="k=0 is not allowed"):
        rl.recall_at_k(["a"], {"a"}, k=0)
    with pytest.raises(rl.InputError, match="contains the str 'abc'"):
        rl.recall_at_k("abc", {"a"}, k=1)
    with pytest.raises(rl.MeasureError, match="gain is one of linear, exp"):
        rl.ndcg_at_k(["a"], {"a"}, gain="log")


@given(pairs=st.lists(st.tuples(docs, st.sets(st.sampled_from("abcdefgh"))), min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_several_queries_at_once(pairs):
    rankings, golds = [ranking for ranking, _ in pairs], [gold for _, gold in pairs]
    for function in FUNCTIONS:
        one_by_one = [function(ranking, gold, k=3) for ranking, gold in pairs]
        assert function(rankings, golds, k=3) == one_by_one
        assert function(tuple(rankings), [dict.fromkeys(gold, 1) for gold in golds], k=3) == one_by_one
    assert rl.mean_reciprocal_rank(rankings, golds) == sum(map(rl.reciprocal_rank, rankings, golds)) / len(
        pairs
    )


def test_lists_of_lists_are_several_queries_and_pairs_are_one():
    assert rl.recall_at_k([["a", "b"], ["c"]], [["a"], ["c", "d"]]) == [1.0, 0.5]
    assert rl.recall_at_k([["a", 0.4], ["b", 0.9]], {"a"}, k=1) == 0.0
    assert rl.dcg_at_k(["a"], [("a", 3), ("b", 1)]) == 3.0
    assert rl.recall_at_k([[1, 2, 3], [4]], [[1, 2], [4, 5]]) == [1.0, 0.5]
    with pytest.raises(rl.InputError, match="is that a document with its grade"):
        rl.recall_at_k([[1, 2], [3, 4]], [[1, 2], [3, 4]])
    with pytest.raises(rl.InputError, match="2 rankings but 1 sets"):
        rl.recall_at_k([["a"], ["b"]], [{"a"}])


def test_an_unhashable_parameter_gets_the_same_error():
    with pytest.raises(rl.MeasureError, match="gain"):
        rl.ndcg_at_k(["a"], {"a"}, gain=["exp"])
