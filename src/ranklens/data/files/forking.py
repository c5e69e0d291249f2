"""A process that was forked while Polars had threads lacks these threads, and would wait for them forever."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

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
    """Something else may have used Polars, whose threads then have its name."""
    if _state["used"] or "polars" not in sys.modules:
        return
    with suppress(OSError):  # on other systems
        for thread in os.listdir(_TASKS):
            with open(f"{_TASKS}/{thread}/comm", encoding="utf-8", errors="replace") as name:
                if re.match(r"polars-\d", name.read()):
                    _state["used"] = True
                    return


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking, after_in_child=lambda: _state.update(lost=_state["used"]))
