"""Which queries and which documents made the difference."""

import polars as pl
import pytest

import ranklens as rl

QRELS = {"q1": {"a": 2, "b": 1, "z": 1, "n": 0}, "q2": {"a": 1}, "q3": {"a": 1}}
OLD = {"q1": ["b", "x", "c", "a", "d"], "q2": ["a", "b"], "q3": ["b", "a"]}
NEW = {"q1": ["a", "x", "b", "y", "c"], "q2": ["b", "a"], "q3": ["a", "b"]}


@pytest.fixture(scope="module")
def found():
    return rl.compare(QRELS, {"old": OLD, "new": NEW}, "RR, P@1")


def test_queries_come_by_difference(found):
    table = found.queries("RR", "old", "new")
    assert table.columns == ["query", "old", "new", "difference"]
    assert table.rows() == [("q2", 1, 0.5, -0.5), ("q1", 1, 1, 0), ("q3", 0.5, 1, 0.5)]
    turned = found.queries("mrr", "new", "old")
    assert turned["difference"].to_list() == [-0.5, 0, 0.5]
    assert turned["query"].to_list() == ["q3", "q1", "q2"]


def test_queries_know_their_slice():
    found = rl.compare(QRELS, {"old": OLD, "new": NEW}, "RR", by={"q1": "x", "q2": "y"})
    assert found.queries("RR").select("query", "slice").rows() == [("q2", "y"), ("q1", "x"), ("q3", "(none)")]


def test_the_default_pair_is_the_baseline_and_the_best_other():
    runs = {"old": OLD, "worse": {"q1": ["x"], "q2": ["x"], "q3": ["x", "a"]}, "new": NEW}
    assert rl.compare(QRELS, runs, "RR").queries("RR").columns[1:3] == ["old", "new"]
    assert rl.compare(QRELS, runs, "RR", baseline="worse").queries("RR").columns[1] == "worse"


def test_documents_side_by_side(found):
    table = found.documents("q1", "old", "new", depth=3)
    assert table.columns == ["doc", "grade", "rank_old", "rank_new", "change"]
    assert table.rows() == [
        ("a", 2, 4, 1, "new"),  # it was there, but below the first three
        ("x", None, 2, 2, "same"),
        ("b", 1, 1, 3, "down"),
        ("c", None, 3, 5, "lost"),
        ("z", 1, None, None, "missed"),
    ]
    assert found.documents("q1", "new", "old", depth=5).filter(pl.col("doc") == "b")["change"].item() == "up"


def test_missed_documents_are_those_that_the_policy_calls_relevant():
    found = rl.compare(QRELS, {"old": OLD, "new": NEW}, "RR", rel=2)
    assert "z" not in found.documents("q1", depth=2)["doc"].to_list()


def test_ranks_follow_the_policy():
    tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}}
    runs = {"one": tied, "two": tied}
    assert rl.compare(QRELS, runs, "RR").documents("q1")["doc"].to_list()[:2] == ["b", "a"]
    assert rl.compare(QRELS, runs, "RR", ties="ascending").documents("q1")["doc"].to_list()[:2] == ["a", "b"]


def test_documents_from_files(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\n")
    (tmp_path / "one.txt").write_text("q1 Q0 a 1 2.0 one\nq1 Q0 b 2 1.0 one\n")
    (tmp_path / "two.txt").write_text("q1 Q0 b 1 2.0 two\nq1 Q0 a 2 1.0 two\n")
    runs = {"one": tmp_path / "one.txt", "two": str(tmp_path / "two.txt")}
    found = rl.compare(tmp_path / "qrels.txt", runs, "RR")
    assert found.documents("q1").rows() == [("b", 0, 2, 1, "up"), ("a", 1, 1, 2, "down")]


def test_system_names_that_are_column_names():
    found = rl.compare(QRELS, {"query": OLD, "difference": NEW}, "RR")
    assert found.queries("RR").columns == ["query", "query (system)", "difference (system)", "difference"]


def test_what_cannot_be_shown_is_explained(found):
    values = rl.compare_scores(found.scores)
    with pytest.raises(
        rl.InputError, match="The ranking of old is unknown, because only its values were given"
    ):
        values.documents("q1")
    with pytest.raises(rl.InputError, match="There is no query 'q11' among those compared: did you mean"):
        found.documents("q11")
    with pytest.raises(rl.InputError, match="depth=0 is not allowed"):
        found.documents("q1", depth=0)
