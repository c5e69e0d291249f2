"""Systems are aligned by query id, whatever their values were made with."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytrec_eval

import ranklens as rl
from ranklens.comparison.alignment import align

QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1}, "q3": {"c": 1}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}, "q3": {"a": 1.0}}


def test_every_shape_gives_the_same_values():
    scores = rl.evaluate(QRELS, RUN, ["RR", "P@1"])
    frame = scores.per_query
    shapes = {
        "scores": scores,
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": frame.to_pandas(),
        "indexed": scores.to_pandas(),
        "arrow": frame.to_arrow(),
        "pytrec_eval": pytrec_eval.RelevanceEvaluator(QRELS, {"recip_rank", "P_1"}).evaluate(RUN),
    }
    aligned = align(shapes)
    assert aligned.query_ids == ("q1", "q2", "q3")
    assert [q.name for q in aligned.quantities] == ["RR", "P@1"]
    for row in aligned.values["RR"]:
        assert row.tolist() == [1, 0.5, 0]
    for row in aligned.values["P@1"]:
        assert row.tolist() == [1, 0, 0]


def test_queries_are_found_by_id_not_by_place():
    one = pl.DataFrame({"query": ["q1", "q2"], "RR": [0.1, 0.2]})
    other = pl.DataFrame({"query_id": ["q2", "q1"], "RR": [0.2, 0.1]})
    assert align({"a": one, "b": other}).values["RR"].tolist() == [[0.1, 0.2], [0.1, 0.2]]


def test_whole_numbers_are_ids_too():
    one = pd.DataFrame({"qid": [10, 2], "RR": [0.1, 0.2]})
    assert (
        align({"a": one, "b": {"2": {"RR": 0.2}, "10": {"RR": 0.1}}}).values["RR"].tolist()
        == [[0.1, 0.2]] * 2
    )


@pytest.mark.parametrize("policy", ["zero", "skip", "error", None])
def test_a_query_that_a_system_lacks_follows_the_policy(policy):
    given = {"a": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}, "b": {"q2": {"RR": 0.25}}}
    if policy == "error":
        with pytest.raises(rl.PolicyError, match=r"b lacks 1 query that another system has \(first: 'q1'\)"):
            align(given, missing=policy)
        return
    aligned = align(given, missing=policy)
    assert aligned.missing == {"b": 1}
    if policy == "skip":
        assert (aligned.query_ids, aligned.left_out) == (("q2",), 1)
        assert aligned.values["RR"].tolist() == [[0.5], [0.25]]
    else:
        assert (aligned.query_ids, aligned.left_out) == (("q1", "q2"), 0)
        assert aligned.values["RR"].tolist() == [[1, 0.5], [0, 0.25]]


def test_what_was_done_about_missing_queries_is_counted_and_printed():
    runs = {"a": RUN, "b": {"q1": RUN["q1"]}}
    zero = str(rl.compare(QRELS, runs, "RR"))
    assert "Judged queries missing from a run score 0: 2 for b." in zero
    assert "b: 3 queries averaged (2 missing from the run count as 0)" in zero
    skip = rl.compare(QRELS, runs, "RR", missing="skip")
    assert skip.query_ids == ("q1",)
    assert "Left out because a system lacks them: 2 queries (2 for b)." in str(skip)
    assert "1 query compared, which all systems have" in str(skip)
    with pytest.raises(rl.PolicyError, match="not in the run"):
        rl.compare(QRELS, runs, "RR", missing="error")
    values = {"a": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}, "b": {"q2": {"RR": 0.25}}}
    assert "Queries that a system lacks and others have score 0: 1 for b." in str(rl.compare_scores(values))


def test_measures_that_not_all_have_are_left_out_and_named():
    given = {"a": {"q": {"RR": 1.0, "mine": 0.5}}, "b": {"q": {"RR": 1.0}}}
    found = rl.compare_scores(given)
    assert found.measures == ("RR",)
    assert "Left out, because not every system has them: mine." in found.cautions
    with pytest.raises(rl.MeasureError, match="b: there is no mine: choose from 'RR'"):
        rl.compare_scores(given, "mine")
    with pytest.raises(rl.MeasureError, match="no measure in common"):
        rl.compare_scores({"a": {"q": {"RR": 1.0}}, "b": {"q": {"AP": 1.0}}})


def test_columns_that_are_no_measure_of_the_registry():
    given = {name: {"q1": {"Faithfulness": 0.7}, "q2": {"Faithfulness": 3.0}} for name in "ab"}
    found = rl.compare_scores(given, "Faithfulness")
    assert found.result("Faithfulness", "a").mean == 1.85
    assert not found.result("Faithfulness", "a").interval.clipped  # nobody knows its range


def test_scores_can_be_asked_for_more_measures():
    scores = rl.evaluate(QRELS, RUN, "RR")
    found = rl.compare(QRELS, {"old": scores, "new": RUN}, "AP, nDCG@5")
    assert found.values("AP")[0].tolist() == found.values("AP")[1].tolist()


def test_different_judgments_are_refused():
    scores = rl.evaluate(QRELS, RUN, "RR")
    other_grades = rl.evaluate({**QRELS, "q2": {"a": 1, "z": 1}}, RUN, "RR")
    with pytest.raises(
        rl.InputError, match="one and two were evaluated with different judgments: query 'q2' has different"
    ):
        rl.compare_scores({"one": scores, "two": other_grades})
    with pytest.warns(rl.MismatchWarning, match="the run has 2 queries that are not judged"):
        other_queries = rl.evaluate({"q1": QRELS["q1"], "q9": {"a": 1}}, RUN, "RR")
    with pytest.raises(rl.InputError, match="query 'q2' is judged for only one of them"):
        rl.compare_scores({"one": scores, "two": other_queries})


def test_queries_in_another_order_are_the_same_judgments():
    turned = dict(reversed(QRELS.items()))
    found = rl.compare_scores({"a": rl.evaluate(QRELS, RUN, "RR"), "b": rl.evaluate(turned, RUN, "RR")})
    assert found.pairs[0].ties == 3


def test_different_policies_are_told():
    tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"b": 2.0}, "q3": {"a": 1.0}}
    found = rl.compare_scores(
        {"one": rl.evaluate(QRELS, tied, "RR"), "two": rl.evaluate(QRELS, tied, "RR", ties="average")}
    )
    assert (
        "The systems were evaluated with different policies: ties is descending for one; average for two."
        in found.cautions
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Nothing to compare; pass at least one system"),
        ({"a": 3}, "a is an int; give Scores, a table"),
        ({"a": {"q1": 0.5}}, "a: expected {query: {measure: value}}"),
        ({"a": {"q1": {"RR": "high"}}}, "a: a value of RR is 'high', not a number"),
        ({"a": {"q1": {"RR": float("nan")}}}, "a: RR of query 'q1' is not a number"),
        (
            {"a": {"q1": {"ndcg_cut_10": 43.1}}},
            "a: nDCG@10 of query 'q1' is 43.1, but must be between 0 and 1. If it is a percentage",
        ),
        ({"a": {"q1": {"RR": 1.0}, "q2": {}}}, "a: RR of query 'q2' is not a number"),
        ({"a": pl.DataFrame({"query": ["q1", "q1"], "RR": [1.0, 0.5]})}, "a: query 'q1' appears twice"),
        (
            {"a": pl.DataFrame({"query": ["q1"], "RR": [None]}, schema_overrides={"RR": pl.Float64})},
            "RR of query 'q1'",
        ),
        ({"a": pl.DataFrame({"query": [None], "RR": [1.0]})}, "a: row 1: the query is missing"),
        ({"a": pl.DataFrame({"query": [1.5], "RR": [1.0]})}, "contains floating-point numbers"),
        ({"a": pl.DataFrame({"text": ["x"], "RR": [1.0]})}, "a: no query among the columns"),
        ({"a": {"q1": {"RR": 1.0}}, "b": {"x1": {"RR": 1.0}}}, "have no queries in common"),
    ],
)
def test_wrong_values_are_refused_by_name(given, message):
    with pytest.raises(rl.RankLensError, match=message.replace("{", r"\{")):
        align(given, missing="skip")


@pytest.mark.parametrize(
    ("qrels", "runs", "message"),
    [
        (QRELS, [RUN], "The systems are a list; pass {name: run}"),
        (QRELS, {}, "Nothing to compare; pass at least one system"),
        (None, {"a": RUN}, "a is a run, but there are no judgments"),
        (QRELS, {1: RUN, "1": RUN}, "Two systems have the same name"),
        (QRELS, {"a": 3}, "run is an int"),
    ],
)
def test_wrong_runs_are_refused_by_name(qrels, runs, message):
    with pytest.raises(rl.InputError, match=message.replace("{", r"\{")):
        rl.compare(qrels, runs, "RR")


def test_nothing_is_changed():
    frame = pl.DataFrame({"query": ["q1", "q2"], "RR": [0.1, 0.2]})
    copy = frame.clone()
    found = rl.compare_scores({"a": frame, "b": frame})
    assert frame.equals(copy)
    assert isinstance(found.values("RR"), np.ndarray)


def test_arrow_tables_are_read():
    table = pa.table({"query": ["q1", "q2"], "RR": [0.1, 0.2]})
    assert align({"a": table}).values["RR"].tolist() == [[0.1, 0.2]]


def test_values_that_cannot_be_squared_are_refused():
    small = {"q1": {"x": 0.1}, "q2": {"x": 0.2}}
    with pytest.raises(rl.InputError, match=r"A: x of query 'q2' is -1e\+200; values go up to 1e\+60"):
        rl.compare_scores({"A": {"q1": {"x": 1.0}, "q2": {"x": -1e200}}, "B": small})


def test_a_table_of_values_does_not_say_its_policies(tmp_path):
    scores = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a"], "q2": ["x", "b"]}, "RR", missing="skip")
    scores.per_query.write_csv(tmp_path / "old.csv")
    old = rl.read_scores(tmp_path / "old.csv")["old"]
    told = "The policies behind old are not known: a table of values does not say."
    assert told in rl.compare_scores({"old": old, "new": scores}).cautions
    assert not any("policies" in one for one in rl.compare_scores({"old": old, "older": old}).cautions)
