"""JSON as files hold it: a key that appears twice is a mistake, and depth has an end.

Python keeps the last of two equal keys, and says nothing; judgments or rankings would be lost that way.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl


_DEEP = 500  # Python gives up at about a thousand
_PORTION = 1 << 18  # letters that fit the processor's cache


class RepeatedKeyError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {brief(key)!r} appears twice; the last one would win")


def loads(text: str | bytes) -> Any:
    """What the text says; ``ValueError`` where it is no JSON, is nested too deeply, or repeats a key.

    >>> loads('{"q1": ["d1"]}')
    {'q1': ['d1']}
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def holds_rows(head: bytes) -> bool:
    r"""Whether a file that begins like this holds one object per line, with something else in it than lists and objects.

    >>> holds_rows(b'{"query": "q", "doc": "a"}\n'), holds_rows(b'{"q": {"a": 1}}'), holds_rows(b"{\n")
    (True, False, False)
    """
    line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0].strip()
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return False
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not all(isinstance(value, (dict, list)) for value in row.values())


def loads_ids(text: str) -> Any:
    """The same where text is an id: half a surrogate pair, which no file can hold, is no letter."""
    document = loads(text)
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start].encode("ascii", "backslashreplace").decode()
            raise ValueError(f"{half} is half a surrogate pair, not a character") from None
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(pairs)
    if len(by_key) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return by_key


def is_deep(content: bytes) -> bool:
    """Whether brackets may be nested deeper than any data; brackets within text are counted, too.

    >>> is_deep(b'{"a": [[1]]}'), is_deep(b"[" * 600 + b"]" * 600)
    (False, True)
    """
    if _times(content, b"[") + _times(content, b"{") - _times(content, b"\n") < _DEEP:
        return False  # one for each line, and few more
    import numpy as np

    letters = np.frombuffer(content, np.uint8)
    opens, closes = np.isin(letters, [*b"[{"]), np.isin(letters, [*b"]}"])
    level = np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int32)
    return bool((level - np.minimum.accumulate(level)).max() > _DEEP)


def has_each_key_once(content: bytes, table: pl.DataFrame) -> bool:
    """Whether it is clear from a table of lines, without a look at each, that no line repeats a key.

    It is where all rows are flat and have all keys: the number of keys tells then. Within text, a quote has a backslash.
    """
    if any(kind.is_nested() for kind in table.dtypes) or any(table.null_count().row(0)):
        return False
    quoted = content.count(b'\\":') if b"\\" in content else 0
    return _times(content, b'":') - quoted == table.width * len(table)


def _times(content: bytes, sought: bytes) -> int:
    """How often one letter, or one of two different ones, is there; for frequent ones much faster than ``bytes.count``.

    >>> _times(b'{"a":1}', b'":'), _times(b"[[", b"["), _times(b"", b"[")
    (1, 2, 0)
    """
    if sought not in content:  # which takes no time
        return 0
    import numpy as np

    letters, times = np.frombuffer(content, np.uint8), 0
    for start in range(0, len(letters), _PORTION):
        here = letters[start : start + _PORTION] == sought[0]
        if len(sought) > 1:
            behind = letters[start + 1 : start + 1 + _PORTION] == sought[1]
            here = here[: len(behind)] & behind
        times += int(np.count_nonzero(here))
    return times
