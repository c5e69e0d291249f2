"""Text with fields between white space → frames: TREC judgments and runs, MS MARCO's tables.

Files are read in blocks, so that memory stays bounded. A clean block (one kind of separator, never two in a row) takes a
fast path; all others, and all that have something wrong with them, a careful one that knows line numbers. Both give
the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.readers.ahead import ahead

if TYPE_CHECKING:
    import polars as pl

    from ranklens.readers.sources import Source

BLOCK = 1 << 24  # bytes read at a time
TREC_QRELS = ("query", "iteration", "document", "grade")
TREC_RUN = ("query", "Q0", "document", "rank", "score", "tag")
_BOM = b"\xef\xbb\xbf"
_ASCII_SPACE = r"[ \t\r\x0b\x0c]+"


def read_fields(source: Source, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame:
    """The wanted columns of a file whose lines have the fields ``names``; those that map to true hold numbers.

    Further fields are ignored.
    """
    import polars as pl

    return pl.concat(FieldStream(source, names, wanted))


def first_fields(source: Source) -> list[str]:
    """The fields of the first line that is neither empty nor a comment."""
    for line in source.head().decode("utf-8-sig", errors="replace").splitlines():
        fields = line.split()
        if fields and not fields[0].startswith("#"):
            return fields
    return []


@dataclass(frozen=True)
class FieldStream:
    """The same, block after block; can be walked more than once."""

    source: Source
    names: Sequence[str]
    wanted: Mapping[str, bool]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        rows = 0
        for frame in ahead(partial(self._parse, offset, block) for offset, block in _blocks(self.source)):
            rows += len(frame)
            yield frame
        if not rows:
            raise InputError(f"{self.source.name}: the file holds no line of data.")

    def _parse(self, offset: int, block: bytes) -> pl.DataFrame:
        fast = read_fast(block, self.names, self.wanted)
        if fast is not None:
            return fast
        try:
            return read_carefully(block, self.names, self.wanted)
        except _WrongLine as wrong:
            line = wrong.line + self._lines_before(offset)
            raise InputError(f"{self.source.name}:{line}: {wrong.message}") from None

    def _lines_before(self, offset: int) -> int:
        return sum(block.count(b"\n") for start, block in _blocks(self.source) if start < offset)


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about `BLOCK` bytes at a time, with the place in the file where they start."""
    with source.open() as file:
        offset, rest = 0, file.read(3)
        rest = b"" if rest == _BOM else rest
        while True:
            read = file.read(BLOCK)
            if not read:
                break
            content = rest + read
            cut = content.rfind(b"\n") + 1
            if cut:
                yield offset, content[:cut]
                offset += cut
            rest = content[cut:]
        if rest:
            yield offset, rest


def read_fast(block: bytes, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame | None:
    """The wanted columns of a clean block; None where it is not clean."""
    import polars as pl

    separator = _clean_separator(block, len(names))
    if separator is None:
        return None
    columns = {name: f"column_{i}" for i, name in enumerate(names, 1)}
    schema = {columns[name]: pl.Float64 if wanted.get(name) else pl.String for name in names}
    try:
        # Looking for comments line by line slows Polars down by half, so it is asked to only where there are any.
        comments = "#" if (np.frombuffer(block, np.uint8) == 35).any() else None
        scan = pl.scan_csv(
            block,
            has_header=False,
            separator=separator,
            quote_char=None,
            comment_prefix=comments,
            schema=schema,
        )
        frame = scan.select(**{name: columns[name] for name in wanted}).collect()
    except pl.exceptions.PolarsError:
        return None
    incomplete = any(frame[name].null_count() for name in wanted)
    empty = any((frame[name] == "").any() for name, is_number in wanted.items() if not is_number)
    return None if incomplete or empty else frame


def _clean_separator(block: bytes, fields: int) -> str | None:
    """The one character that separates all fields, if there is one: no other white space, no two in a row.

    There must also be as many of them as lines with that many fields have; that none has more, Polars checks.
    """
    first_line = block[: block.find(b"\n")] if b"\n" in block[: 1 << 16] else block[: 1 << 16]
    separator = 9 if b"\t" in first_line else 32
    content, portion = np.frombuffer(block, np.uint8), 1 << 18  # portions that fit the processor's cache
    separators, lines = 0, int(not block.endswith(b"\n"))
    for start in range(0, len(content), portion):
        letters = content[start : start + portion + 1]
        between = letters == separator
        if (between[1:] & between[:-1]).any() or (letters == (41 - separator)).any() or (letters == 13).any():
            return None  # 41 - separator: a tab where it is a space, a space where it is a tab
        separators += int(np.count_nonzero(between[:portion]))
        lines += int(np.count_nonzero(letters[:portion] == 10))
    return chr(separator) if separators == lines * (fields - 1) else None


class _WrongLine(Exception):  # noqa: N818  turned into an InputError with the file's name
    def __init__(self, line: int, message: str) -> None:
        self.line, self.message = line, message


def read_carefully(block: bytes, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame:
    """The wanted columns of any block."""
    import polars as pl

    lines = pl.DataFrame({"text": _decode(block).split("\n")}, schema={"text": pl.String}).with_row_index(
        "line", 1
    )
    lines = lines.with_columns(pl.col("text").str.replace_all(_ASCII_SPACE, " ").str.strip_chars(" "))
    lines = lines.filter((pl.col("text") != "") & ~pl.col("text").str.starts_with("#"))
    split = lines.with_columns(pl.col("text").str.split(" ").alias("fields"))
    short = split.filter(pl.col("fields").list.len() < len(names))
    if len(short):
        line, found = short.row(0)[:2]
        count = len(found.split(" "))
        raise _WrongLine(
            line, f"expected {len(names)} fields ({', '.join(names)}) but found {count}: {found[:80]!r}."
        )
    fields = {name: pl.col("fields").list.get(names.index(name)) for name in wanted}
    frame = split.select("line", **fields)
    for name, is_number in wanted.items():
        if is_number:
            frame = _numbers(frame, name)
    return frame.drop("line")


def _numbers(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    import polars as pl

    numbers = frame[name].cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = numbers.is_null().arg_true()[0]
        raise _WrongLine(frame["line"][row], f"the {name} {frame[name][row]!r} is not a number.")
    return frame.with_columns(numbers.alias(name))


def _decode(block: bytes) -> str:
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = block.count(b"\n", 0, error.start) + 1
        raise _WrongLine(
            line, f"byte {block[error.start]:#04x} is not valid UTF-8; save the file as UTF-8."
        ) from None
