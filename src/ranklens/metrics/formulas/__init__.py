"""Every measure, one module per family: pure functions over :class:`~ranklens.judging.judged.Judged`, NumPy only.

Importing them fills the registry, in the order of this list. Most people need these; :mod:`ranklens.metrics.formulas.on_demand` has the
others, which the registry loads when it is asked for a name that is not among these, or for all.
"""

# ruff: noqa: F401, I001
from ranklens.metrics.formulas import precision
from ranklens.metrics.formulas import average_precision
from ranklens.metrics.formulas import gain
from ranklens.metrics.formulas import cascade
from ranklens.metrics.formulas import preference
from ranklens.metrics.formulas import ntcir
from ranklens.metrics.formulas import counts
