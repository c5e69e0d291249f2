"""Many pairs at once give what one pair at a time gives."""

import numpy as np
import pytest
import scipy.stats

from ranklens.stats import TESTS, paired_test
from ranklens.stats.intervals import bootstrap_samples
from ranklens.stats.pairwise import pairwise_p

RNG = np.random.default_rng(0)


def all_pairs(systems):
    return np.triu_indices(systems, 1)


@pytest.mark.parametrize("method", TESTS)
def test_as_one_pair_at_a_time(method):
    values = np.round(RNG.random((4, 30)), 1)
    values[3] = values[0]  # nothing but ties
    values[2] = values[1] + 0.1  # always the same difference
    first, second = all_pairs(4)
    how = {"method": method, "rng": 3, "resamples": 999}
    found = pairwise_p([values], first, second, **how)[0]
    single = [paired_test(values[i], values[j], **how).p_value for i, j in zip(first, second, strict=True)]
    error = 5 * 0.5 / 999**0.5 * 2**0.5 if method == "randomization" else 1e-12
    np.testing.assert_allclose(found, single, atol=error, rtol=1e-9)


def test_few_differences_are_counted_exactly():
    values = RNG.random((3, 12))
    first, second = all_pairs(3)
    found = pairwise_p([values], first, second, resamples=1)[0]
    for p, i, j in zip(found, first, second, strict=True):
        exact = scipy.stats.permutation_test(
            (values[j] - values[i],), np.sum, permutation_type="samples", n_resamples=np.inf
        )
        assert p == pytest.approx(exact.pvalue)


def test_the_same_signs_for_all():
    """A measure or a system more does not change the p-values of the others."""
    values = RNG.random((5, 40))
    first, second = all_pairs(5)
    alone = pairwise_p([values], first, second, rng=1, resamples=2000)[0]
    beside = pairwise_p([values * 100, values], first, second, rng=1, resamples=2000)
    assert beside[0].tolist() == beside[1].tolist() == alone.tolist()
    fewer = pairwise_p([values[:2]], np.array([0]), np.array([1]), rng=1, resamples=2000)[0]
    assert fewer[0] == pytest.approx(alone[0], abs=1e-3)
    p = paired_test(values[0], values[1], rng=1, resamples=2000).p_value
    assert alone[0] == p


def test_the_same_samples_for_all():
    """A bootstrap p-value does not depend on the pairs and measures beside it."""
    values = np.round(RNG.random((4, 30)), 2)
    first, second = all_pairs(4)
    how = {"method": "bootstrap", "rng": 2, "resamples": 3000}
    alone = pairwise_p([values], first, second, **how)[0]
    beside = pairwise_p([values * 100, values], first[:2], second[:2], **how)
    assert beside[0].tolist() == beside[1].tolist() == alone[:2].tolist()


def test_the_bootstrap_is_that_of_samples_one_by_one():
    """Counting how often a query is drawn gives the means and deviations of the samples themselves."""
    change = np.round(RNG.normal(0.02, 0.1, 40), 2)
    samples = np.concatenate(list(bootstrap_samples(change - change.mean(), np.random.default_rng(5), 5000)))
    t = scipy.stats.ttest_1samp(samples, 0, axis=1).statistic
    far = np.abs(t) >= abs(scipy.stats.ttest_1samp(change, 0).statistic) - 1e-9
    values = np.stack([np.zeros(40), change])
    p = pairwise_p([values], np.array([0]), np.array([1]), method="bootstrap", rng=5, resamples=5000)[0]
    assert p[0] == (far.sum() + 1) / 5001


def test_mean_differences_that_are_equal_but_for_rounding_count_as_far():
    """0.1 + 0.2 - 0.3 is not 0: sums in another order must not lose the pattern that was observed."""
    a = np.tile([0.1, 0.2, 0.3], 10)
    b = np.tile([0.2, 0.3, 0.1], 10)
    p = pairwise_p([np.stack([a, b])], np.array([0]), np.array([1]), rng=0, resamples=500)[0]
    assert p[0] == 1
