"""The interface of pytrec_eval: the same results, names, types and errors as the original."""

import pickle
from collections import OrderedDict
from decimal import Decimal

import numpy as np
import pytest
import pytrec_eval as original
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import judgments, runs

from ranklens.exchange import pytrec_eval

pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
close_scores = st.floats(0, 10) | st.sampled_from([1.0, 1.00000001, 0.1, np.float32(0.1).item()])


@given(
    qrels=judgments(min_size=1),
    run=runs(close_scores, min_docs=1),
    level=st.integers(1, 3),
    judged_only=st.booleans(),
)
def test_same_results(qrels, run, level, judged_only):
    """Also for scores that differ only beyond 32 bits."""
    qrels = {q: docs for q, docs in qrels.items() if max(docs.values()) >= level}
    assume(qrels.keys() & run.keys())
    if judged_only:  # the original divides 0 by 0 where nothing is left
        run = {q: docs for q, docs in run.items() if any(qrels.get(q, {}).get(d, -1) >= 0 for d in docs)}
        assume(qrels.keys() & run.keys())
    theirs = original.RelevanceEvaluator(qrels, original.supported_measures, level, judged_only).evaluate(run)
    ours = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures, level, judged_only).evaluate(
        run
    )
    assert ours.keys() == theirs.keys()
    for query, values in theirs.items():
        assert list(ours[query]) == list(values)
        assert ours[query] == pytest.approx(values, abs=1e-12)


def test_same_names():
    assert pytrec_eval.supported_measures == original.supported_measures
    for name in pytrec_eval.supported_nicknames:
        assert pytrec_eval.supported_nicknames[name] == set(original.supported_nicknames[name])


@pytest.mark.parametrize(
    "measures", [["ndcg_cut.10,5", "P_3"], {"map", "recall.5"}, ["official"], ["success_3"], ["set_F.0.5"]]
)
def test_same_parameters(measures):
    qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 0.1, "x": 0.2, "c": 0.3}}
    theirs = original.RelevanceEvaluator(qrels, measures).evaluate(run)
    ours = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    assert ours["q"] == pytest.approx(theirs["q"])


def test_aggregation():
    for name, values in (("map", [0.5, 0.1]), ("num_ret", [3.0, 4.0]), ("gm_map", [-1.0, -2.0])):
        assert pytrec_eval.compute_aggregated_measure(name, values) == original.compute_aggregated_measure(
            name, values
        )


def test_parsing():
    run, qrel = ["q1 Q0 d1 1 2.5 t\n", "q1 Q0 d2 2 1 t\n"], ["q1 0 d1 1\n", "q2 0 d1 -1\n"]
    assert pytrec_eval.parse_run(run) == original.parse_run(run)
    assert pytrec_eval.parse_qrel(qrel) == original.parse_qrel(qrel)


QRELS, RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}
WRONG = {
    "float grade": lambda m: m.RelevanceEvaluator({"q": {"a": 1.0}}, {"map"}),
    "text grade": lambda m: m.RelevanceEvaluator({"q": {"a": "1"}}, {"map"}),
    "numpy grade": lambda m: m.RelevanceEvaluator({"q": {"a": np.int64(1)}}, {"map"}),
    "unknown measure": lambda m: m.RelevanceEvaluator(QRELS, {"nope"}),
    "one string": lambda m: m.RelevanceEvaluator(QRELS, "map"),
    "level 0": lambda m: m.RelevanceEvaluator(QRELS, {"map"}, relevance_level=0),
    "number as query": lambda m: m.RelevanceEvaluator({1: {"a": 1}}, {"map"}),
    "number as document": lambda m: m.RelevanceEvaluator({"q": {1: 1}}, {"map"}),
    "list as judgments": lambda m: m.RelevanceEvaluator({"q": [1]}, {"map"}),
    "text score": lambda m: m.RelevanceEvaluator(QRELS, {"map"}).evaluate({"q": {"a": "x"}}),
    "list as run": lambda m: m.RelevanceEvaluator(QRELS, {"map"}).evaluate([1]),
    "list as ranking": lambda m: m.RelevanceEvaluator(QRELS, {"map"}).evaluate({"q": [1]}),
    "repeated document": lambda m: m.parse_qrel(["q 0 a 1", "q 0 a 1"]),
    "few fields": lambda m: m.parse_run(["q 0 a 1"]),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_same_errors(call):
    with pytest.raises(Exception) as theirs:
        call(original)
    with pytest.raises(type(theirs.value)):
        call(pytrec_eval)


UNUSUAL = [
    {2: 0.5},
    {b"x": 0.5},
    {("x",): 0.5},
    {"x": "0.5"},
    {"x": None},
    {"x": np.float32(0.5)},
    {"x": np.int64(1)},
    {"x": Decimal(1)},
    {"x": True},
    {"x": np.float64(0.5)},
    {"x": 10**20},
    {"x": float("inf")},
    OrderedDict(x=0.5),
]


def _said(module, qrels, run):
    try:
        return module.RelevanceEvaluator(qrels, {"map", "num_ret"}).evaluate(run)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("judged", [1, 100], ids=["few judged", "many judged"])
@pytest.mark.parametrize("length", [1, 10, 100])
@pytest.mark.parametrize("unusual", UNUSUAL, ids=str)
def test_what_is_refused(unusual, length, judged):
    """In the first query and document, in a later one, and where nobody judged it: what is refused does not depend on the place."""
    usual = {f"d{i}": 1 - i / 100 for i in range(length)}
    gold = {f"d{i}": i % 2 for i in range(judged)}
    last, first = type(unusual)({**usual, **unusual}), type(unusual)({**unusual, **usual})
    for run in ({"p": first, "q": usual}, {"p": usual, "q": last}, {"p": usual, "q": usual, "r": last}):
        given = {"p": gold, "q": gold}, run
        assert _said(pytrec_eval, *given) == _said(original, *given)


def test_nothing_in_common():
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map"})
    assert evaluator.evaluate({}) == {} == evaluator.evaluate({"other": {"a": 1.0}})
    assert evaluator.evaluate({"q": {}}) == {"q": {"map": 0.0}}


def test_no_measures_and_another_process():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    assert pytrec_eval.RelevanceEvaluator(qrels, set()).evaluate(run) == {"q": {}}
    assert original.RelevanceEvaluator(qrels, set()).evaluate(run) == {"q": {}}
    sent = pickle.loads(pickle.dumps(pytrec_eval.RelevanceEvaluator(qrels, {"map"})))
    assert sent.evaluate(run) == {"q": {"map": 1.0}}
