"""Golden sets in other formats: questions, texts, grades and fields survive every way there and back."""

import itertools
import json

import pytest
from command_line import run

import ranklens as rl
from ranklens.data.files.writing import convert
from ranklens.data.qrels import read_qrels

ROWS = [
    {
        "id": "007",
        "question": 'Why, "really"?',
        "topic": "billing",
        "expected_ids": ["a", "b, part 2"],
        "answerable": True,
    },
    {
        "id": "008",
        "question": "Who; or whom?",
        "topic": None,
        "expected_ids": ["c, part 1"],
        "answerable": None,
    },
    {"id": "009", "question": "When?", "topic": "other", "expected_ids": [], "answerable": False},
    {
        "id": "010",
        "question": "What | which?",
        "topic": "other",
        "expected_ids": ["x|y", "[z]"],
        "answerable": True,
    },
]
GRADED = [
    {"id": "q1", "expected": [{"id": "a", "relevance": 3}, {"id": "b", "relevance": 1}]},
    {"id": "q2", "expected": [{"id": "c", "relevance": 2}]},
]
SUFFIXES = ["jsonl", "csv", "tsv", "parquet", "csv.gz"]


def read(path):
    golden = read_qrels(path).golden
    return dict(golden), golden.texts, golden.unanswerable


@pytest.mark.parametrize("rows", [ROWS, GRADED], ids=["ids", "grades"])
@pytest.mark.parametrize(("one", "other"), list(itertools.product(SUFFIXES, SUFFIXES)))
def test_a_golden_set_survives_every_format(tmp_path, rows, one, other):
    source = tmp_path / "golden.json"
    source.write_text(json.dumps({"data": rows}))
    expected = read(source)
    assert convert(source, tmp_path / f"a.{one}") == (len(rows), "golden")
    assert read(tmp_path / f"a.{one}") == expected
    convert(tmp_path / f"a.{one}", tmp_path / f"b.{other}")
    assert read(tmp_path / f"b.{other}") == expected


def test_texts_that_are_expected_survive(tmp_path):
    rows = [{"id": "q", "question": "Why?", "expected_answer": "In 30 days; or more, perhaps"}]
    (tmp_path / "golden.jsonl").write_text(json.dumps(rows[0]))
    convert(tmp_path / "golden.jsonl", tmp_path / "golden.csv")
    log = [{"id": "q", "retrieved": [{"id": "c", "text": "in 30 days; or more, perhaps."}]}]
    assert rl.evaluate(tmp_path / "golden.csv", log, "RR", match="text").mean == {"RR": 1}


def test_trec_judgments_leave_out_texts_and_say_so(tmp_path, capsys):
    (tmp_path / "golden.jsonl").write_text("\n".join(map(json.dumps, GRADED)))
    status, out, error = run(capsys, "convert", str(tmp_path / "golden.jsonl"), str(tmp_path / "qrels.txt"))
    assert status == 0
    assert "3 rows of a golden set" in out
    assert "TREC judgments have neither texts nor fields" in error
    assert rl.judgments(tmp_path / "qrels.txt") == {"q1": {"a": 3, "b": 1}, "q2": {"c": 2}}


def test_what_is_no_golden_set_is_refused_as_one(tmp_path):
    (tmp_path / "run.csv").write_text("query,doc,score\nq,a,1\n")
    with pytest.raises(rl.InputError, match="is no golden set"):
        convert(tmp_path / "run.csv", tmp_path / "out.jsonl", "golden")
    assert convert(tmp_path / "run.csv", tmp_path / "out.jsonl") == (1, "run")
