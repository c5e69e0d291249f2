"""A run as ordered lists of judged ids, where one retrieved item may stand for several of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ranklens.data.evidence.contexts import Contexts

# By query and rank: what the item at this rank holds besides the passage that it is listed under.
Further: TypeAlias = "Mapping[str, Mapping[int, Sequence[str]]]"
NOTHING_FURTHER: Further = {}


class Rankings(dict[str, list[str]]):
    """A run ``{query: [documents, best first]}`` that knows which ``further`` passages an item holds.

    A chunk that holds three expected passages is one item of the ranking, listed under the best of them; the other two are found
    at the same rank.
    """

    def __init__(
        self,
        rankings: Mapping[str, list[str]],
        further: Further = NOTHING_FURTHER,
        contexts: Contexts | None = None,
    ) -> None:
        super().__init__(rankings)
        self.further = further
        self.contexts = contexts  # the chunks, where passages are judged

    def held(self, query: str) -> dict[str, Sequence[str]]:
        """The further passages of a query, by the id under which their item is listed."""
        ids = list(dict.fromkeys(self.get(query, ())))
        return {ids[rank - 1]: passages for rank, passages in self.further.get(query, {}).items()}

    def only(self, queries: Collection[str]) -> Rankings:
        """The same for some of the queries."""
        some = {query: docs for query, docs in self.items() if query in queries}
        return Rankings(some, self.further, self.contexts)


def listed(matches: Sequence[Sequence[str]]) -> tuple[list[str], dict[int, Sequence[str]]]:
    """A ranking from what each item stands for, the best first: its ids, and what else the items hold, by rank.

    Of several items that are the same judged document the first counts, and those below move up.

    >>> listed([("a", "b"), ("x",), ("a",), ("c", "d")])
    (['a', 'x', 'c'], {1: ('b',), 3: ('d',)})
    """
    ids = list(dict.fromkeys(names[0] for names in matches))
    others = {names[0]: names[1:] for names in matches if len(names) > 1}
    return ids, {rank: others[doc] for rank, doc in enumerate(ids, 1) if doc in others}
