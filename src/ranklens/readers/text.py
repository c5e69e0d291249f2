"""Text with fields between white space → frames: TREC judgments and runs, MS MARCO's tables.

Clean files (one kind of separator, never two in a row) take a fast path; all others, and all that have something wrong
with them, a careful one that knows line numbers. Both give the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from ranklens.readers.sources import Source

_ASCII_SPACE = r"[ \t\r\x0b\x0c]+"


def read_fields(source: Source, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame:
    """The wanted columns of a file whose lines have the fields ``names``; those that map to true hold numbers.

    The last field may be missing if it is not wanted, and further fields are ignored.
    """
    fast = _read_fast(source, names, wanted)
    return fast if fast is not None else _read_carefully(source, names, wanted)


def first_fields(source: Source) -> list[str]:
    """The fields of the first line that is neither empty nor a comment."""
    for line in source.head().decode("utf-8-sig", errors="replace").splitlines():
        fields = line.split()
        if fields and not fields[0].startswith("#"):
            return fields
    return []


def _read_fast(source: Source, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame | None:
    """None where the file is not clean."""
    import polars as pl

    separator = _clean_separator(source)
    if separator is None:
        return None
    columns = {name: f"column_{i}" for i, name in enumerate(names, 1)}
    schema = {columns[name]: pl.Float64 if wanted.get(name) else pl.String for name in names}
    try:
        frame = (
            pl.scan_csv(
                source.for_polars(),
                has_header=False,
                separator=separator,
                quote_char=None,
                comment_prefix="#",
                schema=schema,
            )
            .select(**{name: columns[name] for name in wanted})
            .collect()
        )
    except pl.exceptions.PolarsError:
        return None
    incomplete = any(frame[name].null_count() for name in wanted)
    empty = any((frame[name] == "").any() for name, is_number in wanted.items() if not is_number)
    return None if incomplete or empty or not len(frame) else frame


def _clean_separator(source: Source) -> str | None:
    """The one character that separates all fields, if there is one."""
    head = source.head()
    line = next((line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    separator = b"\t" if b"\t" in line else b" "
    if head.startswith(b"\xef\xbb\xbf"):
        return None
    content = np.memmap(source.path, np.uint8, "r") if source.path else np.frombuffer(source.read(), np.uint8)
    return separator.decode() if _is_clean(content, separator[0]) else None


def _is_clean(content: npt.NDArray[np.uint8], separator: int) -> bool:
    """No other white space, and no two separators in a row, looked for in portions that fit the cache."""
    portion = 1 << 18
    for start in range(0, len(content), portion):
        letters = content[start : start + portion + 1]
        between = letters == separator
        if (between[1:] & between[:-1]).any() or (letters == (41 - separator)).any() or (letters == 13).any():
            return False  # 41 - separator: a tab where it is a space, a space where it is a tab
    return True


def _read_carefully(source: Source, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame:
    import polars as pl

    text = _decode(source)
    lines = pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String}).with_row_index("line", 1)
    lines = lines.with_columns(pl.col("text").str.replace_all(_ASCII_SPACE, " ").str.strip_chars(" "))
    lines = lines.filter((pl.col("text") != "") & ~pl.col("text").str.starts_with("#"))
    if not len(lines):
        raise InputError(f"{source.name}: the file holds no line of data.")
    needed = max(i for i, name in enumerate(names, 1) if name in wanted)
    split = lines.with_columns(pl.col("text").str.split(" ").alias("fields"))
    short = split.filter(pl.col("fields").list.len() < needed)
    if len(short):
        line, found = short.row(0)[:2]
        count = len(found.split(" "))
        raise InputError(
            f"{source.name}:{line}: expected {len(names)} fields ({', '.join(names)}) but found {count}: {found[:80]!r}."
        )
    frame = split.select(
        "line", *(pl.col("fields").list.get(names.index(name)).alias(name) for name in wanted)
    )
    for name, is_number in wanted.items():
        if is_number:
            frame = _numbers(frame, name, source)
    return frame.drop("line")


def _numbers(frame: pl.DataFrame, name: str, source: Source) -> pl.DataFrame:
    import polars as pl

    numbers = frame[name].cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = numbers.is_null().arg_true()[0]
        raise InputError(
            f"{source.name}:{frame['line'][row]}: the {name} {frame[name][row]!r} is not a number."
        )
    return frame.with_columns(numbers.alias(name))


def _decode(source: Source) -> str:
    content = source.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source.name}:{line}: byte {content[error.start]:#04x} is not valid UTF-8; save the file as UTF-8."
        ) from None
