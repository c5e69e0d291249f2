"""How results are written: in the format that is asked for, else the one that the suffix of the file names."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ranklens.data.files import output as out
from ranklens.data.files.suffixes import PACKINGS, TABLES
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.words import either

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from ranklens.tables.table import Printout


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    markdown = "markdown"
    latex = "latex"


Known = TypeVar("Known", bound=Enum)


def asked(known: type[Enum]) -> Description:
    """The option ``--format``; its choices stand in the help, where they do not widen a column."""
    choices = ", ".join(one.value for one in known)
    return Description(
        f"Output format: {choices}. Default: by the suffix of -o, else table.",
        flags=("--format",),
        metavar="FORMAT",
    )


_SUFFIXES = {
    ".json": "json",
    **TABLES,
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
    *PACKINGS,
)  # never plain text for a person


def format_of(asked: Known | None, output: Path | None, known: type[Known]) -> Known:
    """The format that was asked for, else that of the file, else a table.

    >>> format_of(None, Path("x.json"), Format).value, format_of(None, Path("x.txt"), Format).value
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


def write(
    shown: Printout,
    written: Format,
    output: Path | None,
    *,
    rows: Callable[[], pl.DataFrame],
    content: Callable[[], Any],
) -> None:
    """A result as people see it, as rows with all digits, or as JSON with all there is."""
    if written is Format.table and out.is_standard_output(output):
        from ranklens.tables import terminal

        terminal.show(shown)
    elif written is Format.parquet:
        write_parquet(rows(), output)
    else:
        out.write_text(_text(shown, written, rows, content), output)


def _text(
    shown: Printout, written: Format, rows: Callable[[], pl.DataFrame], content: Callable[[], Any]
) -> str:
    if written is Format.json:
        return json.dumps(content(), ensure_ascii=False, indent=2, default=_date) + "\n"
    if written in (Format.table, Format.markdown, Format.latex):
        text = {Format.table: shown.__str__, Format.markdown: shown.to_markdown, Format.latex: shown.to_latex}
        return text[written]() + "\n"
    return as_rows(rows(), written)


def as_rows(frame: pl.DataFrame, written: Enum) -> str:
    """One object or line per row, with all digits."""
    if written.value == "jsonl":
        return "".join(
            json.dumps(row, ensure_ascii=False, default=_date) + "\n" for row in frame.iter_rows(named=True)
        )
    return frame.write_csv(separator="," if written.value == "csv" else "\t")


def _date(value: Any) -> str:
    return str(value.isoformat())


def write_parquet(frame: pl.DataFrame, output: Path | None) -> None:
    """A table as Parquet, to a file or to standard output."""
    out.write_whole(Path("-") if output is None else output, frame.write_parquet)
