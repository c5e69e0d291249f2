"""How the files of a command are read: formats, where fields are, what matches what, and a bar while it takes long.

Without any query in common with the judgments, a command ends with an error, as its zeros would pass for a result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.data.files.collection import Collection, open_collection
from ranklens.data.files.watching import watching
from ranklens.data.readers.names import Names
from ranklens.errors import InputError, MismatchWarning, RankLensError, hearing, warn
from ranklens.options import option
from ranklens.progress import is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ranklens.data.matching.rules import Matching

_PATIENCE = 1.0  # seconds; whatever is quicker shows no bar


@dataclass(frozen=True)
class ReadOptions:
    """How files are read, where their names and contents do not say."""

    qrels_format: str | None = option(None, "Format of the judgments, if it is not recognised.")
    run_format: str | None = option(None, "Format of the runs, if it is not recognised.")
    places: list[str] | None = option(
        None,
        "Path of a field that has another name: query, text, expected, retrieved, doc, score, rank or grade; in one file alone as golden:ROLE or NAME:ROLE. Can be repeated.",
        flags=("--map",),
        metavar="[FILE:]ROLE=PATH",
    )

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """``--map ROLE=PATH`` as :func:`ranklens.evaluate` takes it."""
        columns: dict[str, str] = {}
        for text in self.places or ():
            role, equals, path = text.partition("=")
            if not equals or not role or not path:
                raise InputError(
                    f"--map {text}: expected ROLE=PATH, e.g. expected=gold.ids or golden:query=id."
                )
            columns[role] = path
        return columns or None

    @property
    def names(self) -> Names:
        """Where fields are."""
        return Names.of(self.columns)

    def open(
        self, qrels: str, runs: Sequence[str], bad: dict[str, RankLensError] | None = None
    ) -> Collection:
        """Judgments with their runs; those that cannot be read go to ``bad``, if there is one."""
        return open_collection(qrels, runs, self.qrels_format, self.run_format, self.names, bad)


@dataclass(frozen=True)
class MatchOptions(ReadOptions):
    """The same where retrieved items may match what is expected in other ways than by id."""

    match: str | None = option(
        None,
        "How retrieved items match expected ones: parent:#, field:metadata.source, text, text:overlap:0.7, evidence:0.9, spans:0.5 or groups:FILE.",
        flags=("--match",),
        metavar="KIND[:ARGUMENT]",
    )

    @cached_property
    def matching(self) -> Matching | None:
        """``--match KIND:ARGUMENT`` as :func:`ranklens.evaluate` takes it."""
        if self.match is None:
            return None
        from ranklens.data.matching.parsing import spelled

        return spelled(self.match)

    @property
    def names(self) -> Names:
        return Names.of(self.columns, self.matching)


# --- runs and judgments whose ids do not match


@contextmanager
def queries_in_common(*, others: bool = True) -> Iterator[None]:
    """Refuse a run without any judged query; other warnings of the block are passed on.

    Without ``others`` only mismatches are: a comparison keeps the others among its cautions.
    """
    with hearing() as heard:
        yield
    for warning in heard:
        if isinstance(warning, MismatchWarning) and warning.is_total:
            raise InputError(*warning.parts)
    for warning in heard:
        if others or isinstance(warning, MismatchWarning):
            warn(warning)


# --- bars on the terminal


@contextmanager
def bar() -> Iterator[None]:
    """Show how far reading is, on terminals only, on standard error, and only if it takes more than a moment."""
    if is_quiet() or not sys.stderr.isatty():
        yield
        return
    shown = _Bar()
    try:
        with watching(shown.advance):
            yield
    finally:
        shown.end()


def progress(items: Iterable[object], doing: str = "Reading runs") -> Iterable[object]:
    """Show a bar on the terminal while several items are worked on."""
    waiting = list(items)
    if len(waiting) < 2 or is_quiet() or not sys.stderr.isatty():
        return waiting
    from rich.console import Console
    from rich.progress import track

    return track(waiting, doing, console=Console(stderr=True), transient=True)


class _Bar:
    """One line that goes from file to file; Rich is loaded when there is something to show."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._rich: Progress | None = None
        self._task: TaskID | None = None

    def advance(self, name: str, done: int, total: int) -> None:
        if self._rich is None:
            if time.monotonic() - self._start < _PATIENCE or done >= total:
                return
            from rich import progress
            from rich.console import Console

            self._rich = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.TaskProgressColumn(),
                progress.DownloadColumn(),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._rich.add_task(name, total=total)
            self._rich.start()
        if self._task is not None:
            self._rich.update(self._task, description=name, completed=done, total=total)

    def end(self) -> None:
        if self._rich is not None:
            self._rich.stop()
