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
from ranklens.judging.dicts import from_dicts, from_prepared
from ranklens.judging.gold import Ideal
from ranklens.judging.hits import Hits, spread_ties
from ranklens.judging.inputs import NOTHING, Facts, Sources, facts, index_of, matching_of, read_inputs
from ranklens.judging.judged import NO_TIES, Applied, Judged, TieGroups
from ranklens.judging.mismatch import documents_mismatch, nothing_in_common, queries_mismatch
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.judging.standing import Standings, in_order
from ranklens.policy import Policy, make_policy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.data.matching.rules import Matching
    from ranklens.judging.details import Details
    from ranklens.policy import PolicyOptions

_FEW_ROWS = 5_000
_FEW_JUDGED = 4  # documents per query, as golden sets have


NOTHING_JUDGED = "No query is judged, so there is nothing to average."


def judge(
    qrels: object,
    run: object,
    policy: Policy | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | str | None = None,
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
    matching = None if match is None else matching_of(match)
    return judge_given(qrels, run, make_policy(policy, options), columns, matching, abstain_below)[0]


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
    paths = (str, os.PathLike)
    in_files = run.is_large if isinstance(run, RunFile) else isinstance(run, paths)
    held = None if in_files or isinstance(qrels, paths) else (gold, ranked)
    sources = Sources(qrels, run, columns, match, abstain_below=abstain_below, held=held)
    circumstances = facts(gold, ranked, abstain_below)
    if gold.beyond_grades is not None:
        return _judge_details(gold.beyond_grades, ranked, policy, circumstances, sources), sources
    if ranked.by_query is not None:
        judgments = gold.judged
        if not isinstance(judgments, Mapping):
            polars_is_used()
            judgments = frames.by_query(judgments)
        standings = _from_dicts(judgments, index_of(gold), ranked.by_query, policy)
        further = _further(judgments, ranked, standings.queries) if ranked.further else None
        details = None
        if ranked.contexts is not None:
            from ranklens.judging.details import Details

            details = Details.reading(ranked.contexts.of(list(map(str, standings.queries))), policy.depth)
            standings = standings._replace(
                explained=True
            )  # chunks that complete no passage have ids of their own
        judged = assemble(standings, policy, circumstances, details, sources, further)
        if not len(judged.hits):
            _hint_at_chunks(judgments, ranked.by_query)
        return judged, sources
    from ranklens.judging.tables import from_tables

    polars_is_used()
    try:
        standings = _few(gold, ranked, policy) or from_tables(gold, ranked.tables, policy)
    except RankLensError as error:
        # Deep inside, only "qrels" and "run" are known by name; here it is known in which file they are.
        for what, source in (("qrels", qrels), ("run", run)):
            if error.path is None and isinstance(source, paths) and str(error).startswith(f"{what}: "):
                error.path = str(source)
        raise
    can_be_read_again = ranked.can_be_read_again
    del qrels, run, gold, ranked, held  # which may be large
    return assemble(standings, policy, circumstances, source=sources if can_be_read_again else None), sources


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
    """The same for judgments with details besides grades."""
    from ranklens.judging.enriched import stand

    def rank(numbers: PreparedJudgments) -> Standings:
        if run.by_query is not None:
            return from_dicts(numbers.index.for_dicts, run.by_query, policy)
        from ranklens.judging.tables import from_tables

        return from_tables(Qrels(numbers), run.tables, policy)

    standings, details = stand(qrels, policy, rank)
    if qrels.documents is not None:
        from ranklens.judging.listing import listing

        details = replace(details, listing=listing(Qrels(qrels), run, policy, standings.queries))
    further = None
    if run.further:
        further = _further(qrels, run, standings.queries)
        details = details.with_further(standings.queries, run.further)
    return assemble(standings, policy, known, details, sources, further)


def _hint_at_chunks(qrels: Dicts, run: Dicts) -> None:
    """Suggest a matching where chunks were retrieved and documents judged: no id can be right without one."""
    from ranklens.data.matching.rules import chunk_separator  # most calls need none

    retrieved = {str(query): [str(doc) for doc in docs] for query, docs in islice(run.items(), 100)}
    judged = {
        str(query): dict.fromkeys(map(str, docs), 1.0)
        for query, docs in qrels.items()
        if str(query) in retrieved
    }
    separator = chunk_separator(retrieved, judged)
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
    standings: Standings,
    policy: Policy,
    known: Facts = NOTHING,
    details: Details | None = None,
    source: Sources | None = None,
    further: Hits | None = None,
) -> Judged:
    """Apply the policies that come after ranking: which queries count, how ties are spread, how deep to look."""
    ideal = standings.ideal or Ideal.of(standings.judged, standings.gold)
    has_relevant, empty = ideal.has_relevant(policy.rel)
    n = averaged = len(standings.queries)
    if policy.missing == "skip" or policy.empty == "skip":
        keep = (standings.in_run | (policy.missing != "skip")) & (has_relevant | (policy.empty != "skip"))
        averaged = int(keep.sum())
    in_run = int(np.count_nonzero(standings.in_run))  # faster than a sum
    applied = Applied(
        queries=averaged,
        missing=n + standings.left_out - in_run - known.failed,
        ignored=standings.applied.ignored - known.unanswerable,
        empty=empty,
        duplicates=standings.applied.duplicates,
        duplicate_judgments=standings.applied.duplicate_judgments,
        failed=known.failed,
        joined=known.joined,
        logged_again=known.logged_again,
        unanswerable=known.unanswerable,
        abstained=known.abstained,
        silent=in_run - int(np.count_nonzero(standings.retrieved)),
    )
    odd = _complain(applied, standings, policy, known)
    if odd is not None:
        applied.mismatch, applied.alike = str(odd), odd.alike
    if standings.in_order and policy.ties != "average":
        hits = Hits(standings.query, standings.rank, standings.grade.astype(np.float64), n)
    else:
        hits = _hits(standings, policy)
    judged = Judged(
        standings.queries,
        hits.top(policy.depth),
        ideal.hits,
        standings.retrieved if policy.depth is None else np.minimum(standings.retrieved, policy.depth),
        policy.max_grade or ideal.highest,
        replace(policy, judged_only=False) if policy.judged_only else policy,
        applied,
        TieGroups.of(standings.query, standings.start, standings.size) if standings.may_tie else NO_TIES,
        details,
        questions=known.questions,
        _prepared=(ideal.hits, ideal.kept),
        _source=source,
    )
    if further is not None:
        judged = replace(judged, further=further.top(policy.depth), _cache={})
    judged = judged if averaged == n else _some_queries(judged, keep)
    return judged.condensed() if policy.judged_only else judged


def _complain(applied: Applied, standings: Standings, policy: Policy, known: Facts) -> MismatchWarning | None:
    """Raise or warn of what is wrong; ids that do not match are also returned."""
    lacking = applied.missing + applied.failed
    odd, n = None, len(standings.queries)
    if lacking and applied.ignored:  # the run has other queries in place of those that it lacks
        absent = [str(standings.queries[number]) for number in np.flatnonzero(~standings.in_run)]
        others = [name for name in map(str, standings.unjudged()) if name not in known.asked]
        missing = [name for name in absent if name not in known.lost]
        if len(absent) == n and others:
            odd = nothing_in_common(absent, others)
        elif missing and others:
            odd = queries_mismatch(missing, others, n, policy)
    if policy.missing == "error" and lacking:
        raise not_in_the_run(lacking, standings.queries[int(np.argmin(standings.in_run))], odd)
    if not standings.queries:
        warn(NOTHING_JUDGED)
    else:
        may_be_odd = not standings.explained and len(standings.gold) > 0
        answered = int(np.count_nonzero(standings.retrieved))
        idle = answered - int(np.count_nonzero(np.bincount(standings.query)))
        # The ids may not match if all judged documents of many queries were missed, or any of the few of a golden set.
        lacks_any = len(standings.query) < len(standings.gold) <= _FEW_JUDGED * len(standings.queries)
        if odd is None and may_be_odd and answered and (lacks_any or 10 * idle >= answered):
            none = "" if len(standings.query) else none_is_judged(*standings.examples[1:], hint="")
            odd = documents_mismatch(standings.sample, none)
        if odd is not None:
            warn(odd)
        elif may_be_odd and not len(standings.query) and answered >= known.telling:
            warn(none_is_judged(*standings.examples[1:]))
    return odd


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


def _hits(standings: Standings, policy: Policy) -> Hits:
    """The judged documents that were retrieved, by query and rank."""
    query, grade, n = standings.query, standings.grade.astype(np.float64), len(standings.queries)
    if policy.ties == "average":
        return spread_ties(query, standings.start, standings.size, grade, n)
    place = (np.cumsum(standings.retrieved) - standings.retrieved - 1)[query]
    place += standings.rank
    if (place[1:] > place[:-1]).all():
        return Hits(query, standings.rank, grade, n)
    return Hits(query, standings.rank, grade, n).take(in_order(place, int(standings.retrieved.sum())))


def _some_queries(judged: Judged, keep: BoolArray) -> Judged:
    """The same over fewer queries."""
    ties, number = judged.ties, np.cumsum(keep) - 1

    def remaining(hits: Hits) -> Hits:
        hits = hits.where(keep[hits.query])
        return replace(hits, query=number[hits.query], n_queries=int(keep.sum()))

    if ties is not None:
        tied = keep[ties.query]
        ties = TieGroups(number[ties.query[tied]], ties.start[tied], ties.size[tied])
    return replace(
        judged,
        queries=[query for query, stays in zip(judged.queries, keep, strict=True) if stays],
        hits=remaining(judged.hits),
        ideal=remaining(judged.ideal),
        retrieved=judged.retrieved[keep],
        ties=ties,
        details=judged.details and judged.details.some(keep),
        further=judged.further and remaining(judged.further),
        _cache={},
    )
