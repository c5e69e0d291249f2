"""The JSON schemas that are part of the package, applied to what is read; no package for that is needed.

Of JSON Schema, what these files use. Keys that a schema does not name are allowed, since newer versions may write them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from operator import ge, gt, le
from sys import float_info
from typing import Any

from ranklens.words import brief, counted, either

Schema = Mapping[str, Any]

_TYPES: Mapping[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
}
_WORDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "null": "null",
    "integer": "a whole number",
    "number": "a number",
}

_BOUNDS = (("minimum", "at least", ge), ("maximum", "at most", le), ("exclusiveMinimum", "above", gt))


@cache
def schema(name: str) -> Schema:
    """A schema of the package, by its path there."""
    content: Schema = json.loads((resources.files("ranklens") / name).read_text(encoding="utf-8"))
    return content


def fault(value: object, schema: Schema, place: str = "", root: Schema | None = None) -> str:
    """The first thing that is wrong with a value, and where; empty if nothing is.

    >>> fault({"n": [1, -1]}, {"properties": {"n": {"items": {"type": "integer", "minimum": 0}}}})
    'n[1] is -1 and must be at least 0'
    """
    root = schema if root is None else root
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    wrong = _own_fault(value, schema)
    if wrong:
        return f"{place or 'the document'} {wrong}"
    if isinstance(value, dict):
        lacking = next((name for name in schema.get("required", ()) if name not in value), None)
        if lacking is not None:
            return f"{place or 'the document'} lacks {lacking!r}"
        if len(value) < schema.get("minProperties", 0):
            return f"{place or 'the document'} is empty"
        known, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
        parts = (
            fault(one, known.get(name, others), f"{place}.{brief(name)}" if place else brief(name), root)
            for name, one in value.items()
        )
        return next(filter(None, parts), "")
    if isinstance(value, list) and not _are_plain(value, schema.get("items", {})):
        parts = (fault(one, schema["items"], f"{place}[{row}]", root) for row, one in enumerate(value))
        return next(filter(None, parts), "")
    return ""


def _own_fault(value: Any, schema: Schema) -> str:
    """What is wrong with a value itself, whatever it contains."""
    given = schema.get("type", ())
    types: Sequence[str] = [given] if isinstance(given, str) else given
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if types and not any(type(value) in _TYPES[name] for name in types):
        return f"is {shown(value)} and must be {either([_WORDS[name] for name in types])}"
    if allowed is not None and not any(type(value) is type(one) and value == one for one in allowed):
        return f"is {shown(value)} and must be {either([shown(one) for one in allowed])}"
    if type(value) in _TYPES["number"]:
        if not -float_info.max <= value <= float_info.max:  # nor NaN
            return f"is {shown(value)} and must be a finite number"
        for bound, words, is_right in _BOUNDS:
            if bound in schema and not is_right(value, schema[bound]):
                return f"is {shown(value)} and must be {words} {schema[bound]}"
    return _fault_of_list(value, schema) if isinstance(value, list) else ""


def _fault_of_list(value: list[object], schema: Schema) -> str:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not fewest <= len(value) <= most:
        needed = f"{fewest} or more" if len(value) < fewest else most
        return f"has {counted(len(value), 'value')} and must have {needed}"
    texts = Counter(one for one in value if isinstance(one, str)) if schema.get("uniqueItems") else {}
    again = next((one for one, times in texts.items() if times > 1), None)  # others are refused one by one
    return "" if again is None else f"contains {shown(again)} twice"


def _are_plain(values: Sequence[Any], items: Schema) -> bool:
    """Whether it is clear at once that all values are right, as with long lists of numbers."""
    if not items:
        return True
    if {*items} - {"type", "description"} or not isinstance(items.get("type"), str):
        return False
    types = {*map(type, values)}
    if not types <= _TYPES[items["type"]]:
        return False
    return not types & _TYPES["number"] or all(-float_info.max <= value <= float_info.max for value in values)


def shown(value: object) -> str:
    """A value in a message, as JSON has it.

    >>> shown({"a": 1}), shown("x"), shown(None), shown(float("nan"))
    ('an object', "'x'", 'null', 'NaN')
    """
    if isinstance(value, (dict, list)):
        return _WORDS["object" if isinstance(value, dict) else "array"]
    return brief(repr(value) if isinstance(value, str) else json.dumps(value))
