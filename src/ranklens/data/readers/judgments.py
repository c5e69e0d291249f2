"""Judgments that know more than a grade: subtopics, evidence sets, junk, and properties of documents.

They are read as ``{query: {document: grade}}`` like any other judgments, so that measures of grades see nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy, deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ranklens.data.readers.mappings import Id
from ranklens.errors import InputError
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl

Subtopics: TypeAlias = "Mapping[Id, Mapping[Id, Mapping[Id, float]]]"
Evidence: TypeAlias = "Mapping[Id, Sequence[Collection[Id]]]"
Junk: TypeAlias = "Mapping[Id, Collection[Id]]"
Strata: TypeAlias = "Mapping[Id, Mapping[Id, Id]]"
Probabilities: TypeAlias = "Mapping[Id, Mapping[Id, float]]"

_BY_QUERY = (
    "subtopics",
    "evidence",
    "junk",
    "intents",
    "navigational",
    "preferences",
    "strata",
    "probabilities",
    "sources",
)
_PARTS = (*_BY_QUERY, "documents")


class Judgments(Mapping[Id, Mapping[Id, float]]):
    """Judgments with more than a grade; everything that takes judgments takes them.

    ``subtopics`` is ``{query: {subtopic: {document: grade}}}``, ``evidence`` ``{query: [{documents that answer together}, …]}``,
    ``junk`` ``{query: {documents that are taken out before ranking}}``, ``intents`` ``{query: {subtopic: probability}}``,
    ``navigational`` ``{query: {subtopics that one document satisfies}}`` and
    ``documents`` ``{document: {property: value}}``; ``preferences`` is ``{query: [(better document, worse document), …]}``, or
    ``{query: {group: pairs}}`` if several groups of assessors have theirs. ``subtopics`` and ``intents`` may be paths to files of the
    lines ``query subtopic document grade`` and ``query subtopic probability``; ``documents`` may be a table, or a path to one, with a
    column ``doc`` and one for each property (a document in several groups has a row for each, and its ``share`` if they are not alike). Without ``grades``, a document has its highest grade of any subtopic, and
    grade 1 in an evidence set.

    If only a sample of a pool was judged, ``strata`` is ``{query: {document: stratum}}`` for all pooled documents, judged or not, or
    ``probabilities`` is ``{query: {document: probability}}``: how likely the document was to be drawn. ``sources`` is
    ``{query: {document: who judged it}}``, such as a person or a model; tables of scores state the share of each.

    >>> judgments = Judgments(subtopics={"q": {"s1": {"a": 1}, "s2": {"a": 2, "b": 1}}}, junk={"q": {"x"}})
    >>> judgments["q"]
    {'a': 2, 'b': 1}
    """

    def __init__(
        self,
        grades: Mapping[Id, object] | None = None,
        *,
        subtopics: Any = None,
        evidence: Evidence | None = None,
        junk: Junk | None = None,
        intents: Any = None,
        navigational: Mapping[Id, Collection[Id]] | None = None,
        documents: Any = None,
        preferences: Mapping[Id, Any] | None = None,
        strata: Strata | None = None,
        probabilities: Probabilities | None = None,
        sources: Mapping[Any, Mapping[Any, str]] | None = None,
    ) -> None:
        from ranklens.data.readers import mappings

        self.has_grades = grades is not None
        given = {} if grades is None else mappings.judgments(grades).by_query
        self._grades: dict[Id, dict[Id, float]] | None = dict(given) if self.has_grades else None
        if strata is not None or probabilities is not None:
            self._grades = _sampled(given, strata, probabilities)
        self.strata, self.probabilities = strata, probabilities
        self.sources = sources
        if isinstance(subtopics, Mapping):
            subtopics = {query: _topics(query, by) for query, by in subtopics.items()}
        self._subtopics, self.evidence, self.junk = subtopics, evidence, junk
        if documents is not None and not isinstance(documents, Mapping):
            from ranklens.data.readers.judgment_tables import properties_of

            documents = properties_of(documents)
        self.intents, self.documents, self.preferences = intents, documents, preferences
        self.navigational = navigational
        self.table: pl.DataFrame | None = None  # query, subtopic, doc, grade: where nothing else is known
        self.keeps = False  # whether further runs follow
        self.known: Any = None  # what is made for them, by ranklens.judging.known

    @classmethod
    def of_table(cls, table: pl.DataFrame) -> Judgments:
        """From the columns query, subtopic, doc and grade; of a repeated document the highest grade."""
        judgments = cls()
        judgments.table = table
        return judgments

    @property
    def subtopics(self) -> Any:
        """``{query: {subtopic: {document: grade}}}``, or a path."""
        if self._subtopics is None and self.table is not None:
            self._subtopics = by_subtopic(self.table.iter_rows())
        return self._subtopics

    def queries(self) -> list[Id]:
        """The judged queries."""
        if self._grades is not None:
            return list(self._grades)
        if self.table is not None:
            return self.table["query"].unique(maintain_order=True).to_list()
        topics = self.subtopics if isinstance(self.subtopics, Mapping) else {}
        return list(dict.fromkeys(chain(topics, self.evidence or (), self.preferences or ())))

    @property
    def has_subtopics(self) -> bool:
        """Whether documents are judged by subtopic."""
        return self.table is not None or self._subtopics is not None

    @property
    def grades(self) -> dict[Id, dict[Id, float]]:
        """The grade of each document of each query: as given, else what follows from subtopics and evidence."""
        if self._grades is None:
            self._grades = {query: self._grades_of(query) for query in self.queries()}
        return self._grades

    def __getitem__(self, query: Id) -> dict[Id, float]:
        if self._grades is None and query in self:
            return self._grades_of(query)  # a few are looked at now and then; all take as long as judging
        return self.grades[query]

    def __contains__(self, query: object) -> bool:
        if self._grades is not None or self.table is not None:
            return query in self.grades
        parts = (self.subtopics, self.evidence, self.preferences)
        return any(isinstance(part, Mapping) and query in part for part in parts)

    def _grades_of(self, query: Id) -> dict[Id, float]:
        grades: dict[Id, float] = {}
        topics = self.subtopics if isinstance(self.subtopics, Mapping) else {}
        for docs in topics.get(query, {}).values():
            for doc, grade in docs.items():
                grades[doc] = max(grade, grades.get(doc, grade))
        for doc in chain.from_iterable((self.evidence or {}).get(query, ())):
            grades.setdefault(doc, 1)
        return grades

    def __iter__(self) -> Iterator[Id]:
        return iter(self.queries())

    def __len__(self) -> int:
        return len(self.queries())

    def __repr__(self) -> str:
        given = [name for name in _PARTS if getattr(self, name) is not None]
        return f"Judgments({counted(len(self), 'query', 'queries')} with {', '.join(given) or 'grades'})"

    def prepared(self, *, copies: bool = False) -> Judgments:
        """The same, which keeps what is made of it for further runs; copied, if later changes of what was given must not matter."""
        if self.keeps:
            return self
        prepared = deepcopy(self) if copies else copy(self)
        prepared.keeps = True
        return prepared

    def groups_of(self, query: Id) -> Mapping[Id, Sequence[tuple[Id, Id]]]:
        """The preferences of a query by judgment group."""
        given = (self.preferences or {}).get(query, ())
        groups = given if isinstance(given, Mapping) else {"": given}
        for pair in chain.from_iterable(groups.values()):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InputError(
                    f"preferences: query {query!r} contains {pair!r:.60}, not a pair of a better and a worse document.",
                    query=str(query),
                )
        return {name: pairs for name, pairs in groups.items() if pairs}

    def replace(self, **parts: Any) -> Judgments:
        """The same with other parts."""
        if self.table is not None and {*parts} <= {"intents", "documents"}:
            changed = copy(self)
            vars(changed).update(parts)
            return changed
        own = {"grades": self.grades if self.has_grades else None} | {
            name: getattr(self, name) for name in _PARTS
        }
        return Judgments(**{**own, **parts})

    def under_text_ids(self) -> Judgments:
        """The same with text for queries' ids, as measures name them."""
        parts = {name: _by_text(getattr(self, name)) for name in _BY_QUERY}
        return self.replace(grades=_by_text(self.grades), **parts)

    def only(self, queries: Collection[Id]) -> Judgments:
        """The same for some of the queries."""

        def some(by_query: Mapping[Id, object] | None) -> dict[Id, Any] | None:
            return None if by_query is None else {q: by_query[q] for q in queries if q in by_query}

        parts = {name: some(getattr(self, name)) for name in _BY_QUERY}
        return self.replace(grades=some(self.grades) if self.has_grades else None, **parts)


def _by_text(by_query: Mapping[Id, object] | None) -> dict[Id, Any] | None:
    return None if by_query is None else {str(query): value for query, value in by_query.items()}


def _sampled(
    grades: Mapping[Id, Mapping[Id, float]], strata: Strata | None, probabilities: Probabilities | None
) -> dict[Id, dict[Id, float]]:
    """The grades, with those of pooled documents that were not judged: -1."""
    for query, by_doc in (probabilities or {}).items():
        for doc, chance in by_doc.items():
            if doc not in grades.get(query, ()):
                raise InputError(f"probabilities: document {doc!r} of query {query!r} has no grade.")
            if not 0 < chance <= 1:
                raise InputError(
                    f"probabilities: document {doc!r} of query {query!r} has {chance!r}; a probability is above 0 and at most 1."
                )
    if strata is None:
        return {query: dict(docs) for query, docs in grades.items()}
    for query, docs in grades.items():
        lost = next((doc for doc in docs if doc not in strata.get(query, ())), None)
        if lost is not None:
            raise InputError(f"strata: document {lost!r} of query {query!r} has a grade and no stratum.")
    return {query: {**dict.fromkeys(by_doc, -1), **grades.get(query, {})} for query, by_doc in strata.items()}


def enriched(qrels: Any) -> Any:
    """:class:`Judgments` where ``qrels`` holds subtopics or evidence sets in one of the shapes for it; else as it is.

    >>> enriched({"q": {"s1": {"a": 1}}}).subtopics
    {'q': {'s1': {'a': 1}}}
    >>> enriched({"q": [{"a", "b"}, {"c"}]})
    Judgments(1 query with evidence)
    """
    if isinstance(qrels, Judgments):
        return qrels
    if isinstance(qrels, Mapping):
        kind = next(filter(None, map(_kind, qrels.values())), None)
        if kind == "subtopics":
            return Judgments(subtopics=qrels)
        if kind == "evidence":
            for query, sets in qrels.items():
                if not isinstance(sets, Iterable) or not all(map(_is_set, sets)):
                    _refuse(query, f"has {sets!r:.60} where other queries have evidence sets")
            return Judgments(
                evidence={query: [frozenset(docs) for docs in sets if docs] for query, sets in qrels.items()}
            )
        return qrels
    return _from_tuples(qrels) if isinstance(qrels, (list, tuple)) else qrels


def _from_tuples(rows: Sequence[Any]) -> Any:
    """Named tuples of ir_datasets: ``TrecSubQrel`` and ``TrecQrel``."""
    fields = getattr(rows[0], "_fields", ()) if rows else ()
    if not {"query_id", "doc_id", "relevance"} <= {*fields}:
        return rows
    if "subtopic_id" in fields:
        given = ((row.query_id, row.subtopic_id, row.doc_id, row.relevance) for row in rows)
        return Judgments(subtopics=by_subtopic(given))
    grades: dict[Id, dict[Id, float]] = {}
    for row in rows:
        grades.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    return grades


def _kind(value: object) -> str | None:
    """What the judgments of a query are; None where they are empty, and tell nothing."""
    if not isinstance(value, (Mapping, list, tuple)):
        return "plain"
    if not value:
        return None
    if isinstance(value, Mapping):
        first = next(iter(value.values()))
        return "subtopics" if isinstance(first, (Mapping, AbstractSet)) else "plain"
    return "evidence" if _is_set(value[0]) else "plain"


def _is_set(item: object) -> bool:
    """A set of documents; a list of ids, too, as JSON has no sets (but not a pair of id and number)."""
    return isinstance(item, AbstractSet) or (
        isinstance(item, (list, tuple)) and all(isinstance(doc, str) for doc in item)
    )


def _topics(query: Id, value: object) -> Any:
    if not isinstance(value, Mapping):
        _refuse(query, f"has {value!r:.60} where other queries have subtopics")
    if {*map(type, value.values())} <= {dict}:
        return value
    graded: dict[Id, dict[Id, float]] = {}
    for name, docs in value.items():
        if not isinstance(docs, (Mapping, AbstractSet)):
            _refuse(query, f"the subtopic {name!r} contains {docs!r:.60}, not {{document: grade}}")
        graded[name] = dict(docs) if isinstance(docs, Mapping) else dict.fromkeys(docs, 1)
    return graded


def _refuse(query: Id, what: str) -> NoReturn:
    raise InputError(
        f"qrels: query {query!r}: {what}. Pass {{query: {{subtopic: {{document: grade}}}}}} for subtopics and "
        "{query: [{documents}, …]} for evidence sets.",
        query=str(query),
    )


def by_subtopic(rows: Iterable[tuple[Id, Id, Id, float]]) -> dict[Id, dict[Id, dict[Id, float]]]:
    """Rows of query, subtopic, document and grade; of a repeated document the highest grade."""
    by_query: dict[Id, dict[Id, dict[Id, float]]] = {}
    for query, subtopic, doc, grade in rows:
        docs = by_query.setdefault(query, {}).setdefault(subtopic, {})
        docs[doc] = max(grade, docs.get(doc, grade))
    return by_query
