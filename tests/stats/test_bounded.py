"""Intervals near the ends of a range, where Student's t has too little width or none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2
from statsmodels.stats.proportion import proportion_confint

from ranklens.stats import Bounds, effect_size, interval
from ranklens.stats.bounded import score_ends

UNIT = Bounds(0, 1)


@pytest.mark.parametrize(("hits", "n"), [(8, 8), (0, 8), (46, 50), (3, 7), (500, 1000)])
def test_scores_of_0_or_1_get_wilsons_interval(hits, n):
    found = interval([1.0] * hits + [0.0] * (n - hits), bounds=UNIT)
    assert tuple(found) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
    assert (found.method, found.clipped) == ("wilson", False)
    stretched = interval([5.0] * hits + [3.0] * (n - hits), bounds=Bounds(3, 5))
    assert tuple(stretched) == pytest.approx([3 + 2 * end for end in found])


def of_share(hits, n, **options):
    return interval([1.0] * hits + [0.0] * (n - hits), bounds=UNIT, **options)


@pytest.mark.parametrize(("misses", "n"), [(1, 25), (2, 25), (3, 50), (1, 1000)])
def test_next_to_an_end_wilsons_interval_reaches_farther(misses, n):
    found, plain = of_share(n - misses, n), of_share(n - misses, n, method="wilson")
    assert tuple(plain) == pytest.approx(proportion_confint(n - misses, n, method="wilson"), abs=1e-12)
    assert (found.method, plain.method) == ("modified wilson", "wilson")
    assert found.low == plain.low
    assert found.high == pytest.approx(
        1 - chi2.ppf(0.05, 2 * misses) / 2 / n, abs=1e-12
    )  # Brown, Cai and DasGupta's
    mirrored = of_share(misses, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx(tuple(found), abs=1e-12)


@pytest.mark.parametrize("n", [25, 39, 50, 100, 250])
def test_the_coverage_of_shares_is_counted_exactly(n):
    hits, truth = np.arange(n + 1), np.array([0.02, 0.05, 0.5, 0.95, 0.98, 0.99])
    low, high = np.array([tuple(of_share(int(k), n)) for k in hits]).T

    def coverage(share):
        return (
            binom.pmf(hits, n, share[:, None]) * ((low <= share[:, None]) & (share[:, None] <= high))
        ).sum(axis=1)

    assert coverage(truth).min() >= 0.93
    ends = np.concatenate([low, high])
    worst = coverage(
        np.concatenate([ends - 1e-9, ends + 1e-9]).clip(1e-9, 1 - 1e-9)
    )  # it drops at the ends alone
    assert worst.min() >= 0.918


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_an_interval_has_width_holds_the_mean_and_stays_in_the_range(scores):
    found = interval(scores, bounds=UNIT)
    assert 0 <= found.low <= np.mean(scores) + 1e-12
    assert np.mean(scores) - 1e-12 <= found.high <= 1
    assert found.high > found.low
    assert found.method in ("t", "wilson", "modified wilson", "score")


def test_far_from_the_ends_it_is_students_t():
    scores = np.random.default_rng(0).beta(4, 4, 50)
    assert interval(scores, bounds=UNIT) == interval(scores, method="t", bounds=UNIT)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_the_score_interval_is_the_same_from_either_end(scores):
    values = np.array(scores)
    low, high = score_ends(values, 0.95, 0, 1)
    mirrored = score_ends(1 - values, 0.95, 0, 1)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(2, 20))
def test_paired_proportions_are_walds_interval_with_a_win_and_a_loss_more(wins, losses, ties):
    """Bonett and Price 2012, computed here from the augmented sample itself."""
    a = np.array([0.0] * wins + [1.0] * losses + [1.0] * ties)
    b = np.array([1.0] * wins + [0.0] * losses + [1.0] * ties)
    augmented = np.array([*(b - a), 1, -1])
    half = 1.959963984540054 * augmented.std() / len(augmented) ** 0.5
    expected = np.clip([augmented.mean() - half, augmented.mean() + half], -1, 1)
    found = effect_size(a, b, bounds=UNIT).interval
    assert tuple(found) == pytest.approx(expected, abs=1e-9)
    assert found.method == "bonett-price"


def test_a_constant_difference_has_an_interval_with_width():
    a = np.linspace(0.1, 0.6, 8)
    found = effect_size(a, a + 0.1, bounds=UNIT).interval
    assert 0 < found.low < 0.09
    assert 0.11 < found.high < 0.2
    assert found.method == "adjusted t"


def test_few_differences_among_many_queries_are_not_trusted_too_far():
    a = np.full(100, 0.5)
    b = a.copy()
    b[:3] = 0.7  # three wins, no loss
    found = effect_size(a, b, bounds=UNIT).interval
    plain = interval(b - a, method="t")
    assert found.low < plain.low
    assert found.high > plain.high
    many = np.random.default_rng(0).random((2, 100))
    assert effect_size(*many, bounds=UNIT).interval == interval(
        many[1] - many[0], method="t", bounds=Bounds(-1, 1)
    )


COVERED = {  # shares of values at 1, shape of the others: what a sample of a good or a bad system looks like
    "many zeros": lambda rng, size: np.clip(rng.normal(0.1, 0.4, size), 0, 1),
    "many ones": lambda rng, size: np.clip(rng.normal(0.9, 0.4, size), 0, 1),
    "mean of 0.05": lambda rng, size: np.where(rng.random(size) < 0.8, 0, rng.beta(1, 3, size)),
    "nearly all 1": lambda rng, size: np.where(rng.random(size) < 0.96, 1, rng.random(size)),
}


@pytest.mark.parametrize("shape", COVERED)
@pytest.mark.parametrize("n", [25, 50])
def test_intervals_of_means_cover(shape, n):
    rng = np.random.default_rng(3)
    truth = COVERED[shape](rng, 2_000_000).mean()
    held = [
        low <= truth <= high
        for low, high in (interval(COVERED[shape](rng, n), bounds=UNIT) for _ in range(1500))
    ]
    assert np.mean(held) >= 0.93
