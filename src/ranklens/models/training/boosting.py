"""Metrics for gradient boosting: graded, by query, usable for early stopping.

The libraries' own nDCG has exponential gain and gives 1 to a query without relevant documents, 0 here; ``convention="lightgbm"`` and
``convention="xgboost"`` take measures as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError
from ranklens.metrics import Measure
from ranklens.metrics.conventions import read
from ranklens.models.embeddings.score_arrays import evaluate_scores
from ranklens.policy import Policy, make_policy
from ranklens.scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Self

Measures = str | Measure | Sequence[str | Measure]


class _Metric:
    """What all of them share: the measures, the policy, and the scores of the last call."""

    def __init__(self, measures: Measures, policy: Policy | None, options: dict[str, Any]) -> None:
        convention = options.pop("convention", None)
        self.measures, policy = read(measures, convention, policy)
        self.policy = make_policy(policy, options)
        self.scores: Scores | None = None  # of the last call, query by query
        # Under a library's own names, its values and ours would come together in one list.
        self.names = [str(one) if convention else one.shown for one in self.measures]
        self.__name__ = self.names[0]  # libraries ask a function for its name

    def means(self, predictions: Any, labels: Any, **groups: Any) -> list[tuple[str, float]]:
        """Each measure's name and mean."""
        scores = evaluate_scores(
            np.asarray(predictions),
            np.asarray(labels),
            None,
            self.measures,
            self.policy,
            relevant="labels",
            **groups,
        )
        self.scores = scores  # another thread may replace it before this one returns
        return [
            (name, scores.mean[str(measure)]) for name, measure in zip(self.names, self.measures, strict=True)
        ]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """LightGBM's scikit-learn classes train with a copy, whose scores the caller would never see."""
        return self


class _LightGBM(_Metric):
    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> list[tuple[str, float, bool]]:
        """``feval(predictions, dataset)``, or ``eval_metric(labels, predictions, weight, group)`` of its scikit-learn classes."""
        del weight  # of documents; a mean over queries has no use for it
        if hasattr(second, "get_group"):
            predictions, labels, group = first, second.get_label(), second.get_group()
        else:
            predictions, labels = second, first
        if group is None:
            raise InputError(
                "LightGBM gave no groups: pass group= to lgb.Dataset, or eval_group= to fit, with the number of documents of each query."
            )
        means = self.means(predictions, labels, sizes=np.asarray(group, np.int64))
        better = [measure.definition.better != "lower" for measure in self.measures]
        return [(name, value, higher) for (name, value), higher in zip(means, better, strict=True)]


class _XGBoost(_Metric):
    def __call__(self, first: Any, second: Any) -> Any:
        """``custom_metric(predictions, dmatrix)``; refused as ``eval_metric`` of ``XGBRanker``, which passes two arrays."""
        if isinstance(second, np.ndarray):
            highest = (
                self.measures[-1].definition.better != "lower"
            )  # early stopping looks at the last measure
            raise InputError(
                "xgboost_metric cannot be the eval_metric of XGBRanker, which keeps the round with the lowest value and weights "
                f"queries by their number of documents. Train with xgb.train(..., custom_metric=xgboost_metric(...), maximize={highest})."
            )
        offsets = np.asarray(second.get_uint_info("group_ptr"), np.int64)
        if not len(offsets):
            raise InputError(
                "XGBoost gave no groups: call set_group or pass qid= to xgb.DMatrix, with the query of each document."
            )
        means = self.means(first, second.get_label(), offsets=offsets)
        return means[0] if len(means) == 1 else means


class _CatBoost(_Metric):
    def __init__(
        self, measures: Measures, groups: Any, policy: Policy | None, options: dict[str, Any]
    ) -> None:
        super().__init__(measures, policy, options)
        self._groups = _by_size([groups] if np.ndim(groups[0]) == 0 else groups)

    def is_max_optimal(self) -> bool:
        return self.measures[0].definition.better != "lower"

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """The mean and a weight of 1, as CatBoost wants them."""
        del weight
        queries = self._groups.get(len(target))
        if queries is None:
            raise InputError(
                f"catboost_metric knows the groups of {', '.join(f'{size:,}' for size in self._groups)} documents, but CatBoost "
                f"evaluates {len(target):,}: pass the group ids of every pool."
            )
        scores = evaluate_scores(
            np.asarray(approxes[0]),
            np.asarray(target),
            queries,
            self.measures,
            self.policy,
            relevant="labels",
        )
        self.scores = scores
        return scores.mean[str(self.measures[0])], 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight


def _by_size(pools: Sequence[Any]) -> dict[int, Any]:
    """The groups of each pool by its number of documents, which is all that CatBoost says of it."""
    found: dict[int, Any] = {}
    for groups in pools:
        if not np.array_equal(found.setdefault(len(groups), groups), groups):
            raise InputError(
                f"catboost_metric: two pools have {len(groups):,} documents but other groups, and CatBoost does not say which one "
                "it evaluates: make one metric for each, or leave a document out of one."
            )
    return found


def lightgbm_metric(measures: Measures = "nDCG@10", policy: Policy | None = None, **options: Any) -> Any:
    """A metric for ``lgb.train(feval=…)``, and for ``eval_metric=`` of LightGBM's scikit-learn classes.

    >>> class Data:
    ...     def get_label(self): return [1, 0, 0, 2]
    ...     def get_group(self): return [2, 2]
    >>> lightgbm_metric("RR, AP")([0.1, 0.9, 0.2, 0.8], Data())
    [('RR', 0.75, True), ('AP', 0.75, True)]
    >>> lightgbm_metric("ndcg@5", convention="lightgbm")([0.1, 0.9, 0.2, 0.8], Data())
    [('nDCG(gain=exp)@5', 0.81546..., True)]
    """
    return _LightGBM(measures, policy, options)


def xgboost_metric(measures: Measures = "nDCG@10", policy: Policy | None = None, **options: Any) -> Any:
    """A metric for ``xgb.train(custom_metric=…, maximize=True)``.

    XGBoost minimizes a metric that it does not know, so early stopping needs ``maximize=True`` unless lower values are better. Of
    several measures it watches the last. ``XGBRanker`` is refused: it minimizes in any case, and weights each query by its number of
    documents.

    >>> class Data:
    ...     def get_label(self): return [1, 0, 0, 2]
    ...     def get_uint_info(self, name): return [0, 2, 4]
    >>> xgboost_metric("RR")([0.1, 0.9, 0.2, 0.8], Data())
    ('RR', 0.75)
    """
    return _XGBoost(measures, policy, options)


def catboost_metric(measure: str | Measure, groups: Any, policy: Policy | None = None, **options: Any) -> Any:
    """A metric for ``eval_metric=`` of CatBoost, which does not hand groups on, so they are given here.

    ``groups`` is the query of each document of a pool, or a list of these, one for each pool; pools are told apart by their size.

    >>> metric = catboost_metric("RR", ["a", "a", "b", "b"])
    >>> metric.evaluate([[0.1, 0.9, 0.2, 0.8]], [1, 0, 0, 2], None)
    (0.75, 1.0)
    """
    return _CatBoost(measure, groups, policy, options)
