"""Judgments and runs are read the same way wherever they are given: the same formats, the same names, once."""

import gzip
import os
import threading
from collections import Counter

import numpy as np
import polars as pl
import pytest
from command_line import run

import ranklens as rl
from ranklens.data.files import recognition, svmlight
from ranklens.data.files.collection import names_of, open_collection
from ranklens.data.files.sources import Source
from ranklens.recipes.lint import lint

TREC = "1 Q0 a 1 2.0 {tag}\n1 Q0 b 2 1.0 {tag}\n2 Q0 b 1 2.0 {tag}\n2 Q0 a 2 1.0 {tag}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two queries; bm25 finds the relevant document at once for one of them, the scores for both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 0\n")
    (tmp_path / "gold.svm").write_text("1 qid:1 # a\n0 qid:1 # b\n1 qid:2 # a\n0 qid:2 # b\n")
    (tmp_path / "r.txt").write_text(TREC.format(tag="bm25"))
    (tmp_path / "scores.txt").write_text("2\n1\n2\n1\n")
    return tmp_path


def rr(output):
    """The mean that a command printed as CSV."""
    return float(pl.read_csv(output.encode()).filter(pl.col("measure") == "RR")["mean"][0])


COMMANDS = {
    "evaluate": ("evaluate", "{qrels}", "{run}", "-m", "RR", "--format", "csv"),
    "compare": ("compare", "{qrels}", "{run}", "-m", "RR", "--format", "csv"),
    "explain": ("explain", "RR", "{qrels}", "{run}", "--query", "2", "--format", "json"),
    "lint": ("lint", "{qrels}", "{run}"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("qrels", "path", "options"),
    [
        ("gold.svm", "scores.txt", ()),
        ("gold.svm", "scores.txt", ("--run-format", "svmlight")),
        ("gold.svm", "scores.txt", ("--qrels-format", "svmlight", "--run-format", "svmlight")),
        ("gold.svm", "r.txt", ()),
        ("gold.svm", "r.txt", ("--run-format", "trec")),
        ("qrels.txt", "r.txt", ("--qrels-format", "trec", "--run-format", "trec")),
    ],
)
def test_every_command_accepts_the_same_formats(capsys, folder, command, qrels, path, options):
    arguments = [part.format(qrels=qrels, run=path) for part in COMMANDS[command]]
    status, out, err = run(capsys, *arguments, *options)
    assert (status, err) == (0, "")
    if command in ("evaluate", "compare"):
        assert rr(out) == (1 if path == "scores.txt" else 0.75)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_the_same(capsys, folder, command):
    arguments = [part.format(qrels="gold.svm", run="scores.txt") for part in COMMANDS[command]]
    status, _, err = run(capsys, *arguments, "--run-format", "trec")  # not ignored beside svmlight judgments
    assert status == 2
    assert "scores.txt contains bare scores" in err
    arguments = [part.format(qrels="qrels.txt", run="r.txt") for part in COMMANDS[command]]
    status, _, err = run(capsys, *arguments, "--run-format", "svmlight")
    assert status == 2
    assert "a run cannot be read as svmlight" in err


@pytest.mark.parametrize("several", [("scores.txt", "r.txt"), ("r.txt", "scores.txt")])
def test_judgments_are_parsed_once_for_all_runs(capsys, folder, monkeypatch, several):
    read, calls = svmlight.read_qrels, []
    monkeypatch.setattr(svmlight, "read_qrels", lambda source: calls.append(source) or read(source))
    for command in ("evaluate", "compare", "lint"):
        assert run(capsys, command, "gold.svm", *several)[0] == 0
    assert len(calls) == 3
    rl.compare("gold.svm", {path: path for path in several}, "RR")
    assert len(calls) == 4


def test_the_head_of_a_file_is_read_once(capsys, folder, monkeypatch):
    pieces, heads = Source.pieces, Counter()

    def counted(source, size=1 << 24):
        heads[source.name] += size <= 1 << 16
        return pieces(source, size)

    monkeypatch.setattr(Source, "pieces", counted)
    for command in COMMANDS.values():
        heads.clear()
        assert run(capsys, *[part.format(qrels="qrels.txt", run="r.txt") for part in command])[0] == 0
        assert heads == {"qrels.txt": 1, "r.txt": 1}, command


def test_a_run_has_the_same_name_in_every_command(capsys, folder):
    _, evaluated, _ = run(capsys, "evaluate", "qrels.txt", "r.txt", "-m", "RR", "--format", "csv")
    _, compared, _ = run(capsys, "compare", "qrels.txt", "r.txt", "-m", "RR", "--format", "csv")
    _, checked, _ = run(capsys, "lint", "qrels.txt", "r.txt")
    assert pl.read_csv(evaluated.encode())["run"].to_list() == ["bm25"]
    assert pl.read_csv(compared.encode())["system"].to_list() == ["bm25"]
    assert checked.startswith("bm25:")


def test_names_come_from_the_command_line_tags_or_files(folder):
    def names(*runs):
        return list(open_collection({}, runs).runs)

    (folder / "dense.txt").write_text(TREC.format(tag="dense"))
    assert names("r.txt", "dense.txt") == ["bm25", "dense"]
    assert names("mine=r.txt", "dense.txt") == ["mine", "dense"]
    assert names("dense=r.txt", "other=r.txt") == ["dense", "other"]
    assert names("dense=r.txt", "r.txt") == ["dense", "bm25"]
    assert names("bm25=dense.txt", "r.txt") == ["bm25", "r"]  # the tag is taken
    (folder / "same.txt").write_text(TREC.format(tag="bm25"))
    assert names("r.txt", "same.txt") == ["r", "same"]
    (folder / "number.txt").write_text(TREC.format(tag="4.2"))
    assert names("number.txt", "r.txt") == ["number", "r"]  # a number is no name
    (folder / "c.csv").write_text("query,doc,score\n1,a,1\n")
    assert names("c.csv", "r.txt") == ["c", "r"]
    (folder / "packed.txt.gz").write_bytes(gzip.compress(b"# comment\n1 Q0 a 1 1.0 zipped\n"))
    assert names("packed.txt.gz", "r.txt") == ["zipped", "bm25"]
    (folder / "a=b.txt").write_text(TREC.format(tag="odd"))
    assert names("a=b.txt") == ["odd"]  # a file of that name, not a name and a file
    with pytest.raises(rl.InputError, match="Two runs are called 'x'"):
        names("x=r.txt", "x=dense.txt")


def test_without_files_names_come_from_paths_alone(folder):
    assert names_of(["none/bm25.txt.gz", "mine=r.txt", "-"]) == {
        "bm25": "none/bm25.txt.gz",
        "mine": "r.txt",
        "standard input": "-",
    }
    assert names_of(["a/run.txt", "b/run.txt"]) == {"run": "a/run.txt", "b/run.txt": "b/run.txt"}


def test_what_can_be_read_once_is_named_by_its_path_and_read_whole(folder):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    data = open_collection("qrels.txt", ["pipe"])  # does not wait for whoever writes
    assert list(data.runs) == ["pipe"]
    writer = threading.Thread(target=pipe.write_text, args=(TREC.format(tag="t"),))
    writer.start()
    assert rl.evaluate(data.qrels, data.runs["pipe"], "RR").mean["RR"] == 0.75
    writer.join()
    assert rl.evaluate(data.qrels, data.runs["pipe"], "RR").mean["RR"] == 0.75


def test_a_table_beside_svmlight_judgments_is_no_file_of_scores(folder):
    (folder / "run.csv").write_text("query,doc,score\n1,a,2\n1,b,1\n2,a,2\n2,b,1\n")
    assert rl.evaluate("gold.svm", "run.csv", "RR").mean["RR"] == 1
    (folder / "scores.csv").write_text("2\n1\n2\n1\n")
    assert rl.evaluate("gold.svm", "scores.csv", "RR").mean["RR"] == 1


def test_functions_take_files_and_what_was_read_from_them(folder):
    data = open_collection("gold.svm", {"scores": "scores.txt", "given": {"1": ["b", "a"]}})
    assert data.runs["given"] == {"1": ["b", "a"]}
    compared = rl.compare(data.qrels, data.runs, "RR")
    assert compared.result("RR", "scores").mean == 1
    assert compared.documents("1", "scores", "given")["doc"].to_list() == ["b", "a"]
    explained = rl.explain("RR", data.qrels, data.runs["scores"], query="1")
    assert explained.value == rl.explain("RR", "gold.svm", "scores.txt", query="1").value == 1
    assert lint(data.qrels, data.runs["scores"]) == lint("gold.svm", "scores.txt") == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("query\tQ0\tdoc\trank\tscore\ttag\n1\tQ0\ta\t1\t2\tt\n", "tsv"),  # a header, though it says Q0
        ("1 Q0 a 1 2 t\n", "trec"),
        ("1 qid:7 # 3\n", "svmlight"),  # four fields with a number at the end, as judgments have
        ("1 a 1\n", "msmarco"),
    ],
)
def test_a_line_of_data_is_told_from_a_header(tmp_path, content, kind):
    (tmp_path / "file").write_text(content)
    assert recognition.locate(tmp_path / "file", None, "run")[1] == kind


def test_scores_in_memory_are_a_run_for_a_letor_file(tmp_path):
    path = tmp_path / "test.svm"
    path.write_text("2 qid:1 1:0.5\n0 qid:1 1:0.2\n1 qid:1 1:0.1\n0 qid:2 1:0.4\n1 qid:2 1:0.9\n")
    (tmp_path / "scores.txt").write_text("0.1\n0.5\n0.9\n0.2\n0.3\n")
    wanted = rl.evaluate(path, tmp_path / "scores.txt", ["nDCG@3", "RR"]).mean
    scores = [0.1, 0.5, 0.9, 0.2, 0.3]
    for given in (
        scores,
        tuple(scores),
        np.array(scores),
        np.array(scores, np.float32)[:, None],
        pl.Series(scores),
    ):
        assert rl.evaluate(path, given, ["nDCG@3", "RR"]).mean == wanted
    arrays = rl.evaluate_scores(scores, [2, 0, 1, 0, 1], [3, 2], ["nDCG@3", "RR"], relevant="labels").mean
    assert arrays == pytest.approx(wanted)
    with pytest.raises(rl.InputError, match=r"There are 2 scores, but .* contains 5 documents"):
        rl.evaluate(path, [0.1, 0.2], "RR")


def test_scores_in_memory_take_the_conventions_of_boosting(tmp_path):
    path = tmp_path / "test.svm"
    path.write_text("2 qid:1 1:0.5\n0 qid:1 1:0.2\n1 qid:1 1:0.1\n0 qid:2 1:0.4\n0 qid:2 1:0.9\n")
    scores = [0.1, 0.5, 0.9, 0.2, 0.3]
    for tool in ("lightgbm", "xgboost"):
        one = rl.evaluate(path, scores, "ndcg@3", convention=tool).mean
        other = rl.evaluate_scores(
            scores, [2, 0, 1, 0, 0], [3, 2], "ndcg@3", convention=tool, relevant="labels"
        ).mean
        assert list(one.values()) == pytest.approx(list(other.values()))
        assert one != rl.evaluate(path, scores, "nDCG@3").mean
