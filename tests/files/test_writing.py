import io
import json
import os
import sys
from pathlib import Path
from threading import Thread

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from strategies import examples

import ranklens as rl
from ranklens.cli.main import main
from ranklens.data.files.writing import convert

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv", "txt"])
@pytest.mark.parametrize("name", ["qrels.txt", "run.txt"])
def test_round_trips_lose_nothing(tmp_path, name, suffix):
    """Byte for byte, with rank, tag and ids in any script."""
    there, back = tmp_path / f"there.{suffix}", tmp_path / "back.txt"
    assert convert(GOLDEN / name, there)[1] == name.partition(".")[0]
    convert(there, back)
    assert back.read_bytes() == (GOLDEN / name).read_bytes()


def test_what_a_trec_run_needs_is_added(tmp_path):
    source = tmp_path / "run.csv"
    source.write_text('qid,docno,score\nq,"a,b",1.5\nq,c,2.5\n')
    convert(source, tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text() == "q Q0 a,b 2 1.5 ranklens\nq Q0 c 1 2.5 ranklens\n"


def test_beir_and_json(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t2\n")
    assert convert(tmp_path, tmp_path / "q.txt", "qrels") == (1, "qrels")
    assert (tmp_path / "q.txt").read_text() == "q 0 a 2\n"
    (tmp_path / "run.json").write_text('{"q": {"a": 1.5}}')
    assert convert(tmp_path / "run.json", tmp_path / "run.parquet") == (1, "run")
    assert pl.read_parquet(tmp_path / "run.parquet").row(0) == ("q", "a", 1.5)


def test_nothing_half_written(tmp_path):
    (tmp_path / "run.csv").write_text("query,doc,score\nq,two words,1\n")
    with pytest.raises(rl.InputError, match="'two words' contains white space"):
        convert(tmp_path / "run.csv", tmp_path / "run.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def test_the_command(tmp_path, capsys):
    target = tmp_path / "run.parquet"
    assert main(["convert", str(GOLDEN / "run.txt"), str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 2,125 rows of a run\n"
    assert main(["convert", str(GOLDEN / "run.txt"), str(target), "--kind", "other"]) == 2
    assert "kind='other' is not allowed" in capsys.readouterr().err


word = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=6
)
name = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=6)
note = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), min_size=1, max_size=6)
score = st.floats(allow_nan=False)
few = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TABLES = ["a.parquet", "a.jsonl", "a.csv", "a.csv.gz", "a.jsonl.zst", "a.csv.xz", "a.jsonl.bz2"]


@few
@given(
    rows=st.lists(st.tuples(name, name, score, st.integers(0, 9), note), min_size=1, max_size=6),
    path=st.lists(st.sampled_from(TABLES), min_size=1, max_size=3),
)
def test_any_ids_and_scores_survive_any_chain_of_tables(tmp_path, rows, path):
    """Ids with quotes, commas and spaces; infinite scores; a column of text with ends of lines, which TREC files do not have."""
    table = pl.DataFrame(rows, schema=["query", "doc", "score", "rank", "note"], orient="row")
    source = tmp_path / "start.parquet"
    table.write_parquet(source)
    for i, name in enumerate([*path, "end.parquet"]):
        target = tmp_path / f"{i}{name}"
        assert convert(source, target) == (len(rows), "run")
        source = target
    found = pl.read_parquet(source).cast({"rank": pl.Int64})
    assert found.select(table.columns).equals(table)


@few
@given(
    rows=st.lists(
        st.tuples(word.filter(lambda w: not w.startswith(("#", "\ufeff"))), word, word, word, score, word),
        min_size=1,
        max_size=6,
    ),
    path=st.lists(
        st.sampled_from([*TABLES, "a.tsv", "a.txt", "a.txt.gz", "a.run.zst"]), min_size=1, max_size=3
    ),
)
@example(rows=[("[]", "0", "0", "x", 0.0, "0")], path=["a.txt"])
@example(rows=[('["', "0", "0", "0", 0.0, "0")], path=["a.jsonl"])
def test_trec_runs_survive_any_chain(tmp_path, rows, path):
    """With ranks and tags of any kind."""
    source = tmp_path / "start.txt"
    source.write_text("".join(f"{q} {z} {d} {r} {s!r} {t}\n" for q, z, d, r, s, t in rows), encoding="utf-8")
    expected = (
        rl.judge({rows[0][0]: {rows[0][2]: 1}}, source).hits.rank
        if len({r[:3:2] for r in rows}) == len(rows)
        else None
    )
    start = source
    for i, name in enumerate([*path, "end.txt"]):
        convert(source, tmp_path / f"{i}{name}")
        source = tmp_path / f"{i}{name}"
    columns = ["query", "Q0", "doc", "rank", "score", "tag"]
    before, after = (_fields(p) for p in (start, source))
    assert [row[:4] + row[5:] for row in after] == [row[:4] + row[5:] for row in before], columns
    assert [float(row[4]) for row in after] == [float(row[4]) for row in before]
    if expected is not None:
        assert (rl.judge({rows[0][0]: {rows[0][2]: 1}}, source).hits.rank == expected).all()


def _fields(path):
    return [line.split(" ") for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_standard_input_can_be_converted(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((GOLDEN / "run.txt").read_bytes())))
    assert convert("-", tmp_path / "run.jsonl.gz") == (2_125, "run")
    convert(tmp_path / "run.jsonl.gz", tmp_path / "back.txt")
    assert (tmp_path / "back.txt").read_bytes() == (GOLDEN / "run.txt").read_bytes()


def test_what_cannot_be_kept_is_told(tmp_path):
    (tmp_path / "run.txt").write_text("q Q0 a 1 2 tag and more\nq Q0 b 2 1 tag\n")
    with pytest.warns(
        rl.RankLensWarning, match="1 line has more fields than a TREC file allows, e.g. 'and more'"
    ):
        convert(tmp_path / "run.txt", tmp_path / "run.csv")
    (tmp_path / "run.csv").write_text("query,doc,score,note\nq,a,1,x\n")
    with pytest.warns(rl.RankLensWarning, match=r"TREC files have no columns \['note'\]"):
        convert(tmp_path / "run.csv", tmp_path / "back.txt")


def test_keys_and_types_that_differ_from_row_to_row(tmp_path, monkeypatch):
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 40)
    rows = ['{"query": "q", "doc": 1, "score": 2}', '{"query": "q", "doc": "b", "score": 1.5, "note": "x"}', '{"query": "q", "doc": "c", "score": 1, "note": 7}']  # fmt: skip
    (tmp_path / "run.jsonl").write_text("\n".join(rows))
    for target in ("run.parquet", "run.csv"):
        assert convert(tmp_path / "run.jsonl", tmp_path / target) == (3, "run")
        convert(tmp_path / target, tmp_path / "back.jsonl")
        found = pl.read_ndjson(tmp_path / "back.jsonl")
        assert found.rows() == [("q", "1", 2.0, None), ("q", "b", 1.5, "x"), ("q", "c", 1.0, "7")]


REFUSED = [
    (
        "run.jsonl",
        '{"query": "q", "doc": "a", "score": 1, "tags": ["x"]}\n',
        "run.csv",
        "column 'tags' contains lists or objects",
    ),
    ("run.csv", "query,doc,score\nq,a,1\n", "run.json", "RankLens does not write JSON"),
    ("run.csv", "query,doc,score\nq,a,1\n", "run.parquet.gz", "a Parquet file is compressed inside"),
    (
        "run.jsonl",
        '{"query": "q", "doc": "a\\tb", "score": 1}\n',
        "run.tsv",
        "contains a tab or an end of line",
    ),
    (
        "run.jsonl",
        '{"query": "#q", "doc": "a", "score": 1}\n',
        "run.txt",
        "would be a comment in a TREC file",
    ),
    ("run.csv", "query,doc,score\nq,a,1\n", "nowhere/run.txt", "cannot be written: No such file"),
]


@pytest.mark.parametrize(("name", "content", "target", "message"), REFUSED)
def test_what_a_format_cannot_hold_is_refused(tmp_path, name, content, target, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(rl.InputError, match=message):
        convert(tmp_path / name, tmp_path / target)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_records_and_lists_can_be_converted(tmp_path):
    (tmp_path / "rag.jsonl").write_text(
        '{"query": "a", "retrieved_ids": ["x", "d"], "expected_ids": ["d"]}\n'
    )
    assert convert(tmp_path / "rag.jsonl", tmp_path / "run.txt") == (2, "run")
    assert (tmp_path / "run.txt").read_text() == "a Q0 x 1 0.0 ranklens\na Q0 d 2 -1.0 ranklens\n"
    assert convert(tmp_path / "rag.jsonl", tmp_path / "qrels.csv", "qrels") == (1, "qrels")


def test_files_are_readable_for_others(tmp_path):
    convert(GOLDEN / "run.txt", tmp_path / "run.csv")
    (tmp_path / "plain").touch()
    assert (tmp_path / "run.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "run.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    for _ in range(2):  # the second time it exists
        convert(GOLDEN / "run.txt", link)
        assert link.is_symlink()
        assert len(pl.read_csv(target)) == 2125
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["run.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_stays_and_its_reader_gets_all(tmp_path, capsys):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert main(["convert", str(GOLDEN / "run.txt"), str(pipe), "--format", "tsv"]) == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert read[0].startswith("query\t")
    assert read[0].count("\n") == 2126
    assert capsys.readouterr() == ("", f"{pipe}: 2,125 rows of a run\n")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_file_that_is_replaced_keeps_its_rights(tmp_path):
    target = tmp_path / "run.csv"
    target.touch(0o600)
    target.chmod(0o640)
    convert(GOLDEN / "run.txt", target)
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_dash_is_standard_output(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", str(GOLDEN / "run.txt"), "-"]) == 0
    printed = capsys.readouterr()
    assert printed.out.split()[:2] == (GOLDEN / "run.txt").read_text().split()[:2]
    assert printed.err == "2,125 rows of a run\n"
    assert main(["convert", str(GOLDEN / "run.txt"), "-", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["tag"]
    assert main(["convert", str(GOLDEN / "run.txt"), "-", "--format", "jsnl"]) == 2
    assert "did you mean 'jsonl'" in capsys.readouterr().err
    files = [str(GOLDEN / "qrels.txt"), str(GOLDEN / "run.txt")]
    for command in (
        ["evaluate", *files],
        ["evaluate", *files, "--format", "csv"],
        ["compare", *files, f"other={files[1]}"],
    ):
        assert main(command) == 0
        expected = capsys.readouterr().out
        assert main([*command, "-o", "-"]) == 0
        assert capsys.readouterr().out == expected
    assert not list(tmp_path.iterdir())
