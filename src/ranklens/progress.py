"""Progress of long work: a bar on a terminal, a line now and then elsewhere, nothing for short work.

Where the logger ``ranklens`` has a handler for INFO, as in services, lines go there.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from ranklens.errors import log
from ranklens.words import in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY = 10.0  # seconds between two lines
_SHORT = 5.0  # seconds; a shorter run needs no last line


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def is_quiet() -> bool:
    """Whether progress is switched off."""
    return _quiet.get()


@contextmanager
def quietly(wanted: bool = True) -> Iterator[None]:
    """No progress in here."""
    before = _quiet.set(wanted)
    try:
        yield
    finally:
        _quiet.reset(before)


class Progress(Protocol):
    """Receives every answer."""

    def advance(self, *, failed: bool) -> None: ...


@contextmanager
def progress(name: str, total: int, wanted: bool | None = None) -> Iterator[Progress]:
    """Show progress over ``total`` queries: a bar if standard error is a terminal, else lines; ``wanted=False`` shows nothing."""
    if wanted is False or not total or is_quiet():
        yield _Silent()
    elif sys.stderr.isatty():
        with _bar(name, total) as bar:
            yield bar
    else:
        lines = Lines(name, total, always=wanted is True)
        yield lines
        lines.end()


class _Silent:
    def advance(self, *, failed: bool) -> None:
        """Nothing to show."""


class Lines:
    """A line on standard error every ten seconds, and one at the end of a run that took a while."""

    def __init__(self, name: str, total: int, *, always: bool = False) -> None:
        self._name, self._total, self._always = name, total, always
        self._done = self._failed = 0
        self._start = self._last = time.monotonic()

    def advance(self, *, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        now = time.monotonic()
        if now - self._last >= _EVERY and self._done < self._total:
            self._last = now
            left = (now - self._start) / self._done * (self._total - self._done)
            self._say(now, f", about {_duration(left)} left")

    def end(self) -> None:
        now = time.monotonic()
        if self._always or now - self._start >= _SHORT:
            self._say(now, f", {_duration(now - self._start)} in total")

    def _say(self, now: float, rest: str) -> None:
        share = self._done / self._total
        rate = self._done / max(now - self._start, 1e-9)
        failed = f", {self._failed:,} failed" if self._failed else ""
        line = f"{in_one_line(self._name)}: {self._done:,} of {self._total:,} queries ({share:.0%}), {rate:,.1f} per second{failed}{rest}"
        if not log(line, "INFO"):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def _bar(name: str, total: int) -> Iterator[Progress]:
    from rich import progress as rich
    from rich.console import Console
    from rich.markup import escape

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}"),
        rich.TextColumn("[red]{task.fields[failed]}"),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with rich.Progress(*columns, console=Console(stderr=True)) as shown:
        yield _Bar(shown, shown.add_task(escape(in_one_line(name)), total=total, rate="", failed=""))


class _Bar:
    def __init__(self, shown: object, task: object) -> None:
        self._shown, self._task = shown, task
        self._done = self._failed = 0
        self._start = time.monotonic()

    def advance(self, *, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        rate = self._done / max(time.monotonic() - self._start, 1e-9)
        self._shown.update(  # type: ignore[attr-defined]
            self._task,
            advance=1,
            rate=f"{rate:,.1f} per second",
            failed=f"{self._failed:,} failed" if self._failed else "",
        )
