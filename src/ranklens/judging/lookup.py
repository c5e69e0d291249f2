"""Where numbers are among others: millions of look-ups in NumPy, without a Python object for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ranklens.arrays import BoolArray, IntArray

Hashes: TypeAlias = npt.NDArray[np.uint64]

_SPARE = 16  # places in the table for each number: the more, the fewer numbers share one and have to be searched for
_FEWEST, _LARGE = 4, 20  # places at least, in a table that would take 2 to this power otherwise


@dataclass(frozen=True)
class Lookup:
    """Distinct numbers, and a table indexed by their last bits.

    Where several numbers point to the same place, the last one is there, and the place is ``crowded``. The others are ``lost``, in
    ascending order; they are few, and searched for.
    """

    numbers: Hashes
    table: npt.NDArray[np.int32]
    crowded: BoolArray
    lost: IntArray

    @classmethod
    def of(cls, numbers: Hashes) -> Lookup:
        """Prepare the numbers, whose last bits should be random.

        >>> Lookup.of(np.array([7, 5, 1031], np.uint64)).find(np.array([5, 6, 7, 1031, 2055], np.uint64))
        (array([0, 2, 3]), array([1, 0, 2]))
        """
        lookup = cls.unless_equal(numbers)
        if lookup is None:
            raise ValueError("Some numbers are the same.")
        return lookup

    @classmethod
    def unless_equal(cls, numbers: Hashes) -> Lookup | None:
        """The same; None if some of the numbers are the same, which only those can be that point to the same place.

        >>> Lookup.unless_equal(np.array([7, 5, 7], np.uint64)) is None
        True
        """
        # How many bits of a number point into the table, which should fit the processor's cache.
        n = len(numbers)
        bits = max(10, min((_SPARE * n).bit_length(), max(_LARGE, (_FEWEST * n).bit_length())))
        table = np.full(1 << bits, -1, np.int32)
        own, place = np.arange(len(numbers)), _last_bits(numbers, len(table))
        table[place] = own
        lost = np.flatnonzero(table[place] != own)
        crowded = np.zeros(len(table), dtype=bool)
        crowded[place[lost]] = True
        lost = lost[np.argsort(numbers[lost])]
        unfound = numbers[lost]
        if (numbers[table[place[lost]]] == unfound).any() or (unfound[1:] == unfound[:-1]).any():
            return None
        return cls(numbers, table, crowded, lost)

    def find(self, sought: Hashes) -> tuple[IntArray, IntArray]:
        """Which of the sought numbers are there, and where each of these is."""
        place = _last_bits(sought, len(self.table))
        there = self.table[place]
        which = np.flatnonzero(there >= 0)
        if len(which) < len(sought):  # picking all would take as long as looking up
            there, sought, place = there[which], sought[which], place[which]
        where = there.astype(np.int64)
        wrong = np.flatnonzero(self.numbers[where] != sought)
        if not len(wrong):
            return which, where
        right = np.ones(len(which), dtype=bool)
        right[wrong] = False
        again = wrong[self.crowded[place[wrong]]]
        if len(again):
            among = np.searchsorted(self.numbers[self.lost], sought[again])
            where[again] = self.lost[np.minimum(among, len(self.lost) - 1)]
            right[again] = self.numbers[where[again]] == sought[again]
        return (which, where) if right.all() else (which[right], where[right])


def _last_bits(numbers: Hashes, size: int) -> IntArray:
    return (numbers & np.uint64(size - 1)).view(np.int64)
