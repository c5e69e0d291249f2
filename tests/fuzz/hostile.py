"""Files of every format, mutated, through every command: no traceback, no hang, no wrong number.

Each case comes from its own seed, so that one number is enough to see it again: ``scripts/fuzz --seed 1234``.
"""

import contextlib
import io
import math
import os
import random
import re
import resource
import shutil
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from fuzz import commands, files, naive

import ranklens as rl
from ranklens.cli.main import main

SECONDS, MEGABYTES = 10, 1500
STUCK = 60  # seconds by the clock, for what waits and computes nothing; a busy machine makes no case slower than that


@dataclass
class Tally:
    """How many cases ran and what went wrong with them."""

    cases: int = 0
    compared: int = 0
    slowest: float = 0.0
    wrong: list[str] = field(default_factory=list)


def run_for(seconds, first_seed, folder, most=None):
    """Cases with the seeds from ``first_seed`` on, for some time or until there are ``most`` of them."""
    tally, end, seed = Tally(), time.monotonic() + seconds, first_seed
    while time.monotonic() < end and len(tally.wrong) < 20 and tally.cases != most:
        run_case(seed, Path(folder), tally)
        seed += 1
    return tally


def run_case(seed, folder, tally):
    """One pair of files through one command, and what is read against what a naive reader reads."""
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kind = rng.choice(files.KINDS)
    qrels, run = files.write_pair(rng, kind, folder)
    made = commands.any_command(rng, qrels, run, folder)
    command, given = made if isinstance(made, tuple) else (made, b"")
    before = set(folder.rglob("*"))
    start, start_cpu = time.monotonic(), time.process_time()
    status, _, err, crash = call(command, given)
    took, busy = time.monotonic() - start, time.process_time() - start_cpu
    tally.cases += 1
    tally.slowest = max(tally.slowest, busy)
    label = f"seed {seed} ({kind}): ranklens {' '.join(map(ascii, command))}"
    hidden = [path.name for path in {*folder.rglob("*")} - before if path.name.startswith((".", "ranklens-"))]
    if crash or (crash := _problem(status, err, took, busy)):
        tally.wrong.append(f"{label}: {crash}")
    elif hidden:
        tally.wrong.append(f"{label}: left behind {hidden}")
    found = [difference(kind, qrels, run)]
    if command[0] == "convert" and status == 0 and command[1] == str(run) and command[2] != "-":
        found.append(_changed(qrels, run, command[2]))
    for told in found:
        tally.compared += told is not None
        if told:
            tally.wrong.append(f"{label}: {told}")


def call(command, given=b""):
    """The exit status, standard output and standard error, and whatever escaped."""
    out, err, before = _stream(), _stream(), sys.stdin
    sys.stdin = _stream(given)
    status, crash = None, None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(command)
    except BaseException as error:  # noqa: BLE001  whatever escapes is a finding
        crash = f"{type(error).__name__}: {error}"
    finally:
        sys.stdin = before
    return status, *map(_written, (out, err)), crash


def _stream(given=b""):
    return io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")


def _written(stream):
    stream.flush()
    return stream.buffer.getvalue().decode(errors="replace")


def _problem(status, err, took, busy):
    name = r"ranklens(-trec-eval)?( [a-z-]+){0,2}"
    lines = [line for line in err.splitlines() if not re.match(rf"{name}: warning: ", line)]
    if busy > SECONDS or took > STUCK:
        return f"took {busy:.1f} s of the processor, {took:.1f} s in all"
    if _megabytes() > MEGABYTES:
        return f"took {_megabytes():.0f} MB"
    nothing_in_common = (
        status == 7 and lines and lines[-1].endswith("No queries with both results and relevance info")
    )
    if (status not in (0, 1, 2) and not nothing_in_common) or "Traceback" in err:
        return f"status {status}: {err[-600:]}"
    if status == 2 and not (lines and re.match(f"{name}: ", lines[0])):
        return f"status 2 without a sentence: {err[-300:]}"
    if any(ord(letter) < 32 and letter not in "\n\t\r" for letter in err):
        return f"control characters: {err[-300:]!a}"
    return ""


def _megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


# --- numbers


def difference(kind, qrels, run):
    """Where what the library reads differs from what the naive reader does; None where they cannot be compared."""
    try:
        gold, ranked = naive.read_pair(kind, qrels, run)
    except Exception:  # noqa: BLE001  the naive reader has no opinion on damaged files
        return None
    found = _means(str(qrels), str(run))
    return None if isinstance(found, str) else _apart(found, _means(gold, ranked))


def _changed(qrels, run, target):
    """Where a run that was converted has other values than before."""
    before = _means(str(qrels), str(run))
    return None if isinstance(before, str) else _apart(_means(str(qrels), target), before)


def _means(qrels, run):
    """The means, or why there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return rl.evaluate(qrels, run, commands.MEASURES).mean
        except rl.RankLensError as error:
            return str(error)


def _apart(found, expected):
    """Empty where both have the same means; one that could not be read has none."""
    same = (
        isinstance(found, dict)
        and isinstance(expected, dict)
        and found.keys() == expected.keys()
        and all(math.isclose(found[m], expected[m], abs_tol=1e-12) for m in expected)
    )
    return "" if same else f"{found} is not {expected}"


def report(tally):
    lines = [f"{tally.cases:,} cases, {tally.compared:,} numbers compared, the slowest took {tally.slowest:.1f} s, "
             f"{_megabytes():.0f} MB at most."]  # fmt: skip
    return "\n".join(
        [*lines, *tally.wrong, f"{len(tally.wrong)} findings" if tally.wrong else "nothing found"]
    )


if __name__ == "__main__":
    import argparse
    import faulthandler
    import tempfile

    options = argparse.ArgumentParser(description="Mutated files through every command.")
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--cases", type=int, default=None, help="Stop after so many, if the time allows.")
    options.add_argument("--start", type=int, default=None, help="The first seed; by default the time.")
    options.add_argument("--seed", type=int, default=None, help="Run this case alone, and keep its files.")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "case"
        faulthandler.dump_traceback_later(given.minutes * 60 + 60, exit=True)
        if given.seed is not None:
            work, tally = Path(f"fuzz-{given.seed}"), Tally()
            run_case(given.seed, work, tally)
        else:
            first = int(time.time()) if given.start is None else given.start
            tally = run_for(given.minutes * 60, first, work, given.cases)
    sys.stdout.write(f"{report(tally)}\n")
    sys.stdout.flush()
    os._exit(bool(tally.wrong))
