"""How much two rankings have in common: rank-biased overlap, with ties and lists of different length.

Webber, Moffat and Zobel, "A Similarity Measure for Indefinite Rankings" (2010); ties as in Corsi and Urbano, "The Treatment of
Ties in Rank-Biased Overlap" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ranklens.errors import Given, InputError, nearest
from ranklens.words import kind

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

Ranked: TypeAlias = "Sequence[Hashable | AbstractSet[Hashable]] | Mapping[Hashable, float]"
TIES = ("w", "a", "b")


@dataclass(frozen=True)
class Overlap:
    """The rank-biased overlap of two rankings.

    ``ext`` takes the unseen part to be like the part that was seen; ``min`` and ``max`` are what it can be at
    least and at most.
    """

    ext: float
    min: float
    max: float

    @property
    def residual(self) -> float:
        """How much the unseen part could change."""
        return self.max - self.min


def rbo(a: Ranked, b: Ranked, p: float = 0.9, *, ties: str = "w") -> Overlap:
    """Rank-biased overlap: 1 for the same ranking, 0 for nothing in common; early ranks weigh more.

    ``a`` and ``b`` are lists of ids, best first, in which a set stands for ids that tie; or ``{id: score}``, where equal scores
    tie. ``p`` is the chance of looking one rank further: at 0.9, the first ten ranks have 86% of the weight. Ties mean equality
    (``ties="w"``), or that the order is not known: the mean over all orders (``"a"``), or that mean corrected so that a ranking
    agrees with itself (``"b"``).

    >>> found = rbo("NHMA", "CGNA")
    >>> round(found.ext, 4), round(found.min, 4), round(found.max, 4)
    (0.3915, 0.1947, 0.7064)
    >>> rbo(["d1", "d2"], {"d1": 0.9, "d2": 0.1}).ext
    1.0
    """
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 < p < 1:
        raise InputError(f"p={p!r} is not allowed; it is a number between 0 and 1.")
    if ties not in TIES:
        raise InputError(Given("ties", ties), f" is not allowed: {nearest(str(ties), TIES)}")
    short, long = sorted((_Ranking.of(a, "a"), _Ranking.of(b, "b")), key=len)
    return _Seen.of(short, long, ties).overlap(p)


@dataclass(frozen=True)
class _Ranking:
    """Each id with the first and the last rank that its tie group takes up, counted from 1."""

    ranks: dict[Hashable, tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ranks)

    @classmethod
    def of(cls, given: Ranked, name: str) -> _Ranking:
        ranks: dict[Hashable, tuple[int, int]] = {}
        count = 0
        for group in _groups(given, name):
            first, last = len(ranks) + 1, len(ranks) + len(group)
            ranks |= {item: (first, last) for item in group if item not in ranks}
            count += len(group)
        if not ranks:
            raise InputError(f"{name} is empty; the overlap of rankings needs at least one id in each.")
        if len(ranks) < count:
            raise InputError(f"{name} has an id twice; give each rank to one id.")
        return cls(ranks)


def _groups(given: Ranked, name: str) -> Iterator[Sequence[Hashable]]:
    """What ties, best first."""
    if isinstance(given, Mapping):
        by_score: dict[float, list[Hashable]] = {}
        for item, score in given.items():
            if math.isnan(score):
                raise InputError(f"{name}: the score of {item!r} is NaN, which has no rank.")
            by_score.setdefault(float(score), []).append(item)
        for score in sorted(by_score, reverse=True):
            yield by_score[score]
        return
    if not isinstance(given, Sequence):
        raise InputError(f"{name} is {kind(given)}; give a list of ids, best first, or a dict with scores.")
    for group in given:
        yield sorted(group, key=str) if isinstance(group, AbstractSet) else [group]


@dataclass(frozen=True)
class _Seen:
    """What can be seen of two rankings, for each depth down to the end of the longer one."""

    short: int  # length
    long: int
    size: FloatArray  # what the agreement is divided by
    both: FloatArray  # how much of both there is
    guessed: FloatArray  # how much an unseen id of the shorter ranking adds if it is one of the longer ranking, on average
    most: FloatArray  # how much the unseen ids of the shorter ranking add at most

    @classmethod
    def of(cls, short: _Ranking, long: _Ranking, ties: str) -> _Seen:
        import numpy as np

        depths = np.arange(1, len(long) + 1)
        items = [*short.ranks, *(item for item in long.ranks if item not in short.ranks)]
        shares: list[
            FloatArray
        ] = []  # of each id at each depth: all of it from its group's first rank on, or a growing part
        for one in (short, long):
            nowhere = (len(long) + 1,) * 2
            first, last = np.array([one.ranks.get(item, nowhere) for item in items], dtype=np.float64).T
            width = np.ones_like(first) if ties == "w" else last - first + 1
            shares.append(np.clip((depths - first[:, None] + 1) / width[:, None], 0, 1))
        in_short, in_long = shares
        unseen = np.maximum(depths - len(short), 0)  # ids of the shorter ranking
        alone = in_long[len(short) :]  # ids that only the longer one has, best first
        if ties == "w":
            own = np.where(unseen > 0, depths, in_short.sum(axis=0))
            size = (own + in_long.sum(axis=0)) / 2
        elif ties == "a":
            size = depths.astype(np.float64)
        else:
            own = np.where(unseen > 0, depths, (in_short**2).sum(axis=0))
            size = np.sqrt(own * (in_long**2).sum(axis=0))
        counted = np.maximum((alone > 0).sum(axis=0), 1)
        best = np.arange(len(alone))[:, None] < unseen  # as many as are unseen
        return cls(
            len(short),
            len(long),
            size,
            (in_short * in_long).sum(axis=0),
            unseen * alone.sum(axis=0) / counted,
            (alone * best).sum(axis=0),
        )

    def overlap(self, p: float) -> Overlap:
        import numpy as np

        depths = np.arange(1, self.long + 1)
        weights = p**depths
        common, scale = float(self.both[-1]), (1 - p) / p
        end = self.short - 1  # where the shorter ranking ends
        agreed = float(self.both[end] / self.size[end])

        def total(both: FloatArray, beyond: float) -> float:
            return scale * (float((both / self.size * weights).sum()) + beyond)

        beyond_ext = (common + (self.long - self.short) * agreed) / self.long * p ** (self.long + 1) / (1 - p)
        beyond_min = common * (-math.log1p(-p) - float((weights / depths).sum()))
        whole = (
            self.long + self.short - round(common)
        )  # the depth at which all ids may have been seen in both
        later = np.arange(self.long + 1, whole + 1)
        beyond_max = float(((2 * later - whole) / later * p**later).sum()) + p ** (whole + 1) / (1 - p)
        return Overlap(
            ext=_within(total(self.both + agreed * self.guessed, beyond_ext)),
            min=_within(total(self.both, beyond_min)),
            max=_within(total(self.both + self.most, beyond_max)),
        )


def _within(value: float) -> float:
    """Without what rounding adds."""
    return min(max(value, 0.0), 1.0)
