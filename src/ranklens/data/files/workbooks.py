"""Workbooks of Excel and LibreOffice: the sheet that holds the rows, as a Parquet file with the types of its cells."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ranklens.data.files.forking import polars_is_used
from ranklens.data.readers.frames import whole_ids
from ranklens.errors import InputError, MissingExtraError, warn
from ranklens.words import several

if TYPE_CHECKING:
    import polars as pl


def write_as_parquet(name: str, file: Path, copy: BinaryIO) -> None:
    """Write the first sheet that has rows; 7.0, as a sheet keeps every number, becomes 7."""
    import polars as pl

    polars_is_used()
    table = _first_sheet(name, file)
    whole = [whole_ids(column) for column in table]
    texts = [column.replace("", None) if column.dtype == pl.String else column for column in whole]
    pl.DataFrame(texts).write_parquet(copy)
    copy.flush()


def _first_sheet(name: str, file: Path) -> pl.DataFrame:
    import polars as pl

    try:
        fastexcel = import_module("fastexcel")  # with which Polars reads
    except ImportError:
        raise MissingExtraError(
            f"{name} is a workbook, which fastexcel reads; it is not installed: pip install 'ranklens[excel]'. Or save the sheet as CSV."
        ) from None
    try:
        content = file.read_bytes()
        sheets = pl.read_excel(
            content, sheet_id=0, engine="calamine", infer_schema_length=None, raise_if_empty=False
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"{name} cannot be read as a workbook: {reason}. Save the sheet as CSV.", path=name
        ) from None
    filled = {sheet: table for sheet, table in sheets.items() if len(table)}
    if not filled:
        raise InputError(
            f"{name}: no sheet has rows below its first line, which names the columns.", path=name
        )
    first, *others = filled
    if others:
        warn(
            f"{name} has several sheets with rows; {first!r} is read, and {several(list(map(repr, others)))} not. Put the sheet to read "
            "first."
        )
    return filled[first]
