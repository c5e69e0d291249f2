"""Golden sets as they are, row by row, to be written in another format: texts, fields and unanswerable questions stay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens.data.files import formats, recognition, tables
from ranklens.data.files.json_files import json_document, json_lines
from ranklens.data.files.sources import PathLike, Source
from ranklens.data.readers import frames, names, records
from ranklens.data.readers.cells import lists_questions, with_lists
from ranklens.data.readers.names import USUAL
from ranklens.errors import InputError, polars_failures

if TYPE_CHECKING:
    import polars as pl


def golden_rows(source: PathLike) -> list[dict[str, Any]] | None:
    """The rows of a golden set, lists as lists; None for judgments, runs and logs."""
    place, kind = recognition.locate(source, None, "qrels")
    if kind in ("csv", "tsv") and isinstance(place, Source):
        columns = tables.header(place.head(), tables.separator_of(place.head(), kind))
        if not lists_questions(columns, "golden", USUAL):
            return None
        rows = with_lists(formats.read_table(place, kind).to_dicts(), USUAL)
    elif kind == "parquet" and isinstance(place, Source):
        columns = formats.scanned_columns(place)
        if frames.has_documents_among(columns) or not lists_questions(columns, "golden", USUAL):
            return None
        rows = with_lists(formats.read_table(place, kind).to_dicts(), USUAL)
    elif kind in ("json", "jsonl") and isinstance(place, Source) and formats.may_hold_records(place, kind):
        content = records.unwrapped(json_document(place) if kind == "json" else json_lines(place))
        rows = content if isinstance(content, list) and all(isinstance(row, dict) for row in content) else []
    else:
        return None
    return rows if rows and _are_golden(rows) else None


def _are_golden(rows: Sequence[Mapping[str, object]]) -> bool:
    if any(records.says_what_was_retrieved(row) for row in rows):
        return False
    return any(
        records.says_what_is_relevant(row) or names.given(row, names.EXPECTED_TEXTS) is not None
        for row in rows
    )


def as_frame(rows: Sequence[dict[str, Any]], *, in_cells: bool) -> pl.DataFrame:
    """The rows as a table, for CSV and TSV with lists in cells: ``c1|c2``, or as JSON where that would not be read back.

    >>> as_frame([{"id": "q", "expected_ids": ["a", "b"]}, {"id": "r", "expected_ids": []}], in_cells=True).rows()
    [('q', 'a|b'), ('r', None)]
    """
    changed = [{key: _cell(value) for key, value in row.items()} for row in rows] if in_cells else list(rows)
    try:
        return tables.frame_of_rows(changed)
    except polars_failures(TypeError, UnicodeEncodeError) as error:
        raise InputError(
            f"These rows do not fit into a table: {error}. Write .csv, which has lists in cells."
        ) from None


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        is_plain = all(isinstance(part, str) and part == part.strip() and part for part in value)
        joined = "|".join(value) if is_plain else ""
        ambiguous = any("|" in part for part in value if isinstance(part, str)) or joined.startswith(
            ("[", "{")
        )
        if is_plain and not ambiguous and (len(value) != 1 or not any(sign in joined for sign in ";,\n")):
            return joined or None
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value
