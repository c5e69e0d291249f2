"""A matching in words → one of :mod:`ranklens.data.matching`: ``match="KIND:ARGUMENT"``, ``--match``, or the key ``match`` of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ranklens.data.matching.evidence import ByEvidence
from ranklens.data.matching.rules import ByField, ById, ByParent, Groups, Matching
from ranklens.data.matching.spans import Spans
from ranklens.data.matching.texts import ByText
from ranklens.errors import Given, InputError, Option, nearest

# By the name in a file: the matching, its required options, and the others.
_KINDS: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "id": (ById, (), ()),
    "field": (ByField, ("field",), ()),
    "parent": (ByParent, (), ("separator", "field", "parent")),
    "groups": (Groups, ("groups",), ()),
    "spans": (Spans, (), ("gold", "threshold", "over", "span_from")),
    "text": (ByText, (), ("how", "threshold", "text_from", "corpus")),
    "evidence": (ByEvidence, (), ("threshold", "tokenizer", "chunks", "how")),
}
# What --match takes after its colons, in this order.
_ARGUMENTS = {"field": ("field",), "parent": ("separator",), "spans": ("threshold",), "text": ("how", "threshold"), "evidence": ("threshold", "tokenizer", "chunks"), "groups": ("groups",)}  # fmt: skip
# Examples of those that need it.
_NEEDED = {"field": "field:metadata.source", "parent": "parent:#", "groups": "groups:groups.json"}
_SPELLINGS = ("text", "text:overlap:0.7", "parent:#", "field:metadata.source")
_TYPES: dict[str, tuple[Any, str]] = {
    "field": (str, "text such as metadata.source"),
    "separator": (str, "text"),
    "parent": (Mapping, "names of chunks with those of their documents"),
    "groups": ((list, Mapping), "a list of lists of ids, or such a list by query"),
    "gold": (Mapping, "judged ids with [document, start, end]"),
    "threshold": ((int, float), "a number above 0 and at most 1"),
    "over": (str, "gold or union"),
    "how": (str, "text: contains, overlap or substring; of evidence, words or exact"),
    "text_from": (str, "the place of an item's text, such as metadata.body"),
    "tokenizer": (str, "words, characters or an encoding of tiktoken such as cl100k_base"),
    "chunks": (
        (Mapping, list, str),
        "a file of chunks with their ids, or ids with texts or [document, start, end]",
    ),
    "corpus": (Mapping, "ids of documents with their texts"),
    "span_from": (list, "the places of document, start and end: a list of three"),
}


def matching_of(match: object) -> Matching | None:
    """How retrieved ids match judged ones, as functions take it: a matching, or text as after ``--match``.

    >>> matching_of("text:overlap:0.7").how, matching_of(ById()), matching_of(None)
    ('overlap', ById(), None)
    """
    if match is None or isinstance(match, Matching):
        return match
    if isinstance(match, str):
        return spelled(match)
    raise InputError(
        f"match={match!r:.60} is not allowed; use text such as {', '.join(map(repr, _SPELLINGS))}, or one of ranklens.matching: "
        f"{', '.join(kind.__name__ for kind, _, _ in _KINDS.values())}."
    )


def matching(given: object) -> Matching:
    """How retrieved ids match judged ones, from keys and values.

    >>> matching({"by": "parent", "separator": "#"})
    ByParent(parent=None, separator='#', field=None)
    """
    if isinstance(given, Matching):
        return given
    if not isinstance(given, Mapping) or "by" not in given:
        raise InputError(
            f"{given!r:.60} is not allowed: give by (one of {', '.join(_KINDS)}) and its options, such as "
            '{by: parent, separator: "#"}.'
        )
    name = str(given["by"])
    if name not in _KINDS:
        raise InputError(f"by: {name!r} is not allowed: {nearest(name, _KINDS)}")
    kind, required, others = _KINDS[name]
    options = {str(key): value for key, value in given.items() if key != "by" and value is not None}
    for key, value in options.items():
        if key not in (*required, *others):
            hint = nearest(key, (*required, *others)) if required or others else "it takes no other keys."
            raise InputError(f"by: {name} has no {key!r}: {hint}")
        types, meaning = _TYPES[key]
        if isinstance(value, bool) or not isinstance(value, types):
            raise InputError(f"{key}: {value!r:.60} is not allowed; it is {meaning}.")
    for key in required:
        if key not in options:
            raise InputError(f"by: {name} needs {key}: {_TYPES[key][1]}.")
    if name == "parent" and len(options) != 1:
        raise InputError(
            f"by: parent takes one of {', '.join(others)}; it was given {' and '.join(options) or 'nothing'}."
        )
    if "span_from" in options:
        options["span_from"] = tuple(options["span_from"])
    chosen: Matching = kind(**options)
    return chosen


def spelled(text: str) -> Matching:
    """How retrieved ids match judged ones, from ``KIND`` or ``KIND:ARGUMENT``, as the command line and Python take it.

    >>> spelled("parent:#")
    ByParent(parent=None, separator='#', field=None)
    >>> spelled("text:overlap:0.6").threshold
    0.6
    """
    kind, *given = text.split(":", 1)
    names = _ARGUMENTS.get(kind, ())
    values = given[0].split(":", len(names) - 1) if given and len(names) > 1 else given
    if kind not in _KINDS:
        raise InputError(Given("match", text), f": there is no {kind!r}: {nearest(kind, _KINDS)}")
    if len(values) > len(names):
        raise InputError(Given("match", text), f": {kind} takes nothing after the colon.")
    if kind in _NEEDED and not any(values):
        example = Option("match", _NEEDED[kind])
        raise InputError(Given("match", text), f": {kind} needs something after a colon, e.g. ", example, ".")
    options = {name: _read(name, value, text) for name, value in zip(names, values, strict=False) if value}
    try:
        return matching({"by": kind, **options})
    except InputError as error:
        raise InputError(Given("match", text), ": ", *error.parts) from None


def _read(name: str, value: str, text: str) -> Any:
    if name == "threshold":
        try:
            return float(value)
        except ValueError:
            raise InputError(Given("match", text), f": {value!r} is not a number.") from None
    if name != "groups":
        return value
    try:
        from ranklens.data.files.json_reading import loads

        return loads(Path(value).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(Given("match", text), f": {value} cannot be read as JSON: {error}.") from None
