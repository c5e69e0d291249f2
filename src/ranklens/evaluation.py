"""Rankings, judgments and measures → :class:`~ranklens.scores.Scores`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ranklens.errors import Option, PolicyError
from ranklens.judging.assembly import judge
from ranklens.policy import make_policy
from ranklens.registry import Measure, parse_many
from ranklens.scores import Scores, Sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ranklens.conventions import Convention
    from ranklens.judging.judged import Judged
    from ranklens.matching.rules import Matching
    from ranklens.policy import Policy


def evaluate(
    qrels: Any,
    run: Any,
    measures: str | Measure | Sequence[str | Measure] = "rag",
    policy: Policy | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    abstain_below: float | None = None,
    convention: str | Convention | None = None,
    **options: Any,
) -> Scores:
    """Score a run against judgments.

    ``qrels`` and ``run`` are anything that :func:`ranklens.judge` takes. ``measures`` are names such as ``"nDCG@10"``,
    or a preset such as ``"rag"``, the default. Policies are given as a :class:`~ranklens.policy.Policy` or one by one
    (``ties="average"``, ``depth=100``, ``rel=2`` …). ``convention="xgboost"`` takes measures and policy as that tool does
    (:func:`ranklens.convention`).

    >>> qrels = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d1": 0.9, "d9": 0.8, "d2": 0.7}, "q2": {"d4": 0.9, "d3": 0.1}}
    >>> evaluate(qrels, run, ["nDCG@10", "RR"]).mean
    {'nDCG@10': 0.79058..., 'RR': 0.75}
    """
    if convention is not None:
        from ranklens.conventions import read

        measures, policy = read(measures, convention, policy)
    chosen = make_policy(policy, options)
    wanted = [with_rel(measure, chosen.rel) for measure in parse_many(measures)]
    judged = judge(qrels, run, chosen, columns=columns, match=match, abstain_below=abstain_below)
    return replace(score(judged, wanted), sources=Sources(qrels, run, columns, match))


def score(judged: Judged, measures: str | Measure | Sequence[str | Measure]) -> Scores:
    """Apply measures to rankings that are already judged."""
    wanted = parse_many(measures)
    if judged.policy.ties == "average":
        _refuse_undefined(wanted)
    return Scores(wanted, judged, {str(measure): measure(judged) for measure in wanted})


def with_rel(measure: Measure, rel: float) -> Measure:
    """``measure`` with the policy's relevance level, unless it sets its own; the name then shows it."""
    if "rel" not in measure.definition.parameters or "rel" in dict(measure.params):
        return measure
    return replace(measure.replace(rel=rel), asked=measure.asked)


def _refuse_undefined(measures: Sequence[Measure]) -> None:
    undefined = ", ".join(str(measure) for measure in measures if not measure.definition.average_ties)
    if undefined:
        raise PolicyError(
            Option("ties", "average"),
            f" is not available for {undefined}: no expected value over the orders of tied documents is known. Omit the measure, or choose ",
            Option("ties", "descending", "ascending", "input"),
            ".",
        )
