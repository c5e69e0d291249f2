"""Files: every format reads alike, clean and odd files give the same, and what is wrong gets one error with its line."""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.data.files import formats, trec
from ranklens.data.files.sources import open_source
from ranklens.data.files.streams import TableStream
from ranklens.data.readers.frames import to_polars

QRELS = {"q1": {"d1": 2, "d#2": 0, 'd"3': 1}, "é": {"d1": 1, "x,y": -1}}
RUN = {"q1": {'d"3': 2.5, "d1": 2.5, "z": 1e-3}, "é": {"x,y": 3.0, "d1": -1.0}}
MEASURES = ["nDCG@10", "AP", "RR", "Bpref", "P@2"]
EXPECTED = rl.evaluate(QRELS, RUN, MEASURES).mean


def trec_qrels(separator=" ", end="\n"):
    rows = [(q, "0", d, str(g)) for q, docs in QRELS.items() for d, g in docs.items()]
    return "".join(separator.join(row) + end for row in rows)


def trec_run(separator=" ", end="\n"):
    rows = [(q, "Q0", d, "1", repr(s), "tag") for q, docs in RUN.items() for d, s in docs.items()]
    return "".join(separator.join(row) + end for row in rows)


def rows(table, number):
    return [{"query_id": q, "doc_id": d, number: x} for q, docs in table.items() for d, x in docs.items()]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def mean(qrels, run):
    return rl.evaluate(qrels, run, MEASURES).mean


TREC_VARIANTS = {
    "spaces": (" ", "\n"),
    "tabs": ("\t", "\n"),
    "runs of white space": ("  \t ", "\n"),
    "crlf": (" ", "\r\n"),
    "trailing space": (" ", " \n"),
    "extra fields": (" ", " more fields\n"),
}


@pytest.mark.parametrize(("separator", "end"), TREC_VARIANTS.values(), ids=TREC_VARIANTS)
def test_trec_files(write, separator, end):
    qrels, run = write("q.txt", trec_qrels(separator, end)), write("r.txt", trec_run(separator, end))
    assert mean(qrels, run) == EXPECTED
    assert mean(str(qrels), run) == EXPECTED
    assert mean(QRELS, run) == EXPECTED
    assert mean(qrels, RUN) == EXPECTED


def test_bom_comments_and_blank_lines(write):
    qrels = write("q", "\ufeff# judged by hand\n\n" + trec_qrels())
    run = write("r", "# tag: bm25\n" + trec_run().replace("\n", "\n\n", 1) + "   \n")
    assert mean(qrels, run) == EXPECTED


def test_no_newline_at_the_end(write):
    assert mean(write("q", trec_qrels().rstrip()), write("r", trec_run().rstrip())) == EXPECTED


PACK = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


@pytest.mark.parametrize("kind", [*PACK, "zst"])
def test_compressed_files(write, kind, tmp_path):
    pack = PACK.get(kind, lambda content: _zst(content, tmp_path))
    qrels, run = (
        write(f"q.txt.{kind}", pack(trec_qrels().encode())),
        write(f"r.{kind}", pack(trec_run().encode())),
    )
    assert mean(qrels, run) == EXPECTED
    table = write(f"t.csv.{kind}", pack(pl.DataFrame(rows(RUN, "score")).write_csv().encode()))
    assert mean(qrels, table) == EXPECTED
    with pytest.raises(rl.InputError, match="archive is damaged or truncated"):
        mean(qrels, write(f"cut.{kind}", pack(trec_run().encode() * 50)[:-30]))


def _zst(content, folder):
    """zstd without a package for it: what Polars writes, or a frame that stores its content as it is."""
    blocks = b"".join(
        ((len(part) << 3 | (start + (1 << 16) >= len(content))).to_bytes(3, "little") + part)
        for start in range(0, len(content), 1 << 16)
        for part in [content[start : start + (1 << 16)]]
    )
    return b"\x28\xb5\x2f\xfd" + b"\xa0" + len(content).to_bytes(4, "little") + blocks


def test_standard_input(write, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trec_run().encode())))
    assert mean(write("q", trec_qrels()), "-") == EXPECTED


def tables(write):
    gold, run = pl.DataFrame(rows(QRELS, "relevance")), pl.DataFrame(rows(RUN, "score"))
    for name in ("csv", "tsv"):
        separator = "," if name == "csv" else "\t"
        style = "necessary" if name == "csv" else "never"
        yield (
            name,
            *(
                write(f"{n}.{name}", t.write_csv(separator=separator, quote_style=style))
                for n, t in (("q", gold), ("r", run))
            ),
        )
    yield "jsonl", write("q.jsonl", gold.write_ndjson()), write("r.jsonl", run.write_ndjson())
    yield "json rows", write("q2.json", gold.write_json()), write("r2.json", run.write_json())
    yield "json dicts", write("q.json", json.dumps(QRELS)), write("r.json", json.dumps(RUN))
    yield "json without suffix", write("qd", json.dumps(QRELS)), write("rd", json.dumps(RUN))
    yield "jsonl without suffix", write("ql", gold.write_ndjson()), write("rl", run.write_ndjson())


def test_tables(write):
    for name, qrels, run in tables(write):
        assert mean(qrels, run) == EXPECTED, name


def test_parquet_file_folder_and_glob(tmp_path):
    gold, run = pl.DataFrame(rows(QRELS, "relevance")), pl.DataFrame(rows(RUN, "score"))
    gold.write_parquet(tmp_path / "gold.parquet")
    (tmp_path / "run").mkdir()
    run[:2].write_parquet(tmp_path / "run" / "part-0.parquet")
    run[2:].write_parquet(tmp_path / "run" / "part-1.parquet")
    for place in (tmp_path / "run", str(tmp_path / "run" / "part-*.parquet")):
        assert mean(tmp_path / "gold.parquet", place) == EXPECTED
    nameless = tmp_path / "data"
    run.write_parquet(nameless)
    assert mean(QRELS, nameless) == EXPECTED


def test_beir_folder(write, tmp_path):
    lines = [f"{q}\t{d}\t{g}" for q, docs in QRELS.items() for d, g in docs.items()]
    write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n" + "\n".join(lines) + "\n")
    assert mean(tmp_path / "beir", RUN) == EXPECTED
    write("beir/qrels/dev.tsv", "query-id\tcorpus-id\tscore\n")
    assert mean(tmp_path / "beir", RUN) == EXPECTED
    (tmp_path / "beir/qrels/test.tsv").rename(tmp_path / "beir/qrels/train.tsv")
    with pytest.raises(rl.InputError, match="several files could be the judgments"):
        mean(tmp_path / "beir", RUN)


def test_msmarco(write):
    qrels = write("qrels.tsv", "7\t0\t100\t1\n8\t0\t200\t1\n")
    run = write("run.tsv", "7\t300\t1\n7\t100\t2\n8\t200\t1\n")
    assert rl.evaluate(qrels, run, "MRR@10").mean["RR@10"] == 0.75
    with pytest.raises(
        rl.InputError, match=r"scores.tsv: the third field of document '300' .* is 12.5, not a rank"
    ):
        rl.evaluate(qrels, write("scores.tsv", "7\t300\t12.5\n7\t100\t11.25\n"), "MRR@10")
    scored = write("scored.tsv", "query\tdoc\tscore\n7\t300\t12.5\n7\t100\t11.25\n8\t200\t3\n")
    assert rl.evaluate(qrels, scored, "MRR@10").mean["RR@10"] == 0.75


def test_learning_to_rank(write):
    data = write(
        "test.svm", "2 qid:1 1:0.3 2:1 # docid = a\n0 qid:1 1:0.1 # b\n1 qid:2 1:0.2\n0 qid:2 1:0.9\n"
    )
    scores = write("scores.txt", "0.1\n0.9\n0.8\n0.2\n")
    assert rl.evaluate(data, scores, "RR").mean["RR"] == 0.75
    assert formats.read_qrels(data)["doc"].to_list() == ["a", "b", "1", "2"]
    with pytest.raises(rl.InputError, match=r"contains 1 scores, but .* 4 documents"):
        rl.evaluate(data, write("few.txt", "0.1\n"), "RR")


def test_records_in_jsonl(write):
    path = write("rag.jsonl", '{"query": "a", "retrieved_ids": ["x", "d"], "expected_ids": ["d"]}\n')
    assert rl.evaluate(path, path, "RR").mean["RR"] == 0.5


field = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_characters="\x7f\x85\xa0"),
    min_size=1,
    max_size=8,
)
lines = st.lists(
    st.tuples(field.filter(lambda f: not f.startswith(("#", "\ufeff"))), field, st.floats(-5, 5)),
    min_size=1,
    max_size=20,
)


@given(lines=lines)
def test_the_fast_path_equals_the_careful_one(lines):
    content = "".join(f"{q} Q0 {d} 1 {s!r} tag\n" for q, d, s in lines).encode()
    names, wanted = trec.TREC_RUN, {"query": False, "doc": False, "score": True}
    fast = trec.read_fast(content, names, wanted)
    assert fast is not None
    assert fast.equals(trec.read_carefully(content, names, wanted))


WRONG = [
    ("", "", "the file is empty"),
    ("# only a comment\n", trec_run(), "contains no data"),
    (trec_qrels(), "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2\n", r"r:2: expected 6 fields \(query, Q0, doc, rank, score, tag\) but found 3: 'q1 Q0 d2'"),
    (trec_qrels(), "q1 Q0 d1 1 high tag\n", "r:1: the score 'high' is not a number"),
    (trec_qrels(), "q1 Q0 d1  1 0.5 t\n# fine\nq1  Q0 d2 1 x t\n", "r:3: the score 'x' is not a number"),
    (trec_qrels(), "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.23", "r:2: expected 6 fields"),
    ("q1 0 d1 1\nq1 0 d2 good\n", trec_run(), "q:2: the grade 'good' is not a number"),
    ("q1 0 d1\n", trec_run(), "q:1: expected 4 fields"),
    (trec_run(), trec_qrels(), "looks like a run .* pass the judgments first"),
    (trec_qrels(), b"q1 Q0 d1 1 0.5 tag\nq1 Q0 \xff\xfe 2 0.4 tag\n", "r:2: byte 0xff is not valid UTF-8"),
    (trec_qrels(), bytes(range(256)) * 20, "r:2: byte 0x80 is not valid UTF-8"),
    (trec_qrels(), '{"q1": {"d1": ', "r:1: this is not JSON: Expecting value"),
    (trec_qrels(), "query,doc\nq1,d1\n", "no score or rank among the columns"),
    (trec_qrels(), "query,doc,score\nq1,d1,x\n", "^r:2: 'x' in column 'score' is not a number"),
    (trec_qrels(), "q1 Q0 d1 1 nan tag\n", "score of document 'd1' for query 'q1' is nan, not a number"),
]  # fmt: skip


@pytest.mark.parametrize(("qrels", "run", "message"), WRONG, ids=[w[2][:30] for w in WRONG])
def test_wrong_files_get_one_clear_error(write, monkeypatch, tmp_path, qrels, run, message):
    write("q", qrels), write("r", run)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate("q", "r", "RR")


def test_wrong_places(tmp_path):
    with pytest.raises(rl.InputError, match="does not exist"):
        open_source(tmp_path / "nothing")
    with pytest.raises(
        rl.InputError,
        match="there is no format 'trek': did you mean 'trec'",
    ):
        formats.read_run(Path(__file__), "trek")
    with pytest.raises(rl.InputError, match="is a folder without tables"):
        formats.read_run(tmp_path)
    with pytest.raises(rl.InputError, match=r"\*.parquet does not exist"):
        formats.read_run(tmp_path / "*.parquet")


@given(st.binary(max_size=300))
def test_binary_junk_never_escapes_as_another_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("junk") / "run"
    path.write_bytes(content)
    with contextlib.suppress(rl.InputError, rl.RankLensWarning):
        rl.judge(QRELS, path)


@pytest.mark.parametrize("query", ["{", "[1]", "{x}", "[", "[x", "[]", '["', "{}", '{"a":1}', "[[é]]"])
@pytest.mark.parametrize(
    "run", ["{0} Q0 x 1 2 t\n{0} Q0 d\xa0e 2 1 t\n", "{0} Q0 x 1 2 t u\n{0} Q0 d\xa0e 2 1 t u\n", "{0}\tx\t1\n{0}\td\xa0e\t2\n"]
)  # fmt: skip
def test_ids_in_brackets_are_not_json(tmp_path, query, run):
    (tmp_path / "qrels").write_text(f"{query} 0 d\xa0e 1\n", encoding="utf-8")
    (tmp_path / "run").write_text(run.format(query), encoding="utf-8")
    assert rl.evaluate(tmp_path / "qrels", tmp_path / "run", "RR").mean["RR"] == 0.5


@pytest.mark.parametrize(
    "content",
    ['{"q": { "d": 1', '{"q": {"d": 1', '{"q": {"d": 1, "e": 2 },\n"r": {"c": ' + "1" * 5000 + "}}"],
)
@pytest.mark.parametrize("argument", [0, 1])
def test_broken_json_is_told(tmp_path, content, argument):
    (tmp_path / "broken").write_text(content)
    given = [QRELS, QRELS]
    given[argument] = tmp_path / "broken"
    with pytest.raises(rl.InputError, match=r"JSON|digits"):
        rl.evaluate(*given, "RR")


def test_json_in_lines_of_four_or_six_words_stays_json(tmp_path):
    (tmp_path / "qrels").write_text('{"q": {"a": 1,\n "b": 0}}')
    (tmp_path / "run").write_text('{"q": {"a": 1.5, "b": 2.5 },\n"r": {"c": 1}}')
    assert rl.evaluate(tmp_path / "qrels", tmp_path / "run", "RR").mean["RR"] == 0.5


@pytest.mark.parametrize("number", ["0.5", "1e-3", "+1", ".5", '"0.5"', "5e-324", "-0.0", "inf"])
def test_scores_in_csv_are_those_that_text_holds(tmp_path, number):
    """Polars reads numbers itself where it can; with another name for the column they are text first."""
    rows = f"q,a,{number}\nq,b,0.25\n"
    (tmp_path / "run.csv").write_text(f"query,doc,score\n{rows}")
    (tmp_path / "other.csv").write_text(f"query,doc,worth\n{rows}")
    found, text = (
        rl.judge({"q": {"b": 1}}, tmp_path / name, columns=columns)
        for name, columns in (("run.csv", None), ("other.csv", {"score": "worth"}))
    )
    assert found.hits.rank.tolist() == text.hits.rank.tolist()


@pytest.mark.parametrize("number", [" 0.5", "0.5 ", "abc", "1_0", '""', ""])
def test_what_is_no_number_in_csv_is_refused_with_its_line(tmp_path, number):
    (tmp_path / "run.csv").write_text(f"query,doc,score\nq,a,0.5\nq,b,{number}\n")
    with pytest.raises(rl.InputError, match=r"run\.csv:3: "):
        rl.judge({"q": {"b": 1}}, tmp_path / "run.csv")


def test_judgments_by_subtopic(tmp_path):
    """The second field differs within a query; where it does not, the format says so."""
    run = {"q": ["a", "x", "b"]}
    many, one = tmp_path / "many.txt", tmp_path / "one.txt"
    many.write_text("q 1 a 1\nq 2 a 0\nq 2 b 1\n")
    one.write_text("q 7 a 1\nq 7 b 1\n")
    assert rl.evaluate(str(many), run, ["StRecall@1", "R@1"]).mean == {"StRecall@1": 0.5, "R@1": 0.5}
    with pytest.raises(rl.MeasureError, match="needs judgments by subtopic"):
        rl.evaluate(str(one), run, "StRecall@1")
    assert formats.read_qrels(str(one), "trec-diversity").subtopics == {"q": {"7": {"a": 1.0, "b": 1.0}}}


def test_intents_from_a_file(tmp_path):
    judged, intents = tmp_path / "qrels", tmp_path / "intents"
    judged.write_text("q i1 A 3\nq i1 B 1\nq i2 B 2\nq i2 C 3\n")
    intents.write_text("q i1 0.7\nq i2 0.3\n")
    qrels = rl.Judgments(subtopics=str(judged), intents=str(intents))
    found = rl.evaluate(qrels, {"q": ["B", "X", "A", "C"]}, "D_nDCG@4").mean
    assert found["D_nDCG@4"] == pytest.approx(0.812297, abs=1e-6)


@pytest.mark.parametrize("separator", [";", "|"])
def test_csv_may_have_other_separators(tmp_path, separator):
    """As spreadsheets write it where a comma is a decimal point."""
    (tmp_path / "run.csv").write_text(
        f'query{separator}doc{separator}score\nq1{separator}"a,b"{separator}0.5\n'
    )
    (tmp_path / "run").write_text((tmp_path / "run.csv").read_text())
    for name in ("run.csv", "run"):
        assert rl.evaluate({"q1": {"a,b": 1}}, tmp_path / name, "RR").mean == {"RR": 1.0}


def test_other_encodings_and_line_ends_are_named(tmp_path):
    text = "query,doc,score\nq1,a,0.5\n"
    (tmp_path / "run.csv").write_bytes(text.replace("\n", "\r").encode())
    with pytest.raises(rl.InputError, match="its lines end with CR alone"):
        rl.evaluate({"q1": {"a": 1}}, tmp_path / "run.csv", "RR")


@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize(
    ("qrels", "run", "line"),
    [
        ("q1 0 d1 1\n", "q1 Q0 x 1 9 t\rq1 Q0 d1 2 8 t\r", 1),
        ("q1 0 d1 1\n", "q1 Q0 a 1 9 t\nq1 Q0 x 1 8 t\rq1 Q0 d1 2 7 t\n", 2),
        ("q1 0 x 0\rq1 0 d1 1\r", "q1 Q0 d1 1 9 t\n", 1),
    ],
)
def test_lines_that_end_with_cr_alone_are_refused(tmp_path, monkeypatch, qrels, run, line, engine):
    """They would be one line, of which all but the first fields are lost."""
    monkeypatch.setattr("ranklens.data.files.trec._engine_is_loaded", lambda: engine)
    (tmp_path / "q.txt").write_bytes(qrels.encode())
    (tmp_path / "r.txt").write_bytes(run.encode())
    with pytest.raises(rl.InputError, match=rf"[qr]\.txt:{line}: a line ends with CR alone"):
        rl.evaluate(tmp_path / "q.txt", tmp_path / "r.txt", "RR")
    for name in ("q.txt", "r.txt"):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes().replace(b"\r", b"\r\n"))
    assert 0 < rl.evaluate(tmp_path / "q.txt", tmp_path / "r.txt", "RR").mean["RR"] <= 1


@pytest.mark.parametrize("before", [3, 150])
@pytest.mark.parametrize(
    ("late", "message"),
    [
        ({"doc": "d1", "score": 1, "system": "a"}, "'system' is empty in some rows, and 'a' in others"),
        ({"doc": "a text", "doc_id": "d1", "score": 1}, "the doc is missing|the document is missing|missing"),
    ],
)
def test_a_key_that_comes_late_counts(tmp_path, before, late, message):
    """Also behind the rows that show the types of all."""
    rows = [{"query": "q9", "doc": f"x{i}", "score": 1} for i in range(before)] + [{"query": "q1", **late}]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate({"q1": {"d1": 1}}, tmp_path / "run.jsonl", "RR")


def test_a_csv_that_begins_with_a_blank_line_says_so(tmp_path):
    (tmp_path / "run.csv").write_text("\nquery,doc,score\nq1,a,1\n")
    with pytest.raises(rl.InputError, match=r"run\.csv:1: the first line is blank"):
        rl.evaluate({"q1": {"a": 1}}, tmp_path / "run.csv", "RR")


def test_parquet_has_the_columns_that_are_asked_for(tmp_path):
    frame = pl.DataFrame({"query": ["q1", "q1"], "doc": ["x", "a"], "score": [2.0, 1.0], "mine": [1.0, 2.0]})
    frame.write_parquet(tmp_path / "run.parquet")
    found = rl.evaluate({"q1": {"a": 1}}, tmp_path / "run.parquet", "RR", columns={"score": "mine"})
    assert found.mean == {"RR": 1.0}
    frame.select("query", "doc", rank="mine", grade="score").write_parquet(tmp_path / "run.parquet")
    assert rl.evaluate({"q1": {"a": 1}}, tmp_path / "run.parquet", "RR").mean == {"RR": 0.5}


def _read_or_refused(path):
    with contextlib.suppress(rl.InputError):
        formats.read_run(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@given(rest=st.text('",\n\t1q;\r ', max_size=12), header=st.permutations(["score", "query", "doc"]))
def test_no_table_makes_the_engine_panic(tmp_path_factory, suffix, rest, header):
    path = tmp_path_factory.getbasetemp() / f"panic.{suffix}"
    separator = "," if suffix == "csv" else "\t"
    path.write_text(f"{separator.join(header)}\n{separator.join(['1', 'q1', 'd1'])}\n{rest}", newline="")
    _read_or_refused(path)


def test_an_open_quote_that_makes_the_engine_panic_is_an_error_with_its_line(tmp_path):
    (tmp_path / "run.csv").write_text('score,query,doc\n1,q1,d1\n"')
    with pytest.raises(rl.InputError, match=r"run\.csv:3: "):
        rl.evaluate({"q1": {"d1"}}, tmp_path / "run.csv", "RR")


def test_a_panic_where_tables_are_read_is_an_input_error():
    def panic():
        raise pl.exceptions.PanicException("slice index starts at 1 but ends at 0")

    for tables in ([panic], [pl.DataFrame, panic, panic]):
        with pytest.raises(rl.InputError, match=r"^run\.csv cannot be read as a table: slice index"):
            list(TableStream("run.csv", lambda tables=tables: iter(tables)))
    frame = pl.LazyFrame({"query": ["q"], "doc": ["d"]}).map_batches(lambda _: panic())
    with pytest.raises(rl.InputError, match="The LazyFrame cannot be read"):
        to_polars(frame)


LABELS = "q1 Q0 d1 2 0.91 judge\nq1 Q0 d2 0 0.55 judge\nq1 Q0 d3 0 1 judge\nq2 Q0 d4 1 0.2 judge\n"


def test_judgments_by_a_model_have_six_fields(tmp_path):
    """Those of TREC RAG 2025: grades repeat within a query, which ranks do not."""
    (tmp_path / "labels.txt").write_text(LABELS)
    found = rl.judge(tmp_path / "labels.txt", {"q1": ["d2", "d1"], "q2": ["d4"]})
    assert found.hits.grade.tolist() == [0, 2, 1]
    assert len(found.ideal) == 4


@pytest.mark.parametrize(
    "lines",
    [
        "q1 Q0 d1 1 0.9 run\nq1 Q0 d2 2 0.5 run\n",  # ranks
        "q1 Q0 d1 1 0.9 run\nq1 Q0 d2 1 0.5 run\n",  # one rank throughout
        "q1 Q0 d1 1 9.5 run\nq1 Q0 d2 1 8.5 run\nq1 Q0 d3 2 8 run\n",  # scores above 1
    ],
)
def test_a_run_is_not_taken_for_judgments_by_a_model(lines, tmp_path):
    (tmp_path / "run.txt").write_text(lines)
    with pytest.raises(rl.InputError, match="looks like a run"):
        rl.judge(tmp_path / "run.txt", {"q1": ["d1"]})
