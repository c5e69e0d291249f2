"""How results are written: in the format that is asked for, else the one that the suffix of the file names."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ranklens.errors import InputError
from ranklens.files import output as out
from ranklens.words import either

if TYPE_CHECKING:
    import polars as pl

Format = TypeVar("Format", bound=Enum)

HELP = "Output format; by default that of the suffix of -o, else table."
_SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
}
_OF_OTHERS = (
    ".arrow",
    ".docx",
    ".feather",
    ".ipc",
    ".ods",
    ".pdf",
    ".xls",
    ".xlsx",
    ".xml",
    ".yaml",
    ".yml",
)  # never plain text for a person


def format_of(asked: Format | None, output: Path | None, known: type[Format]) -> Format:
    """The format that was asked for, else that of the file, else a table.

    >>> class Known(Enum):
    ...     table, json = "table", "json"
    >>> format_of(None, Path("x.json"), Known).value, format_of(None, Path("x.txt"), Known).value
    ('json', 'table')
    """
    if asked is not None:
        return asked
    suffix = "" if output is None else output.suffix.lower()
    named = _SUFFIXES.get(suffix, suffix.removeprefix(".") if suffix in _OF_OTHERS else None)
    if named is None:
        return known("table")
    choices = {one.value: one for one in known}
    if named not in choices:
        suffixes = {value: suffix for suffix, value in reversed(_SUFFIXES.items()) if value in choices}
        raise InputError(
            f"{output}: this command cannot write {named}. Choose a name that ends in {either([*suffixes.values()][::-1])}, or --format."
        )
    return choices[named]


def write_parquet(frame: pl.DataFrame, output: Path | None) -> None:
    """A table as Parquet, to a file or to standard output."""
    out.write_whole(Path("-") if output is None else output, frame.write_parquet)


def as_jsonl(frame: pl.DataFrame) -> str:
    """One object per row."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in frame.iter_rows(named=True))
