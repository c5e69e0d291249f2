"""How differences are tested: by which test and correction, and together with which other tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.stats import CORRECTIONS, TESTS, inputs

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Quantity

_TUKEY = ("tukey", "tukey-randomized")  # correct for all pairs by themselves
ALL_TESTS = (*TESTS, *_TUKEY)


@dataclass(frozen=True)
class Settings:
    """How differences are tested."""

    baseline: str | None = None
    test: str = "randomization"
    correction: str = "holm"
    alpha: float = 0.05
    level: float = 0.95
    seed: int = 0
    resamples: int = 100_000

    def __post_init__(self) -> None:
        inputs.choice(self.test, "test", ALL_TESTS)
        inputs.choice(self.correction, "correction", CORRECTIONS)
        inputs.share(self.alpha, "alpha", 0.05)
        inputs.share(self.level, "level")

    @property
    def is_tukey(self) -> bool:
        return self.test in _TUKEY

    @property
    def is_resampled(self) -> bool:
        return self.test in ("randomization", "bootstrap")


@dataclass(frozen=True)
class Family:
    """The tests that are corrected together: the pairs of a measure, over all slices."""

    systems: int
    pairs: int
    slices: int = 1


@dataclass(frozen=True)
class Terms:
    """How a pair was tested: by which measure, with which settings, together with which other tests."""

    quantity: Quantity
    settings: Settings
    family: Family
