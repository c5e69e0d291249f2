"""Rankings + judgments → :class:`~ranklens.judging.judged.Judged`: ranks are found, then the policies for whole queries applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.errors import InputError, NoCommonQueryWarning, Option, PolicyError, warn
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
    columns query, doc and score or rank. Both may be paths of files. ``columns`` names the columns of tables where they are called otherwise.
    Policies are given as a :class:`~ranklens.policy.Policy` or one by one: ``judge(qrels, run, ties="average")``.

    >>> judged = judge({"q1": {"a": 2, "b": 1}}, {"q1": {"a": 0.5, "x": 0.9, "b": 0.5}})
    >>> judged.hits.rank, judged.hits.grade  # a and b tie: document ids in descending order, as trec_eval
    (array([2, 3]), array([1., 2.]))
    """
    policy = make_policy(policy, options)
    qrels, run = load(qrels, run)
    _check_kind("qrels", qrels)
    _check_kind("run", run)
    if isinstance(run, Mapping):
        gold = qrels if isinstance(qrels, Mapping) else frames.by_query(frames.qrels_frame(qrels, columns))
        return _told_apart(_assemble(from_dicts(gold, run, policy), policy), gold, run)
    from ranklens.files.streams import TableStream
    from ranklens.judging.tables import from_frames

    tables = run if isinstance(run, TableStream) else [frames.run_frame(run, columns)]
    return _assemble(from_frames(qrels, tables, policy, columns), policy)


def _told_apart(judged: Judged, gold: Mapping[Any, Any], run: Mapping[Any, Any]) -> Judged:
    """Queries that a run lacks because the call failed are not missing."""
    failed = sum(query in gold for query in getattr(run, "failed", ()))
    if not failed:
        return judged
    applied = replace(judged.applied, missing=judged.applied.missing - failed, failed=failed)
    return replace(judged, applied=applied)


def load(qrels: Any, run: Any) -> tuple[Any, Any]:
    """Read what is given as a path."""
    if not _is_path(qrels) and not _is_path(run):
        return qrels, run
    from ranklens.files import formats

    if _is_path(qrels) and _is_path(run):
        return formats.read_pair(qrels, run)
    gold = formats.read_qrels(qrels) if _is_path(qrels) else qrels
    return gold, formats.stream_run(run) if _is_path(run) else run


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, Path))


def _check_kind(what: str, value: Any) -> None:
    if not isinstance(value, Mapping) and not frames.is_frame(value) and not hasattr(value, "tables"):
        raise InputError(
            f"{what} is a {type(value).__name__}; give a dict by query, a Polars, pandas or Arrow table, or the path of a file. "
            "For a list of dicts, one a question, use ranklens.from_records."
        )


def _assemble(found: Standings, policy: Policy) -> Judged:
    """Apply what concerns whole queries, sort, cut: the policies that come after ranking."""
    n = len(found.queries)
    ideal = _ideal(found.gold_query, found.gold, n)
    best = ideal.rank == 1
    has_relevant = np.zeros(n, dtype=bool)
    has_relevant[ideal.query[best]] = ideal.grade[best] >= policy.rel
    max_grade = float(ideal.grade[best].max(initial=0))
    keep = np.ones(n, dtype=bool)
    if policy.missing == "skip":
        keep &= found.in_run
    if policy.empty == "skip":
        keep &= has_relevant
    applied = replace(
        found.applied,
        queries=int(keep.sum()),
        missing=int((~found.in_run).sum()),
        empty=int((~has_relevant).sum()),
    )
    _complain(applied, found, policy)
    if policy.ties == "average":
        hits = spread_ties(found.query, found.start, found.size, found.grade.astype(np.float64), n)
    else:
        hits = _sorted_hits(found.query, found.rank, found.grade.astype(np.float64), n)
    hits, retrieved = hits.top(policy.depth), found.retrieved
    if policy.depth is not None:
        retrieved = np.minimum(retrieved, policy.depth)
    ties = _tie_groups(found)
    queries = found.queries
    if not keep.all():
        hits, ideal = _keep_queries(hits, keep), _keep_queries(ideal, keep)
        retrieved, queries = retrieved[keep], [q for q, kept in zip(queries, keep, strict=True) if kept]
        ties = TieGroups(*(a[keep[ties.query]] for a in (ties.query, ties.start, ties.size)))
    judged = Judged(
        queries, hits, ideal, retrieved, max_grade, replace(policy, judged_only=False), applied, ties
    )
    return judged.condensed() if policy.judged_only else judged


def _complain(applied: Applied, found: Standings, policy: Policy) -> None:
    if policy.missing == "error" and applied.missing:
        absent = found.queries[int(np.argmin(found.in_run))]
        raise PolicyError(
            f"{applied.missing} judged {'query is' if applied.missing == 1 else 'queries are'} not in the run, "
            f"the first is {absent!r}. Add what is missing, or choose ",
            Option("missing", "zero"),
            " or ",
            Option("missing", "skip"),
            ".",
            query=absent,
        )
    if not found.queries:
        warn("There is no judged query, so there is nothing to average over.")
    elif applied.missing == len(found.queries) and applied.ignored:
        warn(
            NoCommonQueryWarning(
                f"The run and the judgments have no query in common (judged: {found.queries[0]!r}, "
                f"in the run: {found.examples[0]!r}): every value is 0. Are the query ids of the same kind?"
            )
        )
    elif not len(found.query) and (found.retrieved > 0).sum() >= 5 and len(found.gold):
        warn(
            f"None of the retrieved documents is judged (judged: {found.examples[1]!r}, retrieved: "
            f"{found.examples[2]!r}): every value is 0. Are the document ids of the same kind?"
        )


def _sorted_hits(query: IntArray, rank: IntArray, grade: FloatArray, n: int) -> Hits:
    key = query * (int(rank.max(initial=0)) + 1) + rank
    order = slice(None) if (np.diff(key) > 0).all() else np.argsort(key)
    return Hits(query[order], rank[order], grade[order], n)


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


def _keep_queries(hits: Hits, keep: BoolArray) -> Hits:
    hits = hits.where(keep[hits.query])
    return replace(hits, query=(np.cumsum(keep) - 1)[hits.query], n_queries=int(keep.sum()))
