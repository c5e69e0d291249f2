"""Every significance test, described once: everything that speaks of tests reads their names, words and limits here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ranklens.stats import inputs, paired
from ranklens.stats.randomization import ALL_ORDERS, EXACT_UP_TO, range_p
from ranklens.stats.resampling_counts import BINS, COUNTED, bootstrap_p_of_counts, sign_flip_p_of_counts
from ranklens.stats.tukey import tukey_hsd

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng
    from ranklens.stats.paired import TestResult

DEFAULT_TEST = "randomization"
BINARY_TEST = "mcnemar"  # takes its place, unless it was named, where values are 0 or 1: it finds more
POWERED = "ppi++"  # the test where a model has labelled more queries than people have judged; it cannot be asked for either
MAX_T = "max-t"  # the test that simultaneous intervals agree with; it cannot be asked for by name


class Workload(NamedTuple):
    """How much a resampled test has to do."""

    systems: int
    pairs: int
    measures: int
    queries: int


@dataclass(frozen=True)
class SignificanceTest:
    """What a test is called, what computes its p-value, and what it can and cannot do.

    A new one needs ``words`` and one of the first four functions. The functions after these make it faster or possible in more places.
    """

    words: str  # its name in a sentence
    of_differences: Callable[[FloatArray], TestResult] | None = None
    of_draws: Callable[[FloatArray, np.random.Generator, int], TestResult] | None = None  # resamples them
    of_samples: Callable[[FloatArray, FloatArray], TestResult] | None = None  # does not pair queries
    # One matrix of p-values per measure, which the test corrects for the number of pairs by itself.
    of_all_pairs: Callable[[Sequence[FloatArray], int, int], list[FloatArray]] | None = None

    p_of_rows: Callable[[FloatArray], FloatArray] | None = None  # of many pairs at once
    p_of_wins: Callable[[IntArray, IntArray], FloatArray] | None = None  # wins and losses are enough
    p_of_moments: Callable[[FloatArray, FloatArray, int], FloatArray] | None = None  # mean, deviation, number
    # Of the differences that occur, how often they do.
    p_of_counts: Callable[[FloatArray, IntArray, np.random.Generator, int], float] | None = None

    compares: str = ""  # what it compares where that is not the means
    needs_variation: bool = False  # the sign test answers where differences do not vary
    shared_draws: Literal["signs", "samples", "none"] = "none"  # what all pairs share
    is_of_mean_differences: bool = False  # so that simultaneous intervals and macro-averages can use it
    assumes_equal_variances: bool = False
    in_sensitivity: bool = False
    # Over n queries no p-value is below this times 2**-n, however large the difference.
    smallest: float = 0.0
    most_resamples: int = 0
    nanoseconds: Callable[[Workload], float] | None = None  # that one resample takes
    instead: str = "t"  # what answers in its place where it would take too long
    source: str = ""  # its key in metrics/literature.py

    @property
    def is_resampled(self) -> bool:
        return self.of_draws is not None

    def is_exact(self, differing: int) -> bool:
        """Whether all ways to set the signs of ``n`` differences are counted."""
        return self.shared_draws == "signs" and differing <= EXACT_UP_TO

    @property
    def is_from_sums(self) -> bool:
        """Whether sums and counts are enough, so that the values of very many queries can stay on a cluster."""
        return any((self.p_of_wins, self.p_of_moments, self.p_of_counts))


# The times were measured by benchmarks/comparisons.py.
SIGNIFICANCE_TESTS: dict[str, SignificanceTest] = {
    "randomization": SignificanceTest(
        "randomisation test",
        of_draws=paired.randomization,
        p_of_counts=sign_flip_p_of_counts,
        shared_draws="signs",
        is_of_mean_differences=True,
        in_sensitivity=True,
        smallest=2.0,
        most_resamples=100_000,
        nanoseconds=lambda work: 0.06 * work.systems * work.measures * work.queries,
        source="smucker2007",
    ),
    "t": SignificanceTest(
        "paired t test",
        of_differences=paired.student_test,
        p_of_rows=lambda changes: paired.student(changes)[1],
        p_of_moments=lambda mean, deviation, n: paired.student_of(mean, deviation, n)[1],
        needs_variation=True,
        is_of_mean_differences=True,
        in_sensitivity=True,
    ),
    "wilcoxon": SignificanceTest(
        "Wilcoxon signed-rank test",
        of_differences=paired.wilcoxon,
        p_of_rows=paired.wilcoxon_ps,
        compares="signed ranks",
        in_sensitivity=True,
        smallest=2.0,
    ),
    "sign": SignificanceTest(
        "sign test",
        of_differences=paired.sign,
        p_of_wins=paired.sign_ps,
        compares="wins",
        in_sensitivity=True,
        smallest=2.0,
    ),
    "mcnemar": SignificanceTest(
        "McNemar's mid-p test",
        of_differences=paired.mcnemar,
        p_of_wins=paired.mid_p,
        smallest=1.0,
        source="fagerland2013",
    ),
    "bootstrap": SignificanceTest(
        "bootstrap test",
        of_draws=paired.bootstrap,
        p_of_counts=bootstrap_p_of_counts,
        shared_draws="samples",
        needs_variation=True,
        is_of_mean_differences=True,
        in_sensitivity=True,
        most_resamples=100_000,
        nanoseconds=lambda work: (
            140 * work.pairs * work.measures * BINS
            if work.queries > COUNTED
            else (6 + 0.5 * work.pairs * work.measures) * work.queries
        ),
    ),
    "welch": SignificanceTest("unpaired Welch t test", of_samples=paired.welch),
    "tukey": SignificanceTest(
        "Tukey's HSD",
        of_all_pairs=lambda scores, seed, _: [tukey_hsd(values, rng=seed).p_values for values in scores],
        assumes_equal_variances=True,
        in_sensitivity=True,
        instead="tukey",
        source="carterette2012",
    ),
    "tukey-randomized": SignificanceTest(
        "randomised Tukey HSD",
        of_all_pairs=lambda scores, seed, resamples: range_p(scores, inputs.generator(seed), resamples),
        assumes_equal_variances=True,
        most_resamples=10_000,
        instead="tukey",
        nanoseconds=lambda work: (
            (0.7 if work.systems <= ALL_ORDERS else 7) * work.systems * work.measures * work.queries
        ),
        source="carterette2012",
    ),
    MAX_T: SignificanceTest("max-t test", source="hothorn2008"),  # see stats/joint.py
    POWERED: SignificanceTest("prediction-powered t test", source="angelopoulos2023"),  # see stats/ppi.py
}
# Those that a comparison can be asked for, and those of them that need no more than two systems.
ALL_TESTS = tuple(name for name in SIGNIFICANCE_TESTS if name not in (MAX_T, POWERED))
TESTS = tuple(name for name in ALL_TESTS if SIGNIFICANCE_TESTS[name].of_all_pairs is None)


def paired_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    method: str = DEFAULT_TEST,
    rng: Rng = None,
    resamples: int = 100_000,
) -> TestResult:
    """How often a difference as large as that between a and b would be seen if the two were equally good; two-sided.

    - ``randomization``: signs of the differences are flipped; all of them up to 20 differences, otherwise ``resamples`` times.
    - ``t``: Student's. ``bootstrap``: the same statistic, its distribution from samples of the differences, shifted to mean 0.
    - ``wilcoxon``: signed ranks; ties between a and b are left out, equal differences share their mean rank. Counted up to
      50 differences, then normal.
    - ``sign``: wins against losses, binomial; ties are left out.
    - ``mcnemar``: the same with mid-p: an outcome as likely as the one observed counts half, without which the test of scores
      that are 0 or 1 finds less than it could.
    - ``welch``: as if a and b came from different queries, whose numbers may differ; ``n`` is the smaller.

    Values that differ by floating-point noise alone are ties. Where a and b are equal, p is 1. Where t has no variation to
    go by (one query, or all differences equal), ``t`` and ``bootstrap`` answer as ``sign``, ``welch`` as ``permutation``.

    >>> result = paired_test([0.2, 0.4, 0.1, 0.3, 0.5], [0.3, 0.6, 0.4, 0.7, 1.0])
    >>> result.p_value, result.exact
    (0.0625, True)
    >>> paired_test([0.5, 0.5, 0.5], [0.6, 0.6, 0.6], method="t").method
    'sign'
    """
    inputs.choice(method, "method", TESTS)
    inputs.count(resamples, "resamples")
    test = SIGNIFICANCE_TESTS[method]
    if test.of_samples is not None:
        return test.of_samples(inputs.not_empty(a, "a"), inputs.not_empty(b, "b"))
    change = inputs.differences(*inputs.pair(a, b))
    if test.of_draws is not None:
        return test.of_draws(change, inputs.generator(rng), resamples)
    assert test.of_differences is not None
    return test.of_differences(change)
