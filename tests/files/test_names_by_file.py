"""Fields that have a name of their own in one of the files: ``--map a:doc=chunk.id``."""

import json

import pytest
from command_line import run

import ranklens as rl
from ranklens.bench.config import load, run_config

GOLD = [
    {"id": "g1", "key": "x", "question": "Why?", "right": ["a"]},
    {"id": "g2", "key": "y", "question": "Who?", "right": ["b"]},
]
ONE = [
    {"id": "x", "sources": [{"chunk": {"id": "z"}}, {"chunk": {"id": "a"}}]},
    {"id": "y", "sources": [{"chunk": {"id": "b"}}]},
]
TWO = [{"id": "x", "retrieved": ["a"]}, {"id": "y", "retrieved": ["b"]}]
COLUMNS = {"golden:query": "key", "expected": "right", "one:doc": "chunk.id", "one:retrieved": "sources"}
EXPECTED = {"one": 0.75, "two": 1.0}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("gold", GOLD), ("one", ONE), ("two", TWO)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def means(compared):
    return {name: scores.mean["RR"] for name, scores in compared.scores.items()}


def test_names_of_one_input_do_not_bind_the_others(files):
    paths = {"one": "one.jsonl", "two": "two.jsonl"}
    assert means(rl.compare("gold.jsonl", paths, "RR", columns=COLUMNS)) == EXPECTED
    assert means(rl.compare("gold.jsonl", list(paths.values()), "RR", columns=COLUMNS)) == EXPECTED
    assert means(rl.compare(GOLD, {"one": ONE, "two": TWO}, "RR", columns=COLUMNS)) == EXPECTED
    by_file = {
        "gold.jsonl:query": "key",
        "expected": "right",
        "one.jsonl:doc": "chunk.id",
        "log:retrieved": ["sources", "retrieved"],
    }
    assert rl.evaluate("gold.jsonl", "one.jsonl", "RR", columns=by_file).mean == {"RR": 0.75}
    by_half = {"golden:query": "key", "expected": "right", "run:doc": "chunk.id", "run:retrieved": "sources"}
    assert rl.evaluate(GOLD, ONE, "RR", columns=by_half).mean == {"RR": 0.75}


def test_the_command_line_takes_names_of_one_file(files, capsys):
    options = [part for role, place in COLUMNS.items() for part in ("--map", f"{role}={place}")]
    status, out, _ = run(
        capsys,
        "compare",
        "gold.jsonl",
        "one.jsonl",
        "two=two.jsonl",
        "-m",
        "RR",
        "--format",
        "json",
        *options,
    )
    assert status == 0
    assert "0.75" in out
    status, _, error = run(
        capsys, "evaluate", "gold.jsonl", "one.jsonl", "--map", "expected=right", "--map", "onne:doc=chunk.id"
    )
    assert status == 2
    assert "onne:doc: no input is called 'onne': did you mean 'one'?" in error


def test_the_configuration_takes_names_of_one_file(files):
    (files / "bench.yaml").write_text(
        "data: {qrels: gold.jsonl, runs: {one: one.jsonl, two: two.jsonl}, map: "
        + json.dumps(COLUMNS)
        + "}\nretrieval_metrics: {enabled_metrics: [RR]}\n"
    )
    result = run_config(load(files / "bench.yaml"))
    assert {name: one.mean["RR"] for name, one in result.scores.items()} == EXPECTED


def test_a_name_for_one_file_is_required_there(files):
    with pytest.raises(rl.InputError, match="does not say which question"):
        rl.evaluate([{"id": "q", "expected": ["a"]}], TWO, "RR", columns={"golden:query": "key"})
    with pytest.raises(rl.InputError, match="there is no 'quary': did you mean 'query'"):
        rl.evaluate(GOLD, TWO, "RR", columns={"golden:quary": "key"})


def test_on_spark_they_are_refused():
    class SparkFrame:
        mapInArrow = None  # by which a DataFrame on a cluster is known  # noqa: N815

    with pytest.raises(rl.InputError, match="not supported with Spark"):
        rl.evaluate(SparkFrame(), SparkFrame(), "RR", columns={"run:doc": "chunk"})
