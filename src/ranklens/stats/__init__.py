"""Statistics over queries: how far a mean can be trusted, and whether one system is better than another."""

from ranklens.stats.corrections import CORRECTIONS, adjust
from ranklens.stats.effects import EffectSize, effect_size
from ranklens.stats.intervals import INTERVALS, Bounds, Interval, interval
from ranklens.stats.paired import TESTS, TestResult, paired_test
from ranklens.stats.power import detectable_difference, queries_needed
from ranklens.stats.ratios import relative_interval, share_interval
from ranklens.stats.tukey import TukeyResult, tukey_hsd

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Bounds",
    "EffectSize",
    "Interval",
    "TestResult",
    "TukeyResult",
    "adjust",
    "detectable_difference",
    "effect_size",
    "interval",
    "paired_test",
    "queries_needed",
    "relative_interval",
    "share_interval",
    "tukey_hsd",
]
