"""Groups of systems as letters: two systems share a letter exactly if they do not differ significantly."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.arrays import BoolArray

_TRIED = 3 * len(ascii_lowercase)  # groups, of which some may turn out to be idle


def groups(different: BoolArray) -> list[list[int]] | None:
    """Sets of systems that do not differ from each other; any two that do not differ share a set.

    ``different`` is symmetric, its rows are in order, best first; so are the groups and their members. A system can be in
    several groups: the middle one of three may differ from neither end, though the ends differ. None where the
    alphabet runs out of letters.

    >>> import numpy as np
    >>> different = np.zeros((3, 3), dtype=bool)
    >>> different[0, 2] = different[2, 0] = True
    >>> groups(different), letters(groups(different), 3)
    ([[0, 1], [1, 2]], ['a', 'ab', 'b'])
    """
    n = len(different)
    packed = np.packbits(~different, axis=1, bitorder="little")
    alike = [int.from_bytes(row.tobytes(), "little") for row in packed]
    sets: list[int] = []  # sets of systems, as bits
    together = [1 << i for i in range(n)]  # which systems already share a group
    for i in range(n):
        apart = alike[i] & ~together[i]
        is_new = together[i] == 1 << i
        while apart or is_new:
            if len(sets) == _TRIED:
                return None
            group = 1 << i | (apart & -apart)
            for candidate, others in enumerate(
                alike
            ):  # every system, best first, that differs from no member
                if group & ~others == 0:
                    group |= 1 << candidate
            sets.append(group)
            for m in _members(group):
                together[m] |= group
            apart, is_new = apart & ~group, False
    needed = sets if len(sets) <= len(ascii_lowercase) else _without_idle(sets, n)
    return sorted(map(_members, needed)) if len(needed) <= len(ascii_lowercase) else None


def letters(groups: Sequence[Sequence[int]], systems: int) -> list[str]:
    """The letters of each system."""
    letters_of = [""] * systems
    for number, members in enumerate(groups):
        for system in members:
            letters_of[system] += label(number)
    return letters_of


def label(position: int) -> str:
    """a, b … z, then aa, ab …: a name for each system.

    >>> [label(i) for i in (0, 25, 26, 701, 702)]
    ['a', 'z', 'aa', 'zz', 'aaa']
    """
    text = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        text = ascii_lowercase[rest] + text
    return text


def _without_idle(sets: Sequence[int], n: int) -> list[int]:
    """The groups without those whose every pair shares another group too."""
    needed, shared = list(sets), np.zeros((n, n), dtype=int)  # how many groups two systems share
    pairs = {group: np.ix_(members, members) for group in sets if (members := _members(group))}
    for group in sets:
        shared[pairs[group]] += 1
    for group in sorted(sets, key=int.bit_count):
        if (shared[pairs[group]] > 1).all():
            shared[pairs[group]] -= 1
            needed.remove(group)
    return needed


def _members(group: int) -> list[int]:
    return [place for place in range(group.bit_length()) if group >> place & 1]
