"""Judgments that know more than a grade: subtopics, evidence sets, junk, and properties of documents.

They are a dict ``{query: {document: grade}}`` like any other, so that measures of grades see nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, repeat
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Subtopics: TypeAlias = "Mapping[Any, Mapping[Any, Mapping[Any, float]]]"
Evidence: TypeAlias = "Mapping[Any, Sequence[Collection[Any]]]"
Junk: TypeAlias = "Mapping[Any, Collection[Any]]"

SUBTOPIC_NAMES = ("subtopic", "subtopic_id", "intent", "intent_id", "aspect", "facet")


class Judgments(dict[Any, dict[Any, float]]):
    """Judgments with more than a grade; everything that takes judgments takes them.

    ``subtopics`` is ``{query: {subtopic: {document: grade}}}``, ``evidence`` ``{query: [{documents that answer together}, …]}``,
    ``junk`` ``{query: {documents that are taken out before ranking}}``, ``intents`` ``{query: {subtopic: probability}}`` and
    ``documents`` ``{document: {property: value}}``; ``preferences`` is ``{query: [(better document, worse document), …]}``, or
    ``{query: {group: pairs}}`` if several groups of assessors have theirs. ``subtopics`` and ``intents`` may be paths to files of the
    lines ``query subtopic document grade`` and ``query subtopic probability``. Without ``grades``, a document has its highest grade of any subtopic, and
    grade 1 in an evidence set.

    >>> judgments = Judgments(subtopics={"q": {"s1": {"a": 1}, "s2": {"a": 2, "b": 1}}}, junk={"q": {"x"}})
    >>> judgments
    {'q': {'a': 2, 'b': 1}}
    """

    def __init__(
        self,
        grades: Mapping[Any, Any] | None = None,
        *,
        subtopics: Any = None,
        evidence: Evidence | None = None,
        junk: Junk | None = None,
        intents: Any = None,
        documents: Mapping[Any, Mapping[str, Any]] | None = None,
        preferences: Mapping[Any, Any] | None = None,
    ) -> None:
        if grades is not None:
            from ranklens.readers.mappings import judgments

            super().__init__(judgments(grades).by_query)
        else:
            found = _grades(subtopics if isinstance(subtopics, Mapping) else {}, evidence or {})
            super().__init__(found | {query: {} for query in preferences or () if query not in found})
        # Then nothing is known about any other document.
        self.complete = grades is None and not junk and not preferences
        self.subtopics, self.evidence, self.junk = subtopics, evidence, junk
        self.intents, self.documents, self.preferences = intents, documents, preferences

    def groups_of(self, query: Any) -> Mapping[Any, Sequence[tuple[Any, Any]]]:
        """The preferences of a query by judgment group."""
        given = (self.preferences or {}).get(query, ())
        groups = given if isinstance(given, Mapping) else {"": given}
        for pair in chain.from_iterable(groups.values()):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InputError(
                    f"preferences: query {query!r} holds {pair!r:.60}, not a pair of a better and a worse document.",
                    query=str(query),
                )
        return {name: pairs for name, pairs in groups.items() if pairs}

    def under_text_ids(self) -> Judgments:
        """The same with text for queries' ids, as measures name them."""
        return self._with_each(
            lambda by_query: {str(query): value for query, value in by_query.items()},
        )

    def only(self, queries: Collection[Any]) -> Judgments:
        """The same for some of the queries."""
        return self._with_each(
            lambda by_query: {query: by_query[query] for query in queries if query in by_query}
        )

    def _with_each(self, change: Callable[[Mapping[Any, Any]], dict[Any, Any]]) -> Judgments:
        """All that is known by query, changed in the same way."""
        parts = {
            name: getattr(self, name) for name in ("subtopics", "evidence", "junk", "intents", "preferences")
        }
        changed = {name: None if part is None else change(part) for name, part in parts.items()}
        found = Judgments(change(self), documents=self.documents, **changed)
        found.complete = self.complete
        return found


def _grades(subtopics: Subtopics, evidence: Evidence) -> dict[Any, dict[Any, float]]:
    found: dict[Any, dict[Any, float]] = {}
    for query, topics in subtopics.items():
        found[query] = _highest(query, topics)
    for query, sets in evidence.items():
        grades = found.setdefault(query, {})
        for doc in chain.from_iterable(sets):
            grades.setdefault(doc, 1)
    return found


def _highest(query: Any, topics: Mapping[Any, Any]) -> dict[Any, float]:
    """The highest grade of each document in any subtopic."""
    found: dict[Any, float] = {}
    try:
        for docs in topics.values():
            found |= docs
        different = {*chain.from_iterable(map(dict.values, topics.values()))}
    except TypeError:
        wrong = next(name for name, docs in topics.items() if not isinstance(docs, dict))
        _refuse(query, f"the subtopic {wrong!r} holds {topics[wrong]!r:.60}, not {{document: grade}}")
    if len(different) > 1 and len(topics) > 1:
        grades = (map(docs.get, found, repeat(-inf)) for docs in topics.values())
        return dict(zip(found, map(max, *grades), strict=True))
    return found


def enriched(qrels: Any) -> Any:
    """:class:`Judgments` where ``qrels`` holds subtopics or evidence sets in one of the shapes for it; else as it is.

    >>> enriched({"q": {"s1": {"a": 1}}}).subtopics
    {'q': {'s1': {'a': 1}}}
    >>> enriched({"q": [{"a", "b"}, {"c"}]})
    {'q': {...}}
    """
    if isinstance(qrels, Judgments):
        return qrels
    if isinstance(qrels, Mapping):
        kind = next(filter(None, map(_kind, qrels.values())), None)
        if kind == "subtopics":
            return Judgments(subtopics={query: _topics(query, value) for query, value in qrels.items()})
        if kind == "evidence":
            return Judgments(evidence={query: _sets(query, value) for query, value in qrels.items()})
        return qrels
    return _from_tuples(qrels) if isinstance(qrels, (list, tuple)) else qrels


def _kind(value: Any) -> str | None:
    """What the judgments of a query are; None where they are empty, and tell nothing."""
    if not isinstance(value, (Mapping, list, tuple)):
        return "plain"
    if not value:
        return None
    if isinstance(value, Mapping):
        first = next(iter(value.values()))
        return "subtopics" if isinstance(first, (Mapping, AbstractSet)) else "plain"
    return "evidence" if _is_set(value[0]) else "plain"


def _is_set(item: Any) -> bool:
    """A set of documents; a list of ids, too, as JSON has no sets (but not a pair of id and number)."""
    return isinstance(item, AbstractSet) or (
        isinstance(item, (list, tuple)) and all(isinstance(doc, str) for doc in item)
    )


def _topics(query: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        _refuse(query, f"has {value!r:.60} where other queries have subtopics")
    if {*map(type, value.values())} == {dict}:
        return value
    return {s: dict.fromkeys(docs, 1) if isinstance(docs, AbstractSet) else docs for s, docs in value.items()}


def _sets(query: Any, value: Any) -> list[frozenset[Any]]:
    if not isinstance(value, Iterable) or not all(map(_is_set, value)):
        _refuse(query, f"has {value!r:.60} where other queries have evidence sets")
    return [frozenset(docs) for docs in value if docs]


def _refuse(query: Any, what: str) -> None:
    raise InputError(
        f"qrels: query {query!r}: {what}. Pass {{query: {{subtopic: {{document: grade}}}}}} for subtopics and "
        "{query: [{documents}, …]} for evidence sets.",
        query=str(query),
    )


def _from_tuples(rows: Sequence[Any]) -> Any:
    """Named tuples of ir_datasets: ``TrecSubQrel`` and ``TrecQrel``."""
    fields = getattr(rows[0], "_fields", ()) if rows else ()
    if not {"query_id", "doc_id", "relevance"} <= {*fields}:
        return rows
    if "subtopic_id" in fields:
        return of_subtopics((row.query_id, row.subtopic_id, row.doc_id, row.relevance) for row in rows)
    found: dict[Any, dict[Any, float]] = {}
    for row in rows:
        found.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    return found


def of_subtopics(rows: Iterable[tuple[Any, Any, Any, float]]) -> Judgments:
    """Rows of query, subtopic, document and grade; of a repeated document the highest grade."""
    found: dict[Any, dict[Any, dict[Any, float]]] = {}
    for query, subtopic, doc, grade in rows:
        docs = found.setdefault(query, {}).setdefault(subtopic, {})
        docs[doc] = max(grade, docs.get(doc, grade))
    return Judgments(subtopics=found)


def subtopic_column(names: Iterable[str]) -> str | None:
    """The column of a table that holds subtopics, if one has a usual name."""
    from ranklens.readers.names import plain

    by_plain = {plain(name): name for name in names}
    return next((by_plain[name] for name in SUBTOPIC_NAMES if name in by_plain), None)


def of_table(table: pl.DataFrame, column: str, columns: Any = None) -> Judgments:
    """A table with a column of subtopics."""
    import polars as pl

    from ranklens.readers.frames import qrels_frame

    plain = qrels_frame(table, columns)
    return of_subtopics(
        plain.insert_column(1, table[column].cast(pl.String).alias("subtopic"))
        .select("query", "subtopic", "doc", "grade")
        .iter_rows()
    )
