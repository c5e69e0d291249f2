"""Nuggets and support of generated answers: the values of nuggetizer, open-rag-eval and TREC, and their files."""

import json
from math import isnan

import pytest

import ranklens as rl
from ranklens.assessment import nuggets, support


def record(*pairs, query="q", **more):
    return {
        "qid": query,
        "nuggets": [{"text": "…", "importance": i, "assignment": a} for i, a in pairs],
        **more,
    }


VITAL, OKAY = "vital", "okay"
S, P, N = "support", "partial_support", "not_support"


def test_the_values_of_nuggetizer():
    mean = rl.nuggets([record((VITAL, S), (OKAY, P))]).mean
    assert [mean[name] for name in ("strict_vital", "strict_all", "vital", "all")] == [1.0, 0.5, 1.0, 0.75]


def test_the_values_of_open_rag_eval():
    mean = rl.nuggets([record((VITAL, S), (VITAL, S), (VITAL, P), (VITAL, N), (OKAY, P), (OKAY, N))]).mean
    expected = {
        "strict_vital": 0.5,
        "vital": 0.625,
        "strict_all": 1 / 3,
        "all": 0.5,
        "weighted": 0.55,
        "strict_weighted": 0.4,
    }
    assert mean == pytest.approx(expected)


@pytest.mark.parametrize(("empty", "vital", "weighted"), [("zero", 0.0, 1.0), ("phantom", 0.0, 1 / 3)])
def test_tools_differ_where_no_nugget_is_vital(empty, vital, weighted):
    mean = rl.nuggets([record((OKAY, S))], empty=empty).mean
    assert (mean["vital"], mean["weighted"]) == (vital, pytest.approx(weighted))


def test_queries_without_vital_nuggets_can_be_left_out():
    found = rl.nuggets([record((OKAY, S)), record((VITAL, P), query="p")], empty="skip")
    assert found.mean["vital"] == 0.5
    assert isnan(found.per_query.filter(query="q")["vital"][0])
    assert isnan(rl.nuggets([record((OKAY, S))], empty="skip").mean["vital"])


def test_runs_are_compared_and_reported(tmp_path):
    runs = {
        name: [record((VITAL, S if i % 3 < good else N), (OKAY, P), query=f"q{i}") for i in range(24)]
        for name, good in (("a", 1), ("b", 3))
    }
    found = rl.nuggets(runs)
    assert found.means["b"]["vital"] == 1
    assert found.interval("vital", "a").low < found.means["a"]["vital"] < found.interval("vital", "a").high
    compared = found.compare(["vital"], test="t")
    assert compared.verdict("vital").startswith("b is better than a by 0.667")
    assert compared.to_html(tmp_path / "report.html").exists()
    with pytest.raises(rl.InputError, match="There are 2 runs"):
        _ = found.mean
    with pytest.raises(rl.InputError, match="There is one run alone"):
        rl.nuggets(runs["a"]).compare()
    with pytest.raises(rl.MeasureError, match="There is no measure 'vitl': did you mean 'vital'"):
        found.interval("vitl", "a")


def test_files_hold_one_run_or_several(tmp_path):
    rows = [record((VITAL, S), query=f"q{i % 2}", run_id="one" if i < 2 else "two") for i in range(4)]
    (tmp_path / "nuggets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rl.nuggets(tmp_path / "nuggets.jsonl")
    assert [*found.runs] == ["one", "two"]
    (tmp_path / "one.jsonl").write_text(
        "".join(json.dumps(record((VITAL, P), query=f"q{i}")) + "\n" for i in range(2))
    )
    assert rl.nuggets({"mine": str(tmp_path / "one.jsonl")}).mean["vital"] == 0.5
    assert rl.nuggets({"q": {"nuggets": record((VITAL, P))["nuggets"]}}).mean["vital"] == 0.5


ANSWER = [
    {"text": "A.", "citations": ["d1", "d2"], "support": ["FS", "NS"]},
    {"text": "B.", "citations": ["d1"], "support": ["PS"]},
    {"text": "C.", "citations": []},
]


def test_support_by_both_definitions():
    mean = rl.support([{"topic_id": "q", "answer": ANSWER}]).mean
    assert mean["weighted_precision"] == (1 + 0.5) / 2  # of the first citations
    assert mean["weighted_recall"] == (1 + 0.5) / 3
    assert mean["open_rag_eval_precision"] == ((1 + 0.5) / 2 + 0) / 2  # of d1, and of d2
    assert mean["open_rag_eval_recall"] == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_answers_of_trec_2025():
    """Citations are places among the references, the query is among the metadata, and labels may come apart."""
    answer = {
        "metadata": {
            "team_id": "t",
            "run_id": "mine",
            "type": "automatic",
            "narrative_id": 7,
            "narrative": "…",
        },
        "references": ["d1", "d2"],
        "answer": [{"text": "A.", "citations": [0, 1]}, {"text": "B.", "citations": [1]}],
    }
    found = rl.support([answer], {"7": {0: {"d1": "full_support", "d2": 0}, 1: 1}})
    assert [*found.runs] == ["mine"]
    assert (found.mean["weighted_precision"], found.mean["open_rag_eval_precision"]) == (0.75, 0.625)
    with pytest.raises(rl.InputError, match="cites reference 5, but has 2"):
        rl.support([{**answer, "answer": [{"text": "A.", "citations": [5]}]}])


def test_citations_without_a_label_are_left_out_and_counted():
    answer = [*ANSWER, {"text": "D.", "citations": ["d3"]}]
    found = rl.support([{"topic_id": "q", "answer": answer}])
    assert found.mean == rl.support([{"topic_id": "q", "answer": ANSWER}]).mean
    assert "1 citation without a label left out" in str(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.nuggets([]), "assignments is empty"),
        (lambda: rl.nuggets(3), "assignments is an int"),
        (lambda: rl.nuggets([{"nuggets": []}]), "record 1 names no query"),
        (lambda: rl.nuggets([record((VITAL, "yes"))]), "query 'q': assignment: 'yes' is not a known label"),
        (lambda: rl.nuggets([record(("vitl", S))]), "did you mean 'vital'"),
        (lambda: rl.nuggets([record(), record()]), "query 'q' has two records"),
        (lambda: rl.nuggets([{"qid": "q"}]), "query 'q' has no list of nuggets"),
        (lambda: rl.nuggets([record()], empty="one"), "empty='one' is not known"),
        (
            lambda: rl.support([{"qid": "q", "answer": [{"citations": ["a"], "support": ["FS", "FS"]}]}]),
            "2 labels for 1 citations",
        ),
        (lambda: rl.support([{"qid": "q", "answer": ["text"]}]), "answer holds a str"),
    ],
)
def test_mistakes_are_refused(call, message):
    with pytest.raises(rl.InputError, match=message):
        call()


def test_every_measure_is_defined_in_words():
    assert str(rl.nuggets([record((VITAL, S))])).count("\n") > len(nuggets.DEFINITIONS)
    assert all(
        words in str(rl.support([{"topic_id": "q", "answer": ANSWER}]))
        for words in support.DEFINITIONS.values()
    )
