"""Measures by name: the decorator that registers them, the parser of names, and how they print.

A name is ``Name(parameter=value, …)@k``. Parameters, their types and defaults come from the function's signature, the
description from its docstring, so a measure is defined in one place.
"""

from ranklens.metrics.catalog import (
    ENTRY_POINT_GROUP,
    Aggregate,
    Better,
    Definition,
    definitions,
    formula,
    measure,
    unregister,
    working,
)
from ranklens.metrics.instances import Measure, make, spellings, stated, with_rel
from ranklens.metrics.names import look_up, measures, parse, parse_many, preset
from ranklens.metrics.parameters import (
    Above,
    Chance,
    Cutoff,
    Gains,
    Inner,
    Levels,
    Parameter,
    Positive,
    Rel,
    Share,
    Within,
)
from ranklens.metrics.presets import PRESET_ALIASES, PRESETS

__all__ = [
    "ENTRY_POINT_GROUP", "PRESETS", "PRESET_ALIASES", "Above", "Aggregate", "Better", "Chance", "Cutoff",
    "Definition", "Gains", "Inner", "Levels", "Measure", "Parameter", "Positive", "Rel", "Share", "Within",
    "definitions", "formula", "look_up", "make", "measure", "measures", "parse", "parse_many", "preset",
    "spellings", "stated", "unregister", "with_rel", "working",
]  # fmt: skip
