"""Texts of queries and documents, in every shape that people keep them."""

import bz2
import gzip
import json

import pandas as pd
import polars as pl
import pytest

from ranklens.data.files.corpus import Text, texts
from ranklens.errors import InputError

WANTED = ["d1", "d2", "7"]
EXPECTED = {"d1": Text("Lima", "Capital of Peru,\nby the sea"), "7": Text("", "seven")}
ROWS = [
    {"_id": "d1", "title": "Lima", "text": "Capital of Peru,\nby the sea", "metadata": {}},
    {"_id": 7, "text": "seven", "title": None},
    {"_id": "d3", "text": "not wanted"},
]


def lines():
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def test_dicts():
    assert texts({"d1": ROWS[0], 7: "seven", "d3": "no"}, WANTED) == EXPECTED
    assert texts({"7": None}, WANTED) == {"7": Text("", "")}
    assert texts(ROWS, WANTED) == EXPECTED
    assert texts(None, WANTED) == {}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_tables(make):
    table = make(
        {"doc_id": ["d1", "7"], "body": ["Capital of Peru,\nby the sea", "seven"], "Title": ["Lima", ""]}
    )
    assert texts(table, WANTED) == EXPECTED


def test_json_lines_compressed_or_not(tmp_path):
    plain, packed, folder = tmp_path / "x.jsonl", tmp_path / "x.jsonl.gz", tmp_path / "beir"
    plain.write_text("\ufeff" + lines(), encoding="utf-8")
    packed.write_bytes(gzip.compress(lines().encode()))
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(lines(), encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "d1", "text": "a question"}\n', encoding="utf-8")
    for path in (plain, packed, str(folder)):
        assert texts(path, WANTED) == EXPECTED
    assert texts(folder, WANTED, "queries") == {"d1": Text("", "a question")}


def test_json_and_parquet(tmp_path):
    (tmp_path / "list.json").write_text(json.dumps(ROWS), encoding="utf-8")
    (tmp_path / "dict.json").write_text(json.dumps({"d1": ROWS[0], "7": "seven"}), encoding="utf-8")
    pl.DataFrame(
        {"id": ["d1", "7"], "title": ["Lima", None], "contents": ["Capital of Peru,\nby the sea", "seven"]}
    ).write_parquet(tmp_path / "x.parquet")
    for name in ("list.json", "dict.json", "x.parquet"):
        assert texts(tmp_path / name, WANTED) == EXPECTED


def test_separated_values_with_and_without_header(tmp_path):
    (tmp_path / "x.csv").write_text('qid,query\r\nd1,"who, and ""why""?"\r\n7,seven\r\n', encoding="utf-8")
    assert texts(tmp_path / "x.csv", WANTED, "queries") == {
        "d1": Text("", 'who, and "why"?'),
        "7": Text("", "seven"),
    }
    (tmp_path / "x.tsv").write_text('d1\tsays "x\n7\tseven\n\n', encoding="utf-8")  # MS MARCO
    assert texts(tmp_path / "x.tsv", WANTED) == {"d1": Text("", 'says "x'), "7": Text("", "seven")}
    (tmp_path / "y.tsv.bz2").write_bytes(bz2.compress(b"query-id\ttext\nd1\tone\n"))
    assert texts(tmp_path / "y.tsv.bz2", WANTED) == {"d1": Text("", "one")}


def test_a_line_separator_belongs_to_the_text(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"id": "7", "text": "a\u2028b\x85c"}\n', encoding="utf-8")
    (tmp_path / "x.tsv").write_text("7\ta\u2028b\x85c\n", encoding="utf-8")
    for name in ("x.jsonl", "x.tsv"):
        assert texts(tmp_path / name, WANTED) == {"7": Text("", "a\u2028b\x85c")}


def test_long_files_are_read_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 50)
    (tmp_path / "x.jsonl").write_text(lines() + "{", encoding="utf-8")
    with pytest.raises(InputError, match="line 4 is not a JSON object"):
        texts(tmp_path / "x.jsonl", WANTED)
    (tmp_path / "x.jsonl").write_text(lines(), encoding="utf-8")
    assert texts(tmp_path / "x.jsonl", WANTED) == EXPECTED


def test_half_a_character_is_replaced():
    assert texts({"7": "x\ud800y"}, WANTED) == {"7": Text("", "x?y")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "corpus is an int; pass a dict"),
        ({"7": {"words": "x"}}, "no text among"),
        ("nothing.jsonl", "does not exist"),
        (pl.DataFrame({"a": ["1"], "b": ["2"]}), "no id among"),
    ],
)
def test_what_cannot_be_read_is_named(given, message):
    with pytest.raises(InputError, match=message):
        texts(given, WANTED)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"id": "1", "text": "a"}\n{"id": \n', "line 2 is not a JSON object"),
        ("x.json", "{", "cannot be read: Expecting"),
        ("x.json", "[1]", "entry 1 is an int 1; give dicts with an id"),
        ("x.txt", "just words\n", "contains no data"),
        ("x.csv", "id,words\n1,a\n", r"x\.csv: no text among"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        texts(tmp_path / name, WANTED)


def test_a_folder_without_the_file(tmp_path):
    with pytest.raises(InputError, match=r"this folder has no corpus\.jsonl"):
        texts(tmp_path, WANTED)
