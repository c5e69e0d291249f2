"""A process that was forked while Polars had threads lacks these threads, and would wait for them forever."""

from __future__ import annotations

import os

from ranklens.errors import InputError

_state = {"used": False, "lost": False}


def polars_is_used() -> None:
    """Say that Polars is about to work, which starts its threads; refuse where they were lost in a fork."""
    if _state["lost"]:
        raise InputError(
            "This process was forked after files had been read, and Polars cannot work in it. Start processes with "
            '"spawn": multiprocessing.get_context("spawn").'
        )
    _state["used"] = True


def _forked() -> None:
    _state["lost"] = _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
