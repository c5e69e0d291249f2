"""Policies, input shapes and errors: what :func:`ranklens.judge` decides."""

import json
import warnings
from collections import OrderedDict, defaultdict
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ranklens as rl

QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
RUN = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"c": 1.0}}


def ranks(qrels, run, **policy):
    judged = rl.judge(qrels, run, **policy)
    return {
        (judged.queries[q], int(r)): g
        for q, r, g in zip(judged.hits.query, judged.hits.rank, judged.hits.grade, strict=True)
    }


def test_hits_are_sorted_by_query_then_rank():
    rng = np.random.default_rng(0)
    qrels = {f"q{i}": {f"d{j}": int(rng.integers(0, 3)) for j in range(200)} for i in range(30)}
    for scores in (rng.random, lambda n: rng.integers(0, 9, n).astype(float)):
        run = {q: dict(zip((f"d{j}" for j in rng.permutation(300)), scores(300), strict=True)) for q in qrels}
        hits = rl.judge(qrels, run).hits
        assert (np.diff(hits.query * 1000 + hits.rank) > 0).all()


def test_ties_in_the_four_ways():
    run = {"q": {"B": 1, "a": 1, "é": 1, "10": 1, "9": 1}}
    qrels = {"q": {"a": 1, "10": 2, "é": 3}}
    assert ranks(qrels, run) == {("q", 1): 3, ("q", 2): 1, ("q", 5): 2}  # é a B 9 10, descending bytes
    assert ranks(qrels, run, ties="ascending") == {("q", 1): 2, ("q", 4): 1, ("q", 5): 3}
    assert ranks(qrels, run, ties="input") == {("q", 2): 1, ("q", 3): 3, ("q", 4): 2}
    assert rl.evaluate(qrels, run, "P@1", ties="average").mean["P@1"] == pytest.approx(0.6)


def test_ties_across_the_cutoff_are_told():
    scores = rl.evaluate({"q": {"a"}}, {"q": {"a": 1, "b": 1, "c": 1, "d": 2}}, ["P@2", "P@5"])
    assert "judged documents tie in 1 query, across the cutoff 2 in 1" in scores.note


def test_missing_queries():
    run = {"q1": RUN["q1"]}
    assert rl.evaluate(QRELS, run, "RR").mean["RR"] == 0.5
    assert rl.evaluate(QRELS, run, "RR", missing="skip").mean["RR"] == 1
    with pytest.raises(rl.PolicyError, match=r"1 judged query is not in the run \(first: 'q2'\)"):
        rl.evaluate(QRELS, run, "RR", missing="error")
    empty = rl.judge(QRELS, {**run, "q2": {}}, missing="skip")  # an empty answer is not a missing one
    assert list(empty.queries) == ["q1", "q2"]


def test_unjudged_queries():
    run = {**RUN, "q9": {"a": 1.0}}
    judged = rl.judge(QRELS, run)
    assert judged.applied.ignored == 1
    assert list(judged.queries) == ["q1", "q2"]
    with pytest.raises(rl.PolicyError, match=r"1 query of the run is not judged \(first: 'q9'\)"):
        rl.judge(QRELS, run, unjudged_queries="error")


def test_queries_without_relevant_documents():
    qrels = {**QRELS, "q3": {"a": 0}, "q4": {}}
    run = {**RUN, "q3": {"a": 1.0}, "q4": {"a": 1.0}}
    assert rl.evaluate(qrels, run, "RR").mean["RR"] == 0.5
    skipped = rl.evaluate(qrels, run, "RR", empty="skip")
    assert (skipped.mean["RR"], skipped.judged.applied.empty, list(skipped.queries)) == (1, 2, ["q1", "q2"])


def test_duplicates_count_once_at_their_best_place():
    for run in ({"q": ["a", "b", "a", "c"]}, {"q": [("a", 4), ("b", 3), ("a", 9), ("c", 1)]}):
        with pytest.warns(
            rl.RankLensWarning,
            match="1 repeated document was dropped \\(first: document 'a' of query 'q'\\)",
        ):
            scores = rl.evaluate({"q": {"a", "c"}}, run, ["R", "nDCG", "P@3"])
        assert scores.mean == pytest.approx({"R": 1, "nDCG": (1 + 0.5) / (1 + 1 / np.log2(3)), "P@3": 2 / 3})
        assert "1 repeated document dropped" in scores.note
        with pytest.raises(rl.PolicyError, match="appears twice"):
            rl.evaluate({"q": {"a"}}, run, "R", duplicates="error")


def test_duplicates_in_tables_and_judgments():
    run = pl.DataFrame({"query": ["q"] * 4, "doc": list("abac"), "score": [4.0, 3, 9, 1]})
    with pytest.warns(rl.RankLensWarning, match="run: 1 repeated"):
        assert ranks({"q": {"a": 1, "c": 2}}, run) == {("q", 1): 1, ("q", 3): 2}
    with pytest.warns(rl.RankLensWarning, match="qrels: 1 repeated"):
        assert rl.judge({"q": ["a", "b", "a"]}, {"q": ["a"]}).ideal.grade.tolist() == [1, 1]
    gold = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "a"], "grade": [1, 2]})
    for ranking in (run.head(2), {"q": ["a"]}):
        with pytest.warns(rl.RankLensWarning, match="qrels: 1 repeated"):
            assert rl.judge(gold, ranking).ideal.grade.tolist() == [2]


def test_nan_scores():
    run = {"q": {"a": float("nan"), "b": 1.0, "c": float("-inf"), "d": float("nan")}}
    table = pl.DataFrame({"query": ["q"] * 4, "doc": list(run["q"]), "score": list(run["q"].values())})
    for ranking in (run, table):
        with pytest.raises(rl.InputError, match=r"the score of document 'a' for query 'q' is .*nan=\"last\""):
            rl.judge({"q": {"a": 1, "c": 2}}, ranking)
        assert ranks({"q": {"a": 1, "c": 2}}, ranking, nan="last") == {("q", 2): 2, ("q", 4): 1}
    long = {"q": {**dict.fromkeys(map(str, range(200)), 1.0), "a": None}}
    with pytest.raises(rl.InputError, match="document 'a' for query 'q' is None"):
        rl.judge({"q": {"a"}}, long, nan="last")


def test_infinite_scores_are_scores():
    assert ranks({"q": {"a": 1, "b": 2}}, {"q": {"a": float("-inf"), "x": 0.0, "b": float("inf")}}) == {
        ("q", 1): 2,
        ("q", 3): 1,
    }


def test_depth_and_judged_only():
    run = {"q": ["x", "a", "y", "b", "c"]}
    qrels = {"q": {"a": 1, "b": -1, "c": 2}}
    assert ranks(qrels, run, depth=4) == {("q", 2): 1, ("q", 4): -1}
    assert ranks(qrels, run, judged_only=True) == {("q", 1): 1, ("q", 2): 2}
    assert rl.judge(qrels, run, judged_only=True).retrieved.tolist() == [2]
    assert rl.judge(qrels, run, depth=2).retrieved.tolist() == [2]
    one_by_one = rl.evaluate(qrels, run, ["RR", "RR(judged_only=true)"]).mean
    assert one_by_one == {"RR": 0.5, "RR(judged_only=true)": 1}


def test_float_and_negative_grades():
    qrels = {"q": {"a": 0.5, "b": 1.5, "c": -2, "d": 0}}
    run = {"q": ["c", "a", "b", "d"]}
    scores = rl.evaluate(
        qrels, run, ["DCG", "nDCG", "P@3", "P(rel=0.5)@3", "NumRel", "Judged", "ERR", "relstring"]
    )
    dcg = 0.5 / np.log2(3) + 1.5 / np.log2(4)
    ideal = 1.5 + 0.5 / np.log2(3)
    assert scores.mean == pytest.approx(
        {
            "DCG": dcg,
            "nDCG": dcg / ideal,
            "P@3": 1 / 3,
            "P(rel=0.5)@3": 2 / 3,
            "NumRel": 1,
            "Judged": 0.75,
            "ERR": scores.mean["ERR"],
        }
    )
    assert scores["relstring"].tolist() == [".010"]


def test_many_grades_sort_as_few():
    rng = np.random.default_rng(1)
    for grades in (rng.integers(0, 200, 50), rng.random(50) * 3, rng.integers(-3, 3, 50), [10**6, 0, 3]):
        gold = {f"d{i}": g for i, g in enumerate(np.asarray(grades).tolist())}
        ideal = rl.judge({"q": gold, "r": {"x": 1}}, {"q": ["d0"]}).ideal
        assert ideal.grade[ideal.query == 0].tolist() == sorted(gold.values(), reverse=True)
        assert ideal.rank.tolist() == [*range(1, len(gold) + 1), 1]


def test_shapes_of_judgments_and_runs():
    expected = ranks({"q": {"a": 1, "b": 1}}, {"q": {"a": 2, "x": 1.5, "b": 1}})
    for qrels in ({"q": {"a", "b"}}, {"q": ["a", "b"]}, {"q": ("a", "b")}, {"q": frozenset("ab")}, {"q": {"a": True, "b": np.int8(1)}},
                  {"q": [("a", 1), ("b", 1)]}, OrderedDict(q=OrderedDict(a=1, b=1)), MappingProxyType({"q": MappingProxyType({"a": 1, "b": 1})}),
                  {"q": pd.Series(["a", "b"])}, {"q": {"a": Decimal(1), "b": 1.0}}):  # fmt: skip
        for run in ({"q": ["a", "x", "b"]}, {"q": ("a", "x", "b")}, {"q": np.array(["a", "x", "b"])}, {"q": iter(["a", "x", "b"])},
                    {"q": [("b", 1), ("x", 1.5), ("a", 2)]}, {"q": [["b", 1], ["x", 1.5], ["a", 2]]}, defaultdict(dict, q={"b": 1, "a": 2, "x": 1.5}),
                    {"q": {"b": np.float32(1), "a": Decimal(2), "x": 1.5}}):  # fmt: skip
            assert ranks(qrels, run) == expected


def test_shapes_may_be_mixed_where_queries_have_many_judgments():
    """Such queries are sorted one by one, which takes dicts; the others have to be noticed."""
    many = {f"d{i}": 1 for i in range(200)}
    for qrels in ({"q": many, "r": many}, {"q": many, "r": set(many)}):
        for run in ({"q": {"d1": 1.0}, "r": ["x", "d2"]}, {"q": {"d1": 1.0}, "r": [("d2", 1), ("x", 2)]}):
            assert ranks(qrels, run) == {("q", 1): 1, ("r", 2): 1}


def test_ids_are_compared_as_text():
    expected = {("7", 2): 3.0}
    for qrels in ({7: {1: 3}}, {"7": {"1": 3}}):
        for run in ({7: [2, 1]}, {"7": ["2", "1"]}, {7: {2: 9.0, 1: 8.0}}):
            assert ranks(qrels, run) == expected
    frame = pl.DataFrame({"qid": [7, 7], "docno": [2, 1], "score": [9, 8]})
    assert ranks({"7": {"1": 3}}, frame) == expected
    assert ranks(pd.DataFrame({"qid": [7], "docno": [1], "rel": [3]}), {"7": ["2", "1"]}) == expected


def test_nothing_mutates_its_input():
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 1.0, "a": float("nan")}, "r": {"a": 1.0}}
    before = json.dumps([qrels, run])
    rl.evaluate(qrels, run, ["nDCG"], nan="last", judged_only=True)
    assert json.dumps([qrels, run]) == before


def test_tables_with_other_column_names():
    run = pl.DataFrame({"query-id": ["q"], "corpus-id": ["a"], "score": [1.0]})
    gold = pl.DataFrame({"query-id": ["q"], "corpus-id": ["a"], "score": [2]})  # BEIR calls the grade a score
    assert ranks(gold, run) == {("q", 1): 2}
    by_rank = pd.DataFrame({"QID": ["q", "q"], "pid": ["x", "a"], "rank": [2, 1]})
    assert ranks(gold, by_rank) == {("q", 1): 2}
    odd = pa.table({"search": ["q"], "sku": ["a"], "stars": [3]})
    names = {"query": "search", "doc": "sku", "grade": "stars"}
    assert rl.judge(odd, {"q": ["a"]}, columns=names).hits.grade.tolist() == [3]
    assert ranks(gold.lazy(), run.lazy()) == {("q", 1): 2}
    assert ranks(pl.DataFrame({"query": ["q"], "doc": ["a"]}), run) == {("q", 1): 1}


def test_missing_ids_of_pandas_are_refused():
    run = pd.DataFrame({"query": ["q1", "q1"], "doc": ["a", None], "score": [1.0, 2.0]})
    with pytest.raises(rl.InputError, match="run: row 2: the doc is missing"):
        rl.judge(QRELS, run)


def test_none_never_matches_none():
    with pytest.raises(rl.InputError, match="None never matches"):
        rl.judge({"q": {None: 1}}, {"q": {None: 1.0}})


def test_other_document_ids_are_told():
    qrels = {f"q{i}": {f"doc{i}": 1} for i in range(6)}
    run = {f"q{i}": {str(i): 1.0} for i in range(6)}
    with pytest.warns(
        rl.RankLensWarning, match="None of the retrieved documents is judged .judged: 'doc0', retrieved: '0'"
    ):
        rl.judge(qrels, run)


def test_warnings_point_at_the_callers_line():
    with pytest.warns(rl.RankLensWarning) as caught:
        rl.evaluate({"q": {"a"}}, {"q": ["a", "a"]}, "RR")
    assert caught[0].filename == __file__


def test_errors_have_no_inner_traceback():
    with pytest.raises(rl.InputError) as error:
        rl.judge(QRELS, {"q1": {"a", "b"}})
    assert error.value.__context__ is None


WRONG_INPUT = [
    (QRELS, {"q1": [("a", "10")]}, "contains ('a', '10') where a document id, or a pair of id and number"),
    (QRELS, {"q1": [("a", 1, 2)]}, "contains ('a', 1, 2)"),
    (QRELS, pd.Series([1, 2]), "run is a Series"),
    ({"a": 1}, RUN, "qrels: query 'a' contains the int 1"),
    ({"q": "abc"}, RUN, "qrels: query 'q' contains the str 'abc'"),
    ({"q": None}, RUN, "qrels: query 'q' contains the NoneType None"),
    (QRELS, {"q1": {"a", "b"}}, "a set, which has no order"),
    (QRELS, {"q1": "ab"}, "run: query 'q1' contains the str 'ab'"),
    (QRELS, {"q1": [{"id": "a"}]}, "use ranklens.from_records"),
    (QRELS, {"q1": ["a", None]}, "run: query 'q1' contains None where a document id"),
    (QRELS, {"q1": [("a", 1), "b"]}, "mixes (document, number) pairs with 'b'"),
    (QRELS, {"q1": {"a": "high"}}, "run: the score of document 'a' for query 'q1' is 'high', not a number"),
    (QRELS, {"q1": {"a": [1]}}, "the score of document 'a'"),
    ({"q1": {"b": "1", "a": "high"}}, RUN, "qrels: the grade of document 'a' for query 'q1' is 'high', not a number"),
    ({"q1": {"a": None}}, RUN, "the grade of document 'a'"),
    ({"q1": {"a": float("nan")}}, RUN, "the grade of document 'a' for query 'q1' is nan"),
    ({"q1": {"a": float("inf")}}, RUN, "is inf, not a number"),
    ("no-such-file.txt", RUN, "no-such-file.txt does not exist"),
    (QRELS, [("q1", "a", 1)], "run is a list; pass a dict by query"),
    (QRELS, pl.DataFrame({"query": ["q1"], "score": [1.0]}), "run: no doc among the columns ['query', 'score']"),
    (QRELS, pl.DataFrame({"query": ["q1"], "doc": ["a"]}), "run: no score or rank"),
    (QRELS, pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": ["x"]}), "run: row 1: 'x' in column 'score' is not a number"),
    (QRELS, pl.DataFrame({"query": ["q1"], "doc": [None], "score": [1.0]}), "run: row 1: the doc is missing"),
    (QRELS, pl.DataFrame({"query": [1.5], "doc": ["a"], "score": [1.0]}), "contains floating-point numbers"),
    (pl.DataFrame({"query": ["q"], "doc": ["a"], "x": [1]}), pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1]}), "qrels: no grade"),
    (pl.DataFrame({"query": ["q"], "doc": ["a"], "rel": [None]}, schema_overrides={"rel": pl.Int64}), pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1]}), "is None, not a number"),
]  # fmt: skip


@pytest.mark.parametrize(("qrels", "run", "message"), WRONG_INPUT, ids=[case[2][:40] for case in WRONG_INPUT])
def test_wrong_input_gets_one_clear_error(qrels, run, message):
    with pytest.raises(rl.InputError) as error:
        rl.judge(qrels, run)
    assert message in str(error.value)


WRONG_POLICY = {
    "ties": "random",
    "missing": "drop",
    "empty": "two",
    "duplicates": "last",
    "nan": "first",
    "unjudged_queries": "skip",
    "depth": 0,
    "rel": 0,
    "judged_only": "yes",
}


@pytest.mark.parametrize(("name", "value"), WRONG_POLICY.items())
def test_wrong_policies_get_one_clear_error(name, value):
    with pytest.raises(rl.PolicyError, match=f"{name}={value!r} is not allowed"):
        rl.judge(QRELS, RUN, **{name: value})


def test_unknown_roles_of_columns_name_the_nearest():
    run = pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0]})
    with pytest.raises(rl.InputError, match="columns: there is no 'scoer': did you mean 'score'"):
        rl.judge(QRELS, run, columns={"scoer": "score"})
    with pytest.raises(rl.InputError, match="columns: doc should be sku or item, but the columns are"):
        rl.judge(QRELS, run, columns={"doc": ["sku", "item"]})
    assert rl.judge({"q": {"a"}}, run, columns={"doc": ["sku", "doc"]}).hits.rank.tolist() == [1]


def test_an_unknown_policy_names_the_nearest():
    with pytest.raises(rl.PolicyError, match="did you mean 'ties'"):
        rl.judge(QRELS, RUN, tie="average")


def test_no_common_query_is_told():
    with pytest.warns(rl.RankLensWarning, match="no query in common .judged: 'q1', in the run: 'Q1'"):
        rl.judge(QRELS, {"Q1": {"a": 1.0}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.judge(QRELS, {})


def test_empty_everything():
    with pytest.warns(rl.RankLensWarning, match="nothing to average"):
        scores = rl.evaluate({}, {}, ["nDCG@10", "NumQ", "gm_AP", "relstring"])
    assert scores.mean == {"nDCG@10": 0, "NumQ": 0, "gm_AP": 0}
    assert "0 queries averaged" in str(scores)


def test_a_million_rows():
    """Against a plain sort, with ties; as dicts and as a table."""
    rng = np.random.default_rng(7)
    queries, depth = 1000, 1000
    scores = rng.integers(0, 5000, (queries, depth)) / 8
    docs = [f"d{i}" for i in range(depth)]
    run = {f"q{q}": dict(zip(docs, scores[q].tolist(), strict=True)) for q in range(queries)}
    qrels = {f"q{q}": {f"d{i}": 1 for i in rng.integers(0, depth, 5)} for q in range(queries)}
    expected = []
    for q in range(queries):
        order = sorted(docs, key=lambda d: (run[f"q{q}"][d], d), reverse=True)
        expected.append(1 / (1 + min(map(order.index, qrels[f"q{q}"]))))
    assert rl.evaluate(qrels, run, "RR")["RR"].tolist() == expected
    table = pl.DataFrame(
        {"query": np.repeat(list(run), depth), "doc": docs * queries, "score": scores.ravel()}
    )
    assert rl.evaluate(qrels, table, "RR")["RR"].tolist() == expected


@pytest.mark.parametrize("wrong", [None, "nan", float("nan"), "high"])
@pytest.mark.parametrize("length", [1, 2, 80])
def test_scores_are_refused_however_many_are_judged(wrong, length):
    """Where most documents are judged, each query is ranked by a way of its own."""
    qrels = {f"q{i}": {f"d{j}": 1 for j in range(70 if i < 64 else 300)} for i in range(66)}
    run = {query: {f"d{j}": -j / 8 for j in range(80)} for query in qrels}
    run["q65"] = {**{f"d{j}": -j / 8 for j in range(1, length)}, "d0": wrong}
    with pytest.raises(
        rl.InputError, match=f"the score of document 'd0' for query 'q65' is {wrong!r}, not a number"
    ):
        rl.judge(qrels, run)
