"""Groups of queries: which slice (type, language, difficulty …) each query belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ranklens.errors import InputError, nearest
from ranklens.readers import frames

NONE = "(none)"  # the slice of queries that have no value
_ID_NAMES = (*frames.QUERY_NAMES, "_id", "id")


def slices_of(by: Any, queries: Any, ids: Sequence[str]) -> dict[str, str]:
    """The slice of each query: from ``{query: value}``, or from the column ``by`` of ``queries``.

    ``queries`` is a table, a file (CSV, TSV, JSONL, JSON, Parquet), a BEIR folder, ``{query: {column: value}}`` or a list of dicts;
    a column is also looked for under ``metadata``, where BEIR keeps it.

    >>> slices_of("type", [{"_id": "q1", "metadata": {"type": "how"}}], ["q1", "q2"])
    {'q1': 'how', 'q2': '(none)'}
    """
    if isinstance(by, Mapping):
        found = {str(query): value for query, value in by.items()}
    elif isinstance(by, str):
        if queries is None:
            raise InputError(
                f"by={by!r} names a column, but of which table? Give queries=…, or by={{query: value}}."
            )
        found = _column(by, _rows(queries))
    else:
        raise InputError(
            f"by is a {type(by).__name__}; give the name of a column of queries=…, or {{query: value}}."
        )
    named = {query: _name(found.get(query)) for query in ids}
    if all(name == NONE for name in named.values()):
        example = next(iter(found), None)
        raise InputError(
            f"by: none of the queries (the first is {ids[0]!r}) has a slice"
            + (
                "."
                if example is None
                else f"; there is one for {example!r}. Are the query ids of the same kind?"
            )
        )
    return named


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers by size, then words, then those without a value.

    >>> in_order(["(none)", "b", "10", "9"])
    ['9', '10', 'b', '(none)']
    """
    return sorted(set(names), key=lambda name: (name == NONE, _number(name), name))


def _number(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return float("inf")


def _name(value: Any) -> str:
    if value is None or value == "" or value != value:  # noqa: PLR0124  NaN
        return NONE
    if isinstance(value, (list, tuple, dict, set)):
        raise InputError(
            f"by: {value!r} is no slice; each query belongs to one, named by a text or a number."
        )
    return str(value)


def _rows(queries: Any) -> list[Mapping[str, Any]]:
    if isinstance(queries, (str, Path)):
        return _read(Path(queries))
    if isinstance(queries, Mapping):
        return [
            {"query": query, **(row if isinstance(row, Mapping) else {"text": row})}
            for query, row in queries.items()
        ]
    if frames.is_frame(queries):
        if getattr(getattr(queries, "index", None), "name", None):
            queries = queries.reset_index()  # pandas
        return list(frames.to_polars(queries).iter_rows(named=True))
    if isinstance(queries, Iterable):
        rows = list(queries)
        if all(isinstance(row, Mapping) for row in rows):
            return rows
    raise InputError(
        f"queries is a {type(queries).__name__}; give a table, the path of a file, or a list of dicts."
    )


def _read(path: Path) -> list[Mapping[str, Any]]:
    from ranklens.readers import files
    from ranklens.readers.sources import open_source

    path = path / "queries.jsonl" if path.is_dir() else path
    source = open_source(path)
    suffix = source.suffix.removeprefix(".")
    if suffix == "parquet":
        return list(files.read_table(path, "parquet").iter_rows(named=True))
    if suffix in ("csv", "tsv"):
        return list(files.read_table(path, suffix).iter_rows(named=True))
    try:
        text = source.read().decode("utf-8-sig")
        found = (
            json.loads(text)
            if suffix == "json"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
    except ValueError as error:
        raise InputError(
            f"{path} cannot be read: {error}. Queries come as CSV, TSV, JSONL, JSON or Parquet, told by the suffix."
        ) from None
    return _rows(found)


def _column(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = list(dict.fromkeys(column for row in rows for column in _flat(row)))
    key = next((column for column in _ID_NAMES if column in columns), None)
    if key is None:
        raise InputError(f"queries: no query among {columns}. Rename the column to 'query'.")
    if name not in columns:
        raise InputError(f"queries: there is no {name!r}: {nearest(name, [c for c in columns if c != key])}")
    return {str(row[key]): _flat(row).get(name) for row in rows if key in row}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with what BEIR keeps under ``metadata`` beside the rest."""
    inner = row.get("metadata")
    return {**(inner if isinstance(inner, Mapping) else {}), **row}
