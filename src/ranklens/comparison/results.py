"""One system on one measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.stats import Interval


@dataclass(frozen=True)
class SystemResult:
    """One system on one measure. ``group`` holds letters: systems that share one do not differ significantly.

    There are no letters with a baseline (the others were not tested against each other) or for a single system.
    A count such as ``NumRel`` is a sum (in ``mean``), has no interval and is not tested (no letters).
    """

    measure: str
    system: str
    slice: str | None
    n: int
    mean: float
    interval: Interval | None
    group: str = ""
