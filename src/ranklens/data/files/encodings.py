"""Text that is not UTF-8: files that Excel and PowerShell save as UTF-16 are read from a copy in UTF-8."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from ranklens.errors import InputError

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # which begins as UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PIECE = 1 << 20


def wide_encoding(start: bytes) -> str | None:
    """UTF-16 or UTF-32, by its mark or by the zero in every other byte of plain letters; None for anything else.

    >>> wide_encoding("id,question".encode("utf-16")), wide_encoding("id,question".encode("utf-16-be")), wide_encoding(b"id,quest")
    ('utf-16', 'utf-16-be', None)
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    letters = start[: len(start) // 2 * 2]
    high, low = letters[::2], letters[1::2]
    if len(high) >= 3 and not any(low) and all(high):
        return "utf-16-le"
    if len(high) >= 3 and not any(high) and all(low):
        return "utf-16-be"
    return None


def write_as_utf8(name: str, file: Path, encoding: str, copy: BinaryIO) -> None:
    """Write the text of a file in UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with file.open("rb") as text:
            while piece := text.read(_PIECE):
                copy.write(decoder.decode(piece).encode())
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as error:
        raise InputError(
            f"{name} begins as {encoding.upper()}, but is not: {error}. Save it as UTF-8.", path=name
        ) from None
    copy.flush()
