"""JSON files that are read as a whole: one document, or one per line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ranklens.data.files import trec
from ranklens.data.files.json_reading import RepeatedKeyError, loads_ids
from ranklens.data.files.sources import Source, without_bom
from ranklens.errors import InputError


def json_lines(source: Source) -> list[object]:
    """What each line says; errors name the line."""
    rows: list[Any] = []
    for number, line in enumerate(_decode(source).split("\n"), 1):
        if line.strip():
            try:
                rows.append(loads_ids(line))
            except RepeatedKeyError as error:
                raise InputError(f"{source.name}:{number}: {error}.", path=source.name, line=number) from None
            except ValueError as error:
                raise InputError(
                    f"{source.name}:{number}: this is not JSON: {error}.", path=source.name, line=number
                ) from None
    return rows


def json_document(source: Source) -> Any:
    """What the file says as a whole."""
    source.check_json()
    content = _decode(source)
    try:
        document = loads_ids(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source.name}:{error.lineno}: this is not JSON: {error.msg}.",
            path=source.name,
            line=error.lineno,
        ) from None
    except ValueError as error:
        raise InputError(f"{source.name} cannot be read as JSON: {error}.", path=source.name) from None
    if isinstance(document, Mapping) and not document:
        raise InputError(f"{source.name}: the file is empty.", path=source.name)
    return document


def _decode(source: Source) -> str:
    try:
        return trec.decode(without_bom(source.read()))
    except trec.WrongLine as wrong:
        raise InputError(
            f"{source.name}:{wrong.line}: {wrong.message}", path=source.name, line=wrong.line
        ) from None
