"""No command writes over a file that it reads, under whatever name, nor two outputs into one file."""

import json
import os
import shutil

import pytest
import yaml
from command_line import run

QRELS = "q1 0 a 1\nq2 0 b 1\n"
RUN = "q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\n"
GATE = ["gate", "RR >= 0.5", "--qrels", "qrels.txt", "--run", "mine=run.txt"]
FROZEN = [*GATE, "RR drop <= 0.1", "--baseline", "baseline.json"]
SCORES = {
    "evaluate": ["evaluate", "qrels.txt", "mine=run.txt"],
    "compare": ["compare", "qrels.txt", "a=run.txt", "other.txt"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "other.txt").write_text(RUN)
    (tmp_path / "measures.py").write_text("")
    (tmp_path / "groups.json").write_text('[["a", "b"]]')
    (tmp_path / "queries.jsonl").write_text('{"id": "q1", "text": "red"}\n{"id": "q2", "text": "blue"}\n')
    (tmp_path / "mine.py").write_text("def search(text):\n    return ['a']\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "old.txt").write_text(RUN)
    assert run(capsys, *FROZEN, "--update")[0] == 0
    return tmp_path


def contents(folder):
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "pycache" not in str(path)
    }


def refused(folder, capsys, *arguments):
    """The command fails with exit status 2, and no file changes or is added."""
    before = contents(folder)
    status, _, err = run(capsys, *arguments)
    assert contents(folder) == before
    assert status == 2, err
    assert len(err.splitlines()) == 1
    return err


def spellings(folder, name):
    """Other names of the same file."""
    (folder / "deeper").mkdir(exist_ok=True)
    for link, make in (("symbolic", os.symlink), ("hard", os.link)):
        if not (folder / f"{link}-{name}").exists():
            make(folder / name, folder / f"{link}-{name}")
    return [name, f"./{name}", f"deeper/../{name}", str(folder / name), f"symbolic-{name}", f"hard-{name}"]


@pytest.mark.parametrize("option", ["-o", "--junit"])
@pytest.mark.parametrize("name", ["qrels.txt", "run.txt", "baseline.json", "queries.jsonl"])
def test_gates_write_over_no_input(folder, capsys, option, name):
    for spelled in spellings(folder, name):
        err = refused(folder, capsys, *FROZEN, "--queries", "queries.jsonl", option, spelled)
        assert "is one of the files to read" in err


@pytest.mark.parametrize("name", ["qrels.txt", "run.txt", "queries.jsonl"])
def test_a_baseline_replaces_no_input(folder, capsys, name):
    for spelled in spellings(folder, name):
        call = [*GATE, "--queries", "queries.jsonl", "--baseline", spelled, "--update"]
        assert "is one of the files to read" in refused(folder, capsys, *call)


@pytest.mark.parametrize(
    "more",
    [
        ["-o", "out.txt", "--junit", "out.txt"],
        ["-o", "out.txt", "--junit", "./out.txt"],
        ["-o", "out.txt", "--junit", "OUT.txt"],
        ["-o", "new.json", "--baseline", "new.json", "--update"],
        ["--junit", "Baseline.json", "--baseline", "baseline.json", "--update"],
    ],
)
def test_two_outputs_are_two_files(folder, capsys, more):
    assert "would be written twice" in refused(folder, capsys, *GATE, *more)


@pytest.mark.parametrize(
    ("command", "more", "name"),
    [
        ("evaluate", ["--queries", "queries.jsonl"], "queries.jsonl"),
        ("evaluate", ["--load", "measures.py"], "measures.py"),
        ("evaluate", ["--match", "groups:groups.json"], "groups.json"),
        ("evaluate", ["-q"], "qrels.txt"),
        ("evaluate", [], "run.txt"),
        ("compare", ["--load", "measures.py"], "measures.py"),
        ("compare", ["--queries", "queries.jsonl"], "queries.jsonl"),
        ("compare", ["--cluster", "queries.jsonl:text"], "queries.jsonl"),
        ("compare", ["runs/*.txt"], "runs/old.txt"),
        ("compare", [], "other.txt"),
    ],
)
def test_no_other_command_writes_over_an_input(folder, capsys, command, more, name):
    for spelled in (name, f"./{name}", str(folder / name)):
        err = refused(folder, capsys, *SCORES[command], *more, "-o", spelled, "--format", "csv")
        assert "is one of the files to read" in err


def test_charts_of_a_comparison_are_files_of_their_own(folder, capsys):
    call = [*SCORES["compare"], "--plot", "chart.svg", "--plot", "deltas=chart.svg"]
    assert "would be written twice" in refused(folder, capsys, *call)


def configuration(folder, **changes):
    content = {
        "data": {"qrels": "qrels.txt", "queries": "queries.jsonl", "runs": {"old": "runs/old.txt"}},
        "retrievers": [{"name": "mine", "retriever": "mine:search"}],
        "gates": {"rules": ["RR >= 0.4"], "baseline": "baseline.json"},
        **changes,
    }
    (folder / "bench.yaml").write_text(yaml.safe_dump(content))


@pytest.mark.parametrize(
    "name", ["qrels.txt", "queries.jsonl", "runs/old.txt", "bench.yaml", "baseline.json"]
)
@pytest.mark.parametrize("call", [["bench", "bench.yaml"], ["gate", "--config", "bench.yaml"]])
def test_configurations_are_checked_with_all_they_name(folder, capsys, call, name):
    configuration(folder)
    for option in ("-o", "--junit"):
        told = (
            "cannot write jsonl"
            if (call[0], option, name) == ("gate", "-o", "queries.jsonl")
            else "is one of the files to read"
        )
        assert told in refused(folder, capsys, *call, option, name)
    if call[0] == "gate" and name != "baseline.json":
        assert "is one of the files to read" in refused(folder, capsys, *call, "--baseline", name, "--update")
    configuration(folder, outputs={"csv": name})
    assert "is one of the files to read" in refused(folder, capsys, "bench", "bench.yaml")


def test_outputs_of_configurations_are_files_of_their_own(folder, capsys):
    configuration(folder, outputs={"csv": "out.txt", "table": "out.txt"})
    assert "would be written twice" in refused(folder, capsys, "bench", "bench.yaml")
    configuration(folder, outputs={"csv": "out.csv"})
    assert "would be written twice" in refused(folder, capsys, "bench", "bench.yaml", "--junit", "out.csv")
    configuration(folder, outputs={"runs": "runs"}, retrievers=[{"name": "old!", "retriever": "mine:search"}])
    assert "is one of the files to read" in refused(folder, capsys, "bench", "bench.yaml")


def test_a_history_is_not_exported_onto_itself(folder, capsys):
    store = str(folder / "history.parquet")
    assert run(capsys, "history", "add", "qrels.txt", "run.txt", "-m", "RR", "--history", store)[0] == 0
    assert "is one of the files to read" in refused(
        folder, capsys, "history", "export", store, "--history", store
    )


def test_outputs_that_hurt_nothing_are_written(folder, capsys):
    shutil.copy("run.txt", "results.json")
    assert run(capsys, *FROZEN, "-o", "results.json", "--junit", "gate.xml")[0] == 0
    assert json.loads((folder / "results.json").read_text())["passed"]
    assert run(capsys, *FROZEN, "--update")[0] == 0
    assert run(capsys, *SCORES["evaluate"], "-o", "-", "--format", "csv")[0] == 0
