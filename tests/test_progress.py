"""What people see while a retriever runs: a bar on terminals, lines elsewhere, nothing for short runs."""

import io

import pytest

import ranklens as rl
from ranklens import progress as progress_module
from ranklens.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def bench(n=20):
    return rl.Benchmark(qrels={f"text {i}": {"d1"} for i in range(n)})


def fails_now_and_then(text):
    if text.endswith("5"):
        raise ValueError
    return ["d1"]


def test_a_short_run_says_nothing(capsys):
    bench().run("mine", fails_now_and_then)
    assert capsys.readouterr() == ("", "")


def test_lines_with_rate_failures_and_time_left(capsys, monkeypatch):
    clock = iter([0.0, *range(1, 100)])  # one second per query
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    bench().run("mine", fails_now_and_then)
    assert capsys.readouterr().err.splitlines() == [
        "mine: 10 of 20 queries (50%), 1.0 per second, 1 failed, about 10 s left",
        "mine: 20 of 20 queries (100%), 1.0 per second, 2 failed, 21 s in total",
    ]


def test_a_line_can_be_asked_for_and_all_be_switched_off(capsys, monkeypatch):
    bench().run("mine", fails_now_and_then, progress=True)
    assert "mine: 20 of 20 queries (100%)" in capsys.readouterr().err
    monkeypatch.setattr(progress_module, "_SHORT", 0)
    bench().run("mine", fails_now_and_then, progress=False)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    bench().run("[mine]", fails_now_and_then, concurrency=2)
    shown = terminal.getvalue()
    assert "[mine]" in shown
    assert "20/20" in shown
    assert "per second" in shown
    assert "2 failed" in shown


@pytest.mark.parametrize(("seconds", "words"), [(4, "4 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds, words):
    assert progress_module._duration(seconds) == words


def test_nothing_left_shows_nothing(capsys):
    with progress("mine", 0, wanted=True) as shown:
        assert shown is not None
    assert capsys.readouterr().err == ""
