"""What an evaluation returns.

``scores`` holds the values with their means and intervals, ``notes`` says in words what they were taken over, and ``reading`` reads
them back from files.
"""

from ranklens.scores.notes import (
    FEW_EXPECTED,
    cutoffs_of,
    deepest,
    describe,
    details,
    highest_grade,
    share_judged,
)
from ranklens.scores.scores import (
    GEOMETRIC_FLOOR,
    LOG_BOUNDS,
    Means,
    Scores,
    Sources,
    interval_of,
    logs_with_floor,
    of_logs,
    total,
    usual_of_logs,
)

__all__ = [
    "FEW_EXPECTED",
    "GEOMETRIC_FLOOR",
    "LOG_BOUNDS",
    "Means",
    "Scores",
    "Sources",
    "cutoffs_of",
    "deepest",
    "describe",
    "details",
    "highest_grade",
    "interval_of",
    "logs_with_floor",
    "of_logs",
    "share_judged",
    "total",
    "usual_of_logs",
]
