"""The rankings that people look at stand in the order that measures use."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ranklens as rl
from ranklens.judging import dicts
from ranklens.judging.documents import judgments, ranking

NAN = float("nan")
IDS = st.sampled_from([*"abcdefgh", "é", "10", "9"])
SCORES = st.sampled_from([0.5, 1.0, 2.0, -1.0, float("inf"), -float("inf"), NAN])
# Repeated documents, ties and NaN: everything that a policy decides about.
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(st.tuples(IDS, SCORES), max_size=12))
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2"]), st.dictionaries(IDS, st.integers(-1, 3), min_size=1), min_size=1
)
SCHEMA = {"query": pl.String, "doc": pl.String, "score": pl.Float64}


def as_dicts(run):
    return {
        q: dict(pairs) if len({doc for doc, _ in pairs}) == len(pairs) else pairs for q, pairs in run.items()
    }


def as_table(run):
    rows = [(q, doc, score) for q, pairs in run.items() for doc, score in pairs]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def as_mixed_table(run):
    """Rows that do not stand query by query."""
    table = as_table(run)
    return table.with_columns(place=pl.int_range(pl.len()).over("query")).sort("place", maintain_order=True)


SHAPES = {"dicts": as_dicts, "table": as_table, "mixed table": as_mixed_table}


def shown(table):
    """Query, rank and grade of the judged documents."""
    return table.filter(pl.col("grade").is_not_null()).select("query", "rank", "grade").rows()


def ranked(judged):
    """The same as measures see it, with the share of a document that stands there."""
    hits = judged.hits
    shares = np.ones(len(hits)) if hits.spread is None else hits.spread.share
    columns = (hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), shares.tolist())
    return [(judged.queries[q], rank, grade, share) for q, rank, grade, share in zip(*columns, strict=True)]


@pytest.fixture(params=[64, 0], ids=["by counting", "by sorting"])
def way_through_dicts(request, monkeypatch):
    """Queries with more judgments than this are sorted, where the run is shorter."""
    monkeypatch.setattr(dicts, "_SHORT", request.param)


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@pytest.mark.usefixtures("way_through_dicts")
@pytest.mark.parametrize("shape", SHAPES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    QRELS,
    RUNS,
    st.sampled_from(["descending", "ascending", "input"]),
    st.booleans(),
    st.none() | st.integers(1, 5),
)
def test_judged_documents_have_the_ranks_that_measures_use(shape, qrels, run, ties, judged_only, depth):
    options = {"ties": ties, "judged_only": judged_only, "depth": depth, "nan": "last"}
    given_run = SHAPES[shape](run)
    expected = ranked(rl.judge(qrels, given_run, **options))
    assert [(*row, 1.0) for row in shown(ranking(qrels, given_run, **options))] == expected
    assert ranked(rl.judge(qrels, as_table(run), **options)) == expected


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@pytest.mark.usefixtures("way_through_dicts")
@pytest.mark.parametrize("shape", SHAPES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(QRELS, RUNS, st.booleans())
def test_averaged_ties_are_shown_at_a_rank_that_they_can_have(shape, qrels, run, judged_only):
    options = {"ties": "average", "judged_only": judged_only, "nan": "last"}
    given_run = SHAPES[shape](run)
    possible = ranked(rl.judge(qrels, given_run, **options))
    rows = shown(ranking(qrels, given_run, **options))
    assert {*rows} <= {row[:3] for row in possible}
    assert len(rows) == pytest.approx(sum(share for *_, share in possible))


MESSY = {
    "a NaN score": ({"q": [("x", 1.0), ("a", NAN)]}, {}, rl.InputError, "the score of document 'a' for query 'q' is nan, not a number. Remove it, or choose nan=\"last\"."),
    "a repeated document": ({"q": [("a", 1.0), ("x", NAN), ("a", 2.0)]}, {"nan": "last", "duplicates": "error"}, rl.PolicyError, "document 'a' of query 'q' appears twice. Remove one, or choose duplicates=\"first\"."),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSY)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_error_however_rankings_are_given_and_whoever_reads_them(shape, case):
    pairs, options, kind, message = MESSY[case]
    run = SHAPES[shape](pairs)
    for read in (rl.judge, ranking, lambda *given, **how: rl.explain("RR", *given, query="q", **how)):
        with pytest.raises(kind) as error:
            read({"q": {"a": 1}}, run, **options)
        assert str(error.value) == f"run: {message}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pairs", [[("a", NAN), ("a", 2.0)], [("a", 2.0), ("a", NAN)]])
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_nan_that_a_better_score_replaces_does_no_harm(shape, pairs):
    run = SHAPES[shape]({"q": [("b", 1.0), *pairs]})
    assert rl.judge({"q": {"a": 1}}, run).hits.rank.tolist() == [1]
    assert ranking({"q": {"a": 1}}, run)["doc"].to_list() == ["a", "b"]


def test_what_is_no_score_is_refused_by_name():
    for read in (rl.judge, ranking):
        with pytest.raises(rl.InputError, match=r"document 'a' for query 'q' is None, not a number\.$"):
            read({"q": {"a": 1}}, {"q": {"a": None}})


def test_an_iterator_is_read_once():
    assert ranking({"q": {"a"}}, {"q": iter(["b", "a"])})["doc"].to_list() == ["b", "a"]


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
    with pytest.raises(rl.PolicyError, match="'a' of query 'q' appears twice"):
        ranking({"q": {"a"}}, {"q": ["a", "a"]}, duplicates="error")
    with pytest.raises(rl.InputError, match="'a' for query 'q' is nan, not a number"):
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
