"""Spans in the shapes in which they are exported → one shape, with nested attributes.

OTLP JSON, the JSON of OpenTelemetry's SDK, its span objects, and Phoenix's tables and files are understood. Attributes may be flat
(``retrieval.documents.0.document.id``) or nested.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from ranklens.data.readers.names import EXPECTED, RETRIEVED, given, plain
from ranklens.data.readers.paths import follow
from ranklens.errors import InputError

_PREFIX = "attributes."  # of columns in tables of spans
_FAILED = {"2", "error", "status_code_error"}


@dataclass(frozen=True)
class Span:
    """One step of a trace."""

    name: str
    trace: str
    id: str
    parent: str | None
    attributes: Mapping[str, object]
    start: float | None = None  # seconds since 1970
    end: float | None = None
    error: str | None = None

    def get(self, path: str) -> object:
        """An attribute, parsed if it is JSON in a text; None if there is none."""
        return parsed(follow(self.attributes, path))

    @cached_property
    def kind(self) -> str:
        """OpenInference's, such as ``RETRIEVER``."""
        return str(self.get("openinference.span.kind") or "").upper()

    @property
    def seconds(self) -> float | None:
        return None if self.start is None or self.end is None else self.end - self.start


@runtime_checkable
class Array(Protocol):
    """An array of NumPy, a column of pandas or of PyArrow."""

    def tolist(self) -> object: ...


_MARKS = {"resource_spans", "scope_spans", "spans", "trace_id", "span_id", "context.span_id"}


def are_spans(content: object) -> bool:
    """Whether rows, or the first of them, are spans or hold some, rather than records of a log.

    >>> are_spans([{"name": "search", "attributes": {}}]), are_spans([{"trace_id": "t", "retrieved": ["d1"]}])
    (True, False)
    """
    first = next(iter(content), None) if isinstance(content, list) else content
    if not isinstance(first, Mapping) or given(first, (*RETRIEVED, *EXPECTED)) is not None:
        return False
    keys = {plain(str(key)) for key in first}
    return bool(keys & _MARKS) or {"name", "attributes"} <= keys


def read_spans(rows: Iterable[object]) -> Iterator[Span]:
    """The spans of rows, lines or objects; one of them may hold many, as OTLP has it."""
    for number, row in enumerate(rows, 1):
        yield from _spans_in(row, number)


def _spans_in(row: object, number: int) -> Iterator[Span]:
    fields = row if isinstance(row, Mapping) else _fields(row)
    inside = given(fields, ("resource_spans", "scope_spans", "spans", "batches", "data"))
    if isinstance(inside, list):
        for part in inside:
            yield from _spans_in(part, number)
        return
    attributes = _attributes(fields)
    if not attributes:
        keys = list(fields)[:12] or type(row).__name__
        raise InputError(
            f"Span {number} has no attributes; it has {keys}. A span is OTLP JSON, what OpenTelemetry's to_json "
            "writes, one of its objects, or a row of Phoenix's table of spans."
        )
    parent = _first(fields, "parent_id", "parent_span_id")
    yield Span(
        str(given(fields, ("name", "span_name")) or "retriever"),
        str(_first(fields, "trace_id", "context.trace_id") or ""),
        str(_first(fields, "span_id", "context.span_id", "id") or number),
        str(parent) if parent else None,
        attributes,
        _seconds(_first(fields, "start_time", "start_time_unix_nano")),
        _seconds(_first(fields, "end_time", "end_time_unix_nano")),
        _error(fields),
    )


def _fields(span: object) -> dict[str, object]:
    """A span object of OpenTelemetry's SDK."""
    return {
        "name": follow(span, "name"),
        "trace_id": follow(span, "context.trace_id"),
        "span_id": follow(span, "context.span_id"),
        "parent_id": follow(span, "parent.span_id"),
        "attributes": dict(follow(span, "attributes") or {}),
        "start_time": follow(span, "start_time"),
        "end_time": follow(span, "end_time"),
        "status": {
            "code": follow(span, "status.status_code.name"),
            "message": follow(span, "status.description"),
        },
        "events": list(follow(span, "events") or []),
    }


def _first(fields: Mapping[str, object], *places: str) -> object:
    """The first of these that the fields have, as a name in any spelling or as a path."""
    values = (value for place in places for value in (follow(fields, place), given(fields, (place,))))
    return next((value for value in values if value is not None), None)


def _attributes(fields: Mapping[str, object]) -> dict[str, object]:
    attributes = parsed(fields.get("attributes"))
    if isinstance(attributes, list):  # OTLP: [{"key": …, "value": {"stringValue": …}}]
        attributes = {
            entry["key"]: _otlp(entry.get("value"))
            for entry in attributes
            if isinstance(entry, Mapping) and "key" in entry
        }
    if not isinstance(attributes, Mapping):  # a table: one column per attribute
        attributes = {key[len(_PREFIX) :]: value for key, value in fields.items() if key.startswith(_PREFIX)}
    nested = _nested(attributes)
    if not isinstance(nested, dict):
        return {}
    kind = fields.get("span_kind")  # Phoenix's tables
    if isinstance(kind, str) and follow(nested, "openinference.span.kind") is None:
        nested["openinference"] = {"span": {"kind": kind}}
    return nested


def _otlp(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    for kind, content in value.items():
        if kind in ("arrayValue", "array_value"):
            return [_otlp(entry) for entry in content.get("values", [])]
        if kind in ("kvlistValue", "kvlist_value"):
            return {entry["key"]: _otlp(entry.get("value")) for entry in content.get("values", [])}
        return int(content) if kind in ("intValue", "int_value") else content
    return None


def _nested(value: object) -> object:
    """Dicts and lists from keys with dots: ``{"a.0.b": 1}`` becomes ``{"a": [{"b": 1}]}``.

    >>> _nested({"documents.1.id": "b", "documents.0.id": "a", "input.value": "why?"})
    {'documents': [{'id': 'a'}, {'id': 'b'}], 'input': {'value': 'why?'}}
    """
    if isinstance(value, (str, int, float)):  # nearly all are, and asking for a method takes long
        return value
    if isinstance(value, (list, tuple)):
        return [_nested(entry) for entry in value]
    if not isinstance(value, Mapping):
        return _nested(value.tolist()) if isinstance(value, Array) else value
    root: dict[str, Any] = {}
    for key, entry in value.items():
        if entry is None:
            continue
        *path, last = str(key).split(".")
        here = root
        for part in path:
            here = here.setdefault(part, {})
            if not isinstance(here, dict):  # a.b next to a: the longer one is left out
                break
        else:
            before, inner = here.get(last), _nested(entry)
            if isinstance(before, dict) and isinstance(inner, dict):
                inner = {**before, **inner}
            here[last] = inner
    return _listed(root)


def _listed(value: object) -> object:
    """Dicts whose keys are all numbers as lists, in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inside = {key: _listed(entry) for key, entry in value.items()}
    if inside and all(key.isdecimal() for key in inside):
        return [inside[key] for key in sorted(inside, key=int)]
    return inside


def _seconds(value: Any) -> float | None:
    """A time: nanoseconds since 1970, a text, or a datetime."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value.timestamp()
    try:
        return int(value) / 1e9
    except (TypeError, ValueError):
        pass
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _error(fields: Mapping[str, object]) -> str | None:
    """What went wrong in a span that failed."""
    status = given(fields, ("status", "status_code"))
    code = given(status, ("code", "status_code")) if isinstance(status, Mapping) else status
    if str(code).lower() not in _FAILED:
        return None
    # The last exception among the events: some instrumentations put a whole traceback into the status.
    events = parsed(fields.get("events"))
    for event in reversed(events) if isinstance(events, (list, tuple)) else ():
        attributes = _attributes(event if isinstance(event, Mapping) else {"attributes": event.attributes})
        parts = follow(attributes, "exception.type"), follow(attributes, "exception.message")
        if any(parts):
            return ": ".join(str(part) for part in parts if part)
    message = given(status, ("message", "description")) if isinstance(status, Mapping) else None
    return str(message or given(fields, ("status_message",)) or "error")


def parsed(value: object) -> Any:
    """A text that holds a JSON object or list, as that; any other value as it is.

    >>> parsed('["a"]'), parsed("[draft] a question")
    (['a'], '[draft] a question')
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
