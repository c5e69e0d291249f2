"""Plain Python rankings and judgments → ``{query: {document: number}}``, which is also the fastest way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

from ranklens.errors import InputError

ByQuery: TypeAlias = "Mapping[Any, dict[Any, Any]]"

_PLAIN = {str, int}  # types of ids that need no closer look
_QRELS_SHAPES = "{query: {document: grade}}, {query: {relevant documents}} or {query: [relevant documents]}"
_RUN_SHAPES = (
    "{query: {document: score}}, {query: [documents, best first]} or {query: [(document, score), …]}"
)


@dataclass(frozen=True)
class Repaired:
    """A dict of dicts, and how many repeated documents were dropped on the way to it."""

    by_query: ByQuery
    duplicates: int = 0
    first_duplicate: str = ""  # "document 'd1' of query 'q1'", for the message


def rankings(run: Mapping[Any, Any]) -> Repaired:
    """Runs as dicts, ordered lists or (document, score) pairs → ``{query: {document: score}}``.

    The documents of a list get the scores 0, -1, -2 …: an ordered list *is* the ranking.

    >>> rankings({"q": ["a", "b"]}).by_query
    {'q': {'a': 0, 'b': -1}}
    """
    return _by_query(run, _ranking)


def judgments(qrels: Mapping[Any, Any]) -> Repaired:
    """Judgments as dicts, sets or lists of relevant documents → ``{query: {document: grade}}``.

    >>> judgments({"q": ["a", "b"]}).by_query
    {'q': {'a': 1, 'b': 1}}
    """
    return _by_query(qrels, _judgment)


def as_number(given: Any) -> float | None:
    """Anything as a number; None if it is not one. Text is read as every file is: Python alone takes ``1_0`` and ``٣``.

    >>> as_number(2), as_number("2.5"), as_number("1_0"), as_number("٣"), as_number(None)
    (2.0, 2.5, None, None, None)
    """
    if isinstance(given, str) and ("_" in given or not given.isascii()):
        return None
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return None


def as_text(by_query: ByQuery) -> ByQuery:
    """The same with text in place of other ids, so that 7 and "7" are the same document."""
    return {
        str(query): {str(doc): number for doc, number in dict.items(docs)} for query, docs in by_query.items()
    }


def _by_query(given: Mapping[Any, Any], convert: Any) -> Repaired:
    out: dict[Any, dict[Any, Any]] = {}
    dropped, first = 0, ""
    for query, value in given.items():
        docs, repeated = (value, []) if isinstance(value, dict) else convert(query, value)
        if repeated and not first:
            first = f"document {repeated[0]!r} of query {query!r}"
        dropped += len(repeated)
        out[query] = docs
    return Repaired(out, dropped, first)


def _ranking(query: Any, value: Any) -> tuple[dict[Any, Any], list[Any]]:
    if type(value) is list and {*map(type, value)} <= _PLAIN:
        items = value
    else:
        if isinstance(value, Mapping):
            return dict(value), []
        if isinstance(value, AbstractSet):
            raise InputError(f"run: query {query!r} is a set, which has no order; pass {_RUN_SHAPES}.")
        items = _items("run", query, value, _RUN_SHAPES)
        if items and _are_pairs(query, items):
            return _best_of_each(items)
    ranking = dict(zip(items, range(0, -len(items), -1), strict=True))
    if len(ranking) == len(items):
        return ranking, []
    first_places: dict[Any, int] = {}
    repeated = []
    for doc in items:
        if doc in first_places:
            repeated.append(doc)
        else:
            first_places[doc] = -len(first_places)
    return first_places, repeated


def _judgment(query: Any, value: Any) -> tuple[dict[Any, Any], list[Any]]:
    if isinstance(value, Mapping):
        return dict(value), []
    items = list(value) if isinstance(value, AbstractSet) else _items("qrels", query, value, _QRELS_SHAPES)
    if not {*map(type, items)} <= _PLAIN and _are_pairs(query, items):
        return _best_of_each(items)
    grades = dict.fromkeys(items, 1)
    return grades, items[len(grades) :]


def _best_of_each(pairs: list[tuple[Any, Any]]) -> tuple[dict[Any, Any], list[Any]]:
    """The highest number of each document, at its place; any number is higher than NaN."""
    best: dict[Any, Any] = {}
    repeated = []
    for doc, number in pairs:
        if doc in best:
            repeated.append(doc)
            if number > best[doc] or (best[doc] != best[doc] and number == number):  # noqa: PLR0124  NaN
                del best[doc]
                best[doc] = number
        else:
            best[doc] = number
    return best, repeated


def _items(what: str, query: Any, value: Any, shapes: str) -> list[Any]:
    if isinstance(value, (str, bytes, Real)) or not isinstance(value, Iterable):
        shown = f"{type(value).__name__} {value!r:.60}"
        raise InputError(f"{what}: query {query!r} holds the {shown}; give {shapes}.")
    items: list[Any] = value.tolist() if hasattr(value, "tolist") else list(value)
    for item in items:
        if item is None or (isinstance(item, (tuple, list, dict, set)) and not _is_pair(item)):
            hint = " For lists of dicts with ids use ranklens.from_records." if isinstance(item, dict) else ""
            raise InputError(
                f"{what}: query {query!r} holds {item!r:.60} where a document id, or a pair of id and number, "
                f"should be.{hint}"
            )
    return items


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)


def _are_pairs(query: Any, items: list[Any]) -> bool:
    pairs = sum(map(_is_pair, items))
    if pairs not in (0, len(items)):
        odd = next(item for item in items if not _is_pair(item))
        raise InputError(f"Query {query!r} mixes (document, number) pairs with {odd!r:.60}.")
    return pairs > 0
