"""Lists that a table keeps in one cell: ``c1|c2``, ``c1; c2``, ``["c1", "c2"]``.

A CSV file or a sheet has one row per question that way. How the cells of a column are divided is decided once for the whole
column, so that a comma within an id divides nothing where ``|`` divides the others.
"""

from __future__ import annotations

import ast
import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ranklens.data.readers import frames, names
from ranklens.data.readers.names import Names, plain
from ranklens.errors import InputError

_SIGNS = ("|", ";", "\n", ",")
_NUMBERS = (*names.SECONDS, *names.MILLISECONDS, *names.COSTS, *names.TOKENS)


def lists_questions(columns: Sequence[str], half: str, where: Names) -> bool:
    """Whether a table of text with these columns has one row per question: it names a list of documents, and no document.

    >>> lists_questions(["id", "question", "expected_ids"], "golden", Names())
    True
    >>> lists_questions(["query", "doc_id", "relevant"], "golden", Names())
    False
    """
    if not {*where.own.get("expected", ()), *where.own.get("retrieved", ())}.isdisjoint(columns):
        return True
    if "doc" in where.own or frames.has_documents_among(columns):
        return False
    in_short = {*map(plain, columns)}
    if half == "log" and not in_short.isdisjoint((*names.SCORES, *names.RANKS)):
        return False  # each row is about one document
    lists = {*names.EXPECTED, *names.EXPECTED_TEXTS, *names.RETRIEVED, *names.ANSWERABLE}
    return not lists.isdisjoint(in_short)


def with_lists(rows: Sequence[Mapping[str, object]], where: Names) -> list[dict[str, object]]:
    """Rows about questions with lists for the cells that hold one; an empty cell of such a column is an empty list.

    >>> with_lists([{"id": "q1", "expected_ids": "a; b"}, {"id": "q2", "expected_ids": None}], Names())
    [{'id': 'q1', 'expected_ids': ['a', 'b']}, {'id': 'q2', 'expected_ids': []}]
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    _refuse_documents(rows, where)
    changed = [dict(row) for row in rows]
    ids = {*_expected(where), *names.RETRIEVED}
    own = {*where.own.get("expected", ()), *where.own.get("retrieved", ())}
    for name in columns:
        short = plain(name)
        is_text = short in names.EXPECTED_TEXTS or (where.by_text and (short in ids or name in own))
        if name in own or short in ids or short in names.EXPECTED_TEXTS:
            _divide(changed, name, signs=("|",) if is_text else _SIGNS)
        elif short in names.GRADES_APART:
            _divide(changed, name, signs=_SIGNS, numbers=True)
        elif short in _NUMBERS:
            for row in changed:
                row.update({name: _as_number(row[name])} if name in row else {})
    return changed


def _refuse_documents(rows: Sequence[Mapping[str, object]], where: Names) -> None:
    """Refuse a log with several rows per question, each about one document: the last of them would win."""
    cells = [
        (where.find(row, "query") or where.find(row, "text"), where.find(row, "retrieved")) for row in rows
    ]
    times = Counter(str(query) for query, cell in cells if cell is not None)
    query, most = next(iter(times.most_common(1)), ("", 1))
    single = all(
        isinstance(cell, str) and not any(sign in cell for sign in _SIGNS)
        for _, cell in cells
        if cell is not None
    )
    if most > 1 and single:
        raise InputError(
            f"Question {query!r} has {most} rows, each with one retrieved document. Name the column of documents doc, and add a column "
            "rank or score; or write one row per question, with its documents in one cell: c1|c2|c3."
        )


def _expected(where: Names) -> tuple[str, ...]:
    return names.EXPECTED_TEXTS if where.by_text else names.EXPECTED


def _divide(
    rows: Sequence[dict[str, object]], name: str, signs: Sequence[str], *, numbers: bool = False
) -> None:
    """Put lists into a column whose cells are texts; anything else stays as it is."""
    rows = [row for row in rows if name in row]
    cells = [row[name] for row in rows if isinstance(row[name], str)]
    sign = next(
        (one for one in signs if any(one in str(cell) and _structure(cell) is None for cell in cells)), None
    )
    for row in rows:
        cell = row[name]
        if cell is None:
            row[name] = None if numbers else []
        elif isinstance(cell, str):
            divided = _structure(cell)
            parts = divided if divided is not None else _parts(cell, sign)
            row[name] = list(map(_as_number, parts)) if numbers and isinstance(parts, list) else parts
        elif isinstance(cell, (int, float)) and not numbers:  # a column of single ids that look like numbers
            row[name] = [int(cell) if float(cell).is_integer() else cell]


def _parts(cell: str, sign: str | None) -> list[str]:
    if sign is None:
        return [cell.strip()] if cell.strip() else []
    quoted = (
        next(csv.reader([cell], delimiter=sign, skipinitialspace=True)) if sign != "\n" else cell.split(sign)
    )
    return [part.strip() for part in quoted if part.strip()]


def _structure(cell: object) -> list[object] | dict[str, object] | None:
    """A list or dict in JSON, or as Python prints it, which pandas writes to CSV; None for other text.

    >>> _structure("['a', 'b']"), _structure('{"a": 2}'), _structure("[draft] a|b")
    (['a', 'b'], {'a': 2}, None)
    """
    text = str(cell).strip()
    if not text.startswith(("[", "{")):
        return None
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = read(text)
            if isinstance(value, (list, dict)):
                return value
    return None


def _as_number(value: object) -> object:
    """The number that a text says; anything else as it is."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value
