"""Manners of a command: warnings in one line each, and no complaint when the reader of a pipe has left."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ranklens.errors import RankLensWarning


@contextmanager
def warnings_in_one_line(name: str) -> Iterator[None]:
    """Write warnings to standard error as ``name: warning: …``, all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", RankLensWarning)
        warnings.showwarning = lambda message, *_, **__: sys.stderr.write(f"{name}: warning: {message}\n")  # type: ignore[assignment]
        yield


def leave_closed_pipe() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain when it flushes at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
