"""What was retrieved → what was judged: by id, by a field, from chunk to parent, in groups.

Judgments name documents in their own way. A matching says how to read the id of a retrieved item (``id_from``), which judged
id that is (``judged_ids``) and, for groups, what becomes of the judgments. It keeps the order. If two items turn out to be the
same judged document, the first one is credited and the others are dropped, so that those below move up: just as
:func:`ranklens.judge` treats a document that comes twice.

None never matches: an item without an id keeps its rank under a name that is never judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

from ranklens.data.readers.retrieved import IdFrom, unmatched
from ranklens.errors import InputError

Judgments: TypeAlias = "Mapping[str, Mapping[str, float]]"


class Matching:
    """How retrieved items become judged ids: the base of all matchings, which itself matches by id."""

    expects_texts: ClassVar[bool] = False  # the judged ids are texts
    reads_chunks: ClassVar[bool] = False  # retrieved items are matched with their texts and spans, not by id

    @property
    def id_from(self) -> IdFrom:
        """Where to find an item's id; None for the usual places."""
        return None

    def judged_ids(
        self,
        query: str,
        ids: Sequence[str],
        gold: Mapping[str, float],  # noqa: ARG002
    ) -> list[str]:
        """The ids retrieved for a query, as judged ids in the same order."""
        return [self._judged_id(query, doc) or unmatched(rank) for rank, doc in enumerate(ids, 1)]

    def matches(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[Sequence[str]]:
        """The same, with all judged ids that are found with an item; the first is that of ``judged_ids``."""
        return [(doc,) for doc in self.judged_ids(query, ids, gold)]

    def judgments(self, qrels: Judgments) -> Judgments:
        """The judgments, under the names that ``judged_ids`` returns."""
        return qrels

    def _judged_id(self, query: str, doc: str) -> str | None:  # noqa: ARG002
        return doc


@dataclass(frozen=True)
class ById(Matching):
    """The retrieved id is the judged id."""


@dataclass(frozen=True)
class ByField(Matching):
    """A field of the retrieved item is the judged id: ``ByField("metadata.source")``."""

    field: str

    @property
    def id_from(self) -> IdFrom:
        return self.field


@dataclass(frozen=True)
class ByParent(Matching):
    """Chunks are retrieved, but their parent documents are judged.

    The parent is looked up (a dict), computed (a callable), the part of the chunk's id before the last ``separator``, or a
    ``field`` of the item. An id that is not in the dict or lacks the separator is its own parent; None from a callable
    matches nothing.

    >>> ByParent(separator="#").judged_ids("q", ["d1#0", "d1#4", "d2"], {})
    ['d1', 'd1', 'd2']
    """

    parent: Mapping[str, str] | Callable[[str], str | None] | None = None
    separator: str | None = None
    field: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("parent", "separator", "field") if getattr(self, name) is not None]
        if len(given) != 1 or self.separator == "":
            raise InputError(
                'ByParent takes one of: a dict or a function from chunk to parent, separator="#", or '
                f'field="metadata.doc_id"; it was given {" and ".join(given) or "nothing"}.'
            )

    @property
    def id_from(self) -> IdFrom:
        return self.field

    def _judged_id(self, query: str, doc: str) -> str | None:  # noqa: ARG002
        if self.separator is not None:
            return doc.rpartition(self.separator)[0] or doc
        if callable(self.parent):
            parent = self.parent(doc)
            return None if parent is None else str(parent)
        return str(self.parent.get(doc, doc)) if self.parent is not None else doc


_SEPARATORS = ("::", "#", "__", "--", "/", "|", ":", "@", "~", "_", "-", ".")


def chunk_separator(run: Mapping[str, Sequence[str]], qrels: Judgments) -> str | None:
    """The separator after which retrieved ids continue judged ones, if no id is judged as it is; None if there is none.

    >>> chunk_separator({"q": ["d1#0", "d2#3"]}, {"q": {"d1": 1}})
    '#'
    """
    pairs = [(doc, qrels.get(query, {})) for query, docs in run.items() for doc in docs]
    if any(doc in judged for doc, judged in pairs):
        return None
    hits = {s: sum(doc.rpartition(s)[0] in judged for doc, judged in pairs) for s in _SEPARATORS}
    best = max(_SEPARATORS, key=lambda s: hits[s])  # the first of equals, which is the most telling
    return best if hits[best] else None


@dataclass(frozen=True)
class Groups(Matching):
    """Interchangeable documents: any member of a group is as good as the others, and the group counts once.

    Given as a list of groups, or as ``{query: [groups]}``. A group has its highest grade, is one document in the ideal
    ranking, and is named after its first member. A document in no group is its own group.

    >>> groups = Groups([["a", "a2"]])
    >>> groups.judged_ids("q", ["a2", "b", "a"], {})
    ['a', 'b', 'a']
    >>> groups.judgments({"q": {"a2": 2, "b": 1}})
    {'q': {'a': 2, 'b': 1}}
    """

    groups: Iterable[Collection[str]] | Mapping[str, Iterable[Collection[str]]]

    @cached_property
    def _first(self) -> Mapping[str | None, Mapping[str, str]]:
        """The first member of each document's group, by query; None is the key for all queries."""
        given = self.groups if isinstance(self.groups, Mapping) else {None: self.groups}
        return {
            None if query is None else str(query): _first_members(query, groups)
            for query, groups in given.items()
        }

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping):
            object.__setattr__(self, "groups", list(self.groups))
        _ = self._first  # checks the groups now

    def judgments(self, qrels: Judgments) -> Judgments:
        merged: dict[str, dict[str, float]] = {}
        for query, grades in qrels.items():
            mine = merged.setdefault(query, {})
            for doc, grade in grades.items():
                name = self._judged_id(query, doc)
                mine[name] = max(grade, mine.get(name, grade))
        return merged

    def _judged_id(self, query: str, doc: str) -> str:
        return self._first.get(query, self._first.get(None, {})).get(doc, doc)


def _first_members(query: object, groups: Iterable[Collection[str]]) -> dict[str, str]:
    first: dict[str, str] = {}
    of_query = "" if query is None else f" of query {query!r}"
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(f"Groups: {groups!r:.60}{of_query} is not a list of groups; give [[id, …], …].")
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Collection):
            raise InputError(
                f"Groups: {group!r:.60}{of_query} is not a group; a group is a list of document ids."
            )
        members = [str(doc) for doc in (sorted(group) if isinstance(group, (set, frozenset)) else group)]
        for doc in members:
            if doc in first:
                raise InputError(f"Groups: document {doc!r}{of_query} is in two groups; merge them.")
            first[doc] = members[0]
    return first
