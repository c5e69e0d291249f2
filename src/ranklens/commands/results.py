"""The names of runs, whom messages are about, and where results are written; all that commands share but their options."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.errors import InputError, RankLensError, RankLensWarning

if TYPE_CHECKING:
    from ranklens.report.table import Table

DEFAULT_MEASURES = "nDCG@10,AP,RR,R@100,P@10"


def run_names(runs: Sequence[str]) -> dict[str, str]:
    """Runs by name: as given, else the file's name without its suffixes."""
    found: dict[str, str] = {}
    for run in runs:
        given, equals, path = run.partition("=")
        is_named = equals and not Path(run).exists()
        path = path if is_named else run
        name = (
            given
            if is_named
            else "standard input"
            if path == "-"
            else Path(path).name.partition(".")[0] or path
        )
        if name in found and not is_named:
            name = path
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give each a name of its own: NAME={path}.")
        found[name] = path
    return found


def check_output(path: Path) -> None:
    """Tell before the work, not after it, that a file cannot be written there."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file.")


@contextmanager
def about(name: str, path: str, *, several: bool) -> Iterator[None]:
    """Name the run in errors and warnings that do not name its file, where there are several."""
    if not several:
        yield
        return
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RankLensWarning)
            yield
    except RankLensError as error:
        raise (error if path in str(error) else type(error)(f"{name}: {error}")) from None
    for warning in caught:
        warnings.warn(f"{name}: {warning.message}", RankLensWarning, stacklevel=3)


def is_standard_output(output: Path | None) -> bool:
    """Whether results are printed: no file is given, or ``-``."""
    return output is None or str(output) == "-"


def show(table: Callable[[int | None], Table], output: Path | None) -> None:
    """A table, made for the width of the terminal if it is printed there, else for any."""
    from ranklens.report import terminal

    console = terminal.terminal() if is_standard_output(output) else None
    if console is None:
        write(f"{table(None)}\n", output)
    else:
        terminal.show(table(console.width), console)


def write(text: str, output: Path | None) -> None:
    """To a file, as a whole or not at all; else to standard output."""
    if output is None or is_standard_output(output):
        sys.stdout.write(text)
        return
    from ranklens.writers import write_whole

    write_whole(output, lambda place: place.write_text(text, encoding="utf-8"))
