"""Retrievers fused into a system of its own, with what it takes to ask all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens.errors import hearing
from ranklens.fusion.fusing import fuse
from ranklens.retrieval.answers import Answer, RetrieverRun

if TYPE_CHECKING:
    from ranklens.fusion.trained import Fitted


def fused_run(
    name: str,
    runs: Mapping[str, RetrieverRun],
    method: str | Fitted = "rrf",
    depth: int | None = None,
    **options: Any,
) -> RetrieverRun:
    """What a system that asks all these retrievers at once and fuses their answers would have answered.

    It takes as long as the slowest of them, and costs what all of them cost. A query fails only if all of them failed.
    """
    longest = max(run.k for run in runs.values())
    with hearing():  # a retriever that answered nothing is no mistake here
        fused = fuse(
            {part: run.scored() for part, run in runs.items()}, method, depth=depth or longest, **options
        )
    queries = dict.fromkeys(query for run in runs.values() for query in run.answers)
    answers = {
        query: _answer(
            query, fused.get(query, {}), [run.answers[query] for run in runs.values() if query in run.answers]
        )
        for query in queries
    }
    some = next(iter(runs.values()))
    return RetrieverRun(
        name, depth or longest, answers, max(run.wall for run in runs.values()), judged=some.judged
    )


def _answer(query: str, ranking: Mapping[str, float], parts: Sequence[Answer]) -> Answer:
    failed = [part for part in parts if part.status == "failed"]
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return Answer(
        query,
        "failed" if len(failed) == len(parts) else "ok" if ranking else "empty",
        tuple(ranking),
        tuple(ranking.values()),
        seconds=max(seconds, default=None),
        error=failed[0].error if len(failed) == len(parts) else None,
        timed_out=any(part.timed_out for part in failed),
        tokens=_total([part.tokens for part in parts]),
        cost=_total([part.cost for part in parts]),
        stored=all(part.stored for part in parts),
    )


def _total(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
