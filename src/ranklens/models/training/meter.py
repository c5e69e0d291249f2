"""Scores gathered batch by batch, in one process or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.metrics import Measure, parse_many
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.rows import Groups, Rows, flat
from ranklens.models.embeddings.score_arrays import score_rows
from ranklens.models.embeddings.vectors import as_array
from ranklens.policy import Policy, PolicyOptions, make_policy
from ranklens.scores import Scores
from ranklens.words import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Meter:
    """Takes scores and labels batch by batch and evaluates them all; the documents of a query may come in several batches.

    ``meter.compute("labels").log_to("wandb", step=step)`` hands the result to a tracker.

    >>> meter = Meter("RR")
    >>> meter.update([0.1, 0.9], [1, 0], ["a", "a"])
    >>> meter.update([0.7, 0.2], [1, 0], ["b", "b"])
    >>> meter.compute().mean
    {'RR': 0.75}
    """

    def __init__(
        self,
        measures: str | Measure | Sequence[str | Measure] = "nDCG@10",
        policy: Policy | None = None,
        *,
        convention: str | Convention | None = None,
        **options: Unpack[PolicyOptions],
    ) -> None:
        self.measures, policy = read(measures, convention, policy)
        self.policy = make_policy(policy, options)
        self._batches: list[_Batch] = []

    def __repr__(self) -> str:
        names = ", ".join(map(str, parse_many(self.measures)))
        seen = sum(len(batch.rows.label) for batch in self._batches)
        return f"Meter({names}: {counted(seen, 'document')} in {counted(len(self._batches), 'batch', 'batches')})"

    def update(
        self,
        scores: object,
        labels: object,
        queries: object = None,
        *,
        mask: object = None,
        sizes: object = None,
        offsets: object = None,
        query_ids: Sequence[object] | None = None,
    ) -> None:
        """Add a batch, in any shape that :func:`ranklens.evaluate_scores` takes.

        Queries without ids are those of this batch alone, also after :meth:`merge`; a query whose documents come in several batches needs its id.
        """
        groups = Groups(queries, sizes, offsets, query_ids)
        label = as_array(labels, "labels")
        rows = flat(as_array(scores, "scores"), label, mask, groups)
        rows = replace(rows, score=rows.host_scores())
        self._batches.append(_Batch(rows, is_named=groups.are_named(label.shape)))

    def merge(self, other: Meter) -> Meter:
        """Add what another meter has seen, such as one of another process (meters can be pickled)."""
        if not isinstance(other, Meter):
            raise InputError(f"merge takes a Meter, not a {type(other).__name__}; merge several one by one.")
        mine, theirs = parse_many(self.measures), parse_many(other.measures)
        if mine != theirs or self.policy != other.policy:
            raise InputError(
                f"Meters are merged if measures and policies are the same: here {', '.join(map(str, mine))} and {', '.join(map(str, theirs))}."
            )
        self._batches += other._batches
        return self

    def gather(self) -> Meter:
        """A meter with what the meters of all processes of ``torch.distributed`` have seen; itself where there is one only."""
        distributed = getattr(sys.modules.get("torch"), "distributed", None)
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return self
        parts: list[Meter] = [self] * distributed.get_world_size()
        distributed.all_gather_object(parts, self)
        whole = Meter(self.measures, self.policy)
        for part in parts:
            whole.merge(part)
        return whole

    def compute(self, relevant: object = None) -> Scores:
        """Everything seen so far; ``relevant`` is that of :func:`ranklens.evaluate_scores`."""
        numbers: dict[str | tuple[int, str], int] = {}
        number = [batch.numbered(numbers, place) for place, batch in enumerate(self._batches)]
        batches = [batch.rows for batch in self._batches]
        each = [*zip(number, batches, strict=True)]
        none = np.zeros(0, np.int64)
        query = np.concatenate([none, *(names[rows.query] for names, rows in each)])
        unscored_query = np.concatenate([none, *(names[rows.unscored_query] for names, rows in each)])
        columns = (
            [rows.score for rows in batches],
            [rows.label for rows in batches],
            [rows.unscored for rows in batches],
        )
        score, label, unscored = (np.concatenate([np.zeros(0), *column]) for column in columns)
        order = np.argsort(query, kind="stable")
        names = [one if isinstance(one, str) else f"{one[0]}.{one[1]}" for one in numbers]
        rows = Rows(query[order], score[order], label[order], names, None, unscored_query, unscored)
        return score_rows(rows, self.measures, self.policy, relevant)

    def reset(self) -> None:
        """Forget everything."""
        self._batches = []


@dataclass(frozen=True)
class _Batch:
    """Documents of a batch, with their scores in the host's memory."""

    rows: Rows
    is_named: bool  # otherwise the names of queries are only their places in this batch

    def numbered(self, numbers: dict[str | tuple[int, str], int], place: int) -> IntArray:
        """The number of each query among those of all batches; new ones get the next."""
        names = self.rows.queries
        keys = names if self.is_named else [(place, name) for name in names]
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
