"""Texts are judged, not ids: a retrieved chunk counts if it holds the expected answer or passage.

Nothing needs offsets or stable chunk ids, so the same golden set serves every chunking.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from ranklens.errors import InputError, nearest
from ranklens.matching.rules import Matching
from ranklens.readers.paths import follow
from ranklens.readers.retrieved import IdFrom, unmatched

How = Literal["contains", "overlap", "substring"]
TextFrom: TypeAlias = "str | Callable[[Any], str | None] | None"

TEXT_NAMES = ("text", "content", "page_content", "chunk", "passage", "body", "document")
_ID_NAMES = ("id", "chunk_id", "doc_id", "_id", "metadata.id")
_BETWEEN = "\x1f"  # the unit separator comes between an item's id and its text

# Chinese, Japanese and Korean are written without spaces between words, so each of their characters is a token.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


@lru_cache(maxsize=1 << 16)
def tokens(text: str) -> tuple[str, ...]:
    """Words without case, punctuation and variants of the same letters.

    >>> tokens("It's the “Ｅiffel” Tower, 1889!")
    ('it', 's', 'the', 'eiffel', 'tower', '1889')
    """
    return tuple(_TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()))


def contains(chunk: str, answer: str) -> float:
    """1 if the words of the answer occur in the chunk, in one piece and in order; else 0.

    >>> contains("Lima is the capital of Peru.", "the Capital of Peru"), contains("Lima beans", "lima bean")
    (1.0, 0.0)
    """
    return float(f" {' '.join(tokens(answer))} " in f" {' '.join(tokens(chunk))} ")


def overlap(chunk: str, passage: str) -> float:
    """The share of the words of the expected passage that the chunk holds.

    >>> overlap("Lima is the capital", "Lima is the capital of Peru")
    0.6666666666666666
    """
    expected = Counter(tokens(passage))
    found = expected & Counter(tokens(chunk))
    return found.total() / expected.total()


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

    def __call__(self, item: Any) -> str | None:
        text = self._text(item)
        if text is None:
            return None
        found = (follow(item, name) for name in _ID_NAMES) if not isinstance(item, str) else ()
        number = next((value for value in found if value is not None), "")
        return f"{number}{_BETWEEN}{text}"

    def described(self) -> str:
        """A name that stays the same from one process to the next."""
        place = self.text_from
        return getattr(place, "__qualname__", "callable") if callable(place) else place or "text"

    def _text(self, item: Any) -> str | None:
        if callable(self.text_from):
            found: Any = self.text_from(item)
        elif self.text_from is not None:
            found = follow(item, self.text_from)
        elif isinstance(item, str):
            found = item
        else:
            inside = (follow(item, name) for name in _PLACES)
            found = next((value for value in inside if isinstance(value, str)), None)
        return found if isinstance(found, str) else None


_PLACES = (*TEXT_NAMES, *(f"{outer}.{name}" for outer in ("document", "node", "doc") for name in TEXT_NAMES))


@dataclass(frozen=True)
class ByText(Matching):
    """The judged ids are texts, and a retrieved chunk matches a text that it holds.

    ============  ===================================================================================
    how           a chunk matches if
    ============  ===================================================================================
    contains      the words of the expected text occur in it, in one piece (for short answers)
    overlap       it holds at least ``threshold`` of the words of the expected text (for passages)
    substring     the expected text occurs in it, character by character
    ============  ===================================================================================

    The text of an item is read from its usual places, from ``text_from`` (a path or a function), or from ``corpus``
    (``{id: text}``) where only ids were retrieved. A chunk is credited for one expected text, because a rank holds one
    document: of those not yet found that with the highest grade, then the greatest share. A chunk that holds
    only what was found before is a repetition.

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

    def judged_ids(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[str]:
        for text in gold:
            if not tokens(text):
                raise InputError(f"ByText: the expected text {text!r} of query {query!r} holds no word.")
        found: set[str] = set()
        out = []
        for rank, doc in enumerate(ids, 1):
            name, text = self._name_and_text(doc, query)
            shares = self._shares(text, gold)
            best = max(shares, key=lambda g: (g not in found, gold[g], shares[g]), default=None)
            if best is not None:
                found.add(best)
            out.append(best if best is not None else self._other(name, rank, gold))
        return out

    def _name_and_text(self, doc: str, query: str) -> tuple[str, str]:
        if self.corpus is None:
            name, _, text = doc.rpartition(_BETWEEN)
            return name, text
        if doc not in self.corpus:
            raise InputError(f"ByText: the corpus has no text of {doc!r}, which query {query!r} retrieved.")
        return doc, self.corpus[doc]

    def _shares(self, text: str, gold: Mapping[str, float]) -> dict[str, float]:
        """How much of each expected text this one holds, where that is enough."""
        share = _SHARE[self.how]
        enough = self.threshold if self.how == "overlap" else 1.0
        found = {expected: share(text, expected) for expected in gold}
        return {expected: value for expected, value in found.items() if value >= enough}

    @staticmethod
    def _other(name: str, rank: int, gold: Mapping[str, float]) -> str:
        """An id that is nobody's expected text."""
        return name if name and name not in gold else unmatched(rank)
