"""Passages and chunks as users write them: a text, a span ``(document, start, end)`` of a source document, or both."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from ranklens.data.readers import engine_responses, names
from ranklens.data.readers.mappings import as_number
from ranklens.data.readers.names import given
from ranklens.data.readers.paths import follow
from ranklens.errors import InputError

TEXT_NAMES = ("text", "content", "page_content", "chunk", "passage", "body", "document")
Span: TypeAlias = "tuple[str, float, float]"  # the end is the first position that no longer belongs to it

_DOCUMENTS = (
    "document",
    "doc",
    "doc_id",
    "document_id",
    "source",
    "source_id",
    "corpus_id",
    "file",
    "file_path",
    "url",
)
_STARTS = ("start", "start_index", "start_char", "start_char_idx", "begin")
_ENDS = ("end", "end_index", "end_char", "end_char_idx", "stop")
_TEXTS = (*TEXT_NAMES, *(f"{outer}.{name}" for outer in ("document", "node", "doc") for name in TEXT_NAMES))
_PLACES = ("", "metadata", "meta", "node", "document", "payload")  # where an item has its span
_USUAL = frozenset({"id", "text", "score"})
_WRITTEN = re.compile(r"(.*):(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)", re.DOTALL)


class Passage(NamedTuple):
    """What a question needs: a text, a span, or both."""

    text: str | None
    span: Span | None

    @property
    def name(self) -> str:
        """The text, else the span as ``document:start-end``."""
        return self.text if self.text is not None else written(self.span) if self.span else ""


class Chunk(NamedTuple):
    """A retrieved item."""

    id: str | None
    text: str | None
    span: Span | None


def written(span: Span) -> str:
    """A span as text.

    >>> written(("d1", 10, 30.0)), as_span("d1:10-30")
    ('d1:10-30', ('d1', 10.0, 30.0))
    """
    return f"{span[0]}:{span[1]:g}-{span[2]:g}"


def as_span(text: str) -> Span | None:
    """What :func:`written` wrote; None for any other text."""
    match = _WRITTEN.fullmatch(text)
    return checked(match.groups(), text) if match else None


def checked(parts: Sequence[Any], where: str) -> Span:
    """A span from a document, a start and an end."""
    document, start, end = parts
    first, last = as_number(start), as_number(end)
    if first is None or last is None or not -math.inf < first < last < math.inf:
        raise InputError(
            f"{where}: the span {tuple(parts)!r:.80} is not allowed; a span is (document, start, end), and its end is the first position "
            "after it."
        )
    return str(document), first, last


def read_passages(
    value: Any, where: str, row: Mapping[str, Any], repeated: list[str]
) -> tuple[dict[str, float], dict[str, Passage]]:
    """The passages of a question by name, with their grades.

    Each is a text, a span ``(document, start, end)``, or a dict with ``text`` or ``document``, ``start`` and ``end``, and perhaps an
    ``id`` and a ``grade``. A document may be named once for the row, as ``corpus_id``. ``{text: grade}`` is accepted as well.

    >>> read_passages(["Lima", ["d1", 10, 30]], "Record 1", {}, [])[0]
    {'Lima': 1.0, 'd1:10-30': 1.0}
    """
    if isinstance(value, str) or _is_span(value) or (isinstance(value, Mapping) and _is_item(value)):
        value = [value]
    if isinstance(value, Mapping):
        value = [{"text": text, "grade": grade} for text, grade in value.items()]
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{where} has {value!r:.60} where a list of passages is expected.")
    grades: dict[str, float] = {}
    passages: dict[str, Passage] = {}
    for item in value:
        passage = _passage(item, where, row)
        own = given(item, ("id", "passage_id")) if isinstance(item, Mapping) else None
        grade = (
            as_number(given(item, names.GRADES))
            if isinstance(item, Mapping) and given(item, names.GRADES) is not None
            else 1.0
        )
        if grade is None:
            raise InputError(f"{where}: the grade {given(item, names.GRADES)!r} is not a number.")
        name = passage.name if own is None else str(own)
        if name in grades:
            repeated.append(f"{name!r:.60} in {where}")
        grades[name], passages[name] = max(grade, grades.get(name, grade)), passage
    return grades, passages


def plain_chunks(items: Sequence[Any]) -> list[Chunk] | None:
    """Items that are all dicts of an id, a text and a score, fast; None for any others."""
    for item in items:
        if type(item) is not dict or not item.keys() <= _USUAL or len(item) < 2:
            return None
        score = item.get("score", 0.0)
        if (
            type(item.get("id")) is not str
            or type(item.get("text")) is not str
            or type(score) is not float
            or score - score != 0
        ):
            return None
    return [Chunk(item["id"], item["text"], None) for item in items]


def read_chunk(item: Any) -> Chunk:
    """A retrieved item: its id, text and span, as far as it has them.

    >>> read_chunk({"id": "c1", "page_content": "Lima", "metadata": {"source": "peru.md", "start_index": 10}})
    Chunk(id='c1', text='Lima', span=('peru.md', 10.0, 14.0))
    """
    if isinstance(item, (list, tuple)) and len(item) == 2 and (item[1] is None or isinstance(item[1], Real)):
        item = item[0]  # with its score
    if isinstance(item, str):
        return Chunk(None, item, None)
    if _is_span(item):
        return Chunk(None, None, checked(item, "A retrieved span"))
    text = text_of(item)
    span = _span_of(item, text)
    own = engine_responses.first_of(item, ("id", "_id", "chunk_id", "node_id", "doc_id", "metadata.id"))
    # "document" names the document where there is a span, and holds the text elsewhere.
    return Chunk(None if own is None else str(own), None if span and text == span[0] else text, span)


def text_of(item: Any) -> str | None:
    """The text of a retrieved item, in one of the usual places."""
    if isinstance(item, str):
        return item
    inside = (follow(item, name) for name in _TEXTS)
    return next((value for value in inside if isinstance(value, str)), None)


def _passage(item: Any, where: str, row: Mapping[str, Any]) -> Passage:
    if isinstance(item, str):
        return Passage(item, None)
    if _is_span(item):
        return Passage(None, checked(item, where))
    if isinstance(item, Mapping):
        text = given(item, names.TEXTS_INSIDE)
        parts = (given(item, _DOCUMENTS), given(item, _STARTS), given(item, _ENDS))
        document = parts[0] if parts[0] is not None else given(row, _DOCUMENTS)
        has_span = document is not None and parts[1] is not None and parts[2] is not None
        if isinstance(text, str) or has_span:
            return Passage(
                text if isinstance(text, str) else None,
                checked((document, *parts[1:]), where) if has_span else None,
            )
    raise InputError(
        f"{where}: {item!r:.60} is not a passage; give a text, a span (document, start, end), or a dict with 'text' or with 'document', "
        "'start' and 'end'."
    )


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) == 3
        and all(isinstance(part, Real) and not isinstance(part, bool) for part in value[1:])
        and isinstance(value[0], (str, int))
    )


def _is_item(value: Mapping[str, Any]) -> bool:
    return given(value, (*names.TEXTS_INSIDE, *_STARTS)) is not None


def _span_of(item: Any, text: str | None) -> Span | None:
    for place in _PLACES:
        inside = follow(item, place) if place else item
        start = None if inside is None else engine_responses.first_of(inside, _STARTS)
        document = None if start is None else engine_responses.first_of(inside, _DOCUMENTS)
        if start is None or document is None or isinstance(document, Mapping):
            continue
        end = engine_responses.first_of(inside, _ENDS)
        if end is None and text is not None:
            end = (as_number(start) or 0) + len(text)  # as LangChain's text splitters write it
        return None if end is None else checked((document, start, end), "A retrieved item")
    return None
