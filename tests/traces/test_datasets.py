"""Datasets as judgments: rows as platforms export them."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import ranklens as rl
from ranklens.data.files.rows import read_rows

RECORDED = Path(__file__).parent / "recorded"
PATHS = {
    "langfuse": ("input.question", "expectedOutput.chunk_ids"),
    "langsmith": ("inputs.question", "outputs.ids"),
    "phoenix": ("input.query", "output.relevant_ids"),
    "mlflow": ("inputs.question", "expectations.expected_retrieved_context"),
}
TEXTS = ["Do I need a card?", "Where is my invoice?"]
EXPECTED = [{"getting-started#1": 1.0, "plans#2": 1.0}, {"invoices#3": 1.0}]


@pytest.mark.parametrize("tool", PATHS)
def test_exports_are_read_with_and_without_paths(tool):
    query, relevant = PATHS[tool]
    for golden in (
        rl.from_dataset(RECORDED / f"{tool}.jsonl", query=query, relevant=relevant),
        rl.from_dataset(RECORDED / f"{tool}.jsonl"),
        rl.from_dataset({"data": read_rows(RECORDED / f"{tool}.jsonl")}),
        rl.from_dataset([SimpleNamespace(**row) for row in read_rows(RECORDED / f"{tool}.jsonl")]),
    ):
        assert list(golden.values()) == EXPECTED
        assert list(golden.texts.values()) == TEXTS
        first = read_rows(RECORDED / f"{tool}.jsonl")[0]
        assert next(iter(golden)) == first.get("id", first.get("dataset_record_id"))


def test_tables_hold_json_in_texts(tmp_path):
    rows = read_rows(RECORDED / "langfuse.jsonl")
    texts = [{key: json.dumps(row[key]) for key in ("id", "input", "expectedOutput")} for row in rows]
    texts = [{**row, "id": json.loads(row["id"])} for row in texts]
    pd.DataFrame(texts).to_csv(tmp_path / "items.csv", index=False)
    assert rl.from_dataset(tmp_path / "items.csv") == dict(zip(["clx1", "clx2"], EXPECTED, strict=True))
    assert rl.from_dataset(pd.DataFrame(texts)) == rl.from_dataset(tmp_path / "items.csv")


def test_columns_with_dots_and_single_ids():
    rows = [{"inputs.question": "why?", "outputs.ids": "d7"}]
    assert rl.from_dataset(rows, query="inputs.question", relevant="outputs.ids") == {"why?": {"d7": 1.0}}


def test_a_dataset_and_traces_go_together():
    golden = rl.from_dataset(RECORDED / "langsmith.jsonl")
    log = [{"question": "Where is my invoice?", "retrieved_ids": ["x", "invoices#3"]}]
    assert rl.evaluate(golden, log, "RR").mean["RR"] == 0.25
    bench = rl.Benchmark(golden.texts, golden)
    bench.run("mine", lambda text: ["plans#2"], k=1)
    assert bench.evaluate("P@1")["mine"].mean["P@1"] == 0.5


def test_an_id_of_ones_own():
    rows = [{"meta": {"key": 7}, "input": "why?", "output": ["d1"]}]
    assert rl.from_dataset(rows, id="meta.key") == {"7": {"d1": 1.0}}


def test_rows_without_labels_are_left_out_and_counted():
    rows = [{"input": "a", "output": {"ids": ["d"]}}, {"input": "b", "output": {"answer": "text"}}]
    with pytest.warns(
        rl.RankLensWarning, match=r"1 row does not say what is relevant \(first: row 2\); left out"
    ):
        assert rl.from_dataset(rows) == {"a": {"d": 1.0}}


@pytest.mark.parametrize(
    ("rows", "paths", "message"),
    [
        (
            [{"inputs": {"q": "a"}, "outputs": {"ids": ["d"]}}],
            {"relevant": "outputs.idz"},
            r"relevant='outputs.idz' finds nothing in any row. The first row has inputs.q, outputs.ids\.",
        ),
        (
            [{"inputs": {"n": 7}, "outputs": {"ids": ["d"]}}],
            {},
            r"No row says where the query is; pass query= with a path",
        ),
        ([], {}, "has no rows"),
        (7, {}, "The dataset is an int"),
    ],
)
def test_mistakes_are_told(rows, paths, message):
    with pytest.raises(rl.InputError, match=message):
        rl.from_dataset(rows, **paths)
