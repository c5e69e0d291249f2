"""What files hold that nobody meant: each is read as it is, or refused in one sentence. Nothing is lost in silence."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import ranklens as rl
from ranklens.cli.main import main
from ranklens.data.files import formats, trec
from ranklens.data.files.rows import read_rows
from ranklens.data.files.sources import open_source
from ranklens.data.files.zst import most_unpacked
from ranklens.errors import InputError

BOM = b"\xef\xbb\xbf"
QRELS = "q1 0 d1 1\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write


# --- names


@pytest.mark.parametrize(
    ("name", "matched"), [("run[1]", "run1"), ("run?", "run1"), ("r*", "run1"), ("r**", "run")]
)
def test_a_path_that_exists_is_no_pattern(tmp_path, write, name, matched):
    run = pl.DataFrame({"query": ["q1", "q1"], "doc": ["d1", "x"], "score": [1.0, 2.0]})
    for suffix in ("parquet", "txt.zst"):
        other = run if suffix == "parquet" else None
        place, decoy = tmp_path / f"{name}.{suffix}", tmp_path / f"{matched}.{suffix}"
        if other is not None:
            run.write_parquet(place)
            run[:1].write_parquet(decoy)
        else:
            formats_zst(place, "q1 Q0 d1 1 1 t\nq1 Q0 x 2 2 t\n")
            formats_zst(decoy, "q1 Q0 d1 1 1 t\n")
        assert rl.evaluate({"q1": {"d1": 1}}, place, "RR").mean["RR"] == 0.5
        folder = tmp_path / f"{name} {suffix}"
        folder.mkdir()
    folder = tmp_path / f"{name} parquet"
    run.write_parquet(folder / "part[0].parquet")
    assert rl.evaluate({"q1": {"d1": 1}}, folder, "RR").mean["RR"] == 0.5


def formats_zst(place, text):
    pl.DataFrame({"text": text.splitlines()}).write_csv(
        place, include_header=False, quote_style="never", compression="zstd"
    )


# --- keys that are there twice, and nothing at all

TWICE = {
    "r.json": '{"q1": {"d1": 1}, "q1": {"d2": 1}}',
    "documents.json": '{"q1": {"d1": 1, "d1": 2}}',
    "r.jsonl": '{"query": "q1", "doc": "d1", "score": 1}\n{"query": "q1", "doc": "d2", "score": 1, "score": 2}\n',
    "balanced.jsonl": '{"query": "q1", "doc": "d1", "score": 1}\n{"query": "q1", "doc": "d2", "score": 1, "score": 2}\n'
    '{"query": "q1", "doc": "d3", "score": 1, "tag": "x"}\n',
    "records.jsonl": '{"query": "a", "retrieved": ["d1"], "retrieved": ["d2"], "expected": ["d1"]}\n',
    "nested.jsonl": '{"query": "q1", "doc": "d1", "score": 1, "meta": {"a": 1, "a": 2}}\n',
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_a_key_that_is_there_twice_is_an_error_that_names_it(write, name):
    with pytest.raises(rl.InputError, match=r"the key '(q1|d1|score|retrieved|a)' appears twice"):
        rl.judge({"q1": {"d1": 1}}, write(name, TWICE[name]))


def test_a_key_that_is_there_twice_in_queries_and_texts(write):
    for name, content in (
        ("t.json", '{"q1": "a", "q1": "b"}'),
        ("t.jsonl", '{"_id": "q1", "text": "a", "text": "b"}\n'),
    ):
        with pytest.raises(rl.InputError, match="appears twice"):
            read_rows(write(name, content))


def test_colons_and_quotes_in_text_are_no_keys(write):
    rows = [{"query": 'a":', "doc": f'{i}\\":"', "score": i, "note": '"x": "y"'} for i in range(3)]
    path = write("r.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert formats.read_run(path)["doc"].to_list() == [row["doc"] for row in rows]


@pytest.mark.parametrize("content", ["{}", " {\n} ", "[]"])
def test_a_file_of_nothing_is_refused(write, content):
    for name in ("r.json", "r"):
        with pytest.raises(rl.InputError, match=r"the file is empty|expected objects"):
            rl.judge({"q1": {"d1": 1}}, write(name, content))


# --- byte-order marks


@pytest.mark.parametrize("marks", [1, 2, 3])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_byte_order_marks_read_alike_on_every_path(write, marks, pack):
    odd = {"fast": "q1 0 d1 1\nq2 0 d2 1\n", "careful": "q1  0 d1 1\nq2 0 d2 1\n"}
    for name, text in odd.items():
        table = formats.read_qrels(write(name, pack(BOM * marks + text.encode())))
        assert table["query"].to_list() == ["q1", "q2"], name
    for name, text in (
        ("t.csv", "query,doc,grade\nq1,d1,1\n"),
        ("t.jsonl", '{"query": "q1", "doc": "d1", "grade": 1}\n'),
        ("t.json", '{"q1": {"d1": 1}}'),
    ):
        read = formats.read_qrels(write(name, pack(BOM * marks + text.encode())))
        assert formats.as_table(read, "grade")["query"].to_list() == ["q1"], name


def test_a_mark_at_the_beginning_of_a_later_block_belongs_to_the_id():
    names, wanted = trec.TREC_QRELS, {"query": False, "doc": False, "grade": True}
    block = BOM + b"q1 0 d1 1\n"
    assert trec.read_fast(block, names, wanted) is None
    assert trec.read_carefully(block, names, wanted)["query"][0] == "\ufeffq1"


# --- what convert writes


def test_what_is_not_a_number_is_ranked_last(write, tmp_path):
    rows = [
        ("q1", "a", "nan"),
        ("q1", "b", "1"),
        ("q2", "c", "-inf"),
        ("q1", "d", "2"),
        ("q2", "e", "nan"),
        ("q1", "f", "nan"),
    ]
    source = write("r.csv", "query,doc,score\n" + "".join(f"{','.join(row)}\n" for row in rows))
    assert main(["convert", source, "r.txt"]) == 0
    ranks = {line.split()[2]: int(line.split()[3]) for line in (tmp_path / "r.txt").read_text().splitlines()}
    assert ranks == {"d": 1, "b": 2, "a": 3, "f": 4, "c": 1, "e": 2}


# --- inputs are not overwritten


@pytest.mark.parametrize(
    "command",
    [
        "evaluate q.txt r.txt -o q.txt", "evaluate q.txt mine=r.txt -o r.txt", "evaluate q.txt r.txt -o ./link",
        "evaluate q.txt r.txt --format csv --depth 5 -o hard", "compare q.txt r.txt s.txt -o s.txt",
        "compare q.txt r.txt s.txt --by by.csv:kind -o by.csv", "compare q.txt r.txt s.txt --plot plot.svg",
        "explain RR q.txt r.txt --query q1 -o r.txt", "report q.txt r.txt s.txt -o r.txt",
        "report q.txt r.txt s.txt --queries by.csv -o by.csv", "report q.txt r.txt s.txt --corpus by.csv -o by.csv",
        "convert r.txt r.txt", "bench bench.yaml -o q.txt", "bench bench.yaml -o bench.yaml", "bench own.yaml",
        "evaluate beir r.txt -o beir/qrels/test.tsv", "evaluate q.txt parts -o parts/0.parquet",
        "evaluate q.txt runs -o runs/1.txt --format json", "gate RR>=0 --qrels q.txt --run lists -o lists/0.jsonl",
    ],
)  # fmt: skip
def test_an_input_is_not_overwritten(write, tmp_path, capsys, command):
    write("q.txt", QRELS), write("r.txt", "q1 Q0 d1 1 1 t\n"), write("s.txt", "q1 Q0 d2 1 1 t\n")
    write("by.csv", "query,kind,text\nq1,a,b\n"), write("plot.svg", QRELS), write("parts/0.parquet", "")
    write("runs/1.txt", "q1 Q0 d1 1 1 t\n"), write("lists/0.jsonl", "{}\n"), write("lists/1.jsonl", "{}\n")
    write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (tmp_path / "link").symlink_to("q.txt")
    (tmp_path / "hard").hardlink_to("q.txt")
    write("bench.yaml", "data: {qrels: q.txt, runs: {a: r.txt}}\n")
    write("own.yaml", "data: {qrels: q.txt, runs: {a: r.txt}}\noutputs: {csv: q.txt}\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    if "plot.svg" in command:
        pytest.importorskip("altair")
        command = command.replace("q.txt", "plot.svg", 1)
    assert main(command.split()) == 2
    assert "is one of the files to read" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_other_files_in_a_folder_are_written(write, tmp_path):
    (
        write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n"),
        write("r.txt", "q1 Q0 d1 1 1 t\n"),
    )
    for _ in range(2):
        assert main(["evaluate", "beir", "r.txt", "--format", "csv", "-o", "beir/results.csv"]) == 0
    assert open_source(tmp_path / "beir/results.csv").head()


# --- small files that would fill the memory


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r", b"x" * (1 << 18), "without a line break"),
        ("r", b" " * (1 << 18), "no line of data within the first"),
        ("r", b"\n" * (1 << 18), "no line of data within the first"),
        ("r", b"# c\n" * (1 << 16), "no line of data within the first"),
        ("r.jsonl", b"\n" * (1 << 18), "no line of data within the first"),
        ("r.csv", b"\n" * (1 << 18), "no line of data within the first"),
        ("r.json", b" " * (1 << 18), "no line of data within the first"),
    ],
)
def test_the_search_for_data_has_an_end(write, monkeypatch, pack, name, content, message):
    for limit in ("LONGEST_LINE", "SEARCHED"):
        monkeypatch.setattr(f"ranklens.data.files.limits.{limit}", 1 << 17)
    with pytest.raises(rl.InputError, match=message):
        rl.judge({"q1": {"d1": 1}}, write(name, pack(content)))


def test_an_archive_of_json_has_a_limit(write, monkeypatch):
    monkeypatch.setattr("ranklens.data.files.limits.UNPACKED", 1 << 17)
    content = b'{"q1": {"' + os.urandom(1 << 17).hex().encode() + b'": 1}}'
    with pytest.raises(rl.InputError, match="the archive contains more than 0 MB; unpack it first"):
        rl.judge({"q1": {"d1": 1}}, write("r.json.gz", gzip.compress(content)))
    assert rl.judge({"q1": {"d1": 1}}, write("r.json", content)) is not None


def zst_of_one_letter(blocks):
    """A frame of RLE blocks (RFC 8878), 128 KB each of 4 bytes."""
    size = 1 << 17
    headers = [(i == blocks - 1) | 1 << 1 | size << 3 for i in range(blocks)]
    return b"\x28\xb5\x2f\xfd" + b"\x00\x58" + b"".join(h.to_bytes(3, "little") + b" " for h in headers)


def test_a_small_zst_archive_of_three_gigabytes_is_refused(write):
    path = write("r.zst", zst_of_one_letter(24_000))
    assert most_unpacked(Path(path)) == 24_000 << 17
    with pytest.raises(rl.InputError, match=r"r.zst: it contains more than 100 times its size"):
        rl.judge({"q1": {"d1": 1}}, path)


@pytest.mark.parametrize("name", ["r.json.gz", "r.jsonl.gz"])
def test_an_archive_that_is_packed_far_more_than_text_is_refused_early(write, monkeypatch, name):
    monkeypatch.setattr("ranklens.data.files.limits.MODEST", 1 << 17)
    content = b'{"query": "q1", "retrieved": ["' + b"x" * (1 << 18) + b'"]}'
    with pytest.raises(rl.InputError, match=f"{name}: it contains more than 100 times its size"):
        rl.judge({"q1": {"d1": 1}}, write(name, gzip.compress(content)))


@pytest.mark.parametrize("name", ["r.txt", "r.csv", "r.tsv", "r.jsonl", "r.json", "r.svm"])
@pytest.mark.parametrize("packing", ["gz", "xz", "bz2", "zst"])
def test_a_bomb_is_refused_in_every_format_and_packing(tmp_path, write, monkeypatch, name, packing):
    monkeypatch.setattr("ranklens.data.files.limits.MODEST", 1 << 17)
    line = {
        "r.txt": "q1 Q0 d1 1 1 t\n",
        "r.csv": "q1,d1,1\n",
        "r.tsv": "q1\td1\t1\n",
        "r.svm": "1 qid:1 1:1\n",
    }
    start = {"r.csv": "query,doc,score\n", "r.tsv": "query\tdoc\tscore\n", "r.json": "{\n"}.get(name, "")
    text = start + line.get(name, '{"query": "q1", "doc": "d1", "score": 1}\n') * 40_000
    path = write(f"{name}.{packing}", b"")
    if packing == "zst":
        formats_zst(tmp_path / path, text)
    else:
        (tmp_path / path).write_bytes({"gz": gzip, "xz": lzma, "bz2": bz2}[packing].compress(text.encode()))
    with pytest.raises(rl.InputError, match=f"{re.escape(path)}: it contains more than 100 times its size"):
        rl.judge(path, {"1": {"d1": 1}}) if name == "r.svm" else rl.judge({"q1": {"d1": 1}}, path)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and other systems may fill the disk")
@pytest.mark.parametrize("name", ["r", "r.csv", "r.tsv", "r.json", "r.jsonl", "r.parquet", "r.svm"])
def test_three_gigabytes_of_nothing_take_little_memory(tmp_path, name):
    """A sparse file, which is on the disk in name only, in a process of its own so that its memory can be measured."""
    for place in (tmp_path / name, tmp_path / "q"):
        place.write_text("q1 0 d1 1\n" if place.name == "q" else "")
    os.truncate(tmp_path / name, 3 << 30)
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    code = (
        "import sys; from ranklens.cli.main import main; status = main(sys.argv[1:]);"
        "print(status, *[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    run = [sys.executable, "-c", code, "evaluate", "q", name, "-m", "RR"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    status, most = map(int, done.stdout.split())
    assert (status, done.stderr.count("\n")) == (2, 1)
    assert most << 10 < 1 << 29


def test_the_size_of_an_archive_is_told_by_its_headers(tmp_path):
    text = "".join(f"q{i} Q0 d{i % 97} 1 2 t\n" for i in range(50_000))
    formats_zst(tmp_path / "r.zst", text)
    assert len(text) <= most_unpacked(tmp_path / "r.zst") <= len(text) + (2 << 17)


@pytest.mark.parametrize("free", [1 << 40, 4 << 20])
def test_what_is_piped_is_bounded_and_for_its_reader_alone(tmp_path, monkeypatch, free):
    monkeypatch.setattr("ranklens.data.files.limits.PIPED", 3 << 20)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    modes = []

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            modes.extend(place.stat().st_mode & 0o777 for place in tmp_path.iterdir())
            return b"q1 Q0 d1 1 1 t\n" * (1 << 16)

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Endless()))
    most = min(3, free >> 21)
    with pytest.raises(
        rl.InputError, match=rf"^standard input contains more than {most} MB, the most that is copied"
    ):
        open_source("-")
    assert {*modes} <= {0o600}
    assert list(tmp_path.iterdir()) == []


def test_where_files_need_a_name_a_copy_is_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.delattr("os.O_TMPFILE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"q1 Q0 d1 1 1 t\n")))
    source = open_source("-")
    assert [place.stat().st_mode & 0o777 for place in tmp_path.iterdir()] == [0o600]
    assert source.read() == b"q1 Q0 d1 1 1 t\n"
    del source
    assert list(tmp_path.iterdir()) == []


def test_an_endless_stream_is_refused(monkeypatch):
    monkeypatch.setattr("ranklens.data.files.limits.LONGEST_LINE", 1 << 22)
    with pytest.raises(rl.InputError, match="/dev/zero: more than 4 MB without a line break"):
        open_source("/dev/zero")


# --- wide and long


def test_many_columns_and_many_keys(write, capsys):
    columns = [f"c{i}" for i in range(5_000)]
    wide = write("wide.csv", f"query,doc,score,{','.join(columns)}\nq1,d1,1,{','.join(columns)}\n")
    assert rl.evaluate({"q1": {"d1": 1}}, wide, "RR").mean["RR"] == 1
    with pytest.raises(rl.InputError, match="two columns are called 'c7'"):
        formats.read_run(write("twice.csv", f"query,doc,score,{','.join(columns)},c7\nq1,d1,1\n"))
    rows = "".join(
        json.dumps({"query": "q1", "doc": f"d{i}", "score": i, f"k{i}": i}) + "\n" for i in range(1_100)
    )
    assert main(["convert", write("r.jsonl", rows), "o.csv"]) == 2
    assert "more than 1,000 different keys; are some of them ids?" in capsys.readouterr().err


def test_a_message_is_no_longer_than_anybody_reads(write):
    name = "x" * 300_000
    run = write("r", f"q1 Q0 {name} 1 nan t\n")
    with pytest.raises(rl.InputError) as caught:
        rl.judge({"q1": {"d1": 1}}, run)
    assert len(str(caught.value)) < 500
    assert caught.value.document == name
    with pytest.raises(rl.InputError) as caught:
        formats.read_run(write("r.csv", ",".join(f"c{i}" for i in range(5_000)) + "\n1\n"))
    assert len(str(caught.value)) < 2_100


# --- forked processes

FORKED = """
import multiprocessing, sys
import ranklens as rl

def score(_):
    try:
        return rl.evaluate("q", sys.argv[1], "RR").mean["RR"]
    except rl.InputError as error:
        return str(error)

if __name__ == "__main__":
    if sys.argv[2] == "used":
        import polars
        score(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(score, range(4)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", ["r", "r.parquet", "r.json", "r.jsonl"])
@pytest.mark.parametrize("before", ["used", "fresh"])
def test_a_forked_process_reads_or_says_why_not(write, tmp_path, kind, before):
    (
        write("q", QRELS),
        write("r", "q1 Q0 d1 1 1 t\n"),
        write("r.json", '[{"query": "q1", "doc": "d1", "score": 1}]'),
    )
    write("r.jsonl", '{"query": "q1", "doc": "d1", "score": 1}\n')
    pl.DataFrame({"query": ["q1"], "doc": ["d1"], "score": [1.0]}).write_parquet(tmp_path / "r.parquet")
    found = subprocess.run(
        [sys.executable, "-W", "ignore", write("script.py", FORKED), kind, before],
        capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert ("spawn" if before == "used" else "[1.0, 1.0, 1.0, 1.0]") in found.stdout, found.stderr


FORKED_WITH_A_FRAME = """
import multiprocessing
import polars as pl
import ranklens as rl

n = 9000
frame = pl.DataFrame({"query": ["q"] * n, "doc": [str(i) for i in range(n)], "score": range(n)})

def score(_):
    try:
        return rl.evaluate({"q": {"5": 1}}, frame, "RR").mean["RR"]
    except rl.InputError as error:
        return str(error)

if __name__ == "__main__":
    rl.evaluate({"q": {"5": 1}}, {"q": ["5"]}, "RR")
    frame.lazy().group_by("query").len().collect()  # not RankLens
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(score, range(2)))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="this system does not tell its threads")
def test_a_process_that_was_forked_after_polars_had_worked_says_so(write):
    """Whoever let it work; else it waits for threads that it lacks."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", write("script.py", FORKED_WITH_A_FRAME)],
        capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert "spawn" in found.stdout, found.stderr


@pytest.mark.parametrize("start", [b"x\x01", b"x^", b"\x1f\x8b", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd"])
@pytest.mark.parametrize("kind", ["txt", "csv", "tsv", "jsonl"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_id_that_begins_as_packed_files_do_is_an_id(tmp_path, start, kind, mark):
    """The table engine unpacks what it is given, although it has been unpacked: an id was no gzip header (an internal error)."""
    line = {
        "txt": start + b"q Q0 d1 1 2.5 t\n",
        "csv": b"query,doc,score\n" + start + b"q,d1,2.5\n",
        "tsv": b"query\tdoc\tscore\n" + start + b"q\td1\t2.5\n",
        "jsonl": start + b"\n" + b'{"query": "q", "doc": "d1", "score": 2.5}\n',
    }[kind]
    path = tmp_path / f"run.{kind}"
    path.write_bytes(mark + line)
    if kind != "jsonl" and start.isascii():
        assert formats.as_table(formats.read_run(path), "score").row(0)[:2] == (f"{start.decode()}q", "d1")
    else:
        with pytest.raises(InputError, match=r"run\.\w+"):
            formats.read_run(path)
