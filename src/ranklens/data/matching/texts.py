"""Texts are judged, not ids: a retrieved chunk counts if it holds the expected answer or passage.

Nothing needs offsets or stable chunk ids, so the same golden set serves every chunking.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from ranklens.data.matching.passages import Coverage, Passages, matched
from ranklens.data.readers.chunks import text_of
from ranklens.data.readers.paths import follow
from ranklens.data.readers.rankings import one_line
from ranklens.data.readers.retrieved import IdFrom, unmatched
from ranklens.errors import InputError, nearest

How = Literal["contains", "overlap", "substring"]
TextFrom: TypeAlias = "str | Callable[[Any], str | None] | None"

_ID_NAMES = ("id", "chunk_id", "doc_id", "_id", "metadata.id")
_BETWEEN = "\x1f"  # the unit separator comes between an item's id and its text

# Chinese, Japanese and Korean are written without spaces between words, so each of their characters is a token.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


_RUN = 3  # words in a row that a chunk must share with a passage, to hold a part of it


@lru_cache(maxsize=1 << 16)
def tokens(text: str) -> tuple[str, ...]:
    """Words without case, punctuation and variants of the same letters.

    >>> tokens("It's the “Ｅiffel” Tower, 1889!")
    ('it', 's', 'the', 'eiffel', 'tower', '1889')
    """
    return tuple(_TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()))


@lru_cache(maxsize=1 << 12)
def _words(text: str) -> str:
    return " ".join(tokens(text))


def contains(chunk: str, answer: str) -> float:
    """1 if the words of the answer occur in the chunk, in one piece and in order; else 0.

    >>> contains("Lima is the capital of Peru.", "the Capital of Peru"), contains("Lima beans", "lima bean")
    (1.0, 0.0)
    """
    return float(f" {_words(answer)} " in f" {_words(chunk)} ")


def overlap(chunk: str, passage: str) -> float:
    """The share of the words of the expected passage that the chunk holds.

    >>> overlap("Lima is the capital", "Lima is the capital of Peru")
    0.6666666666666666
    """
    expected = Counter(tokens(passage))
    shared = expected & Counter(tokens(chunk))
    return shared.total() / expected.total()


def substring(chunk: str, passage: str) -> float:
    """1 if the passage occurs in the chunk, character by character; else 0."""
    return float(passage in chunk)


_SHARE: dict[str, Callable[[str, str], float]] = {
    "contains": contains,
    "overlap": overlap,
    "substring": substring,
}


@dataclass(frozen=True)
class TextId:
    """An item's id and text as one id, so that an answer that is kept can be matched later."""

    text_from: TextFrom

    def __call__(self, item: object) -> str | None:
        text: object = item
        if callable(self.text_from):
            text = self.text_from(item)
        elif self.text_from is not None:
            text = follow(item, self.text_from)
        else:
            text = text_of(item)
        if not isinstance(text, str):
            return None
        ids = (follow(item, name) for name in _ID_NAMES) if not isinstance(item, str) else ()
        number = next((value for value in ids if value is not None), "")
        return f"{number}{_BETWEEN}{text}"

    def described(self) -> str:
        """A name that stays the same from one process to the next."""
        place = self.text_from
        return getattr(place, "__qualname__", "callable") if callable(place) else place or "text"


@dataclass(frozen=True)
class ByText(Passages):
    """The judged ids are texts, and a retrieved chunk matches the texts that it holds.

    ============  ===================================================================================
    how           a chunk matches if
    ============  ===================================================================================
    contains      the words of the expected text occur in it, in one piece (for short answers)
    overlap       it holds at least ``threshold`` of the words of the expected text (for passages)
    substring     the expected text occurs in it, character by character
    ============  ===================================================================================

    The text of an item is read from its usual places, from ``text_from`` (a path or a function), or from ``corpus``
    (``{id: text}``) where only ids were retrieved. A chunk finds every expected text that it holds, and is listed under the one
    with the highest grade, then the greatest share. A chunk that holds only what was found before is a repetition.

    A text that is divided between chunks is found with the last of them: where one chunk ends with its beginning and another
    begins with the rest, with whole chunks in between. With ``overlap``, chunks hold together what they share with the text in
    runs of at least three words.

    >>> match = ByText(corpus={"c1": "Lima is the capital of Peru.", "c2": "Peru is in South America."})
    >>> match.judged_ids("q", ["c2", "c1"], {"Lima": 1})
    ['c2', 'Lima']
    """

    expects_texts: ClassVar[bool] = True

    how: How = "contains"
    threshold: float = 0.7
    corpus: Mapping[str, str] | None = None
    text_from: TextFrom = None

    def __post_init__(self) -> None:
        if self.how not in get_args(How):
            raise InputError(
                f"ByText: how={self.how!r} is not allowed: {nearest(str(self.how), get_args(How))}"
            )
        if not 0 < self.threshold <= 1:
            raise InputError(
                f"ByText: threshold={self.threshold!r} is not allowed; it is above 0 and at most 1."
            )
        if self.corpus is not None and self.text_from is not None:
            raise InputError("ByText: corpus and text_from both say where texts are; pass only one of them.")

    @property
    def id_from(self) -> IdFrom:
        return None if self.corpus is not None else TextId(self.text_from)

    def matches(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[Sequence[str]]:
        for text in gold:
            if not tokens(text):
                raise InputError(f"ByText: the expected text {text!r} of query {query!r} contains no word.")
        items: list[tuple[str, str]] = []
        for rank, doc in enumerate(ids, 1):
            name, _, text = doc.rpartition(_BETWEEN)
            if self.corpus is not None:
                if doc not in self.corpus:
                    raise InputError(
                        f"ByText: the corpus has no text of {doc!r}, which query {query!r} retrieved."
                    )
                name, text = doc, self.corpus[doc]
            # Under an id that is not one of the expected texts.
            items.append((name if name and name not in gold else unmatched(rank), text))
        return matched(items, _Held(self.how, self.threshold, tuple(gold)), gold)


@dataclass(frozen=True)
class _Held(Coverage[str]):
    """Retrieved chunks, one after the other, over the expected texts."""

    how: How
    threshold: float
    expected: Sequence[str]
    covered: dict[str, int] = field(default_factory=dict)  # what chunks hold of each text so far, as bits

    def alone(self, item: str) -> dict[str, float]:
        share, enough = _SHARE[self.how], self.threshold if self.how == "overlap" else 1.0
        shares = {expected: share(item, expected) for expected in self.expected}
        return {expected: value for expected, value in shares.items() if value >= enough}

    def together(self, item: str, missing: Collection[str]) -> dict[str, float]:
        completed = {}
        for expected in missing:
            places, size = _PLACES_HELD[self.how](item, expected)
            covered = self.covered.get(expected, 0) | places
            self.covered[expected] = covered
            if places and covered.bit_count() >= (self.threshold if self.how == "overlap" else 1) * size:
                completed[expected] = covered.bit_count() / size
        return completed


@lru_cache(maxsize=1 << 12)
def runs(text: str) -> frozenset[tuple[str, ...]]:
    """All runs of words that are long enough to tell a text by."""
    words = tokens(text)
    return frozenset(words[place : place + _RUN] for place in range(len(words) - _RUN + 1))


def named_texts(ids: Sequence[str], match: ByText) -> dict[str, str]:
    """The texts of retrieved items, under the names that they have where no expected text is found with them."""
    if match.corpus is not None:
        return {doc: match.corpus[doc] for doc in ids if doc in match.corpus}
    parts = [doc.rpartition(_BETWEEN) for doc in ids]
    return {name or unmatched(rank): text for rank, (name, _, text) in enumerate(parts, 1)}


def runs_held(chunk: str, passage: str) -> tuple[int, int]:
    """The words of a passage that a chunk shares with it in runs, as bits, and how many words there are.

    >>> runs_held("and the capital of Peru", "Lima is the capital of Peru")
    (60, 6)
    """
    words, places, held = tokens(passage), 0, runs(chunk)
    for place in range(len(words) - _RUN + 1):
        if words[place : place + _RUN] in held:
            places |= ((1 << _RUN) - 1) << place
    return places, len(words)


_in_one_line = lru_cache(maxsize=1 << 12)(one_line)


def _pieces(chunk: str, passage: str, edge: str) -> tuple[int, int]:
    """The letters of a passage that a chunk holds as its end, as its beginning or as a whole, as bits, and how many letters there are.

    A piece at an end of the passage holds at least a whole word; ``edge`` comes before and after it. Spaces count as held, since
    they are what chunks are divided at.

    >>> [bin(_pieces(chunk, "in 30 days", " ")[0]) for chunk in ("paid in 30", "days of it", "not at all")]
    ['0b111111', '0b1111100100', '0b0']
    """
    first, last = passage.split(" ", 1)[0], passage.rsplit(" ", 1)[-1]
    size, places = len(passage), 0
    start = chunk.find(first, max(0, len(chunk) - size))
    while start >= 0 and not places:
        piece = chunk[start:]
        if passage.startswith(piece) and f"{edge}{chunk}".endswith(f"{edge}{piece}"):
            places = (1 << len(piece)) - 1
        start = chunk.find(first, start + 1)
    end = chunk.rfind(last, 0, size)
    while end >= 0:
        piece = chunk[: end + len(last)]
        if passage.endswith(piece) and f"{chunk}{edge}".startswith(f"{piece}{edge}"):
            places |= ((1 << len(piece)) - 1) << (size - len(piece))
            break
        end = chunk.rfind(last, 0, end + len(last) - 1)
    inside = passage.find(chunk) if 0 < len(chunk) < size else -1
    while inside >= 0:
        places |= ((1 << len(chunk)) - 1) << inside
        inside = passage.find(chunk, inside + 1)
    if not places or " " not in passage:
        return 0, size
    return places | sum(1 << place for place, letter in enumerate(passage) if letter == " "), size


_PLACES_HELD: dict[str, Callable[[str, str], tuple[int, int]]] = {
    "contains": lambda chunk, passage: _pieces(_words(chunk), _words(passage), " "),
    "overlap": runs_held,
    "substring": lambda chunk, passage: _pieces(_in_one_line(chunk), _in_one_line(passage), ""),
}
