"""Recommendations: what is new, popular, varied and covered, next to every measure of rankings.

:func:`evaluate` takes training data, test data and recommendations; :func:`sampled_metric` says what a measure would be among
sampled negatives.
"""

from ranklens.recipes.recommend.lists import debiased, intersection, unrepeated
from ranklens.recipes.recommend.sampling import sampled_metric
from ranklens.recipes.recommend.scoring import Result, evaluate

__all__ = ["Result", "debiased", "evaluate", "intersection", "sampled_metric", "unrepeated"]
