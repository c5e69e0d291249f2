"""Every measure, one module per family: pure functions over :class:`~ranklens.judging.judged.Judged`, NumPy only.

Importing them fills the registry, in the order of this list.
"""

# ruff: noqa: F401, I001
from ranklens.formulas import precision
from ranklens.formulas import average_precision
from ranklens.formulas import gain
from ranklens.formulas import cascade
from ranklens.formulas import preference
from ranklens.formulas import ntcir
from ranklens.formulas import counts
from ranklens.formulas import fields
from ranklens.formulas import user_models
from ranklens.formulas import diversity
from ranklens.formulas import evidence
from ranklens.formulas import exposure
from ranklens.formulas import recommendation
