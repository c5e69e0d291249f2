"""Golden sets as people write them: ids next to topics, lists inside an object, and files that hold no text."""

import io
import json
import pickle
import sqlite3
import tarfile
import zipfile

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.data.files.queries import read_queries
from ranklens.data.matching import ByText

RECORDS = [
    {
        "id": f"q{n}",
        "topic": "billing",
        "question": f"What is {n}?",
        "expected_ids": ["a"],
        "retrieved_ids": ["a"],
    }
    for n in range(3)
]
QUERIES = [record["id"] for record in RECORDS]


def test_the_id_of_a_question_is_not_its_topic(tmp_path):
    assert list(rl.evaluate(RECORDS, RECORDS, "RR").queries) == QUERIES
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    pl.DataFrame(RECORDS).write_parquet(tmp_path / "golden.parquet")
    for name in ("golden.jsonl", "golden.parquet"):
        assert list(rl.judge(tmp_path / name, tmp_path / name).queries) == QUERIES
        assert list(rl.Benchmark(tmp_path / name).queries) == QUERIES
    only_topics = [{"topic": "t1", "expected_ids": ["a"]}]  # as TREC calls queries
    assert rl.evaluate(only_topics, {"t1": ["a"]}, "RR").mean == {"RR": 1}


@pytest.mark.parametrize("name", ["doc", "document", "doc_id"])
def test_the_source_of_a_question_is_not_what_is_expected(tmp_path, name):
    rows = [{**row, name: "handbook.pdf"} for row in RECORDS]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "golden.json").write_text(json.dumps(rows))
    table = pl.DataFrame(rows)
    table.write_parquet(tmp_path / "golden.parquet")
    files = [tmp_path / f"golden.{kind}" for kind in ("jsonl", "json", "parquet")]
    for given in (rows, table, table.to_pandas(), *files):
        assert rl.evaluate(given, given, "RR").mean == {"RR": 1}


WRAPPED = [
    {"results": RECORDS},
    {"version": 1, "results": RECORDS},
    {"meta": {"n": 3}, "questions": RECORDS},
]


@pytest.mark.parametrize("content", WRAPPED)
@pytest.mark.parametrize("indent", [None, 2])
def test_records_inside_an_object_are_unwrapped(tmp_path, content, indent):
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps(content, indent=indent))
    judged = rl.judge(path, path)
    assert list(judged.queries) == QUERIES
    assert judged.evaluate("RR").mean == {"RR": 1}
    assert list(read_queries(path).texts) == QUERIES


def test_questions_with_expected_texts_inside_an_object_are_unwrapped(tmp_path):
    path = tmp_path / "golden.json"
    path.write_text(
        json.dumps({"data": [{"id": "q1", "question": "How long?", "expected_answer": "30 days"}]})
    )
    log = [{"id": "q1", "retrieved": [{"id": "a", "text": "within 30 days"}]}]
    assert rl.evaluate(path, log, "RR", match=ByText()).mean == {"RR": 1}


def test_rows_of_documents_inside_an_object_are_unwrapped(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"data": [{"query": "q1", "doc": "a", "score": 2}]}))
    assert rl.evaluate({"q1": {"a"}}, path, "RR").mean == {"RR": 1}


def test_several_lists_inside_an_object_are_refused(tmp_path):
    path = tmp_path / "both.json"
    path.write_text(json.dumps({"dev": RECORDS, "test": RECORDS}))
    with pytest.raises(
        rl.InputError, match=r"both\.json: several lists of records: dev, test; keep one of them"
    ):
        rl.judge(path, {"q1": ["a"]})


def test_judgments_that_look_like_an_object_around_a_list_stay_what_they_are(tmp_path):
    path = tmp_path / "qrels.json"
    for content in ({"results": ["a", "b"]}, {"results": {"a": 1}}, {"q1": ["a"], "q2": ["b"]}):
        path.write_text(json.dumps(content))
        assert list(rl.judge(path, {"q1": ["a"], "q2": ["b"], "results": ["a"]}).queries) == list(content)


def binary_files():
    def made(write):
        buffer = io.BytesIO()
        write(buffer)
        return buffer.getvalue()

    def zipped(name):
        def write(buffer):
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr(name, "q1 0 a 1\n")

        return made(write)

    def tar(buffer):
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("qrels.txt"))

    table = pl.DataFrame({"query": ["q1"], "doc": ["a"], "grade": [1]})
    database = sqlite3.connect(":memory:")
    database.execute("create table qrels (query)")
    yield "a ZIP archive", zipped("qrels.txt")
    yield "an Excel workbook: save the sheet as CSV", zipped("xl/workbook.xml")
    yield "an archive of NumPy arrays", zipped("qrels.npy")
    yield "a pickle, which RankLens never loads", pickle.dumps({"q1": {"a": 1}})
    yield "a Feather", made(table.write_ipc)
    yield "an Arrow stream", made(table.write_ipc_stream)
    yield "an Avro file", made(table.write_avro)
    yield "an ORC file", b"ORC\n\x03\x00\x00\x12"
    yield "a PDF document", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    yield "a NumPy array", made(lambda buffer: np.save(buffer, np.eye(2)))
    yield "a tar archive", made(tar)
    if hasattr(database, "serialize"):
        yield "an SQLite database", database.serialize()
    database.close()


@pytest.mark.parametrize(("what", "content"), list(binary_files()))
@pytest.mark.parametrize("name", ["golden", "golden.csv", "golden.json", "golden.jsonl", "golden.txt"])
def test_files_that_hold_no_text_are_called_what_they_are(tmp_path, what, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    for read in (
        rl.judgments,
        read_queries,
        lambda path: rl.judge({"q1": ["a"]}, path),
        lambda path: rl.Benchmark({"q1": "why?"}, path),
    ):
        with pytest.raises(rl.InputError, match=rf"{name}.* is {what}"):
            read(path)


def test_ids_that_begin_as_binary_files_do(tmp_path):
    for start in ("ORC", "Obj", "PK", "ARROW", "FEA1x"[:3]):
        (tmp_path / "qrels").write_text(f"{start} 0 a 1\n")
        assert list(rl.judgments(tmp_path / "qrels")) == [start]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


NAMED = {
    "records": [
        {"request": name, "id": number, "retrieved_ids": ["a"]} for number, name in enumerate(QUERIES)
    ],
    "rows": [{"request": name, "doc": "a", "score": 1} for name in QUERIES],
}


@pytest.mark.parametrize("golden", ["records", "rows"])
@pytest.mark.parametrize("log", NAMED)
def test_names_of_the_users_own_may_be_those_of_the_run_alone(tmp_path, golden, log):
    gold = RECORDS if golden == "records" else [{"query": name, "doc": "a", "grade": 1} for name in QUERIES]
    qrels, run = lines(tmp_path / "golden.jsonl", gold), lines(tmp_path / "log.jsonl", NAMED[log])
    judged = rl.judge(qrels, run, columns={"query": "request"})
    assert (list(judged.queries), judged.applied.missing) == (QUERIES, 0)
    pl.DataFrame(gold).write_parquet(tmp_path / "golden.parquet")
    assert rl.evaluate(tmp_path / "golden.parquet", run, "RR", columns={"query": "request"}).mean == {"RR": 1}


def test_names_of_the_users_own_may_be_those_of_the_judgments_alone(tmp_path):
    gold = [{"case": name, "expected_ids": ["a"]} for name in QUERIES]
    log = [{"id": name, "retrieved_ids": ["a"]} for name in QUERIES]
    qrels, run = lines(tmp_path / "golden.jsonl", gold), lines(tmp_path / "log.jsonl", log)
    assert rl.evaluate(qrels, run, "RR", columns={"query": "case"}).mean == {"RR": 1}


def test_a_name_that_the_run_lacks_is_an_error(tmp_path):
    rows = lines(tmp_path / "rows.jsonl", [{"query": "q1", "doc": "a", "score": 1}])
    gold = lines(tmp_path / "gold.jsonl", [{"query": "q1", "doc": "a", "grade": 1}])
    with pytest.raises(rl.InputError, match=r"rows\.jsonl: columns: doc should be dcument"):
        rl.evaluate(gold, rows, "RR", columns={"doc": "dcument"})
