"""Values that must not be shown: those of environment variables that a request contains, and keys in its headers.

Whatever is written for people goes through :func:`redacted`: messages, stored errors, tracebacks.
"""

from __future__ import annotations

import re

_SHORTEST = 4  # letters; what is shorter is no secret, and appears in ordinary words
_LONG = 8  # letters from which on a value is found within a word, too
_names: dict[str, str] = {}  # by value: what is shown in its place
_pattern: re.Pattern[str] | None = None


def hide(value: str, shown: str) -> None:
    """Show ``shown`` in place of the value from now on, however it is escaped.

    >>> hide("hunter 22&7", "${KEY}")
    >>> redacted("GET /search?key=hunter+22%267"), redacted("<p>hunter 22&amp;7</p>")
    ('GET /search?key=${KEY}', '<p>${KEY}</p>')
    """
    global _pattern  # noqa: PLW0603  one for the process, as the environment is
    import json
    from html import escape
    from urllib.parse import quote, quote_plus

    if len(value) < _SHORTEST or value in _names:
        return
    raw = {value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    for one in raw | {escape(value), quote(value), quote(value, safe=""), quote_plus(value)}:
        _names.setdefault(one, shown)
    longest_first = sorted(_names, key=len, reverse=True)
    patterns = (
        re.escape(one) if len(one) >= _LONG else rf"(?<!\w){re.escape(one)}(?!\w)" for one in longest_first
    )
    _pattern = re.compile("|".join(patterns), re.IGNORECASE)


def redacted(text: str) -> str:
    """The text without hidden values."""
    return text if _pattern is None else _pattern.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    return next(shown for value, shown in _names.items() if value.lower() == found[0].lower())
