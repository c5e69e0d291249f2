"""Tables of anything with named fields: from dicts, lists, frames and files → one dict a row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ranklens.errors import InputError
from ranklens.readers import files, frames
from ranklens.readers.sources import Source, open_source

_HEADERLESS = ("_id", "text")  # as the queries of MS MARCO


def read_rows(value: Any, what: str = "queries") -> list[dict[str, Any]]:
    """Rows of a dict by id, a list of dicts, a table, a file, or that file of a BEIR folder which ``what`` names.

    Files are JSONL, JSON, CSV, TSV or Parquet, compressed or not. The keys of a dict stand in the field ``_id``, its plain values in ``text``. A tab-separated file of two columns without a
    header holds ids and texts.

    >>> read_rows({"q1": "why?"})
    [{'_id': 'q1', 'text': 'why?'}]
    """
    if isinstance(value, (str, Path)):
        return _from_file(value, what)
    if isinstance(value, Mapping):
        return [
            {"_id": key, **(row if isinstance(row, Mapping) else {"text": row})} for key, row in value.items()
        ]
    if frames.is_frame(value):
        if getattr(getattr(value, "index", None), "name", None):
            value = value.reset_index()  # pandas
        return frames.to_polars(value).to_dicts()
    if isinstance(value, Iterable):
        rows = list(value)
        wrong = next((n for n, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if wrong is None:
            return [dict(row) for row in rows]
        raise InputError(
            f"{what}: entry {wrong + 1} is a {type(rows[wrong]).__name__} {rows[wrong]!r:.60}; give dicts with an id."
        )
    raise InputError(
        f"{what} is a {type(value).__name__}; give a dict by id, a list of dicts, a table, or the path of a file or "
        "of a BEIR folder."
    )


def _from_file(path: str | Path, what: str) -> list[dict[str, Any]]:
    place = _in_folder(Path(path), what)
    source = open_source(place)
    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        if head.startswith(b"PAR1"):
            return files.read_table(place, "parquet").to_dicts()
        if source.suffix == ".json" or head.startswith(b"["):
            return read_rows(json.loads(source.read().decode("utf-8-sig")), what)
        if head.startswith(b"{"):
            lines = source.read().decode("utf-8-sig").splitlines()
            return read_rows([json.loads(line) for line in lines if line.strip()], what)
        return _separated(place, source)
    except InputError as error:
        raise InputError(str(error) if source.name in str(error) else f"{source.name}: {error}") from None
    except ValueError as error:
        raise InputError(
            f"{source.name} cannot be read: {error}. {what.capitalize()} come as JSONL, JSON, CSV, TSV or Parquet."
        ) from None


def _in_folder(path: Path, what: str) -> Path:
    if not path.is_dir():
        return path
    found = next(iter(sorted(path.glob(f"{what}.*"))), None)
    if found is None:
        raise InputError(f"{path}: there is no {what}.jsonl in this folder; a BEIR folder has one.")
    return found


def _separated(place: Path, source: Source) -> list[dict[str, Any]]:
    first = source.head().decode("utf-8-sig", errors="replace").partition("\n")[0]
    names = first.rstrip("\r").split("\t")
    kind = "tsv" if len(names) > 1 or source.suffix == ".tsv" else "csv"
    known = {*frames.QUERY_NAMES, *frames.DOC_NAMES, "id", "_id", "text"}
    if len(names) == 2 and not {name.strip().lower() for name in names} & known:
        lines = source.read().decode("utf-8-sig").splitlines()
        return [dict(zip(_HEADERLESS, line.split("\t"), strict=False)) for line in lines if line.strip()]
    return files.read_table(place, kind).to_dicts()
