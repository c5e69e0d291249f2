"""Measures inside training loops: for sentence-transformers, gradient boosting, scikit-learn and loops of one's own.

Every one of them keeps the values per query, so that two steps can be tested against each other
(:func:`~ranklens.models.training.checkpoints.compare_checkpoints`). No training library is imported here: what they hand over is enough.
"""

from ranklens.models.training.checkpoints import Checkpoints, compare_checkpoints
from ranklens.models.training.evaluator import Evaluator
from ranklens.models.training.libraries import catboost_metric, lightgbm_metric, scorer, xgboost_metric
from ranklens.models.training.meter import Meter

__all__ = [
    "Checkpoints",
    "Evaluator",
    "Meter",
    "catboost_metric",
    "compare_checkpoints",
    "lightgbm_metric",
    "scorer",
    "xgboost_metric",
]
