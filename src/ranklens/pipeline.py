"""Measures around retrieval: routing, gating and reranking.

A public name for :mod:`ranklens.recipes.pipeline`.
"""

from ranklens.recipes.pipeline import *  # noqa: F403
from ranklens.recipes.pipeline import __all__  # noqa: F401
