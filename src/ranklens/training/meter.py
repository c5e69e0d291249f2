"""Scores gathered batch by batch, in one process or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ranklens.conventions import Convention, read
from ranklens.embeddings import host
from ranklens.embeddings.score_arrays import evaluate_scores
from ranklens.errors import InputError
from ranklens.policy import Policy, make_policy
from ranklens.registry import Measure
from ranklens.scores import Scores


class Meter:
    """Takes scores and labels batch by batch and evaluates them all; the documents of a query may come in several batches.

    ``meter.compute().log_to("wandb", step=step)`` hands the result to a tracker.

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
        **options: Any,
    ) -> None:
        self.measures, policy = read(measures, convention, policy)
        self.policy = make_policy(policy, options)
        self._scores: list[Any] = []
        self._labels: list[Any] = []
        self._queries: list[Any] = []

    def update(self, scores: Any, labels: Any, queries: Any = None, *, mask: Any = None) -> None:
        """Add a batch: flat, with the query of each document; or one row per query, with ids of the rows if there are any."""
        score, label = host.as_array(scores, "scores"), host.as_array(labels, "labels")
        if score.shape != label.shape:
            raise InputError(
                f"scores have the shape {score.shape}, labels {label.shape}; both must be the same."
            )
        if score.ndim == 2:
            rows = (
                [("row", len(self._queries), i) for i in range(len(score))]
                if queries is None
                else host.as_list(queries, "queries")
            )
            every = [query for query in rows for _ in range(score.shape[1])]
            kept = (
                np.ones(score.size, bool)
                if mask is None
                else host.as_array(mask, "mask").astype(bool).reshape(-1)
            )
            score, label = score.reshape(-1)[kept], label.reshape(-1)[kept]
            queries = [query for query, keep in zip(every, kept.tolist(), strict=True) if keep]
        elif queries is None:
            raise InputError("Flat scores need queries: the query of each document.")
        listed = host.as_list(queries, "queries")
        if len(listed) != len(score):
            raise InputError(
                f"queries has {len(listed):,} entries for {len(score):,} documents; pass one for each."
            )
        self._scores.append(score.astype(np.float64))
        self._labels.append(label.astype(np.float64))
        self._queries.append(listed)

    def merge(self, other: Meter) -> Meter:
        """Add what another meter has seen, such as one of another process (meters can be pickled)."""
        self._scores += other._scores
        self._labels += other._labels
        self._queries += other._queries
        return self

    def gather(self) -> Meter:
        """A meter with what the meters of all processes of ``torch.distributed`` have seen; itself where there is one only."""
        distributed = getattr(sys.modules.get("torch"), "distributed", None)
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return self
        parts: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(parts, self)
        whole = Meter(self.measures, self.policy)
        for part in parts:
            whole.merge(part)
        return whole

    def compute(self) -> Scores:
        """Everything seen so far."""
        numbers: dict[Any, int] = {}
        query = [numbers.setdefault(one, len(numbers)) for batch in self._queries for one in batch]
        names = [
            f"{one[1]}.{one[2]}" if isinstance(one, tuple) and one[0] == "row" else str(one)
            for one in numbers
        ]
        order = np.argsort(np.array(query, np.int64), kind="stable")
        score, label = (
            np.concatenate([np.zeros(0), *batches])[order] for batches in (self._scores, self._labels)
        )
        sizes = np.bincount(np.array(query, np.int64), minlength=len(names))
        return evaluate_scores(score, label, None, self.measures, self.policy, sizes=sizes, query_ids=names)

    def reset(self) -> None:
        """Forget everything."""
        self._scores, self._labels, self._queries = [], [], []
