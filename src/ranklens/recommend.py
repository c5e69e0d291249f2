"""Recommendations against training and test data.

A public name for :mod:`ranklens.recipes.recommend`.
"""

from ranklens.recipes.recommend import *  # noqa: F403
from ranklens.recipes.recommend import __all__  # noqa: F401
