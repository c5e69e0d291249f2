"""Spans of source documents are judged and retrieved, and match where they overlap enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ranklens.data.matching.passages import Coverage, Passages, matched
from ranklens.data.readers.paths import follow
from ranklens.data.readers.retrieved import IdFrom, unmatched
from ranklens.errors import InputError, nearest

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
class Spans(Passages):
    """Passages ``(document, start, end)`` are judged and retrieved, and match if they overlap enough.

    ``gold`` holds the span of each judged id; without it, judged ids are read as ``"document:start-end"``. The end is the
    first position that no longer belongs to the span. A retrieved span matches a judged one of the same document if
    their overlap is at least ``threshold`` of the judged span (``over="gold"``: did the reader get the passage?) or of
    both together (``over="union"``: intersection over union, which also punishes chunks that are too long).

    A retrieved span finds every judged span that it covers enough of, and those that it covers together with the spans above it.
    It is listed under the one with the highest grade, then the largest share. A span that covers only what was found before is a
    repetition. ``span_from`` says where to find document, start and end in an item, by path or as a callable.

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

    def matches(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[Sequence[str]]:
        judged: dict[str, Span] = {}
        for doc in gold:
            span = self._gold.get(doc) if self.gold is not None else _parse(doc)
            if span is None:
                how = "gold does not have it"
                if self.gold is None:
                    how = "it is not written 'document:start-end'"
                raise InputError(
                    f"Spans: the judged id {doc!r} of query {query!r} has no span: {how}. Give gold={{id: (document, start, end)}}."
                )
            judged[doc] = span
        items = [(unmatched(rank) if doc in judged else doc, _parse(doc)) for rank, doc in enumerate(ids, 1)]
        return matched(items, _Covered(judged, self.threshold, self.over), gold)


def _parse(doc: str) -> Span | None:
    match = _SPAN.fullmatch(doc)
    return _checked(doc, match.groups()) if match else None


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


@dataclass(frozen=True)
class _Covered(Coverage["Span | None"]):
    """Retrieved spans, one after the other, over the judged ones."""

    judged: Mapping[str, Span]
    threshold: float
    over: Over
    pieces: dict[str, list[Span]] = field(default_factory=dict)  # of each judged span, while it is not found

    def alone(self, item: Span | None) -> dict[str, float]:
        return {} if item is None else self._enough({name: [item] for name in self.judged})

    def together(self, item: Span | None, missing: Collection[str]) -> dict[str, float]:
        if item is None:
            return {}
        touched = [name for name in missing if _overlap(self.judged[name], [item], "gold")]
        for name in touched:
            self.pieces.setdefault(name, []).append(item)
        return self._enough({name: self.pieces[name] for name in touched})

    def _enough(self, spans: Mapping[str, Sequence[Span]]) -> dict[str, float]:
        shares = {name: _overlap(self.judged[name], some, self.over) for name, some in spans.items()}
        return {name: share for name, share in shares.items() if share >= self.threshold}


def _overlap(gold: Span, spans: Sequence[Span], over: Over) -> float:
    """The share of a judged span that these spans cover; with ``over="union"``, of all that they and it cover."""
    document, first, last = gold
    common, whole, end = 0.0, last - first, float("-inf")
    for _, start, stop in sorted(span for span in spans if span[0] == document):
        begin, end = max(start, end), max(stop, end)
        if begin < end:
            inside = max(0.0, min(last, end) - max(first, begin))
            common += inside
            whole += end - begin - inside if over == "union" else 0.0
    return common / whole
