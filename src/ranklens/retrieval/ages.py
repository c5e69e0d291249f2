"""How old stored answers are: ``7d`` → seconds, and seconds → words."""

from __future__ import annotations

import math
import re

from ranklens.errors import InputError
from ranklens.words import counted

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORDS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))


def in_seconds(age: object) -> float:
    """An age in seconds, from a number of them or from text such as ``"7d"``, ``"12h"`` or ``"30m"``.

    >>> in_seconds("7d"), in_seconds(90)
    (604800.0, 90.0)
    """
    parts = re.fullmatch(r"\s*([\d.]+)\s*([smhdw]?)\s*", str(age).lower())
    try:
        seconds = float(parts[1]) * _UNITS[parts[2] or "s"] if parts else -1.0
    except ValueError:
        seconds = -1.0
    if isinstance(age, bool) or not 0 <= seconds < math.inf:
        raise InputError(
            f"max_age={age!r:.40} is not allowed; it is a number of seconds, or text such as '7d' or '12h'."
        )
    return seconds


def in_words(seconds: float) -> str:
    """An age as people say it, rounded down.

    >>> in_words(3 * 86400 + 5), in_words(3700), in_words(59)
    ('3 days old', '1 hour old', 'less than a minute old')
    """
    for unit, length in _WORDS:
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} old"
    return "less than a minute old"
