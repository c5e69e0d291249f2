"""A reader that anyone can check: it goes line by line, and gives up where a file could be read in two ways."""

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import re

import pyarrow as pa
import pyarrow.parquet as pq

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_UNPACK = (
    (b"\x1f\x8b", gzip.decompress),
    (b"\xfd7zXZ\x00", lzma.decompress),
    (b"BZh", bz2.decompress),
    (b"\x28\xb5\x2f\xfd", lambda content: pa.input_stream(io.BytesIO(content), compression="zstd").read()),
)


class UnclearError(Exception):
    """Something that readers may take one way or another, or refuse."""


def read_pair(kind, qrels, run):
    """Judgments and a run as ``{query: [(document, number), …]}``."""
    if kind == "beir":
        return read("beir", qrels / "qrels" / "test.tsv", "grade"), read("trec", run, "score")
    if kind == "scores":
        judged = _rows("svmlight", qrels, "grade")
        scores = [
            line.split() for line in _text(run).split("\n") if line.strip() and not line.startswith("#")
        ]
        if len(scores) != len(judged) or any(len(fields) != 1 for fields in scores):
            raise UnclearError
        ranked = [(query, doc, *fields) for (query, doc, _), fields in zip(judged, scores, strict=True)]
        return _by_query(judged), _by_query(ranked)
    qrels_kind, run_kind = {"msmarco": "trec"}.get(kind, kind), {"svmlight": "trec"}.get(kind, kind)
    return read(qrels_kind, qrels, "grade"), read(run_kind, run, "score")


def read(kind, path, number):
    return _by_query(_rows(kind, path, number))


def _by_query(rows):
    found = {}
    for query, doc, value in rows:
        if query in ("", None) or doc in ("", None) or not isinstance(query, str) or not isinstance(doc, str):
            raise UnclearError
        found.setdefault(query, []).append((doc, _value(value)))
    if not found or any(len({doc for doc, _ in docs}) < len(docs) for docs in found.values()):
        raise UnclearError
    return found


def _value(value):
    if (
        isinstance(value, bool)
        or value is None
        or not (isinstance(value, (int, float)) or _NUMBER.fullmatch(str(value)))
    ):
        raise UnclearError
    if not math.isfinite(float(value)):
        raise UnclearError
    return float(value)


def _rows(kind, path, number):
    if kind == "parquet":
        return _parquet(path.read_bytes(), number)
    readers = {"trec": _trec, "csv": _csv, "tsv": _tsv, "jsonl": _jsonl, "json": _json, "msmarco": _msmarco,
               "svmlight": _svmlight, "beir": _beir, "records": _records}  # fmt: skip
    return readers[kind](_text(path), number)


def _text(path):
    content = path.read_bytes()
    for magic, unpack in _UNPACK:
        content = unpack(content) if content.startswith(magic) else content
    text = content.decode().removeprefix("\ufeff")
    if text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    if re.search("[\r\0\x0b\x0c\x1a\x1c-\x1f\x85\ufeff\ud800-\udfff]|\\\\u[dD]", text):
        raise UnclearError
    return text


def _fields(text, width, separator=None):
    rows = [
        line.split(separator)
        for line in text.split("\n")
        if line.strip(" \t") and not line.lstrip(" \t").startswith("#")
    ]
    if any(len(row) != width for row in rows):
        raise UnclearError
    return rows


def _trec(text, number):
    if number == "grade":
        return [(row[0], row[2], row[3]) for row in _fields(text, 4)]
    return [(row[0], row[2], row[4]) for row in _fields(text, 6)]


def _msmarco(text, _):
    return [(query, doc, -_value(rank)) for query, doc, rank in _fields(text, 3)]


def _svmlight(text, _):
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip(" \t").startswith("#")]
    found = [re.fullmatch(r"([0-9]+) qid:(\S+) 1:0\.5 # (\S+)", line) for line in lines]
    if not all(found):
        raise UnclearError
    return [(match[2], match[3], match[1]) for match in found]


def _csv(text, number, separator=",", header=("query", "doc")):
    quoting = csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)
    rows = [row for row in lines if row]
    if not rows or rows[0] != [*header, number] or any(len(row) != 3 for row in rows):
        raise UnclearError
    return rows[1:]


def _tsv(text, number):
    return _csv(text, number, "\t")


def _beir(text, _):
    return _csv(text, "score", "\t", ("query-id", "corpus-id"))


def _pairs(pairs):
    if len(dict(pairs)) < len(pairs):
        raise UnclearError
    return dict(pairs)


def _objects(text, keys):
    rows = [json.loads(line, object_pairs_hook=_pairs) for line in text.split("\n") if line.strip()]
    if any(not isinstance(row, dict) or set(row) != keys for row in rows):
        raise UnclearError
    return rows


def _jsonl(text, number):
    return [(row["query"], row["doc"], row[number]) for row in _objects(text, {"query", "doc", number})]


def _json(text, _):
    found = json.loads(text, object_pairs_hook=_pairs)
    if not isinstance(found, dict) or any(not isinstance(docs, dict) or not docs for docs in found.values()):
        raise UnclearError
    return [(query, doc, value) for query, docs in found.items() for doc, value in docs.items()]


def _records(text, number):
    rows = _objects(text, {"query", "expected", "retrieved"})
    if any(
        not isinstance(row[key], list) or not row[key] for row in rows for key in ("expected", "retrieved")
    ):
        raise UnclearError
    if len({row["query"] for row in rows}) < len(rows):
        raise UnclearError
    if number == "grade":
        return [(row["query"], doc, 1) for row in rows for doc in row["expected"]]
    return [(row["query"], doc, -rank) for row in rows for rank, doc in enumerate(row["retrieved"])]


def _parquet(content, number):
    table = pq.read_table(io.BytesIO(content))
    if table.column_names != ["query", "doc", number]:
        raise UnclearError
    return [tuple(row.values()) for row in table.to_pylist()]
