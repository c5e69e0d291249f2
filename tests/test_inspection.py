"""What inspect says of files: roles, fields, joins, and options that mend problems because they were tried."""

import io
import json
import shlex
import sys

import polars as pl
import pytest
from command_line import run

import ranklens as rl

GOLDEN = (
    "id,question,right ones,owner\n007,How long can I return?,terms_1|terms_2,anna\n008,Who pays?,faq_3,ben\n"
)
LOG = {
    "results": [
        {"question_id": "007", "sources": [{"chunk": {"id": "terms_1#0"}, "score": 0.9}], "latency_ms": 120},
        {"question_id": "008", "sources": [{"chunk": {"id": "faq_9#1"}, "score": 0.9}]},
    ],
    "page": 1,
}
CORPUS = [{"id": "terms_1", "text": "Within 30 days"}, {"id": "faq_3", "text": "You do"}]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden.csv").write_text(GOLDEN, encoding="utf-16")
    (tmp_path / "log.json").write_text(json.dumps(LOG, indent=1))
    (tmp_path / "chunks.jsonl").write_text("\n".join(map(json.dumps, CORPUS)))
    (tmp_path / "texts.jsonl").write_text('{"id": "q1", "question": "Why?", "expected_answer": "30 days"}\n')
    (tmp_path / "textlog.jsonl").write_text('{"id": "q1", "contexts": ["Within 30 days of delivery."]}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "run.txt").write_text("q01 Q0 d1 1 3 t\nq02 Q0 d7 1 2 t\n")
    (tmp_path / "run.csv").write_text("query;doc;score\nq1;d1;0,5\nq2;d2;0,25\n")
    return tmp_path


def fields(file):
    return {field.role: field.name for field in file.fields}


def test_problems_come_with_options_that_mend_them(folder, capsys):
    found = rl.inspect("golden.csv", "log.json", "chunks.jsonl")
    golden, log, _ = found.files
    assert [file.role for file in found.files] == ["golden set", "log", "corpus"]
    assert (golden.format, golden.encoding) == ("csv", "UTF-16")
    assert fields(golden) == {"query": "id", "text": "question", "expected": "right ones"}
    assert golden.unused == ("owner",)
    assert golden.examples[0].startswith('{"id": "007"')
    assert fields(log) == {
        "query": "question_id",
        "retrieved": "sources",
        "doc": "sources[].chunk.id",
        "score": "sources[].score",
    }
    assert found.fixes == (
        "--map 'golden:expected=right ones'", "--map log:retrieved=sources", "--map log:doc=chunk.id", "--match parent:#",
    )  # fmt: skip
    joins = {(join.other, join.what): (join.common, join.of) for join in found.joins}
    assert joins == {
        ("log.json", "questions"): (2, 2),
        ("log.json", "expected documents retrieved"): (0, 3),
        ("chunks.jsonl", "expected documents"): (2, 3),
    }
    status, out, error = run(capsys, *shlex.split(found.command)[1:], "-m", "R@5", "--format", "json")
    assert (status, error) == (0, "")
    assert "0.25" in out


def test_expected_texts_ask_for_match_text(folder, capsys):
    found = rl.inspect("texts.jsonl", "textlog.jsonl")
    assert found.command == "ranklens evaluate texts.jsonl textlog.jsonl --match text"
    assert [(join.common, join.of) for join in found.joins] == [(1, 1), (1, 1)]
    assert not rl.inspect("texts.jsonl", "textlog.jsonl", match="text").has_problems


def test_ids_that_differ_in_spelling_are_named(folder):
    found = rl.inspect("qrels.txt", "run.txt", "run.csv")
    assert [file.role for file in found.files] == ["judgments", "run", "run"]
    assert fields(found.files[0]) == {"query": "field 1", "doc": "field 3", "grade": "field 4"}
    assert fields(found.files[2]) == {"query": "query", "doc": "doc", "score": "score"}
    spelled, questions, documents = found.joins
    assert "would match if you ignore leading zeros, such as 'q1' and 'q01'" in spelled.note
    assert (questions.common, documents.common) == (2, 2)
    assert found.command == "ranklens compare qrels.txt run.txt run.csv"


@pytest.mark.parametrize(
    ("name", "content", "role"),
    [
        ("golden.jsonl", '{"id": "q", "expected_ids": ["a"]}', "golden set"),
        ("log.jsonl", '{"id": "q", "retrieved_ids": ["a"], "expected_ids": ["a"]}', "golden set and log"),
        ("log.jsonl", '{"id": "q", "error": "timeout"}', "log"),
        ("qrels.json", '{"q": {"a": 1}}', "judgments"),
        ("run.json", '{"q": {"a": 0.5}}', "run"),
        ("qrels.csv", "query,doc,grade\nq,a,1\n", "judgments"),
        ("run.tsv", "qid\tdocno\tscore\nq\ta\t1\n", "run"),
        ("queries.jsonl", '{"_id": "q", "text": "why?"}', "questions"),
        ("corpus.jsonl", '{"_id": "d", "title": "T", "text": "why?"}', "corpus"),
        ("spans.jsonl", json.dumps({"name": "search", "trace_id": "t", "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "why?", "retrieval.documents.0.document.id": "d7"}}), "traces"),
        ("letor.txt", "1 qid:7 1:0.3 # a", "judgments"),
    ],
)  # fmt: skip
def test_roles(tmp_path, name, content, role):
    (tmp_path / name).write_text(content + "\n")
    found = rl.inspect(tmp_path / name)
    assert (found.files[0].role, found.files[0].problems) == (role, ())
    assert found.files[0].readable


def test_parquet_and_workbooks(tmp_path):
    table = pl.DataFrame({"id": ["q"], "expected_ids": [["a", "b"]]})
    table.write_parquet(tmp_path / "golden.parquet")
    found = rl.inspect(tmp_path / "golden.parquet").files[0]
    assert (found.role, found.format, found.size) == (
        "golden set",
        "parquet",
        "1 question, 2 judged documents",
    )
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "golden.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["id", "expected_ids"])
        sheet.write_row(1, 0, ["q", "a|b"])
    found = rl.inspect(tmp_path / "golden.xlsx").files[0]
    assert (found.role, found.format, found.size) == (
        "golden set",
        "workbook",
        "1 question, 2 judged documents",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "this is not JSON"),
        ('{"colour": "red"}', "Nothing here is known by its name: the fields are 'colour'"),
        ('{"id": "q", "expected_ids": 5}', "has 5 where a list of documents is expected"),
    ],
)
def test_what_cannot_be_read_is_no_part_of_the_command(tmp_path, content, message):
    (tmp_path / "golden.jsonl").write_text(content + "\n")
    (tmp_path / "run.txt").write_text("q Q0 d1 1 3 t\n")
    found = rl.inspect(tmp_path / "golden.jsonl", tmp_path / "run.txt")
    assert message in found.files[0].problems[0].message
    assert (found.command, found.has_problems) == ("", True)
    assert rl.inspect(tmp_path / "nowhere.csv").files[0].problems[0].message.endswith("does not exist.")


def test_the_command(folder, capsys):
    status, out, _ = run(capsys, "inspect", "golden.csv", "log.json", "chunks.jsonl")
    assert status == 1
    assert "golden.csv: golden set (csv, UTF-16), 2 questions, 3 judged documents" in out
    assert max(map(len, [line for line in out.splitlines() if not line.startswith(("-", "  "))])) <= 80
    status, out, _ = run(capsys, "inspect", "qrels.txt", "run.csv", "--format", "json")
    assert status == 0
    assert json.loads(out)["command"] == "ranklens evaluate qrels.txt run.csv"
    assert run(capsys, "inspect", "texts.jsonl", "textlog.jsonl", "--match", "text")[0] == 0
    html = rl.inspect("qrels.txt", "run.csv")._repr_html_()
    assert "<table>" in html


def test_standard_input_is_read_once(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "run.txt").read_bytes())))
    found = rl.inspect("qrels.txt", "-")
    assert (found.files[1].role, found.files[1].size) == ("run", "2 queries, 2 rows")


def test_records_with_references_are_a_golden_set_and_a_log(tmp_path):
    rows = [
        {
            "user_input": "Why?",
            "retrieved_contexts": ["In 30 days."],
            "reference_contexts": ["30 days"],
            "response": "…",
        }
    ]
    (tmp_path / "ragas.json").write_text(json.dumps(rows))
    found = rl.inspect(tmp_path / "ragas.json")
    assert (found.files[0].role, found.fixes) == ("golden set and log", ("--match text",))
    # Beside a golden set of ids, the references of a log do not ask for texts.
    (tmp_path / "golden.jsonl").write_text('{"question": "Why?", "expected_ids": ["a"]}\n')
    found = rl.inspect(tmp_path / "golden.jsonl", tmp_path / "ragas.json")
    assert [file.role for file in found.files] == ["golden set", "log"]


def test_rows_with_one_document_and_a_score_are_no_lists(tmp_path):
    (tmp_path / "run.csv").write_text("qid,results,score\nq1,a,0.5\nq1,b,0.4\n")
    found = rl.inspect(tmp_path / "run.csv")
    assert found.fixes == ("--map doc=results",)
    assert rl.evaluate({"q1": ["b"]}, tmp_path / "run.csv", "RR", columns={"doc": "results"}).mean == {
        "RR": 0.5
    }


def test_files_without_rows_and_no_files_at_all(tmp_path):
    (tmp_path / "golden.csv").write_text("id,question,expected_ids\n")
    assert [problem.message for problem in rl.inspect(tmp_path / "golden.csv").files[0].problems] == [
        "There are no rows."
    ]
    with pytest.raises(rl.InputError, match="There are no files to inspect"):
        rl.inspect()


@pytest.mark.parametrize(
    ("golden", "log"),
    [
        ('{"id": "q", "expected_ids": [], "answerable": true}', '{"id": "q"}\n{"retrieved": "a|b"}'),
        ('{"q": {"a": "high"}}', '{"q": ["a"]}'),
        ('{"q": [{"id": [1]}]}', '{"spans": [{"attributes": [1, 2]}]}'),
        ('{"id": "q", "expected_ids": ["a"]}', '{"id": "q", "retrieved": [{"id": "a", "score": {}}]}'),
    ],
)
def test_strange_rows_are_problems_and_no_tracebacks(tmp_path, golden, log):
    (tmp_path / "golden.jsonl").write_text(golden + "\n")
    (tmp_path / "log.jsonl").write_text(log + "\n")
    found = rl.inspect(tmp_path / "golden.jsonl", tmp_path / "log.jsonl")
    assert json.loads(json.dumps(found.to_dict()))["files"][1]["path"].endswith("log.jsonl")
    assert "golden.jsonl" in str(found)


def test_passages_are_gold_and_join_with_the_texts_of_chunks(tmp_path):
    golden, log = tmp_path / "golden.jsonl", tmp_path / "log.jsonl"
    golden.write_text('{"id": "q1", "question": "How long?", "passages": ["within ten working days"]}\n')
    log.write_text(
        '{"question_id": "q1", "retrieved": [{"chunk_id": "c1", "text": "Paid within ten working days."}]}\n'
    )
    found = rl.inspect(golden, log)
    assert [one.role for one in found.files] == ["golden set", "log"]
    assert [problem for one in found.files for problem in one.problems] == []


def test_objects_within_objects_are_a_problem_and_no_crash(tmp_path):
    path = tmp_path / "nested.json"
    path.write_text('{"data": {"results": [{"question_id": "q1", "retrieved": [{"chunk_id": "c1"}]}]}}')
    problems = [problem.message for one in rl.inspect(path).files for problem in one.problems]
    assert problems == ["its rows are nested in a way that is not recognised; write one object per question."]


def test_a_picture_is_a_problem_and_no_crash(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\n")
    (problem,) = rl.inspect(path).files[0].problems
    assert "is not valid UTF-8" in problem.message
