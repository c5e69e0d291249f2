"""The families that are loaded on demand: of single fields, user models, and judgments that know more than a grade."""

# ruff: noqa: F401, I001
from ranklens.formulas import fields
from ranklens.formulas import user_models
from ranklens.formulas import pairs
from ranklens.formulas import diversity
from ranklens.formulas import evidence
from ranklens.formulas import sampled
from ranklens.formulas import exposure
from ranklens.formulas import recommendation
