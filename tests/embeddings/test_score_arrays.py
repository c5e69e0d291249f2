"""Arrays of scores and labels are evaluated as the dicts that they stand for."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import NOT

import ranklens as rl
from ranklens.metrics import parse
from ranklens.models import training

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
        rl.evaluate_scores(scores, labels, sizes=sizes, measures=measures, ties=ties, relevant="labels"),
        rl.evaluate_scores(
            scores, labels, offsets=np.cumsum([0, *sizes]), measures=measures, ties=ties, relevant="labels"
        ),
        rl.evaluate_scores(scores.astype(np.float32), labels, ids, measures, ties=ties, relevant="labels"),
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
    scores = rl.evaluate_scores(draw.random(60), labels, np.full(20, 3), ["RR", "nDCG@10"], relevant="labels")
    assert len(scores.failing("RR")) > 0
    other = rl.evaluate_scores(
        draw.random(60) + labels, labels, np.full(20, 3), ["RR", "nDCG@10"], relevant="labels"
    )
    comparison = rl.compare_scores({"before": scores.per_query, "after": other.per_query})
    assert comparison.pair("RR", "before", "after").difference > 0


def test_shapes_must_agree():
    with pytest.raises(rl.InputError, match=r"scores have the shape \(2,\), labels \(3,\)"):
        rl.evaluate_scores([1, 2], [1, 0, 0], [2], "RR")


def test_ids_are_a_list():
    with pytest.raises(rl.InputError, match="query_ids: int is not a list"):
        rl.evaluate_scores(np.eye(2), np.eye(2), measures="RR", query_ids=2)


@given(rows(), st.lists(st.integers(1, 4), max_size=8), st.booleans())
def test_relevant_documents_without_a_score_count(given_rows, missed, has_absent):
    """As ``evaluate`` counts them with the whole judgments, whichever way they are given."""
    sizes, scores, labels = given_rows
    labels = np.maximum(labels, 0)
    qrels, run = as_dicts(sizes, labels), as_dicts(sizes, scores)
    for at, grade in enumerate(missed):
        qrels[str(at % len(sizes))][f"missed {at}"] = grade
    if has_absent:
        qrels["absent"] = {"x": 1}
    expected = rl.evaluate(qrels, run, MEASURES)
    found = rl.evaluate_scores(scores, labels, sizes=sizes, measures=MEASURES, relevant=qrels)
    for name in MEASURES:
        np.testing.assert_array_equal(found[name], expected[name], name)
    assert found.judged.applied == expected.judged.applied
    if not has_absent and max([*labels, *missed], default=0) <= 1:
        counts = [sum(grade > 0 for grade in docs.values()) for docs in qrels.values()]
        for given in (counts, np.array(counts), dict(enumerate(counts))):
            assert (
                rl.evaluate_scores(scores, labels, sizes=sizes, measures="R@2", relevant=given)[
                    "R@2"
                ].tolist()
                == rl.evaluate(qrels, run, "R@2")["R@2"].tolist()
            )


def test_what_a_first_stage_missed_is_not_forgotten():
    scores, labels, queries = [0.9, 0.2, 0.5], [0, 1, 1], ["a", "a", "b"]
    with pytest.warns(
        rl.RankLensWarning, match=r"R@100 and AP take the labelled documents .* pass relevant="
    ):
        assert rl.evaluate_scores(scores, labels, queries, "R@100, AP, P@1, RR").mean["R@100"] == 1
    qrels = {"a": {"x": 1, "y": 1, "n": 0}, "b": {"z"}, "c": {"z"}}
    found = rl.evaluate_scores(scores, labels, queries, "R@100", relevant=qrels)
    assert dict(zip(found.queries, found["R@100"], strict=True)) == {"a": 0.5, "b": 1, "c": 0}
    only = rl.evaluate_scores(scores, labels, queries, "R@100", relevant=qrels, missing="skip")
    assert only["R@100"].tolist() == [0.5, 1]
    for counts in ([2, 1], np.array([2.0, 1.0]), {"b": 1, "a": 2}, pd.Series({"b": 1, "a": 2})):
        assert rl.evaluate_scores(scores, labels, queries, "R@100", relevant=counts)["R@100"].tolist() == [
            0.5,
            1,
        ]
    counted = rl.evaluate_scores(scores, labels, queries, "R@100", relevant={"a": 2, "b": 1, "c": 1})
    assert dict(zip(counted.queries, counted["R@100"], strict=True)) == {"a": 0.5, "b": 1, "c": 0}
    lowest = next(iter(found.failing().rows[1:]))
    assert lowest.expected == ("1", "unscored 1")
    assert "1 of 2 relevant in the top 100" in str(found.failing())
    unjudged = rl.evaluate_scores(scores, [0, 1, 0], queries, "R@100", relevant={"a": {"x", "y"}})
    assert (unjudged.queries, unjudged["R@100"].tolist()) == (["a"], [0.5])
    assert unjudged.judged.applied.ignored == 1


@pytest.mark.parametrize("measure", ["R(rel=2)@5", "AP(rel=3)", "nDCG@5"])
def test_labels_taken_for_all_there_is_are_reported_at_every_relevance_level(measure):
    with pytest.warns(rl.RankLensWarning, match="pass relevant="):
        rl.evaluate_scores([0.9, 0.2], [0, 3], ["a", "a"], measure)


def test_a_depth_curve_by_masks_keeps_its_denominator():
    """Two relevant documents, at places 1 and 3 of the first stage."""
    scores, labels = np.array([[0.1, 0.9, 0.8, 0.2]]), np.array([[1, 0, 1, 0]])
    curve = [
        rl.evaluate_scores(scores, labels, measures="R", mask=[np.arange(4) < depth], relevant="labels").mean[
            "R"
        ]
        for depth in (1, 2, 3, 4)
    ]
    assert curve == [0.5, 0.5, 1.0, 1.0]
    meter = training.Meter("R")
    meter.update(scores, labels, mask=[[True, True, False, False]])
    assert meter.compute("labels").mean == {"R": 0.5}
    with pytest.warns(rl.RankLensWarning, match="R takes the labelled documents for all relevant ones"):
        meter.compute()
    assert meter.compute([4]).mean == {"R": 0.25}


def test_relevant_that_contradicts_the_labels_is_refused():
    for labels, relevant, message in (
        ([1, 1], [1], "Query 'q' has 2 documents with label 1, but relevant has 1 for it"),
        ([1, 0], {"q": {"a": 2}}, "Query 'q' has 1 document with label 1, but relevant has 0 for it"),
        ([2, 1], [5], "labels have grades up to 2"),
        ([1, 0], [1, 2], "relevant has 2 numbers for 1 query"),
        ([1, 0], {"p": 1}, "relevant has no number for query 'q'"),
        ([1, 0], [-1], "at least 0"),
        ([1, 0], [{"a"}], r"relevant is a list; .* dict\(enumerate"),
        ([1, 0], 3, "relevant is an int"),
    ):
        with pytest.raises(rl.InputError, match=message):
            rl.evaluate_scores([0.9, 0.1], labels, ["q", "q"], "R", relevant=relevant)
