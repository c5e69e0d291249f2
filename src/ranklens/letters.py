"""Which systems cannot be told apart, as letters: two systems share a letter exactly if no difference was shown."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.judged import BoolArray


def groups(different: BoolArray) -> list[list[int]]:
    """Sets of systems of which no two differ, such that any two that do not differ stand together in one.

    ``different`` is symmetric, its rows are in order, best first; so are the groups and their members. A system can stand
    in several groups: the middle one of three may differ from neither end, though the ends differ.

    >>> import numpy as np
    >>> different = np.zeros((3, 3), dtype=bool)
    >>> different[0, 2] = different[2, 0] = True
    >>> groups(different), letters(groups(different), 3)
    ([[0, 1], [1, 2]], ['a', 'ab', 'b'])
    """
    n = len(different)
    alike = [sum(1 << j for j in range(n) if not row[j]) for row in different.tolist()]
    found: list[list[int]] = []
    together = [1 << i for i in range(n)]  # who already stands in a group with whom
    for i in range(n):
        open_pairs = alike[i] & ~together[i] & -(1 << i)
        is_new = together[i] == 1 << i
        while open_pairs or is_new:
            start = open_pairs & -open_pairs
            members = _grow(1 << i | start, alike, n)
            found.append(members)
            mask = sum(1 << m for m in members)
            for m in members:
                together[m] |= mask
            open_pairs &= ~mask
            is_new = False
    return sorted(found)


def letters(groups: Sequence[Sequence[int]], systems: int) -> list[str]:
    """The letters of each system; where 26 are not enough, an a for the leading group alone."""
    found = [""] * systems
    for letter, members in zip(ascii_lowercase, groups if fit(groups) else groups[:1], strict=False):
        for system in members:
            found[system] += letter
    return found


def fit(groups: Sequence[Sequence[int]]) -> bool:
    """Whether there are letters enough."""
    return len(groups) <= len(ascii_lowercase)


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


def _grow(members: int, alike: Sequence[int], n: int) -> list[int]:
    """The group with everybody added, best first, who differs from none of its members."""
    for candidate in range(n):
        if members & ~alike[candidate] == 0:
            members |= 1 << candidate
    return [m for m in range(n) if members >> m & 1]
