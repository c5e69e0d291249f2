"""``ranklens evaluate`` by query: texts, failing queries, and what its options were once called."""

import csv
import io
import json

import pytest
from command_line import run

import ranklens as rl


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Three queries: found at once, found too late, not in the run."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 2 t\nq2 Q0 x 1 3 t\nq2 Q0 y 2 2 t\nq2 Q0 a 3 1 t\n")
    (tmp_path / "queries.csv").write_text("id,text\nq1,Why?\nq2,Where | when?\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)
    return tmp_path


def evaluate(capsys, *arguments):
    status, out, err = run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", "hit@2", *arguments)
    assert (status, err) == (0, "")
    return out


def test_failing_queries_stand_below_the_means(capsys):
    out = evaluate(capsys, "--failing", "5", "--queries", "queries.csv")
    scores = rl.evaluate("qrels.txt", "run.txt", "hit@2")
    assert out == f"{scores}\n\n{scores.failing(n=5, queries='queries.csv')}\n"
    assert "Where | when?" in out


def test_failing_queries_by_another_measure(capsys):
    out = evaluate(capsys, "--failing", "1", "--failing-measure", "mrr")
    assert "Failing queries: the lowest mrr\n" in out
    assert "2 of 3 queries are below 1; the 1 lowest is shown." in out


def test_failing_queries_in_every_format(capsys):
    base = ("--failing", "5", "--queries", "queries.csv", "--format")
    assert (
        "| q2 | Where \\| when? | a | x (unjudged), y (unjudged) | first relevant at rank 3 | 0.0000 |"
        in evaluate(capsys, *base, "markdown")
    )
    expected = rl.evaluate("qrels.txt", "run.txt", "hit@2").failing(queries="queries.csv").to_dicts()
    found = json.loads(evaluate(capsys, *base, "json"))["t"]
    assert found["failing"] == {"measure": "Success@2", "queries": expected}
    assert found["texts"] == {"q1": "Why?", "q2": "Where | when?"}
    lines = evaluate(capsys, *base, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [{"run": "t", **row} for row in expected]
    rows = list(csv.DictReader(io.StringIO(evaluate(capsys, *base, "csv"))))
    assert [(row["run"], row["query"], row["retrieved"]) for row in rows] == [
        ("t", "q2", "x y"),
        ("t", "q3", ""),
    ]
    assert evaluate(capsys, *base, "tsv").startswith("run\tquery\ttext\t")


def test_each_run_has_its_failing_queries(capsys, folder):
    (folder / "other.txt").write_text("q1 Q0 x 1 2 o\n")
    out = run(capsys, "evaluate", "qrels.txt", "run.txt", "other.txt", "-m", "RR", "--failing", "5")[1]
    assert "t: Failing queries: the lowest RR\n" in out
    assert "o: Failing queries: the lowest RR\n" in out


def test_standard_input_is_read_once_and_shown(capsys, folder, monkeypatch):
    with (folder / "run.txt").open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        out = run(capsys, "evaluate", "qrels.txt", "-", "-m", "hit@2", "--failing", "5")[1]
    assert "first relevant at rank 3" in out


def test_texts_stand_beside_the_queries(capsys):
    assert evaluate(capsys, "-q").startswith("query   hit@2\n")
    assert evaluate(capsys, "--per-query", "--queries", "queries.csv").startswith(
        "query  question        hit@2\n"
    )
    assert "| q1 | Why? | 1.0000 |" in evaluate(
        capsys, "-q", "--queries", "queries.csv", "--format", "markdown"
    )
    assert evaluate(capsys, "-q", "--queries", "queries.csv", "--format", "csv").splitlines() == [
        "query,question,hit@2", "q1,Why?,1.0", "q2,Where | when?,0.0", "q3,,0.0"
    ]  # fmt: skip
    first = json.loads(
        evaluate(capsys, "-q", "--queries", "queries.csv", "--format", "jsonl").splitlines()[0]
    )
    assert first == {"run": "t", "query": "q1", "question": "Why?", "hit@2": 1.0}


def test_repeated_measures_add_up(capsys):
    found = json.loads(evaluate(capsys, "-m", "map", "-m", "ndcg_cut_10,RR", "--format", "json"))["t"]
    assert [row["asked"] for row in found["measures"]] == ["hit@2", "map", "ndcg_cut_10", "RR"]
    by_typer = evaluate(capsys, "-m", "map", "-mRR", "--format", "csv")
    assert [line.split(",")[1] for line in by_typer.splitlines()[1:]] == ["hit@2", "map", "RR"]


def test_what_runs_share_is_said_once(capsys, folder):
    (folder / "copy.txt").write_text((folder / "run.txt").read_text() + "q2 Q0 a 4 0 t\n")
    (folder / "again.txt").write_text((folder / "copy.txt").read_text())
    status, out, err = run(capsys, "evaluate", "qrels.txt", "copy.txt", "again.txt", "-m", "RR")
    assert status == 0
    assert err.count("\n") == 1
    assert err.startswith("ranklens evaluate: warning: copy and again: run: 1 repeated document was dropped")
    assert out.count("queries averaged") == 1


PER_QUERY = (
    "--queries takes a file with the texts of the queries; for one row per query use --per-query (-q)."
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qrels.txt", "run.txt", "--queries"], f"Option '--queries' requires an argument. {PER_QUERY}"),
        (["qrels.txt", "run.txt", "--queries", "--format", "csv"], f"--queries --format: there is no such file. {PER_QUERY}"),
        (["--queries", "qrels.txt", "run.txt"], PER_QUERY),
        (["qrels.txt", "run.txt", "--metrics", "RR"], "No such option: --metrics. Did you mean --measures (-m)?"),
        (["qrels.txt", "run.txt", "-m", "context_precision"], "The nearest is P@5, or AP"),
        (["qrels.txt", "run.txt", "-m", "faithfulness"], "RankLens measures retrieval, not generated answers"),
        (["qrels.txt", "run.txt", "--failing", "3", "--format", "latex"], "--failing needs another format than latex"),
        (["qrels.txt", "run.txt", "--failing", "3", "-q", "--format", "csv"], "csv has room for one"),
        (["qrels.txt", "run.txt", "--failing-measure", "RR"], "pass both"),
        (["qrels.txt", "run.txt", "--failing", "0"], "--failing"),
        (["qrels.txt", "run.txt", "--failing", "3", "--failing-measure", "NumRet"], "NumRet is not a mean"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(capsys, arguments, message):
    status, out, err = run(capsys, "evaluate", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_no_query_in_common_is_an_error(folder, capsys):
    """Zeros would pass for a result; Python warns and gives them."""
    (folder / "odd.txt").write_text("7 Q0 a 1 2 t\n")
    message = "The run and the judgments have no query in common (judged: 'q1', in the run: '7')"
    for command in ("evaluate", "compare"):
        for files in (["odd.txt"], ["run.txt", "odd.txt"])[command == "compare" :]:
            status, out, err = run(capsys, command, "qrels.txt", *files, "-m", "RR")
            assert (status, out) == (2, ""), (command, files)
            assert message in err
            assert err.count("no query in common") == 1
    with pytest.warns(rl.RankLensWarning, match="no query in common"):
        assert rl.evaluate("qrels.txt", "odd.txt", "RR").mean == {"RR": 0}
