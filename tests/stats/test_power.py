"""What a query set can show, against statsmodels."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from statsmodels.stats.power import TTestPower

import ranklens as rl
from ranklens.stats import detectable_difference, queries_needed
from ranklens.stats.distributions import noncentral_t_tail


@pytest.mark.parametrize("n", [5, 25, 50, 250, 5000])  # with fewer, theirs does not converge
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.1, 0.5)])
def test_equals_statsmodels(n, alpha, power):
    found = detectable_difference(0.2, n, alpha=alpha, power=power)
    assert TTestPower().power(found / 0.2, n, alpha) == pytest.approx(power, abs=1e-6)
    assert found == pytest.approx(0.2 * TTestPower().solve_power(None, n, alpha, power), rel=1e-4)


@pytest.mark.parametrize("difference", [0.01, 0.05, -0.05, 0.3, 0.5])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9)])
def test_so_many_queries_are_enough_and_one_less_is_not(difference, alpha, power):
    n, effect = queries_needed(difference, 0.2, alpha=alpha, power=power), abs(difference) / 0.2
    assert TTestPower().power(effect, n, alpha) >= power - 1e-9
    assert TTestPower().power(effect, n - 1, alpha) < power


@given(st.integers(2, 2000), st.floats(0.01, 10), st.floats(0.3, 0.95))
def test_the_two_are_each_others_inverse(n, deviation, power):
    difference = detectable_difference(deviation, n, power=power)
    assert queries_needed(difference * (1 + 1e-6), deviation, power=power) <= n
    assert queries_needed(difference * (1 - 1e-6), deviation, power=power) >= n
    assert detectable_difference(2 * deviation, n, power=power) == pytest.approx(2 * difference)


@pytest.mark.parametrize("freedom", [1, 2, 10, 300, 100_000])
@pytest.mark.parametrize("shift", [-2, 0, 0.5, 2.8, 8, 40])
@pytest.mark.parametrize("limit", [0, 0.01, 2, 12, 600])
def test_the_noncentral_t_equals_its_definition(limit, freedom, shift):
    """P((Z + shift) / S > limit), integrated over S by SciPy; the knot is where the integrand falls."""

    def integrand(s):
        return stats.norm.cdf(shift - limit * s) * stats.chi.pdf(s * freedom**0.5, freedom) * freedom**0.5

    low, high = np.maximum(1 + np.array([-12, 12]) / (2 * freedom) ** 0.5, 0)
    knots = np.clip(shift / limit + np.array([-9, -3, 0, 3, 9]) / limit, low, high) if limit else [low, high]
    expected = sum(
        quad(integrand, a, b, epsabs=1e-13, limit=200)[0]
        for a, b in itertools.pairwise([low, *knots, high])
        if b > a
    )
    assert noncentral_t_tail(limit, freedom, shift) == pytest.approx(expected, abs=1e-9)


def test_the_test_finds_what_was_promised():
    """Of simulated experiments with the detectable difference, the t test finds the share that ``power`` says."""
    difference = detectable_difference(1, 30, power=0.7)
    drawn = np.random.default_rng(0).normal(difference, 1, (4000, 30))
    found = (stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean()
    assert abs(found - 0.7) < 5 * math.sqrt(0.7 * 0.3 / 4000)


def test_little_and_much():
    assert detectable_difference(0.2, 1) == math.inf
    assert detectable_difference(0, 50) == 0
    assert queries_needed(0.1, 0) == 2
    many = queries_needed(1e-8, 1)
    assert many == pytest.approx((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * 1e16)
    # where the normal takes over from Student's t, the two agree
    just_below, just_above = (queries_needed(effect, 1) for effect in (0.0028016, 0.0028015))
    assert just_below < 1_000_000 < just_above < just_below + 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queries_needed(0, 0.2), "difference=0"),
        (lambda: queries_needed(0, 0), "difference=0"),
        (lambda: queries_needed(1e-200, 1e200), "difference=1e-200"),
        (lambda: queries_needed(math.nan, 0.2), "difference=nan"),
        (lambda: queries_needed(0.1, -1), "deviation=-1"),
        (lambda: detectable_difference(None, 5), "deviation=None"),
        (lambda: detectable_difference(0.2, 0), "n=0"),
        (lambda: detectable_difference(0.2, 5.5), "n=5.5"),
        (lambda: detectable_difference(0.2, 5, alpha=5), "alpha=5.*such as 0.05"),
        (lambda: detectable_difference(0.2, 5, power=80), "power=80.*such as 0.8"),
        (lambda: detectable_difference(0.2, 5, power=0.04), "power=0.04 is not above alpha"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(rl.InputError, match=message):
        call()
