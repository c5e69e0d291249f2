"""Which systems cannot be told apart, as letters: two systems share a letter exactly if no difference was shown."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.arrays import BoolArray


def groups(different: BoolArray) -> list[list[int]] | None:
    """Sets of systems that do not differ from each other; any two that do not differ share a set.

    ``different`` is symmetric, its rows are in order, best first; so are the groups and their members. A system can be in
    several groups: the middle one of three may differ from neither end, though the ends differ. None where the
    alphabet runs out of letters.

    >>> import numpy as np
    >>> different = np.zeros((3, 3), dtype=bool)
    >>> different[0, 2] = different[2, 0] = True
    >>> groups(different), letters(groups(different), 3), tiers(different)
    ([[0, 1], [1, 2]], ['a', 'ab', 'b'], [[0, 1], [2]])
    """
    n = len(different)
    alike = [sum(1 << j for j in range(n) if not row[j]) for row in different.tolist()]
    found: list[list[int]] = []
    together = [1 << i for i in range(n)]  # which systems already share a group
    for i in range(n):
        apart = alike[i] & ~together[i]
        is_new = together[i] == 1 << i
        while apart or is_new:
            if len(found) == len(ascii_lowercase):
                return None
            found.append(_grow(1 << i | (apart & -apart), alike))
            mask = sum(1 << m for m in found[-1])
            for m in found[-1]:
                together[m] |= mask
            apart, is_new = apart & ~mask, False
    return sorted(found)


def tiers(different: BoolArray) -> list[list[int]]:
    """The best system and all that do not differ from it; then the same of the others, and so on."""
    left, found = list(range(len(different))), []
    while left:
        best = left[0]
        found.append([system for system in left if not different[best, system]])
        left = [system for system in left if different[best, system]]
    return found


def letters(groups: Sequence[Sequence[int]], systems: int) -> list[str]:
    """The letters of each system."""
    found = [""] * systems
    for number, members in enumerate(groups):
        for system in members:
            found[system] += label(number)
    return found


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


def _grow(members: int, alike: Sequence[int]) -> list[int]:
    """The group with every system added, best first, that differs from none of its members."""
    for candidate, others in enumerate(alike):
        if members & ~others == 0:
            members |= 1 << candidate
    return [m for m in range(len(alike)) if members >> m & 1]
