"""Runs in many small blocks: the same results as in one, whatever the order of rows, the format and the packing."""

import bz2
import gc
import gzip
import lzma
import os
import random
import subprocess
import sys
import threading
import time
import warnings
import weakref
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from strategies import examples

import ranklens as rl
from ranklens.data.files import recognition, streams, trec
from ranklens.data.files.blocks import blocks
from ranklens.data.files.collection import open_collection
from ranklens.data.files.sources import open_source
from ranklens.data.files.streams import ahead
from ranklens.data.qrels import Qrels
from ranklens.judging import segments
from ranklens.judging.tables import from_tables
from ranklens.policy import Policy

MEASURES = ["nDCG@3", "AP", "RR", "R@2", "Bpref", "NumRet"]
QUERIES, DOCS = (
    [f"q{i}" for i in range(6)] + ["é", "q#"],
    [f"d{i}" for i in range(12)] + ["d#1", 'd"', "d,2", "ü"],
)
small = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

qrels = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1),
    min_size=1,
)
rankings = st.lists(
    st.tuples(st.sampled_from([*QUERIES, "unjudged"]), st.sampled_from(DOCS), st.sampled_from([0.0, 0.5, 1.0, 2.5, -3.0])),
    min_size=1, max_size=60,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    """Blocks of a few lines, and hardly any memory to sort in."""
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 64)
    monkeypatch.setattr("ranklens.data.files.parquet._ROWS", 3)
    monkeypatch.setattr("ranklens.judging.scattered._IN_MEMORY", 200)
    monkeypatch.setattr("ranklens.judging.grouped._WAITING", 10)
    monkeypatch.setattr("ranklens.judging.grouped._LOOKED_AT", 2)
    monkeypatch.setattr("ranklens.judging.scattered._TOGETHER", 2)
    monkeypatch.setattr("ranklens.judging.segments._AT_ONCE", 8)


def write(folder, kind, rows):
    table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    path = folder / f"run.{kind}"
    if kind == "csv":
        table.write_csv(path)
    elif kind == "jsonl":
        table.write_ndjson(path)
    elif kind == "parquet":
        table.write_parquet(path)
    else:
        content = "".join(f"{q} Q0 {d} 0 {s} tag\n" for q, d, s in rows).encode()
        pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}.get(kind, bytes)
        path.write_bytes(pack(content))
    return path


@small
@example(  # rows end where a share of them was just written
    qrels={"q0": {"d0": 0}},
    rows=[*[("q0", "d0", 0.0)] * 10, ("q1", "d0", 0.0), ("q0", "d0", 0.0)],
    kind="txt",
    ties="descending",
    together=False,
)
@given(
    qrels=qrels,
    rows=rankings,
    kind=st.sampled_from(["txt", "gz", "xz", "bz2", "csv", "jsonl", "parquet"]),
    ties=st.sampled_from(["descending", "ascending", "input", "average"]),
    together=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_any_order_of_rows_gives_what_dicts_give(tiny, tmp_path, qrels, rows, kind, ties, together):
    if together:
        rows = sorted(rows, key=lambda row: row[0])
    measures = [m for m in MEASURES if ties != "average" or m != "Bpref"]
    run: dict[str, list[tuple[str, float]]] = {}
    for q, d, s in rows:
        run.setdefault(q, []).append((d, s))
    expected = rl.evaluate(qrels, run, measures, ties=ties)
    found = rl.evaluate(qrels, write(tmp_path, kind, rows), measures, ties=ties)
    assert found.per_query.equals(expected.per_query)
    # In files, documents that are repeated for queries that nobody judged are not looked for.
    repeated = found.judged.applied.duplicates
    assert replace(expected.judged.applied, duplicates=repeated) == found.judged.applied
    assert repeated == sum(len(docs) - len(dict(docs)) for q, docs in run.items() if q in qrels)
    assert found.judged.tied == expected.judged.tied
    assert [found.judged.tied_across(k) for k in (1, 2, 3)] == [
        expected.judged.tied_across(k) for k in (1, 2, 3)
    ]


@pytest.mark.parametrize("rows", [3, 7, 8, 50])
def test_parts_are_in_the_order_of_the_run(monkeypatch, rows):
    """So that hits need not be sorted, where judgments have the same order: queries at the edges of tables included."""
    monkeypatch.setattr("ranklens.judging.grouped._WAITING", 10)
    table = pl.DataFrame([(f"q{i // 8}", f"d{i % 8}", float(-i)) for i in range(200)], orient="row").rename(
        {"column_0": "query", "column_1": "doc", "column_2": "score"}
    )
    gold = {f"q{i}": {"d1": 1, "d7": 2} for i in range(25)}
    found = from_tables(Qrels(gold), table.iter_slices(rows), Policy())
    assert found.in_order
    assert found.query.tolist() == sorted([*range(25)] * 2)
    assert found.rank.tolist() == [2, 8] * 25
    assert not from_tables(Qrels(dict(reversed(gold.items()))), table.iter_slices(rows), Policy()).in_order


@pytest.mark.slow
def test_a_large_run_that_does_not_stand_query_by_query(monkeypatch, tmp_path):
    """By way of temporary files, which are gone afterwards."""
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 2_000)
    monkeypatch.setattr("ranklens.judging.scattered._IN_MEMORY", 10_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    rng = random.Random(1)
    rows = [(f"q{q}", f"d{d}", round(rng.random(), 3)) for q in range(100) for d in range(30)]
    rng.shuffle(rows)
    gold = {f"q{q}": {f"d{d}": rng.randint(0, 2) for d in range(0, 30, 3)} for q in range(100)}
    run: dict[str, dict[str, float]] = {}
    for q, d, s in rows:
        run.setdefault(q, {})[d] = s
    found = rl.evaluate(gold, write(tmp_path, "txt", rows), MEASURES)
    assert found.per_query.equals(rl.evaluate(gold, run, MEASURES).per_query)
    assert list((tmp_path / "temporary").iterdir()) == []


odd_field = st.text(
    st.characters(min_codepoint=1, max_codepoint=0x2030, exclude_characters="\n\ud800"),
    min_size=1,
    max_size=6,
)
space = st.text(st.sampled_from(" \t\r\x0b\x0c"), min_size=1, max_size=3)
number = st.one_of(
    st.floats(allow_nan=False).map(repr), st.integers().map(str), st.sampled_from(["nan", "inf", "-Infinity", "1e5", "+2", ".5", "5.", "1_0", "0x1", "1,5", "--1"])
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            odd_field, space, odd_field, number, st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# c\n"])
        ),
        min_size=1,
        max_size=8,
    )
)
def test_the_fast_path_never_differs_from_the_careful_one(rows):
    """Also on white space of all kinds, control letters, comments and texts that only look like numbers."""
    content = "".join(f"{q}{s}Q0 {d} 1 {x} t{end}" for q, s, d, x, end in rows).encode()
    wanted = {"query": False, "doc": False, "score": True}
    fast = trec.read_fast(content, trec.TREC_RUN, wanted)
    if fast is not None:
        assert fast.equals(trec.read_carefully(content, trec.TREC_RUN, wanted), null_equal=True)


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=30)),
    size=st.integers(1, 80),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_are_whole_lines_and_lose_nothing(tmp_path, monkeypatch, lines, size):
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", size)
    content = "\n".join(lines).encode() or b"x"
    content = content.removeprefix(b"\xef\xbb\xbf") or b"x"
    for name, written in (
        ("plain", content),
        ("packed", gzip.compress(content)),
        ("bom", b"\xef\xbb\xbf" + content),
    ):
        (tmp_path / name).write_bytes(written)
        found = [block.load() for block in blocks(open_source(tmp_path / name))]
        assert b"".join(found) == content, name
        assert all(block.endswith(b"\n") for block in found[:-1]), name


def test_tasks_are_begun_in_order_and_stop_with_an_error():
    begun = []

    def task(i):
        begun.append(i)
        if i == 3:
            raise ValueError("three")
        return i

    results = ahead((lambda i=i: task(i)) for i in range(100))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert len(begun) < 10


def test_the_thread_that_asks_works_too(monkeypatch):
    """Two tasks wait for each other, so two threads work; one of them is this one."""
    monkeypatch.setenv("RANKLENS_THREADS", "2")
    together = threading.Barrier(2)

    def task():
        together.wait(timeout=20)
        return threading.current_thread()

    assert threading.current_thread() in set(ahead([task] * 2))


def test_an_error_keeps_no_task(monkeypatch):
    """Which would hold its table until Python looks for cycles."""
    monkeypatch.setenv("RANKLENS_THREADS", "2")
    made = []

    class Failing(_Task):
        def __call__(self):
            raise ValueError("failed")

    def task(number):
        made.append(weakref.ref(one := Failing(number)))
        return one

    gc.disable()
    try:
        with suppress(ValueError):  # which pytest would keep
            list(ahead(map(task, range(4))))
        deadline = time.monotonic() + 10
        while any(one() for one in made) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(one() for one in made)
    finally:
        gc.enable()


def test_a_thread_that_is_slow_to_begin_gives_its_result_to_whoever_waits(monkeypatch):
    """Between taking a task and working on it, a thread may lose its turn; the one that asks then waits already."""

    class Slowly(list):
        def pop(self):
            taken = super().pop()
            time.sleep(0.02)
            return taken

    begin = streams._Task.__init__

    def begin_slowly(self, task):
        begin(self, task)
        self._to_do = Slowly(self._to_do)

    monkeypatch.setenv("RANKLENS_THREADS", "2")
    monkeypatch.setattr(streams._Task, "__init__", begin_slowly)
    found = []
    walk = threading.Thread(
        target=lambda: found.extend(ahead((lambda i=i: i) for i in range(4))), daemon=True
    )
    walk.start()
    walk.join(timeout=20)
    assert found == [0, 1, 2, 3]


GIVEN_UP = """
import gc
from ranklens.data.files.streams import ahead
from ranklens.data.qrels import Qrels

class Cycle:
    def __init__(self):
        self.walk = ahead((lambda i=i: i) for i in range(6))
        next(self.walk)
        self.itself = self

gc.set_threshold(2)
for _ in range(2000):
    Cycle()
    assert list(ahead((lambda i=i: i) for i in range(4))) == [0, 1, 2, 3]
"""


@pytest.mark.slow
def test_walks_that_python_closes_while_it_starts_threads(tmp_path):
    """To wait for a thread there took forever: found by a run of the tests that hung."""
    (tmp_path / "script.py").write_text(GIVEN_UP)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"RANKLENS_THREADS": "2"},
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")


def test_helpers_are_dismissed_without_waiting_for_them():
    """A walk that was given up may be closed at any time, also where this thread holds a lock that the other one needs to end."""
    begun, dismissed, ended = threading.Event(), threading.Event(), threading.Event()

    def task():
        begun.set()
        assert dismissed.wait(timeout=20)
        ended.set()

    helpers = streams._Helpers(1)
    helpers.give(streams._Task(task))
    assert begun.wait(timeout=20)
    (thread,) = helpers._threads
    helpers.dismiss()
    assert not ended.is_set()
    dismissed.set()
    thread.join(timeout=20)
    assert ended.is_set()
    assert not thread.is_alive()


def test_a_process_ends_while_a_walk_is_under_way(tmp_path):
    """What was begun ends, what was not is left, and threads without work do not keep the process."""
    script = tmp_path / "script.py"
    script.write_text(
        "import time\n"
        "from ranklens.data.files.streams import ahead\n"
        "walk = ahead((lambda i=i: (time.sleep(0.2), print(i, flush=True))) for i in range(50))\n"
        "next(walk)\n"
        "other = ahead((lambda i=i: i) for i in range(50))\n"
        "next(other)\n"
    )
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=20, check=False,
        env=os.environ | {"RANKLENS_THREADS": "2"},
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    assert len(found.stdout.split()) < 10


def test_a_walk_that_failed_waits_for_what_was_begun(monkeypatch):
    """So that nothing is removed that another thread still reads."""
    monkeypatch.setenv("RANKLENS_THREADS", "2")
    begun, ended = threading.Event(), threading.Event()

    def task():
        if threading.current_thread().name == "ranklens":
            begun.set()
            time.sleep(0.2)
            ended.set()
        else:
            assert begun.wait(timeout=20)
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        list(ahead([task] * 4))
    assert ended.is_set()


def test_ctrl_c_does_not_wait_for_its_turn(monkeypatch):
    """The first task is still at work in another thread when this one is stopped in a later one."""
    monkeypatch.setenv("RANKLENS_THREADS", "2")
    begun, stopped = threading.Event(), threading.Event()

    def task():
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(timeout=20)
            stopped.set()
            raise KeyboardInterrupt
        begun.set()
        assert stopped.wait(timeout=20)

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("the tests run in another thread")
    results = ahead([task] * 4)
    with pytest.raises(KeyboardInterrupt):
        next(results)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_read_whole(tmp_path):
    """As in the shell's <(zcat run.gz): what was read to recognise the format must not be lost."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"q Q0 a 1 2 t\nq Q0 b 2 1 t\n" * 10_000
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    source = open_source(pipe)
    writer.join()
    assert source.read() == content
    assert recognition.locate(source, None, "run") == (source, "trec")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt"])
def test_line_numbers_hold_in_later_blocks(tiny, tmp_path, kind):
    rows = [("q1", f"d{i}", 1.0) for i in range(50)]
    path = write(tmp_path, kind, rows)
    lines = path.read_text().splitlines()
    lines[40] = lines[40].replace("1.0", "wrong" if kind != "jsonl" else '"wrong"')
    path.write_text("\n".join(lines))
    with pytest.raises(rl.InputError, match=f"run.{kind}:41: .*wrong.* is not a number"):
        rl.evaluate({"q1": {"d1": 1}}, path, "RR")
    lines[40] = lines[40][: len(lines[40]) // 2] if kind != "csv" else "q1,d1"
    path.write_text("\n".join(lines))
    with pytest.raises(rl.InputError, match=f"run.{kind}:41: "):
        rl.evaluate({"q1": {"d1": 1}}, path, "RR")


def test_quotes_may_hold_ends_of_lines(tiny, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(
        "query,doc,text,score\n" + "".join(f'q1,"d ""{i}"",","a\n""b"", c",{i}\n' for i in range(30))
    )
    scores = rl.evaluate({"q1": {'d "3",': 1}}, path, "RR")
    assert scores.mean["RR"] == pytest.approx(1 / 27)
    path.write_text(path.read_text() + '"q1",d,,x\n')
    with pytest.raises(rl.InputError, match=r"run\.csv:62: 'x' in column 'score' is not a number"):
        rl.evaluate({"q1": {"d": 1}}, path, "RR")


def test_several_svmlight_runs_and_given_formats(tmp_path):
    (tmp_path / "gold").write_text("2 qid:1 1:0.3 # a\n0 qid:1 1:0.1 # b\n")
    (tmp_path / "scores").write_text("0.1\n0.9\n")
    (tmp_path / "trec").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    runs = {"scores": tmp_path / "scores", "trec": tmp_path / "trec"}
    data = open_collection(tmp_path / "gold", runs)
    assert rl.evaluate(data.qrels, data.runs["scores"], "RR").mean["RR"] == 0.5
    assert rl.evaluate(data.qrels, data.runs["trec"], "RR").mean["RR"] == 1
    named = open_collection(tmp_path / "gold", runs, run_format="svmlight")
    assert rl.evaluate(data.qrels, named.runs["scores"], "RR").mean["RR"] == 0.5
    with pytest.raises(rl.InputError, match="contains bare scores, which belong to svmlight judgments"):
        rl.evaluate({"1": {"a": 1}}, tmp_path / "scores", "RR")


LOOKS_WRONG = [
    ("q 0 a 1\n", "q 0 a 1\n", "r looks like judgments .* pass the run second"),
    ("q x a 1 2.5 t\n", "q 0 a 1\n", "q looks like a run"),
    ("query,doc,rank,score\nq,a,1,2\n", "q Q0 a 1 2 t\n", "are those of a run; pass the judgments first"),
]


@pytest.mark.parametrize(("qrels", "run", "message"), LOOKS_WRONG)
def test_judgments_and_run_mixed_up(tmp_path, monkeypatch, qrels, run, message):
    (tmp_path / "q").write_text(qrels)
    (tmp_path / "r").write_text(run)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate("q", "r", "RR")


def test_a_line_that_is_cut_short_is_found_beside_one_with_further_fields():
    content = b"q Q0 a 1 2 t more\n" + b"q Q0 b 2 1 t\n" * 3 + b"q Q0 c 3 1.2\n"
    wanted = {"query": False, "doc": False, "score": True}
    assert trec.read_fast(content, trec.TREC_RUN, wanted) is None
    with pytest.raises(trec.WrongLine, match=r"line 5: expected 6 fields .* but found 5"):
        trec.read_carefully(content, trec.TREC_RUN, wanted)


def test_hashes_of_slices_are_those_of_the_whole(monkeypatch):
    docs = pl.Series([f"d{i}" for i in range(10)])
    whole = segments.hashes_of(docs, 3).tolist()
    monkeypatch.setattr(segments, "_HASHED", 4)
    assert segments.hashes_of(docs, 3).tolist() == whole == docs.hash(3).to_list()


@pytest.mark.parametrize("grades", [[0, 1, 255], [0, 1, 256], [-1, 2], [0.5, 1], []])
def test_grades_are_kept_whatever_holds_them(grades, monkeypatch):
    monkeypatch.setattr(segments, "_HASHED", 2)
    found = segments.as_bytes(pl.Series(grades, dtype=pl.Float64))
    assert found.tolist() == grades
    assert (found.dtype == np.uint8) == (grades == [0, 1, 255])


@pytest.mark.parametrize("repeated", [False, True])
def test_judgments_in_any_order_are_the_same(repeated):
    """Scattered over the table, or query by query in another order than they first came."""
    rows = [(f"q{i % 7}", f"d{i}", i % 4) for i in range(70)] + [("q3", "d3", 2)] * repeated
    run = {f"q{i}": [f"d{j}" for j in range(i, 70, 7)][::-1] for i in range(7)}
    by_query = {
        f"q{i}": {d: g for q, d, g in rows if q == f"q{i}" if (d, g) != ("d3", 2) or repeated}
        for i in range(7)
    }
    if repeated:
        by_query["q3"]["d3"] = 3  # the highest grade counts
    frame = pl.DataFrame(rows, schema=["query", "doc", "grade"], orient="row")
    ranking = pl.DataFrame(
        [(q, d, -float(i)) for q, docs in run.items() for i, d in enumerate(docs)],
        schema=["query", "doc", "score"],
        orient="row",
    )
    expected = rl.evaluate(by_query, run, "nDCG@10,AP,RR").mean
    for table in (
        frame,
        frame.sort("query", maintain_order=True),
        frame.sort("query", descending=True, maintain_order=True),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert rl.evaluate(table, ranking, "nDCG@10,AP,RR").mean == pytest.approx(expected, abs=1e-15)


class _Task:
    def __init__(self, number):
        self.number = number

    def __call__(self):
        return self.number


@pytest.mark.parametrize("threads", [1, 3])
def test_tasks_are_forgotten_once_they_are_done(monkeypatch, threads):
    """A task holds the table that it works on."""
    monkeypatch.setenv("RANKLENS_THREADS", str(threads))
    made = []

    def task(number):
        one = _Task(number)
        made.append(weakref.ref(one))
        return one

    results = ahead(map(task, range(20)))
    assert [next(results) for _ in range(8)] == list(range(8))
    deadline = time.monotonic() + 10  # a thread may need a moment to let go
    while any(one() for one in made[:7]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(one() for one in made[:7])
    assert list(results) == list(range(8, 20))


def test_where_no_thread_can_start_the_asker_does_the_work(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(streams.Thread, "start", refuse)
    assert list(streams.ahead(iter([lambda n=n: n * n for n in range(9)]))) == [n * n for n in range(9)]
