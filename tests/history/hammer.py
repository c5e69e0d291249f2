"""Several processes add entries to one history while they are killed at random moments; what was finished must be there.

``python tests/history/hammer.py FILE --processes 8 --kills 200`` prints how many entries were finished and found. Each process notes
an entry in a file of its own after ``add`` has returned, so what is noted was finished.
"""

import argparse
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np

from ranklens.scores import Values
from ranklens.scores.history import origin, store
from ranklens.scores.history.record import Record

QUERIES = tuple(f"q{i}" for i in range(2_000))
MEASURES = ("nDCG@10", "RR", "R@100")


def record(number):
    """Every value says which entry it belongs to, so that a mixture of two would be seen."""
    values = {name: np.full(len(QUERIES), (number % 1000) / 1000) for name in MEASURES}
    return Record("mine", Values(QUERIES, values), {"rel": 1}, dict.fromkeys(QUERIES, "0" * 16))


def work(path, name, seed):
    """Add entries until killed."""
    history, number = store.History(path), 0
    with open(f"{path}.{name}", "a") as noted:
        while True:
            label = f"{name}-{seed}-{number}"
            history.add({"a": record(number), "b": record(number)}, label=label)
            noted.write(f"{label}\n")
            noted.flush()
            number += 1


def start(path, name, seed):
    child = os.fork()
    if child:
        return child
    try:
        work(path, name, seed)
    except BaseException as error:  # noqa: BLE001  a worker only ends by being killed
        sys.stderr.write(f"{name}: {error!r}\n")
    os._exit(1)


def hammer(path, processes, kills, seed=0):
    # Asking git takes longer than writing, so that hardly any kill would come in between.
    store.origin = lambda: origin.Origin("0" * 40, False, {})
    draws = random.Random(seed)
    running = {f"w{i}": start(path, f"w{i}", 0) for i in range(processes)}
    try:
        for number in range(1, kills + 1):
            time.sleep(draws.uniform(0.0, 0.12))
            name = draws.choice(list(running))
            kill(running.pop(name))
            running[name] = start(path, name, number)
        end = time.monotonic() + 60
        while len(noted(path)) <= kills and time.monotonic() < end:  # a busy machine needs longer
            time.sleep(0.05)
        for name in list(running):
            kill(running.pop(name))
    finally:  # also after an error: workers that stay would keep the output open, and whoever reads it would wait forever
        for child in running.values():
            killed(child)


def kill(child):
    if not os.WIFSIGNALED(killed(child)):
        raise SystemExit("a worker ended by itself")


def killed(child):
    """Its status."""
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def noted(path):
    """The entries that were finished."""
    files = Path(path).parent.glob(f"{Path(path).name}.w*")
    return {line for file in files for line in file.read_text().split("\n")[:-1]}  # the last line may be cut


def check(path):
    """How many entries were finished; all are there, whole and once."""
    finished = noted(path)
    history = store.History(path)
    entries = history.entries()
    found = {}
    for entry in entries:
        found.setdefault(entry.label, []).append(entry)
    assert finished <= set(found), sorted(finished - set(found))[:5]
    for label, pair in found.items():
        assert [entry.system for entry in pair] == ["a", "b"], label  # both systems or neither
        assert len({entry.run for entry in pair}) == 1
    for entry in random.Random(0).sample(entries, min(len(entries), 100)):
        whole = history.record(entry)
        expected = int(entry.label.rpartition("-")[2]) % 1000 / 1000
        assert whole.queries == QUERIES
        assert all((whole.values[name] == expected).all() for name in MEASURES)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return len(finished), len(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    hammer(given.path, given.processes, given.kills)
    sys.stdout.write("{} {}\n".format(*check(given.path)))
