"""A bar on the terminal while large files are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ranklens.data.files.watching import watching
from ranklens.progress import is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 1.0  # seconds; whatever is quicker shows nothing


@contextmanager
def reading() -> Iterator[None]:
    """Show how far reading is, on terminals only, on standard error, and only if it takes more than a moment."""
    if is_quiet() or not sys.stderr.isatty():
        yield
        return
    bar = _Bar()
    try:
        with watching(bar.told):
            yield
    finally:
        bar.end()


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

    def told(self, name: str, done: int, total: int) -> None:
        if self._rich is None:
            if time.monotonic() - self._start < _PATIENCE or done >= total:
                return
            self._rich = _columns()
            self._task = self._rich.add_task(name, total=total)
            self._rich.start()
        if self._task is not None:
            self._rich.update(self._task, description=name, completed=done, total=total)

    def end(self) -> None:
        if self._rich is not None:
            self._rich.stop()


def _columns() -> Progress:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.DownloadColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
