"""Metrics for single items, and a runner that evaluates many items at once.

The formulas are those of the registry; all items are judged together.
"""

from ranklens.recipes.items.metrics import (
    AtK,
    AveragePrecisionAtK,
    DatasetItem,
    F1AtK,
    HitRateAtK,
    MeanReciprocalRank,
    Metric,
    MetricResult,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
    Signals,
)
from ranklens.recipes.items.results import ItemResult, MetricSummary, RunnerResult
from ranklens.recipes.items.runner import MetricRunner

__all__ = [
    "AtK",
    "AveragePrecisionAtK",
    "DatasetItem",
    "F1AtK",
    "HitRateAtK",
    "ItemResult",
    "MeanReciprocalRank",
    "Metric",
    "MetricResult",
    "MetricRunner",
    "MetricSummary",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
    "RunnerResult",
    "Signals",
]
