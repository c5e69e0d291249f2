"""Where results go and how loud commands are: formats by suffix, ``--quiet``, ``--strict``, and Python's logging."""

import io
import json
import logging
import warnings

import polars as pl
import pytest
from command_line import run

import ranklens as rl
from ranklens.progress import Lines

COMMANDS = {
    "evaluate": ["evaluate", "qrels.txt", "a.txt", "b.txt", "-m", "RR,AP"],
    "compare": ["compare", "qrels.txt", "a.txt", "b.txt", "-m", "RR"],
    "explain": ["explain", "RR", "qrels.txt", "a.txt", "--query", "q1"],
    "bench": ["bench", "bench.yaml"],
    "lint": ["lint", "qrels.txt", "a.txt", "some.txt"],
    "measures": ["measures", "--for", "rag"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(6)))
    (tmp_path / "a.txt").write_text("".join(f"q{i} Q0 x 1 2 t\nq{i} Q0 a 2 1 t\n" for i in range(6)))
    (tmp_path / "b.txt").write_text("".join(f"q{i} Q0 a 1 2 t\n" for i in range(6)))
    (tmp_path / "some.txt").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\n")
    (tmp_path / "twice.txt").write_text("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n")
    (tmp_path / "bench.yaml").write_text(
        "data: {qrels: qrels.txt, runs: {a: a.txt, b: b.txt}}\nretrieval_metrics: {enabled_metrics: [RR]}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)
    return tmp_path


def read(path):
    text = None if path.suffix == ".parquet" else path.read_text(encoding="utf-8")
    return {
        ".json": lambda: json.loads(text),
        ".jsonl": lambda: [json.loads(line) for line in text.splitlines()],
        ".csv": lambda: pl.read_csv(io.StringIO(text)).to_dicts(),
        ".parquet": lambda: pl.read_parquet(path).to_dicts(),
    }[path.suffix]()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_suffix_names_the_format(capsys, folder, command):
    found = {}
    for suffix in ("json", "jsonl", "csv", "parquet"):
        status, out, _ = run(capsys, *COMMANDS[command], "-o", f"x.{suffix}")
        assert (status, out) == (0, "")
        found[suffix] = read(folder / f"x.{suffix}")
    assert found["json"]
    assert len(found["jsonl"]) == len(found["csv"]) == len(found["parquet"]) > 0
    assert found["jsonl"] == found["parquet"]
    assert [*found["csv"][0]] == [*found["parquet"][0]]


def test_findings_and_measures_say_the_same_in_every_format(capsys, folder):
    _, shown, _ = run(capsys, *COMMANDS["lint"])
    run(capsys, *COMMANDS["lint"], "-o", "x.json")
    findings = read(folder / "x.json")
    assert [*findings] == ["a", "some"]
    assert all(finding["message"] in shown for finding in findings["some"])
    assert "missing queries" in {finding["kind"] for finding in findings["some"]}
    run(capsys, "measures", "-o", "x.csv")
    assert [row["measure"] for row in read(folder / "x.csv")] == [str(measure) for measure in rl.measures()]
    run(capsys, "measures", "RBP", "--bibtex", "-o", "x.bib")
    assert (folder / "x.bib").read_text().startswith("@article{moffat2008")
    for given in (["--format", "json"], ["-o", "x.csv"]):
        assert "writes BibTeX" in run(capsys, "measures", "RBP", "--bibtex", *given)[2]


@pytest.mark.parametrize(
    "command",
    [
        ["gate", "RR >= 0.1", "--qrels", "qrels.txt", "--run", "a.txt"],
        ["plan", "--deviation", "0.2", "--detect", "0.05"],
        ["history", "list"],
        ["history", "show"],
        ["history", "trend", "RR"],
    ],
)
def test_a_suffix_is_never_ignored(capsys, folder, command):
    for _ in range(2):
        run(capsys, "history", "add", "qrels.txt", "a.txt", "-m", "RR")
    for suffix in ("json", "jsonl", "csv", "parquet"):
        status, out, err = run(capsys, *command, "-o", f"x.{suffix}")
        assert out == ""
        if status == 0:
            assert read(folder / f"x.{suffix}")
        else:  # rather than something else under this name
            assert (status, suffix == "json") == (2, False)
            assert err.startswith(
                f"ranklens {command[0]}: x.{suffix}: this command cannot write {suffix}. Choose a name"
            )
            assert not (folder / f"x.{suffix}").exists()


def test_an_explicit_format_and_other_suffixes(capsys, folder):
    run(capsys, *COMMANDS["evaluate"], "-o", "x.json", "--format", "csv")
    assert (folder / "x.json").read_text().startswith("run,measure,mean")
    run(capsys, *COMMANDS["evaluate"], "-o", "x.txt")
    assert (folder / "x.txt").read_text().startswith("run ")
    run(capsys, *COMMANDS["evaluate"], "-o", "x.md")
    assert (folder / "x.md").read_text().startswith("| run")
    status, _, err = run(capsys, *COMMANDS["evaluate"], "-o", "x.html")
    assert status == 2
    assert err == (
        "ranklens evaluate: x.html: this command cannot write html. Choose a name that ends in .json, .jsonl, .csv, .tsv, .parquet, .md "
        "or .tex, or --format.\n"
    )
    for name, kind in (
        ("x.xlsx", "xlsx"),
        ("x.csv.gz", "gz"),
        ("x.json.zst", "zst"),
    ):  # rather than text by that name
        status, _, err = run(capsys, *COMMANDS["evaluate"], "-o", name)
        assert status == 2
        assert f"{name}: this command cannot write {kind}" in err
        assert not (folder / name).exists()


def test_scores_of_a_command_are_read_and_compared(capsys, folder):
    run(capsys, *COMMANDS["evaluate"], "-o", "scores.json")
    scores = rl.read_scores("scores.json")
    assert [*scores] == ["a", "b"]
    assert scores["a"].mean == {"RR": 0.5, "AP": 0.5}
    assert rl.compare_scores(scores).pair("RR", "a", "b").difference == 0.5
    run(capsys, *COMMANDS["evaluate"], "-q", "-o", "scores.parquet")
    assert pl.read_parquet("scores.parquet").columns == ["run", "query", "RR", "AP"]


def test_quiet_and_strict(capsys):
    arguments = ["evaluate", "qrels.txt", "twice.txt", "-m", "RR"]
    status, out, err = run(capsys, *arguments)
    assert status == 0
    assert "warning: run: 1 repeated document was dropped" in err
    assert run(capsys, *arguments, "--quiet") == (0, out, "")
    assert run(capsys, *arguments, "--strict") == (
        1,
        out,
        f"{err}ranklens: 1 warning, which --strict does not allow.\n",
    )
    status, again, err = run(capsys, *arguments, "--quiet", "--strict")
    assert (status, again, err) == (1, out, "ranklens: 1 warning, which --strict does not allow.\n")
    assert run(capsys, *COMMANDS["evaluate"], "--strict")[0] == 0


def test_warnings_and_progress_reach_the_logger(caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with caplog.at_level(logging.INFO, logger="ranklens"):
            rl.evaluate({"q": [("a", 1), ("a", 2)]}, {"q": ["a"]}, "RR")
            lines = Lines("bm25", 2, always=True)
            lines.advance(failed=False)
            lines.end()
    first, second = caplog.records
    assert (first.name, first.levelname) == ("ranklens", "WARNING")
    assert "1 repeated document was dropped" in first.getMessage()
    assert second.getMessage().startswith("bm25: 1 of 2 queries (50%)")


def test_nobody_listening_means_standard_error(capsys):
    logger = logging.getLogger("ranklens")
    logger.propagate = False
    try:
        lines = Lines("bm25", 2, always=True)
        lines.end()
    finally:
        logger.propagate = True
    assert capsys.readouterr().err.startswith("bm25: 0 of 2 queries")
