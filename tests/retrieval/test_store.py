"""Answers on disk: nothing lost, nothing asked twice, nothing spoiled; by kill -9, by two processes, by damage."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest

import ranklens as rl
from ranklens.errors import InputError
from ranklens.retrieval import store as store_module
from ranklens.retrieval.answers import Answer
from ranklens.retrieval.store import Store, answer_key

WORKER = """
import os, sys, time
import ranklens as rl

folder, calls, count, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
handle = os.open(calls, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def retriever(text):
    os.write(handle, (text + "\\n").encode())
    time.sleep(pause)
    return [f"{text} {i} " + "x" * 200 for i in range(20)]

queries = {f"q{i}": f"text {i}" for i in range(count)}
bench = rl.Benchmark(queries, {query: {"d1"} for query in queries}, store=folder)
found = bench.run("mine", retriever, k=20, concurrency=4, version="2", params={"b": 0.4, "a": [1, 2]})
print(found.status)
"""


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)

    def command(count, pause, calls="calls"):
        return [
            sys.executable,
            str(tmp_path / "worker.py"),
            str(tmp_path / "store"),
            str(tmp_path / calls),
            str(count),
            str(pause),
        ]

    return command


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_run_that_is_killed_goes_on_and_repeats_no_answered_call(worker, tmp_path):
    process = subprocess.Popen(worker(120, 0.02))
    file = Store(tmp_path / "store").path("mine")
    while len(lines_of(file)) < 30:
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
    answered = {answer.query for answer in Store(tmp_path / "store").read("mine").values()}
    assert 29 <= len(answered) < 120
    before = len(lines_of(tmp_path / "calls"))
    done = subprocess.run(worker(120, 0), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "{'ok': 120, 'empty': 0, 'failed': 0}\n"
    asked_again = {f"q{call.split()[1]}" for call in lines_of(tmp_path / "calls")[before:]}
    assert asked_again == {f"q{i}" for i in range(120)} - answered
    subprocess.run(worker(120, 0), capture_output=True, timeout=60, check=True)
    assert len(lines_of(tmp_path / "calls")) == before + len(asked_again)


def test_two_processes_on_one_store_do_not_spoil_it(worker, tmp_path):
    processes = [
        subprocess.Popen(worker(300, 0, f"calls{i}"), stdout=subprocess.PIPE, text=True) for i in range(3)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert outputs == ["{'ok': 300, 'empty': 0, 'failed': 0}\n"] * 3
    header, *records = map(json.loads, lines_of(Store(tmp_path / "store").path("mine")))
    assert header == {"format": "ranklens-answers", "format_version": 2, "retriever": "mine"}
    assert {record["query"] for record in records} == {f"q{i}" for i in range(300)}
    assert all(len(record["ids"]) == 20 and len(record["key"]) == 64 for record in records)
    assert len(records) == sum(len(lines_of(tmp_path / f"calls{i}")) for i in range(3))


def bench(folder, texts=("a", "b", "c", "d")):
    queries = {f"q{i}": text for i, text in enumerate(texts)}
    return rl.Benchmark(queries, {query: {"d1"} for query in queries}, store=folder)


def asked(folder, texts=("a", "b", "c", "d"), name="mine", **options):
    """The texts that are really asked."""
    calls = []
    bench(folder, texts).run(name, lambda text: calls.append(text) or ["d1"], **options)
    return "".join(calls)


def test_what_an_answer_depends_on(tmp_path):
    assert asked(tmp_path) == "abcd"
    assert asked(tmp_path) == ""
    assert asked(tmp_path, name="other") == "abcd"
    assert asked(tmp_path, version="2") == "abcd"
    assert asked(tmp_path, params={"b": 1}) == "abcd"
    assert asked(tmp_path, k=3) == "abcd"
    assert asked(tmp_path, id_from=str) == "abcd"
    assert asked(tmp_path, texts=("a", "B", "c", "d", "e")) == "Be"
    assert asked(tmp_path, texts=("b", "a")) == "ba"  # the same texts under other ids
    assert asked(tmp_path, params={"c": 1, "b": [2]}) == "abcd"
    assert asked(tmp_path, params={"b": [2], "c": 1}) == ""
    assert asked(tmp_path, resume=False) == "abcd"
    assert asked(tmp_path, fresh=True) == "abcd"
    assert asked(tmp_path, depends_on="another index") == "abcd"
    assert asked(tmp_path) == ""


REMOTE = {"down": False}  # what no fingerprint sees


def test_stored_answers_are_the_same_and_known_as_such(tmp_path, monkeypatch):
    def retriever(text):
        assert not REMOTE["down"]
        return [("d1", 0.5), ("d2", 0.25), ("d3", float("nan"))][: "abc".index(text) if text in "abc" else 3]

    first = bench(tmp_path).run("mine", retriever, k=2)
    monkeypatch.setitem(REMOTE, "down", True)
    second = bench(tmp_path).run("mine", retriever, k=2)
    for query, answer in first.answers.items():
        assert second.answers[query] == rl_stored(answer)
    assert second.status == {"ok": 3, "empty": 1, "failed": 0}
    assert second.answers["q3"].cut
    assert second.latency == first.latency
    assert second.throughput is None
    assert first.throughput > 0
    assert (first.stored, first.oldest, first.all_stored) == (0, None, False)
    assert second.stored == 4
    assert second.all_stored
    assert 0 <= second.oldest < 60
    assert second.remarks()[0] == "4 answers from the store, the oldest less than a minute old"


def rl_stored(answer):
    return Answer(**{**vars(answer), "stored": True})


def test_failed_queries_are_kept_and_asked_again(tmp_path, monkeypatch):
    calls = REMOTE.setdefault("calls", [])

    def fails_for_b(text):
        REMOTE["calls"].append(text)
        if text == "b" and not REMOTE["down"]:
            raise ValueError("not today")
        return ["d1"]

    assert bench(tmp_path).run("mine", fails_for_b).status["failed"] == 1
    (failed,) = [a for a in Store(tmp_path).read("mine").values() if a.status == "failed"]
    assert failed.error == "ValueError: not today"
    assert "raise ValueError" in failed.traceback
    calls.clear()
    monkeypatch.setitem(REMOTE, "down", True)
    assert bench(tmp_path).run("mine", fails_for_b).status["failed"] == 0
    assert bench(tmp_path).run("mine", fails_for_b).status["failed"] == 0
    assert calls == ["b"]


@pytest.mark.parametrize("cut", [1, 2, 20, "all but the line end"])
def test_a_line_that_was_cut_short_is_mended(tmp_path, cut):
    asked(tmp_path)
    file = Store(tmp_path).path("mine")
    content = file.read_bytes()
    last = len(content.splitlines(keepends=True)[-1])
    file.write_bytes(content[:-1] if cut == "all but the line end" else content[: len(content) - last + cut])
    assert asked(tmp_path) == ("" if cut == "all but the line end" else "d")
    assert asked(tmp_path, texts=("a", "b", "c", "d", "e")) == "e"
    assert len([json.loads(line) for line in lines_of(file)]) == 6


def test_a_header_that_was_cut_short_is_mended(tmp_path):
    asked(tmp_path)
    file = Store(tmp_path).path("mine")
    file.write_bytes(file.read_bytes()[:17])
    assert asked(tmp_path) == "abcd"
    assert asked(tmp_path) == ""
    assert json.loads(lines_of(file)[0])["format_version"] == 2


def test_damaged_lines_are_counted_and_their_queries_asked_again(tmp_path):
    asked(tmp_path)
    file = Store(tmp_path).path("mine")
    lines = file.read_bytes().split(b"\n")
    lines[2] = b"\x00\xff garbage"
    lines[3] = b'{"key": 7}'
    lines.insert(4, b'["no object"]')
    file.write_bytes(b"\n".join(lines))
    with pytest.warns(rl.RankLensWarning, match="3 damaged lines are skipped; the queries are asked again"):
        assert asked(tmp_path) == "bc"


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"q1"', b'"q7"'), (b'"d1"', b'"d2"'), (b'"ok"', b'"empty"'), (b'"seconds": ', b'"seconds": 1')],
)
def test_a_line_whose_content_was_changed_is_not_trusted(tmp_path, old, new):
    asked(tmp_path)
    file = Store(tmp_path).path("mine")
    lines = file.read_bytes().split(b"\n")
    assert old in lines[2]
    lines[2] = lines[2].replace(old, new)
    file.write_bytes(b"\n".join(lines))
    with pytest.warns(rl.RankLensWarning, match="1 damaged line is skipped"):
        assert asked(tmp_path) == "b"


def test_a_folder_in_place_of_the_file_and_deep_lines_are_told(tmp_path):
    asked(tmp_path)
    file = Store(tmp_path).path("mine")
    file.write_bytes(file.read_bytes() + b"[" * 100_000 + b"\n")
    with pytest.warns(rl.RankLensWarning, match="1 damaged line is skipped"):
        assert asked(tmp_path) == ""
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        asked(tmp_path)


def test_old_answers_are_asked_again(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86400)
    assert asked(tmp_path) == "abcd"
    monkeypatch.setattr(time, "time", lambda: now)
    assert asked(tmp_path, max_age="4d") == ""
    assert asked(tmp_path, max_age=4 * 86400) == ""
    assert asked(tmp_path, texts="abcde") == "e"
    assert asked(tmp_path, texts="abcde", max_age="2d") == "abcd"
    assert asked(tmp_path, max_age="1h") == ""
    for wrong in ("soon", -1, True, "1.2.3d", "inf"):
        with pytest.raises(InputError, match="it is a number of seconds, or text such as '7d'"):
            asked(tmp_path, max_age=wrong)


def test_of_several_answers_the_last_counts_but_no_failure_hides_one(tmp_path):
    store = Store(tmp_path)
    store.write("mine", "key", Answer("q", "failed", error="first"))
    store.write("mine", "key", Answer("q", "ok", ("a",)))
    store.write("mine", "key", Answer("q", "ok", ("b",)))
    store.write("mine", "key", Answer("q", "failed", error="later"))
    assert store.read("mine")["key"].ids == ("b",)


def test_another_format_is_refused(tmp_path):
    Store(tmp_path).path("mine").write_text('{"format": "ranklens-answers", "format_version": 9}\n')
    with pytest.raises(
        InputError, match="format ranklens-answers 9, but this version of RankLens reads ranklens-answers 2"
    ):
        asked(tmp_path)


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    asked(tmp_path, texts="ab")
    file = Store(tmp_path).path("mine")
    before = file.read_bytes()
    write = os.write
    calls = []

    def full(handle, content):
        calls.append(content)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, content[:9])

    monkeypatch.setattr(store_module.os, "write", full)
    with pytest.raises(InputError, match="The store cannot be written: No space left on device"):
        asked(tmp_path, texts="abc")
    assert file.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the folder cannot be created"):
        Store(tmp_path / "file" / "store")


def test_parameters_that_json_cannot_hold_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be kept in a store"):
        asked(tmp_path, params={"model": object()})


def test_the_folder_explains_itself_and_names_are_files(tmp_path):
    store = Store(tmp_path / "a" / "store")
    assert "can be deleted at any time" in (store.folder / "README.txt").read_text()
    names = ["bm25", "BM25", "a/b", "../a", "é", "", "a b", "x" * 300]
    paths = [store.path(name) for name in names]
    assert len(set(paths)) == len(names)
    assert all(path.parent == store.folder and len(path.name) < 100 for path in paths)


def test_keys_hold_from_version_to_version():
    """A change of this value makes every store in the world forget its answers."""
    import hashlib

    by_hand = hashlib.sha256(b'["bm25", "1", {"b": 0.4}, 10, "q1", "why?", {}, "c0de"]').hexdigest()
    assert answer_key("bm25", "1", {"b": 0.4}, 10, ("q1", "why?"), code="c0de") == by_hand
