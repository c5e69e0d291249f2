"""Results that are kept: an SQLite file in the project folder, safe under many writers and ``kill -9``.

``record`` is one system, measured, and what it may be compared with; ``store`` keeps records; ``trend`` shows a measure over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.scores.history.entries import Entry
    from ranklens.scores.history.record import Record
    from ranklens.scores.history.store import History
    from ranklens.scores.history.trend import Trend

_WHERE = {"Record": "record", "Entry": "entries", "History": "store", "Trend": "trend"}
__all__ = ["Entry", "History", "Record", "Trend"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"ranklens.scores.history.{_WHERE[name]}"), name)
    return value
