"""Arrays of scores and labels are evaluated as the dicts that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import NOT

import ranklens as rl
from ranklens.registry import parse

MEASURES = list(NOT)


@st.composite
def rows(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
    count = sum(sizes)
    scores = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, -2.25, 3.0]), min_size=count, max_size=count))
    labels = draw(st.lists(st.integers(-1, 4), min_size=count, max_size=count))
    return sizes, np.array(scores), np.array(labels)


def as_dicts(sizes, values):
    first = np.cumsum([0, *sizes])
    return {
        str(q): {str(i): values[i].item() for i in range(first[q], first[q + 1])} for q in range(len(sizes))
    }


@given(rows(), st.sampled_from(["descending", "ascending", "input", "average"]))
def test_equal_to_evaluate(given_rows, ties):
    sizes, scores, labels = given_rows
    measures = [name for name in MEASURES if ties != "average" or parse(name).definition.average_ties]
    expected = rl.evaluate(as_dicts(sizes, labels), as_dicts(sizes, scores), measures, ties=ties)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    for found in (
        rl.evaluate_scores(scores, labels, sizes=sizes, measures=measures, ties=ties),
        rl.evaluate_scores(scores, labels, offsets=np.cumsum([0, *sizes]), measures=measures, ties=ties),
        rl.evaluate_scores(scores.astype(np.float32), labels, ids, measures, ties=ties),
    ):
        for name in measures:
            np.testing.assert_array_equal(found[name], expected[name], name)
        assert found.judged.applied == expected.judged.applied


def test_which_of_the_three_is_meant():
    scores, labels = [0.1, 0.9, 0.5, 0.7], [1, 0, 0, 1]
    by_size = rl.evaluate_scores(scores, labels, [2, 2], "RR")
    assert by_size["RR"].tolist() == [0.5, 1.0]
    assert rl.evaluate_scores(scores, labels, [0, 2, 4], "RR")["RR"].tolist() == [0.5, 1.0]
    by_id = rl.evaluate_scores(scores, labels, ["b", "a", "b", "a"], "RR")
    assert (by_id.queries, by_id["RR"].tolist()) == (["b", "a"], [0.5, 0.5])
    assert rl.evaluate_scores(scores, labels, np.ones(4, int), "RR")["RR"].tolist() == [0.5]  # one query, "1"
    with pytest.raises(rl.InputError, match="add up to 3, but there are 4 documents"):
        rl.evaluate_scores(scores, labels, [2, 1], "RR")
    with pytest.raises(rl.InputError, match="Flat scores need queries"):
        rl.evaluate_scores(scores, labels, measures="RR")


def test_two_dimensions_with_a_mask():
    scores = np.array([[0.9, 0.8, 0.0], [0.1, 0.2, 0.3]])
    labels = np.array([[0, 1, 9], [1, 0, 0]])
    found = rl.evaluate_scores(scores, labels, measures=["RR", "NumRet"], mask=[[1, 1, 0], [1, 1, 1]])
    assert found["RR"].tolist() == [0.5, pytest.approx(1 / 3)]
    assert found["NumRet"].tolist() == [2, 3]
    # Not one long query, and not flattened: torchmetrics#3216.
    assert rl.evaluate_scores(scores, labels, ["a", "b"], "RR").queries == ["a", "b"]


def test_nan_is_refused_by_name_or_last():
    with pytest.raises(rl.InputError, match=r"scores: the score of document '1' for query '0' is nan"):
        rl.evaluate_scores([0.5, np.nan], [0, 1], [2], "RR")
    assert rl.evaluate_scores([-np.inf, np.nan], [0, 1], [2], "RR", nan="last").mean == {"RR": 0.5}
    with pytest.raises(rl.InputError, match=r"labels: the grade of document 'x' for query '0' is nan"):
        rl.evaluate_scores([0.5, 0.1], [0, np.nan], [2], "RR", doc_ids=["y", "x"])
    with pytest.raises(rl.InputError, match="document 'x' appears twice in query '0'"):
        rl.evaluate_scores([0.5, 0.1], [0, 1], [2], "RR", doc_ids=["x", "x"])


def test_results_can_be_looked_at_and_compared():
    labels = np.tile([1, 0, 0], 20)
    draw = np.random.default_rng(0)
    scores = rl.evaluate_scores(draw.random(60), labels, np.full(20, 3), ["RR", "nDCG@10"])
    assert len(scores.failing("RR")) > 0
    other = rl.evaluate_scores(draw.random(60) + labels, labels, np.full(20, 3), ["RR", "nDCG@10"])
    comparison = rl.compare_scores({"before": scores.per_query, "after": other.per_query})
    assert comparison.pair("RR", "before", "after").difference > 0


def test_shapes_must_agree():
    with pytest.raises(rl.InputError, match=r"scores have the shape \(2,\), labels \(3,\)"):
        rl.evaluate_scores([1, 2], [1, 0, 0], [2], "RR")
