"""The walk of one document id: from ``ranklens evaluate qrels.txt run.txt -m Success@5`` to the printed number.

A hop is a function of RankLens that is under way while the document becomes something else: a row, a hit with its rank, a
value, a mean, a line of text. ``python tests/walk.py`` prints the hops in order, and all that is called besides.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import polars as pl  # noqa: F401  else short files are read without it, which is a shorter walk

import ranklens

PACKAGE = Path(ranklens.__file__).parent
# Where the run's file becomes a stream of blocks, a document in it a row, a hit, a rank, a place among all hits, a value,
# a mean, and text.
CHANGES = {
    ("data/files/trec.py", "stream_fields"),
    ("data/files/blocks.py", "blocks"),
    ("data/files/blocks.py", "_read"),
    ("data/files/trec.py", "read_fast"),
    ("judging/segments.py", "_judged_rows"),
    ("judging/standing.py", "standing"),
    ("judging/assembly.py", "_hits"),
    ("metrics/formulas/precision.py", "success"),
    ("scores/scores.py", "total"),
    ("tables/table.py", "_line"),
}


class Walk(NamedTuple):
    """Functions as (module, name): those on the way of the document, in order, and all that were called."""

    hops: list[tuple[str, str]]
    called: list[tuple[str, str]]

    def modules(self, functions: list[tuple[str, str]]) -> int:
        return len({module for module, _ in functions})


def walk(folder: Path) -> Walk:
    """Run the command on two small files and look on."""
    from ranklens.cli.main import main

    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n")
    run.write_text("q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\nq2 Q0 d4 1 3.5 t\n")
    command = ["evaluate", str(qrels), str(run), "-m", "Success@5"]
    with redirect_stdout(StringIO()):
        main(command)  # what is loaded and filled once is no part of the walk
    caller = threading.get_ident()
    hops: dict[tuple[str, str], None] = {}
    called: dict[tuple[str, str], None] = {}

    def look(frame: FrameType, event: str, _argument: object) -> None:
        function = _function(frame.f_code)
        if event == "call" and function is not None:
            called[function] = None
            stack = _stack(frame) if function in CHANGES else []
            if threading.get_ident() != caller:  # a thread goes on where the main one waits
                stack = [*_stack(sys._current_frames()[caller]), *stack]
            if ("data/files/formats.py", "judgments_in") not in stack:  # judgments are read as runs are
                hops.update(dict.fromkeys(stack))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        with redirect_stdout(StringIO()) as printed:
            status = main(command)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert (status, "0.5000" in printed.getvalue()) == (0, True)
    return Walk(list(hops), list(called))


def _function(code: CodeType) -> tuple[str, str] | None:
    """Of this package; what stands inside a function (a lambda, a comprehension) is part of it."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE) or code.co_name.startswith("<"):
        return None
    return path.relative_to(PACKAGE).as_posix(), code.co_name


def _stack(frame: FrameType | None) -> list[tuple[str, str]]:
    found = []
    while frame is not None:
        found.append(_function(frame.f_code))
        frame = frame.f_back
    return [function for function in reversed(found) if function is not None]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        seen = walk(Path(place))
    lines = [f"{number:3}  {module}: {name}" for number, (module, name) in enumerate(seen.hops, 1)]
    lines += [f"{len(seen.hops)} hops through {seen.modules(seen.hops)} modules"]
    lines += [f"{len(seen.called)} functions of {seen.modules(seen.called)} modules are called in all"]
    sys.stdout.write("\n".join(lines) + "\n")
