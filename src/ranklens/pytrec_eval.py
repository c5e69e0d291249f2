"""pytrec_eval's interface: ``from ranklens import pytrec_eval``.

A public name for :mod:`ranklens.pytrec_eval`.
"""

from ranklens.exchange.pytrec_eval import *  # noqa: F403
from ranklens.exchange.pytrec_eval import __all__  # noqa: F401
