"""The distinct documents of each query, in the order of their ids, without a Python object for each of them.

Ids become numbers that are in the same order, which NumPy sorts many times as fast as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranklens.arrays import IntArray

_WIDEST = 64  # bytes of an id; longer ones do not become small numbers anyway
_UNEVEN = 4  # times as many places in a table of all queries as documents are not too many
_NEWLINE = ord("\n")


@dataclass(frozen=True)
class Distinct:
    """Documents by query and in ascending order of their ids: the row of each entry, and the first entry of each row."""

    row: IntArray
    first: IntArray


def distinct(texts: Iterable[bytes], queries: Iterable[IntArray]) -> Distinct | None:
    r"""The documents among entries whose ids are in these texts, one per line.

    A text holds those of some queries, not too many, so that they stay in the processor's cache; ``queries`` says whose they are, and
    is sorted. None where ids are too long or too different to be numbered, or queries of too different sizes.

    >>> distinct([b"d2\nd1\nd2\n", b"d7\n"], [np.array([0, 0, 0]), np.array([1])])
    Distinct(row=array([1, 0, 1, 2]), first=array([1, 0, 3]))
    """
    rows, firsts, before, entries = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0, 0
    for ids, query in zip(texts, queries, strict=True):
        found = _distinct(ids, query - query[0]) if len(query) else None
        if found is None:
            return None
        rows.append(found.row + before)
        firsts.append(found.first + entries)
        before, entries = before + len(found.first), entries + len(found.row)
    return Distinct(np.concatenate(rows), np.concatenate(firsts))


def _distinct(ids: bytes, query: IntArray) -> Distinct | None:
    sizes = np.bincount(query, minlength=1)
    most = int(sizes.max())
    if not most or len(sizes) * most > _UNEVEN * len(query):
        return None
    bits = most.bit_length()
    codes = _in_order(ids, len(query), 63 - bits)
    if codes is None:
        return None
    start = (np.cumsum(sizes) - sizes)[query]
    within = np.arange(len(query)) - start
    # The place of an entry in its query stands behind its code, so that sorting tells where it came from.
    codes <<= bits
    codes |= within
    table, filled = np.full((len(sizes), most), np.iinfo(np.int64).max), np.arange(most) < sizes[:, None]
    table[filled] = codes
    table.sort(axis=1)
    ordered = table[filled]
    entry = (ordered & ((1 << bits) - 1)) + start
    ordered >>= bits
    new = within == 0
    new[1:] |= ordered[1:] != ordered[:-1]
    row = np.empty(len(query), np.int64)
    row[entry] = np.cumsum(new) - 1
    return Distinct(row, entry[new])


def _in_order(ids: bytes, count: int, bits: int) -> IntArray | None:
    """Numbers of ``bits`` bits that are in the order of the ids; None if there are none."""
    letters = _columns(ids, count)
    if letters is None:
        return None
    codes, room = np.zeros(count, np.int64), 1 << bits
    for column in letters:
        low, high = int(column.min()), int(column.max())
        if low == high:
            continue
        room //= high - low + 1
        if not room:
            return None
        codes *= high - low + 1
        codes += column - np.uint8(low)
    return codes


def _columns(ids: bytes, count: int) -> npt.NDArray[np.uint8] | None:
    """The first letter of each id, the second, and so on, with zeros behind shorter ones."""
    letters = np.frombuffer(ids, np.uint8)
    is_end = letters == _NEWLINE
    if np.count_nonzero(is_end) != count or int(letters.min()) == 0:
        return None  # an id holds the end of a line, or a zero
    width = len(ids) // count
    if width <= _WIDEST and width * count == len(ids) and is_end[width - 1 :: width].all():
        # All are equally long.
        return np.ascontiguousarray(letters.reshape(count, width)[:, :-1].T)
    lengths = np.diff(np.flatnonzero(is_end), prepend=-1) - 1
    widest = int(lengths.max())
    if widest > _WIDEST:
        return None
    table = np.zeros((count, widest), np.uint8)
    table[np.arange(widest) < lengths[:, None]] = letters[letters != _NEWLINE]
    return np.ascontiguousarray(table.T)
