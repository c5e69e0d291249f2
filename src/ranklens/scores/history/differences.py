"""Whether two records may be compared: on which queries, and what was different when they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.words import counted, several

if TYPE_CHECKING:
    from ranklens.scores.history.record import Record, Setting


@dataclass(frozen=True)
class Differences:
    """What changed between two records apart from the system.

    ``policy`` holds (before, now) by name; ``added``, ``removed`` and ``changed`` are queries, ``changed`` those with other judgments,
    ``common`` those that both have with the same judgments.
    """

    policy: dict[str, tuple[Setting, Setting]]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    common: tuple[str, ...]

    @property
    def any(self) -> bool:
        return bool(self.policy or self.data)

    @property
    def data(self) -> bool:
        """Whether judgments or queries differ."""
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = [f"{name} was {before!r}, and is {now!r}" for name, (before, now) in self.policy.items()]
        for queries, what in (
            (self.added, "{} new"),
            (self.removed, "{} gone"),
            (self.changed, "{} with other judgments"),
        ):
            if queries:
                parts.append(f"{what.format(counted(len(queries), 'query'))} ({several(list(queries), 3)})")
        return "; ".join(parts)


def differences(before: Record, now: Record) -> Differences:
    """What changed from one record to another.

    >>> import ranklens as rl
    >>> from ranklens.scores.history.record import Record
    >>> one = Record.of(rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a"]}, "RR"), "one")
    >>> two = Record.of(rl.evaluate({"q1": {"a"}, "q3": {"b"}}, {"q1": ["a"]}, "RR", depth=5), "two")
    >>> print(differences(one, two))
    depth was None, and is 5; 1 query new (q3); 1 query gone (q2)
    """
    names = dict.fromkeys([*before.policy, *now.policy])
    policy = {
        name: (before.policy.get(name), now.policy.get(name))
        for name in names
        if before.policy.get(name) != now.policy.get(name)
    }
    queries_before, queries_now = before.values.place, now.values.place
    shared = [query for query in now.queries if query in queries_before]
    same = [query for query in shared if before.digests.get(query) == now.digests.get(query)]
    same_queries = {*same}
    return Differences(
        policy,
        tuple(query for query in now.queries if query not in queries_before),
        tuple(query for query in before.queries if query not in queries_now),
        tuple(query for query in shared if query not in same_queries),
        tuple(same),
    )
