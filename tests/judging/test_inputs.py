"""Files, records, logs and matchings, before anything is judged."""

import json
import random

import polars as pl
import pytest

import ranklens as rl
from ranklens.matching import ByParent, ByText, Groups

GOLDEN = [
    {"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1", "c2"], "type": "deep"},
    {"id": "q2", "question": "Who?", "expected_chunk_ids": ["c3"], "type": "plain"},
    {"id": "q3", "question": "When?", "expected_chunk_ids": ["c4"], "type": "plain"},
    {"id": "q4", "question": "How tall?", "answerable": False},
    {"id": "q5", "question": "How wide?", "answerable": False},
]
LOG = [
    {"question_id": "q1", "question": "Why?", "retrieved": [{"chunk_id": "x", "score": 2}, {"chunk_id": "c1", "score": 1}]},
    {"question_id": "q3", "question": "When?", "error": "TimeoutError"},
    {"question_id": "q4", "question": "How tall?", "retrieved": []},
    {"question_id": "q5", "question": "How wide?", "retrieved": [{"chunk_id": "x", "score": 0.1}]},
]  # fmt: skip


def as_file(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_json(rows, path):
    path.write_text(json.dumps(rows))
    return path.rename(path.with_suffix(".json"))


SHAPES = {
    "lists": lambda rows, path: rows,
    "jsonl": as_file,
    "json": as_json,
    "polars": lambda rows, path: pl.DataFrame(rows, strict=False),
    "pandas": lambda rows, path: pl.DataFrame(rows, strict=False).to_pandas(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_golden_sets_and_logs_of_every_shape(shape, tmp_path):
    golden, log = (
        SHAPES[shape](rows, tmp_path / f"{name}.jsonl") for name, rows in (("g", GOLDEN), ("l", LOG))
    )
    scores = rl.evaluate(golden, log, ["RR", "R@5"])
    assert scores["RR"].tolist() == [0.5, 0, 0]
    applied = scores.judged.applied
    assert (applied.queries, applied.missing, applied.failed, applied.joined) == (3, 1, 1, "id")
    assert (applied.unanswerable, applied.abstained) == (2, 1)


def test_weak_answers_count_as_none_below_a_threshold():
    assert rl.evaluate(GOLDEN, LOG, "RR", abstain_below=0.5).judged.applied.abstained == 2


def test_a_log_without_ids_joins_by_question():
    log = [{key: value for key, value in row.items() if key != "question_id"} for row in LOG]
    scores = rl.evaluate(GOLDEN, log, "RR")
    assert scores["RR"].tolist() == [0.5, 0, 0]
    assert scores.judged.applied.joined == "text"


def test_fields_with_names_of_their_own(tmp_path):
    golden = [{"key": "q1", "gold": {"ids": ["c1"]}}]
    log = [{"key": "q1", "sources": [{"ref": "x"}, {"ref": "c1"}]}]
    columns = {"query": "key", "expected": "gold.ids", "retrieved": "sources", "doc": "ref"}
    assert rl.evaluate(golden, log, "RR", columns=columns).mean == {"RR": 0.5}
    paths = [as_file(rows, tmp_path / f"{n}.jsonl") for n, rows in enumerate((golden, log))]
    assert rl.evaluate(*paths, "RR", columns=columns).mean == {"RR": 0.5}
    table = tmp_path / "run.csv"
    table.write_text("frage,stelle,wert\nq1,x,2\nq1,c1,1\n")
    own = {"query": "frage", "doc": "stelle", "score": "wert"}
    assert rl.evaluate({"q1": ["c1"]}, table, "RR", columns=own).mean == {"RR": 0.5}


def test_a_comparison_of_logs_knows_texts_failures_and_fields(tmp_path):
    other = [{"question_id": f"q{i}", "retrieved": [f"c{i}"], "latency_ms": 5} for i in (1, 2, 3)]
    found = rl.compare(GOLDEN, {"a": LOG, "b": other}, "RR", by="type", test="t")
    assert found.errors == {"a": {"q3": "TimeoutError"}}
    assert found.latencies == {"b": [0.005] * 3}
    assert found.evidence.texts["q2"] == "Who?"
    assert {part.name for part in found.slices} == {"deep", "plain"}


RUNS = {
    "lists": {"q": ["d2#1", "d1#4", "d1#7"]},
    "scores": {"q": {"d1#7": 0.1, "d2#1": 0.9, "d1#4": 0.5}},
    "table": pl.DataFrame({"query": ["q"] * 3, "doc": ["d1#7", "d2#1", "d1#4"], "score": [0.1, 0.9, 0.5]}),
    "log": [{"id": "q", "retrieved": [{"chunk_id": "d2#1"}, {"chunk_id": "d1#4"}, {"chunk_id": "d1#7"}]}],
}


@pytest.mark.parametrize("shape", RUNS)
def test_matching_for_every_kind_of_run(shape):
    qrels, run, match = {"q": {"d1": 1, "d9": 1}}, RUNS[shape], ByParent(separator="#")
    scores = rl.evaluate(qrels, run, ["RR", "P@2", "NumRet"], match=match)
    assert scores.mean == {"RR": 0.5, "P@2": 0.5, "NumRet": 2}
    assert rl.explain("RR", qrels, run, query="q", match=match).value == 0.5
    compared = rl.compare(qrels, {"a": run, "b": {"q": ["d1#0"]}}, "RR", match=match, test="t")
    assert [compared.result("RR", name).mean for name in "ab"] == [0.5, 1]
    assert {*compared.documents("q", "a", "b")["doc"]} == {"d1", "d2", "d9"}


def test_groups_change_the_judgments_too():
    scores = rl.evaluate({"q": {"a2", "b"}}, {"q": ["a", "a2"]}, "R@2", match=Groups([["a", "a2"]]))
    assert scores.mean == {"R@2": 0.5}


def test_texts_instead_of_ids():
    golden = [{"id": "q", "question": "Where?", "expected_answer": "the capital of Peru"}]
    log = [
        {
            "id": "q",
            "retrieved": [
                {"id": 1, "text": "Peru is large."},
                {"id": 2, "text": "Lima is the capital of Peru!"},
            ],
        }
    ]
    assert rl.evaluate(golden, log, "RR", match=ByText()).mean == {"RR": 0.5}
    assert rl.evaluate({"q": ["Lima"]}, {"q": ["d1"]}, "RR", match=ByText(corpus={"d1": "Lima!"})).mean == {
        "RR": 1
    }


def test_a_match_that_is_none_is_refused():
    with pytest.raises(rl.InputError, match=r"match='parent' is not allowed; use one of ranklens\.matching"):
        rl.evaluate({"q": ["a"]}, {"q": ["a"]}, "RR", match="parent")


def test_ids_of_the_wrong_kind_are_noticed_from_the_first_question_on():
    with pytest.warns(rl.RankLensWarning, match="None of the retrieved documents is judged"):
        rl.evaluate([{"id": "q", "expected": ["a"]}], [{"id": "q", "retrieved": ["7"]}], "RR")


def test_chunks_of_judged_documents_are_noticed():
    with pytest.warns(rl.RankLensWarning) as told:
        rl.evaluate([{"id": "q", "expected": ["d1"]}], [{"id": "q", "retrieved": ["d1#3"]}], "RR")
    assert any("""choose match=ByParent(separator="#")""" in str(warning.message) for warning in told)


def test_swapped_arguments_are_noticed():
    rng = random.Random(1)
    run = {f"q{i}": {f"d{n}": rng.random() * 20 for n in range(10)} for i in range(5)}
    qrels = {f"q{i}": {"d1": 1, "d2": 2} for i in range(5)}
    for gold in (qrels, {query: {*docs} for query, docs in qrels.items()}):
        with pytest.raises(rl.InputError, match="look swapped"):
            rl.evaluate(run, gold, "RR")
    with pytest.warns(rl.RankLensWarning, match="look swapped"):
        rl.evaluate({"q": {"a": 0.5, "b": 1}}, {"q": {"a": 2, "b": 1}}, "nDCG")
    rl.evaluate({"q": {"a": 0.5, "b": 1}}, {"q": {"a": 12, "b": 7}}, "nDCG")  # grades may be fractions
