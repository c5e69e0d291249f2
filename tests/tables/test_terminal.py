"""What people see on a terminal: colour, width, a bar; and none of it in files and pipes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import ranklens as rl
from ranklens.cli import reading
from ranklens.scores import tables as score_tables
from ranklens.tables import terminal
from ranklens.tables.table import Cell, Lines, Printout, Table

GOLDEN = Path(__file__).parents[1] / "golden"
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(part, width=80, **options):
    console = Console(file=io.StringIO(), width=width, highlight=False, **options)
    terminal.show(part, console)
    return console.file.getvalue()


def test_a_table_in_colour_with_its_marks_and_note():
    table = Table(
        ["run", "RR"], [["a", "0.5 [0, 1]"], ["b", Cell("0.7", strong=True, raised="a")]], note="2 queries"
    )
    text = shown(table, force_terminal=True, color_system="standard")
    assert "\x1b[1;36mrun" in text
    assert re.search(r"\x1b\[1;32m *0\.7", text)
    assert "\x1b[2m[0, 1]" in text
    plain = COLOUR.sub("", text)
    assert [line.split() for line in plain.splitlines()] == [["run", "RR"], ["a", "0.5", "[0,", "1]"], ["b", "0.7", "a"], [], ["2", "queries"]]  # fmt: skip


def test_without_a_terminal_there_is_no_colour_and_the_text_is_that_of_print(capsys):
    table = Table(["measure", "mean"], [["P@5", Cell("0.4", strong=True)]], note="1 query")
    terminal.show(table)
    assert capsys.readouterr().out == f"{table}\n"


def test_sentences_are_wrapped_below_their_bullet():
    text = shown(Printout([Lines("Title", ["word " * 20]), Table(["a"], [["b"]])]), width=40)
    lines = text.splitlines()
    assert lines[0] == "Title"
    assert lines[1].startswith("• word")
    assert lines[2].startswith("  word")


def test_text_from_data_cannot_begin_a_line_with_a_command():
    evil = "x\n::error::y"
    text = shown(Printout([Lines(evil, [evil]), Table([evil], [[evil]], title=evil, note=evil)]))
    assert text.count(r"x\n::error::y") == 5
    assert text.endswith("\nx\n\\x3a:error::y\n")  # a note has lines of its own


@pytest.fixture(scope="module")
def runs():
    qrels = GOLDEN / "qrels.txt"
    return {name: rl.evaluate(qrels, GOLDEN / "run.txt", ["nDCG@10", "AP", "R@100"], depth=depth) for name, depth in (("all", None), ("ten", 10))}  # fmt: skip


def test_the_best_mean_is_in_bold_and_no_other(runs):
    table = score_tables.means(runs)
    strong = [[bool(getattr(cell, "strong", False)) for cell in row] for row in table.rows]
    assert strong == [[False, False, True, True], [False, False, False, False]]  # nDCG@10 is the same


@pytest.mark.parametrize("width", [200, 80, 60, 45, 30])
def test_several_runs_fit_whatever_width_there_is(runs, width):
    table = score_tables.means(runs, width)
    assert terminal.natural_width(table) <= width
    text = " ".join(cell for row in [table.header, *table.rows] for cell in row)
    for name, scores in runs.items():
        assert name in text
        assert all(f"{mean:.4f}" in text for mean in scores.mean.values())
    assert ("[" in text) == (width > 30)
    assert ("do not fit" in table.note) == (width == 30)


def on_terminal(*arguments, env=None, columns=80):
    """What a command writes to a terminal."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "ranklens.cli", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **(env or {})}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        if name not in (env or {}):
            environment.pop(name, None)
    child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=GOLDEN, env=environment)
    os.close(slave)
    written = b""
    try:
        while piece := os.read(master, 1 << 16):
            written += piece
    except OSError:  # Linux ends a terminal that way
        pass
    os.close(master)
    return child.wait(), written.decode()


def test_commands_are_in_colour_on_a_terminal_unless_no_color_is_set():
    status, text = on_terminal("evaluate", "qrels.txt", "run.txt", "--quiet")  # warnings are one line each
    assert status == 0
    assert COLOUR.search(text)
    assert max(map(len, COLOUR.sub("", text).splitlines())) <= 80
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    assert coloured.search(text)
    assert not coloured.search(on_terminal("evaluate", "qrels.txt", "run.txt", env={"NO_COLOR": "1"})[1])
    # Only warnings are found there, which count with --strict.
    status, text = on_terminal("lint", "qrels.txt", "run.txt", "--strict")
    assert status == 1
    assert "\x1b[33m" in text


@pytest.mark.parametrize(
    "command",
    [["evaluate", "qrels.txt", "run.txt"], ["lint", "qrels.txt", "run.txt"], ["measures", "--for", "rag"]],
)
def test_no_colour_goes_into_pipes_even_if_it_is_forced(command):
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run([sys.executable, "-m", "ranklens.cli", *command], cwd=GOLDEN, env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stdout
    assert not COLOUR.search(done.stdout + done.stderr)


class FakeTerminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_shows_how_much_of_a_large_file_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr("ranklens.data.files.blocks.SIZE", 5_000)
    monkeypatch.setattr("ranklens.data.files.trec._SHORT", 0)  # else read at once, unless Polars is loaded
    monkeypatch.setattr(reading, "_PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    path = tmp_path / "large.txt"
    path.write_text("".join(f"q{q} Q0 d{d} 1 {d} t\n" for q in range(50) for d in range(50)))
    with reading.bar():
        rl.evaluate({"q1": {"d1": 1}}, path, "RR")
    text = COLOUR.sub("", sys.stderr.getvalue())
    assert "large.txt" in text
    assert re.search(r"\d+%", text)
    assert "kB" in text


def test_quick_files_and_pipes_show_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    with reading.bar():
        rl.evaluate(GOLDEN / "qrels.txt", GOLDEN / "run.txt", "RR")
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(reading, "_PATIENCE", 0.0)
    with reading.bar():
        rl.evaluate(GOLDEN / "qrels.txt", GOLDEN / "run.txt", "RR")
    assert sys.stderr.getvalue() == ""
