"""Spans in the shapes in which they are exported → one shape, with nested attributes.

OTLP JSON, the JSON of OpenTelemetry's SDK, its span objects, and Phoenix's tables and files are understood. Attributes may be flat
(``retrieval.documents.0.document.id``) or nested.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ranklens.data.readers.names import given
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
    attributes: Mapping[str, Any]
    start: float | None = None  # seconds since 1970
    end: float | None = None
    error: str | None = None

    def get(self, path: str) -> Any:
        """An attribute; None if there is none."""
        return follow(self.attributes, path)

    @property
    def seconds(self) -> float | None:
        return None if self.start is None or self.end is None else self.end - self.start


def read_spans(rows: Iterable[Any]) -> Iterator[Span]:
    """The spans of rows, lines or objects; one of them may hold many, as OTLP has it."""
    for number, row in enumerate(rows, 1):
        for span in _unpacked(row):
            yield _span(span, number)


def _unpacked(row: Any) -> Iterator[Any]:
    if not isinstance(row, Mapping):
        yield row
        return
    inside = given(row, ("resource_spans", "scope_spans", "spans", "batches", "data"))
    if isinstance(inside, list):
        for part in inside:
            yield from _unpacked(part)
    else:
        yield row


def _span(row: Any, number: int) -> Span:
    fields = row if isinstance(row, Mapping) else _fields(row)
    attributes = _attributes(fields)
    if not attributes:
        keys = list(fields)[:12] or type(row).__name__
        raise InputError(
            f"Span {number} has no attributes; it has {keys}. A span is OTLP JSON, what OpenTelemetry's to_json "
            "writes, one of its objects, or a row of Phoenix's table of spans."
        )
    status = given(fields, ("status", "status_code"))
    return Span(
        str(given(fields, ("name", "span_name")) or "retriever"),
        str(_first(fields, "trace_id", "context.trace_id") or ""),
        str(_first(fields, "span_id", "context.span_id", "id") or number),
        _parent(fields),
        attributes,
        _seconds(_first(fields, "start_time", "start_time_unix_nano")),
        _seconds(_first(fields, "end_time", "end_time_unix_nano")),
        _error(status, fields),
    )


def _fields(span: Any) -> dict[str, Any]:
    """A span object of OpenTelemetry's SDK."""
    context = getattr(span, "context", None)
    status = getattr(span, "status", None)
    return {
        "name": getattr(span, "name", None),
        "trace_id": getattr(context, "trace_id", None),
        "span_id": getattr(context, "span_id", None),
        "parent_id": getattr(getattr(span, "parent", None), "span_id", None),
        "attributes": dict(getattr(span, "attributes", None) or {}),
        "start_time": getattr(span, "start_time", None),
        "end_time": getattr(span, "end_time", None),
        "status": {
            "code": getattr(getattr(status, "status_code", None), "name", None),
            "message": getattr(status, "description", None),
        },
        "events": list(getattr(span, "events", None) or []),
    }


def _first(fields: Mapping[str, Any], *places: str) -> Any:
    """The first of these that is there, as a name in any spelling or as a path."""
    for place in places:
        found = follow(fields, place)
        if found is None:
            found = given(fields, (place,))
        if found is not None:
            return found
    return None


def _parent(fields: Mapping[str, Any]) -> str | None:
    found = _first(fields, "parent_id", "parent_span_id")
    return str(found) if found else None


def _attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    found = fields.get("attributes")
    if isinstance(found, str):
        found = parsed(found)
    if isinstance(found, list):  # OTLP: [{"key": …, "value": {"stringValue": …}}]
        found = {entry["key"]: _otlp(entry.get("value")) for entry in found if "key" in entry}
    if not isinstance(found, Mapping):  # a table: one column per attribute
        found = {key[len(_PREFIX) :]: value for key, value in fields.items() if key.startswith(_PREFIX)}
    nested = _nested(found)
    kind = fields.get("span_kind")  # Phoenix's tables
    if (
        isinstance(nested, dict)
        and isinstance(kind, str)
        and follow(nested, "openinference.span.kind") is None
    ):
        nested["openinference"] = {"span": {"kind": kind}}
    return nested if isinstance(nested, dict) else {}


def _otlp(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    for kind, content in value.items():
        if kind in ("arrayValue", "array_value"):
            return [_otlp(entry) for entry in content.get("values", [])]
        if kind in ("kvlistValue", "kvlist_value"):
            return {entry["key"]: _otlp(entry.get("value")) for entry in content.get("values", [])}
        return int(content) if kind in ("intValue", "int_value") else content
    return None


def _nested(value: Any) -> Any:
    """Dicts and lists from keys with dots: ``{"a.0.b": 1}`` becomes ``{"a": [{"b": 1}]}``.

    >>> _nested({"documents.1.id": "b", "documents.0.id": "a", "input.value": "why?"})
    {'documents': [{'id': 'a'}, {'id': 'b'}], 'input': {'value': 'why?'}}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_nested(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
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
            here[last] = _merged(here.get(last), _nested(entry))
    return _listed(root)


def _merged(before: Any, new: Any) -> Any:
    return {**before, **new} if isinstance(before, dict) and isinstance(new, dict) else new


def _listed(value: Any) -> Any:
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


def _error(status: Any, fields: Mapping[str, Any]) -> str | None:
    code = given(status, ("code", "status_code")) if isinstance(status, Mapping) else status
    if str(code).lower() not in _FAILED:
        return None
    told = given(status, ("message", "description")) if isinstance(status, Mapping) else None
    return _exception(fields.get("events")) or str(told or given(fields, ("status_message",)) or "error")


def _exception(events: Any) -> str | None:
    """The last exception among the events of a span: some instrumentations put a whole traceback into the status."""
    listed = parsed(events)
    for event in reversed(listed if isinstance(listed, (list, tuple)) else []):
        attributes = _attributes(event if isinstance(event, Mapping) else {"attributes": event.attributes})
        kind, text = follow(attributes, "exception.type"), follow(attributes, "exception.message")
        if kind or text:
            return ": ".join(str(part) for part in (kind, text) if part)
    return None


def parsed(value: Any) -> Any:
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
