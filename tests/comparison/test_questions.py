"""Single queries are shown with their questions, not only with ids, wherever the texts came from."""

import json

import pytest
from command_line import run

import ranklens as rl
from ranklens.guard.testing.retrieval import Retrieval
from ranklens.report.content import content

GOLDEN = [{"id": f"q{i}", "question": f"What is {i}?", "expected_ids": ["a"]} for i in range(4)]
GOOD = [{"id": f"q{i}", "retrieved": ["a", "b"]} for i in range(4)]
WORSE = [{"id": f"q{i}", "retrieved": ["b", "a"] if i else ["a"]} for i in range(4)]
TEXTS = {f"q{i}": f"What is {i}?" for i in range(4)}


@pytest.fixture
def paths(tmp_path):
    for name, rows in (("golden", GOLDEN), ("good", GOOD), ("worse", WORSE)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(tmp_path / f"{name}.jsonl") for name in ("golden", "good", "worse")]


def without_questions(rows):
    return [{key: value for key, value in row.items() if key != "question"} for row in rows]


@pytest.fixture(params=["lists", "files", "prepared", "log", "benchmark"])
def compared(request, paths):
    golden, good, worse = paths if request.param == "files" else (GOLDEN, GOOD, WORSE)
    if request.param == "prepared":
        golden = rl.judgments(golden)
    if request.param == "log":
        golden, good = without_questions(golden), [{**row, "question": TEXTS[row["id"]]} for row in good]
    if request.param == "benchmark":
        bench = rl.Benchmark(golden)
        bench.run("good", lambda text: ["a", "b"], k=2)
        bench.run("worse", lambda text: ["a"] if "0" in text else ["b", "a"], k=2)
        return bench.compare("RR")
    return rl.compare(golden, {"good": good, "worse": worse}, "RR")


def test_comparisons_show_questions(compared):
    assert compared.texts == TEXTS
    frame = compared.queries("RR")
    assert frame.columns == ["query", "question", "good", "worse", "difference"]
    assert dict(frame.select("query", "question").iter_rows()) == TEXTS
    documents = compared.documents("q1")
    assert documents.columns == ["question", "doc", "grade", "rank_good", "rank_worse", "change"]
    assert documents["question"].to_list() == ["What is 1?"] * 2
    pieces = {}
    assert content(compared, pieces=pieces).summary["has_texts"]["queries"]
    assert json.loads(pieces["queries"])["texts"] == list(TEXTS.values())


def test_scores_show_questions():
    scores = rl.evaluate(GOLDEN, WORSE, "RR")
    assert scores.texts == TEXTS
    assert rl.Scores.from_json(scores.to_json()).texts == TEXTS


def test_without_texts_there_is_no_column_for_them():
    compared = rl.compare(without_questions(GOLDEN), {"a": GOOD, "b": WORSE}, "RR")
    assert compared.texts == {}
    assert compared.queries("RR").columns == ["query", "a", "b", "difference"]
    assert compared.documents("q1").columns == ["doc", "grade", "rank_a", "rank_b", "change"]


def test_a_system_may_be_called_question():
    compared = rl.compare(GOLDEN, {"question": GOOD, "b": WORSE}, "RR")
    assert compared.queries("RR").columns == ["query", "question", "question (system)", "b", "difference"]


def test_commands_show_questions(paths, capsys, tmp_path):
    status, out, _ = run(capsys, "compare", *paths, "-m", "RR", "--most", "2", "--documents", "q1")
    assert status == 0
    assert "q1     What is 1?" in out
    assert "Query q1 (What is 1?)" in out
    status, out, _ = run(capsys, "compare", *paths, "-m", "RR", "--rows", "queries", "--format", "csv")
    assert out.splitlines()[1].startswith("q0,What is 0?,")
    status, out, _ = run(capsys, "gate", "RR >= 0.9", "--qrels", paths[0], "--run", paths[2])
    assert status == 1
    assert "q1 “What is 1?” 0.50" in out
    page = tmp_path / "report.html"
    assert run(capsys, "report", *paths, "-m", "RR", "-o", str(page))[0] == 0


def test_a_test_that_fails_names_the_questions(paths):
    retrieval = Retrieval("test_it", "baseline.json", (), update=False, undecided="fail", told=[], option="")
    with pytest.raises(AssertionError, match=r"lowest: q1 “What is 1\?” 0\.50"):
        retrieval.check(rl.evaluate(paths[0], paths[2], "RR"), "RR >= 0.9")
