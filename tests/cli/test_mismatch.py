"""No query in common is an error of every command: zeros would pass for a result."""

import json

import pytest

from ranklens.cli.main import main

CONFIG = """
data: {qrels: qrels.txt, runs: {x: other.txt, y: run.txt}}
retrieval_metrics: {enabled_metrics: [mrr], statistical_analysis: {significance_testing: TESTED}}
gates: {rules: ["RR >= 0"]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 2 t\nq2 Q0 x 1 2 t\n")
    (tmp_path / "other.txt").write_text("z1 Q0 a 1 2 t\nz2 Q0 b 1 2 t\n")
    return tmp_path


GATE = ["gate", "RR >= 0", "--qrels", "qrels.txt", "--run", "other.txt"]
COMMANDS = [
    GATE,
    [*GATE, "--baseline", "base.json", "--update"],
    ["history", "add", "qrels.txt", "other.txt"],
    ["explain", "RR", "qrels.txt", "other.txt"],
    ["evaluate", "qrels.txt", "other.txt"],
    ["compare", "qrels.txt", "run.txt", "other.txt"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands(folder, capsys, command):
    before = {path.name for path in folder.iterdir()}
    assert main(command) == 2
    assert "have no query in common" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == before, "nothing was written"


@pytest.mark.parametrize("tested", ["true", "false"])
@pytest.mark.parametrize("command", ["bench bench.yaml", "gate --config bench.yaml"])
def test_configurations(folder, capsys, command, tested):
    (folder / "bench.yaml").write_text(CONFIG.replace("TESTED", tested))
    assert main(command.split()) == 2
    assert "have no query in common" in capsys.readouterr().err


def test_several_systems_are_neither_converted_to_one_nor_explained_as_one(folder, capsys):
    rows = [{"query": "q1", "doc": "a", "score": 1, "system": system} for system in ("x", "y")]
    (folder / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["convert", "both.jsonl", "both.txt"]) == 2
    assert (
        "both.jsonl holds several systems ('x' and 'y'), and a TREC run holds one" in capsys.readouterr().err
    )
    assert not (folder / "both.txt").exists()
    assert main(["convert", "both.jsonl", "both.csv"]) == 0
    assert main(["explain", "RR", "qrels.txt", "both.jsonl", "--query", "q1"]) == 2
    assert "both.jsonl holds several systems" in capsys.readouterr().err
