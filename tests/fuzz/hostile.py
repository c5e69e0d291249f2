"""Files of every format, mutated, through every command: no traceback, no hang, no wrong number.

Each case comes from its own seed, so that one number is enough to see it again: ``scripts/fuzz --seed 1234``.
"""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import math
import os
import random
import re
import resource
import shutil
import sys
import time
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

import ranklens as rl
from ranklens.cli.main import main

SECONDS, MEGABYTES = 10, 1500
MEASURES = "nDCG@3,RR,P@2,AP"
KINDS = ("trec", "csv", "tsv", "jsonl", "json", "parquet", "svmlight", "msmarco", "beir", "records")
TEXT = ("trec", "csv", "tsv", "jsonl", "json")  # which the naive reader reads
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
        b"9" * 400, b"[" * 3000, b"0x10", b"1_0", b"1,5", b"\xd9\xa3", b":", b"q1", b"d1", b"\x85", b"PAR1", b"\x1f\x8b", b"*", b"1.5"]  # fmt: skip
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@dataclass
class Tally:
    """How many cases ran and what went wrong with them."""

    cases: int = 0
    compared: int = 0
    slowest: float = 0.0
    wrong: list[str] = field(default_factory=list)


def run_for(seconds, first_seed, folder):
    """Cases with the seeds from ``first_seed`` on, for some time."""
    tally, end, seed = Tally(), time.monotonic() + seconds, first_seed
    while time.monotonic() < end and len(tally.wrong) < 20:
        run_case(seed, Path(folder), tally)
        seed += 1
    return tally


def run_case(seed, folder, tally):
    """One pair of files through one command."""
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kind = rng.choice(KINDS)
    qrels, run = _files(rng, kind, folder)
    command = _command(rng, kind, qrels, run, folder)
    before = set(folder.rglob("*"))
    start = time.monotonic()
    status, out, err, crash = call(command)
    took = time.monotonic() - start
    tally.cases += 1
    tally.slowest = max(tally.slowest, took)
    label = f"seed {seed}: ranklens {' '.join(map(ascii, command))}"
    if crash is not None:
        tally.wrong.append(f"{label}: {crash}")
    elif problem := _problem(status, out, err, took):
        tally.wrong.append(f"{label}: {problem}")
    elif hidden := [
        path.name for path in {*folder.rglob("*")} - before if path.name.startswith((".", "ranklens-"))
    ]:
        tally.wrong.append(f"{label}: left behind {hidden}")
    if kind in TEXT and (difference := _difference(kind, qrels, run)) is not None:
        tally.compared += 1
        if difference:
            tally.wrong.append(f"seed {seed} ({kind}): {difference}")


def call(command):
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return main(command), out.getvalue(), err.getvalue(), None
    except BaseException as error:  # noqa: BLE001  whatever escapes is a finding
        return None, out.getvalue(), err.getvalue(), f"{type(error).__name__}: {error}"


def _problem(status, out, err, took):
    name = r"ranklens(-trec-eval)?"
    lines = [line for line in err.splitlines() if not re.match(rf"{name}: warning: ", line)]
    if took > SECONDS:
        return f"took {took:.1f} s"
    if _megabytes() > MEGABYTES:
        return f"took {_megabytes():.0f} MB"
    if status not in (0, 1, 2) or "Traceback" in err:
        return f"status {status}: {err[-600:]}"
    if status == 2 and not (lines and re.match(f"{name}: ", lines[0])):
        return f"status 2 without a sentence: {err[-300:]}"
    if any(ord(letter) < 32 and letter not in "\n\t\r" for letter in err):
        return f"control characters: {err[-300:]!a}"
    return ""


def _megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


# --- files


def _files(rng, kind, folder):
    grades = [
        (rng.choice(IDS), rng.choice(IDS), rng.choice([0, 1, 2, 3, -1])) for _ in range(rng.randint(1, 12))
    ]
    scores = [
        (rng.choice(IDS), rng.choice(IDS), rng.choice([1.0, 2.5, 2.5, -1e-9, 1e300, 7]))
        for _ in range(rng.randint(1, 20))
    ]
    pack = rng.choice(["", "", "", *PACK])
    suffix = rng.choice(["", f".{kind}"])
    run_kind = {"svmlight": "trec", "beir": "trec"}.get(kind, kind)
    qrels_kind = "trec" if kind == "msmarco" else kind
    run = folder / f"run{'' if run_kind != kind else suffix}{pack}"
    run.write_bytes(_mutated(rng, PACK[pack](_content(run_kind, _once(scores, rng), "score"))))
    if kind == "beir":
        place = folder / "beir" / "qrels"
        place.mkdir(parents=True)
        (place / "test.tsv").write_bytes(_mutated(rng, _content("beir", _once(grades, rng), "grade")))
        texts = "".join(json.dumps({"_id": q, "text": f"text of {q}"}) + "\n" for q in IDS)
        (folder / "beir" / "queries.jsonl").write_bytes(_mutated(rng, texts.encode()))
        (folder / "beir" / "corpus.jsonl").write_bytes(_mutated(rng, texts.encode()))
        return folder / "beir", run
    qrels = folder / f"qrels{suffix if qrels_kind == kind else ''}{pack}"
    qrels.write_bytes(_mutated(rng, PACK[pack](_content(qrels_kind, _once(grades, rng), "grade"))))
    return qrels, run


def _once(rows, rng):
    """Mostly without repeated documents."""
    return rows if rng.random() < 0.1 else list({row[:2]: row for row in rows}.values())


def _content(kind, rows, number):
    by_query = {}
    for query, doc, value in rows:
        by_query.setdefault(query, {})[doc] = value
    if kind == "trec":
        lines = (f"{q} 0 {d} {x}" if number == "grade" else f"{q} Q0 {d} 1 {x!r} tag" for q, d, x in rows)
    elif kind == "msmarco":
        lines = (f"{q}\t{d}\t{i}" for i, (q, d, _) in enumerate(rows, 1))
    elif kind == "svmlight":
        lines = (f"{abs(x):.0f} qid:{q} 1:0.5 # {d}" for q, d, x in rows)
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
        table = pl.DataFrame(
            rows,
            schema={"query": pl.String, "doc": pl.String, number: pl.Float64},
            orient="row",
            strict=False,
        )
        buffer = io.BytesIO()
        if kind == "parquet":
            table.write_parquet(buffer)
        else:
            table.write_csv(
                buffer,
                separator="," if kind == "csv" else "\t",
                quote_style="necessary" if kind == "csv" else "never",
            )
        return buffer.getvalue()
    return "".join(f"{line}\n" for line in lines).encode()


def _mutated(rng, content):
    kind = rng.random()
    if kind < 0.25:
        return content
    if kind < 0.28:
        return rng.randbytes(rng.randint(0, 60))
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(content))
        stop = min(start + rng.choice([0, 0, 1, 2, 7, 40, 10_000]), len(content))
        piece = rng.choice(
            [rng.choice(JUNK), rng.choice(JUNK), rng.randbytes(rng.randint(0, 4)), content[start:stop] * 2]
        )
        content = content[:start] + piece + content[stop:]
    return content


def _command(rng, kind, qrels, run, folder):
    q, r, other = str(qrels), str(run), f"b={run}"
    config = folder / "bench.yaml"
    config.write_text(
        json.dumps({"data": {"qrels": q, "runs": {"a": r}}, "gates": {"floors": {"RR": 0.1}}}),
        encoding="utf-8",
    )
    target = folder / f"out.{rng.choice(['csv', 'tsv', 'jsonl', 'txt', 'parquet', 'csv.gz', 'txt.zst'])}"
    texts = rng.choice([[], ["--queries", q], ["--corpus", q], ["--corpus", r]])
    return rng.choice([
        ["evaluate", q, r, "-m", MEASURES, *rng.choice([[], ["-q"], ["--format", "json"], ["--ties", "average"], ["--nan", "last"],
                                                        ["--missing", "skip"], ["--judged-only"], ["--format", "markdown", "-q"]])],
        ["lint", q, r], ["convert", r, str(target)], ["convert", q, str(target), "--kind", "qrels"], ["trec-eval", "-q", q, r],
        ["trec-eval", "-m", "all_trec", q, r], ["explain", "AP", q, r], ["explain", "nDCG@3", q, r, "--query", "q1"],
        ["compare", q, r, other, "-m", "RR,P@2", "--test", "t"], ["compare", q, r, other, "--by", f"{q}:kind", "--test", "t"],
        ["report", q, r, other, "-m", "RR", "-o", str(folder / "o.html"), *texts], ["bench", str(config)],
        ["convert", str(target.with_name("run2")), r],
    ])  # fmt: skip


# --- a naive reader

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class UnclearError(Exception):
    """Something that readers may take one way or another, or refuse."""


def _difference(kind, qrels, run):
    """Where what the library reads differs from what the naive reader does; None where they cannot be compared."""
    try:
        gold, ranked = naive(kind, qrels, "grade"), naive(kind, run, "score")
    except (
        UnclearError,
        UnicodeError,
        ValueError,
        EOFError,
        OSError,
        lzma.LZMAError,
        zlib.error,
        csv.Error,
        RecursionError,
    ):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = rl.evaluate(str(qrels), str(run), MEASURES).mean
        except rl.RankLensError:
            return None
        expected = rl.evaluate(gold, ranked, MEASURES).mean
    return (
        ""
        if all(math.isclose(found[m], expected[m], abs_tol=1e-12) for m in expected)
        else f"{found} is not {expected}"
    )


def naive(kind, path, number):
    """``{query: [(document, number), …]}``, read line by line."""
    content = path.read_bytes()
    for magic, unpack in (
        (b"\x1f\x8b", gzip.decompress),
        (b"\xfd7zXZ\x00", lzma.decompress),
        (b"BZh", bz2.decompress),
    ):
        content = unpack(content) if content.startswith(magic) else content
    text = content.decode()
    if re.search("[\r\0\x0b\x0c\x1a\x85\ufeff\ud800-\udfff]|\\\\u[dD]", text):
        raise UnclearError
    rows = {"trec": _trec, "csv": _csv, "tsv": _tsv, "jsonl": _jsonl, "json": _json}[kind](text, number)
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


def _trec(text, number):
    width = 4 if number == "grade" else 6
    rows = [
        line.split()
        for line in re.split("\n", text)
        if line.strip(" \t") and not line.lstrip(" \t").startswith("#")
    ]
    if any(len(row) != width for row in rows):
        raise UnclearError
    return [(row[0], row[2], row[3 if width == 4 else 4]) for row in rows]


def _csv(text, number, separator=","):
    quoting = csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE
    rows = [
        row
        for row in csv.reader(
            io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True
        )
        if row
    ]
    if not rows or rows[0] != ["query", "doc", number] or any(len(row) != 3 for row in rows):
        raise UnclearError
    return rows[1:]


def _tsv(text, number):
    return _csv(text, number, "\t")


def _pairs(pairs):
    if len(dict(pairs)) < len(pairs):
        raise UnclearError
    return dict(pairs)


def _jsonl(text, number):
    rows = [json.loads(line, object_pairs_hook=_pairs) for line in text.split("\n") if line.strip()]
    if any(not isinstance(row, dict) or set(row) != {"query", "doc", number} for row in rows):
        raise UnclearError
    return [(row["query"], row["doc"], row[number]) for row in rows]


def _json(text, _):
    found = json.loads(text, object_pairs_hook=_pairs)
    if not isinstance(found, dict) or any(not isinstance(docs, dict) or not docs for docs in found.values()):
        raise UnclearError
    return [(query, doc, value) for query, docs in found.items() for doc, value in docs.items()]


def report(tally):
    lines = [f"{tally.cases:,} cases, {tally.compared:,} numbers compared, the slowest took {tally.slowest:.1f} s, "
             f"{_megabytes():.0f} MB at most."]  # fmt: skip
    return "\n".join(
        [*lines, *tally.wrong, f"{len(tally.wrong)} findings" if tally.wrong else "nothing found"]
    )


if __name__ == "__main__":
    import argparse
    import faulthandler
    import tempfile

    options = argparse.ArgumentParser(description="Mutated files through every command.")
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--start", type=int, default=None, help="The first seed; by default the time.")
    options.add_argument("--seed", type=int, default=None, help="Run this case alone, and keep its files.")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "case"
        faulthandler.dump_traceback_later(given.minutes * 60 + 60, exit=True)
        if given.seed is not None:
            work, tally = Path(f"fuzz-{given.seed}"), Tally()
            run_case(given.seed, work, tally)
        else:
            tally = run_for(
                given.minutes * 60, int(time.time()) if given.start is None else given.start, work
            )
    sys.stdout.write(f"{report(tally)}\n")
    sys.stdout.flush()
    os._exit(bool(tally.wrong))
