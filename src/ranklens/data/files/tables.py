"""Tables with named columns (CSV, TSV, JSONL) → frames, block after block.

As for :mod:`~ranklens.data.files.trec`, Polars reads a block, and what it cannot read, or what is wrong with its content,
takes a careful path in Python that knows line numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ranklens import words
from ranklens.data.files import limits
from ranklens.data.files.blocks import Block, blocks, lines_before
from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.json_reading import RepeatedKeyError, has_each_key_once, is_deep, loads
from ranklens.data.files.sources import BOM, without_bom, would_be_unpacked
from ranklens.data.files.streams import TableStream
from ranklens.data.files.trec import WrongLine, decode, parse_block
from ranklens.data.readers.frames import GRADE_NAMES, SCORE_NAMES, RowError, whole_among_text
from ranklens.data.readers.mappings import is_nothing
from ranklens.data.readers.names import plain
from ranklens.errors import InputError, polars_failures
from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.files.sources import Source

_SOMETHING = re.compile(rb"\S")
_QUOTED = re.compile(rb'"[^"]*"')
_SAMPLE = 100  # rows that show the types of all; Polars raises an error if they do not

Convert: TypeAlias = "Callable[[pl.DataFrame], pl.DataFrame]"


def stream_table(
    source: Source, kind: str, convert: Convert, *, all_keys: bool = False, numbers: Sequence[str] = ()
) -> TableStream:
    """What ``convert`` makes of the rows of a ``csv``, ``tsv`` or ``jsonl`` file.

    With ``all_keys``, rows of JSONL may have keys that the first ones lack; finding these takes several times as long. In CSV
    and TSV everything is text but the columns called ``numbers``, which are numbers unless something else is among them.
    """
    if kind == "jsonl":
        parse = partial(parse_block, source, partial(_parse_rows, convert, all_keys))
        return TableStream(source.name, lambda: (partial(parse, block) for block in blocks(source)))
    dialect = _Dialect(separator_of(source.head(), kind), '"' if kind == "csv" else None, (*numbers,))
    return TableStream(source.name, lambda: _read_delimited(source, dialect, convert))


# --- CSV and TSV


@dataclass(frozen=True)
class _Dialect:
    separator: str
    quote: str | None
    numbers: tuple[str, ...] = ()

    def schema(self, names: Sequence[str], content: bytes, header: int) -> dict[str, Any]:
        """The types of columns. Polars takes a number after a space, where ids would have spaces before them, too."""
        import polars as pl

        spaced = content.find(b" ", header) >= 0 and content.find(f"{self.separator} ".encode(), header) >= 0
        number = pl.String if spaced else pl.Float64
        return {name: number if plain(name) in self.numbers else pl.String for name in names}

    def rows(self, lines: Sequence[str]) -> Any:
        if self.quote is None:
            return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.separator, quotechar=self.quote)


def _read_delimited(
    source: Source, dialect: _Dialect, convert: Convert
) -> Iterator[Callable[[], pl.DataFrame]]:
    names: list[str] = []
    for block in _closed_quotes(source) if dialect.quote else blocks(source):
        has_header = not names
        if has_header:
            names = header(block.load(), dialect.separator)
            if not names:
                raise InputError(
                    f"{source.name}:1: the first line is blank; it should name the columns.",
                    path=source.name,
                    line=1,
                )
            if any("\r" in name for name in names):
                raise InputError(
                    f"{source.name}: its lines end with CR alone; save it with the line ends of Unix or Windows.",
                    path=source.name,
                )
            twice = next((name for name, times in Counter(names).items() if times > 1), None)
            if twice is not None:
                raise InputError(f"{source.name}:1: two columns are called {twice!r}.")
        parse = partial(_parse_delimited, dialect, names, convert, has_header)
        yield partial(parse_block, source, parse, block)


def separator_of(content: bytes, kind: str) -> str:
    r"""What parts the fields: a tab in TSV, and in CSV a comma, unless the header has none of them.

    >>> separator_of(b'query;doc;"score, raw"\n', "csv"), separator_of(b"query\n", "csv")
    (';', ',')
    """
    if kind == "tsv":
        return "\t"
    line = _QUOTED.sub(b"", content.partition(b"\n")[0])
    return next((sign.decode() for sign in (b",", b";", b"|") if sign in line), ",")


def header(content: bytes, separator: str) -> list[str]:
    r"""The names in the first line.

    >>> header(b'query,"doc",score\nq1,d1,0.5', ",")
    ['query', 'doc', 'score']
    """
    end = content.find(b"\n")  # splitting would copy everything behind it
    line = without_bom(content[:end] if end >= 0 else content).decode(errors="replace").rstrip("\r")
    dialect = _Dialect(separator, None if separator == "\t" else '"')
    try:
        return next(dialect.rows([line]), [])
    except csv.Error:
        return [line]


def _closed_quotes(source: Source) -> Iterator[Block]:
    """Blocks that do not end inside quotes, which may hold ends of lines."""
    start, held = 0, b""
    for block in blocks(source):
        start = start if held else block.start
        content = block.load()
        held = held + content if held else content
        if b'"' not in held or held.count(b'"') % 2 == 0:
            yield Block(start, partial(bytes, held))
            held = b""
        elif len(held) > 4 * limits.LONGEST_LINE:
            line = lines_before(source, start) + 1
            raise InputError(f"{source.name}:{line}: a quote that starts here or later is never closed.")
    if held:
        yield Block(start, partial(bytes, held))


def _parse_delimited(
    dialect: _Dialect, names: list[str], convert: Convert, has_header: bool, content: bytes
) -> pl.DataFrame:
    """The rows of a block; its header is not cut off, which would copy all the rest."""
    header = (content.find(b"\n") + 1 or len(content)) if has_header else 0
    if has_header and not _SOMETHING.search(content, header):
        decode(content[:header].rstrip(b"\n"))
        return _converted(_texts([], names), convert)
    quoted = dialect.quote is not None and b'"' in content
    try:
        table = _split_fast(dialect, names, content, header)
        # A quoted field may go on over the end of its line, or of the file.
        lines = content.count(b"\n", header) + (not content.endswith(b"\n")) if quoted else 0
        goes_on = quoted and (table is None or len(table) != lines or content.count(b'"') % 2 == 1)
        if table is not None and not goes_on:
            # Polars takes an empty field for no value, but not one in quotes.
            may_be_empty = quoted and b'""' in content  # the first look takes no time
            return _converted(table, convert) if may_be_empty else convert(table)
    except polars_failures(RowError):
        pass
    rows = _split_carefully(dialect, names, content[header:], 2 if header else 1)
    try:
        table = _converted(_texts([row.fields for row in rows], names), convert)
    except RowError as wrong:
        raise WrongLine(rows[wrong.row].line, wrong.message) from None
    longer = next((row for row in rows if row.is_longer), None)
    for name in {"query", "doc"} & {*table.columns} if longer else ():
        over = table[name].cast(str).drop_nulls()
        over = over.filter(over.str.contains(r"[\r\n]"))
        if longer and len(over):  # an id that goes on over the end of its line has swallowed what follows
            raise WrongLine(
                longer.line,
                f"the {name} {brief(over[0], 80)!r} continues past the end of the line. {_UNCLOSED}",
            )
    return table


def _split_fast(dialect: _Dialect, names: list[str], content: bytes, header: int) -> pl.DataFrame | None:
    """All rows; None where a line may have been cut short, or where Polars takes the beginning for something else."""
    import polars as pl

    if content.startswith(BOM, header) or would_be_unpacked(content):
        return None  # Polars leaves out a byte-order mark before the first row, which belongs to an id here
    scan = pl.scan_csv(
        content,
        has_header=False,
        separator=dialect.separator,
        quote_char=dialect.quote,
        schema=dialect.schema(names, content, header),
        skip_lines=1 if header else 0,
    )
    table = scan.collect()
    return None if table[names[-1]].null_count() else table


class _Row(NamedTuple):
    """A row of text, the line in which it begins, and whether it has more than one."""

    fields: list[str]
    line: int
    is_longer: bool


def _split_carefully(dialect: _Dialect, names: list[str], content: bytes, first_line: int) -> list[_Row]:
    """All rows."""
    try:
        text = decode(content)
    except WrongLine as wrong:
        raise WrongLine(wrong.line + first_line - 1, wrong.message) from None
    lines = [*io.StringIO(text, newline="")]
    # A quote that is still open at the end goes on over the empty line behind it.
    rows, reader, begin = [], dialect.rows([*lines, ""]), 0
    try:
        for row in reader:
            line, is_longer = first_line + begin, reader.line_num > begin + 1
            if is_longer:
                _check_longer(dialect, names, lines[begin : reader.line_num], line)
            if row and len(row) != len(names):
                raise WrongLine(
                    line,
                    f"expected {len(names)} fields ({', '.join(names)}) but found {len(row)}: {brief(str(row)[1:-1], 80)}.",
                )
            if row:
                rows.append(_Row(row, line, is_longer))
            begin = reader.line_num
    except csv.Error as error:
        hint = f" {_UNCLOSED}" if "field limit" in str(error) else ""
        raise WrongLine(first_line + begin, f"{error}.{hint}") from None
    return rows


_UNCLOSED = "Is a closing quote missing? If the text does have several lines, write JSONL or Parquet."


def _check_longer(dialect: _Dialect, names: Sequence[str], lines: Sequence[str], line: int) -> None:
    """Refuse a row of several lines unless all its quotes are closed and none of the lines looks like a row that they swallowed."""
    try:
        whole = len([*csv.reader(lines, delimiter=dialect.separator, strict=True)]) == 1
    except csv.Error:
        whole = False
    if not whole:
        raise WrongLine(
            line, f"a quoted field continues past the end of the line and is not closed. {_UNCLOSED}"
        )
    for number, following in enumerate(lines[1:], line + 1):
        fields: list[str] = next(dialect.rows([following]), [])
        if len(fields) >= len(names):  # more, if its text has separators of its own
            raise WrongLine(
                line,
                f"a quoted field continues past the end of the line, and line {number} looks like a row. {_UNCLOSED}",
            )


_DECIMAL_COMMA = r"^\s*([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)\s*$"


def with_points(own: Sequence[str], convert: Convert, table: pl.DataFrame) -> pl.DataFrame:
    """Numbers with decimal commas, as where semicolons part the fields."""
    import polars as pl

    usual = {*SCORE_NAMES, *GRADE_NAMES}
    numbers = [
        name
        for name, kind in table.schema.items()
        if kind == pl.String and (name in own or plain(name) in usual)
    ]
    return convert(table.with_columns(pl.col(numbers).str.replace(_DECIMAL_COMMA, "$1.$2")))


def _texts(rows: list[list[str]], names: list[str]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _converted(table: pl.DataFrame, convert: Convert) -> pl.DataFrame:
    """An empty field is no value."""
    import polars as pl

    return convert(table.with_columns(pl.col(pl.String).replace("", None)))


# --- JSONL


def _parse_rows(convert: Convert, all_keys: bool, content: bytes) -> pl.DataFrame:
    import polars as pl

    # Polars reads half a surrogate pair as a NUL, and brackets without end exhaust its stack.
    halves = b"\\" in content and (b"\\ud" in content or b"\\uD" in content)
    if not halves and not is_deep(content) and not would_be_unpacked(content):
        for sample in [None] if all_keys else [_SAMPLE, None]:
            with suppress(*polars_failures(InputError)):
                table = pl.read_ndjson(content, infer_schema_length=sample)
                if not has_each_key_once(content, table):
                    _, rows = _numbered_rows(content)
                    if {key for row in rows for key in row} - {*table.columns}:
                        continue  # a key that comes late, which the first rows do not show
                return convert(table)
    lines, rows = _numbered_rows(content)
    try:
        return convert(frame_of_rows(rows))
    except RowError as wrong:
        raise WrongLine(lines[wrong.row], wrong.message) from None
    except polars_failures(UnicodeEncodeError, TypeError) as error:
        raise WrongLine(lines[0], f"the rows starting here cannot be read as a table: {error}.") from None


def _numbered_rows(content: bytes) -> tuple[list[int], list[dict[str, Any]]]:
    """The numbers of the lines that hold something, and what they hold."""
    numbers: list[int] = []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(decode(content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = loads(line)
        except RepeatedKeyError as error:
            raise WrongLine(number, f"{error}.") from None
        except ValueError as error:
            raise WrongLine(number, f"this is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise WrongLine(
                number, f"expected an object with the keys query, doc and a number, not {line[:60]!r}."
            )
        numbers.append(number)
        rows.append(row)
    return numbers, rows


def frame_of_rows(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Objects as a table; a key that some of them lack is null there."""
    import polars as pl

    polars_is_used()

    names = dict.fromkeys(key for row in rows for key in row)
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise InputError(f"The key {odd!r} of a row is {words.kind(odd)}; the name of a column is a text.")
    columns: dict[str, pl.Series] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        binary = next((value for value in values if isinstance(value, (bytes, bytearray))), None)
        if binary is not None:
            raise InputError(
                f"{name!r} of a row is {binary!r:.60}, which is {words.kind(binary)}; decode it."
            )
        if any(isinstance(value, str) for value in values):  # then all others are text, too
            values = whole_among_text([None if is_nothing(value) else value for value in values])
            values = [v if v is None or isinstance(v, (list, dict)) else str(v) for v in values]
        columns[name] = pl.Series(values, strict=False)
    return pl.DataFrame(columns)
