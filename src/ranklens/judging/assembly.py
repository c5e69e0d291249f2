"""Rankings + judgments → :class:`~ranklens.judging.judged.Judged`: ranks are found, then the policies for whole queries applied."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import BoolArray
from ranklens.errors import InPython, Option, PolicyError, RankLensError, RankLensWarning, warn
from ranklens.files.collection import is_path
from ranklens.files.forking import polars_is_used
from ranklens.judging.averaged_ties import spread_ties
from ranklens.judging.dicts import from_dicts
from ranklens.judging.gold import Ideal
from ranklens.judging.hits import Hits
from ranklens.judging.inputs import NOTHING, Facts, facts, read_inputs
from ranklens.judging.judged import Applied, Judged, TieGroups
from ranklens.judging.prepared import PreparedJudgments, index_of
from ranklens.judging.standing import Standings, in_order
from ranklens.policy import Policy, make_policy
from ranklens.readers import frames
from ranklens.readers.judgments import Judgments

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.judging.details import Details
    from ranklens.matching.rules import Matching
    from ranklens.policy import PolicyOptions

_FEW_ROWS = 5_000
_NO_TIES = TieGroups(*(np.zeros(0, np.int64) for _ in range(3)))


NOTHING_JUDGED = "No query is judged, so there is nothing to average."
NOTHING_IN_COMMON = "The run and the judgments have no query in common"  # for commands an error


def judge(
    qrels: Any,
    run: Any,
    policy: Policy | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    abstain_below: float | None = None,
    **options: Unpack[PolicyOptions],
) -> Judged:
    """Find the ranks of the judged documents, once, for any number of measures.

    ``qrels`` is ``{query: {document: grade}}``, ``{query: set}`` or a table with the columns query, doc, grade; ``run``
    is ``{query: {document: score}}``, ``{query: [documents]}``, ``{query: [(document, score)]}`` or a table with the
    columns query, doc and score or rank. Both may be paths to files, or records: a golden set that says what is expected for
    each question, and a log that says what was retrieved. ``columns`` names columns and fields that have other names, also by a
    path (``{"expected": "gold.ids"}``). ``match`` says how retrieved items become judged ids (:mod:`ranklens.matching`).
    Questions that a golden set calls unanswerable are not averaged; answering them with nothing, or with scores below
    ``abstain_below`` only, is counted as right.
    Policies are given as a :class:`~ranklens.policy.Policy` or one by one: ``judge(qrels, run, ties="average")``.

    >>> judged = judge({"q1": {"a": 2, "b": 1}}, {"q1": {"a": 0.5, "x": 0.9, "b": 0.5}})
    >>> judged.hits.rank, judged.hits.grade  # a and b tie: document ids in descending order, as trec_eval
    (array([2, 3]), array([1., 2.]))
    """
    policy = make_policy(policy, options)
    given = qrels, run  # files are read again, rather than kept in memory
    qrels, run = read_inputs(qrels, run, policy, columns=columns, match=match)
    source = given if columns is None and match is None else (qrels, run)
    known = facts(qrels, run, abstain_below)
    if isinstance(qrels, Judgments):
        return _judge_details(qrels, run, policy, known, source)
    if isinstance(run, (dict, Mapping)):  # dict first: to ask an abstract class takes longer
        gold = qrels if isinstance(qrels, (dict, Mapping)) else _as_dicts(qrels)
        index = index_of(qrels)
        found = from_dicts(gold if index is None else index.for_dicts, run, policy)
        judged = assemble(found, policy, known, source=source)
        if not len(judged.hits):
            _hint_at_chunks(gold, run)
        return judged
    from ranklens.files.pieces import tables_of
    from ranklens.files.streams import TableStream
    from ranklens.judging.tables import from_frames

    polars_is_used()
    tables = tables_of(run)
    small = None if isinstance(tables, TableStream) else _small(qrels, tables[0])
    try:
        found = from_dicts(*small, policy) if small else from_frames(qrels, tables, policy, None)
    except RankLensError as error:
        _name_file(error, *given)
        raise
    once = isinstance(tables, TableStream) and tables.once
    del qrels, run, tables  # which may be large, and were read here
    return assemble(found, policy, known, source=None if once else source)


def _as_dicts(qrels: Any) -> Mapping[Any, Any]:
    polars_is_used()
    return frames.by_query(frames.qrels_frame(qrels))


def _name_file(error: RankLensError, qrels: Any, run: Any) -> None:
    """Say in which file something is wrong, where only judgments or run are named."""
    for what, source in (("qrels", qrels), ("run", run)):
        if error.path is None and is_path(source) and str(error).startswith(f"{what}: "):
            error.path = os.fspath(source)


def _small(qrels: Any, run: pl.DataFrame) -> tuple[Any, Mapping[Any, Any]] | None:
    """A few rows as dicts, for which tables would take longer than the rows; None where there are many, or anything unusual."""
    if len(run) > _FEW_ROWS:
        return None
    index = index_of(qrels)
    if index is None and not isinstance(qrels, Mapping):
        judged = frames.qrels_frame(qrels)
        gold: Any = frames.as_dicts(judged) if len(judged) <= _FEW_ROWS else None
    else:
        gold = qrels if index is None else index.for_dicts
    ranked = frames.as_dicts(run)
    return None if gold is None or ranked is None else (gold, ranked)


def _judge_details(
    qrels: Judgments, run: Any, policy: Policy, known: Facts, source: tuple[Any, Any]
) -> Judged:
    """The same where judgments know more than a grade."""
    from ranklens.judging.enriched import stand

    def rank(numbers: PreparedJudgments) -> Standings:
        if isinstance(run, Mapping):
            return from_dicts(numbers.index.for_dicts, run, policy)
        from ranklens.files.pieces import tables_of
        from ranklens.judging.tables import from_frames

        return from_frames(numbers, tables_of(run), policy, None)

    found, details = stand(qrels, policy, rank)
    if qrels.documents is not None:
        from ranklens.judging.listing import listing

        details = replace(details, listing=listing(qrels, run, policy, found.queries))
    return assemble(found, policy, known, details, source)


def _hint_at_chunks(qrels: Mapping[Any, Any], run: Mapping[Any, Any]) -> None:
    """Where chunks were retrieved and documents judged, no id is right until somebody says so."""
    from ranklens.matching.rules import chunk_separator  # most calls need none

    some = {str(query): [str(doc) for doc in docs] for query, docs in islice(run.items(), 100)}
    gold = {
        str(query): dict.fromkeys(map(str, docs), 1.0) for query, docs in qrels.items() if str(query) in some
    }
    separator = chunk_separator(some, gold)
    if separator is not None:
        warn(chunks(separator))


def chunks(separator: str, system: str = "") -> RankLensWarning:
    """What to do if chunks of judged documents were retrieved; ``system`` says by whom."""
    return RankLensWarning(
        f"No retrieved id{system} is judged, but the part before {separator!r} is: are these chunks of judged documents? Then choose ",
        InPython(
            f'match=ByParent(separator="{separator}")',
            f"--match parent:{separator}",
            f'match: {{by: parent, separator: "{separator}"}}',
        ),
        ".",
    )


def assemble(
    found: Standings,
    policy: Policy,
    known: Facts = NOTHING,
    details: Details | None = None,
    source: tuple[Any, Any] | None = None,
) -> Judged:
    """Apply the policies that come after ranking: which queries count, how ties are spread, how deep to look."""
    ideal = found.ideal
    if ideal is None:
        ideal = Ideal.of(found.judged, found.gold)
    has_relevant, empty = ideal.has_relevant(policy.rel)
    keep = _kept(found, has_relevant, policy)
    n, averaged = len(found.queries), len(found.queries) if keep is None else int(keep.sum())
    in_run = int(np.count_nonzero(found.in_run))  # faster than a sum
    applied = Applied(
        queries=averaged,
        missing=n - in_run - known.failed,
        ignored=found.applied.ignored - known.unanswerable,
        empty=empty,
        duplicates=found.applied.duplicates,
        duplicate_judgments=found.applied.duplicate_judgments,
        failed=known.failed,
        joined=known.joined,
        logged_again=known.logged_again,
        unanswerable=known.unanswerable,
        abstained=known.abstained,
        silent=in_run - int(np.count_nonzero(found.retrieved)),
    )
    _complain(applied, found, policy, known)
    judged = Judged(
        found.queries,
        _hits(found, policy).top(policy.depth),
        ideal.hits,
        found.retrieved if policy.depth is None else np.minimum(found.retrieved, policy.depth),
        ideal.highest,
        replace(policy, judged_only=False) if policy.judged_only else policy,
        applied,
        _tie_groups(found) if found.may_tie else _NO_TIES,
        details,
        _prepared=(ideal.hits, ideal.kept),
        _source=source,
    )
    judged = judged if keep is None or averaged == n else _some_queries(judged, keep)
    return judged.condensed() if policy.judged_only else judged


def _kept(found: Standings, has_relevant: BoolArray, policy: Policy) -> BoolArray | None:
    """The queries that are averaged over; None for all."""
    if policy.missing != "skip" and policy.empty != "skip":
        return None
    keep = np.ones(len(found.queries), dtype=bool)
    if policy.missing == "skip":
        keep &= found.in_run
    if policy.empty == "skip":
        keep &= has_relevant
    return keep


def _complain(applied: Applied, found: Standings, policy: Policy, known: Facts) -> None:
    lacking = applied.missing + applied.failed
    if policy.missing == "error" and lacking:
        raise not_in_the_run(lacking, found.queries[int(np.argmin(found.in_run))])
    if not found.queries:
        warn(NOTHING_JUDGED)
    elif applied.missing + applied.failed == len(found.queries) and applied.ignored:
        warn(nothing_in_common(found.queries[0], found.examples[0]))
    elif not len(found.query) and (found.retrieved > 0).sum() >= known.telling and len(found.gold):
        warn(none_is_judged(*found.examples[1:]))


def not_in_the_run(lacking: int, first: Any) -> PolicyError:
    """The error for judged queries that a run lacks, where none may be missing."""
    return PolicyError(
        f"{lacking} judged {'query is' if lacking == 1 else 'queries are'} not in the run "
        f"(first: {first!r}). Add the missing queries, or choose ",
        Option("missing", "zero"),
        " or ",
        Option("missing", "skip"),
        ".",
        query=first,
    )


def none_is_judged(judged: Any, retrieved: Any) -> str:
    """The warning for a run without any judged document, with a document of each."""
    return (
        f"None of the retrieved documents is judged (judged: {judged!r}, retrieved: "
        f"{retrieved!r}): every value is 0. Do the document ids have the same format?"
    )


def nothing_in_common(judged: str, retrieved: str) -> str:
    """The warning for a run without any judged query, with a query of each."""
    return (
        f"{NOTHING_IN_COMMON} (judged: {judged!r}, in the run: {retrieved!r}): "
        "every value is 0. Do the query ids have the same format?"
    )


def _hits(found: Standings, policy: Policy) -> Hits:
    """The judged documents that were retrieved, by query and rank."""
    query, grade, n = found.query, found.grade.astype(np.float64), len(found.queries)
    if policy.ties == "average":
        return spread_ties(query, found.start, found.size, grade, n)
    if found.in_order:
        return Hits(query, found.rank, grade, n)
    place = (np.cumsum(found.retrieved) - found.retrieved - 1)[query]
    place += found.rank
    if (place[1:] > place[:-1]).all():
        return Hits(query, found.rank, grade, n)
    order = in_order(place, int(found.retrieved.sum()))
    return Hits(query[order], found.rank[order], grade[order], n)


def _tie_groups(found: Standings) -> TieGroups:
    """Each once, by query and first rank."""
    tied = (found.size > 1).nonzero()[0]
    if not len(tied):
        return TieGroups(tied, tied, tied)
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
        details=judged.details and judged.details.some(keep),
        _cache={},
    )


def _keep_queries(hits: Hits, keep: BoolArray) -> Hits:
    hits = hits.where(keep[hits.query])
    return replace(hits, query=(np.cumsum(keep) - 1)[hits.query], n_queries=int(keep.sum()))
