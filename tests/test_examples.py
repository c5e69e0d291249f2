"""The example data is what its script makes, and holds what its README promises."""

import importlib.util
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from command_line import run

FOLDER = Path(__file__).parent.parent / "examples" / "rag-logs"
MADE = ("corpus.jsonl", "golden.jsonl", "bm25.jsonl", "hybrid.jsonl")
LOGS = ("bm25", "hybrid")


def rows(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


CORPUS = {row["chunk_id"]: row["text"] for row in rows("corpus")}
GOLDEN = {row["id"]: row for row in rows("golden")}


def asked(log):
    return Counter(row["question_id"] for row in rows(log))


def failed(log):
    return [row["question_id"] for row in rows(log) if row.get("status") == "error"]


def answered(log):
    return [row for row in rows(log) if "retrieved" in row]


def test_the_script_makes_the_committed_files():
    spec = importlib.util.spec_from_file_location("make_data", FOLDER / "make_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.files() == {name: (FOLDER / name).read_bytes() for name in MADE}


def test_the_folder_stays_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 600_000


def test_chunks_are_distinct():
    assert len(rows("corpus")) == len(CORPUS) == len(set(CORPUS.values())) == 161
    assert len({chunk.split("#")[0] for chunk in CORPUS}) == 38


def test_questions_are_distinct():
    assert len(rows("golden")) == len(GOLDEN) == len({row["question"] for row in GOLDEN.values()}) == 200
    assert {row["type"] for row in GOLDEN.values()} == {"how-to", "fact", "troubleshooting"}


def test_every_expected_chunk_exists_once():
    for row in GOLDEN.values():
        expected = row["expected_chunk_ids"]
        assert set(expected) <= CORPUS.keys(), row
        assert len(expected) == len(set(expected)) <= 3, row


def test_only_unanswerable_questions_expect_nothing():
    unanswerable = [name for name, row in GOLDEN.items() if row.get("answerable") is False]
    assert unanswerable == [name for name, row in GOLDEN.items() if not row["expected_chunk_ids"]]
    assert len(unanswerable) == 15


def test_expected_answers_are_in_the_first_expected_chunk():
    answers = [row for row in GOLDEN.values() if "expected_answer" in row]
    assert len(answers) == 35
    for row in answers:
        assert row["expected_answer"] in CORPUS[row["expected_chunk_ids"][0]], row


@pytest.mark.parametrize(("log", "absent", "failures", "repeated"), [("bm25", 6, 1, 2), ("hybrid", 3, 3, 3)])
def test_flaws_of_the_logs(log, absent, failures, repeated):
    assert asked(log).keys() <= GOLDEN.keys()
    assert len(GOLDEN.keys() - asked(log).keys()) == absent
    assert len(failed(log)) == failures
    assert sorted(asked(log).values()) == [1] * (200 - absent - repeated) + [2] * repeated


def test_one_question_succeeds_after_a_failure():
    retried = {log: {row["question_id"] for row in answered(log)} & set(failed(log)) for log in LOGS}
    assert {log: len(names) for log, names in retried.items()} == {"bm25": 0, "hybrid": 1}


@pytest.mark.parametrize("log", LOGS)
def test_a_second_request_finds_the_same(log):
    first = {}
    for row in answered(log):
        assert first.setdefault(row["question_id"], row["retrieved"]) == row["retrieved"]


@pytest.mark.parametrize("log", LOGS)
def test_logged_chunks_are_those_of_the_corpus(log):
    for row in rows(log):
        assert row["question"] == GOLDEN[row["question_id"]]["question"]
    for row in answered(log):
        chunks = [item["chunk_id"] for item in row["retrieved"]]
        assert len(chunks) == len(set(chunks)) <= 10
        assert {item["text"] for item in row["retrieved"][:3]} == {CORPUS[chunk] for chunk in chunks[:3]}
        assert not any("text" in item for item in row["retrieved"][3:])


@pytest.mark.parametrize(("log", "lines"), [("bm25", 0), ("hybrid", 4)])
def test_scores_fall_or_ranks_stand_in_for_them(log, lines):
    without = 0
    for row in answered(log):
        scores = [item["score"] for item in row["retrieved"]]
        if None in scores:
            without += 1
            assert set(scores) == {None}
            assert [item["rank"] for item in row["retrieved"]] == list(range(1, len(scores) + 1))
        else:
            assert scores == sorted(scores, reverse=True)
            assert not any("rank" in item for item in row["retrieved"])
    assert without == lines


@pytest.mark.parametrize("log", LOGS)
def test_unanswerable_questions_get_nothing_or_wrong_chunks(log):
    found = {
        bool(row["retrieved"])
        for row in answered(log)
        if not GOLDEN[row["question_id"]]["expected_chunk_ids"]
    }
    assert found == {True, False}


LOGS_PAGE = FOLDER.parents[1] / "docs" / "logs.md"
COMMANDS = re.findall(
    r"```bash\n(ranklens .*?)\n```\n(?:\n```\n(.*?)```)?", LOGS_PAGE.read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_page_about_logs_prints_what_it_says(command, printed, capsys, monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr("warnings.showwarning", None)
    status, out, _ = run(capsys, *shlex.split(command)[1:])
    assert status == 0
    assert not printed or out == printed
