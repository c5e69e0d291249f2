"""Rankings + judgments that know more than a grade → :class:`~ranklens.judging.judged.Judged` with its details.

Documents are judged once, under numbers in place of grades: the number says which document a hit is, and with it its grade, its
subtopics and its evidence sets. What plain judgments go through does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ranklens.arrays import IntArray
from ranklens.data.readers.judgments import Judgments
from ranklens.judging.details import Details
from ranklens.judging.known import known
from ranklens.judging.prepared import PreparedJudgments
from ranklens.judging.standing import Standings
from ranklens.policy import Policy

Rank = Callable[[PreparedJudgments], Standings]


def stand(judgments: Judgments, policy: Policy, rank: Rank) -> tuple[Standings, Details]:
    """The places of the judged documents; and the same with what else is known about them.

    ``rank`` finds the places of documents in the run, given judgments.
    """
    facts = known(judgments)
    standings = rank(facts.numbers)
    row = facts.row[facts.offset[standings.query] + standings.grade.astype(np.int64)]
    place, start, size = (np.zeros(len(facts.details.query), np.int64) for _ in range(3))
    place[row], start[row], size[row] = standings.rank, standings.start, standings.size
    averaged = policy.ties == "average"
    details = replace(
        facts.details, rank=place, start=start, size=size, averaged=averaged, depth=policy.depth, _cache={}
    )
    if facts.junk is not None:
        details, standings = _without(facts.junk.nonzero()[0], details, standings)
        row = np.flatnonzero(details.rank > 0)
        standings = standings._replace(
            query=details.query[row],
            rank=details.rank[row],
            start=details.start[row],
            size=details.size[row],
            in_order=False,
        )
    ideal = facts.ideal
    graded = standings._replace(
        judged=np.bincount(ideal.hits.query, minlength=len(facts.offset)),
        gold=ideal.hits.grade,
        grade=details.grade[row],
        ideal=ideal,
    )
    return graded, details


def _without(junk: IntArray, details: Details, standings: Standings) -> tuple[Details, Standings]:
    """Junk is taken out before ranking: what is below it moves up."""
    placed = junk[details.rank[junk] > 0]
    width = int((details.start + details.size).max(initial=0)) + 2  # more than any place of a query
    last = details.rank if not details.averaged else details.start
    above = np.sort(details.query[placed] * width + last[placed])

    def before(place: IntArray) -> IntArray:
        first = np.searchsorted(above, details.query * width)
        return np.searchsorted(above, details.query * width + place, side="left") - first

    in_group = before(details.start + np.maximum(details.size, 1)) - before(details.start)
    gone = details.rank == 0
    gone[junk] = True
    cleaned = replace(
        details,
        rank=np.where(gone, 0, details.rank - before(details.rank)),
        start=np.where(gone, 0, details.start - before(details.start)),
        size=np.where(gone, 0, details.size - in_group),
    )
    removed = np.bincount(details.query[placed], minlength=details.n_queries)
    return cleaned, standings._replace(retrieved=standings.retrieved - removed)
