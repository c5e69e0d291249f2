"""A process that was forked while Polars had threads lacks these threads, and would wait for them forever."""

from __future__ import annotations

import os
import re
import sys

from ranklens.errors import InputError

_TASKS = "/proc/self/task"  # where Linux tells the threads of a process
_state = {"used": False, "lost": False}


def polars_is_used() -> None:
    """Say that Polars is about to work, which starts its threads; refuse where they were lost in a fork."""
    if _state["lost"]:
        raise InputError(
            "This process was forked after Polars had worked in its parent, so Polars cannot work in it. Start processes with "
            '"spawn": multiprocessing.get_context("spawn").'
        )
    _state["used"] = True


def _forking() -> None:
    """Other code may have used Polars as well."""
    _state["used"] = _state["used"] or ("polars" in sys.modules and _polars_has_threads())


def _polars_has_threads() -> bool:
    try:
        return any(map(_is_of_polars, os.listdir(_TASKS)))
    except OSError:  # another system
        return False


def _is_of_polars(thread: str) -> bool:
    with open(f"{_TASKS}/{thread}/comm", encoding="utf-8", errors="replace") as name:
        return re.match(r"polars-\d", name.read()) is not None


def _forked() -> None:
    _state["lost"] = _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking, after_in_child=_forked)
