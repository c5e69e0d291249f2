"""Manners of a command: warnings in one line each, and no complaint when the reader of a pipe has left."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from ranklens.errors import RankLensWarning
from ranklens.policy import Policy


@contextmanager
def warnings_in_one_line(name: str) -> Iterator[None]:
    """Write warnings to standard error as ``name: warning: …``, all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", RankLensWarning)
        warnings.showwarning = lambda message, *_, **__: sys.stderr.write(  # type: ignore[assignment]
            f"{name}: warning: {in_options(str(message))}\n"
        )
        yield


_FIELDS = "|".join([*(field.name for field in fields(Policy)), "alpha", "correction", "level", "test"])
_CHOICE = re.compile(
    rf"""(?<![(\w])({_FIELDS})=(?:(["'])(\w*)\2((?:(?:,| or) "\w+")*)|([-+.\w]+)(?= is not))"""
)


def in_options(message: str) -> str:
    """A message of the library as the command line says it.

    >>> in_options('Add it, or choose missing="zero" or missing="skip".')
    'Add it, or choose --missing zero or --missing skip.'
    >>> in_options("Rename the column to 'doc', or name it: columns={'doc': 'your_column'}.")
    "Rename the column to 'doc'."
    """
    message = re.sub(r", or name it: columns=\{[^}]*\}", "", message)
    message = message.replace("ranklens.measures() lists", "ranklens measures lists")
    return _CHOICE.sub(_as_option, message)


def _as_option(found: re.Match[str]) -> str:
    name, _, value, others, bare = found.groups()
    further = (others or "").replace('"', "")
    return f"--{name.replace('_', '-')} {bare or value}{further}"


def leave_closed_pipe() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain when it flushes at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
