"""``ranklens explain``, on the golden files."""

import json

import command_line
import pytest
from command_line import GOLDEN

import ranklens as rl

pytestmark = pytest.mark.usefixtures("in_golden")


def run(capsys, *arguments):
    return command_line.run(capsys, "explain", *arguments)


def test_it_prints_what_the_library_prints(capsys):
    expected = rl.explain("nDCG@10", "qrels.txt", "run.txt", query="q1")
    assert run(capsys, "nDCG@10", "qrels.txt", "run.txt", "--query", "q1") == (0, f"{expected}\n", "")


def test_policies_and_rows_are_options(capsys):
    options = {"ties": "average", "depth": 50, "rel": 2}
    expected = rl.explain("P@20", "qrels.txt", "run.txt", query="q1", rows=4, **options)
    flags = ("--ties", "average", "--depth", "50", "--rel", "2", "--rows", "4")
    assert run(capsys, "P@20", "qrels.txt", "run.txt", "--query", "q1", *flags)[1] == f"{expected}\n"


def test_formats(capsys, tmp_path):
    base = ("AP", "qrels.txt", "run.txt", "--query", "q1", "--format")
    expected = rl.explain("AP", "qrels.txt", "run.txt", query="q1")
    assert json.loads(run(capsys, *base, "json")[1])["value"] == expected.value
    assert run(capsys, *base, "markdown")[1] == expected.to_markdown() + "\n"
    target = tmp_path / "ap.html"
    assert run(capsys, *base, "html", "-o", str(target)) == (0, "", "")
    page = target.read_text(encoding="utf-8")
    assert "<title>AP of q1</title>" in page
    assert expected.to_html() in page


def test_standard_input(capsys, monkeypatch):
    with (GOLDEN / "run.txt").open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": file}))
        status, out, _ = run(capsys, "RR", "qrels.txt", "-", "--query", "q1")
    assert (status, out) == (0, f"{rl.explain('RR', 'qrels.txt', 'run.txt', query='q1')}\n")


def test_without_a_query_the_ones_to_look_at_are_listed(capsys):
    values = rl.evaluate("qrels.txt", "run.txt", "AP").per_query.sort("AP", "query")
    status, out, _ = run(capsys, "AP", "qrels.txt", "run.txt")
    listed = [line.split()[0] for line in out.splitlines()[2:9]]
    assert status == 0
    assert listed[:5] == values["query"].head(5).to_list()
    assert listed[-1] == values["query"][-1]
    assert "--query" in out


def test_a_single_query_needs_no_name(capsys, tmp_path):
    (tmp_path / "qrels").write_text("q7 0 a 1\n")
    (tmp_path / "run").write_text("q7 Q0 b 1 2 t\nq7 Q0 a 2 1 t\n")
    status, out, _ = run(capsys, "RR", str(tmp_path / "qrels"), str(tmp_path / "run"))
    assert (status, out.splitlines()[-1]) == (0, "RR = 1 / rank of the first relevant document = 0.5000")


WRONG = [
    (["AP", "qrels.txt", "run.txt", "--query", "q111"], "did you mean 'q1"),
    (["AP", "qrels.txt", "run.txt", "--format", "json"], "Name one with --query"),
    (["rag", "qrels.txt", "run.txt"], "no measure 'rag'"),
    (["AP", "qrels.txt"], "Missing argument"),
    (["AP", "qrels.txt", "nothing.txt", "--query", "q1"], "does not exist"),
    (["AP", "qrels.txt", "run.txt", "--query", "q1", "--rows", "0"], "rows=0 is not allowed"),
    (["Bpref", "qrels.txt", "run.txt", "--query", "q1", "--ties", "average"], "not available for Bpref"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[w[1] for w in WRONG])
def test_mistakes_get_one_message_and_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_texts_of_queries_are_shown(capsys, tmp_path):
    (tmp_path / "queries.tsv").write_text("id\ttext\nq1\tWhere is it?\n", encoding="utf-8")
    base = ("AP", "qrels.txt", "run.txt", "--queries", str(tmp_path / "queries.tsv"))
    assert "- Question: Where is it?\n" in run(capsys, *base, "--query", "q1")[1]
    assert "- Question: Where is it?\n" in run(capsys, *base, "--query", "q1", "--format", "markdown")[1]
    assert json.loads(run(capsys, *base, "--query", "q1", "--format", "json")[1])["text"] == "Where is it?"
    assert "Question" not in run(capsys, *base, "--query", "q2")[1]
    assert run(capsys, *base)[1].startswith("query  question")
