"""Measures of your own: the decorator, its types of parameters, and the names of measures.

A public name for :mod:`ranklens.metrics`.
"""

from ranklens.metrics import *  # noqa: F403
from ranklens.metrics import __all__  # noqa: F401
