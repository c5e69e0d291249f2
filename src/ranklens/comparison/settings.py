"""How differences are tested: by which test and correction, and together with which other tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from ranklens.comparison.options import USUAL, CompareOptions
from ranklens.errors import Given, InputError, Option
from ranklens.options import descriptions
from ranklens.stats import inputs
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.significance import DEFAULT_TEST, SIGNIFICANCE_TESTS, SignificanceTest

if TYPE_CHECKING:
    from ranklens.comparison.alignment import Quantity
    from ranklens.comparison.openness import Unjudged
    from ranklens.comparison.options import ComparisonArguments, Correction, Test
    from ranklens.stats import Margin

CHOICES = {name: option.choices for name, option in descriptions(CompareOptions).items() if option.choices}


@dataclass(frozen=True)
class Settings:
    """How differences are tested."""

    baseline: str | None = None
    test: str = DEFAULT_TEST
    correction: str = USUAL.correction
    alpha: float = USUAL.alpha
    level: float = USUAL.level
    seed: int = 0
    resamples: int = 100_000
    family: str = USUAL.family
    primary: str | None = None  # the measure that a recommendation rests on
    intervals: str = USUAL.intervals
    margins: Mapping[str, Margin] = field(default_factory=dict, hash=False)  # by measure
    is_default: bool = True  # the test was not named, so another may replace it where that is better

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            inputs.choice(getattr(self, name), name, choices)
        inputs.share(self.alpha, "alpha", 0.05)
        inputs.share(self.level, "level")
        if self.is_joint and not self.procedure.is_of_mean_differences:
            of_means = [name for name, test in SIGNIFICANCE_TESTS.items() if test.is_of_mean_differences]
            raise InputError(
                Option("intervals", "simultaneous"),
                " and ",
                Given("test", self.test),
                " cannot be combined: the intervals are of means. Choose ",
                Option("test", *of_means),
                ".",
            )
        if self.is_joint and not CORRECTIONS_BY_NAME[self.correction].is_strict:
            raise InputError(
                Option("intervals", "simultaneous"),
                " and ",
                Given("correction", self.correction),
                " cannot be combined: the intervals bring their own correction. Omit ",
                Option("correction"),
                ".",
            )

    @classmethod
    def of(cls, options: CompareOptions) -> Settings:
        """What the caller asked for; one seed for everything random, so that a result can be reported and repeated."""
        rng = options.rng
        if rng is None or isinstance(rng, np.random.Generator):
            seed = int(np.random.default_rng(rng).integers(2**32))
        else:
            seed = inputs.count(rng, "rng", 0)
        return cls(
            baseline=None if options.baseline is None else str(options.baseline),
            test=options.test or DEFAULT_TEST,
            correction=options.correction,
            alpha=options.alpha,
            level=options.level,
            seed=seed,
            family=options.family,
            primary=None if options.primary is None else str(options.primary),
            intervals=options.intervals,
            is_default=options.test is None,
        )

    def options(self) -> ComparisonArguments:
        """What asks for the same tests again, with the same random numbers."""
        return {
            "baseline": self.baseline,
            "test": None if self.is_default else cast("Test", self.test),
            "correction": cast("Correction", self.correction),
            "alpha": self.alpha,
            "level": self.level,
            "family": self.family,
            "intervals": self.intervals,
            "rng": self.seed,
        }

    @property
    def is_joint(self) -> bool:
        """Whether intervals hold together and agree with the tests."""
        return self.intervals == "simultaneous"

    @property
    def procedure(self) -> SignificanceTest:
        """What the test can and cannot do."""
        return SIGNIFICANCE_TESTS[self.test]

    @property
    def is_of_all_pairs(self) -> bool:
        """Whether the test looks at all pairs at once, and corrects for their number by itself."""
        return self.procedure.of_all_pairs is not None

    def hardest(self, tests: int) -> float:
        """What the smallest of all p-values has to stay below if only one of them is small: the worst case."""
        correction = "bonferroni" if self.is_of_all_pairs else self.correction
        return CORRECTIONS_BY_NAME[correction].hardest(self.alpha, tests)


def smallest_p(test: str, n: int) -> float:
    """The smallest p-value that a test can give over n queries, however large the difference."""
    return SIGNIFICANCE_TESTS[test].smallest * 2.0**-n


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
class HowTested:
    """How a pair was tested: by which measure, with which settings, together with which other tests."""

    quantity: Quantity
    settings: Settings
    family: Family
    test: str = ""  # the one that was done; by default that of the settings
    unjudged: Unjudged | None = None  # what unjudged documents leave open
    clusters: int | None = None  # of queries, where these belong together

    @property
    def done(self) -> str:
        return self.test or self.settings.test

    @property
    def procedure(self) -> SignificanceTest:
        """What the test that was done can and cannot do."""
        return SIGNIFICANCE_TESTS[self.done]

    @property
    def is_secondary(self) -> bool:
        """Whether another measure decides, and p-values are corrected over the pairs of this one alone."""
        return self.settings.primary not in (None, self.quantity.name) and self.settings.family == "measure"
