"""Passages are judged, chunks are retrieved: one chunk may hold several passages, and several chunks one passage together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from ranklens.data.matching.rules import Matching

Item = TypeVar("Item")


class Coverage(ABC, Generic[Item]):
    """What the items of one ranking hold of the passages of its query, from the first item on."""

    @abstractmethod
    def alone(self, item: Item) -> Mapping[str, float]:
        """The passages that this item holds by itself, with the share of each that it holds."""

    @abstractmethod
    def together(self, item: Item, missing: Collection[str]) -> Mapping[str, float]:
        """Those of the ``missing`` passages that this item completes, because items above it hold the rest."""


class Passages(Matching):
    """The base of matchings whose judged ids are passages."""

    def judged_ids(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[str]:
        return [names[0] for names in self.matches(query, ids, gold)]


def matched(
    items: Iterable[tuple[str, Item]], coverage: Coverage[Item], gold: Mapping[str, float]
) -> list[Sequence[str]]:
    """For each item, given with a name of its own: the passages that are found with it, the best first.

    Where an item only repeats passages, it is the name under which these were found; where it holds none, its own name.
    """
    found_as: dict[str, str] = {}
    out: list[Sequence[str]] = []
    for name, item in items:
        held = coverage.alone(item)
        missing = [one for one in gold if one not in found_as and one not in held]
        shares = {**held, **coverage.together(item, missing)}
        best = sorted(shares, key=lambda one: (gold[one], shares[one]), reverse=True)
        new = [one for one in best if one not in found_as]
        found_as |= dict.fromkeys(new, new[0] if new else "")
        out.append(new or [found_as[best[0]] if best else name])
    return out
