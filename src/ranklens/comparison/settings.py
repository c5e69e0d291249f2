"""How differences are tested: by which test and correction, and together with which other tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ranklens.errors import Given, InputError, Option
from ranklens.stats import CORRECTIONS, TESTS, inputs

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.openness import Unjudged
    from ranklens.stats import Margin

_TUKEY = ("tukey", "tukey-randomized")  # correct for all pairs by themselves
ALL_TESTS = (*TESTS, *_TUKEY)
FAMILIES = ("measure", "all")
INTERVALS = ("separate", "simultaneous")
MAX_T = "max-t"  # the test that simultaneous intervals agree with
# Keep the chance of any false discovery below alpha; the others, but for none, the share of false discoveries.
_STRICT = ("bonferroni", "holm", "hochberg", "hommel")
# By test, the smallest p-value over n queries is this times 2**-n, however large the difference; 0 for tests without such a limit.
_BY_SIGNS = {"randomization": 2.0, "wilcoxon": 2.0, "sign": 2.0, "mcnemar": 1.0}


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
    family: str = "measure"
    primary: str | None = None  # the measure that a recommendation rests on
    intervals: str = "separate"
    margins: Mapping[str, Margin] = field(default_factory=dict, hash=False)  # by measure
    is_default: bool = True  # nobody named the test, so another may take its place where that is better

    def __post_init__(self) -> None:
        inputs.choice(self.family, "family", FAMILIES)
        inputs.choice(self.test, "test", ALL_TESTS)
        inputs.choice(self.correction, "correction", CORRECTIONS)
        inputs.share(self.alpha, "alpha", 0.05)
        inputs.share(self.level, "level")
        inputs.choice(self.intervals, "intervals", INTERVALS)
        if self.is_joint and self.test not in ("randomization", "t", "bootstrap"):
            raise InputError(
                Option("intervals", "simultaneous"),
                " and ",
                Given("test", self.test),
                " cannot be combined: the intervals are of means. Choose ",
                Option("test", "randomization", "t", "bootstrap"),
                ".",
            )
        if self.is_joint and self.correction not in _STRICT:
            raise InputError(
                Option("intervals", "simultaneous"),
                " and ",
                Given("correction", self.correction),
                " cannot be combined: the intervals bring their own correction. Omit ",
                Option("correction"),
                ".",
            )

    @property
    def is_joint(self) -> bool:
        """Whether intervals hold together and agree with the tests."""
        return self.intervals == "simultaneous"

    @property
    def is_tukey(self) -> bool:
        return self.test in _TUKEY

    @property
    def is_resampled(self) -> bool:
        return self.test in ("randomization", "bootstrap")

    def hardest(self, tests: int) -> float:
        """What the smallest of so many p-values has to stay below if only one of them is small: the worst case."""
        if self.is_tukey or self.correction in _STRICT or self.correction == "bh":
            return self.alpha / tests
        if self.correction == "by":
            return self.alpha / tests / sum(1 / place for place in range(1, tests + 1))
        return self.alpha


def smallest_p(test: str, n: int) -> float:
    """The smallest p-value that a test can give over n queries, however large the difference."""
    return _BY_SIGNS.get(test, 0.0) * 2.0**-n


def fewest_queries(test: str, alpha: float) -> int:
    """With how many queries a test can give a p-value of alpha at all.

    >>> fewest_queries("randomization", 0.05), fewest_queries("mcnemar", 0.05), fewest_queries("t", 0.05)
    (6, 5, 2)
    """
    n = 2
    while smallest_p(test, n) > alpha:
        n += 1
    return n


@dataclass(frozen=True)
class Family:
    """The tests that are corrected together: the pairs of a measure, over all slices, or of all measures."""

    systems: int
    pairs: int
    slices: int = 1
    measures: int = 1


@dataclass(frozen=True)
class Terms:
    """How a pair was tested: by which measure, with which settings, together with which other tests."""

    quantity: Quantity
    settings: Settings
    family: Family
    test: str = ""  # the one that was done; by default that of the settings
    unjudged: Unjudged | None = None  # what documents that nobody judged leave open
    clusters: int | None = None  # of queries, where these belong together

    @property
    def done(self) -> str:
        return self.test or self.settings.test

    @property
    def is_secondary(self) -> bool:
        """Whether another measure decides, and p-values are corrected over the pairs of this one alone."""
        return self.settings.primary not in (None, self.quantity.name) and self.settings.family == "measure"
