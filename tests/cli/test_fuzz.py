"""Broken files through every command: each ends in a clean result, or in one clear error that names the file."""

import bz2
import gzip
import io
import json
import lzma
import sys
import warnings

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranklens.cli.main import main
from ranklens.exchange.trec.command import main as trec_eval

QRELS = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d#1", 1), ("é", 'd"3', 1)]
RUN = [("q1", "d2", 2.5), ("q1", "d1", 2.5), ("q1", "x", 1e-3), ("q2", "d#1", 3.0), ("é", "y,z", -1.0)]


def written(rows, number, kind):
    table = pl.DataFrame(rows, schema=["query", "doc", number], orient="row")
    buffer = io.BytesIO()
    if kind == "trec" and number == "grade":
        return "".join(f"{q} 0 {d} {g}\n" for q, d, g in rows).encode()
    if kind == "trec":
        return "".join(f"{q} Q0 {d} {i} {s} tag\n" for i, (q, d, s) in enumerate(rows)).encode()
    if kind == "json":
        return json.dumps({q: {d: x for p, d, x in rows if p == q} for q, _, _ in rows}).encode()
    if kind == "svmlight":
        return "".join(f"{g:.0f} qid:{q} 1:0.5 2:1 # {d}\n" for q, d, g in rows).encode()
    writers = {
        "csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet,
        "tsv": lambda file: table.write_csv(file, separator="\t", quote_style="never"),
    }  # fmt: skip
    writers[kind](buffer)
    return buffer.getvalue()


KINDS = ("trec", "csv", "tsv", "jsonl", "json", "parquet", "svmlight")
PACK = {"": lambda content: content, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
JUNK = st.one_of(
    st.binary(max_size=12),
    st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"\t", b"\0", b"#", b'"', b",", b"\xff", b"\xef\xbb\xbf", b"nan", b"inf",
                     b"1e999", b"{", b"}", b"[", b"null", b"-", b"\x1a", b"\xe2\x80\xa8", b"x" * 300, b"\n\n\n"]),
)  # fmt: skip


@st.composite
def broken(draw, content):
    """The content with something cut, put in, repeated or replaced; or altogether something else."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=60))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        stop = min(start + draw(st.sampled_from([0, 0, 1, 2, 7, 40, 10_000])), len(content))
        content = content[:start] + draw(JUNK) + content[stop:]
    return content


@st.composite
def file_pairs(draw):
    kind = draw(st.sampled_from(KINDS))
    pack = draw(st.sampled_from(["", "", "", *PACK]))
    qrels = draw(broken(PACK[pack](written(QRELS, "grade", kind))))
    run_kind = kind if kind != "svmlight" else "trec"
    run = draw(broken(PACK[pack](written(RUN, "score", run_kind))))
    suffix = draw(st.sampled_from(["", f".{kind}"]))
    return kind, f"{suffix}{pack}", qrels, run


quick = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(capsys, status, name="ranklens evaluate"):
    captured = capsys.readouterr()
    errors = [line for line in captured.err.splitlines() if not line.startswith(f"{name}: warning: ")]
    assert status in (0, 1, 2)
    assert "Traceback" not in captured.err
    if status == 2:
        assert captured.out == ""
        assert errors, "an error says something"
        assert errors[0].startswith(f"{name}: "), errors
    else:
        assert errors == [], errors


@pytest.fixture
def pair(tmp_path):
    def pair(suffix, qrels, run):
        q, r = tmp_path / f"q{suffix}", tmp_path / f"r{suffix}"
        q.write_bytes(qrels)
        r.write_bytes(run)
        return str(q), str(r)

    return pair


@quick
@given(
    files=file_pairs(),
    option=st.sampled_from([[], ["-q"], ["--format", "json"], ["--ties", "average"], ["--nan", "last"]]),
)
def test_evaluate(pair, capsys, files, option):
    _, suffix, qrels, run = files
    measures = ["-m", "nDCG@2,RR"]
    check(capsys, main(["evaluate", *pair(suffix, qrels, run), *measures, *option]))


@quick
@given(files=file_pairs())
def test_lint(pair, capsys, files):
    _, suffix, qrels, run = files
    check(capsys, main(["lint", *pair(suffix, qrels, run)]), "ranklens lint")


@quick
@given(
    files=file_pairs(), target=st.sampled_from(["csv", "tsv", "jsonl", "parquet", "txt", "txt.gz", "csv.zst"])
)
def test_convert(pair, capsys, tmp_path, files, target):
    _, suffix, qrels, run = files
    for source, kind in zip(pair(suffix, qrels, run), ("qrels", "run"), strict=True):
        target_file = tmp_path / f"out.{target}"
        status = main(["convert", source, str(target_file), "--kind", kind])
        check(capsys, status, "ranklens convert")
        assert target_file.exists() == (status == 0), "nothing is half-written"
        target_file.unlink(missing_ok=True)


@quick
@given(
    files=file_pairs(),
    option=st.sampled_from([["-m", "all_trec"], ["-R", "prefs"], ["-R", "qrels_jg"], ["-c", "-J", "-q"]]),
)
def test_trec_eval(pair, capsys, files, option):
    _, suffix, qrels, run = files
    status = trec_eval([*option, *pair(suffix, qrels, run)])
    check(capsys, status, "ranklens-trec-eval")


@quick
@given(content=file_pairs())
def test_standard_input(pair, capsys, monkeypatch, content):
    _, suffix, qrels, run = content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(run)))
    check(capsys, main(["evaluate", pair(suffix, qrels, run)[0], "-", "-m", "RR"]))


def test_an_endless_line_is_refused_at_once(pair, capsys, monkeypatch):
    monkeypatch.setattr("ranklens.data.files.limits.LONGEST_LINE", 1 << 17)
    for run in (
        b"q1 Q0 d1 1 2 t\n" + b"x" * (1 << 25),
        gzip.compress(b"q1 Q0 d1 1 2 t\n" + b"x" * (1 << 25)),
    ):
        qrels, path = pair("", written(QRELS, "grade", "trec"), run)
        assert main(["evaluate", qrels, path]) == 2
        assert "r:2: more than 0 MB without a line break" in capsys.readouterr().err


@pytest.mark.parametrize("size", [1_000, 200_000])
def test_huge_ids(pair, capsys, size):
    name = "x" * size
    qrels, run = f"q 0 {name} 1\n", f"q Q0 {name} 1 2 t\nq Q0 {name}y 2 1 t\n"
    assert main(["evaluate", *pair("", qrels.encode(), run.encode()), "-m", "RR", "--format", "csv"]) == 0
    assert "RR,1.0" in capsys.readouterr().out


def test_no_warning_of_another_library_escapes(pair, capsys):
    qrels, run = pair("", written(QRELS, "grade", "trec"), written(RUN, "score", "trec"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        main(["evaluate", qrels, run])
    assert [str(w.message) for w in caught] == []
    capsys.readouterr()
