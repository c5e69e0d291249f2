"""Judgments and runs in another format, with every column that there was.

Runs are written table after table as they are read, so that memory stays bounded.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from ranklens.data.files import formats, limits, recognition, samples, trec
from ranklens.data.files.golden_rows import as_frame, golden_rows
from ranklens.data.files.output import write_whole
from ranklens.data.files.parts import is_in_parts
from ranklens.data.files.sources import Source, open_source
from ranklens.data.files.streams import TableStream
from ranklens.data.files.suffixes import TABLES, WORKBOOKS, suffix_of
from ranklens.data.files.systems import OneSystem
from ranklens.data.readers import frames
from ranklens.data.readers.golden_and_logs import read_golden
from ranklens.errors import InputError, nearest, warn
from ranklens.words import brief, counted

if TYPE_CHECKING:
    from ranklens.data.files.sources import PathLike

Tables: TypeAlias = "Iterator[pl.DataFrame]"

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
_RUN: tuple[str, ...] = ("query", "Q0", "doc", "rank", "score", "tag")
_QRELS: tuple[str, ...] = ("query", "iteration", "doc", "grade")
_OPEN: dict[str, Callable[[Path], Any]] = {
    "": partial(Path.open, mode="wb"),
    ".zst": partial(Path.open, mode="wb"),  # packed before it is written
    ".gz": partial(gzip.open, mode="wb"),
    ".xz": partial(lzma.open, mode="wb"),
    ".bz2": partial(bz2.open, mode="wb"),
}
_FURTHER = "\x00further fields"  # a column name that no file has


def convert(
    source: PathLike,
    target: Path,
    kind: str | None = None,
    format: str | None = None,  # noqa: A002  the name users expect
) -> tuple[int, str]:
    """Write ``source`` to ``target`` in a format, else that of its suffix; how many rows, and ``"golden"``, ``"qrels"`` or ``"run"``.

    A second suffix (``.gz``, ``.zst``, ``.xz``, ``.bz2``) packs the file. The target ``-`` is standard output.
    """
    if format not in (None, *FORMATS):
        raise InputError(f"there is no format {format!r} to write: {nearest(str(format), FORMATS)}")
    if kind not in (None, "qrels", "run", "golden"):
        raise InputError(f"kind={kind!r} is not allowed; it is 'qrels', 'run' or 'golden'.")
    if not isinstance(source, Source) and (str(source) == "-" or Path(source).is_fifo()):
        source = open_source(source)  # which can be read once alone
    rows = golden_rows(source) if kind in (None, "golden") else None
    if kind == "golden" and rows is None:
        raise InputError(f"{source} is no golden set: no row says what is relevant for a question.")
    if rows is not None:
        return _write_golden(source, rows, target, format), "golden"
    stream, what = _read(source, kind)
    return _write(stream, what, target, format, str(source)), what


def _write_golden(source: PathLike, rows: list[dict[str, Any]], target: Path, given: str | None) -> int:
    """A golden set with all its fields; as TREC judgments, which have no texts, with a warning."""
    written = _format_of(target, given)
    if written == "trec":
        golden = read_golden(rows)
        warn(
            f"TREC judgments have neither texts nor fields nor questions without relevant documents "
            f"({len(rows) - sum(map(bool, golden.values())):,} here); these are left out."
        )
        return _write(formats.as_table(golden, "grade"), "qrels", target, written, str(source))
    frame = as_frame(rows, in_cells=written in ("csv", "tsv"))
    return _write(frame, "golden", target, written, str(source))


def write_run(
    run: Mapping[str, Mapping[str, float]] | pl.DataFrame, target: Path, *, tag: str = "ranklens"
) -> None:
    """Write ``{query: {document: score}}``, or a table, in the format of the target's suffix; TREC's where that says nothing."""
    _write(formats.as_table(run, "score").with_columns(tag=pl.lit(tag)), "run", target)


def write_tables(tables: Iterable[pl.DataFrame], target: Path, format: str | None = None) -> int:  # noqa: A002
    """Write a run that comes table after table, with the columns query, doc, rank and score; how many rows."""
    tagged = (table.with_columns(tag=pl.lit("ranklens")) for table in tables)
    stream = TableStream("run", lambda: (partial(_same, table) for table in tagged), once=True)
    return _write(stream, "run", target, format)


def _same(table: pl.DataFrame) -> pl.DataFrame:
    return table


def _write(stream: Any, what: str, target: Path, given: str | None = None, name: str = "run") -> int:
    """A stream or a table; how many rows. ``name`` is that of the source, for messages."""
    packing = target.suffix.lower() if target.suffix.lower() in _OPEN else ""
    format = _format_of(target, given)  # noqa: A001
    if packing and format == "parquet":
        raise InputError(f"{target}: a Parquet file is compressed inside; write it without {packing}.")
    count = _Counter()
    read = _for_format(stream, what, format)
    if format == "trec" and what == "run":
        hint = "and a TREC run contains one: write .parquet, .csv, .tsv or .jsonl, or pick the rows of one."
        read = map(OneSystem(lambda table: table, name, hint=hint), read)
    tables = count.of(_tidy(table, what) for table in read)
    write: Callable[[Path], None]
    if format == "parquet":
        write = partial(_write_parquet, tables)
    else:
        write = partial(_write_text, tables, format, packing)
    write_whole(target, write)
    return count.rows


def _format_of(target: Path, given: str | None) -> str:
    """The format that was asked for, else that of the suffix before the packing's; TREC where that says nothing."""
    suffix = suffix_of(target)
    if not given and suffix == ".json":
        raise InputError(f"{target}: RankLens does not write JSON; use .jsonl, with one object per line.")
    if not given and suffix in WORKBOOKS:
        raise InputError(f"{target}: RankLens does not write workbooks; use .csv, which they open.")
    return given or TABLES.get(suffix, "trec")


class _Counter:
    """Counts rows as they pass, and reports fields that TREC files do not have."""

    rows = 0

    def of(self, tables: Tables) -> Tables:
        count, example = 0, ""
        for table in tables:
            self.rows += len(table)
            if _FURTHER not in table.columns:
                yield table
                continue
            further = table[_FURTHER].drop_nulls()
            count, example = count + len(further), example or next(iter(further), "")
            yield table.drop(_FURTHER)
        if count:
            warn(
                f"{counted(count, 'line has', 'lines have')} more fields than a TREC file allows, e.g. {example!r}; the extra fields are dropped."
            )


# --- reading with all columns


def _read(source: PathLike, kind: str | None) -> tuple[Any, str]:
    """A stream or a table with every column, and what it holds."""
    place, format = recognition.locate(source, None, kind or "run")  # noqa: A001
    if format == "trec":
        opened = open_source(place)
        many = len(trec.first_fields(opened))
        if many == samples.FIELDS and kind == "qrels":
            raise InputError(
                f"{opened.name} contains judgments of a sampled pool (five fields), which no other format has; it can be evaluated as it is."
            )
        what = kind or ("qrels" if many == 4 else "run")
        names = _QRELS if what == "qrels" else _RUN
        wanted = {name: name in ("score", "grade") for name in names}
        return trec.stream_fields(opened, names, wanted, further=_FURTHER), what
    if format in ("csv", "tsv", "jsonl", "parquet"):
        table = formats.stream_table(place, format)
        if isinstance(table, TableStream):
            what = kind or ("qrels" if frames.names_grade(next(iter(table))) else "run")
            table = table.then(partial(_with_all_columns, what=what))
            may_differ = format == "jsonl" or is_in_parts(place)
            return _alike(table) if may_differ else table, what
    what = kind or "run"
    read = formats.read_qrels(place) if what == "qrels" else formats.read_run(place)
    return formats.as_table(read, "grade" if what == "qrels" else "score"), what


def _with_all_columns(table: pl.DataFrame, what: str) -> pl.DataFrame:
    """The columns that are recognised under their own names, then all others."""
    read = (
        frames.qrels_frame(table, complete=True)
        if what == "qrels"
        else frames.run_frame(table, complete=True)
    )
    used = frames.columns_used(table, what)
    others = [name for name in table.columns if name not in used]
    clash = next((name for name in others if name in read.columns), None)
    if clash is not None:
        raise InputError(f"the column {clash!r} would appear twice: {used} are read as {read.columns}.")
    return read.with_columns(table[name] for name in others)


def _alike(stream: TableStream) -> TableStream:
    """All tables with the same columns: rows of JSONL may have keys that others lack, and values of several types."""
    kinds: dict[str, set[pl.DataType]] = {}
    for table in stream:
        for name, kind in table.schema.items():
            kinds.setdefault(name, set()).add(kind)
        if len(kinds) > limits.KEYS:
            raise InputError(
                f"{stream.name}: the rows have more than {limits.KEYS:,} different keys; are some of them ids?"
            )
    schema: dict[str, pl.DataType | type[pl.DataType]] = {}
    for name, types in kinds.items():
        real = types - {pl.Null()}
        if len(real) > 1 and any(kind.is_nested() for kind in real):
            raise InputError(
                f"the column {name!r} contains lists or objects in some rows and something else in others."
            )
        numeric = real and all(kind.is_numeric() for kind in real)
        schema[name] = next(iter(real)) if len(real) == 1 else pl.Float64 if numeric else pl.String

    def with_schema(table: pl.DataFrame) -> pl.DataFrame:
        lacking = [name for name in schema if name not in table.columns]
        table = table.with_columns(pl.lit(None, schema[name]).alias(name) for name in lacking)
        return table.select(pl.col(name).cast(kind) for name, kind in schema.items())

    return stream.then(with_schema)


def _for_format(stream: Any, what: str, format: str) -> Tables:  # noqa: A002
    """Tables as they are read; as one where something has to be known of all rows."""
    if not isinstance(stream, TableStream):
        return iter([stream])
    if what == "qrels":  # grades are whole numbers or they are not
        return iter([pl.concat(stream, how="diagonal_relaxed")])
    tables = iter(stream)
    if format != "trec":
        return tables
    first = next(tables)
    if "rank" in first.columns:
        return chain([first], tables)
    return iter([pl.concat([first, *tables], how="diagonal_relaxed")])  # ranks are counted over whole queries


def _tidy(table: pl.DataFrame, what: str) -> pl.DataFrame:
    """In the order of TREC files, whole grades as whole numbers, then further columns; a golden set as it is."""
    if what == "golden":
        return table
    order = [name for name in (_QRELS if what == "qrels" else _RUN) if name in table.columns]
    table = table.select(*order, *(name for name in table.columns if name not in order))
    if what == "qrels":
        grades = table["grade"]
        if ((grades == grades.round()) & (grades.abs() < 2**53)).all():  # which an integer can hold
            table = table.with_columns(pl.col("grade").cast(pl.Int64))
    return table


# --- writing


def _write_parquet(tables: Tables, place: Path) -> None:
    """lz4, because it is read faster than anything smaller."""
    from polars.io.plugins import register_io_source

    first = next(tables)
    schema = first.schema

    def rows(*_: Any) -> Tables:
        yield first
        for table in tables:
            yield table.cast(schema) if table.schema != schema else table

    source = register_io_source(rows, schema=schema)
    # Polars cannot open a file whose name is not UTF-8.
    is_odd = str(place) != str(place).encode("utf-8", "replace").decode()
    with place.open("wb") if is_odd else nullcontext(place) as target:
        source.sink_parquet(target, compression="lz4", statistics=False, row_group_size=1 << 18)


def _write_text(tables: Tables, format: str, packing: str, place: Path) -> None:  # noqa: A002
    to_text: Mapping[str, Callable[..., str]] = {
        "csv": _delimited,
        "tsv": partial(_delimited, tabs=True),
        "jsonl": _jsonl,
        "trec": _trec,
    }
    with _OPEN[packing](place) as file:
        for number, table in enumerate(tables):
            content = to_text[format](table, header=number == 0)
            if packing == ".zst":  # a frame, as Polars writes it; frames can follow one another
                packed = io.BytesIO()
                lines = pl.DataFrame({"text": [content.removesuffix("\n")]})
                lines.write_csv(packed, include_header=False, quote_style="never", compression="zstd")
                file.write(packed.getvalue())
            else:
                file.write(content.encode())


def _delimited(table: pl.DataFrame, *, header: bool, tabs: bool = False) -> str:
    _refuse_kinds(table, lambda kind: kind.is_nested() or _is_no_text(kind))
    if tabs:
        _refuse(table, r"[\t\r\n]", "a tab or an end of line, which a TSV file")
        return table.write_csv(include_header=header, separator="\t", quote_style="never")
    ids = [name for name in ("query", "doc") if name in table.columns]
    _refuse(table.select(ids), r"[\r\n]", "an end of line, which ids in a CSV file")
    return table.write_csv(include_header=header)


def _refuse_kinds(table: pl.DataFrame, wrong: Callable[[Any], bool]) -> None:
    """Columns that the format has no words for."""
    odd = next(((name, kind) for name, kind in table.schema.items() if wrong(kind)), None)
    if odd is None:
        return
    name, kind = odd
    if kind.is_nested() and not _is_no_text(kind):
        raise InputError(f"The column {brief(name)!r} contains lists or objects; write .jsonl or .parquet.")
    raise InputError(f"The column {brief(name)!r} contains {kind}, which is not text; write .parquet.")


def _is_no_text(kind: Any) -> bool:
    inner = getattr(kind, "inner", None)
    fields = [field.dtype for field in getattr(kind, "fields", [])]
    parts = [*([] if inner is None else [inner]), *fields]
    return kind in (pl.Binary, pl.Duration, pl.Object) or any(map(_is_no_text, parts))


def _jsonl(table: pl.DataFrame, *, header: bool) -> str:  # noqa: ARG001  there is none
    """Infinity and NaN as text, for which JSON has no numbers and Polars writes null."""
    _refuse_kinds(table, _is_no_text)
    numbers = [name for name, kind in table.schema.items() if kind.is_float()]
    if all(table[name].is_finite().all() for name in numbers):
        return table.write_ndjson()
    lines = []
    for row in table.iter_rows(named=True):
        for name in numbers:
            if row[name] is not None and not math.isfinite(row[name]):
                row[name] = str(row[name])
        lines.append(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return "".join(lines)


def _trec(table: pl.DataFrame, *, header: bool) -> str:
    names = _QRELS if "grade" in table.columns else _RUN
    dropped = [name for name in table.columns if name not in names]
    if dropped and header:
        warn(f"TREC files have no columns {dropped}; they are left out.")
    # Best first; what is not a number comes last, as everywhere.
    numbers = pl.col("score").fill_nan(None)
    last = numbers.count() + pl.col("score").is_nan().cum_sum()
    rank = numbers.rank("ordinal", descending=True).fill_null(last).over("query").cast(pl.String)
    missing: dict[str, pl.Expr] = {
        "iteration": pl.lit("0"), "Q0": pl.lit("Q0"), "rank": rank, "tag": pl.lit("ranklens"),
    }  # fmt: skip
    added = {name: missing[name] for name in names if name not in table.columns}
    table = table.with_columns(**added).select(names)
    _refuse_kinds(table, lambda kind: kind.is_nested() or _is_no_text(kind))
    _refuse(table, r"[ \t\r\n\x0b\x0c]", "white space, which a TREC file")
    if table["query"].str.starts_with("#").any():
        raise InputError(
            "A query id that begins with # would be a comment in a TREC file; choose another format."
        )
    return table.write_csv(separator=" ", include_header=False, quote_style="never")


def _refuse(table: pl.DataFrame, pattern: str, what: str) -> None:
    """Ids that the format cannot hold."""
    for name, kind in table.schema.items():
        if kind == pl.String:
            wrong = table[name].filter(table[name].str.contains(pattern) | (table[name] == ""))
            if len(wrong):
                held = "nothing, which a table of text" if wrong[0] == "" else what
                raise InputError(
                    f"The {name} {wrong[0][:80]!r} contains {held} cannot hold; choose another format."
                )
