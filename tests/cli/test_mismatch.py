"""No query in common is an error of every command: zeros would pass for a result."""

import json

import pytest

from ranklens.cli.main import main

CONFIG = """
data: {qrels: qrels.txt, runs: {x: other.txt, y: run.txt}}
retrieval_metrics: {enabled_metrics: [mrr], statistical_analysis: {significance_testing: TESTED}}
gates: {rules: ["RR >= 0.01"]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 2 t\nq2 Q0 x 1 2 t\n")
    (tmp_path / "other.txt").write_text("z1 Q0 a 1 2 t\nz2 Q0 b 1 2 t\n")
    return tmp_path


GATE = ["gate", "RR >= 0.01", "--qrels", "qrels.txt", "--run", "other.txt"]
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
        "both.jsonl contains several systems ('x' and 'y'), and a TREC run contains one"
        in capsys.readouterr().err
    )
    assert not (folder / "both.txt").exists()
    assert main(["convert", "both.jsonl", "both.csv"]) == 0
    assert main(["explain", "RR", "qrels.txt", "both.jsonl", "--query", "q1"]) == 2
    assert "both.jsonl contains several systems" in capsys.readouterr().err


@pytest.fixture
def padded(folder):
    """Half of the queries of a log are written with a leading zero."""
    golden = [{"id": str(n), "question": f"What is {n}?", "expected_ids": ["a"]} for n in range(1, 21)]
    log = [{"id": f"{n:02}", "retrieved_ids": ["a"]} for n in range(1, 21)]
    for name, rows in (("golden", golden), ("log", log)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


PARTLY = "9 queries would match if you ignore leading zeros, such as '1' and '01'"


@pytest.mark.parametrize(
    "command",
    [
        "evaluate golden.jsonl log.jsonl -m RR",  # without Typer
        "evaluate golden.jsonl log.jsonl -m RR --abstain-below 0.5",
        "evaluate golden.jsonl a=log.jsonl b=log.jsonl -m RR",
        "compare golden.jsonl a=log.jsonl b=log.jsonl -m RR",
        "report golden.jsonl a=log.jsonl b=log.jsonl -m RR -o report.html",
        "history add golden.jsonl log.jsonl",
    ],
)
def test_part_of_the_queries_in_common_is_a_warning_that_strict_does_not_allow(padded, capsys, command):
    assert main(command.split()) == 0
    assert PARTLY in capsys.readouterr().err
    if not command.startswith("history"):  # which has no --strict
        assert main([*command.split(), "--strict"]) == 1
        assert PARTLY in capsys.readouterr().err


PARTLY_GATED = ["gate", "RR >= 0.01", "--qrels", "golden.jsonl", "--run", "log.jsonl"]


@pytest.mark.parametrize(
    "more", [[], ["--missing", "zero"], ["--missing", "skip"], ["--baseline", "base.json", "--update"]]
)
def test_part_of_the_queries_in_common_is_no_verdict(padded, capsys, more):
    before = {path.name for path in padded.iterdir()}
    assert main([*PARTLY_GATED, *more]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count(PARTLY)) == ("", 1)
    assert {path.name for path in padded.iterdir()} == before


@pytest.mark.parametrize("tested", ["true", "false"])
@pytest.mark.parametrize("command", ["bench bench.yaml", "gate --config bench.yaml"])
def test_configurations_with_part_of_the_queries(padded, capsys, command, tested):
    config = (
        CONFIG.replace("TESTED", tested)
        .replace("qrels.txt", "golden.jsonl")
        .replace("other.txt", "log.jsonl")
    )
    (padded / "bench.yaml").write_text(config.replace(", y: run.txt", ", y: log.jsonl"))
    assert main(command.split()) == 2
    assert PARTLY in capsys.readouterr().err
    (padded / "bench.yaml").write_text((padded / "bench.yaml").read_text().partition("gates:")[0])
    if command.startswith("bench"):
        assert main(command.split()) == 0
        assert PARTLY in capsys.readouterr().err
        assert main([*command.split(), "--strict"]) == 1


def test_gates_are_told_that_queries_are_missing_for_another_reason(folder, capsys):
    (folder / "run.txt").write_text("q1 Q0 a 1 2 t\nz9 Q0 x 1 2 t\n")
    gate = ["gate", "RR >= 0.5", "--qrels", "qrels.txt", "--run", "run.txt"]
    assert main(gate) == 2
    assert "for another reason, choose --missing zero or --missing skip." in capsys.readouterr().err
    for policy in ("zero", "skip"):
        assert main([*gate, "--missing", policy, "--min-checked", "50%"]) == 0
        assert "warning: 1 of 2 judged queries is not in the run ('q2')" in capsys.readouterr().err
