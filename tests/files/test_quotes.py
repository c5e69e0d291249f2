"""Quoted fields of CSV that go on over the end of a line: closed texts are read, everything else is an error with its line."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.cli.main import main
from ranklens.data.files import formats
from ranklens.data.files.queries import read_queries

GOLDEN = [
    ("query,doc,grade,note", 'q1,a,1,ok|q2,b,1,"open|q3,c,1,ok', 3),
    ("query,doc,grade,note", 'q1,a,1,ok|q2,b,1,ok|q3,c,1,"cut', 4),
    ("query,doc,grade,note", 'q1,a,1,"open|q2,b,1,ok|q3,c,1,"ok"', 2),
    ("query,doc,grade,note", 'q1,a,1,"open|q2,b,1,ok|q3,c,1,ok"', 2),  # closed, but by a quote of another row
    ("query,doc,note,grade", 'q1,a,"open,1|q2,b,ok",1|q3,c,ok,1', 2),
    ("query,doc,grade,note", 'q1,a,1,"open|q2,b,1,ok, and closed"|q3,c,1,ok', 2),  # and has more separators
    ("note,query,grade,doc,more", 'ok,q1,1,a,"open|so far ok,q2,1,b,ok"|ok,q3,1,c,ok', 2),
    ("grade,query,doc", '1,q1,"a|1,q2,b|1,q3,c', 2),
    ("grade,query,doc", '1,q1,"a|x"|1,q3,c', 2),  # an id of two lines
    ("grade,query,doc", '1,q1,a|1,q2,"b|1,q3,c', 3),
]


@pytest.mark.parametrize(("header", "rows", "line"), GOLDEN)
@pytest.mark.parametrize("separator", [",", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", ["qrels", "run"])
def test_a_quote_that_swallows_rows_is_an_error_with_its_line(
    tmp_path, header, rows, line, separator, end, kind
):
    text = f"{header}|{rows}|".replace(",", "\0").replace("|", end).replace("\0", separator)
    path = tmp_path / "table.csv"
    path.write_text(text if kind == "qrels" else text.replace("grade", "score"), newline="")
    read = formats.read_qrels if kind == "qrels" else formats.read_run
    with pytest.raises(
        rl.InputError, match=rf"table\.csv:{line}: .*past the end of the line.* quote missing"
    ):
        read(path)
    path.write_text(path.read_text().rstrip("\r\n"), newline="")  # the same without an end of line
    with pytest.raises(rl.InputError, match=rf"table\.csv:{line}: "):
        read(path)


def test_blocks_are_looked_at_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 64)
    path = tmp_path / "run.csv"
    rows = [f'q{number},"d{number}",0.5' for number in range(50)]
    path.write_text("\n".join(["query,doc,score", *rows]))
    assert len(formats.read_run(path)) == 50
    rows[33] = 'q33,"d33,0.5'
    path.write_text("\n".join(["query,doc,score", *rows]))
    with pytest.raises(rl.InputError, match=r"run\.csv:35: "):
        formats.read_run(path)


def test_gates_do_not_pass_on_what_is_left(tmp_path, capsys):
    golden, log = tmp_path / "golden.csv", tmp_path / "log.csv"
    golden.write_text('query,doc,grade,note\nq1,a,1,"good\nq2,b,1,\nq3,c,1,\n')
    log.write_text("query,doc,score\nq1,a,1\n")
    assert main(["gate", "RR >= 1", "--qrels", str(golden), "--run", str(log), "--strict"]) == 2
    assert "golden.csv:2: " in capsys.readouterr().err


def test_closed_texts_of_several_lines_are_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('query,doc,grade,note\nq1,a,1,"two lines,\nof ""text"""\n\nq2,b,1,5" wide\n')
    assert rl.judgments(path) == {"q1": {"a": 1}, "q2": {"b": 1}}
    path.write_text('id,question\n1,"What,\nand why?"\n2,How?\n')
    assert read_queries(path).texts == {"1": "What,\nand why?", "2": "How?"}
    path.write_text('id,question\n1,"What\n2,Why?\n3,"How?"\n')
    with pytest.raises(rl.InputError, match=r"table\.csv:2: "):
        read_queries(path)


word = st.text('a"\n, ', max_size=5)


@given(rows=st.lists(st.tuples(word, word), min_size=1, max_size=4))
@example(rows=[("", '\na,"')])
def test_no_row_that_python_reads_otherwise_is_taken(tmp_path_factory, rows):
    """Whatever is read is what a strict reader finds in rows of one line each, or of several that do not look like rows."""
    text = "x,y\n" + "\n".join(f'{a},"{b}' if '"' in a else f"{a},{b}" for a, b in rows)
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text, newline="")
    try:
        found = formats.read_table(path, "csv").rows()
    except rl.InputError:
        return
    lines = text.split("\n")
    expected = [
        tuple(value or None for value in row) for row in csv.reader(io.StringIO(text, newline="")) if row
    ]
    assert found == expected[1:]
    if any("\n" in (value or "") for row in found for value in row):
        list(csv.reader(io.StringIO(text, newline=""), strict=True))  # all quotes are closed
    else:
        assert len(found) == len([line for line in lines[1:] if line])


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("before", ["", "\n"])
def test_a_mark_before_the_first_row_belongs_to_its_id(tmp_path, suffix, before):
    """At the beginning of the file it is left out; a query of two documents would become two."""
    separator = "," if suffix == "csv" else "\t"
    text = f"query,doc,score\n{before}\ufeffq1,a,2\n\ufeffq1,b,1\nq2,a,1\n".replace(",", separator)
    for start in ("", "\ufeff"):
        (tmp_path / f"run.{suffix}").write_text(start + text, encoding="utf-8")
        found = formats.read_run(tmp_path / f"run.{suffix}")
        assert found["query"].to_list() == ["\ufeffq1", "\ufeffq1", "q2"]
        assert found.columns == ["query", "doc", "score"]


CUTS = {
    "run.txt": ("q1 Q0 a 1 0.5 t\nq2 Q0 b 1 0.5 t\n", 4, 2),
    "run.tsv": ("query\tdoc\tscore\nq1\ta\t0.5\nq2\tb\t0.5\n", 5, 3),
    "run.csv": ("query,doc,score\nq1,a,0.5\nq2,b,0.5\n", 5, 3),
    "run.jsonl": ('{"query": "q1", "doc": "a", "score": 1}\n{"query": "q2", "doc": "b", "score": 1}\n', 2, 2),
    "log.jsonl": ('{"id": "q1", "retrieved_ids": ["a"]}\n{"id": "q2", "retrieved_ids": ["a"]}\n', 4, 2),
}


@pytest.mark.parametrize("name", CUTS)
def test_files_that_were_cut_are_errors_with_their_line(tmp_path, name):
    text, cut, line = CUTS[name]
    path = tmp_path / name
    path.write_text(text)
    assert len(rl.judge({"q1": {"a": 1}, "q2": {"a": 1}}, path)) == 2
    path.write_text(text[:-cut])
    with pytest.raises(rl.InputError, match=rf"{name}:{line}: "):
        rl.judge({"q1": {"a": 1}}, path)


def test_an_open_quote_before_much_text_asks_for_the_closing_one(tmp_path):
    path = tmp_path / "run.csv"
    rows = [f"q{number},1,d{number}" for number in range(20_000)]
    path.write_text("\n".join(["query,score,doc", 'q,1,"d', *rows, ""]))
    with pytest.raises(rl.InputError, match=r"run\.csv:2: .*Is a closing quote missing"):
        rl.judge({"q": {"d": 1}}, path)
