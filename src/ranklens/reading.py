"""What a retriever returned → document ids in rank order, whatever library it comes from.

No such library is imported: containers, ids and scores are found under the names that libraries give them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

from ranklens.errors import InputError
from ranklens.matching import IdFrom, unmatched
from ranklens.readers import frames

# Haystack, LlamaIndex, LangChain chains, Pinecone, Elasticsearch, Qdrant, Weaviate, Chroma …
CONTAINERS = (
    "documents",
    "docs",
    "results",
    "matches",
    "hits",
    "points",
    "objects",
    "nodes",
    "source_nodes",
    "ids",
)
ID_NAMES = ("id", "_id", "node_id", "doc_id", "docid", "docno", "document_id", "chunk_id", "uuid", "pid")
SCORE_NAMES = ("score", "_score", "similarity", "relevance_score", "distance")
INSIDE = ("node", "document", "doc")  # where an item wraps the document


class ReadingError(InputError):
    """An answer that ids cannot be read out of: what was returned, and how to say where the ids are."""


class Retrieved(NamedTuple):
    """The ids of an answer in rank order, their scores if there are any, and whether more came than were asked for."""

    ids: tuple[str, ...]
    scores: tuple[float | None, ...] | None
    cut: bool


@dataclass(frozen=True)
class Reading:
    """How to read answers: the first ``k`` results, with ids and scores from these places.

    >>> Reading(2).read([("d1", 0.9), ("d2", 0.8), ("d3", 0.1)])
    Retrieved(ids=('d1', 'd2'), scores=(0.9, 0.8), cut=True)
    >>> Reading(5, id_from="metadata.source").read({"documents": [{"metadata": {"source": "a.pdf"}}]}).ids
    ('a.pdf',)
    """

    k: int
    id_from: IdFrom = None
    score_from: str | Callable[[Any], Any] | None = None

    def collect(self, value: Any) -> Any:
        """Take what an iterator gives, up to one more than is needed: part of the call, as that is where its work is done."""
        return list(islice(value, self.k + 1)) if isinstance(value, Iterator) else value

    async def acollect(self, value: Any) -> Any:
        """The same for an asynchronous iterator."""
        if not hasattr(value, "__anext__"):
            return self.collect(value)
        found: list[Any] = []
        async for item in value:
            found.append(item)
            if len(found) > self.k:
                break
        return found

    def read(self, value: Any) -> Retrieved:
        """Ids and scores; a :class:`ReadingError` says what came instead."""
        items = list(islice(self._items(value), self.k + 1))
        kept = items[: self.k]
        ids = [self._id(item) for item in kept]
        if kept and all(doc is None for doc in ids):
            raise self._without_ids(kept[0])
        scores = [self._score(item) for item in kept]
        return Retrieved(
            tuple(doc if doc is not None else unmatched(rank) for rank, doc in enumerate(ids, 1)),
            tuple(scores) if any(score is not None for score in scores) else None,
            len(items) > self.k,
        )

    def describe(self) -> dict[str, str]:
        """What the answers in a store depend on beside the call; empty for the usual places."""
        places = {"id_from": self.id_from, "score_from": self.score_from}
        return {name: _named(place) for name, place in places.items() if place is not None}

    def _items(self, value: Any) -> Iterable[Any]:
        inner = _container(value)
        if isinstance(inner, Mapping):
            scored = list(inner.items())
            if not all(isinstance(score, Real) and isinstance(doc, (str, int)) for doc, score in scored):
                raise _not_a_list(inner)
            return sorted(scored, key=lambda pair: -pair[1])
        if isinstance(inner, (str, bytes, AbstractSet)) or not isinstance(inner, Iterable):
            raise _not_a_list(inner)
        return inner

    def _id(self, item: Any) -> str | None:
        if callable(self.id_from):
            found = self.id_from(item)
        elif self.id_from is not None:
            found = follow(_without_score(item), self.id_from)
        else:
            found = _usual_id(_without_score(item))
        return _as_id(found, item)

    def _score(self, item: Any) -> float | None:
        if callable(self.score_from):
            found = self.score_from(item)
        elif self.score_from is not None:
            found = follow(item, self.score_from)
        elif _is_scored(item):
            found = item[1]
        else:
            found = _first(item, SCORE_NAMES)
        return float(found) if isinstance(found, Real) and math.isfinite(found) else None

    def _without_ids(self, item: Any) -> ReadingError:
        seen = _without_score(item)
        if self.id_from is not None:
            where = f"id_from={_named(self.id_from)!r} finds nothing in it"
        else:
            where = f"none of {', '.join(ID_NAMES)} is set"
        return ReadingError(
            f"The results have no ids: the first is {_shown(seen)} and {where}. {_advice(seen)}"
        )


def follow(item: Any, path: str) -> Any:
    """What stands at a path such as ``metadata.source``: keys, attributes and positions; None where there is nothing.

    >>> follow({"metadata": {"pages": [7, 8]}}, "metadata.pages.1")
    8
    """
    if isinstance(item, Mapping) and path in item:  # a key may hold dots itself
        return item[path]
    here = item
    for part in path.split("."):
        here = _step(here, part)
        if here is None:
            return None
    return here


def _step(here: Any, part: str) -> Any:
    if isinstance(here, Mapping):
        return here.get(part)
    if part.isdecimal() and isinstance(here, (list, tuple)):
        return here[int(part)] if int(part) < len(here) else None
    return getattr(here, part, None)


def _container(value: Any) -> Any:
    """The list inside of what was returned: ``{"documents": [...]}``, ``response.matches``, ``{"hits": {"hits": [...]}}``."""
    if frames.is_frame(value):
        return frames.to_polars(value).to_dicts()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return (
            value[0] if len(value) == 1 and isinstance(value[0], list) else value
        )  # one list a query: of one query
    for name in CONTAINERS:
        inner = _step(value, name) if isinstance(value, Mapping) else getattr(value, name, None)
        if inner is not None and not isinstance(inner, (str, bytes, Real)) and not callable(inner):
            return _container(inner)
    return value


def _is_scored(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)


def _without_score(item: Any) -> Any:
    return item[0] if _is_scored(item) else item


def _first(item: Any, names: Iterable[str]) -> Any:
    return next((found for name in names if (found := _step(item, name)) is not None), None)


def _usual_id(item: Any) -> Any:
    if item is None or isinstance(item, (str, Real)):
        return item
    found = _first(item, ID_NAMES)
    if found is None or callable(found):
        inner = _first(item, INSIDE)
        found = None if inner is None or isinstance(inner, (str, Real)) else _first(inner, ID_NAMES)
    return found


def _as_id(found: Any, item: Any) -> str | None:
    if found is None or isinstance(found, str):
        return found
    plain = isinstance(found, (bool, float, bytes, Mapping, AbstractSet, list, tuple)) or callable(found)
    if plain or not _has_text(found):  # the address of an object is no id
        raise ReadingError(
            f"{found!r:.60} ({type(found).__name__}) was found where a document id should be. {_advice(_without_score(item))}"
        )
    return str(found)


def _has_text(found: object) -> bool:
    return any("__str__" in vars(one) or "__repr__" in vars(one) for one in type(found).__mro__[:-1])


def _not_a_list(value: Any) -> ReadingError:
    if isinstance(value, AbstractSet):
        return ReadingError(
            f"The retriever returned {_shown(value)}, which has no order; return a list, best first."
        )
    return ReadingError(
        f"The retriever returned {_shown(value)}; return a list of ids, of (id, score) pairs, or of dicts or objects "
        f"that have an id, best first, or a dict with such a list under one of {', '.join(CONTAINERS)}."
    )


def _shown(value: Any) -> str:
    return f"a {type(value).__name__} {value!r:.80}"


def _advice(item: Any) -> str:
    """What to set, with a place that exists in this item if one looks right."""
    places = _places(item)
    example = next((place for place in places if place.rpartition(".")[2] in _LIKELY), "metadata.source")
    there = f" It has {', '.join(places[:12])}." if places else ""
    return f'Say where the id is: id_from="{example}", or id_from=lambda item: ….{there}'


_LIKELY = (*ID_NAMES, "source", "file_path", "file_name", "path", "url", "title", "name", "key")


def _places(item: Any) -> list[str]:
    """The keys or attributes of an item, and those of its metadata, as paths."""
    fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    top = [str(name) for name in fields if not str(name).startswith("_")]
    inside = [
        f"{name}.{key}"
        for name in ("metadata", "meta", "payload")
        if isinstance(fields.get(name), Mapping)
        for key in fields[name]
    ]
    return inside + top


def _named(place: Any) -> str:
    if isinstance(place, str):
        return place
    name = getattr(place, "__qualname__", type(place).__qualname__)
    return f"{getattr(place, '__module__', '')}:{name}"
