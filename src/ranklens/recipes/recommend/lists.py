"""What recommendation lists look like on their own: repeats, overlap with other lists; and test data without a popularity bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ranklens.data.readers import frames, mappings
from ranklens.errors import InputError


def intersection(
    recommendations: object, reference: object, k: int = 10, reference_k: int | None = None
) -> dict[str, float]:
    """For each user of ``recommendations``, the share of the top k that is in the top ``reference_k`` (by default k) of ``reference``.

    As RecTools' Intersection: users who are not in ``reference`` get 0.

    >>> intersection({"u1": ["a", "b"], "u2": ["c"]}, {"u1": ["b", "x"]}, k=2)
    {'u1': 0.5, 'u2': 0.0}
    """
    others = _lists(reference)
    depth = k if reference_k is None else reference_k
    return {
        user: len({*items[:k]} & {*others.get(user, ())[:depth]}) / len(items[:k])
        for user, items in _lists(recommendations).items()
        if items[:k]
    }


def unrepeated(recommendations: object, k: int = 10, *, deep: bool = False) -> dict[str, float]:
    """For each user, whether the top k recommends no item twice; with ``deep``, the share of items that are not repeats.

    As RecTools' UnrepeatedReco. Measures of rankings drop repeats, so they cannot show them.

    >>> unrepeated({"u1": ["a", "b"], "u2": ["c", "c"]}), unrepeated({"u2": ["c", "c"]}, deep=True)
    ({'u1': 1.0, 'u2': 0.0}, {'u2': 0.5})
    """
    tops = {user: items[:k] for user, items in _lists(recommendations).items() if items[:k]}
    shares = {user: len({*items}) / len(items) for user, items in tops.items()}
    return shares if deep else {user: float(share == 1) for user, share in shares.items()}


def debiased(test: object, coefficient: float = 1.5, *, seed: int = 0) -> dict[str, dict[str, float]]:
    """Test data in which very popular items count less: RecTools' debiased metrics are the usual ones on such data.

    An item that more users wanted than Q3 + ``coefficient`` · (Q3 - Q1), with the quartiles taken over items, keeps that many of its users,
    drawn at random.

    >>> few = debiased({f"u{i}": {"hit", f"own{i}"} for i in range(9)})
    >>> sum("hit" in items for items in few.values())
    1
    """
    import numpy as np

    if frames.is_frame(test):
        by_user = {user: dict(pairs) for user, pairs in frames.by_query(frames.qrels_frame(test)).items()}
    elif isinstance(test, Mapping):
        by_user = dict(mappings.judgments(test).by_query)
    else:
        raise InputError(
            "test: pass {user: {items}}, {user: {item: grade}} or a table with the columns user and item."
        )
    grades = {
        str(user): {str(item): grade for item, grade in items.items()} for user, items in by_user.items()
    }
    users: dict[str, list[str]] = {}
    for user, items in grades.items():
        for item in items:
            users.setdefault(item, []).append(user)
    if not users:
        return grades
    low, high = np.quantile([len(some) for some in users.values()], [0.25, 0.75]).tolist()
    most, rng = int(high + coefficient * (high - low)), np.random.default_rng(seed)
    dropped = {
        item: {*some} - {*rng.choice(some, most, replace=False).tolist()}
        for item, some in users.items()
        if len(some) > most
    }
    return {
        user: {item: grade for item, grade in items.items() if user not in dropped.get(item, ())}
        for user, items in grades.items()
    }


def _lists(recommendations: object) -> Mapping[str, Sequence[str]]:
    """The items of each user, best first, with repeats."""
    if frames.is_frame(recommendations):
        rows = frames.run_frame(recommendations).sort("score", descending=True, maintain_order=True)
        lists = rows.group_by("query", maintain_order=True).agg("doc")
        return dict(zip(lists["query"].to_list(), lists["doc"].to_list(), strict=True))
    if not isinstance(recommendations, Mapping):
        raise InputError(
            "recommendations: pass {user: [items, best first]}, {user: {item: score}} or a table."
        )
    ranked = mappings.rankings(recommendations).by_query
    return {
        str(user): [*map(str, items)]
        if isinstance(items, (list, tuple))
        else [str(item) for item, _ in sorted(ranked[user].items(), key=lambda pair: -pair[1])]
        for user, items in recommendations.items()
    }
