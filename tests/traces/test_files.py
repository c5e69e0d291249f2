"""Traces where a run is expected: each retriever is a system, joined with the golden set by the texts of questions."""

import json

import pytest
from command_line import run

import ranklens as rl

GOLDEN = [
    {"id": "q1", "question": "Why?", "expected_ids": ["b"]},
    {"id": "q2", "question": "Who?", "expected_ids": ["c"]},
]


def span(question, ids, name="search", kind="RETRIEVER", **others):
    documents = [{"document": {"id": doc, "metadata": {"source": f"{doc}.pdf"}}} for doc in ids]
    attributes = {"openinference.span.kind": kind, "input.value": question, "retrieval.documents": documents}
    return {
        "name": name,
        "context": {"trace_id": question, "span_id": name},
        "attributes": attributes,
        **others,
    }


SPANS = [span("Why?", ["a", "b"]), span("Who?", ["c"])]
OTHERS = [span("Why?", ["b"], "hybrid"), span("Who?", ["x", "c"], "hybrid")]


def otlp(spans):
    def value(one):
        return {"stringValue": one if isinstance(one, str) else json.dumps(one)}

    listed = [
        {"name": one["name"], "traceId": "t", "spanId": str(number), "attributes": [{"key": key, "value": value(part)} for key, part in one["attributes"].items()]}
        for number, one in enumerate(spans)
    ]  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": listed}]}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden.jsonl").write_text("\n".join(map(json.dumps, GOLDEN)))
    return tmp_path


SHAPES = {
    "spans.jsonl": lambda spans: "\n".join(map(json.dumps, spans)),
    "spans.json": lambda spans: json.dumps(spans, indent=1),
    "otlp.json": lambda spans: json.dumps(otlp(spans)),
    "otlp.jsonl": lambda spans: "\n".join(json.dumps(otlp([one])) for one in spans),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_spans_is_a_run(folder, name, capsys):
    (folder / name).write_text(SHAPES[name](SPANS))
    assert rl.evaluate("golden.jsonl", name, "RR").mean == {"RR": 0.75}
    assert rl.evaluate(GOLDEN, folder / name, "RR").mean == {"RR": 0.75}
    status, out, _ = run(capsys, "evaluate", "golden.jsonl", name, "-m", "RR", "--format", "json")
    assert (status, "0.75" in out) == (0, True)
    inspected = rl.inspect("golden.jsonl", name)
    assert inspected.files[1].role == "traces"
    assert (inspected.files[1].problems, inspected.command) == ((), f"ranklens evaluate golden.jsonl {name}")


@pytest.mark.parametrize("name", SHAPES)
def test_each_retriever_is_a_system(folder, name):
    (folder / name).write_text(SHAPES[name]([*SPANS, *OTHERS]))
    compared = rl.compare("golden.jsonl", [name], "RR")
    assert {system: scores.mean["RR"] for system, scores in compared.scores.items()} == {
        "search": 0.75,
        "hybrid": 0.75,
    }
    with pytest.raises(rl.InputError, match="contains several systems"):
        rl.evaluate("golden.jsonl", name, "RR")
    assert rl.inspect("golden.jsonl", name).command == f"ranklens compare golden.jsonl {name}"


def test_the_id_of_a_document_may_be_elsewhere(folder):
    (folder / "spans.json").write_text(json.dumps(SPANS))
    gold = [{"question": "Why?", "expected_ids": ["b.pdf"]}]
    for options in ({"match": "field:metadata.source"}, {"columns": {"run:doc": "metadata.source"}}):
        assert rl.evaluate(gold, "spans.json", "RR", **options).mean == {"RR": 0.5}


def test_logs_with_ids_of_traces_stay_logs(folder):
    rows = [{"trace_id": "t1", "question": "Why?", "retrieved": ["b"], "attributes": {"user": 1}}]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert rl.evaluate(GOLDEN[:1], "log.jsonl", "RR").mean == {"RR": 1}
