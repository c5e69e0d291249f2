"""Explanations: the steps of every measure add up to the value that the registry gives, and say what they saw."""

import itertools
import json
import re
from statistics import mean

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import any_grades, examples, judgments, runs
from table import NOT

import ranklens as rl
from ranklens.metrics import definitions, parse_many, unregister
from ranklens.metrics import measure as register
from ranklens.metrics.catalog import GENERAL
from ranklens.metrics.instances import parameters
from ranklens.report.explanation.explain import work_through
from ranklens.report.explanation.one_query import read
from ranklens.report.explanation.terms import in_numbers

MEASURES = [rl.measure(name) for name in NOT]
NUMBERS = [m for m in MEASURES if m.definition.aggregate != "none"]
pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")

QRELS = {"q1": {"doc_a": 3, "doc_b": 2, "doc_c": 1, "doc_d": 0, "doc_e": 1}, "q2": {"doc_a": 1}}
RUN = {"q1": ["doc_c", "doc_a", "doc_d", "doc_b", "doc_e"]}

policies = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(["descending", "ascending", "input", "average"]),
        "depth": st.none() | st.integers(1, 6),
        "judged_only": st.booleans(),
        "rel": st.sampled_from([1, 1, 2]),
    }
).filter(lambda p: not (p["ties"] == "average" and p["depth"] and p["judged_only"]))


def defined(measures, policy):
    return [m for m in measures if policy["ties"] != "average" or m.definition.average_ties]


@settings(max_examples=examples(40))
@given(qrels=judgments(any_grades), run=runs(), policy=policies, rows=st.integers(1, 14))
def test_steps_add_up_to_the_value_of_the_registry(qrels, run, policy, rows):
    query = min(qrels)
    measures = defined(MEASURES, policy)
    scores = rl.evaluate(qrels, run, measures, **policy)
    data = read(qrels, run, query, rl.Policy(**policy))
    for measure in scores.measures:
        found = work_through(measure, data, rows)
        expected = scores[measure][scores.queries.index(query)]
        assert found.value == expected
        if isinstance(expected, str):
            assert not found.steps or found.steps[-1].so_far == expected
            continue
        assert sum(step.contribution for step in found.steps) == pytest.approx(expected, abs=1e-12)
        assert not found.steps or found.steps[-1].so_far == pytest.approx(expected, abs=1e-12)
        assert str(found).splitlines()[-1].endswith(f"= {expected:.4f}")
        assert found.to_markdown().splitlines()[-1].endswith(f"= {expected:.4f}")
        assert json.loads(found.to_json())["value"] == expected


@settings(max_examples=examples(40))
@given(qrels=judgments(any_grades), run=runs(), policy=policies)
def test_formulas_filled_with_numbers_give_the_value(qrels, run, policy):
    query = min(qrels)
    data = read(qrels, run, query, rl.Policy(**policy))
    for measure in rl.evaluate(qrels, run, defined(NUMBERS, policy), **policy).measures:
        found = work_through(measure, data)
        template = measure.definition.working.template(parameters(measure))
        numbers = in_numbers(template, parameters(measure), data.judged, repr)
        if numbers:
            try:
                result = eval(numbers.replace("·", "*"), {"min": min})
            except ZeroDivisionError:
                result = 0
            assert result == pytest.approx(found.value, abs=1e-12), found.calculation


# For these, ranks, grades and the value so far say it all.
IN_GENERAL_FORM = {"RBPres", "NumQ", "NumRel", "num_nonrel_judged_ret"}


def test_every_measure_has_a_working_or_is_explained_in_the_general_form():
    assert {name for name, one in definitions().items() if one.working == GENERAL} == IN_GENERAL_FORM


def test_formulas_with_numbers_cover_the_ratios():
    filled = {m.name for m in MEASURES if "{" in m.definition.working.template(parameters(m))}
    assert {"P", "R", "F", "nDCG", "nERR", "Rprec", "SetP", "SetR", "SetF", "SetAP", "Judged"} <= filled


@settings(max_examples=examples(40))
@given(qrels=judgments(any_grades, min_size=1), run=runs())
def test_the_ideal_beside_it_ends_at_one_where_the_ideal_ranking_scores_one(qrels, run):
    query = min(qrels)
    assume(any(grade >= 1 for grade in qrels[query].values()))
    data = read(qrels, run, query, rl.Policy())
    for name, lacks in NOT.items():
        found = work_through(rl.measure(name), data, rows=100)
        if found.ideal_heading and "ideal" not in lacks:
            assert found.steps[-1].ideal_so_far == pytest.approx(1), name


@given(
    scores=st.lists(st.sampled_from([1.0, 2.0]), min_size=1, max_size=5),
    grades=st.lists(st.sampled_from([None, 0, 1, 2]), min_size=5, max_size=5),
)
def test_lines_of_tied_documents_hold_the_mean_over_all_orders(scores, grades):
    docs = [f"d{i}" for i in range(len(scores))]
    gold = {d: g for d, g in zip(docs, grades, strict=False) if g is not None} | {"missed": 2}
    run = dict(zip(docs, scores, strict=True))
    orders = [o for o in itertools.permutations(docs) if [run[d] for d in o] == sorted(scores, reverse=True)]
    data = read({"q": gold}, {"q": run}, "q", rl.Policy(ties="average"))
    measures = parse_many("nDCG@4 AP RR ERR@3 P@2 Q RBP")
    cut = {
        n: [rl.evaluate({"q": gold}, {"q": o}, measures, depth=n).mean for o in orders] for n in range(1, 7)
    }
    for measure in measures:
        for step in work_through(measure, data).steps:
            expected = mean(means[str(measure)] for means in cut[step.last])
            assert step.so_far == pytest.approx(expected, abs=1e-9), measure
            if step.kind == "tied":
                assert len({run[d] for d in step.documents}) == 1


def test_discounted_gains_of_the_worked_example():
    """Grades 1 3 0 2 1: 1, 1.8928, 0, 0.8614, 0.3869 add up to 4.1410; the ideal is 5.1925."""
    found = rl.explain("DCG@5", QRELS, RUN, query="q1")
    assert [round(step.contribution, 4) for step in found.steps] == [1, 1.8928, 0, 0.8614, 0.3869]
    assert [step.details["gain"] for step in found.steps] == [1, 3, 0, 2, 1]
    assert [round(step.details["discount"], 4) for step in found.steps] == [1, 1.585, 2, 2.3219, 2.585]
    found = rl.explain("nDCG@5", QRELS, RUN, query="q1")
    assert [step.ideal for step in found.steps] == [3, 2, 1, 1, None]
    assert found.calculation == "nDCG@5 = DCG / ideal DCG = 4.1410 / 5.1925 = 0.7975"


def test_precision_at_each_relevant_document():
    """Relevant at 1, 3 and 6 of R = 3: (1 + 2/3 + 3/6) / 3 = 0.7222."""
    found = rl.explain("AP", {"q": {"a", "b", "c"}}, {"q": ["a", "x", "b", "y", "z", "c"]}, query="q")
    hits = [step for step in found.steps if step.contribution]
    assert [step.details["precision"] for step in hits] == [1, pytest.approx(2 / 3), 0.5]
    assert [step.contribution * 3 for step in hits] == pytest.approx([1, 2 / 3, 0.5])
    assert [step.details["found"] for step in found.steps] == [1, 1, 2, 2, 2, 3]


def test_a_user_who_stops():
    """Grades 1 2 of at most 2: satisfied with 1/4, then 3/4 of those still looking: 1/4 + 3/4 · 3/4 / 2."""
    found = rl.explain("ERR", {"q": {"a": 1, "b": 2}}, {"q": ["a", "x", "b"]}, query="q")
    assert [step.details["satisfied"] for step in found.steps] == [0.25, 0, 0.75]
    assert [step.details["still looking"] for step in found.steps] == [1, 0.75, 0.75]
    assert found.value == pytest.approx(1 / 4 + 3 / 4 * 3 / 4 / 3)
    found = rl.explain("RBP(p=0.5)", {"q": {"b"}}, {"q": ["a", "b"]}, query="q")
    assert [step.details["weight"] for step in found.steps] == [0.5, 0.25]


def test_long_rankings_show_what_matters_and_sum_up_the_rest():
    run = {"q": [f"x{i}" for i in range(1, 1000)]}
    found = rl.explain("RBP(p=0.999)", {"q": {"x500": 1, "x900": 1, "gone": 1}}, run, query="q", rows=6)
    kinds = [(step.kind, step.first, step.last) for step in found.steps]
    assert kinds == [
        *[("document", rank, rank) for rank in (1, 2, 3, 4)],
        ("left out", 5, 499),
        ("document", 500, 500),
        ("left out", 501, 899),
        ("document", 900, 900),
        ("left out", 901, 999),
    ]
    assert "993 ranks are summed up" in str(found)
    assert [(m.document, m.rank) for m in found.missed] == [("gone", None)]
    assert len(rl.explain("RBP", {"q": {"x500": 1}}, run, query="q", rows=2000).steps) == 999


def test_every_relevant_document_beyond_the_rows_is_in_a_sum():
    docs = [f"d{i:02}" for i in range(30)]
    found = rl.explain("R", {"q": set(docs)}, {"q": docs}, query="q", rows=5)
    assert [step.kind for step in found.steps] == ["document"] * 5 + ["left out"]
    assert found.steps[-1].contribution == pytest.approx(25 / 30)


def test_ranks_that_only_the_ideal_has():
    found = rl.explain("nDCG@3", QRELS, {"q1": ["doc_b"]}, query="q1")
    assert [step.kind for step in found.steps] == ["document", "nothing", "nothing"]
    assert [step.ideal for step in found.steps] == [3, 2, 1]
    assert "(nothing retrieved)" in str(found)


def test_what_was_missed_is_told_with_its_rank():
    found = rl.explain("nDCG@2", QRELS, RUN, query="q1")
    assert [(m.document, m.grade, m.rank) for m in found.missed] == [("doc_b", 2, 4), ("doc_e", 1, 5)]
    assert "Missed: doc_b (grade 2, rank 4, below rank 2), doc_e (grade 1, rank 5, below rank 2)." in str(
        found
    )


REMARKS = {
    "documents that nobody judged": ({"q": {"a"}}, {"q": ["x", "a"]}, {}, "marks an unjudged document"),
    "ties": ({"q": {"a"}}, {"q": {"a": 1, "b": 1}}, {}, "2 documents share their score with another; they are ordered by document id, descending."),
    "input order": ({"q": {"a"}}, {"q": {"a": 1, "b": 1}}, {"ties": "input"}, "they are in input order"),
    "averaged": ({"q": {"a"}}, {"q": {"a": 1, "b": 1}}, {"ties": "average"}, "on average over all their orders"),
    "depth": ({"q": {"a"}}, {"q": ["x", "y", "a"]}, {"depth": 2}, "Only the first 2 of 3 documents count."),
    "judged only": ({"q": {"a"}}, {"q": ["x", "a"]}, {"judged_only": True}, "Unjudged documents are removed"),
    "repeats": ({"q": {"a"}}, {"q": ["x", "a", "x"]}, {}, "1 repeated document is dropped"),
    "missing": ({"q": {"a"}}, {"other": ["a"]}, {}, "The run has no documents for this query; the query still counts"),
    "skipped": ({"q": {"a"}}, {}, {"missing": "skip"}, "so the query is left out of the mean."),
    "empty": ({"q": {"a": 0}}, {"q": ["a"]}, {"empty": "skip"}, "No document of this query is relevant, so the query is left"),
}  # fmt: skip


@pytest.mark.parametrize("case", REMARKS.values(), ids=REMARKS)
def test_what_the_policy_did_is_said(case):
    qrels, run, policy, remark = case
    assert remark in str(rl.explain("RR", qrels, run, query="q", **policy))


def test_judged_only_as_a_parameter_of_the_measure():
    found = rl.explain("RR(judged_only=true)", {"q": {"a": 1, "b": 0}}, {"q": ["x", "b", "a"]}, query="q")
    assert [step.documents for step in found.steps] == [("b",), ("a",)]
    assert found.value == 0.5


def test_the_highest_grade_is_that_of_all_queries():
    qrels = {"q1": {"a": 1}, "q2": {"b": 4}}
    assert rl.explain("ERR", qrels, {"q1": ["a"]}, query="q1").value == 1 / 16


def test_a_measure_of_ones_own_is_explained_in_the_general_form():
    @register("TwiceFound", high=float("inf"))
    def twice_found(judged):
        """Twice the number of judged documents."""
        return 2 * judged.hits.sum()

    try:
        found = rl.explain("TwiceFound", {"q": {"a": 1, "b": 0}}, {"q": ["a", "x", "b"]}, query="q")
        assert [step.contribution for step in found.steps] == [2, 0, 2]
        assert str(found).splitlines()[-1] == "TwiceFound = 4.0000"
    finally:
        unregister("TwiceFound")


def test_queries_and_documents_of_other_types_and_tables():
    import polars as pl

    assert rl.explain("RR", {7: {1: 1}}, {7: [2, 1]}, query=7).value == 0.5
    names = {"query": "search", "doc": "sku", "score": "s"}
    run = pl.DataFrame({"search": ["q1"], "sku": ["doc_b"], "s": [2.5]})
    assert rl.explain("RR", QRELS, run, query="q1", columns=names).value == 1


def test_files_are_read_once(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n")
    assert rl.explain("RR", tmp_path / "qrels", str(tmp_path / "run"), query="q").value == 0.5


WRONG = [
    (lambda: rl.explain("RR", QRELS, RUN, query="q11"), rl.InputError, "'q11' is not among the judged ones.*did you mean 'q1'"),
    (lambda: rl.explain("RR", {f"q{i}": {"a"} for i in range(20)}, {}, query="zebra"), rl.InputError, r"there are 20, such as 'q0', 'q1', 'q2'"),
    (lambda: rl.explain("RRR", QRELS, RUN, query="q1"), rl.MeasureError, "no measure 'RRR'"),
    (lambda: rl.explain("RR", QRELS, RUN, query="q1", tie="average"), rl.PolicyError, "did you mean 'ties'"),
    (lambda: rl.explain("Bpref", QRELS, RUN, query="q1", ties="average"), rl.PolicyError, "not available for Bpref"),
    (lambda: rl.explain("RR", QRELS, RUN, query="q2", missing="error"), rl.PolicyError, "'q2' is judged but not in the run"),
    (lambda: rl.explain("RR", QRELS, {"q1": ["doc_a", "doc_a"]}, query="q1", duplicates="error"), rl.PolicyError, "appears twice"),
    (lambda: rl.explain("RR", QRELS, {"q1": {"doc_a": float("nan")}}, query="q1"), rl.InputError, "is nan, not a number"),
    (lambda: rl.explain("RR", QRELS, RUN, query="q1", rows=0), rl.InputError, "rows=0 is not allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG, ids=[w[2] for w in WRONG])
def test_mistakes_are_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_ids_are_data():
    evil = "</td><script>alert(1)</script>"
    found = rl.explain("RR", {"q": {evil}}, {"q": [evil, "a|b\nc\x1b[31m"]}, query="q")
    assert "<script>" not in found._repr_html_()
    assert "\x1b" not in str(found)
    assert r"a\|b\\nc" in found.to_markdown()


def test_long_ids_are_cut_in_the_terminal_only():
    long = "d" * 100
    found = rl.explain("RR", {"q": {long}}, {"q": [long]}, query="q")
    assert "d" * 39 + "…" in str(found)
    assert long not in str(found)
    assert long in found.to_markdown()


def test_json_holds_the_steps():
    found = json.loads(rl.explain("P@2", QRELS, RUN, query="q1").to_json())
    assert [step["documents"] for step in found["steps"]] == [["doc_c"], ["doc_a"]]
    assert found["facts"] == {"retrieved": 5, "judged": 5, "relevant": 4, "found": 4}
    assert not re.search("NaN|Infinity", json.dumps(found))


def test_a_very_long_ranking_is_summed_up():
    """Only the places that are shown become objects; what is said is the same as for a short ranking."""
    n = 200_000
    run = {"q": [f"d{i}" for i in range(n)]}
    found = rl.explain("AP", {"q": {"d9": 1, "d100000": 2, "d199999": 1, "x": 1}}, run, query="q", rows=5)
    assert [(step.kind, step.first, step.last) for step in found.steps] == [
        ("document", 1, 1),
        ("document", 2, 2),
        ("left out", 3, 9),
        ("document", 10, 10),
        ("left out", 11, 100_000),
        ("document", 100_001, 100_001),
        ("left out", 100_002, 199_999),
        ("document", 200_000, 200_000),
    ]
    assert found.facts == {"retrieved": n, "judged": 3, "relevant": 4, "found": 3}
    assert [missed.document for missed in found.missed] == ["x"]
    assert found.value == pytest.approx((1 / 10 + 2 / 100_001 + 3 / 200_000) / 4)


def test_what_lies_below_the_cutoff_is_missed_unless_it_ties_with_it():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
    found = rl.explain("P@2", {"q": {"a": 1, "c": 1, "d": 1, "e": 1}}, run, query="q", ties="average")
    assert [(missed.document, missed.rank) for missed in found.missed] == [("d", 4), ("e", None)]
