"""What a retriever returned → document ids in rank order, whatever library it comes from.

No such library is imported: containers, ids and scores are found under the names that libraries give them. Raw responses of
search engines are recognised by :mod:`ranklens.data.readers.engine_responses`.
"""

from __future__ import annotations

import functools
import math
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from ranklens import words
from ranklens.data.readers import engine_responses, frames, names
from ranklens.data.readers.mappings import as_number
from ranklens.data.readers.paths import follow, step
from ranklens.errors import InputError, InPython

# Chroma, Haystack, LlamaIndex, LangChain chains, Pinecone, Elasticsearch, Qdrant, Weaviate … The ids come first, because Chroma's
# answers have them next to "documents" that are texts.
CONTAINERS = ("ids", "documents", "docs", "results", "matches", "hits", "points", "objects", "nodes", "source_nodes",
              "source_documents", "context", "chunks", "passages", "data")  # fmt: skip
ID_NAMES = tuple(name for name in names.DOCS_INSIDE if name not in ("doc", "document", "item"))
INSIDE = ("node", "document", "doc")  # where an item wraps the document


IdFrom: TypeAlias = "str | Callable[[Any], Any] | None"


def unmatched(rank: int) -> str:
    """The name of an item at this rank that has no id.

    >>> unmatched(3)
    '<no-id-3>'
    """
    return f"<no-id-{rank}>"


class ReadingError(InputError):
    """An answer without ids that can be read: what was returned, and how to say where the ids are."""


class Retrieved(NamedTuple):
    """The ids of an answer in rank order, their scores if any, and whether there were more than ``k``."""

    ids: tuple[str, ...]
    scores: tuple[float | None, ...] | None
    cut: bool


class Hit(NamedTuple):
    """A document that was found, and its score: higher is better; None if there is none."""

    id: str
    score: float | None = None


def hits(
    response: object,
    *,
    k: int | None = None,
    id_from: IdFrom = None,
    score_from: str | Callable[[Any], Any] | None = None,
) -> list[Hit]:
    """The ids and scores in a search engine's raw response, best first.

    Responses of Elasticsearch, OpenSearch, Solr, Vespa, Qdrant, Weaviate, Chroma, Pinecone and Milvus are recognised, as JSON or
    as their clients return them, and rows of (id, distance) as from pgvector. Ids become text, and distances are negated, so
    that a higher score is better. ``id_from`` and ``score_from`` say where else they are in a hit, such as ``"_source.sku"``.

    >>> hits({"hits": {"hits": [{"_id": "d7", "_score": 2.5}, {"_id": "d2", "_score": 1.0}]}})
    [Hit(id='d7', score=2.5), Hit(id='d2', score=1.0)]
    >>> dict(hits({"ids": [["a", "b"]], "distances": [[0.25, 0.5]]}))
    {'a': -0.25, 'b': -0.5}
    """
    answer = Reading(sys.maxsize - 1 if k is None else k, id_from, score_from, "The response is").read(
        response
    )
    return [Hit(*pair) for pair in zip(answer.ids, answer.scores or [None] * len(answer.ids), strict=True)]


@dataclass(frozen=True)
class Reading:
    """How to read answers: the first ``k`` results, with ids and scores from the given places.

    >>> Reading(2).read([("d1", 0.9), ("d2", 0.8), ("d3", 0.1)])
    Retrieved(ids=('d1', 'd2'), scores=(0.9, 0.8), cut=True)
    >>> Reading(5, id_from="metadata.source").read({"documents": [{"metadata": {"source": "a.pdf"}}]}).ids
    ('a.pdf',)
    """

    k: int
    id_from: IdFrom = None
    score_from: str | Callable[[Any], Any] | None = None
    subject: str = "The retriever returned"  # how a message about the answer begins
    in_file: bool = False  # the answer is read, not called for: its scores stay as they are written
    option: str = "id_from"  # what says where the ids are

    def collect(self, value: object) -> Any:
        """Take what an iterator yields, up to one more than needed; this is part of the call, because the work is done here."""
        return list(islice(value, self.k + 1)) if isinstance(value, Iterator) else value

    async def acollect(self, value: Any) -> Any:
        """The same for an asynchronous iterator."""
        if not hasattr(value, "__anext__"):
            return self.collect(value)
        items: list[Any] = []
        async for item in value:
            items.append(item)
            if len(items) > self.k:
                break
        return items

    def read(self, value: object) -> Retrieved:
        """Ids and scores; a :class:`ReadingError` says what was returned instead."""
        items = list(islice(self._items(value), self.k + 1))
        first_items, cut = items[: self.k], len(items) > self.k
        if (
            self.id_from is None
            and self.score_from is None
            and all(type(item) is str and item for item in first_items)
        ):
            return Retrieved(tuple(first_items), None, cut)  # the usual case, fast
        ids: list[str | None] = []
        for item in first_items:
            if callable(self.id_from):
                own = _ask("id_from", self.id_from, item)
            else:
                document = _document(item)
                own = _usual_id(document) if self.id_from is None else follow(document, self.id_from)
            ids.append(self._as_id(own, item))
        if first_items and all(doc is None for doc in ids):
            seen = _document(first_items[0])
            where = f"none of {', '.join(ID_NAMES)} is set"
            if self.id_from is not None:
                where = f"id_from={_named(self.id_from)!r} finds nothing in it"
            raise ReadingError(
                f"The results have no ids: the first is {_shown(seen)} and {where}. ", *self._advice(seen)
            )
        scores = self._scores(first_items)
        return Retrieved(
            tuple(doc if doc is not None else unmatched(rank) for rank, doc in enumerate(ids, 1)),
            tuple(scores) if any(score is not None for score in scores) else None,
            cut,
        )

    def describe(self) -> dict[str, str]:
        """What stored answers depend on besides the call; empty for the usual places."""
        places = {"id_from": self.id_from, "score_from": self.score_from}
        return {name: _named(place) for name, place in places.items() if place is not None}

    def _items(self, value: object) -> Iterable[Any]:
        two = [_listed(part) for part in value] if isinstance(value, tuple) and len(value) == 2 else []
        if (
            all(isinstance(part, (list, tuple)) for part in two)
            and len({*map(len, two)} - {0}) == 1
            and not _is_scored(two[0])
            and all(isinstance(score, Real) for score in two[1])
        ):
            raise ReadingError(
                f"{self.subject} {_shown(value)}, ids and scores in two lists; give list(zip(ids, scores)), or only the ids."
            )
        value = engine_responses.body(value)
        inner = engine_responses.hits_inside(value)
        if inner is None:
            inner = _container(value)
        if isinstance(inner, Mapping):
            scored = list(inner.items())
            if not all(isinstance(score, Real) and isinstance(doc, (str, int)) for doc, score in scored):
                raise self._not_a_list(inner)
            numbers = [(doc, float(score)) for doc, score in scored]
            nan = next((doc for doc, score in numbers if math.isnan(score)), None)
            if nan is not None:
                raise ReadingError(f"The score of document {nan!r} is not a number (NaN), so it has no rank.")
            return sorted(numbers, key=lambda pair: pair[1], reverse=True)  # equal ones stay in order
        # Iterating over Pydantic's and Pinecone's objects gives the names of their fields.
        is_record = hasattr(inner, "model_dump") or hasattr(inner, "keys")
        if isinstance(inner, (str, bytes, AbstractSet)) or not isinstance(inner, Iterable) or is_record:
            raise self._not_a_list(inner)
        return _by_rank(inner) if isinstance(inner, list) else inner

    def _scores(self, items: Sequence[Any]) -> list[float | None]:
        """The scores, higher ones for better items, unless the caller says where they are."""
        if self.score_from is not None:
            place = self.score_from
            own = (
                _ask("score_from", place, item) if callable(place) else follow(item, str(place))
                for item in items
            )
            return [_finite(score, rank) for rank, score in enumerate(own, 1)]
        numbers = [
            (item[1], False) if _is_scored(item) else engine_responses.score_or_distance(item)
            for item in items
        ]
        scores = [_finite(score, rank) for rank, (score, _) in enumerate(numbers, 1)]
        distances = any(is_distance for _, is_distance in numbers)
        return (
            engine_responses.higher_is_better(scores, distances) if distances or not self.in_file else scores
        )

    def _not_a_list(self, value: object) -> ReadingError:
        if isinstance(value, AbstractSet):
            return ReadingError(
                f"{self.subject} {_shown(value)}, which has no order; return a list, best first."
            )
        return ReadingError(
            f"{self.subject} {_shown(value)}; it should be a list of ids, of (id, score) pairs, or of dicts or objects that have "
            f"an id, best first, or a dict with such a list under one of {', '.join(CONTAINERS)}."
        )

    def _advice(self, item: object) -> list[str | InPython]:
        """What to set, with a place in this item that looks right, if there is one."""
        places = _places(item)
        likely = [place for place in places if place.isdecimal() or place.rpartition(".")[2] in _LIKELY]
        there = f" It has {', '.join(places[:12])}." if places else ""
        example = next(iter([*likely, *places]), "metadata.source")
        how = InPython(f'id_from="{example}", or id_from=lambda item: …')
        if self.option == "columns":
            how = InPython(f'columns={{"doc": "{example}"}}', f"--map doc={example}")
        return ["Pass the place of the id: ", how, f".{there}"]

    def _as_id(self, found: object, item: object) -> str | None:
        if found is None or isinstance(found, str):
            return found or None
        if isinstance(found, float) and found.is_integer():
            return str(int(found))  # as pandas writes a whole number where another one is missing
        # What prints as its address has no id.
        is_nameless = getattr(type(found), "__repr__", None) is object.__repr__
        if isinstance(found, _NO_IDS) or is_nameless:
            raise ReadingError(
                f"The id of a result is {_shown(found)}, which is neither text nor a whole number. ",
                *self._advice(_document(item)),
            )
        return str(found)


def _finite(found: object, rank: int) -> float | None:
    """The score at a rank, if it is a number; NaN is an error, as it is in a run."""
    if isinstance(found, Real) and math.isnan(found):
        raise ReadingError(f"The score of result {rank} is not a number (NaN), so it has no rank.")
    return float(found) if isinstance(found, Real) and math.isfinite(found) else None


def _by_rank(items: list[object]) -> list[object]:
    """In the order of their ranks, if they have any that are numbers."""
    if not items or not isinstance(items[0], Mapping):
        return items
    ranks = [as_number(item.get("rank")) if isinstance(item, Mapping) else None for item in items]
    if all(rank is None for rank in ranks):
        return items
    wrong = next((i for i, rank in enumerate(ranks) if rank is None or math.isnan(rank)), None)
    if wrong is not None:
        raise ReadingError(
            f"Some results have a rank, but that of result {wrong + 1} is not a number: {_shown(items[wrong])}."
        )
    order = sorted(range(len(items)), key=lambda place: ranks[place] or 0.0)
    return [items[place] for place in order]


def _ask(what: str, function: Callable[[Any], Any], item: object) -> Any:
    try:
        return function(item)
    except Exception as error:
        raise ReadingError(
            f"{what} failed with {type(error).__name__} ({error}) for {_shown(item)}."
        ) from error


def _container(value: object) -> Any:
    """The list inside what was returned: ``{"documents": [...]}``, ``response.matches``, ``{"hits": {"hits": [...]}}``."""
    if frames.is_frame(value):
        return frames.to_polars(value).to_dicts()
    value = _listed(value)
    if isinstance(value, (list, tuple)):
        # Batch interfaces return one list per query, and this was one query.
        nested = len(value) == 1 and isinstance(value[0], list) and not _is_scored(value[0])
        return value[0] if nested else value
    for name in CONTAINERS:
        inner = step(value, name)
        if inner is not None and not isinstance(inner, (str, bytes, Real)) and not callable(inner):
            return _container(inner)
    return value


def _listed(value: object) -> Any:
    """An array as a list."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_scored(item: object) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)


def _document(item: Any) -> Any:
    """The document of a (document, score) pair, whose score may be None, or of a row with one column, as databases return it."""
    unscored = isinstance(item, tuple) and (len(item) == 1 or (len(item) == 2 and item[1] is None))
    return item[0] if unscored or _is_scored(item) else item


def _usual_id(item: object) -> Any:
    if item is None or isinstance(item, (str, Real)):
        return item
    own = engine_responses.own_id(item)
    if own is None:
        own = engine_responses.first_of(item, ID_NAMES)
    inner = None if own is not None else engine_responses.first_of(item, INSIDE)
    is_text = inner is None or isinstance(inner, (str, Real))
    return own if is_text else engine_responses.first_of(inner, ID_NAMES)


_NO_IDS = (bool, float, bytes, Mapping, AbstractSet, list, tuple)


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80


def _shown(value: object) -> str:
    return words.kind(value) if value is None else f"{words.kind(value)}: {_short.repr(value)}"


_LIKELY = (*ID_NAMES, "source", "file_path", "file_name", "path", "url", "title", "name", "key")


def _places(item: object) -> list[str]:
    """The positions, keys or attributes of an item, and those of its metadata, as paths."""
    if isinstance(item, (list, tuple)):
        texts = [str(i) for i, part in enumerate(item) if isinstance(part, str)]
        return texts + [str(i) for i in range(len(item)) if str(i) not in texts]
    fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    nested = {str(name): part for name, part in fields.items() if isinstance(part, Mapping)}
    top = [str(name) for name in fields if not str(name).startswith("_") and name not in nested]
    inside = [f"{name}.{key}" for name, part in nested.items() for key in part]
    return inside + top


def _named(place: object) -> str:
    """A name that is the same in every process."""
    if isinstance(place, str):
        return place
    if hasattr(place, "described"):
        return str(place.described())
    function = place.func if isinstance(place, functools.partial) else place
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}:{name}"
