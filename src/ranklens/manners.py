"""Manners of a command: messages in one line each, in the words of a command, and no complaint about a closed pipe."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ranklens.errors import InPython, Message, Option, RankLensWarning
from ranklens.words import either


@contextmanager
def warnings_in_one_line(name: str) -> Iterator[None]:
    """Write warnings to standard error as ``name: warning: …``, all of them."""

    def write(message: Warning | str, *_: object, **__: object) -> None:
        sys.stderr.write(f"{name}: warning: {in_options(message)}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankLensWarning)
        warnings.showwarning = write
        yield


def in_options(message: Exception | str) -> str:
    """A message of the library as the command line says it.

    >>> from ranklens.errors import PolicyError
    >>> in_options(PolicyError("Remove it, or choose ", Option("unjudged_queries", "ignore"), "."))
    'Remove it, or choose --unjudged-queries ignore.'
    """
    return message.spelled(as_option) if isinstance(message, Message) else str(message)


def as_option(part: Option | InPython) -> str:
    """What the command line says where Python names an option.

    >>> as_option(Option("ties", "ascending", "input")), as_option(InPython("ranklens.measures()", "ranklens measures"))
    ('--ties ascending or input', 'ranklens measures')
    """
    if isinstance(part, InPython):
        return part.command
    return " ".join(
        [f"--{part.name.replace('_', '-')}", either([str(value) for value in part.values])]
    ).rstrip()


def leave_closed_pipe() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain when it flushes at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
