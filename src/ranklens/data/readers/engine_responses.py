"""Raw responses of search engines and vector databases → their hits, recognised by shape.

==========================  ==================================================================
Elasticsearch, OpenSearch   ``hits.hits``, also one answer of a multi-search
Solr                        ``response.docs``, and ``grouped``
Vespa                       ``root.children``; of ``id:space:type::name`` the name is the id
Qdrant                      ``result``, ``result.points`` or ``points``, also in ``groups``
Weaviate                    ``data.Get.Class``, or ``objects`` with ``metadata``
Chroma                      ``ids`` next to ``distances``
Pinecone                    ``matches``, or ``result.hits``
Milvus                      one list in a list, or ``data``
==========================  ==================================================================

Clients and plain JSON give the same. Scores rise with relevance: a distance is negated, unless it falls along the ranking, which
is how Milvus reports similarities. What is called a score is negated if it rises, which is how Qdrant reports distances.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

from ranklens.data.readers import names
from ranklens.data.readers.paths import follow, step
from ranklens.errors import InputError, warn
from ranklens.words import counted

SCORES = ("rerank_score", *names.SCORES, "certainty")  # higher is better
DISTANCES = ("distance", "_distance", "vector_distance")  # lower is better
_LISTS = ("hits.hits", "response.docs", "root.children", "result.points", "result.hits", "result")
_ABOUT_ERRORS = ("error", "errors", "details")
_BESIDE_IDS = {"distances": "distance", "documents": "document", "metadatas": "metadata", "uris": "uri"}


class ResponseError(InputError):
    """A response that holds an error, or the results of several queries, instead of one ranking."""


def body(response: object) -> Any:
    """The content of a response: what a client wraps in ``body`` or ``json``."""
    if hasattr(response, "status_code"):  # requests, httpx, pyvespa
        content = getattr(response, "json", None)
        return content() if callable(content) else content if content is not None else response
    inner = getattr(response, "body", None)  # Elasticsearch's client
    return inner if isinstance(inner, (Mapping, list)) else response


def hits_inside(response: object) -> list[object] | None:
    """The hits of a response, unchanged, best first; None if no engine answers like this.

    >>> hits_inside({"took": 3, "hits": {"hits": [{"_id": "7", "_score": 1.5}]}})
    [{'_id': '7', '_score': 1.5}]
    >>> hits_inside(["d1", "d2"]) is None
    True
    """
    if isinstance(response, list):
        return _of_one_query(response)
    if not isinstance(
        response, Mapping
    ):  # Pinecone's ``result.hits`` in objects, Qdrant's ``groups``, Chroma's columns
        listed = follow(response, "result.hits")
        return listed if isinstance(listed, list) else _in_groups(response) or _in_columns(response)
    if all(isinstance(value, Real) for value in response.values()):  # {document: score}
        return None
    if isinstance(response.get("responses"), list):
        return hits_inside(_only(response["responses"]))
    hits = _listed(response)
    problem = _problem(response)
    # An answer that is not an engine's may have its results in another list.
    others = [key for key, value in response.items() if isinstance(value, list) and key not in _ABOUT_ERRORS]
    if problem and not hits and not others:
        raise ResponseError(f"The engine answered with an error instead of hits: {problem}")
    if problem and hits:
        warn(f"An incomplete response was used as it is: {problem}")
    return hits


def _in_groups(response: object) -> list[Any] | None:
    """Qdrant's groups, in their order."""
    groups = follow(response, "result.groups") or step(response, "groups")
    if not isinstance(groups, list) or not all(isinstance(step(group, "hits"), list) for group in groups):
        return None
    return [hit for group in groups for hit in step(group, "hits")]


def _of_one_query(rows: list[Any]) -> list[Any] | None:
    """Rows of a database that are neither dicts nor tuples, as dicts; several lists of hits are refused."""
    if len(rows) > 1 and all(isinstance(row, list) and row and isinstance(row[0], Mapping) for row in rows):
        _only(rows)
    if rows and all(isinstance(step(row, "points"), list) for row in rows):  # Qdrant's batches
        return list(step(_only(rows), "points"))
    is_row = rows and hasattr(rows[0], "keys") and not isinstance(rows[0], (Mapping, list, tuple))
    return [dict(row) for row in rows] if is_row else None  # asyncpg, sqlite3


def _listed(response: Mapping[str, Any]) -> list[Any] | None:
    for path in _LISTS:
        hits = follow(response, path)
        if isinstance(hits, list):  # Vespa's groupings come among the hits
            return [
                hit
                for hit in hits
                if not (isinstance(hit, Mapping) and str(hit.get("id", "")).startswith("group:"))
            ]
    if isinstance(response.get("root"), Mapping):  # Vespa leaves children out where there are none
        return []
    classes = follow(response, "data.Get")  # Weaviate's GraphQL: {"data": {"Get": {"Article": [...]}}}
    if isinstance(classes, Mapping):
        return list(_only(list(classes.values()), "classes") or [])
    fields = response.get("grouped")
    if isinstance(fields, Mapping):  # Solr's groups, in their order
        groups = step(_only(list(fields.values()), "fields"), "groups") or []
        return [doc for group in groups for doc in follow(group, "doclist.docs") or []]
    return _in_groups(response) or _in_columns(response)


def _in_columns(response: object) -> list[Any] | None:
    """Chroma's lists of ids, distances, texts and metadata, as one dict per hit."""
    ids = step(response, "ids")
    if not isinstance(ids, list) or step(response, "distances") is None:
        return None
    nested = not ids or isinstance(ids[0], list)
    row = _only(ids) if nested else ids
    columns = {name: step(response, key) for key, name in _BESIDE_IDS.items()}
    beside = {name: column[0] if nested else column for name, column in columns.items() if column is not None}
    return [
        {"id": doc, **{name: column[at] for name, column in beside.items()}} for at, doc in enumerate(row)
    ]


def _only(lists: Sequence[Any], what: str = "queries") -> Any:
    if len(lists) > 1:
        raise ResponseError(
            f"The response contains the results of {len(lists):,} {what}; pass those of one at a time."
        )
    return lists[0] if lists else []


def _problem(response: Mapping[str, object]) -> str:
    """The error that a response reports; empty if there is none."""
    errors = [
        response.get("error"),
        response.get("errors"),
        follow(response, "root.errors"),
        follow(response, "status.error"),
    ]
    if response.get("code") not in (None, 0, 200) and response.get("message"):  # Milvus, Pinecone
        errors.append(response["message"])
    reported = next((error for error in errors if error), None)
    if reported is not None:
        return _in_words(reported)
    broken = follow(response, "_shards.failed")
    if isinstance(broken, int) and broken > 0:
        return f"{counted(broken, 'shard')} failed."
    return "it ran out of time." if response.get("timed_out") is True else ""


def _in_words(error: object) -> str:
    """The message inside an error, whatever it is called."""
    if isinstance(error, list):
        return _in_words(error[0])
    if isinstance(error, Mapping):
        message = names.given(error, ("reason", "msg", "message", "summary", "error"))
        return _in_words(message if message is not None else str(dict(error)))
    return f"{str(error).rstrip('.')[:300]}."


def own_id(hit: object) -> Any:
    """The id of a hit whose engine keeps it in a place of its own; None if it is under one of the usual names.

    >>> own_id({"id": "id:shop:product::b7", "relevance": 0.4}), own_id({"_additional": {"id": "5f…"}})
    ('b7', '5f…')
    """
    if not isinstance(hit, Mapping):
        return None
    weaviates = follow(hit, "_additional.id")
    if weaviates is not None:
        return weaviates
    if _is_vespas(hit):  # what the user called the document: the end of ``id:namespace:type:modifier:name``
        full = follow(hit, "fields.documentid") if hit["id"].startswith("index:") else hit["id"]
        parts = str(full).split(":", 4)
        return parts[4] if parts[0] == "id" and len(parts) == 5 else full or hit["id"]
    if hit.get("id") is not None:
        return None
    # Milvus' primary key has a name of its own: what is next to ``distance`` and ``entity``; clients also have it as ``id``.
    others = [key for key in hit if key not in ("distance", "entity")]
    alone = len(others) == 1 and "distance" in hit and "entity" in hit
    return getattr(hit, "id", hit[others[0]] if alone else None)


def _is_vespas(hit: object) -> bool:
    return (
        isinstance(hit, Mapping) and "relevance" in hit and str(hit.get("id")).startswith(("id:", "index:"))
    )


def score_or_distance(hit: Any) -> tuple[Any, bool]:
    """The number that a hit was ranked by, and whether it is a distance.

    >>> score_or_distance({"id": 1, "distance": 0.25}), score_or_distance({"_additional": {"score": "0.5"}})
    ((0.25, True), (0.5, False))
    """
    if _is_vespas(hit):
        return _number(hit["relevance"]), False
    inner = step(hit, "_additional")
    if inner is None and step(hit, "uuid") is not None:
        inner = step(hit, "metadata")  # Weaviate's client
    for place in (hit, inner) if inner is not None else (hit,):
        for known, is_distance in ((SCORES, False), (DISTANCES, True)):
            number = _number(first_of(place, known))
            if number is not None:
                return number, is_distance
    return None, False


def _number(found: object) -> Any:
    """A number; Weaviate writes its own as text."""
    if isinstance(found, str):
        try:
            return float(found)
        except ValueError:
            return None
    return found if isinstance(found, Real) else None


def first_of(item: object, known: Iterable[str]) -> Any:
    """The value under the first of these names that holds one, of a dict or an object."""
    if isinstance(item, Mapping):
        return names.given(item, known)
    values = (step(item, name) for name in known)
    return next((value for value in values if value is not None and not callable(value)), None)


def higher_is_better(scores: Sequence[float | None], distances: bool) -> list[float | None]:
    """Scores in rank order, negated if they are ``distances``, unless these fall; of others, if they rise all the way.

    >>> higher_is_better([0.1, 0.4], distances=True), higher_is_better([0.9, 0.4], distances=True)
    ([-0.1, -0.4], [0.9, 0.4])
    """
    finite = [score for score in scores if score is not None and math.isfinite(score)]
    differ = len({*finite}) > 1
    falls = differ and all(a >= b for a, b in pairwise(finite))
    rises = differ and all(a <= b for a, b in pairwise(finite))
    if rises or (distances and not falls):
        return [None if score is None else -score for score in scores]
    return list(scores)
