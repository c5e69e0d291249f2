"""Everything RankLens raises on purpose, so that one ``except`` catches it all.

::

    RankLensError
    ├── InputError          rankings, judgments or records that cannot be read as such   (also a ValueError)
    ├── MeasureError        a measure's name or parameters                               (also a ValueError)
    ├── PolicyError         a policy that does not exist or does not fit the measure     (also a ValueError)
    └── MissingExtraError   a feature whose optional dependency is not installed         (also an ImportError)

    RankLensWarning         results stand, but something was counted, dropped or decided (a UserWarning)

Each message says what was given, where, what is allowed and what to do next.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class RankLensError(Exception):
    """Base of all errors that RankLens raises on purpose."""


class InputError(RankLensError, ValueError):
    """Rankings, judgments or records that cannot be understood."""


class MeasureError(RankLensError, ValueError):
    """A measure that does not exist, or parameters that it does not take."""


class PolicyError(RankLensError, ValueError):
    """A policy that does not exist, or that a measure is not defined for."""


class MissingExtraError(RankLensError, ImportError):
    """A feature whose optional dependency is not installed."""


class RankLensWarning(UserWarning):
    """The results stand, but something was counted, dropped or decided on the way."""


def warn(message: str) -> None:
    """A :class:`RankLensWarning` that points at the line of the caller's code, however deep it is raised."""
    depth, frame = 1, sys._getframe()  # noqa: SLF001
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "ranklens":
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, RankLensWarning, stacklevel=depth)


def nearest(given: str, allowed: Iterable[str]) -> str:
    """The end of an error message: the closest allowed name, then all of them when they are few.

    >>> nearest("avrage", ["average", "input"])
    "did you mean 'average'? Allowed: 'average', 'input'."
    """
    import difflib  # rarely needed, and slow to load

    names = list(allowed)
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(given.lower(), lower, n=1, cutoff=0.6)
    hint = f"did you mean {lower[close[0]]!r}? " if close else ""
    return hint + (f"Allowed: {', '.join(map(repr, names))}." if len(names) <= 12 else "")
