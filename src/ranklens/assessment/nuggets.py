"""Nuggets: how much of what an answer must say is in it, by what assessors assigned (TREC RAG)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.assessment.answers import AnswerScores, one_of, parts_of, records_by_run, scores_of
from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.assessment.answers import Record

_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "no_support": 0.0}
_IMPORTANCE = {"vital": 1.0, "okay": 0.0}
_OKAY = 0.5  # the weight of a nugget that is okay, against 1 of a vital one
EMPTY = ("zero", "skip", "phantom")
DEFINITIONS = {
    "strict_vital": "share of vital nuggets with full support",
    "strict_all": "share of all nuggets with full support",
    "vital": "the same as strict_vital, partial support counting half",
    "all": "the same as strict_all, partial support counting half",
    "weighted": "all, with okay nuggets weighing half as much as vital ones",
    "strict_weighted": "the same, with full support alone",
}


def nuggets(assignments: object, *, empty: str = "zero") -> AnswerScores:
    """The nugget scores of TREC RAG from assignments, with intervals; ``.compare()`` compares several runs.

    ``assignments`` are the records that nuggetizer writes, ``{"qid": …, "nuggets": [{"text": …, "importance": "vital" or "okay", "assignment": "support", "partial_support" or
    "not_support"}]}``: a JSONL file, a list of them, or ``{run: one of these}``. Tools differ on queries without a nugget of some kind: ``empty="zero"`` gives them 0, as nuggetizer;
    ``"phantom"`` counts one nugget of each kind that no answer contains, as open-rag-eval, which lowers ``weighted`` if there is no okay nugget; ``"skip"``
    leaves such queries out of the mean.

    >>> found = nuggets([{"qid": "q", "nuggets": [
    ...     {"importance": "vital", "assignment": "support"}, {"importance": "okay", "assignment": "partial_support"}]}])
    >>> {name: found.mean[name] for name in ("strict_vital", "strict_all", "vital", "all")}
    {'strict_vital': 1.0, 'strict_all': 0.5, 'vital': 1.0, 'all': 0.75}
    """
    inputs.choice(empty, "empty", EMPTY)
    found = {
        run: {query: _scored(_pairs(record, query), empty) for query, record in by_query.items()}
        for run, by_query in records_by_run(assignments, "assignments").items()
    }
    policy = {
        "zero": "score 0 (nuggetizer)",
        "skip": "are left out",
        "phantom": "count one nugget that no answer contains (open-rag-eval)",
    }
    return scores_of(found, DEFINITIONS, [f"Queries without nuggets of a kind {policy[empty]}."])


def _pairs(record: Record, query: str) -> list[tuple[bool, float]]:
    """For each nugget whether it is vital, and how far the answer supports it."""
    where = f"assignments: query {query!r}"
    return [
        (
            one_of(part.get("importance"), _IMPORTANCE, f"{where}: importance") == 1,
            one_of(part.get("assignment"), _SUPPORT, f"{where}: assignment"),
        )
        for part in parts_of(record, "nuggets", query, "assignments")
    ]


def _scored(pairs: list[tuple[bool, float]], empty: str) -> dict[str, float]:
    vital = [score for is_vital, score in pairs if is_vital]
    okay = [score for is_vital, score in pairs if not is_vital]
    nothing = float("nan") if empty == "skip" else 0.0
    least = 1 if empty == "phantom" else 0
    n_vital, n_okay = max(len(vital), least), max(len(okay), least)

    def share(part: float, whole: float) -> float:
        return part / whole if whole else nothing

    def shares(vital: list[float], okay: list[float]) -> tuple[float, float, float]:
        weight = n_vital + _OKAY * n_okay
        return (
            share(sum(vital), n_vital),
            share(sum(vital) + sum(okay), max(len(pairs), least)),
            share(sum(vital) + _OKAY * sum(okay), weight),
        )

    strict = shares([float(one == 1) for one in vital], [float(one == 1) for one in okay])
    lenient = shares(vital, okay)
    names = (("strict_vital", "strict_all", "strict_weighted"), ("vital", "all", "weighted"))
    found = dict(zip(names[0], strict, strict=True)) | dict(zip(names[1], lenient, strict=True))
    return {name: found[name] for name in DEFINITIONS}
