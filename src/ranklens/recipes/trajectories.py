"""Several retrievals for one question, as agents and multi-hop systems make them: what each step adds to the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError
from ranklens.judging.assembly import judge
from ranklens.metrics import parse
from ranklens.tables.table import Table

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.data.evidence.contexts import Contexts
    from ranklens.data.matching.rules import Matching
    from ranklens.judging.judged import Judged
    from ranklens.policy import PolicyOptions

_SHOWN = ("PassageRecall", "TokenRecall", "ContextTokens", "Redundancy")


@dataclass(frozen=True)
class Trajectories:
    """The steps of every question, and what was read in them; made by :func:`trajectories`."""

    judged: Judged
    contexts: Contexts

    @property
    def steps(self) -> pl.DataFrame:
        """``step, questions``, and the coverage of the union after each step: means over all questions.

        ``questions`` is how many made that step. ``ContextTokens`` are the tokens read so far, and ``Redundancy`` the share of them that
        was in the context before.
        """
        import polars as pl

        last = int(self.contexts.calls.max(initial=0))
        rows = []
        for step in range(1, last + 1):
            values = [float(parse(name).replace(step=step)(self.judged).mean()) for name in _SHOWN]
            rows.append((step, int((self.contexts.calls >= step).sum()), *values))
        whole = dict.fromkeys(("step", "questions"), pl.Int64)
        return pl.DataFrame(rows, schema={**whole, **dict.fromkeys(_SHOWN, pl.Float64)}, orient="row")

    @property
    def passages(self) -> pl.DataFrame:
        """``query, passage, grade, step, rank``: the step that completed each passage; null where none did."""
        import polars as pl

        contexts = self.contexts
        rank, counts = contexts.found(), np.bincount(contexts.query, minlength=len(contexts.queries))
        first = (np.cumsum(counts) - counts)[contexts.owner]
        rows = [
            (
                contexts.queries[query],
                name,
                grade,
                int(contexts.step[begin + at - 1]) if at else None,
                at or None,
            )
            for query, name, grade, begin, at in zip(
                contexts.owner.tolist(),
                contexts.names,
                contexts.grade.tolist(),
                first.tolist(),
                rank.tolist(),
                strict=True,
            )
        ]
        texts, numbers = (
            dict.fromkeys(("query", "passage"), pl.String),
            dict.fromkeys(("step", "rank"), pl.Int64),
        )
        return pl.DataFrame(rows, schema={**texts, "grade": pl.Float64, **numbers}, orient="row")

    def __str__(self) -> str:
        rows = [
            [
                str(step),
                f"{questions:,}",
                *(f"{value:,.0f}" if value >= 2 else f"{value:.4f}" for value in values),
            ]
            for step, questions, *values in self.steps.iter_rows()
        ]
        mean = float(self.contexts.calls.mean()) if len(self.contexts.calls) else 0.0
        note = f"{len(self.contexts.queries):,} questions with {mean:.1f} retrievals on average; lengths in {self.contexts.unit}."
        return str(Table(["step", "questions", *_SHOWN], rows, note=note))


def trajectories(
    golden: object,
    log: object,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    **policy: Unpack[PolicyOptions],
) -> Trajectories:
    """What each retrieval of a question adds: coverage after each step, which step found which passage, and what it costs.

    ``golden`` is a golden set with passages, and ``log`` has a row for each question with its ``steps``: ``{"id": …, "steps": [{"query": …,
    "retrieved": […]}, …]}``. The chunks of a question are read one step after the other. To compare such a system with one that retrieves
    once, at equal cost, use ``rl.compare`` with a budget of tokens: ``PassageRecall(budget=2000)``.

    >>> golden = [{"id": "q1", "passages": ["Lima is the capital of Peru", "Peru is in South America"]}]
    >>> log = [{"id": "q1", "steps": [{"query": "Lima", "retrieved": [{"text": "Lima is the capital of Peru."}]},
    ...                               {"query": "Peru", "retrieved": [{"text": "Peru is in South America."}]}]}]
    >>> trajectories(golden, log).steps["PassageRecall"].to_list()
    [0.5, 1.0]
    """
    judged = judge(golden, log, columns=columns, match=match, **policy)
    contexts = None if judged.details is None else judged.details.contexts
    if contexts is None:
        raise InputError(
            'Steps differ in the passages that they find: pass a golden set with "passages", and a log with "steps" whose retrieved '
            "items have texts."
        )
    return Trajectories(judged, contexts)
