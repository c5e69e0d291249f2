"""A scorer for scikit-learn's model selection, which knows documents but not queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, SupportsIndex, runtime_checkable

import numpy as np
import numpy.typing as npt

from ranklens.errors import InputError
from ranklens.metrics import Measure
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.score_arrays import evaluate_scores
from ranklens.models.embeddings.vectors import as_list
from ranklens.policy import Policy, PolicyOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Estimator(Protocol):
    """A model of scikit-learn."""

    def predict(self, features: object, /) -> npt.ArrayLike: ...


@runtime_checkable
class Table(Protocol):
    """Features with named columns."""

    @property
    def columns(self) -> object: ...
    def __getitem__(self, name: object, /) -> object: ...


class Scorer:
    """Made by :func:`scorer`."""

    def __init__(
        self, measure: Measure, query: object, policy: Policy | None, options: PolicyOptions
    ) -> None:
        self.measure, self.query, self.policy, self.options = measure, query, policy, options

    def __call__(self, estimator: Estimator, features: npt.ArrayLike | Table, labels: npt.ArrayLike) -> float:
        """The mean over queries; negated where lower is better, since scikit-learn takes the highest."""
        queries = _column(features, self.query)
        # The attribute of a pipeline depends on its last step, so only asking for it tells.
        predict = getattr(estimator, "decision_function", None) or estimator.predict
        scores = evaluate_scores(
            np.asarray(predict(features), float),
            np.asarray(labels),
            queries,
            self.measure,
            self.policy,
            relevant="labels",
            **self.options,
        )
        mean = scores.mean[str(self.measure)]
        return -mean if self.measure.definition.better == "lower" else mean


def scorer(
    measure: str | Measure = "nDCG@10",
    *,
    query: object,
    policy: Policy | None = None,
    convention: str | Convention | None = None,
    **options: Unpack[PolicyOptions],
) -> Scorer:
    """A scorer for ``cross_val_score`` and ``GridSearchCV``; ``query`` is the column of the features that names the query.

    >>> import numpy as np
    >>> class Model:
    ...     def predict(self, features): return features[:, 1]
    >>> features = np.array([[0, 0.1], [0, 0.9], [1, 0.7], [1, 0.2]])
    >>> scorer("RR", query=0)(Model(), features, [1, 0, 1, 0])
    0.75
    """
    measures, policy = read(measure, convention, policy)
    return Scorer(measures[0], query, policy, options)


def _column(features: npt.ArrayLike | Table, name: object) -> list[object]:
    try:
        if isinstance(features, Table):
            return as_list(features[name], "query")
        if isinstance(name, SupportsIndex):
            return as_list(np.asarray(features)[:, name], "query")
    except (KeyError, IndexError):
        pass
    raise InputError(f"query={name!r} is not a column of the features; name the one that holds the query.")
