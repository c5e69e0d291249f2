"""Statistics over queries: how far a mean can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens.judged import FloatArray


class Bounds(NamedTuple):
    """The values that a measure can take."""

    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Interval:
    """Where the mean over all queries like these plausibly lies.

    ``clipped`` tells that the method reached beyond what the measure can be and was cut there.
    """

    low: float
    high: float
    level: float = 0.95
    method: str = "t"
    clipped: bool = False

    def __iter__(self) -> Iterator[float]:
        """``low, high = scores.interval("RR")``."""
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"


def interval(scores: FloatArray, *, level: float = 0.95, bounds: Bounds = Bounds()) -> Interval:  # noqa: B008  immutable
    """Student's t interval of a mean.

    One score says nothing about the next, so the interval is then everything that the measure can be.

    >>> interval(np.array([0.2, 0.4, 0.6]))
    Interval(low=-0.0968..., high=0.8968..., level=0.95, method='t', clipped=False)
    >>> interval(np.array([0.2]), bounds=Bounds(0, 1))
    Interval(low=0.0, high=1.0, level=0.95, method='t', clipped=False)
    """
    if not 0 < level < 1:
        raise InputError(f"level={level!r} is not allowed: it is a share between 0 and 1, such as 0.95.")
    n = len(scores)
    if n < 2:
        return Interval(float(bounds.low), float(bounds.high), level)
    from scipy.special import stdtrit

    mean, half = scores.mean(), stdtrit(n - 1, (1 + level) / 2) * scores.std(ddof=1) / n**0.5
    low, high = max(bounds.low, mean - half), min(bounds.high, mean + half)
    clipped = bool(low > mean - half or high < mean + half)
    return Interval(float(low), float(high), level, clipped=clipped)
