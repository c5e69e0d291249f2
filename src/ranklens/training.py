"""Measures inside training loops.

A public name for :mod:`ranklens.models.training`.
"""

from ranklens.models.training import *  # noqa: F403
from ranklens.models.training import __all__  # noqa: F401
