"""Where numbers are among others: millions of look-ups in NumPy, without a Python object for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ranklens.arrays import IntArray

Hashes: TypeAlias = npt.NDArray[np.uint64]

_SPARE = 16  # places in the table for each number: the more, the fewer numbers share one and have to be searched for
_FEWEST, _LARGE = 4, 20  # places at least, in a table that would take 2 to this power otherwise


@dataclass(frozen=True)
class Lookup:
    """Numbers that all differ, and a table into which the last bits of a number point.

    Where several numbers point to the same place, the last one is there. The others are ``lost``, in ascending order; they are
    few, and searched for.
    """

    numbers: Hashes
    table: npt.NDArray[np.int32]
    lost: IntArray

    @classmethod
    def of(cls, numbers: Hashes) -> Lookup:
        """Prepare the numbers, whose last bits should be random.

        >>> Lookup.of(np.array([7, 5, 1031], np.uint64)).find(np.array([5, 6, 7, 1031, 2055], np.uint64))
        (array([0, 2, 3]), array([1, 0, 2]))
        """
        found = cls.unless_equal(numbers)
        if found is None:
            raise ValueError("Some numbers are the same.")
        return found

    @classmethod
    def unless_equal(cls, numbers: Hashes) -> Lookup | None:
        """The same; None if some of the numbers are the same, which only those can be that point to the same place.

        >>> Lookup.unless_equal(np.array([7, 5, 7], np.uint64)) is None
        True
        """
        table = np.full(1 << _bits(len(numbers)), -1, np.int32)
        own, place = np.arange(len(numbers)), _last_bits(numbers, len(table))
        table[place] = own
        lost = np.flatnonzero(table[place] != own)
        lost = lost[np.argsort(numbers[lost])]
        unfound = numbers[lost]
        if (numbers[table[place[lost]]] == unfound).any() or (unfound[1:] == unfound[:-1]).any():
            return None
        return cls(numbers, table, lost)

    def find(self, sought: Hashes) -> tuple[IntArray, IntArray]:
        """Which of the sought numbers are there, and where each of these is."""
        there = self.table[_last_bits(sought, len(self.table))]
        which = np.flatnonzero(there >= 0)
        where, sought = there[which].astype(np.int64), sought[which]
        right = self.numbers[where] == sought
        if len(self.lost):
            wrong = np.flatnonzero(~right)
            place = np.searchsorted(self.numbers[self.lost], sought[wrong])
            where[wrong] = self.lost[np.minimum(place, len(self.lost) - 1)]
            right[wrong] = self.numbers[where[wrong]] == sought[wrong]
        return which[right], where[right]


def _bits(size: int) -> int:
    """How many bits of a number point into the table, which should fit the processor's cache."""
    return max(10, min((_SPARE * size).bit_length(), max(_LARGE, (_FEWEST * size).bit_length())))


def _last_bits(numbers: Hashes, size: int) -> IntArray:
    return (numbers & np.uint64(size - 1)).view(np.int64)
