"""A scorer for scikit-learn's model selection, which knows documents but not queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.errors import InputError
from ranklens.metrics import Measure
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.score_arrays import evaluate_scores
from ranklens.policy import Policy


class _Scorer:
    def __init__(self, measure: Measure, query: Any, policy: Policy | None, options: dict[str, Any]) -> None:
        self.measure, self.query, self.policy, self.options = measure, query, policy, options

    def __call__(self, estimator: Any, features: Any, labels: Any) -> float:
        """The mean over queries; negated where lower is better, since scikit-learn takes the highest."""
        queries = _column(features, self.query)
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
    query: Any,
    policy: Policy | None = None,
    convention: str | Convention | None = None,
    **options: Any,
) -> Any:
    """A scorer for ``cross_val_score`` and ``GridSearchCV``; ``query`` is the column of the features that names the query.

    >>> import numpy as np
    >>> class Model:
    ...     def predict(self, features): return features[:, 1]
    >>> features = np.array([[0, 0.1], [0, 0.9], [1, 0.7], [1, 0.2]])
    >>> scorer("RR", query=0)(Model(), features, [1, 0, 1, 0])
    0.75
    """
    measures, policy = read(measure, convention, policy)
    return _Scorer(measures[0], query, policy, options)


def _column(features: Any, name: Any) -> list[Any]:
    try:
        found = features[name] if hasattr(features, "columns") else np.asarray(features)[:, name]
    except (KeyError, IndexError):
        raise InputError(
            f"query={name!r} is not a column of the features; name the one that holds the query."
        ) from None
    return list(found.to_list() if hasattr(found, "to_list") else np.asarray(found).tolist())
