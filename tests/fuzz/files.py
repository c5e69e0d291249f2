"""Files of every format, as they should be and as nobody should write them."""

import bz2
import gzip
import io
import json
import lzma
import re

import polars as pl
import pyarrow as pa

KINDS = ("trec", "csv", "tsv", "jsonl", "json", "parquet", "svmlight", "scores", "msmarco", "beir", "records")
IDS = [
    "q1",
    "q2",
    "é",
    "d1",
    "d2",
    "d#1",
    'd"3',
    "x,y",
    "0",
    "7",
    "=1",
    "𝔡",
    "[1]",
    "{a}",
    "nan",
    "qid:1",
    "-",
]
JUNK = [b"\n", b"\r\n", b"\r", b" ", b"\t", b"\0", b"#", b'"', b",", b"\xff", b"\xef\xbb\xbf", b"nan", b"inf", b"1e999", b"{", b"}",
        b"[", b"]", b"null", b"-", b"\x1a", b"\xe2\x80\xa8", b"x" * 3000, b"\n\n\n", b"'", b"\\", b"\\ud800", b"\x1b[2J", b"true",
        b"9" * 400, b"[" * 3000, b"0x10", b"1_0", b"1,5", b"\xd9\xa3", b":", b"q1", b"d1", b"\x85", b"PAR1", b"\x1f\x8b", b"*", b"1.5",
        b'"1"', b"\xe2\x80\xae", b"\xed\xa0\x80", b"%s", b"-0", b"1e-400", b"NULL", b"//", b"\xc2\xa0", b"\x28\xb5\x2f\xfd"]  # fmt: skip
PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}
# What goes with judgments or runs of formats that have only one of them.
RUN_KIND = {"svmlight": "trec", "scores": "scores", "beir": "trec"}
QRELS_KIND = {"msmarco": "trec", "scores": "svmlight"}


def write_pair(rng, kind, folder):
    """Judgments and a run in that format; half of the pairs are odd, but readable, the others are damaged."""
    change = gentle if rng.random() < 0.5 else damaged
    grades = [
        (rng.choice(IDS), rng.choice(IDS), rng.choice([0, 1, 2, 3, -1])) for _ in range(rng.randint(1, 12))
    ]
    scores = [
        (rng.choice(IDS), rng.choice(IDS), rng.choice([1.0, 2.5, 2.5, -1e-9, 1e300, 7]))
        for _ in range(rng.randint(1, 20))
    ]
    grades = _once(grades, rng)
    pack = rng.choice(["", "", "", *PACK])
    suffix = rng.choice(["", f".{kind}"])
    run_kind, qrels_kind = RUN_KIND.get(kind, kind), QRELS_KIND.get(kind, kind)
    rows = [(q, d, rng.random()) for q, d, _ in grades] if kind == "scores" else _once(scores, rng)
    run = folder / f"run{suffix if run_kind == kind else ''}{pack}"
    run.write_bytes(_packed(rng, change, pack, run_kind, content(run_kind, rows, "score")))
    judged = content(qrels_kind, grades, "grade")
    if kind == "beir":
        place = folder / "beir" / "qrels"
        place.mkdir(parents=True)
        (place / "test.tsv").write_bytes(change(rng, "beir", judged))
        texts = "".join(json.dumps({"_id": q, "text": f"text of {q}"}) + "\n" for q in IDS)
        (folder / "beir" / "queries.jsonl").write_bytes(damaged(rng, "jsonl", texts.encode()))
        (folder / "beir" / "corpus.jsonl").write_bytes(damaged(rng, "jsonl", texts.encode()))
        return folder / "beir", run
    qrels = folder / f"qrels{suffix if qrels_kind == kind else ''}{pack}"
    qrels.write_bytes(_packed(rng, change, pack, qrels_kind, judged))
    return qrels, run


def _once(rows, rng):
    """Mostly without repeated documents."""
    return rows if rng.random() < 0.1 else list({row[:2]: row for row in rows}.values())


def _packed(rng, change, pack, kind, written):
    """What is damaged may be the archive, too."""
    if change is damaged and rng.random() < 0.5:
        return damaged(rng, kind, PACK[pack](written))
    return PACK[pack](change(rng, kind, written))


def content(kind, rows, number):
    by_query = {}
    for query, doc, value in rows:
        by_query.setdefault(query, {})[doc] = value
    if kind == "trec":
        lines = (f"{q} 0 {d} {x}" if number == "grade" else f"{q} Q0 {d} 1 {x!r} tag" for q, d, x in rows)
    elif kind == "msmarco":
        lines = (f"{q}\t{d}\t{i}" for i, (q, d, _) in enumerate(rows, 1))
    elif kind == "svmlight":
        lines = (f"{abs(x):.0f} qid:{q} 1:0.5 # {d}" for q, d, x in rows)
    elif kind == "scores":
        lines = (repr(x) for _, _, x in rows)
    elif kind == "json":
        lines = [json.dumps(by_query, ensure_ascii=bool(len(rows) % 2))]
    elif kind == "jsonl":
        lines = (json.dumps({"query": q, "doc": d, number: x}) for q, d, x in rows)
    elif kind == "records":
        lines = (
            json.dumps({"query": q, "expected": [*docs], "retrieved": [*docs]})
            for q, docs in by_query.items()
        )
    elif kind == "beir":
        lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{x}" for q, d, x in rows)]
    else:
        return _table(kind, rows, number)
    return "".join(f"{line}\n" for line in lines).encode()


def _table(kind, rows, number):
    schema = {"query": pl.String, "doc": pl.String, number: pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row", strict=False)
    buffer = io.BytesIO()
    if kind == "parquet":
        table.write_parquet(buffer)
    elif kind == "csv":
        table.write_csv(buffer, quote_style="necessary")
    else:
        table.write_csv(buffer, separator="\t", quote_style="never")
    return buffer.getvalue()


# --- changes


def gentle(rng, kind, written):
    """The same file as another careful program might write it, with other lines or numbers."""
    if kind == "parquet":
        return written
    lines = written.decode().splitlines()
    head, body = (lines[:1], lines[1:]) if kind in ("csv", "tsv", "beir") else ([], lines)
    for _ in range(rng.randint(0, 3)):
        what = rng.randrange(6)
        place = rng.randint(0, len(body))
        if what == 0 and kind != "scores":
            rng.shuffle(body)
        elif what == 1 and len(body) > 1 and kind != "scores":
            del body[rng.randrange(len(body))]
        elif what == 2:
            body.insert(place, "")
        elif what == 3 and kind in ("trec", "svmlight"):
            body.insert(place, rng.choice(["# a remark", " # q1 0 d1 1", "#"]))
        elif what == 4 and kind in ("trec", "msmarco", "scores"):
            body = [
                re.sub(r"(?<= )(\d)$", rng.choice([r"\1.0", r"+\1", r"0\1", r"\1e0"]), line) for line in body
            ]
        elif what == 5 and kind == "trec":
            body = [line.replace(" ", rng.choice(["  ", "\t", " \t "])) for line in body]
    end = rng.choice(["\n", "\n", "\n", "\r\n"])
    text = end.join([*head, *body]) + rng.choice([end, end, ""])
    return rng.choice([b"", b"", b"", b"\xef\xbb\xbf"]) + text.encode()


def damaged(rng, _, written):
    kind = rng.random()
    if kind < 0.15:
        return written
    if kind < 0.18:
        return rng.randbytes(rng.randint(0, 60))
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(written))
        stop = min(start + rng.choice([0, 0, 1, 2, 7, 40, 10_000]), len(written))
        piece = rng.choice(
            [rng.choice(JUNK), rng.choice(JUNK), rng.randbytes(rng.randint(0, 4)), written[start:stop] * 2]
        )
        written = written[:start] + piece + written[stop:]
    return written
