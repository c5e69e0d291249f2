"""Parquet files, folders and globs of them → frames, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import polars as pl

from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.parts import is_in_parts, part_files
from ranklens.data.files.sources import PathLike, Source, for_polars
from ranklens.data.files.streams import ReadTable, TableStream
from ranklens.data.files.watching import report
from ranklens.data.readers import frames
from ranklens.errors import InputError, polars_failures

Convert: TypeAlias = "Callable[[pl.DataFrame], pl.DataFrame]"

_ROWS = 1 << 18  # read at a time


def stream_parquet(
    path: PathLike, convert: Convert, *, ranks: bool = False, whole: bool = False
) -> TableStream:
    """What ``convert`` makes of the columns that may hold a query, a document, a score, a grade, or a rank; or of all."""
    return TableStream(str(path), lambda: _pieces(path, convert, ranks=ranks, whole=whole))


def _pieces(path: PathLike, convert: Convert, *, ranks: bool, whole: bool) -> Iterator[ReadTable]:
    files = _files(path)
    if _differ(files):  # each is read by its own types
        for file in files:
            yield from _pieces(file, convert, ranks=ranks, whole=whole)
        return
    name, scan = str(path), _scan(str(path), files)
    names = scan.collect_schema().names()
    scan = scan.select(names if whole else frames.useful(names, ranks=ranks))
    # Most files end here; counting their rows would take as long as reading them.
    first = _collect(name, scan.head(_ROWS))
    rows = len(first)
    if rows == _ROWS:
        rows = int(_collect(name, scan.select(pl.len())).item())
    place = _place(path)
    size = place.stat().st_size if place.is_file() else rows
    yield partial(frames.converted, name, 0, partial(convert, first))
    del first

    def read(start: int, rows: pl.LazyFrame) -> pl.DataFrame:
        return frames.converted(name, start, lambda: convert(_collect(name, rows)))

    for start in range(_ROWS, rows, _ROWS):
        report(name, int(size * start / rows), size)
        yield partial(read, start, scan.slice(start, _ROWS))
    report(name, size, size)


def _collect(name: str, scan: pl.LazyFrame) -> pl.DataFrame:
    try:
        return scan.collect()
    except polars_failures(OSError) as error:
        raise _not_parquet(name, error) from None


def scan_parquet(path: PathLike) -> pl.LazyFrame:
    """A file, or all files of a folder or pattern, to be read."""
    files = _files(path)
    if not _differ(files):
        return _scan(str(path), files)
    return pl.concat([_scan(str(file), [file]) for file in files], how="diagonal_relaxed")


def _scan(name: str, files: Sequence[Path]) -> pl.LazyFrame:
    """Files with the same columns."""
    polars_is_used()
    try:
        scan = pl.scan_parquet([for_polars(file) for file in files], glob=False)  # type: ignore[arg-type]
        scan.collect_schema()
    except polars_failures(OSError) as error:
        raise _not_parquet(name, error) from None
    return scan


def _differ(files: list[Path]) -> bool:
    """Whether parts have other types or columns than others, as those of several writers do."""
    if len(files) < 2:
        return False
    try:
        schemas = (pl.scan_parquet(for_polars(file), glob=False).collect_schema() for file in files)
        return len({tuple(schema.items()) for schema in schemas}) > 1
    except polars_failures(OSError):
        return False  # which reading them says better


def _place(path: PathLike) -> Path:
    return path.path if isinstance(path, Source) else Path(path)


def _files(path: PathLike) -> list[Path]:
    """A path that exists is meant as it is, whatever signs it holds; only what does not exist is a pattern."""
    place = _place(path)
    return part_files(place, "parquet") if is_in_parts(place) else [place]


def _not_parquet(name: str, error: BaseException) -> InputError:
    reason = next(iter(str(error).splitlines()), "")
    return InputError(f"{name} cannot be read as parquet: {reason}")
