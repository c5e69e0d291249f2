"""Statistics over queries: how far a mean can be trusted, and whether one system is better than another.

Names are imported when they are first used: evaluating needs intervals alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.stats.corrections import CORRECTIONS, adjust
    from ranklens.stats.effects import EffectSize, effect_size
    from ranklens.stats.intervals import INTERVALS, Bounds, Interval, interval
    from ranklens.stats.overlap import Overlap, rbo
    from ranklens.stats.paired import TESTS, TestResult, paired_test
    from ranklens.stats.power import detectable_difference, queries_needed
    from ranklens.stats.ratios import relative_interval, share_interval
    from ranklens.stats.risk import georisk, trisk, urisk
    from ranklens.stats.tukey import TukeyResult, tukey_hsd

_HOME = {
    "corrections": "CORRECTIONS adjust",
    "effects": "EffectSize effect_size",
    "intervals": "INTERVALS Bounds Interval interval",
    "overlap": "Overlap rbo",
    "paired": "TESTS TestResult paired_test",
    "power": "detectable_difference queries_needed",
    "ratios": "relative_interval share_interval",
    "risk": "georisk trisk urisk",
    "tukey": "TukeyResult tukey_hsd",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Bounds",
    "EffectSize",
    "Interval",
    "Overlap",
    "TestResult",
    "TukeyResult",
    "adjust",
    "detectable_difference",
    "effect_size",
    "georisk",
    "interval",
    "paired_test",
    "queries_needed",
    "rbo",
    "relative_interval",
    "share_interval",
    "trisk",
    "tukey_hsd",
    "urisk",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ranklens.stats' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ranklens.stats.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
