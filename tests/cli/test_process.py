"""How commands end, whatever happens to them: one line, the right exit status, nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from ranklens import process
from ranklens.cli.main import main
from ranklens.data.files import output, temporary
from ranklens.words import visible

POSIX = pytest.mark.skipif(os.name != "posix", reason="shells and signals of POSIX")
QRELS, RUN = "q1 0 d1 1\nq2 0 d2 1\n", "q1 Q0 d1 1 2.5 t\nq1 Q0 x 2 1 t\nq2 Q0 x 1 2 t\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.txt").write_text(QRELS)
    (tmp_path / "r.txt").write_text(RUN)
    return tmp_path


def shell(command, **variables):
    line = command.replace("ranklens", f"'{sys.executable}' -m ranklens", 1)
    return subprocess.run(
        line, shell=True, capture_output=True, text=True, errors="replace", timeout=60, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip


# --- output


@POSIX
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    ["evaluate q.txt r.txt", "lint q.txt r.txt", "convert r.txt - --format csv", "trec-eval q.txt r.txt",
     "explain RR q.txt r.txt --query q1", "measures", "compare q.txt r.txt b=r.txt --format json", "--help"],
)  # fmt: skip
def test_a_full_disk_behind_standard_output(folder, command):
    found = shell(f"ranklens {command} > /dev/full")
    assert (found.returncode, found.stdout) == (3, "")
    assert found.stderr.strip().splitlines()[-1].endswith("No space left on device.")
    assert "Traceback" not in found.stderr
    assert "Exception ignored" not in found.stderr


@POSIX
def test_a_full_disk_names_the_file(folder, monkeypatch, capsys):
    def full(*_, **__):
        raise pl.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)")

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    assert main(["convert", "r.txt", "out.parquet"]) == 3
    assert (
        capsys.readouterr().err
        == "ranklens convert: out.parquet: cannot be written: No space left on device.\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["q.txt", "r.txt"]


def test_a_full_disk_while_sorting_names_the_folder(folder, monkeypatch, capsys):
    (folder / "r.txt").write_text("q1 Q0 d1 1 3 t\nq2 Q0 d2 1 3 t\nq1 Q0 x 1 1 t\n")  # scattered
    monkeypatch.setattr("ranklens.judging.scattered._IN_MEMORY", 0)

    def full(*_, **__):
        raise OSError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    assert main(["evaluate", "q.txt", "r.txt"]) == 3
    assert "ranklens-" in (message := capsys.readouterr().err)
    assert message.endswith("cannot be written: No space left on device.\n")


@POSIX
@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("evaluate q.txt r.txt >&-", 3, "ranklens evaluate: standard output: is closed."),
        ("trec-eval q.txt r.txt >&-", 3, "ranklens: standard output: is closed."),
        ("evaluate q.txt r.txt --format csv -o out.csv >&-", 0, ""),
        ("evaluate q.txt - <&-", 2, "ranklens evaluate: standard input is closed."),
        ("evaluate q.txt r.txt 2>&-", 0, ""),
        ("evaluate q.txt nothing 2>&- >&-", 2, ""),
    ],
)
def test_closed_streams(folder, command, status, message):
    found = shell(f"ranklens {command}")
    assert (found.returncode, found.stderr.strip()) == (status, message)
    assert (folder / "q.txt").read_text() == QRELS


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("command", ["evaluate Q R -q", "lint Q R", "explain RR Q R --query é€", "trec-eval -q Q R",
                                     "evaluate Q R -q --format json", "evaluate Q R€", "measures"])  # fmt: skip
def test_letters_that_the_encoding_lacks_are_escaped(folder, encoding, command):
    (folder / "Q").write_text("é€ 0 d\U0001f600 1\nq 0 d 1\n", encoding="utf-8")
    (folder / "R").write_text("é€ Q0 d\U0001f600 1 1 t\né€ Q0 x 2 1 t\n", encoding="utf-8")
    found = shell(f"ranklens {command}", PYTHONIOENCODING=encoding, PYTHONUTF8="1")
    assert found.returncode in (0, 1, 2)
    assert "Error" not in found.stderr
    if encoding == "ascii" and "-q" in command:
        assert r"\u00e9\u20ac" in found.stdout


# --- signals

STOPPED = [
    ["convert", "big.txt", "out.parquet"], ["convert", "big.txt", "out.csv.gz"], ["evaluate", "q.txt", "big.txt"],
    ["trec-eval", "q.txt", "big.txt"], ["lint", "q.txt", "big.txt"], ["compare", "q.txt", "big.txt", "b=big.txt"],
]  # fmt: skip


def catches(process, number):
    status = Path(f"/proc/{process}/status").read_text()
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), "")
    return not mask or int(mask, 16) >> number - 1 & 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", STOPPED, ids=" ".join)
def test_a_signal_ends_with_its_status_and_a_clean_folder(folder, command, number, status):
    lines = (f"q{i % 2000} Q0 document{i} 1 {i % 977} tag\n" for i in range(1_000_000))
    (folder / "big.txt").write_text("".join(lines))
    temporary_files = folder / "temporary"
    temporary_files.mkdir()
    before = {path.name for path in folder.iterdir()}
    seen = set()
    for wait in (0.0, 0.1, 0.3, 0.6, 1.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "ranklens", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary_files)},
        )  # fmt: skip
        while not catches(process.pid, signal.SIGTERM):
            time.sleep(0.01)
        time.sleep(wait)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        seen.add(process.returncode)
        assert process.returncode in (0, 1, status), errors
        assert "Traceback" not in errors
        left = {path.name for path in folder.iterdir()} - before
        assert left <= {command[-1]}, "nothing hidden, nothing half-written"
        assert list(temporary_files.iterdir()) == []
    assert status in seen


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize("stuck", [True, False])
def test_a_stopped_command_that_waits_for_a_lost_lock_ends_all_the_same(stuck):
    """As where the exception comes between taking a lock and using it, which cannot be caught."""
    code = f"""
import signal, threading, time
from ranklens import process
process._PATIENCE = 0.5
def run():
    lock = threading.Lock()
    try:
        with lock:
            print("ready", flush=True)
            time.sleep(60)
    finally:
        if {stuck}:
            lock.acquire()
            lock.acquire()
process.program("x", run)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143
    process.stdout.close()


PRINTED = """
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:  # as NumPy's own code does while it is imported
        sys.excepthook(*sys.exc_info())
"""
IGNORED = """
    class Odd:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
    Odd()
"""


@pytest.mark.parametrize("met", [PRINTED, IGNORED], ids=["printed", "ignored"])
def test_a_stop_that_other_code_keeps_to_itself_ends_the_command_without_a_traceback(met):
    code = f"import signal, sys\nfrom ranklens import process\ndef run():{met}    print('went on')\nprocess.program('x', run)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


def test_what_is_written_down_is_removed(tmp_path):
    place = temporary.new_place(tmp_path)
    place.write_text("x")
    temporary.remove_all()
    assert not place.exists()


# --- errors that nobody expected


def test_an_unexpected_error_is_one_line_that_asks_to_report_it(folder, capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("what\nis this\n::error::\x1b[2J")

    monkeypatch.setattr("ranklens.cli.reading.open_collection", broken)
    assert main(["evaluate", "q.txt", "r.txt"]) == 3
    assert capsys.readouterr().err.startswith(
        r"ranklens evaluate: internal error: RuntimeError: what is this \x3a:error::\x1b[2J. Please report it"
    )
    monkeypatch.setenv("RANKLENS_DEBUG", "1")
    assert main(["evaluate", "q.txt", "r.txt"]) == 3
    trace = capsys.readouterr().err
    assert "Traceback" in trace
    assert "\nis this\n\\x3a:error::\\x1b[2J\n" in trace


def test_too_little_memory(folder, capsys, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("ranklens.cli.reading.open_collection", full)
    assert main(["evaluate", "q.txt", "r.txt"]) == 3
    assert capsys.readouterr().err == "ranklens evaluate: there is not enough memory.\n"


def test_an_abort_of_the_engine_leaves_a_word():
    """Polars ends the process where it gets no memory; what it writes before goes where its panics go."""
    code = "import os; from ranklens import process; process.guarded('name', os.abort)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.startswith("Fatal Python error: Aborted")


def test_a_panic_of_the_engine_is_hidden_and_other_words_are_not(capfd):
    def fail():
        os.write(2, b"a word\n\nthread 'main' panicked at crates/x.rs:1\nnote: run with RUST_BACKTRACE=1\n")
        raise pl.exceptions.PanicException("oh")

    assert process.guarded("name", fail) == 3
    shown = capfd.readouterr().err
    assert "a word" in shown
    assert "panicked" not in shown
    assert "internal error: PanicException: oh" in shown


def test_a_damaged_parquet_file_is_one_sentence(folder, capfd):
    table = pl.DataFrame({"query": ["q1"] * 500, "doc": [f"d{i}" for i in range(500)], "score": [1.0] * 500})
    table.write_parquet(folder / "r.parquet", compression="snappy")
    whole = (folder / "r.parquet").read_bytes()
    for place in range(4, len(whole), 97):
        (folder / "r.parquet").write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        status = main(["evaluate", "q.txt", "r.parquet", "-m", "RR"])
        shown = capfd.readouterr().err
        assert status in (0, 2), shown
        assert len([line for line in shown.splitlines() if "warning" not in line]) == (status == 2), shown


# --- what terminals obey

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp\x9b"


@pytest.mark.parametrize(
    "command",
    ["evaluate q.json r.json -q", "evaluate q.json r.json -q --format markdown", "evaluate q.json r.json -q --format latex",
     "lint q.json r.json", "explain RR q.json r.json", "compare q.json r.json b=r.json -q 5", "evaluate q.json \x1b[1mr.json",
     "explain RR q.json r.json --query \x1b[1m", "measures \x1b[1m", "evaluate q.json r.json --\x1b[1m"],
)  # fmt: skip
def test_escape_sequences_do_not_reach_the_terminal(folder, capsys, command):
    query, doc = (
        EVIL.replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\x9b", "\\u009b"),
        "d\\u001b[1m",
    )
    (folder / "q.json").write_text(f'{{"{query}": {{"{doc}": 1}}, "q2": {{"d": 1}}}}', encoding="utf-8")
    (folder / "r.json").write_text(
        f'{{"{query}": {{"{doc}": 1, "x": 1}}, "q3": {{"d": 1}}}}', encoding="utf-8"
    )
    main(command.split())
    shown = capsys.readouterr()
    assert not {*"\x1b\x07\x9b\u202e"} & {*shown.out, *shown.err}


COMMANDS = ["q1\n::error::x", "::warning::y", "##[error]z", "##vso[task.setvariable v=1]", "x\r::stop-commands::y", "a\u2028::debug::b"]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    ["evaluate q.json r.json -q", "evaluate q.json r.json -q --format markdown", "lint q.json r.json", "explain RR q.json r.json",
     "explain RR q.json r.json --query ::warning::y", "compare q.json r.json b=s.json --most 3 -m RR", "sensitivity q.json r.json b=s.json",
     "gate RR>=0.9 --qrels q.json --run r.json", "gate RR>=0.9 --qrels q.json --run r.json --format markdown",
     "gate RR>=0.9 --qrels q.json --run r.json --junit /dev/stdout --format json -o gate.json",
     "gate RR>=0.9 --qrels q.json --run r.json --format github", "gate RR>=0.9 --qrels q.json --run r.json --missing error",
     "evaluate q.json r.json --missing error", "evaluate q.json r.json -m RR@::x::", "trec-eval -D3 -m map q.json r.json"],
)  # fmt: skip
def test_data_give_no_commands_to_ci(folder, capsys, command):
    docs = {query: {"d\n::error::": 1, "##[debug]": 1} for query in COMMANDS}
    (folder / "q.json").write_text(json.dumps({**docs, "q": {"d": 1}, "\n::set-env::": {"d": 1}}))
    (folder / "r.json").write_text(
        json.dumps({query: {"##[group]": 3, **ranked} for query, ranked in docs.items()})
    )
    (folder / "s.json").write_text(json.dumps({**docs, "\n::notice::": {"d": 1}}))
    main(command.split())
    shown = capsys.readouterr()
    lines = f"{shown.out}\n{shown.err}".splitlines()
    ours = "::error title=failed%3A RR >= 0.9 (r)::"
    assert not [line for line in lines if line.lstrip().startswith("::") and not line.startswith(ours)]
    assert not [line for line in lines if re.search(r"##(vso)?\[", line)]
    assert "\r" not in shown.out + shown.err


def test_on_a_terminal_no_format_is_raw(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    output.write_text("id,\x1b[2J\n", None)
    assert capsys.readouterr().out == "id,\\x1b[2J\n"


def test_visible_text_keeps_its_lines():
    assert visible("a\tb\nc é\x85") == "a\tb\nc é\\x85"


def test_markdown_has_no_links(folder, capsys):
    (folder / "q.json").write_text('{"[x](javascript:1)": {"d": 1}, "![y][z]": {"d": 1}}')
    main(["evaluate", "q.json", "q.json", "-q", "--format", "markdown"])
    shown = capsys.readouterr().out
    assert r"[x\](javascript:1)" in shown
    assert r"![y\][z]" in shown


def test_a_spreadsheet_runs_no_formula(folder, capsys):
    (folder / "q.json").write_text('{"=1+1": {"d": 1}, "-2": {"d": 1}, "@x": {"d": 1}}')
    main(["evaluate", "q.json", "q.json", "-q", "--format", "csv", "--spreadsheet"])
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "query",
        "'=1+1",
        "-2",
        "'@x",
    ]
    main(
        [
            "compare",
            "q.json",
            "a=q.json",
            "b=q.json",
            "--format",
            "csv",
            "--rows",
            "queries",
            "--spreadsheet",
        ]
    )
    assert "'=1+1," in (shown := capsys.readouterr().out)
    assert "\n=1+1," not in shown
    main(["compare", "q.json", "a=q.json", "b=q.json", "--format", "csv", "--rows", "queries"])
    assert "\n=1+1," in capsys.readouterr().out


def test_a_name_that_no_file_can_have_is_a_mistake_of_the_user(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.txt").write_text("q1 0 d1 1\n")
    for name in ("x" * 300, "x/" * 4000, "[" * 5000 + "/r"):  # the last one is looked up as a pattern, too
        (tmp_path / "bench.yaml").write_text(
            f'data: {{qrels: q.txt, runs: {{a: "{name}"}}}}\nretrieval_metrics: {{enabled_metrics: [mrr]}}\n'
        )
        assert main(["bench", "bench.yaml", "--no-code"]) == 2
        err = capsys.readouterr().err
        assert err.startswith("ranklens bench: ")
        assert len(err) < 600


WAITING = """
import runpy, signal, sys
from ranklens.data.files import sources
read = sources._whole_lines
def told(*given):
    print("waiting", flush=True)
    return read(*given)
sources._whole_lines = told
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without it
sys.argv = ["ranklens", "evaluate", "q.txt", "-"]
runpy.run_module("ranklens", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_ctrl_c_while_waiting_for_standard_input(folder):
    """Polars, once loaded, lets the system continue to read after a signal."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", WAITING], cwd=folder, **pipes) as process:
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(8) == 130
        finally:
            process.kill()


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are a matter of Linux")
def test_a_killed_command_leaves_no_copy_of_standard_input(folder):
    """And while it runs, no other user can open the copy."""
    (folder / "temporary").mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    place = {**os.environ, "TMPDIR": str(folder / "temporary")}
    with subprocess.Popen([sys.executable, "-c", WAITING], cwd=folder, env=place, **pipes) as process:
        try:
            process.stdin.write(RUN)
            process.stdin.flush()
            assert process.stdout.readline() == "waiting\n"
            assert list((folder / "temporary").glob("ranklens*")) == []
        finally:
            process.kill()
    assert list((folder / "temporary").iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_failed_check(folder):
    """Typer ends with 1 where the pipe is closed."""
    (folder / "long.csv").write_text("query,doc,score\n" + "".join(f"q,d{i},{i}\n" for i in range(50_000)))
    command = f"{sys.executable} -m ranklens convert long.csv - --format csv | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "query,doc,score\n")


ENDS = """
import atexit, os, sys
from ranklens.process import program

def work():
    if {at_exit}:
        atexit.register({end}, 0)
        return 1
    {end}(0)

sys.exit(program("x", work))
"""


@pytest.mark.parametrize("end", ["os._exit", "sys.modules[os.name]._exit"])
@pytest.mark.parametrize("at_exit", [False, True])
def test_a_program_has_no_success_before_its_end(at_exit, end):
    code = ENDS.format(at_exit=at_exit, end=end)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "os._exit() was called" in done.stderr


INTERRUPTED_BY_AN_IMPORT = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.write(1, b"now")
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without it
sys.meta_path.insert(0, Interrupts())
from ranklens.start import {command}
sys.argv = ["ranklens", {arguments}]
sys.exit({command}())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("command", ["main", "trec_eval"])
@pytest.mark.parametrize(
    "module",
    ["ranklens.errors", "ranklens.process", "tempfile", "ranklens.data.files.trec", "numpy", "polars", "ranklens.metrics.formulas"],
)  # fmt: skip
def test_ctrl_c_while_a_command_is_loaded_is_answered_without_a_traceback(folder, command, module):
    files = '"q.txt", "r.txt"' if command == "trec_eval" else '"compare", "q.txt", "r.txt", "b=r.txt"'
    code = INTERRUPTED_BY_AN_IMPORT.format(module=module, command=command, arguments=files)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "now", "")
