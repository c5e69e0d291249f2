"""Production traces as runs: what instrumented frameworks wrote, and examples in the shapes in which platforms export them."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import ranklens as rl
from ranklens.data.files.rows import read_rows

RECORDED = Path(__file__).parent / "recorded"
ASKED = "Do I need a credit card to try it out?"
FOUND = ["getting-started#1", "plans-pricing#2", "billing#4"]
RERANKED = ["plans-pricing#2", "getting-started#1"]


def test_retrievers_and_rerankers_become_runs_with_texts():
    traces = rl.from_traces(RECORDED / "openinference.jsonl")
    assert list(traces) == ["VectorStoreRetriever", "CohereRerank before", "CohereRerank after"]
    retrieved = traces["VectorStoreRetriever"]
    assert retrieved == {ASKED: FOUND, "Where is my invoice?": []}
    assert traces["CohereRerank before"] == {ASKED: FOUND}
    assert traces["CohereRerank after"] == {ASKED: RERANKED}
    assert retrieved.failed == {"Can I pay in bitcoin?": "TimeoutError: upstream"}
    assert retrieved.entries[ASKED].scores == (0.83, 0.81, 0.78)
    assert retrieved.entries[ASKED].seconds == pytest.approx(
        0.08, abs=1e-6
    )  # as far as seconds since 1970 go
    assert traces.texts[ASKED] == ASKED
    with pytest.raises(rl.InputError, match="contain 3 runs; choose one by name: 'VectorStoreRetriever', "):
        _ = traces.run


QUESTION, LOGIN, BROKEN = "When are invoices sent?", "Who can log in?", "Can I pay in bitcoin?"
LISTED = ["login#2", "billing#1", "team#3"]
WRITTEN = {  # by record.py: what instrumented frameworks really write
    "langchain.jsonl": {"HelpCentre": {QUESTION.lower(): LISTED, LOGIN: LISTED}},
    "llama_index.jsonl": {
        "HelpCentre.retrieve": {QUESTION: LISTED},
        "Turned._postprocess_nodes before": {QUESTION: LISTED},
        "Turned._postprocess_nodes after": {QUESTION: ["billing#1", "login#2"]},
    },
    "haystack.jsonl": {
        "InMemoryBM25Retriever.run": {"invoices sent": ["billing#1", "team#3"]},
        "MetaFieldRanker.run before": {"invoices sent": ["billing#1", "team#3"]},
        "MetaFieldRanker.run after": {"invoices sent": ["team#3", "billing#1"]},
    },
    "gen_ai.otlp.json": {"retrieval help-centre": {QUESTION: LISTED, LOGIN: LISTED[:1]}},
}
WRITTEN["llama_index.otlp.json"] = WRITTEN["llama_index.jsonl"]
FAILED = {"langchain.jsonl", "llama_index.jsonl", "llama_index.otlp.json"}


@pytest.mark.parametrize(("name", "runs"), WRITTEN.items())
def test_what_instrumented_frameworks_write(name, runs):
    traces = rl.from_traces(RECORDED / name)
    assert traces == runs
    first = next(iter(traces.values()))
    assert first.failed == ({BROKEN: "TimeoutError: upstream"} if name in FAILED else {})
    seconds = [entry.seconds for run in traces.values() for entry in run.entries.values()]
    assert all(0 < taken < 60 for taken in seconds)


def test_a_chain_that_rewrites_the_question():
    traces = rl.from_traces(RECORDED / "langchain.jsonl", query="root")
    assert traces.run == {QUESTION: LISTED, LOGIN: LISTED}
    by_source = rl.from_traces(RECORDED / "langchain.jsonl", id_from="metadata.source")
    assert by_source.run[LOGIN] == ["login.md", "billing.md", "team.md"]
    assert (
        rl.from_traces(RECORDED / "langchain.jsonl", id_from="content").run[LOGIN][0].startswith("You log in")
    )


def test_scores_of_frameworks():
    traces = rl.from_traces(RECORDED / "llama_index.jsonl")
    assert traces["HelpCentre.retrieve"].entries[QUESTION].scores == (0.83, 0.81, 0.7)
    assert traces["Turned._postprocess_nodes after"].entries[QUESTION].scores == (0.9, 0.4)


@pytest.mark.parametrize("framework", ["langchain", "llama_index", "haystack"])
def test_frameworks_as_they_are_installed(framework):
    """What they write today is read like what they wrote when it was recorded, from the objects of the SDK."""
    pytest.importorskip("opentelemetry.sdk.trace")
    pytest.importorskip(f"openinference.instrumentation.{framework}")
    spec = importlib.util.spec_from_file_location("record", Path(__file__).parent / "record.py")
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    traces = rl.from_traces(getattr(record, f"{framework}_spans")())
    assert traces == WRITTEN[f"{framework}.jsonl"]
    expected = {BROKEN: "TimeoutError: upstream"} if f"{framework}.jsonl" in FAILED else {}
    assert next(iter(traces.values())).failed == expected


def test_traces_are_measured_against_a_golden_set_by_text():
    golden = [
        {"id": "q1", "question": ASKED, "expected_ids": ["plans-pricing#2"]},
        {"id": "q2", "question": "Can I pay in bitcoin?", "expected_ids": ["payments#1"]},
    ]
    traces = rl.from_traces(RECORDED / "openinference.jsonl")
    scores = rl.evaluate(golden, traces["VectorStoreRetriever"], "RR")
    assert scores.mean["RR"] == 0.25
    assert "1 failed, counted as 0" in scores.note
    assert "joined on the texts of questions" in scores.note
    one = [golden[0]]
    means = {name: rl.evaluate(one, run, "RR").mean["RR"] for name, run in traces.items()}
    assert means == {"VectorStoreRetriever": 0.5, "CohereRerank before": 0.5, "CohereRerank after": 1.0}


def test_what_the_whole_request_was_asked():
    traces = rl.from_traces(RECORDED / "openinference.jsonl", query="root")
    assert traces["VectorStoreRetriever"]["and without a card?"] == FOUND
    assert traces["CohereRerank after"] == {"and without a card?": RERANKED}


def test_opentelemetrys_own_attributes_in_otlp():
    traces = rl.from_traces(RECORDED / "otlp.jsonl")
    assert traces == {"retrieval products": {"red shoes": ["doc_123", "doc_456"], "blue hat": ["doc_789"]}}
    assert traces.run.entries["red shoes"].scores == (0.95, 0.87)
    assert traces.run.entries["blue hat"].seconds == pytest.approx(0.25, abs=1e-6)


def unflattened(path):
    """The attributes as Phoenix stores them: nested."""
    spans = read_rows(path)
    for span in spans:
        nested = {"openinference": {"span": {"kind": span["attributes"]["openinference.span.kind"]}}}
        if "input.value" in span["attributes"]:
            nested["input"] = {"value": span["attributes"]["input.value"]}
        for key, place in (
            ("retrieval", "documents"),
            ("reranker", "input_documents"),
            ("reranker", "output_documents"),
        ):
            prefix = f"{key}.{place}."
            inside = {k[len(prefix) :]: v for k, v in span["attributes"].items() if k.startswith(prefix)}
            numbers = sorted({int(k.split(".")[0]) for k in inside})
            listed = [
                {"document": {k.split(".", 2)[2]: v for k, v in inside.items() if k.startswith(f"{n}.")}}
                for n in numbers
            ]
            if listed:
                nested.setdefault(key, {})[place] = listed
        if "reranker.query" in span["attributes"]:
            nested["reranker"]["query"] = span["attributes"]["reranker.query"]
        span["attributes"] = nested
    return spans


def as_objects(path):
    """Spans as OpenTelemetry's SDK holds them, with times in nanoseconds and ids as numbers."""
    return [
        SimpleNamespace(
            name=span["name"],
            context=SimpleNamespace(
                trace_id=int(span["context"]["trace_id"], 16), span_id=int(span["context"]["span_id"], 16)
            ),
            parent=None if span["parent_id"] is None else SimpleNamespace(span_id=int(span["parent_id"], 16)),
            attributes=span["attributes"],
            start_time=number * 10**9,
            end_time=number * 10**9 + 80_000_000,
            status=SimpleNamespace(
                status_code=SimpleNamespace(name=span["status"]["status_code"]),
                description=span["status"].get("description"),
            ),
        )
        for number, span in enumerate(reversed(read_rows(path)))
    ]


def as_table(path):
    """Phoenix's table of spans: a column per attribute, documents as a list of flat dicts."""
    rows = []
    for span in read_rows(path):
        flat = span["attributes"]
        row = {
            "name": span["name"],
            "span_kind": flat["openinference.span.kind"],
            "parent_id": span["parent_id"],
        }
        row |= {
            "context.trace_id": span["context"]["trace_id"],
            "start_time": span["start_time"],
            "end_time": span["end_time"],
        }
        row |= {
            "status_code": span["status"]["status_code"],
            "status_message": span["status"].get("description"),
        }
        row |= {f"attributes.{key}": flat.get(key) for key in ("input.value", "reranker.query")}
        for place in ("retrieval.documents", "reranker.input_documents", "reranker.output_documents"):
            ids = [value for key, value in flat.items() if key.startswith(place) and key.endswith(".id")]
            row[f"attributes.{place}"] = [{"document.id": doc} for doc in ids] or None
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.parametrize("shape", [unflattened, as_objects, as_table])
def test_other_shapes_of_the_same_spans(shape):
    assert rl.from_traces(shape(RECORDED / "openinference.jsonl")) == rl.from_traces(
        RECORDED / "openinference.jsonl"
    )


def test_failures_are_told_in_every_shape():
    for shape in (as_objects, as_table):
        found = rl.from_traces(shape(RECORDED / "openinference.jsonl"))["VectorStoreRetriever"]
        assert found.failed == {"Can I pay in bitcoin?": "TimeoutError: upstream"}


def test_parquet_and_json_files(tmp_path):
    as_table(RECORDED / "openinference.jsonl").write_parquet(tmp_path / "spans.parquet")
    expected = rl.from_traces(RECORDED / "openinference.jsonl")
    assert rl.from_traces(tmp_path / "spans.parquet") == expected
    (tmp_path / "page.json").write_text(
        json.dumps({"data": read_rows(RECORDED / "openinference.jsonl"), "next_cursor": None})
    )
    assert rl.from_traces(tmp_path / "page.json") == expected
    first = (RECORDED / "otlp.jsonl").read_text().splitlines()[0]
    (tmp_path / "otlp.json").write_text(first)
    assert rl.from_traces(tmp_path / "otlp.json").run == {"red shoes": ["doc_123", "doc_456"]}


def retriever(text, *documents, start=None):
    span = {"name": "search", "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": text}}
    span["attributes"]["retrieval.documents"] = [{"document": document} for document in documents]
    return {**span, "start_time": start} if start else span


def test_of_a_repeated_question_the_last_answer_counts():
    spans = [
        retriever("why?", {"id": "new"}, start="2026-01-02T00:00:00Z"),
        retriever("why?", {"id": "old"}, start="2026-01-01T00:00:00Z"),
    ]
    run = rl.from_traces(spans).run
    assert run == {"why?": ["new"]}
    assert run.again == 1


def test_documents_are_known_by_what_the_user_says():
    documents = [
        {"content": "x", "metadata": '{"source": "a.md"}'},
        {"content": "y", "metadata": '{"source": "b.md"}'},
    ]
    spans = [retriever("why?", *documents)]
    assert rl.from_traces(spans, id_from="metadata.source").run == {"why?": ["a.md", "b.md"]}
    assert rl.from_traces(spans, id_from="content").run == {"why?": ["x", "y"]}
    with pytest.raises(rl.InputError, match=r'id_from="metadata\.source"'):
        rl.from_traces(spans)


def test_a_span_without_a_question_goes_by_its_trace():
    span = retriever(None, {"id": "a"})
    assert rl.from_traces([{**span, "trace_id": "t1"}]).run == {"t1": ["a"]}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "No span of a retriever or reranker was found; there are no spans at all"),
        ([{"name": "a", "attributes": {"openinference.span.kind": "LLM"}}], "there are 1, of kind LLM"),
        ([{"name": "a"}], r"Span 1 has no attributes; it has \['name'\]"),
        (7, "The traces are a int"),
    ],
)
def test_what_holds_no_retrieval_says_so(source, message):
    with pytest.raises(rl.InputError, match=message):
        rl.from_traces(source)


def test_a_query_that_is_not_allowed():
    with pytest.raises(rl.InputError, match="query='rot' is not allowed: did you mean 'root'"):
        rl.from_traces([retriever("a", {"id": "b"})], query="rot")
