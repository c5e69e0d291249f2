"""The families that are loaded on demand: of single fields, user models, and judgments that know more than a grade."""

# ruff: noqa: F401, I001
from ranklens.metrics.formulas import fields
from ranklens.metrics.formulas import user_models
from ranklens.metrics.formulas import pairs
from ranklens.metrics.formulas import diversity
from ranklens.metrics.formulas import evidence
from ranklens.metrics.formulas import sampled
from ranklens.metrics.formulas import exposure
from ranklens.metrics.formulas import recommendation
