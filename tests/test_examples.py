"""The example data is what its script makes, and holds what its README promises."""

import importlib.util
import json
import os
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


# A project under guard: its CI passes as it is, and says what is wrong when its retriever breaks.

GUARDED = FOLDER.parent / "guarded-search"
WEIGHT = "        return math.log(1 + (all_of_them - number + 0.5) / (number + 0.5))\n"
QUERY = "    query = words(text)\n"
BROKEN = {
    "all words weigh the same": (
        {WEIGHT: "        return 1.0\n"},
        1,
        ["FAILED: mrr of search: 0.2637 against the baseline's 0.4390, a change of -0.1753", "below the allowed -0.03 with 95% confidence",
         "lost most: q010 “How do I include a delivery note with the bill?” 1.00 → 0.00"],
    ),
    "some calls fail": (
        {QUERY: QUERY + "    if 'invoice' in query:\n        raise KeyError('invoice')\n"},
        1,
        ["FAILED: failed calls of search: 39 > allowed 0", "39 calls failed: KeyError: 'invoice'"],
    ),
    "all calls fail": (
        {QUERY: "    raise RuntimeError('index not found')\n"},
        2,
        ["'search' was stopped after 20 calls in a row with the same error: RuntimeError: index not found"],
    ),
    "it cannot be imported": (
        {"import json\n": "import jsonn as json\n"},
        2,
        ["bench.yaml: retrievers[0].retriever: the module 'search' cannot be imported", "No module named 'jsonn'"],
    ),
    "it is slow": (
        {"    - p95 <= 2s\n": "    - p95 <= 0.001ms\n"},
        1,
        ["FAILED: 95th percentile of the latency of search", "> allowed 0.001 ms"],
    ),
    "a question was added": (
        {'{"id": "q001"': '{"id": "q999"'},
        2,
        ["was measured on other queries or judgments: 1 query new (q999); 1 query gone (q001)", "update the baseline with --update"],
    ),
    "the baseline was edited": (
        {'"q008": ["121808884dc3b3f5", 1.0': '"q008": ["121808884dc3b3f5", 0.5'},
        2,
        ["baseline.json was changed by hand, or badly merged"],
    ),
}  # fmt: skip


def commands_of_the_workflow():
    import yaml

    workflow = yaml.safe_load(
        (GUARDED / ".github" / "workflows" / "retrieval.yml").read_text(encoding="utf-8")
    )
    steps = [step["run"] for step in workflow["jobs"]["gate"]["steps"] if "run" in step]
    return [shlex.split(step) for step in steps if step.startswith("ranklens ")]


def run_the_workflow(tmp_path, changes=None):
    """Status and output of the first command that fails, in a copy of the project with some lines changed."""
    import shutil
    import subprocess
    import sys

    for name in ("guarded-search", "rag-logs"):
        shutil.copytree(FOLDER.parent / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for before, after in (changes or {}).items():
        paths = [*(tmp_path / "guarded-search").iterdir(), tmp_path / "rag-logs" / "golden.jsonl"]
        texts = {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}
        holds = [path for path, text in texts.items() if before in text]
        assert len(holds) == 1
        holds[0].write_text(texts[holds[0]].replace(before, after, 1), encoding="utf-8")
    for command in commands_of_the_workflow():
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path / "guarded-search", capture_output=True, encoding="utf-8", check=False,
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip
        if done.returncode:
            break
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_the_guarded_project_passes_as_it_is(tmp_path):
    assert commands_of_the_workflow()
    status, out = run_the_workflow(tmp_path)
    assert (status, "Gate passed: 5 passed" in out) == (0, True), out


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_retriever_fails_with_its_cause(how, tmp_path):
    changes, expected, told = BROKEN[how]
    status, out = run_the_workflow(tmp_path, changes)
    assert status == expected, out
    assert [sentence for sentence in told if sentence not in out] == []
