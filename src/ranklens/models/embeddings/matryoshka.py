"""One model at several sizes of its vectors: how much quality a shorter vector costs, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens.scores import Scores

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison


class Matryoshka(Mapping[int, Scores]):
    """Scores by the number of dimensions kept; made by ``evaluate_embeddings(..., dims=[64, 768])``.

    >>> import numpy as np, ranklens as rl
    >>> documents = np.random.default_rng(0).normal(size=(50, 16))
    >>> sizes = rl.evaluate_embeddings(documents[:9], documents, {i: {i: 1} for i in range(9)}, "RR", dims=[2, 16])
    >>> list(sizes), sizes[16].mean
    ([2, 16], {'RR': 1.0})
    >>> sizes.comparison.systems
    ('2', '16')
    """

    def __init__(self, scores: Mapping[int, Scores]) -> None:
        self._scores = dict(scores)

    def __getitem__(self, dims: int) -> Scores:
        return self._scores[dims]

    def __iter__(self) -> Iterator[int]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    @cached_property
    def comparison(self) -> Comparison:
        """All sizes against the largest one, with paired tests."""
        return self.compare()

    def compare(self, **settings: Any) -> Comparison:
        """The same with settings of :func:`ranklens.compare`, such as ``test`` and ``correction``."""
        from ranklens.comparison.compare import compare_scores

        named = {str(dims): scores.per_query for dims, scores in self.items()}
        if len(named) > 1:
            settings.setdefault("baseline", str(max(self._scores)))
        return compare_scores(named, **settings)

    def __str__(self) -> str:
        return str(self.comparison)

    def __repr__(self) -> str:
        means = "; ".join(f"{dims}: {scores!r}" for dims, scores in self.items())
        return f"Matryoshka({means})"

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()
