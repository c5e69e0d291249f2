"""Every command reads each of its files once, whatever it looks at."""

from collections import Counter
from pathlib import Path

import pytest

from ranklens.cli.main import main
from ranklens.data.files import limits

pytest.importorskip("polars")  # without which short files are read in another way

QRELS = "".join(f"q{q} 0 d{d} {d % 3}\n" for q in range(8) for d in range(6))
RUN = "".join(f"q{q} Q0 d{d} {d + 1} {9 - d} t\n" for q in range(8) for d in range(9))
COMMANDS = [
    ["evaluate", "qrels.txt", "a.txt", "--failing", "3"],
    ["evaluate", "qrels.txt", "a.txt", "b.txt", "--failing", "3", "-q"],
    ["compare", "qrels.txt", "a.txt", "b.txt"],
    ["report", "qrels.txt", "a.txt", "b.txt", "-o", "report.html"],
    ["explain", "nDCG@10", "qrels.txt", "a.txt", "--query", "q1"],
    ["explain", "nDCG@10", "qrels.txt", "a.txt"],
    ["lint", "qrels.txt", "a.txt"],
    ["gate", "--qrels", "qrels.txt", "--run", "a.txt", "nDCG@10 >= 0.1"],
]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """How often each file was opened."""
    monkeypatch.chdir(tmp_path)
    for name, content in (("qrels.txt", QRELS), ("a.txt", RUN), ("b.txt", RUN.replace("d1 ", "x1 "))):
        (tmp_path / name).write_text(content)
    counts = Counter()
    really_open = Path.open

    def counted(path, *given, **named):
        counts[path.name] += 1
        return really_open(path, *given, **named)

    monkeypatch.setattr(Path, "open", counted)
    return counts


def opens(opened, *arguments):
    opened.clear()
    main([*arguments, "--quiet"] if "--quiet" not in arguments else [*arguments])
    return {name: opened[name] for name in ("qrels.txt", "a.txt", "b.txt") if opened[name]}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_files_are_recognised_and_walked_once(opened, capsys, command):
    """A single walk is what scoring alone takes: opening to recognise the format, then to read."""
    runs = [word for word in command if word in ("a.txt", "b.txt")]
    assert opens(opened, *command) == opens(opened, "evaluate", "qrels.txt", *runs)


def test_a_run_too_large_to_hold_is_walked_again(opened, capsys, monkeypatch):
    once = opens(opened, "evaluate", "qrels.txt", "a.txt", "--failing", "3")
    monkeypatch.setattr(limits, "HELD", 10)
    again = opens(opened, "evaluate", "qrels.txt", "a.txt", "--failing", "3")
    assert again["a.txt"] > once["a.txt"]
