"""Several runs combined into one, and tuned without fooling yourself.

Runs are arrays side by side (``lists``); a method is one function over them (``methods``, ``trained``). ``fusing`` is :func:`ranklens.fuse`,
``tuning`` chooses settings on some queries and judges them on others.
"""

from ranklens.fusion.fusing import fit_fusion, fuse
from ranklens.fusion.methods import METHODS
from ranklens.fusion.norms import NORMS
from ranklens.fusion.trained import TRAINED, Fitted

__all__ = ["METHODS", "NORMS", "TRAINED", "Fitted", "fit_fusion", "fuse"]
