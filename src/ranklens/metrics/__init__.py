"""Measures by name: the decorator that registers them, the parser of names, and how they print.

A name is ``Name(parameter=value, …)@k``. Parameters, their types and defaults come from the function's signature, the
description from its docstring, so a measure is defined in one place.
"""

from ranklens.metrics.catalog import (
    ENTRY_POINT_GROUP,
    Aggregate,
    Better,
    Definition,
    Measure,
    definitions,
    make,
    measure,
    unregister,
)
from ranklens.metrics.names import look_up, measures, parse, parse_many, preset, spellings, stated, with_rel
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
    "ENTRY_POINT_GROUP",
    "PRESETS",
    "PRESET_ALIASES",
    "Above",
    "Aggregate",
    "Better",
    "Chance",
    "Cutoff",
    "Definition",
    "Gains",
    "Inner",
    "Levels",
    "Measure",
    "Parameter",
    "Positive",
    "Rel",
    "Share",
    "Within",
    "definitions",
    "look_up",
    "make",
    "measure",
    "measures",
    "parse",
    "parse_many",
    "preset",
    "spellings",
    "stated",
    "unregister",
    "with_rel",
]
