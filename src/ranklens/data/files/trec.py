"""Text with fields between white space → frames: TREC judgments and runs, MS MARCO's tables.

Files are read in blocks, so that memory stays bounded. A clean block (one kind of separator, never two in a row) takes a
fast path; all others, and all that have something wrong with them, a careful one that knows line numbers. Both give
the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ranklens.data.files import limits
from ranklens.data.files.blocks import Block, blocks, lines_before
from ranklens.data.files.sources import BOM, endless_line, no_data, without_bom, would_be_unpacked
from ranklens.data.files.streams import TableStream
from ranklens.errors import InputError, polars_failures

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.files.sources import Source

T = TypeVar("T")
TREC_QRELS = ("query", "iteration", "doc", "grade")
TREC_LABELS = ("query", "Q0", "doc", "grade", "confidence", "run")  # judgments by a model (TREC RAG 2025)
TREC_RUN = ("query", "Q0", "doc", "rank", "score", "tag")
_WHITE_SPACE = " \t\r\x0b\x0c"
_RUN_OF_SPACE = rf"[{_WHITE_SPACE}]+"
_TAB, _NEWLINE, _SPACE = 9, 10, 32


@dataclass(frozen=True)
class Manner:
    """How text is read: whether ``#`` begins a comment; and as C reads it, with hexadecimal numbers and any bytes in ids."""

    comments: bool = True
    as_c: bool = False


USUAL = Manner()
_SHORT = 1 << 20  # bytes, which take a quarter of the time that it takes to load the engine
_DECIMAL = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]{1,2})?").fullmatch
_WHOLE = re.compile(rb"-?[0-9]{1,9}").fullmatch
_ODD_BYTES = 0xF700  # private use: the bytes 0x80 to 0xFF of ids that are not UTF-8 become U+F780 to U+F7FF
_ODD_LETTERS = re.compile(f"[{chr(_ODD_BYTES + 0x80)}-{chr(_ODD_BYTES + 0xFF)}]")


def original(text: str) -> bytes:
    """The bytes that a text was read from, those that are not UTF-8 included.

    >>> original("caf" + chr(0xF7E9)).decode("latin-1")
    'café'
    """
    surrogates = _ODD_LETTERS.sub(lambda found: chr(ord(found[0]) - _ODD_BYTES + 0xDC00), text)
    return surrogates.encode("utf-8", "surrogateescape")


def read_fields(
    source: Source, names: Sequence[str], wanted: Mapping[str, bool], manner: Manner = USUAL
) -> pl.DataFrame:
    """The wanted columns of a file whose lines have the fields ``names``; those that map to true hold numbers.

    Further fields are ignored.
    """
    import polars as pl

    return pl.concat(stream_fields(source, names, wanted, manner=manner))


def first_fields(source: Source) -> list[str]:
    """The fields of the first line that is neither empty nor a comment."""
    for size in _sizes():
        head = source.head(size)
        whole = len(head) < size
        lines = without_bom(head).lstrip().decode(errors="replace").split("\n")
        fields = next(_lines_of_fields(lines if whole else lines[:-1]), [])
        if fields or whole:
            return fields
        if size >= limits.SEARCHED and len(lines) > 1:
            raise no_data(source)
    raise endless_line(f"{source.name}:1") if head.strip() else no_data(source)


def has_subtopics(source: Source) -> bool:
    """Whether the second field of judgments differs within a query, at the beginning of the file: then it is a subtopic.

    In plain judgments it is an iteration, which no measure uses: 0 or Q0 on every line.
    """
    lines = without_bom(source.head(1 << 16)).decode(errors="replace").split("\n")[:-1]
    first: dict[str, str] = {}
    for fields in _lines_of_fields(lines):
        if len(fields) != len(TREC_QRELS):
            return False
        if first.setdefault(fields[0], fields[1]) != fields[1]:
            return True
    return False


def has_confidences(source: Source) -> bool:
    """Whether lines of six fields are judgments with a confidence and not a run: within a query grades repeat, as ranks do not.

    Grades differ somewhere, too: some runs have one rank throughout.
    """
    lines = without_bom(source.head(1 << 16)).decode(errors="replace").split("\n")
    seen: dict[str, list[str]] = {}
    for fields in _lines_of_fields(lines[:-1] or lines):
        if len(fields) != len(TREC_LABELS) or not _is_share(fields[4]):
            return False
        seen.setdefault(fields[0], []).append(fields[3])
    repeats = any(len({*grades}) < len(grades) for grades in seen.values())
    return repeats and len({grade for grades in seen.values() for grade in grades}) > 1


def _is_share(field: str) -> bool:
    try:
        return 0 <= float(field) <= 1
    except ValueError:
        return False


def _sizes() -> list[int]:
    """How much to look at, more and more: many short lines, or one that is long."""
    return sorted({1 << 16, min(1 << 20, limits.SEARCHED), limits.SEARCHED, limits.LONGEST_LINE})


def last_fields(source: Source, count: int) -> list[str]:
    """The fields of the last line of data, ``count`` at least: missing ones are empty."""
    fields: list[str] = []
    for size in _sizes():
        tail = source.tail(size)
        lines = tail.decode("utf-8", errors="replace").split("\n")
        fields = next(_lines_of_fields(reversed(lines if len(tail) < size else lines[1:])), [])
        if fields or len(tail) < size:
            break
    return fields + [""] * (count - len(fields))


def fields_of(line: str) -> list[str]:
    """What stands between white space; only the simple kinds of it, since others may be part of an id.

    >>> fields_of("q1  Q0 d1")
    ['q1', 'Q0', 'd1']
    """
    parts = line.translate(str.maketrans(_WHITE_SPACE, " " * len(_WHITE_SPACE))).split(" ")
    return [part for part in parts if part]


def _lines_of_fields(lines: Sequence[str] | Iterator[str]) -> Iterator[list[str]]:
    for fields in map(fields_of, lines):
        if fields and not fields[0].startswith("#"):
            yield fields


def stream_fields(
    source: Source,
    names: Sequence[str],
    wanted: Mapping[str, bool],
    *,
    further: str | None = None,
    manner: Manner = USUAL,
) -> TableStream:
    """The wanted columns, block after block; ``further`` names a column for what lines hold behind the last field."""
    parse = partial(parse_block, source, partial(_parse, names, wanted, further, manner))
    return TableStream(source.name, lambda: (partial(parse, block) for block in blocks(source)))


def parse_block(source: Source, parse: Callable[[bytes], pl.DataFrame], block: Block) -> pl.DataFrame:
    """A block's table; an error says which line of the file it is about."""
    try:
        return parse(block.load())
    except WrongLine as wrong:
        line = wrong.line + lines_before(source, block.start)
        raise InputError(f"{source.name}:{line}: {wrong.message}", path=source.name, line=line) from None


class WrongLine(Exception):  # noqa: N818  turned into an InputError with the file's name
    """Something is wrong with a line of a block, counted from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message


def _parse(
    names: Sequence[str], wanted: Mapping[str, bool], further: str | None, manner: Manner, block: bytes
) -> pl.DataFrame:
    import polars as pl

    fast = read_fast(block, names, wanted)
    if fast is None:
        return read_carefully(block, names, wanted, further, manner)
    return fast if further is None else fast.with_columns(pl.lit(None, pl.String).alias(further))


def read_fast(block: bytes, names: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame | None:
    """The wanted columns of a clean block; None where it is not clean."""
    import polars as pl

    if block.startswith(BOM) or would_be_unpacked(block):
        return None  # Polars leaves out a byte-order mark at the beginning, which belongs to an id here
    try:
        _ = block.isascii() or block.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if b"#" in block and (block.startswith(b"#") or b"\n#" in block):
        return None  # comments
    separator = (
        _TAB if b"\t" in block[: block.find(b"\n") if b"\n" in block[: 1 << 16] else 1 << 16] else _SPACE
    )
    columns = {name: f"column_{i}" for i, name in enumerate(names, 1)}
    schema = {columns[name]: pl.Float64 if wanted.get(name) else pl.String for name in names}
    further = f"column_{len(names) + 1}"
    try:
        frame = pl.read_csv(
            block,
            has_header=False,
            separator=chr(separator),
            quote_char=None,
            schema={**schema, further: pl.String},
            columns=[*(columns[name] for name in wanted), further],
            **_missing_columns(),
        )
    except polars_failures():
        return None
    # No line has a field too many, so if there are enough separators in total, no line has one too few.
    complete = frame[further].null_count() == len(frame) and not any(
        frame[columns[n]].null_count() for n in wanted
    )
    if not complete or not _is_clean(block, separator, len(frame), len(names)):
        return None
    return frame.select(**{name: columns[name] for name in wanted})


@cache
def _missing_columns() -> dict[str, Any]:
    """Older versions of Polars add columns that the file lacks by themselves; newer ones have to be asked to."""
    import polars as pl

    return {"missing_columns": "insert"} if "missing_columns" in signature(pl.read_csv).parameters else {}


def _is_clean(block: bytes, separator: int, rows: int, fields: int) -> bool:
    """Whether ``rows`` lines of ``fields`` fields account for all white space: one separator at a time, and the ends of lines."""
    content, portion = np.frombuffer(block, np.uint8), 1 << 19  # portions that fit the processor's cache
    space, other = np.empty(portion + 1, bool), np.empty(portion + 1, bool)
    separators = spaces = 0
    for start in range(0, len(content), portion):
        letters = content[start : start + portion + 1]
        n, here = len(letters), min(portion, len(content) - start)
        np.less_equal(letters, _SPACE, out=space[:n])
        if np.logical_and(space[1:n], space[: n - 1], out=other[: n - 1]).any():
            return False
        spaces += int(np.count_nonzero(space[:here]))
        separators += int(np.count_nonzero(np.equal(letters[:here], separator, out=other[:here])))
    line_ends = rows - (content[-1] != _NEWLINE)
    right = separators == rows * (fields - 1) and spaces - separators == line_ends
    return bool(content[0] > _SPACE and right)


def read_carefully(
    block: bytes,
    names: Sequence[str],
    wanted: Mapping[str, bool],
    further: str | None = None,
    manner: Manner = USUAL,
) -> pl.DataFrame:
    """The wanted columns of any block."""
    import polars as pl

    if manner.as_c:  # bytes that are not UTF-8 become letters of their own
        letters = block.decode("utf-8", "surrogateescape")
        text = re.sub("[\udc80-\udcff]", lambda odd: chr(ord(odd[0]) - 0xDC00 + _ODD_BYTES), letters)
    else:
        text = decode(block)
    lines = pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String})
    lines = lines.with_row_index("line", 1)
    if "\r" in text and not manner.as_c:
        # Lines that end with CR alone would be one line, of which only the first fields are read.
        alone = lines.filter(pl.col("text").str.contains(r"\r\s*[^\r\s]"))
        if len(alone):
            message = "a line ends with CR alone; save the file with the line ends of Unix or Windows."
            raise WrongLine(alone["line"][0], message)
    lines = lines.with_columns(pl.col("text").str.replace_all(_RUN_OF_SPACE, " ").str.strip_chars(" "))
    lines = lines.filter(pl.col("text") != "")
    if manner.comments:
        lines = lines.filter(~pl.col("text").str.starts_with("#"))
    split = lines.with_columns(pl.col("text").str.split(" ").alias("fields"))
    short = split.filter(pl.col("fields").list.len() < len(names))
    if len(short):
        line, content = short.row(0)[:2]
        count = len(content.split(" "))
        raise WrongLine(
            line, f"expected {len(names)} fields ({', '.join(names)}) but found {count}: {content[:80]!r}."
        )
    fields = {name: pl.col("fields").list.get(names.index(name)) for name in wanted}
    if further is not None:
        rest = pl.col("fields").list.slice(len(names)).list.join(" ")
        fields[further] = pl.when(rest != "").then(rest)
    frame = split.select("line", **fields)
    for name, is_number in wanted.items():
        if is_number:
            frame = _numbers(frame, name, manner)
    return frame.drop("line")


def _numbers(frame: pl.DataFrame, name: str, manner: Manner) -> pl.DataFrame:
    import polars as pl

    numbers = frame[name].cast(pl.Float64, strict=False)
    if numbers.null_count() and manner.as_c:
        hexadecimal: list[float | None] = [None] * len(frame)  # such as 0x1A or 0x1p-3
        for row, text in enumerate(frame[name]):
            with suppress(ValueError, OverflowError):
                hexadecimal[row] = float.fromhex(text) if "0x" in text.lower() else None
        numbers = numbers.fill_null(pl.Series(hexadecimal, dtype=pl.Float64))
    if numbers.null_count():
        row = numbers.is_null().arg_true()[0]
        raise WrongLine(frame["line"][row], f"the {name} {frame[name][row][:80]!r} is not a number.")
    return frame.with_columns(numbers.alias(name))


def decode(block: bytes) -> str:
    """A block as text; an error names the line that is not."""
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = block.count(b"\n", 0, error.start) + 1
        raise WrongLine(
            line, f"byte {block[error.start]:#04x} is not valid UTF-8; save the file as UTF-8."
        ) from None


# --- Short files in plain Python: loading the table engine takes longer than reading them. Only files without anything unusual are read
# here, so that everything else has one reader; both give the same.


def read_short_run(source: Source) -> dict[str, dict[str, float]] | None:
    """``{query: {document: score}}`` of a short file, in plain Python; None if it is long or unusual, or the engine is there already."""
    rows = _rows(source, len(TREC_RUN))
    return None if rows is None else _by_query(rows, TREC_RUN.index("score"), _DECIMAL, float)


def read_short_judgments(source: Source) -> dict[str, dict[str, int]] | None:
    """``{query: {document: grade}}`` of whole grades; None as above."""
    rows = _rows(source, len(TREC_QRELS))
    return None if rows is None else _by_query(rows, TREC_QRELS.index("grade"), _WHOLE, int)


def _rows(source: Source, fields: int) -> list[list[bytes]] | None:
    """The fields of each line, or None unless every line has ``fields`` of them."""
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
    by_query: dict[str, dict[str, T]] = {}
    try:
        for row in rows:
            if not is_number(row[place]):
                return None
            by_query.setdefault(row[0].decode(), {})[row[2].decode()] = number(row[place])
    except UnicodeDecodeError:
        return None
    return by_query if sum(map(len, by_query.values())) == len(rows) else None
