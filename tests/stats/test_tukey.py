"""Tukey's HSD in its three forms, against SciPy, statsmodels and complete enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols

import ranklens as rl
from ranklens.stats import paired_test, randomization, tukey, tukey_hsd
from ranklens.stats.distributions import studentized_range_tail
from ranklens.stats.randomization import range_p


def systems(k, n, seed, spread=0.02):
    rng = np.random.default_rng(seed)
    difficulty = rng.beta(0.7, 1, n)
    return np.clip(difficulty + rng.normal(0, 0.1, (k, n)) + spread * np.arange(k)[:, None], 0, 1)


def test_unpaired_equals_scipy():
    scores = systems(4, 30, seed=1, spread=0.1)
    ours, theirs = tukey_hsd(scores, paired=False), stats.tukey_hsd(*scores)
    assert ours.p_values == pytest.approx(theirs.pvalue)
    assert ours.differences == pytest.approx(-theirs.statistic)
    assert (ours.method, ours.n, ours.resamples) == ("unpaired tukey", 30, None)


def test_paired_equals_an_analysis_of_variance_in_two_ways():
    """The error and its degrees of freedom come from a linear model of systems and queries."""
    scores = systems(4, 25, seed=2)
    table = pd.DataFrame(
        [(f"s{i}", f"q{j}", scores[i, j]) for i in range(4) for j in range(25)], columns=["s", "q", "y"]
    )
    model = ols("y ~ C(s) + C(q)", table).fit()
    gaps = np.abs(scores.mean(axis=1) - scores.mean(axis=1)[:, None])
    expected = stats.studentized_range.sf(gaps / np.sqrt(model.mse_resid / 25), 4, model.df_resid)
    assert tukey_hsd(scores).p_values == pytest.approx(expected)


def test_equal_systems_with_many_zeros_are_rejected_as_often_as_promised():
    """By SciPy's critical value in 4,000 experiments, of which ours decides some in the same way."""
    rng = np.random.default_rng(5)
    easy, luck = rng.normal(0, 1, (4000, 1, 50)), rng.normal(0, 0.7, (4000, 5, 50))
    scores = np.clip(0.1 + 0.35 * (easy + luck), 0, 1) ** 1.25
    means = scores.mean(axis=2)
    rest = scores - means[:, :, None]
    rest -= rest.mean(axis=1, keepdims=True)
    error = np.sqrt((rest**2).sum(axis=(1, 2)) / (4 * 49) / 50)
    rejected = np.ptp(means, axis=1) / error >= stats.studentized_range.ppf(0.95, 5, 4 * 49)
    assert abs(rejected.mean() - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 4000)
    some = [*np.flatnonzero(rejected)[:30], *np.flatnonzero(~rejected)[:30]]
    assert [tukey_hsd(scores[i]).p_values.min() <= 0.05 for i in some] == [True] * 30 + [False] * 30


def test_two_systems_are_the_paired_t_test():
    scores = systems(2, 40, seed=3)
    result = tukey_hsd(scores)
    assert result.p_values[0, 1] == pytest.approx(stats.ttest_rel(*scores).pvalue)
    assert result.differences[0, 1] == pytest.approx(scores[1].mean() - scores[0].mean())


def test_randomized_equals_the_enumeration_of_all_permutations():
    scores = np.array([[0.1, 0.4, 0.3, 0.1], [0.2, 0.4, 0.6, 0.0], [0.5, 0.6, 0.6, 0.2]])
    deals = itertools.product(itertools.permutations(range(3)), repeat=4)
    ranges = [np.ptp([sum(scores[deal[q][s], q] for q in range(4)) for s in range(3)]) for deal in deals]
    totals = scores.sum(axis=1)
    result = tukey_hsd(scores, randomized=True, rng=0, resamples=40_000)
    for i, j in itertools.combinations(range(3), 2):
        exact = np.mean(np.array(ranges) >= abs(totals[i] - totals[j]) - 1e-9)
        assert abs(result.p_values[i, j] - exact) < 5 * np.sqrt(exact * (1 - exact) / 40_000) + 1 / 40_000
    assert (result.method, result.resamples) == ("randomized tukey", 40_000)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_same_deals_for_all_measures(k):
    measures = [systems(k, 20, seed=s, spread=0.01) for s in (8, 9)]
    together = range_p(measures, np.random.default_rng(1), 300)
    alone = [tukey_hsd(scores, randomized=True, rng=1, resamples=300).p_values for scores in measures]
    assert np.array_equal(together, alone)


def test_dealing_from_tables_and_one_by_one_agree(monkeypatch):
    """Each against complete enumeration: five systems, two queries."""
    scores = np.array([[0.0, 0.1, 0.4, 0.5, 0.9], [0.2, 0.3, 0.3, 0.8, 0.6]]).T
    orders = list(itertools.permutations(range(5)))
    ranges = np.array([np.ptp(scores[:, 0] + scores[list(order), 1]) for order in orders])
    totals = scores.sum(axis=1)
    exact = (ranges[:, None, None] >= np.abs(totals - totals[:, None]) - 1e-9).mean(axis=0)
    for largest in (6, 1):
        monkeypatch.setattr(randomization, "ALL_ORDERS", largest)
        found = range_p([scores], np.random.default_rng(0), 20_000)[0]
        assert (np.abs(found - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000).all()


def test_randomized_of_two_systems_is_the_randomization_test():
    scores = systems(2, 18, seed=4)
    exact = paired_test(*scores).p_value
    p = tukey_hsd(scores, randomized=True, rng=1, resamples=20_000).p_values[0, 1]
    assert abs(p - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000


def test_randomized_agrees_with_tukey_where_its_assumptions_hold():
    scores = np.random.default_rng(5).normal(0, 1, (4, 200)) + np.linspace(0, 0.25, 4)[:, None]
    p = tukey_hsd(scores).p_values
    error = 5 * np.sqrt(p * (1 - p) / 10_000) + 0.01
    assert (np.abs(tukey_hsd(scores, randomized=True, rng=0).p_values - p) < error).all()


def test_a_seed_repeats_the_p_values():
    scores = systems(3, 20, seed=6)
    first, again, other = (tukey_hsd(scores, randomized=True, rng=r, resamples=500) for r in (1, 1, 2))
    assert (first.p_values == again.p_values).all()
    assert (first.p_values != other.p_values).any()


# of each number of systems and degrees of freedom, the 5% point as printed in tables of the studentised range
POINTS = {(2, 5): 3.635, (3, 10): 3.877, (5, 20): 4.232, (10, 60): 4.646, (20, 120): 5.126}


@pytest.mark.parametrize(("k", "freedom"), POINTS)
def test_the_studentised_range_equals_its_tables(k, freedom):
    assert studentized_range_tail(np.array([POINTS[k, freedom]]), k, freedom) == pytest.approx(0.05, abs=5e-5)


@pytest.mark.parametrize("k", [2, 5, 300])
@pytest.mark.parametrize("freedom", [1, 4, 196, 90_000, 1_000_000])
def test_the_studentised_range_equals_scipys(k, freedom):
    q = np.array([0, 0.5, 4, 8, 50])
    expected = stats.studentized_range.sf(q, k, freedom)
    assert studentized_range_tail(q, k, freedom) == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_many_pairs_are_interpolated():
    q = np.linspace(0, 12, 2001)
    for k, freedom in ((3, 4), (1000, 49_000)):
        direct = studentized_range_tail(q, k, freedom)
        assert tukey._range_tail(q, k, freedom) == pytest.approx(direct, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"paired": False}, {"randomized": True, "rng": 0, "resamples": 100}])
def test_a_thousand_systems(options):
    result = tukey_hsd(systems(1000, 20, seed=7, spread=0.001), **options)
    assert result.p_values.shape == (1000, 1000)
    assert result.p_values[0, -1] < 0.02
    assert result.p_values[0, 1] > 0.99


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=4)
    ),
    st.booleans(),
)
def test_p_values_are_symmetric_shares_and_follow_the_differences(scores, randomized):
    result = tukey_hsd(np.array(scores) / 5, randomized=randomized, rng=0, resamples=50)
    p, gaps = result.p_values, np.abs(result.differences)
    assert (p == p.T).all()
    assert (np.diag(p) == 1).all()
    assert ((p >= 0) & (p <= 1)).all()
    order = gaps.ravel().argsort()
    assert (np.diff(p.ravel()[order]) <= 1e-9).all()


@pytest.mark.parametrize("options", [{}, {"paired": False}, {"randomized": True}])
@pytest.mark.parametrize(
    "scores",
    [np.zeros((3, 10)), np.full((4, 1), 0.3), np.full((2, 5), 1 / 3), [[0.5]], [[0.1], [0.9]], [[0.1, 0.2]]],
    ids=["zeros", "equal, one query", "constant", "one score", "one query", "one system"],
)
def test_little_data_proves_nothing(scores, options):
    assert (tukey_hsd(scores, rng=0, **options).p_values == 1).all()


def test_without_variation_the_randomised_form_answers():
    easy_and_hard = np.linspace(0, 0.7, 8)
    result = tukey_hsd([easy_and_hard, easy_and_hard + 0.1, easy_and_hard + 0.3], rng=0)
    assert result.method == "randomized tukey"
    assert 0 < result.p_values[0, 2] < 0.001


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([[0.1, 0.2], [0.1]], {}, r"scores\[0\] has 2 queries, scores\[1\] has 1"),
        ([[0.1, 0.2], [0.1, np.nan]], {}, r"scores\[1\]\[1\] is nan"),
        ([], {}, "scores is empty"),
        ([[], []], {}, "scores is empty"),
        ({"a": [0.1]}, {}, "scores is a dict"),
        ([0.1, 0.2], {}, r"scores\[0\] is a float"),
        ([[0.1, 0.2]], {"randomized": True, "paired": False}, "paired=False"),
        ([[0.1, 0.2]], {"resamples": -1}, "resamples=-1"),
    ],
)
def test_wrong_input_is_named(scores, options, message):
    with pytest.raises(rl.InputError, match=message):
        tukey_hsd(scores, **options)


def test_many_systems_with_one_mean():
    values = np.tile([[0.2, 0.8], [0.8, 0.2]], (30, 5))
    assert np.allclose(tukey_hsd(values).p_values, 1)
    values[0] += 0.1
    few = tukey_hsd(values).p_values[0]
    assert few[0] == 1
    assert np.ptp(few[1:]) == 0
