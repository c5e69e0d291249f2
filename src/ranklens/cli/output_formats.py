"""How results are written: in the format that is asked for, else the one that the suffix of the file names."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ranklens.data.files import output as out
from ranklens.data.files.suffixes import PACKINGS, TABLES
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.words import either

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

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
Rows: TypeAlias = "pl.DataFrame | list[dict[str, object]]"


def asked(known: type[Enum]) -> Description:
    """The option ``--format``; its choices stand in the help, where they do not widen a column."""
    choices = ", ".join(one.value for one in known)
    return Description(
        f"Output format: {choices}. Default: by the suffix of -o, else table.",
        flags=("--format",),
        metavar="FORMAT",
    )


_SUFFIXES = {".json": "json", **TABLES, ".md": "markdown", ".tex": "latex", ".html": "html"}
_OFFICE = (".arrow", ".docx", ".feather", ".ipc", ".ods", ".pdf", ".xls", ".xlsx", ".xml")
_OF_OTHERS = (*_OFFICE, *PACKINGS)  # never plain text for a person


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
    written: Enum,
    output: Path | None,
    *,
    shown: Printout | Callable[[int | None], Printout],
    rows: Callable[[], Rows] = list,
    content: Callable[[], object] = dict,
    texts: Mapping[str, Callable[[], str]] = {},
    guarded: bool = False,
) -> None:
    """A result as people see it, as rows with all digits, or as JSON with all there is.

    ``shown`` may depend on the width of the terminal, if it is shown on one. ``texts`` are the formats that a result writes in its own
    way. ``guarded`` keeps spreadsheets from taking text for a formula.
    """
    from ranklens.tables import terminal

    if written.value in texts:
        out.write_text(texts[written.value]().rstrip("\n") + "\n", output)
    elif (
        written.value == "table"
        and out.is_standard_output(output)
        and (console := terminal.terminal()) is not None
    ):
        terminal.show(shown(console.width) if callable(shown) else shown, console)
    elif written.value in ("table", "markdown", "latex"):
        seen = shown(None) if callable(shown) else shown
        render = {"table": seen.__str__, "markdown": seen.to_markdown, "latex": seen.to_latex}
        out.write_text(render[written.value]() + "\n", output)
    elif written.value == "json":
        out.write_text(json.dumps(content(), ensure_ascii=False, indent=2, default=_date) + "\n", output)
    elif written.value == "jsonl":
        table = rows()
        lines = table if isinstance(table, list) else table.iter_rows(named=True)
        text = "".join(json.dumps(row, ensure_ascii=False, default=_date) + "\n" for row in lines)
        out.write_text(text, output)
    elif written.value == "parquet":
        out.write_whole(Path("-") if output is None else output, _frame(rows()).write_parquet)
    else:
        frame = _frame(rows())
        if guarded:
            import polars as pl

            from ranklens.tables.table import no_formula

            frame = frame.with_columns(pl.col(pl.String).map_elements(no_formula, pl.String))
        out.write_text(frame.write_csv(separator="," if written.value == "csv" else "\t"), output)


def _frame(rows: Rows) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None) if isinstance(rows, list) else rows


def _date(value: datetime) -> str:
    return value.isoformat()
