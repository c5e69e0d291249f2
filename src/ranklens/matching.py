"""Which judged document a retrieved item is: by id, field, parent, group, span, text or evidence.

A public name for :mod:`ranklens.data.matching`.
"""

from ranklens.data.matching import *  # noqa: F403
from ranklens.data.matching import __all__  # noqa: F401
