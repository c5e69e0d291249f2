"""The rankings that people look at stand in the order that measures use."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.judging.documents import judgments, ranking

IDS = st.sampled_from([*"abcdefgh", "é", "10", "9"])
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(IDS, st.sampled_from([0.5, 1.0, 2.0, -1.0]))
)
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2"]), st.dictionaries(IDS, st.integers(-1, 3), min_size=1), min_size=1
)


def judged_ranks(table):
    return table.filter(pl.col("grade").is_not_null()).select("query", "rank", "grade").rows()


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@pytest.mark.parametrize("as_frame", [False, True])
@given(
    QRELS,
    RUNS,
    st.sampled_from(["descending", "ascending", "input"]),
    st.booleans(),
    st.none() | st.integers(1, 5),
)
def test_judged_documents_have_the_ranks_that_measures_use(as_frame, qrels, run, ties, judged_only, depth):
    if as_frame:
        rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
        run = pl.DataFrame(
            rows, schema={"query": pl.String, "doc": pl.String, "score": pl.Float64}, orient="row"
        )
    options = {"ties": ties, "judged_only": judged_only, "depth": depth}
    judged = rl.judge(qrels, run, **options)
    hits = judged.hits
    expected = [
        (judged.queries[q], r, g)
        for q, r, g in zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)
    ]
    assert judged_ranks(ranking(qrels, run, **options)) == expected


def test_queries_can_be_chosen_and_keep_the_order_of_the_judgments():
    qrels = {"q2": {"a"}, "q1": {"b"}}
    run = {"q1": ["b", "a"], "q2": ["a"], "other": ["a"]}
    assert ranking(qrels, run)["query"].to_list() == ["q2", "q1", "q1"]
    assert ranking(qrels, run, queries=["q1"])["doc"].to_list() == ["b", "a"]


def test_repeats_and_ties_are_told():
    table = ranking({"q": {"a"}}, {"q": [("a", 1), ("b", 2), ("a", 2), ("c", 0)]})
    assert table.select("doc", "rank", "repeats", "tied").rows() == [
        ("b", 1, 0, True),
        ("a", 2, 1, True),
        ("c", 3, 0, False),
    ]


def test_what_a_policy_forbids_is_refused():
    with pytest.raises(rl.PolicyError, match="'a' of query 'q' is there twice"):
        ranking({"q": {"a"}}, {"q": ["a", "a"]}, duplicates="error")
    with pytest.raises(rl.PolicyError, match="'a' for query 'q' is not a number"):
        ranking({"q": {"a"}}, {"q": {"a": float("nan"), "b": 1}})
    table = ranking({"q": {"a"}}, {"q": {"a": float("nan"), "b": 1}}, nan="last")
    assert table["doc"].to_list() == ["b", "a"]


def test_paths_are_read(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n")
    assert ranking(tmp_path / "qrels", str(tmp_path / "run"))["doc"].to_list() == ["b", "a"]


def test_of_a_repeated_judgment_the_highest_grade_counts():
    table = pl.DataFrame({"query": ["q2", "q1", "q2"], "doc": ["a", "b", "a"], "grade": [1, 1, 2]})
    assert judgments(table).rows() == [("q2", "a", 2.0), ("q1", "b", 1.0)]
