"""Judgments that are prepared once give the values of judgments that are not."""

import gc
import tracemalloc
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.data.readers.mappings import Repaired
from ranklens.exchange import pytrec_eval
from ranklens.judging.dicts import from_dicts
from ranklens.judging.gold import GoldDicts
from ranklens.policy import Policy

MEASURES = ["nDCG@3", "AP", "RR", "R@5", "Bpref", "ERR", "nDCG(gains={1: 5})", "NumRel", "Rprec"]
DOCS = [f"d{i}" for i in range(12)]
QUERIES = ["q1", "q2", "q3", "q4"]
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), max_size=12)
scores = st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0.5, 1.0, 1.5, 2.0, 2.5]), max_size=12)
all_qrels = st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1)
all_runs = st.dictionaries(st.sampled_from([*QUERIES, "q9"]), scores)
policies = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(["descending", "ascending", "input"]),
        "missing": st.sampled_from(["zero", "skip"]),
        "empty": st.sampled_from(["zero", "skip"]),
        "judged_only": st.booleans(),
        "depth": st.sampled_from([None, 2]),
    }
)

pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")


@given(all_qrels, st.lists(all_runs, min_size=1, max_size=3), policies)
def test_values_are_those_of_judgments_that_are_not_prepared(qrels, runs, policy):
    prepared = rl.judgments(qrels)
    for run in runs:
        expected, found = (rl.evaluate(gold, run, MEASURES, **policy) for gold in (qrels, prepared))
        assert found.queries == expected.queries
        assert found.judged.applied == expected.judged.applied
        for name, values in expected.values.items():
            np.testing.assert_array_equal(found.values[name], values)


@given(all_qrels, all_runs, policies)
def test_asking_the_judgments_finds_what_asking_the_run_finds(qrels, run, policy):
    """Few documents are asked of the judgments, many judgments of the run: both directions must agree."""
    padding = {f"x{i}": 0 for i in range(20)}
    many_judged = {query: {**docs, **padding} for query, docs in qrels.items()}
    many_retrieved = {
        query: {**docs, **{f"y{i}": -float(i) - 1 for i in range(40)}} for query, docs in run.items()
    }
    policy = {**policy, "empty": "zero", "depth": None, "judged_only": False}
    for ranked in (run, many_retrieved):
        expected = rl.evaluate(qrels, ranked, ["RR", "AP", "R@5"], **policy)
        found = rl.evaluate(many_judged, ranked, ["RR", "AP", "R@5"], **policy)
        for name in expected.values:
            np.testing.assert_array_equal(found.values[name], expected.values[name])


@given(all_qrels, all_runs)
def test_the_drop_in_takes_some_queries_in_any_order(qrels, run):
    qrels = {query: docs for query, docs in qrels.items() if docs}
    measures = {"map", "ndcg_cut_3", "recip_rank", "num_rel"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures)
    together = evaluator.evaluate(run)
    assert [*together] == [query for query in run if query in qrels]
    for query, found in together.items():
        assert evaluator.evaluate({query: run[query]}) == {query: found}


def test_some_queries_of_prepared_judgments():
    gold = GoldDicts.of(
        Repaired({"q1": {"a": 1, "b": 2}, "q2": {"c": 3}, "q3": {}, "q4": {"d": 1, "e": 0, "f": 2}}),
        keeps=True,
    )
    some = gold.only(["q4", "q3", "q1"])
    fresh = GoldDicts.of(Repaired({query: gold.given.by_query[query] for query in ("q4", "q3", "q1")}))
    run = {"q1": {"b": 1.0, "x": 2.0}, "q4": {"f": 1.0}}
    one, other = (from_dicts(which, run, Policy()) for which in (some, fresh))
    np.testing.assert_array_equal(one.ideal.hits.grade, other.ideal.hits.grade)
    np.testing.assert_array_equal(one.ideal.hits.rank, other.ideal.hits.rank)
    np.testing.assert_array_equal(one.ideal.best, other.ideal.best)
    np.testing.assert_array_equal(one.rank, other.rank)


def test_any_shape_of_judgments_and_runs(tmp_path):
    plain = {"7": {"1": 2, "2": 1}, "8": {"3": 1}}
    file = tmp_path / "qrels.txt"
    file.write_text("7 0 1 2\n7 0 2 1\n8 0 3 1\n")
    table = pl.DataFrame({"query": [7, 7, 8], "doc": [1, 2, 3], "grade": [2, 1, 1]})
    run = {"7": {"2": 0.5, "9": 0.9}, "8": {"3": 0.1}}
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    ranked = pl.DataFrame(rows, ["query", "doc", "score"], orient="row")
    expected = rl.evaluate(plain, run, MEASURES)
    for qrels in (plain, {7: {1: 2, 2: 1}, 8: {3: 1}}, table, table.to_pandas(), file, str(file)):
        prepared = rl.judgments(qrels)
        for ranking in (
            run,
            ranked,
            {7: {2: 0.5, 9: 0.9}, 8: {3: 0.1}},
            {"7": ["9", "2"], "8": ["3"]},
            ranked,
        ):
            assert rl.evaluate(prepared, ranking, MEASURES).mean == expected.mean
    assert rl.judgments(prepared) is prepared


def test_it_is_accepted_wherever_judgments_are():
    qrels, run = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}, {"q1": ["b", "a"], "q2": ["c"]}
    gold = rl.judgments(qrels)
    assert {**gold} == qrels
    assert len(gold) == 2
    assert repr(gold) == "PreparedJudgments(2 queries, 3 judged documents)"
    comparison = rl.compare(gold, {"a": run, "b": {"q1": ["a"]}}, "RR")
    assert comparison.result("RR", "a").mean == 0.75
    assert rl.explain("RR", gold, run, query="q1").value == 0.5
    assert rl.evaluate(gold, run, "RR").failing().to_dicts()[0]["query"] == "q1"
    assert rl.Benchmark({"q1": "?", "q2": "?"}, gold) is not None


def test_a_golden_set_stays_one():
    golden = [
        {"id": "q1", "question": "Why?", "expected_chunk_ids": ["a"]},
        {"id": "q2", "question": "Who?", "expected_chunk_ids": [], "answerable": False},
    ]
    log = [{"question": "Why?", "retrieved": ["x", "a"]}, {"question": "Who?", "retrieved": []}]
    gold = rl.judgments(golden)
    found, expected = rl.evaluate(gold, log, "RR"), rl.evaluate(golden, log, "RR")
    assert found.mean == expected.mean == {"RR": 0.5}
    assert found.judged.applied == expected.judged.applied


def test_later_changes_make_no_difference():
    qrels = {"q": {"a": 1}}
    gold = rl.judgments(qrels)
    qrels["q"]["b"] = 1
    qrels["p"] = {"a": 1}
    assert rl.evaluate(gold, {"q": ["a"]}, "R").mean == {"R": 1.0}


def test_repeated_judgments_are_told_each_time():
    gold = rl.judgments({"q": [("a", 1), ("a", 2)]})
    for run in ({"q": {"a": 1.0}}, {"q": ["a"]}):
        with pytest.warns(rl.RankLensWarning, match="1 repeated document was dropped") as told:
            rl.evaluate(gold, run, "RR")
        assert len(told) == 1
        with pytest.raises(rl.PolicyError, match="appears twice"):
            rl.evaluate(gold, run, "RR", duplicates="error")


@pytest.mark.parametrize("wrong", [{"q": {"a": float("nan")}}, {"q": {"a": "good"}}, {"q": {None: 1}}, 3])
def test_what_is_wrong_is_told_at_once(wrong):
    with pytest.raises(rl.InputError):
        rl.judgments(wrong)


def test_many_calls_do_not_grow_in_memory():
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"b": 1.0, "x": 2.0}}
    gold = rl.judgments(qrels)

    def work(times):
        for _ in range(times):
            rl.evaluate(gold, run, MEASURES)
            rl.evaluate(qrels, run, "RR", ties="ascending")
            rl.ndcg_at_k(["a", "x"], {"a"}, k=2)

    work(50)
    growths = []
    tracemalloc.start()
    for _ in range(3):  # a leak grows every round, a table of the interpreter that doubles only once
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work(300)
        gc.collect()
        growths.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(growths) < 20_000


def test_judgments_that_know_more_than_a_grade_keep_what_they_know():
    subtopics = {"q": {"s1": {"a": 1}, "s2": {"a": 1, "b": 2}}}
    run = {"q": ["b", "x", "a"]}
    prepared = rl.judgments(subtopics)
    before = rl.evaluate(subtopics, run, ["alpha_nDCG@5", "nDCG@5"]).mean
    subtopics["q"]["s3"] = {"x": 1}
    assert rl.evaluate(prepared, run, ["alpha_nDCG@5", "nDCG@5"]).mean == before
    both = {"A": run, "B": {"q": ["a"]}}
    compared = rl.compare(prepared, both, "alpha_nDCG@5", test="t")
    means = {row.system: row.mean for row in compared.results}
    assert means["A"] == pytest.approx(before["alpha_nDCG@5"], abs=1e-11)  # which compare rounds


many_queries = st.dictionaries(st.sampled_from([f"q{i}" for i in range(12)]), grades, min_size=5)


@given(many_queries, all_runs, policies, st.sampled_from([str, lambda query: int(query[1:])]))
def test_a_run_of_few_queries_is_judged_as_by_judgments_that_are_not_prepared(qrels, run, policy, of_qrels):
    """Only these queries are looked at, which may not show: not in values, counts or warnings, nor in what comes of all judgments."""
    qrels = {of_qrels(query): docs for query, docs in qrels.items()}
    frame = pl.DataFrame(
        [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()],
        schema={"query": pl.String, "doc": pl.String, "score": pl.Float64},
        orient="row",
    )
    lists = {query: sorted(docs, key=docs.__getitem__) for query, docs in run.items()}
    prepared = rl.judgments(qrels)
    for given_run in (run, lists, *([frame] if len(frame) else [])):
        found, expected = [], []
        for results, gold in ((expected, qrels), (found, prepared)):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                scores = rl.evaluate(gold, given_run, MEASURES, **policy)
            values = {name: each.tolist() for name, each in scores.values.items()}
            judged = scores.judged
            about = [str(one.message).partition(" (")[0] for one in heard]
            results += [scores.queries, values, judged.applied, judged.max_grade, about]
            results += [judged.retrieved.tolist(), judged.ideal.grade.tolist(), str(scores)]
        assert found == expected


def test_the_cost_of_a_call_follows_the_run():
    """Skipped queries are not even counted: memory of a call is the same against 100 and 50,000 judged queries."""

    def peak(queries):
        qrels = {f"q{i}": {"a": 1, "b": 0, "c": 2} for i in range(queries)}
        run = {"q7": {"a": 0.5, "x": 0.9}}
        prepared, drop_in = rl.judgments(qrels), pytrec_eval.RelevanceEvaluator(qrels, {"map"})
        golden = rl.judgments(
            [{"id": query, "question": f"why {query}?", "expected_ids": ["a"]} for query in qrels]
        )
        log = [{"question": "why q7?", "retrieved_ids": ["x", "a"]}]

        def work():
            rl.evaluate(prepared, run, MEASURES, missing="skip")
            assert rl.evaluate(golden, log, "RR", missing="skip").mean == {"RR": 0.5}
            drop_in.evaluate(run)

        work()
        tracemalloc.start()
        work()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(50_000) < 1.5 * peak(100)
