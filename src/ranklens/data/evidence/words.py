"""Texts → the words in them as arrays: a number for each word, equal for equal words.

All texts of a block become one buffer of bytes, and every step is one pass of NumPy over it: 40 million words take about a second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ranklens.arrays import IntArray
from ranklens.data.matching.texts import UNSPACED

How = Literal["words", "exact"]
Hashes: TypeAlias = npt.NDArray[np.uint64]

_SPACE = 32
_PADDING = b" " * 9  # a word is read eight bytes at a time
FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_FIRST_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
# Letters and numbers stay, everything else in ASCII separates words. Bytes from 128 on are parts of letters.
_LOWER = bytes(b if chr(b).isalnum() else _SPACE for b in range(128)).lower() + bytes(range(128, 256))
_FOREIGN_SIGN = re.compile(r"[^\w\x00-\x7f]")
_UNSPACED = re.compile(rf"([{UNSPACED}])")
_WRITTEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+|[^\w\s]|_")


@dataclass(frozen=True)
class Words:
    """The words of some texts, one text after the other."""

    number: Hashes  # of each word; equal for equal words
    start: IntArray  # of each text: the place of its first word; at the end, the number of all words

    @property
    def count(self) -> IntArray:
        """How many words each text has."""
        return np.diff(self.start)


def words(texts: Sequence[str], how: How = "words") -> Words:
    """The words of texts: without case, punctuation and variants of letters, or with ``how="exact"`` as they are written.

    >>> found = words(["It's Ada.", "ada, IT"])
    >>> found.count.tolist(), bool(found.number[0] == found.number[4]), bool(found.number[2] == found.number[3])
    ([3, 2], True, True)
    """
    if how == "words" and all(map(str.isascii, texts)):  # as most are
        plain, sizes = texts, list(map(len, texts))
    else:
        plain = [_spaced(text, how) for text in texts]
        sizes = [len(text.encode("utf-8", "surrogatepass")) for text in plain]
    joined = f" {' '.join(plain)} ".encode("utf-8", "surrogatepass")
    data = np.frombuffer((joined.translate(_LOWER) if how == "words" else joined) + _PADDING, np.uint8)
    is_word = data > _SPACE
    edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    first, length = edges[::2], edges[1::2] - edges[::2]
    end = np.cumsum(np.array(sizes, np.int64) + 1)
    return Words(_hashes(data, first, length), np.append(0, np.searchsorted(first, end)))


def _spaced(text: str, how: How) -> str:
    """A text whose words are separated by what separates them in ASCII."""
    if how == "exact":
        return " ".join(_WRITTEN.findall(unicodedata.normalize("NFC", text)))
    if text.isascii():
        return text
    text = _FOREIGN_SIGN.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return _UNSPACED.sub(r" \1 ", text)


def _hashes(data: npt.NDArray[np.uint8], first: IntArray, length: IntArray) -> Hashes:
    """64 bits for each word, made of eight letters at a time."""
    eight: Hashes = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))
    found: Hashes = (eight[first] & _FIRST_BYTES[np.minimum(length, 8)]) * FACTOR
    found ^= found >> _SHIFT
    offset, longer = 8, np.flatnonzero(length > 8)
    while len(longer):
        more = eight[first[longer] + offset] & _FIRST_BYTES[np.minimum(length[longer] - offset, 8)]
        found[longer] = (found[longer] + more + np.uint64(1)) * FACTOR
        offset += 8
        longer = longer[length[longer] > offset]
    return found
