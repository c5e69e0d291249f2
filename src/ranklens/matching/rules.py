"""What was retrieved → what was judged: by id, by a field, from chunk to parent, in groups, by overlapping spans.

Judgments name documents in their own way. A matching says how to read the id of a retrieved item (``id_from``), which judged
id that is (``judged_ids``) and, for groups, what becomes of the judgments. It keeps the order. If two items turn out to be the
same judged document, the first one is credited and the others are dropped, so that those below move up: just as
:func:`ranklens.judge` treats a document that comes twice.

None never matches: an item without an id keeps its rank under a name that is never judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from ranklens.errors import InputError, nearest
from ranklens.readers.paths import follow
from ranklens.readers.retrieved import IdFrom, unmatched

Judgments: TypeAlias = "Mapping[str, Mapping[str, float]]"


class Matching:
    """How retrieved items become judged ids: the base of all matchings, which itself matches by id."""

    expects_texts: ClassVar[bool] = False  # the judged ids are texts

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
            found = self.parent(doc)
            return None if found is None else str(found)
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


def _first_members(query: Any, groups: Iterable[Collection[str]]) -> dict[str, str]:
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


Span: TypeAlias = "tuple[str, float, float]"
SpanFrom: TypeAlias = "tuple[str, str, str] | Callable[[Any], Span | None]"
Over = Literal["gold", "union"]
_SPAN = re.compile(r"(.*):(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", re.DOTALL)


@dataclass(frozen=True)
class SpanId:
    """An item's span as its id, ``"document:start-end"``; None if a part is missing."""

    span_from: SpanFrom

    def __call__(self, item: Any) -> str | None:
        if callable(self.span_from):
            span: Any = self.span_from(item)
        else:
            span = tuple(follow(item, path) for path in self.span_from)
        if span is None or any(part is None for part in span):
            return None
        document, start, end = _checked(span, span)
        return f"{document}:{_plain(start)}-{_plain(end)}"

    def described(self) -> str:
        """A name that is the same in every process."""
        place = self.span_from
        return getattr(place, "__qualname__", "callable") if callable(place) else " ".join(place)


@dataclass(frozen=True)
class Spans(Matching):
    """Passages ``(document, start, end)`` are judged and retrieved, and match if they overlap enough.

    ``gold`` holds the span of each judged id; without it, judged ids are read as ``"document:start-end"``. The end is the
    first position that no longer belongs to the span. A retrieved span matches a judged one of the same document if
    their overlap is at least ``threshold`` of the judged span (``over="gold"``: did the reader get the passage?) or of
    both together (``over="union"``: intersection over union, which also punishes chunks that are too long).

    A retrieved span is credited for one judged span, because a rank holds one document: among those not yet found, the
    one with the highest grade, then the largest share. A span that covers only what was found before is a repetition.
    ``span_from`` says where to find document, start and end in an item, by path or as a callable.

    >>> spans = Spans({"answer": ("doc1", 100, 200)}, span_from=("metadata.source", "metadata.start", "metadata.end"))
    >>> spans.judged_ids("q", ["doc1:0-140", "doc1:150-400"], {"answer": 1})
    ['doc1:0-140', 'answer']
    """

    gold: Mapping[str, Span] | None = None
    threshold: float = 0.5
    over: Over = "gold"
    span_from: SpanFrom = ("document", "start", "end")
    _gold: Mapping[str, Span] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise InputError(
                f"Spans: threshold={self.threshold!r} is not allowed; it is a number above 0 and up to 1."
            )
        if self.over not in ("gold", "union"):
            raise InputError(
                f"Spans: over={self.over!r} is not allowed: {nearest(str(self.over), ('gold', 'union'))}"
            )
        if not callable(self.span_from) and len(self.span_from) != 3:
            raise InputError(
                f"Spans: span_from={self.span_from!r} is not allowed; pass the paths of document, start and end, or a function."
            )
        object.__setattr__(
            self, "_gold", {str(doc): _checked(doc, span) for doc, span in (self.gold or {}).items()}
        )

    @property
    def id_from(self) -> IdFrom:
        return SpanId(self.span_from)

    def judged_ids(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[str]:
        judged = {doc: self._judged_span(query, doc) for doc in gold}
        found: set[str] = set()
        out = []
        for rank, doc in enumerate(ids, 1):
            shares = self._shares(doc, judged)
            best = max(shares, key=lambda name: (name not in found, gold[name], shares[name]), default=None)
            if best is not None:
                found.add(best)
            out.append(best or (unmatched(rank) if doc in judged else doc))
        return out

    def _shares(self, doc: str, judged: Mapping[str, Span]) -> dict[str, float]:
        """How much of each judged span this one covers, if that is enough."""
        span = _parse(doc)
        if span is None:
            return {}
        shares = {name: _overlap(other, span, self.over) for name, other in judged.items()}
        return {name: share for name, share in shares.items() if share >= self.threshold}

    def _judged_span(self, query: str, doc: str) -> Span:
        span = self._gold.get(doc) if self.gold is not None else _parse(doc)
        if span is None:
            how = (
                "gold does not have it" if self.gold is not None else "it is not written 'document:start-end'"
            )
            raise InputError(
                f"Spans: the judged id {doc!r} of query {query!r} has no span: {how}. Give gold={{id: (document, start, end)}}."
            )
        return span


def _parse(doc: str) -> Span | None:
    match = _SPAN.fullmatch(doc)
    return (match[1], float(match[2]), float(match[3])) if match else None


def _checked(what: Any, span: Any) -> Span:
    try:
        document, start, end = span
        begin, stop = float(start), float(end)
    except (TypeError, ValueError):
        raise InputError(f"Spans: {what!r:.80} is not a span; a span is (document, start, end).") from None
    if not begin < stop:
        raise InputError(
            f"Spans: {what!r:.80} starts at {start} and ends at {end}; the end must come after the start."
        )
    return str(document), begin, stop


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _overlap(gold: Span, span: Span, over: Over) -> float:
    if gold[0] != span[0]:
        return 0.0
    common = max(0.0, min(gold[2], span[2]) - max(gold[1], span[1]))
    whole = gold[2] - gold[1]
    if over == "union":
        whole += span[2] - span[1] - common
    return common / whole
