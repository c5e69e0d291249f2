"""Short TREC files → dicts, in plain Python: to load the table engine takes longer than to read them.

Only files without anything unusual are read here, so that everything else has one reader; both give the same.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TypeVar

from ranklens.data.files.sources import BOM
from ranklens.data.files.trec import TREC_QRELS, TREC_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranklens.data.files.sources import Source

T = TypeVar("T")

_SHORT = 1 << 20  # bytes, which take a quarter of the time that it takes to load the engine
_DECIMAL = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]{1,2})?").fullmatch
_WHOLE = re.compile(rb"-?[0-9]{1,9}").fullmatch


def read_short_run(source: Source) -> dict[str, dict[str, float]] | None:
    """``{query: {document: score}}``; None if the file is long or unusual, or the engine is there already."""
    rows = _rows(source, len(TREC_RUN))
    return None if rows is None else _by_query(rows, TREC_RUN.index("score"), _DECIMAL, float)


def read_short_judgments(source: Source) -> dict[str, dict[str, int]] | None:
    """``{query: {document: grade}}`` of whole grades; None as above."""
    rows = _rows(source, len(TREC_QRELS))
    return None if rows is None else _by_query(rows, TREC_QRELS.index("grade"), _WHOLE, int)


def _rows(source: Source, fields: int) -> list[list[bytes]] | None:
    """The fields of each line, or None unless every line has this many."""
    if _engine_is_loaded() or source.packing or source.size > _SHORT:
        return None
    content = source.read().replace(b"\r\n", b"\n")
    if content.startswith(BOM) or any(sign in content for sign in (b"#", b"\r", b"\0")):
        return None
    rows = [row for line in content.split(b"\n") if (row := line.split())]
    return rows if {*map(len, rows)} == {fields} else None


def _engine_is_loaded() -> bool:
    return "polars" in sys.modules


def _by_query(
    rows: Sequence[Sequence[bytes]],
    place: int,
    is_number: Callable[[bytes], object],
    number: Callable[[bytes], T],
) -> dict[str, dict[str, T]] | None:
    """None if something is neither text nor such a number, or a document is there again."""
    found: dict[str, dict[str, T]] = {}
    try:
        for row in rows:
            if not is_number(row[place]):
                return None
            found.setdefault(row[0].decode(), {})[row[2].decode()] = number(row[place])
    except UnicodeDecodeError:
        return None
    return found if sum(map(len, found.values())) == len(rows) else None
