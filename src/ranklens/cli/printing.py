"""The names of runs, whom messages are about, and where results are written; all that commands share but their options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens import errors
from ranklens.errors import InputError, RankLensError, RankLensWarning, warn
from ranklens.files import writing

if TYPE_CHECKING:
    from ranklens.tables.table import Table

DEFAULT_MEASURES = "nDCG@10,AP,RR,R@100,P@10"


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
        if path not in str(error):
            error.prefix(f"{name}: ")
        raise
    for warning in caught:
        warn(errors.about(name, warning.message))


def show(table: Callable[[int | None], Table], output: Path | None) -> None:
    """A table, made for the width of the terminal if it is printed there, else for any."""
    from ranklens.tables import terminal

    console = terminal.terminal() if writing.is_standard_output(output) else None
    if console is None:
        writing.write_text(f"{table(None)}\n", output)
    else:
        terminal.show(table(console.width), console)
