"""Reports of many systems, such as a whole track: what is shown of all of them, and what of the best.

All systems keep their means, values and pairs. Pairs are packed as columns of numbers and unpacked for the chosen measure;
rankings and curves are those of the best systems, so that the page stays small enough to open at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

MANY = 40  # systems, from which on the page shows the best of them first
BEST = 20  # systems whose rankings and curves are in the report then
PACKED = ("adjusted_p", "low", "high", "detectable")  # of a pair; all else follows from means and values
NUMBERS = 3_200_000  # of packed pairs at most; measures beyond it keep p-values only


def is_crowded(comparison: Comparison) -> bool:
    """Whether there are too many systems to show each of them everywhere."""
    return len(comparison.systems) > MANY


def in_detail(comparison: Comparison) -> list[str]:
    """The systems whose rankings and curves are shown: all, or the baseline and the best by the first measure that is tested."""
    if not is_crowded(comparison):
        return list(comparison.systems)
    tested = [name for name in comparison.measures if comparison.quantity(name).is_tested]
    best = comparison.ranked((tested or list(comparison.measures))[0])[:BEST]
    chosen = {*best, comparison.baseline}
    return [system for system in comparison.systems if system in chosen]


def detailed(comparison: Comparison) -> Comparison:
    """The comparison with the scores of the systems that are shown in detail."""
    shown = set(in_detail(comparison))
    return replace(comparison, scores={name: one for name, one in comparison.scores.items() if name in shown})


def packed_pairs(comparison: Comparison) -> dict[str, bytes]:
    """By the name of a piece: for each measure the columns of :data:`PACKED`, then one byte per pair, 1 if it is significant."""
    pieces, room = {}, NUMBERS
    for part in comparison.pairs.parts:
        fields = PACKED if len(PACKED) * len(part) <= room else PACKED[:1]
        room -= len(fields) * len(part)
        place = comparison.measures.index(part.quantity.name)
        columns = [part.adjusted]
        if len(fields) > 1:
            blocks = list(part.blocks())
            columns += [
                np.concatenate([block.effects.low for block in blocks]),
                np.concatenate([block.effects.high for block in blocks]),
                np.concatenate([block.detectable for block in blocks]),
            ]
        # In single precision, the first bytes of all numbers together, then the second …: they repeat, so they pack well.
        singles = [
            np.ascontiguousarray(column, dtype="<f4").view(np.uint8).reshape(-1, 4) for column in columns
        ]
        by_byte = [*(single.T.tobytes() for single in singles), part.significant.astype(np.uint8).tobytes()]
        pieces[f"pairs-{place}"] = b"".join(by_byte)
    return pieces
