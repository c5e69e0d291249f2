"""Rankings + judgments → :class:`~ranklens.judging.judged.Judged`: ranks are found, then the policies for whole queries applied."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import BoolArray
from ranklens.data.files.forking import polars_is_used
from ranklens.data.qrels import Dicts, Id, Qrels
from ranklens.data.readers import frames
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.objects import is_path
from ranklens.data.run import Run, RunFile
from ranklens.errors import (
    InPython,
    MismatchWarning,
    Option,
    PolicyError,
    RankLensError,
    RankLensWarning,
    warn,
)
from ranklens.judging.averaged_ties import spread_ties
from ranklens.judging.dicts import from_dicts, from_prepared
from ranklens.judging.gold import Ideal
from ranklens.judging.hits import Hits
from ranklens.judging.inputs import NOTHING, Facts, Sources, facts, read_inputs
from ranklens.judging.judged import Applied, Judged, TieGroups
from ranklens.judging.mismatch import documents_mismatch, nothing_in_common, queries_mismatch
from ranklens.judging.prepared import Index, PreparedJudgments, index_of
from ranklens.judging.standing import Standings, in_order
from ranklens.policy import Policy, make_policy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.data.matching.rules import Matching
    from ranklens.judging.details import Details
    from ranklens.policy import PolicyOptions

_FEW_ROWS = 5_000
_FEW_JUDGED = 4  # documents per query, as golden sets have
_NO_TIES = TieGroups(*(np.zeros(0, np.int64) for _ in range(3)))


NOTHING_JUDGED = "No query is judged, so there is nothing to average."


def judge(
    qrels: object,
    run: object,
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
    return judge_given(qrels, run, make_policy(policy, options), columns, match, abstain_below)[0]


def judge_given(
    qrels: object,
    run: object,
    policy: Policy,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    abstain_below: float | None = None,
) -> tuple[Judged, Sources]:
    """:func:`judge`, and what to look at later."""
    gold, ranked = read_inputs(qrels, run, policy, columns=columns, match=match)
    # Runs that were opened together share what may be held. A single path has no such limit: a loop over many would hold them all.
    in_files = run.is_large if isinstance(run, RunFile) else is_path(run)
    held = None if in_files or is_path(qrels) else (gold, ranked)
    sources = Sources(qrels, run, columns, match, held=held)
    known = facts(gold, ranked, abstain_below)
    if gold.beyond_grades is not None:
        return _judge_details(gold.beyond_grades, ranked, policy, known, sources), sources
    if ranked.by_query is not None:
        return _judge_dicts(gold, ranked, ranked.by_query, policy, known, sources), sources
    from ranklens.judging.tables import from_tables

    polars_is_used()
    try:
        found = _few(gold, ranked, policy) or from_tables(gold, ranked.tables, policy)
    except RankLensError as error:
        _name_file(error, qrels, run)
        raise
    can_be_read_again = ranked.can_be_read_again
    del qrels, run, gold, ranked, held  # which may be large
    return assemble(found, policy, known, source=sources if can_be_read_again else None), sources


def _judge_dicts(
    qrels: Qrels, run: Run, rankings: Dicts, policy: Policy, known: Facts, sources: Sources
) -> Judged:
    gold = _as_dicts(qrels)
    found = _from_dicts(gold, index_of(qrels), rankings, policy)
    further = _further(gold, run, found.queries) if run.further else None
    judged = assemble(found, policy, known, source=sources, further=further)
    if not len(judged.hits):
        _hint_at_chunks(gold, rankings)
    return judged


def _from_dicts(gold: Dicts, index: Index | None, rankings: Dicts, policy: Policy) -> Standings:
    return (
        from_dicts(gold, rankings, policy)
        if index is None
        else from_prepared(index.for_dicts, rankings, policy)
    )


def _further(gold: Dicts, run: Run, queries: Sequence[str]) -> Hits:
    """The passages that retrieved items hold besides the one that they are listed under."""
    rows = [
        (number, rank, float(gold[query][passage]))
        for number, query in enumerate(queries)
        for rank, passages in run.further.get(query, {}).items()
        for passage in passages
        if passage in gold[query]
    ]
    number, rank, grade = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else np.zeros((3, 0))
    )
    return Hits(number.astype(np.int64), rank.astype(np.int64), grade.astype(np.float64), len(queries))


def _as_dicts(qrels: Qrels) -> Dicts:
    if isinstance(qrels.judged, Mapping):
        return qrels.judged
    polars_is_used()
    return frames.by_query(qrels.judged)


def _name_file(error: RankLensError, qrels: object, run: object) -> None:
    """Say in which file something is wrong, where only judgments or run are named."""
    for what, source in (("qrels", qrels), ("run", run)):
        if (
            error.path is None
            and isinstance(source, (str, os.PathLike))
            and str(error).startswith(f"{what}: ")
        ):
            error.path = os.fspath(source)


def _few(qrels: Qrels, run: Run, policy: Policy) -> Standings | None:
    """A few rows judged as dicts, for which tables would take longer than the rows; None where there are many, or anything unusual."""
    if run.table is None or len(run.table) > _FEW_ROWS:
        return None
    index, judged = index_of(qrels), qrels.judged
    if index is not None or isinstance(judged, Mapping):
        gold = qrels.by_query
    else:
        gold = frames.as_dicts(judged) if len(judged) <= _FEW_ROWS else None
    rankings = None if gold is None else frames.as_dicts(run.table)
    if gold is None or rankings is None:
        return None
    return _from_dicts(gold, index, rankings, policy)


def _judge_details(qrels: Judgments, run: Run, policy: Policy, known: Facts, sources: Sources) -> Judged:
    """The same where judgments know more than a grade."""
    from ranklens.judging.enriched import stand

    def rank(numbers: PreparedJudgments) -> Standings:
        if run.by_query is not None:
            return from_dicts(numbers.index.for_dicts, run.by_query, policy)
        from ranklens.judging.tables import from_tables

        return from_tables(Qrels(numbers), run.tables, policy)

    found, details = stand(qrels, policy, rank)
    if qrels.documents is not None:
        from ranklens.judging.listing import listing

        details = replace(details, listing=listing(Qrels(qrels), run, policy, found.queries))
    further = None
    if run.further:
        further = _further(qrels, run, found.queries)
        details = details.with_further(found.queries, run.further)
    return assemble(found, policy, known, details, sources, further)


def _hint_at_chunks(qrels: Dicts, run: Dicts) -> None:
    """Where chunks were retrieved and documents judged, no id is right until ``match`` is set."""
    from ranklens.data.matching.rules import chunk_separator  # most calls need none

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
    source: Sources | None = None,
    further: Hits | None = None,
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
        missing=n + found.left_out - in_run - known.failed,
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
    odd = _complain(applied, found, policy, known)
    if odd is not None:
        applied.mismatch, applied.alike = str(odd), odd.alike
    is_ready = found.in_order and policy.ties != "average"
    hits = (
        Hits(found.query, found.rank, found.grade.astype(np.float64), n) if is_ready else _hits(found, policy)
    )
    judged = Judged(
        found.queries,
        hits.top(policy.depth),
        ideal.hits,
        found.retrieved if policy.depth is None else np.minimum(found.retrieved, policy.depth),
        policy.max_grade or ideal.highest,
        replace(policy, judged_only=False) if policy.judged_only else policy,
        applied,
        _tie_groups(found) if found.may_tie else _NO_TIES,
        details,
        questions=known.questions,
        _prepared=(ideal.hits, ideal.kept),
        _source=source,
    )
    if further is not None:
        judged = replace(judged, further=further.top(policy.depth), _cache={})
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


def _complain(applied: Applied, found: Standings, policy: Policy, known: Facts) -> MismatchWarning | None:
    """Raise or warn of what is wrong; ids that do not match are also returned."""
    lacking = applied.missing + applied.failed
    odd = _mismatch(found, policy, known) if lacking and applied.ignored else None
    if policy.missing == "error" and lacking:
        raise not_in_the_run(lacking, found.queries[int(np.argmin(found.in_run))], odd)
    if not found.queries:
        warn(NOTHING_JUDGED)
    else:
        none = "" if len(found.query) else none_is_judged(*found.examples[1:], hint="")
        odd = odd or (documents_mismatch(found.sample, none) if _lacks_many(found) else None)
        if odd is not None:
            warn(odd)
        elif (
            not (found.explained or len(found.query))
            and len(found.gold)
            and _answered(found) >= known.telling
        ):
            warn(none_is_judged(*found.examples[1:]))
    return odd


def _lacks_many(found: Standings) -> bool:
    """Whether judged documents were missed so that their ids may not match: all of many queries, or any of the few in a golden set."""
    if found.explained or not len(found.gold):
        return False
    answered = _answered(found)
    idle = answered - int(np.count_nonzero(np.bincount(found.query)))
    few = len(found.gold) <= _FEW_JUDGED * len(found.queries) and len(found.query) < len(found.gold)
    return answered > 0 and (few or 10 * idle >= answered)


def _answered(found: Standings) -> int:
    return int(np.count_nonzero(found.retrieved))


def _mismatch(found: Standings, policy: Policy, known: Facts) -> MismatchWarning | None:
    """Judged queries that the run lacks while it has others; None where each side has its reason."""
    lacking = [str(found.queries[number]) for number in np.flatnonzero(~found.in_run)]
    others = [name for name in map(str, found.unjudged()) if name not in known.asked]
    if len(lacking) == len(found.queries) and others:
        return nothing_in_common(lacking, others)
    missing = [name for name in lacking if name not in known.lost]
    return queries_mismatch(missing, others, len(found.queries), policy) if missing and others else None


def not_in_the_run(lacking: int, first: Id, odd: MismatchWarning | None = None) -> PolicyError:
    """The error for judged queries that a run lacks, where none may be missing; ``odd`` says of ids that do not match."""
    return PolicyError(
        f"{odd} " if odd else "",
        f"{lacking} judged {'query is' if lacking == 1 else 'queries are'} not in the run "
        f"(first: {first!r}). Add the missing queries, or choose ",
        Option("missing", "zero"),
        " or ",
        Option("missing", "skip"),
        ".",
        query=first,
    )


def none_is_judged(
    judged: Id, retrieved: Id, hint: str = " Do the document ids have the same format?"
) -> str:
    """The warning for a run without any judged document, with a document of each."""
    return (
        f"None of the retrieved documents is judged (judged: {judged!r}, retrieved: "
        f"{retrieved!r}): every value is 0.{hint}"
    )


def _hits(found: Standings, policy: Policy) -> Hits:
    """The judged documents that were retrieved, by query and rank."""
    query, grade, n = found.query, found.grade.astype(np.float64), len(found.queries)
    if policy.ties == "average":
        return spread_ties(query, found.start, found.size, grade, n)
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
        further=judged.further and _keep_queries(judged.further, keep),
        _cache={},
    )


def _keep_queries(hits: Hits, keep: BoolArray) -> Hits:
    hits = hits.where(keep[hits.query])
    return replace(hits, query=(np.cumsum(keep) - 1)[hits.query], n_queries=int(keep.sum()))
