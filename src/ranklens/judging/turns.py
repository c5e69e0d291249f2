"""Threads that take turns: many short NumPy calls on dicts.

NumPy lets go of Python's global lock in every call on more than some hundred numbers, and a waiting thread takes it at once. Eight threads
that evaluate dicts would hand it over hundreds of times per evaluation, which takes longer than the evaluation does. So each
thread does a whole step before the next one begins. Python that runs threads side by side has no such lock, and needs no turns.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from threading import RLock

_HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()
_turns: dict[str, AbstractContextManager[object]] = {"next": RLock() if _HAS_LOCK else nullcontext()}


def turn() -> AbstractContextManager[object]:
    """To be held while one thread works on dicts; nothing in it may wait for another thread."""
    return _turns["next"]


def _forked() -> None:
    """Another thread may have had its turn in the process that this one was forked from."""
    _turns["next"] = RLock() if _HAS_LOCK else nullcontext()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
