"""Statistics over queries: how far a mean can be trusted, and whether one system is better than another.

Names are imported when they are first used: evaluating needs intervals alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.stats.bayes import VIEWS, Probabilities, probabilities
    from ranklens.stats.clusters import (
        Clusters,
        cluster_interval,
        design_effect,
        effective_queries,
        intraclass_correlation,
    )
    from ranklens.stats.corrections import CORRECTIONS, adjust
    from ranklens.stats.effects import EffectSize, effect_size
    from ranklens.stats.intervals import (
        INTERVALS,
        Bounds,
        Interval,
        interval,
        relative_interval,
        share_interval,
    )
    from ranklens.stats.joint import Simultaneous, simultaneous
    from ranklens.stats.leave_one_out import Influence, influence
    from ranklens.stats.margins import DECISIONS, Decision, Margin, MarginTest, margin_test
    from ranklens.stats.orders import tau
    from ranklens.stats.overlap import Overlap, rbo
    from ranklens.stats.paired import TestResult
    from ranklens.stats.power import detectable_difference, power_of, queries_needed
    from ranklens.stats.ppi import PpiMean, ppi_mean
    from ranklens.stats.risk import georisk, trisk, urisk
    from ranklens.stats.sequences import ConfidenceSequence, confidence_sequence
    from ranklens.stats.significance import TESTS, paired_test
    from ranklens.stats.tukey import TukeyResult, tukey_hsd

_HOME = {
    "bayes": "VIEWS Probabilities probabilities",
    "clusters": "Clusters cluster_interval design_effect effective_queries intraclass_correlation",
    "corrections": "CORRECTIONS adjust",
    "effects": "EffectSize effect_size",
    "leave_one_out": "Influence influence",
    "intervals": "INTERVALS Bounds Interval interval relative_interval share_interval",
    "margins": "DECISIONS Decision Margin MarginTest margin_test",
    "orders": "tau",
    "overlap": "Overlap rbo",
    "paired": "TestResult",
    "power": "detectable_difference power_of queries_needed",
    "ppi": "PpiMean ppi_mean",
    "risk": "georisk trisk urisk",
    "sequences": "ConfidenceSequence confidence_sequence",
    "significance": "TESTS paired_test",
    "joint": "Simultaneous simultaneous",
    "tukey": "TukeyResult tukey_hsd",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "CORRECTIONS",
    "DECISIONS",
    "INTERVALS",
    "TESTS",
    "VIEWS",
    "Bounds",
    "Clusters",
    "ConfidenceSequence",
    "Decision",
    "EffectSize",
    "Influence",
    "Interval",
    "Margin",
    "MarginTest",
    "Overlap",
    "PpiMean",
    "Probabilities",
    "Simultaneous",
    "TestResult",
    "TukeyResult",
    "adjust",
    "cluster_interval",
    "confidence_sequence",
    "design_effect",
    "detectable_difference",
    "effect_size",
    "effective_queries",
    "georisk",
    "influence",
    "interval",
    "intraclass_correlation",
    "margin_test",
    "paired_test",
    "power_of",
    "ppi_mean",
    "probabilities",
    "queries_needed",
    "rbo",
    "relative_interval",
    "share_interval",
    "simultaneous",
    "tau",
    "trisk",
    "tukey_hsd",
    "urisk",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'ranklens.stats' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ranklens.stats.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
