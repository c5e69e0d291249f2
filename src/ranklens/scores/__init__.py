"""What an evaluation returns.

``values`` holds one value per query and measure, ``scores`` their means and intervals. ``account`` is what was decided and counted, which
``notes`` say in words. ``reading`` reads scores back from files.
"""

from ranklens.scores.account import FEW_EXPECTED, Account, cutoffs_of, deepest
from ranklens.scores.notes import details, highest_grade
from ranklens.scores.scores import (
    GEOMETRIC_FLOOR,
    LOG_BOUNDS,
    Means,
    Scores,
    interval_of,
    logs_with_floor,
    of_logs,
    total,
    usual_of_logs,
)
from ranklens.scores.values import Values

__all__ = [
    "FEW_EXPECTED",
    "GEOMETRIC_FLOOR",
    "LOG_BOUNDS",
    "Account",
    "Means",
    "Scores",
    "Values",
    "cutoffs_of",
    "deepest",
    "details",
    "highest_grade",
    "interval_of",
    "logs_with_floor",
    "of_logs",
    "total",
    "usual_of_logs",
]
