"""The configuration that ``ranklens bench`` reads.

A public name for :mod:`ranklens.bench.config`.
"""

from ranklens.bench.config import *  # noqa: F403
from ranklens.bench.config import __all__  # noqa: F401
