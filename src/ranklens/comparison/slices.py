"""Groups of queries: which slice (type, language, difficulty …) each query belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ranklens import words
from ranklens.data.files.rows import read_rows
from ranklens.data.readers import frames, names
from ranklens.errors import InputError, nearest

NONE = "(none)"  # the slice of queries that have no value
# Where a table has both an id and a query, the query is its text.
_ID_NAMES = ("_id", *names.SAY_ID, "id", *frames.QUERY_NAMES)


def slices_of(by: object, queries: object, ids: Sequence[str], *, what: str = "by") -> dict[str, str]:
    """The slice of each query: from ``{query: value}``, or from the column ``by`` of ``queries``.

    ``queries`` is a table, a file (CSV, TSV, JSONL, JSON, Parquet), a BEIR folder, ``{query: {column: value}}`` or a list of dicts;
    a column is also looked for under ``metadata``, where BEIR keeps it.

    >>> slices_of("type", [{"_id": "q1", "metadata": {"type": "how"}}], ["q1", "q2"])
    {'q1': 'how', 'q2': '(none)'}
    """
    if isinstance(by, Mapping):
        value_of = {str(query): value for query, value in by.items()}
    elif isinstance(by, str):
        if queries is None:
            raise InputError(
                f"{what}={by!r} names a column, but no table was given. Pass queries=…, or {what}={{query: value}}."
            )
        value_of = values_of(by, queries)
    else:
        raise InputError(
            f"{what} is {words.kind(by)}; pass the name of a column of queries=…, or {{query: value}}."
        )
    kind, named = "slice" if what == "by" else "cluster", {}
    for query in ids:
        value = value_of.get(query)
        if isinstance(value, (list, tuple, dict, set)):
            raise InputError(
                f"{what}: {value!r} is not a {kind}; each query belongs to one, named by a text or a number."
            )
        is_empty = value is None or value == "" or value != value  # noqa: PLR0124  NaN
        named[query] = NONE if is_empty else str(value)
    if all(name == NONE for name in named.values()):
        hint = "".join(
            f"; there is one for {example!r}. Do the query ids have the same format?"
            for example in [*value_of][:1]
        )
        raise InputError(f"{what}: none of the queries (the first is {ids[0]!r}) has a {kind}{hint or '.'}")
    return named


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers by size, then words, then those without a value.

    >>> in_order(["(none)", "b", "10", "9"])
    ['9', '10', 'b', '(none)']
    """

    def place(name: str) -> tuple[bool, float, str]:
        try:
            return name == NONE, float(name), name
        except ValueError:
            return name == NONE, math.inf, name

    return sorted(set(names), key=place)


def values_of(name: str, queries: object) -> dict[str, object]:
    """A column of a table of queries, by query."""
    rows = read_rows(queries)
    columns = list(dict.fromkeys(column for row in rows for column in _flat(row)))
    key = next((column for column in _ID_NAMES if column in columns and column != name), None)
    if key is None:
        raise InputError(f"queries: no query among {columns}. Rename the column to 'query'.")
    if name not in columns:
        raise InputError(f"queries: there is no {name!r}: {nearest(name, [c for c in columns if c != key])}")
    return {str(row[key]): _flat(row).get(name) for row in rows if key in row}


def _flat(row: Mapping[str, object]) -> dict[str, object]:
    """The row with BEIR's ``metadata`` merged into it."""
    inner = row.get("metadata")
    return {**(inner if isinstance(inner, Mapping) else {}), **row}
