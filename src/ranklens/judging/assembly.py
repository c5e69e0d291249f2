"""Rankings + judgments → :class:`~ranklens.judging.judged.Judged`: ranks are found, then the policies for whole queries applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ranklens.arrays import BoolArray, IntArray
from ranklens.errors import InputError, Option, PolicyError, warn
from ranklens.files.collection import read_pair
from ranklens.judging.averaged_ties import spread_ties
from ranklens.judging.dicts import from_dicts
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Applied, Judged, TieGroups
from ranklens.judging.standing import Grades, Standings
from ranklens.policy import Policy, make_policy
from ranklens.readers import frames


def judge(
    qrels: Any,
    run: Any,
    policy: Policy | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **options: Any,
) -> Judged:
    """Find the ranks of the judged documents, once, for any number of measures.

    ``qrels`` is ``{query: {document: grade}}``, ``{query: set}`` or a table with the columns query, doc, grade; ``run``
    is ``{query: {document: score}}``, ``{query: [documents]}``, ``{query: [(document, score)]}`` or a table with the
    columns query, doc and score or rank. Both may be paths to files. ``columns`` names the columns of tables that have other names.
    Policies are given as a :class:`~ranklens.policy.Policy` or one by one: ``judge(qrels, run, ties="average")``.

    >>> judged = judge({"q1": {"a": 2, "b": 1}}, {"q1": {"a": 0.5, "x": 0.9, "b": 0.5}})
    >>> judged.hits.rank, judged.hits.grade  # a and b tie: document ids in descending order, as trec_eval
    (array([2, 3]), array([1., 2.]))
    """
    policy = make_policy(policy, options)
    qrels, run = read_pair(qrels, run)
    _check_kind("qrels", qrels)
    _check_kind("run", run)
    if isinstance(run, Mapping):
        gold = qrels if isinstance(qrels, Mapping) else frames.by_query(frames.qrels_frame(qrels, columns))
        return _assemble(from_dicts(gold, run, policy), policy)
    from ranklens.files.streams import TableStream
    from ranklens.judging.tables import from_frames

    tables = run if isinstance(run, TableStream) else [frames.run_frame(run, columns)]
    return _assemble(from_frames(qrels, tables, policy, columns), policy)


def _check_kind(what: str, value: Any) -> None:
    if not isinstance(value, Mapping) and not frames.is_frame(value) and not hasattr(value, "tables"):
        raise InputError(
            f"{what} is a {type(value).__name__}; pass a dict by query, a Polars, pandas or Arrow table, or a path. "
            "For a list of dicts, one per question, use ranklens.from_records."
        )


def _assemble(found: Standings, policy: Policy) -> Judged:
    """Apply the policies that come after ranking: which queries count, how ties are spread, how deep to look."""
    ideal = _ideal(found.gold_query, found.gold, len(found.queries))
    best = ideal.where(ideal.rank == 1)
    has_relevant = best.where(best.grade >= policy.rel).sum() > 0
    keep = _kept(found, has_relevant, policy)
    applied = replace(
        found.applied,
        queries=int(keep.sum()),
        missing=int((~found.in_run).sum()),
        empty=int((~has_relevant).sum()),
    )
    _complain(applied, found, policy)
    judged = Judged(
        found.queries,
        _hits(found, policy).top(policy.depth),
        ideal,
        found.retrieved if policy.depth is None else np.minimum(found.retrieved, policy.depth),
        float(best.grade.max(initial=0)),
        replace(policy, judged_only=False),
        applied,
        _tie_groups(found),
    )
    judged = judged if keep.all() else _some_queries(judged, keep)
    return judged.condensed() if policy.judged_only else judged


def _kept(found: Standings, has_relevant: BoolArray, policy: Policy) -> BoolArray:
    """The queries that are averaged over."""
    keep = np.ones(len(found.queries), dtype=bool)
    if policy.missing == "skip":
        keep &= found.in_run
    if policy.empty == "skip":
        keep &= has_relevant
    return keep


def _complain(applied: Applied, found: Standings, policy: Policy) -> None:
    if policy.missing == "error" and applied.missing:
        absent = found.queries[int(np.argmin(found.in_run))]
        raise PolicyError(
            f"{applied.missing} judged {'query is' if applied.missing == 1 else 'queries are'} not in the run "
            f"(first: {absent!r}). Add the missing queries, or choose ",
            Option("missing", "zero"),
            " or ",
            Option("missing", "skip"),
            ".",
            query=absent,
        )
    if not found.queries:
        warn("No query is judged, so there is nothing to average.")
    elif applied.missing == len(found.queries) and applied.ignored:
        warn(nothing_in_common(found.queries[0], found.examples[0]))
    elif not len(found.query) and (found.retrieved > 0).sum() >= 5 and len(found.gold):
        warn(
            f"None of the retrieved documents is judged (judged: {found.examples[1]!r}, retrieved: "
            f"{found.examples[2]!r}): every value is 0. Do the document ids have the same format?"
        )


def nothing_in_common(judged: str, retrieved: str) -> str:
    """The warning for a run without any judged query, with a query of each."""
    return (
        f"The run and the judgments have no query in common (judged: {judged!r}, in the run: {retrieved!r}): "
        "every value is 0. Do the query ids have the same format?"
    )


def _hits(found: Standings, policy: Policy) -> Hits:
    """The judged documents that were retrieved, by query and rank."""
    query, grade, n = found.query, found.grade.astype(np.float64), len(found.queries)
    if policy.ties == "average":
        return spread_ties(query, found.start, found.size, grade, n)
    key = query * (int(found.rank.max(initial=0)) + 1) + found.rank
    order = slice(None) if (np.diff(key) > 0).all() else np.argsort(key)
    return Hits(query[order], found.rank[order], grade[order], n)


def _ideal(query: IntArray, grade: Grades, n: int) -> Hits:
    """All judged documents by descending grade; ``query`` is sorted."""
    levels = int(grade.max(initial=0)) + 1
    if ((grade[1:] <= grade[:-1]) | (query[1:] != query[:-1])).all():
        ordered = grade.astype(np.float64)
    elif grade.dtype == np.uint8 and n * levels <= 4 * len(grade) + 1000:
        # Few whole grades: counting them is much faster than sorting.
        counts = np.bincount(query * levels + (levels - 1 - grade), minlength=n * levels)
        ordered = np.repeat(np.tile(np.arange(levels - 1, -1, -1.0), n), counts)
    else:
        ordered = grade[np.lexsort((-grade.astype(np.float64), query))].astype(np.float64)
    hits = Hits(query, query, ordered, n)
    return replace(hits, rank=hits.ordinal())


def _tie_groups(found: Standings) -> TieGroups:
    """Each once, by query and first rank."""
    tied = np.flatnonzero(found.size > 1)
    query, start = found.query[tied], found.start[tied]
    order = np.lexsort((start, query))
    query, start = query[order], start[order]
    first = (np.diff(query, prepend=-1) != 0) | (np.diff(start, prepend=-1) != 0)
    return TieGroups(query[first], start[first], found.size[tied[order]][first])


def _some_queries(judged: Judged, keep: BoolArray) -> Judged:
    """The same over fewer queries."""
    ties, number = judged.ties, np.cumsum(keep) - 1
    if ties is not None:
        kept = keep[ties.query]
        ties = TieGroups(number[ties.query[kept]], ties.start[kept], ties.size[kept])
    return replace(
        judged,
        queries=[query for query, kept in zip(judged.queries, keep, strict=True) if kept],
        hits=_keep_queries(judged.hits, keep),
        ideal=_keep_queries(judged.ideal, keep),
        retrieved=judged.retrieved[keep],
        ties=ties,
        _cache={},
    )


def _keep_queries(hits: Hits, keep: BoolArray) -> Hits:
    hits = hits.where(keep[hits.query])
    return replace(hits, query=(np.cumsum(keep) - 1)[hits.query], n_queries=int(keep.sum()))
