"""Plain Python rankings and judgments → ``{query: {document: number}}``, which is also the fastest way in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ranklens import words
from ranklens.errors import InputError

T = TypeVar("T")
# Ids are whatever users call queries and documents; a Mapping is invariant in its keys, so no narrower type would take a dict of them.
Id: TypeAlias = Any
Number: TypeAlias = Any  # a grade or score of any type: Python's, NumPy's, a text
ByQuery: TypeAlias = "Mapping[Id, dict[Id, Number]]"

Converted: TypeAlias = (
    "tuple[dict[Id, Number], list[Id]]"  # by document, and the documents that are there again
)
_BOOLS = {"bool", "bool_"}  # Python's, and NumPy's of any version
_PANDAS_NOTHING = {"NAType", "NaTType"}
_PLAIN = {str, int}  # types of ids that need no closer look
_QRELS_SHAPES = "{query: {document: grade}}, {query: {relevant documents}} or {query: [relevant documents]}"
_RUN_SHAPES = (
    "{query: {document: score}}, {query: [documents, best first]} or {query: [(document, score), …]}"
)


class Place(NamedTuple):
    """A document of a query, as messages name it.

    >>> str(Place("d1", "q1"))
    "document 'd1' of query 'q1'"
    """

    document: Id
    query: Id

    def __str__(self) -> str:
        return f"document {self.document!r} of query {self.query!r}"


@dataclass(frozen=True)
class Repaired:
    """A dict of dicts, and how many repeated documents were dropped on the way to it."""

    by_query: ByQuery
    duplicates: int = 0
    first_duplicate: Place | None = None


def rankings(run: Mapping[Id, object]) -> Repaired:
    """Runs as dicts, ordered lists or (document, score) pairs → ``{query: {document: score}}``.

    The documents of a list get the scores 0, -1, -2 …: an ordered list *is* the ranking.

    >>> rankings({"q": ["a", "b"]}).by_query
    {'q': {'a': 0, 'b': -1}}
    """
    return _by_query(run, _ranking)


def judgments(qrels: Mapping[Id, object]) -> Repaired:
    """Judgments as dicts, sets or lists of relevant documents → ``{query: {document: grade}}``.

    >>> judgments({"q": ["a", "b"]}).by_query
    {'q': {'a': 1, 'b': 1}}
    """
    return _by_query(qrels, _judgment)


def as_number(given: Number) -> float | None:
    """Anything as a number; None if it is not one. Text is read as every file is: Python alone takes ``1_0`` and ``٣``.

    >>> as_number(2), as_number("2.5"), as_number("1_0"), as_number("٣"), as_number(None)
    (2.0, 2.5, None, None, None)
    """
    if isinstance(given, str) and ("_" in given or not given.isascii() or given != given.strip()):
        return None
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return None


def as_text(by_query: ByQuery) -> ByQuery:
    """The same with text in place of other ids, so that 7 and "7" are the same document."""
    return {
        query: under_text(dict.items(docs), f"the documents of query {query!r}")
        for query, docs in under_text(by_query.items(), "the queries").items()
    }


def under_text(items: Iterable[tuple[Id, T]], where: str) -> dict[str, T]:
    """Values under text in place of other ids; not both 7 and "7" may be there.

    >>> under_text({7: 1, "8": 0}.items(), "the documents")
    {'7': 1, '8': 0}
    """
    by_text: dict[str, T] = {}
    ids: dict[str, Id] = {}
    for id_, value in items:
        text = str(id_)
        if text in by_text:
            raise InputError(f"{ids[text]!r} and {id_!r} among {where} are the same id; keep one of them.")
        if is_nothing(id_):
            raise InputError(f"{id_!r} is among {where}; an id is a text or a whole number.")
        is_fraction = isinstance(id_, Real) and not isinstance(id_, Integral)
        if is_fraction or isinstance(id_, bytes) or type(id_).__name__ in _BOOLS:  # 7.0 is not "7"
            raise InputError(
                f"{id_!r} among {where} is {words.kind(id_)}; an id is a text or a whole number."
            )
        by_text[text], ids[text] = value, id_
    return by_text


def _by_query(given: Mapping[Id, object], convert: Callable[[Id, object], Converted]) -> Repaired:
    out: dict[Id, dict[Id, Number]] = {}
    dropped, first = 0, None
    for query, value in given.items():
        docs, repeated = (value, []) if isinstance(value, dict) else convert(query, value)
        if repeated and first is None:
            first = Place(repeated[0], query)
        dropped += len(repeated)
        out[query] = docs
    return Repaired(out, dropped, first)


def _ranking(query: Id, value: object) -> Converted:
    if type(value) is list and {*map(type, value)} <= _PLAIN:
        items = value
    else:
        if isinstance(value, Mapping):
            return dict(value), []
        if isinstance(value, AbstractSet):
            raise InputError(
                f"run: query {query!r} is a set, which has no order; pass {_RUN_SHAPES}.", query=query
            )
        items = _items("run", query, value, _RUN_SHAPES)
        if items and _are_pairs(query, items):
            return _best_of_each(items)
    ranking = dict(zip(items, range(0, -len(items), -1), strict=True))
    if len(ranking) == len(items):
        return ranking, []
    first_places: dict[Id, int] = {}
    repeated = []
    for doc in items:
        if doc in first_places:
            repeated.append(doc)
        else:
            first_places[doc] = -len(first_places)
    return first_places, repeated


def _judgment(query: Id, value: object) -> Converted:
    if isinstance(value, Mapping):
        return dict(value), []
    items = list(value) if isinstance(value, AbstractSet) else _items("qrels", query, value, _QRELS_SHAPES)
    if not {*map(type, items)} <= _PLAIN and _are_pairs(query, items):
        return _best_of_each(items)
    grades = dict.fromkeys(items, 1)
    return grades, [] if len(grades) == len(items) else [*(Counter(items) - Counter(grades)).elements()]


def _best_of_each(pairs: list[tuple[Id, Number]]) -> Converted:
    """The highest number of each document, at its place; any number is higher than NaN."""
    best: dict[Id, Number] = {}
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


def _items(what: str, query: Id, value: object, shapes: str) -> list[Id]:
    if isinstance(value, (str, bytes, Real)) or not isinstance(value, Iterable):
        shown = f"{type(value).__name__} {value!r:.60}"
        raise InputError(f"{what}: query {query!r} contains the {shown}; give {shapes}.", query=query)
    items: list[Id] = as_list(value)
    for item in items:
        if is_nothing(item) or (isinstance(item, (tuple, list, dict, set)) and not _is_pair(item)):
            hint = " For lists of dicts with ids use ranklens.from_records." if isinstance(item, dict) else ""
            raise InputError(
                f"{what}: query {query!r} contains {item!r:.60} where a document id, or a pair of id and number, "
                f"should be.{hint}",
                query=query,
            )
    return items


def as_list(docs: Any) -> list[Id]:
    """The items of a list, or of an array as Python's own."""
    return docs.tolist() if hasattr(docs, "tolist") else list(docs)


def is_nothing(item: object) -> bool:
    """None, or what pandas has in its place.

    >>> is_nothing(None), is_nothing(float("nan")), is_nothing(0)
    (True, True, False)
    """
    kind = type(item).__name__
    may_be_nan = isinstance(item, Real) or kind == "datetime64"  # NumPy's
    return item is None or kind in _PANDAS_NOTHING or (may_be_nan and bool(item != item))  # noqa: PLR0124


def _is_pair(item: object) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)


def _are_pairs(query: Id, items: list[Id]) -> bool:
    pairs = sum(map(_is_pair, items))
    if pairs not in (0, len(items)):
        odd = next(item for item in items if not _is_pair(item))
        raise InputError(f"Query {query!r} mixes (document, number) pairs with {odd!r:.60}.")
    return pairs > 0
