"""A judged ranking under another policy, without reading the run again: judged documents and their tie groups say enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.judging.hits import Hits, spread_ties
from ranklens.judging.judged import Judged

if TYPE_CHECKING:
    from ranklens.arrays import IntArray
    from ranklens.policy import Policy

_BY_ID = ("ascending", "descending")


def rejudged(judged: Judged, policy: Policy) -> Judged | None:
    """What :func:`ranklens.judge` gives under this policy; None where only the run can tell.

    >>> import ranklens as rl
    >>> judged = rl.judge({"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 1, "b": 1, "c": 1, "x": 2}})
    >>> rejudged(judged, rl.Policy(ties="ascending")).hits.grade, rejudged(judged, rl.Policy(judged_only=True)).hits.rank
    (array([1., 0., 1.]), array([1, 2, 3]))
    """
    before = judged.policy
    if policy == before:
        return judged
    known = replace(
        before,
        ties=policy.ties,
        depth=policy.depth,
        rel=policy.rel,
        judged_only=policy.judged_only,
        missing=policy.missing,
        empty=policy.empty,
    )
    # A policy that averages over some of the judged queries only would need those that the other one left out.
    applied, without = judged.applied, int((judged.total(policy.rel) == 0).sum())
    skips_missing = "skip" in (before.missing, policy.missing) and applied.missing + applied.failed > 0
    skips_empty = "skip" in (before.empty, policy.empty) and applied.empty + without > 0
    if known != policy or not _is_whole(judged) or skips_missing or skips_empty:
        return None
    if policy.ties != before.ties and (policy.ties == "input" or before.ties not in _BY_ID):
        return None
    hits = judged.hits
    if policy.ties != before.ties:
        start, size = _groups(judged)
        hits = (
            spread_ties(hits.query, start, size, hits.grade, hits.n_queries)
            if policy.ties == "average"
            else _ordered(hits, 2 * start + size - 1 - hits.rank)
        )
    depth = policy.depth
    judged_again = replace(
        judged,
        hits=hits.top(depth),
        retrieved=judged.retrieved if depth is None else np.minimum(judged.retrieved, depth),
        policy=replace(policy, judged_only=False),
        applied=replace(applied, empty=without),
        _cache={},
    )
    return judged_again.condensed() if policy.judged_only else judged_again


def settled(judged: Judged, *, best: bool) -> Judged | None:
    """The same with tied documents by grade, the highest first or last; an unjudged document is not relevant.

    None where only the run can tell. Documents of the same grade stay in the descending order of their ids.
    """
    plain = rejudged(judged, replace(judged.policy, ties="descending"))
    if plain is None or not _is_whole(plain):
        return None
    hits, (start, size) = plain.hits, _groups(plain)
    value = hits.grade if best else -hits.grade
    # Better grades than 0 come first, worse ones last; in between, documents that are not relevant keep their order.
    level = 1 - np.sign(value).astype(np.int64)
    group = np.cumsum((np.diff(hits.query, prepend=-1) != 0) | (np.diff(start, prepend=-1) != 0)) - 1
    order = np.lexsort((hits.rank, -value, level, group))
    block = 3 * group[order] + level[order]
    place = np.empty(len(hits), np.int64)
    place[order] = np.arange(len(hits)) - np.searchsorted(block, block)
    ahead, behind = (np.bincount(group[level == which], minlength=len(hits))[group] for which in (0, 2))
    graded = (level != 1).astype(np.int64)
    before = np.cumsum(graded) - graded
    before -= before[np.searchsorted(group, group)]
    rank = np.select(
        [level == 0, level == 1], [start + place, hits.rank - before + ahead], start + size - behind + place
    )
    # The run itself has another order, so it must not be read in place of this one.
    return replace(
        plain,
        hits=_ordered(hits, rank),
        policy=replace(judged.policy, ties="input"),
        _cache={},
        _source=None,
    )


def _is_whole(judged: Judged) -> bool:
    """Whether all judged documents of the ranking are known by rank and grade, and nothing else is."""
    policy = judged.policy
    return (
        judged.ties is not None
        and judged.details is None
        and judged.further is None
        and judged.hits.spread is None
        and policy.depth is None
        and not policy.judged_only
    )


def _groups(judged: Judged) -> tuple[IntArray, IntArray]:
    """The first rank and the size of the tie group of each hit."""
    hits, ties = judged.hits, judged.ties
    start, size = hits.rank.copy(), np.ones(len(hits), np.int64)
    if ties is None or not len(ties.query):
        return start, size
    width = 1 + max(int(hits.rank.max(initial=0)), int(ties.start.max()))
    group = np.searchsorted(ties.query * width + ties.start, hits.query * width + hits.rank, "right") - 1
    tied = (group >= 0) & (ties.query[group] == hits.query)
    tied &= hits.rank < ties.start[group] + ties.size[group]
    start[tied], size[tied] = ties.start[group[tied]], ties.size[group[tied]]
    return start, size


def _ordered(hits: Hits, rank: IntArray) -> Hits:
    return replace(hits, rank=rank).take(np.lexsort((rank, hits.query)))
