"""Metrics for gradient boosting and scikit-learn: graded, by query, usable for early stopping and model selection.

The boosting libraries' own nDCG has exponential gain and gives 1 to a query without relevant documents, 0 here; ``convention="lightgbm"`` and
``convention="xgboost"`` take measures as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, SupportsIndex, runtime_checkable

import numpy as np
import numpy.typing as npt

from ranklens.errors import InputError
from ranklens.metrics import Measure
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.score_arrays import evaluate_scores
from ranklens.models.embeddings.vectors import Table, as_list
from ranklens.policy import Policy, PolicyOptions, make_policy
from ranklens.scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    class MetricOptions(PolicyOptions, total=False):
        """What every metric takes."""

        convention: str | Convention | None


Measures = str | Measure | Sequence[str | Measure]


@runtime_checkable
class GroupedData(Protocol):
    """A ``lgb.Dataset``."""

    def get_label(self) -> npt.ArrayLike: ...
    def get_group(self) -> npt.ArrayLike | None: ...


class MatrixWithGroups(Protocol):
    """An ``xgb.DMatrix``."""

    def get_label(self) -> npt.ArrayLike: ...
    def get_uint_info(self, name: str) -> npt.ArrayLike: ...


class _Metric:
    """What all of them share: the measures, the policy, and the scores of the last call."""

    def __init__(self, measures: Measures, policy: Policy | None, options: MetricOptions) -> None:
        convention = options.pop("convention", None)
        self.measures, policy = read(measures, convention, policy)
        self.policy = make_policy(policy, options)
        self.scores: Scores | None = None  # of the last call, query by query
        # Under a library's own names, its values and ours would come together in one list.
        self.names = [str(one) if convention else one.shown for one in self.measures]
        self.__name__ = self.names[0]  # libraries ask a function for its name

    def means(
        self,
        predictions: npt.ArrayLike,
        labels: npt.ArrayLike,
        queries: object = None,
        *,
        sizes: object = None,
        offsets: object = None,
    ) -> list[tuple[str, float]]:
        """Each measure's name and mean."""
        scores = evaluate_scores(
            np.asarray(predictions),
            np.asarray(labels),
            queries,
            self.measures,
            self.policy,
            relevant="labels",
            sizes=sizes,
            offsets=offsets,
        )
        self.scores = scores  # another thread may replace it before this one returns
        return [
            (name, scores.mean[str(measure)]) for name, measure in zip(self.names, self.measures, strict=True)
        ]

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """LightGBM's scikit-learn classes train with a copy, whose scores the caller would never see."""
        return self


class _LightGBM(_Metric):
    def __call__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike | GroupedData,
        weight: object = None,
        group: npt.ArrayLike | None = None,
    ) -> list[tuple[str, float, bool]]:
        """``feval(predictions, dataset)``, or ``eval_metric(labels, predictions, weight, group)`` of its scikit-learn classes."""
        del weight  # of documents; a mean over queries has no use for it
        if isinstance(second, GroupedData):
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
    def __call__(
        self, first: npt.ArrayLike, second: MatrixWithGroups
    ) -> tuple[str, float] | list[tuple[str, float]]:
        """``custom_metric(predictions, dmatrix)``; refused as ``eval_metric`` of ``XGBRanker``, which passes two arrays."""
        if isinstance(second, np.ndarray):
            # Early stopping looks at the last measure.
            highest = self.measures[-1].definition.better != "lower"
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
    # CatBoost calls the metric by the name of its class in all that it prints and returns, so renaming it changes what users see.

    def __init__(
        self,
        measures: Measures,
        pools: Sequence[npt.NDArray[np.generic]],
        policy: Policy | None,
        options: MetricOptions,
    ) -> None:
        super().__init__(measures, policy, options)
        # CatBoost says nothing of a pool but its number of documents.
        self._queries: dict[int, npt.NDArray[np.generic]] = {}
        for queries in pools:
            if not np.array_equal(self._queries.setdefault(len(queries), queries), queries):
                raise InputError(
                    f"catboost_metric: two pools have {len(queries):,} documents but other groups, and CatBoost does not say which one "
                    "it evaluates: make one metric for each, or leave a document out of one."
                )

    def is_max_optimal(self) -> bool:
        return self.measures[0].definition.better != "lower"

    def evaluate(
        self, approxes: Sequence[npt.ArrayLike], target: Sequence[float], weight: object
    ) -> tuple[float, float]:
        """The mean and a weight of 1, as CatBoost wants them."""
        del weight
        queries = self._queries.get(len(target))
        if queries is None:
            raise InputError(
                f"catboost_metric knows the groups of {', '.join(f'{size:,}' for size in self._queries)} documents, but CatBoost "
                f"evaluates {len(target):,}: pass the group ids of every pool."
            )
        return self.means(approxes[0], target, queries)[0][1], 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight


def lightgbm_metric(
    measures: Measures = "nDCG@10", policy: Policy | None = None, **options: Unpack[MetricOptions]
) -> _LightGBM:
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


def xgboost_metric(
    measures: Measures = "nDCG@10", policy: Policy | None = None, **options: Unpack[MetricOptions]
) -> _XGBoost:
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


def catboost_metric(
    measure: str | Measure,
    groups: Sequence[npt.ArrayLike] | npt.NDArray[np.generic],
    policy: Policy | None = None,
    **options: Unpack[MetricOptions],
) -> _CatBoost:
    """A metric for ``eval_metric=`` of CatBoost, which does not hand groups on, so they are given here.

    ``groups`` is the query of each document of a pool, or a list of these, one for each pool; pools are identified by their size.

    >>> metric = catboost_metric("RR", ["a", "a", "b", "b"])
    >>> metric.evaluate([[0.1, 0.9, 0.2, 0.8]], [1, 0, 0, 2], None)
    (0.75, 1.0)
    """
    pools = [groups] if np.ndim(groups[0]) == 0 else groups
    return _CatBoost(measure, [np.asarray(pool) for pool in pools], policy, options)


class Estimator(Protocol):
    """A model of scikit-learn."""

    def predict(self, features: object, /) -> npt.ArrayLike: ...


class _Scorer(_Metric):
    def __init__(
        self, measure: str | Measure, query: object, policy: Policy | None, options: MetricOptions
    ) -> None:
        super().__init__(measure, policy, options)
        self.query = query

    def __call__(self, estimator: Estimator, features: npt.ArrayLike | Table, labels: npt.ArrayLike) -> float:
        """The mean over queries; negated where lower is better, since scikit-learn takes the highest."""
        # Whether a pipeline has this attribute depends on its last step, so only asking for it tells.
        predict = getattr(estimator, "decision_function", None) or estimator.predict
        predictions = np.asarray(predict(features), float)
        mean = self.means(predictions, labels, _column(features, self.query))[0][1]
        return -mean if self.measures[0].definition.better == "lower" else mean


def scorer(
    measure: str | Measure = "nDCG@10",
    *,
    query: object,
    policy: Policy | None = None,
    **options: Unpack[MetricOptions],
) -> _Scorer:
    """A scorer for ``cross_val_score`` and ``GridSearchCV``; ``query`` is the column of the features that names the query.

    scikit-learn knows documents but not queries.

    >>> import numpy as np
    >>> class Model:
    ...     def predict(self, features): return features[:, 1]
    >>> features = np.array([[0, 0.1], [0, 0.9], [1, 0.7], [1, 0.2]])
    >>> scorer("RR", query=0)(Model(), features, [1, 0, 1, 0])
    0.75
    """
    return _Scorer(measure, query, policy, options)


def _column(features: npt.ArrayLike | Table, name: object) -> list[object]:
    try:
        if isinstance(features, Table):
            return as_list(features[name], "query")
        if isinstance(name, SupportsIndex):
            return as_list(np.asarray(features)[:, name], "query")
    except (KeyError, IndexError):
        pass
    raise InputError(f"query={name!r} is not a column of the features; name the one that contains the query.")
