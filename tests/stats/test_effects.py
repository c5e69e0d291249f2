"""Effect sizes and their intervals, against SciPy, statsmodels and published tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import ranklens as rl
from ranklens.stats import Bounds, effect_size, interval
from ranklens.stats.effects import _hedges_factor, cliff_deltas, effect_sizes
from ranklens.stats.inputs import differences

A = np.array([0.2, 0.4, 0.1, 0.3, 0.5, 0.0, 0.9])
B = np.array([0.3, 0.6, 0.4, 0.3, 1.0, 0.2, 0.8])


def test_the_mean_difference_has_the_interval_of_a_mean():
    effect = effect_size(A, B, level=0.9)
    assert effect.difference == pytest.approx((B - A).mean())
    assert tuple(effect.interval) == pytest.approx(tuple(interval(B - A, level=0.9)))
    assert tuple(effect.interval) == pytest.approx(tuple(stats.ttest_rel(B, A).confidence_interval(0.9)))
    assert effect_size(A, B, method="bca", rng=1).interval.method == "bca"


def test_a_difference_reaches_no_farther_than_the_measure():
    effect = effect_size([0.0, 1.0], [1.0, 0.5], bounds=Bounds(0, 1))
    assert (effect.interval.low, effect.interval.high, effect.interval.clipped) == (-1, 1, True)
    assert effect_size([0.0, 1.0], [1.0, 0.5], bounds=Bounds(0, math.inf)).interval.low < -1


def test_wins_ties_and_losses():
    effect = effect_size(A, B)
    assert (effect.wins, effect.ties, effect.losses) == (5, 1, 1)
    assert effect.probability == 5.5 / 7
    noise = effect_size([0.3, 0.5], [0.1 + 0.2, 0.5 - 1e-17])
    assert (noise.wins, noise.ties, noise.losses) == (0, 2, 0)


def test_standardised_differences():
    change = B - A
    effect = effect_size(A, B)
    assert effect.cohen_dz == pytest.approx(change.mean() / change.std(ddof=1))
    assert effect.cohen_dz == pytest.approx(stats.ttest_rel(B, A).statistic / math.sqrt(7))
    assert effect.hedges_g == pytest.approx(effect.cohen_dz * _hedges_factor(7))


@pytest.mark.parametrize(
    ("freedom", "factor"), [(2, 0.5642), (3, 0.7236), (5, 0.8408), (10, 0.9228), (50, 0.9849)]
)
def test_hedges_factor_equals_the_table_of_hedges_1981(freedom, factor):
    assert _hedges_factor(freedom + 1) == pytest.approx(factor, abs=6e-5)


@pytest.mark.parametrize("n", [2, 3, 7, 50, 2000])
@pytest.mark.parametrize("shift", [-2, 0.0, 0.1, 1])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_of_hedges_g_inverts_the_noncentral_t(n, shift, level):
    change = np.random.default_rng(n).normal(shift, 1, n)
    effect = effect_size(np.zeros(n), change, level=level)
    t = effect.cohen_dz * math.sqrt(n)
    low, high = (end / _hedges_factor(n) * math.sqrt(n) for end in effect.hedges_g_interval)
    assert stats.nct.sf(t, n - 1, low) == pytest.approx((1 - level) / 2, rel=1e-3)
    assert stats.nct.cdf(t, n - 1, high) == pytest.approx((1 - level) / 2, rel=1e-3)
    assert effect.hedges_g_interval.low <= effect.hedges_g <= effect.hedges_g_interval.high


@pytest.mark.parametrize(("wins", "losses"), [(7, 3), (10, 0), (0, 4), (1, 0), (300, 250)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_the_probability_is_wilsons(wins, losses, level):
    change = np.repeat([0.1, -0.2], [wins, losses])
    effect = effect_size(np.zeros(len(change)), change, level=level)
    expected = proportion_confint(wins, wins + losses, alpha=1 - level, method="wilson")
    assert tuple(effect.probability_interval) == pytest.approx(expected, abs=1e-12)


scores = st.integers(0, 20).map(lambda x: x / 20)
pairs = st.integers(1, 30).flatmap(lambda n: st.tuples(*[st.lists(scores, min_size=n, max_size=n)] * 2))


@given(pairs)
def test_exchanging_the_systems_turns_every_effect_around(pair):
    there, back = effect_size(*pair), effect_size(*pair[::-1])
    assert there.difference == pytest.approx(-back.difference, abs=1e-12)
    assert there.cohen_dz == pytest.approx(-back.cohen_dz, abs=1e-9)
    assert there.probability == pytest.approx(1 - back.probability)
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert there.hedges_g_interval.low == pytest.approx(-back.hedges_g_interval.high, rel=1e-3, abs=1e-6)
    assert there.probability_interval.low == pytest.approx(1 - back.probability_interval.high)
    numbers = [there.difference, there.cohen_dz, there.hedges_g, *there.hedges_g_interval, *there.interval]
    assert not np.isnan(numbers).any()
    assert 0 <= there.probability_interval.low <= there.probability <= there.probability_interval.high <= 1


def test_any_level_is_answered():
    wide = effect_size(A, B, level=1 - 1e-15)
    assert wide.hedges_g_interval.low < effect_size(A, B).hedges_g_interval.low
    assert wide.hedges_g_interval.high < math.inf
    narrow = effect_size(A, B, level=1e-12)
    assert narrow.hedges_g_interval.low == pytest.approx(narrow.hedges_g_interval.high)


def test_identical_systems():
    effect = effect_size([0.3] * 10, [0.3] * 10)
    assert (effect.difference, effect.cohen_dz, effect.hedges_g, effect.probability) == (0, 0, 0, 0.5)
    assert (effect.wins, effect.ties, effect.losses) == (0, 10, 0)
    assert tuple(effect.interval) == (0, 0)
    assert effect.probability_interval.low < 0.5 < effect.probability_interval.high


def test_one_query_could_be_anything():
    effect = effect_size([0.3], [0.5], bounds=Bounds(0, 1))
    assert effect.difference == pytest.approx(0.2)
    assert (tuple(effect.interval), effect.cohen_dz) == ((-1, 1), 0)
    assert tuple(effect.hedges_g_interval) == (-math.inf, math.inf)
    assert effect.probability_interval.low < 0.25


@pytest.mark.parametrize("sign", [1, -1])
def test_constant_differences_are_infinitely_many_deviations(sign):
    a = np.array([0.3, 0.4, 0.6])
    effect = effect_size(a, a + sign * 0.1)
    assert (effect.cohen_dz, effect.hedges_g) == (sign * math.inf, sign * math.inf)
    assert tuple(effect.hedges_g_interval) == (sign * math.inf, sign * math.inf)
    assert effect.interval.low < sign * 0.1 < effect.interval.high  # three queries say little, however alike
    assert effect.interval.method == "adjusted t"


def test_wrong_input_is_named():
    with pytest.raises(rl.InputError, match="a has 2 queries, b has 1"):
        effect_size([0.1, 0.2], [0.1])
    with pytest.raises(rl.InputError, match=r"b\[0\] is nan"):
        effect_size([0.1], [math.nan])
    with pytest.raises(rl.InputError, match="level=2"):
        effect_size([0.1], [0.2], level=2)


@pytest.mark.parametrize("n", [2, 3, 10, 250, 20_000])
def test_many_intervals_of_hedges_g_are_interpolated(n):
    """As exact as the root search itself, also for t far beyond what is seen."""
    t = np.concatenate([np.linspace(-6, 6, 400), [-300.0, -30.0, 0.0, 40.0, 1000.0]])
    dz = np.append(t / n**0.5, [np.inf, -np.inf])
    one = effect_sizes(np.random.default_rng(0).normal(0.1, 1, (1, n)), level=0.95, bounds=Bounds())
    low, high = replace(one, cohen_dz=dz).hedges_g_ends
    exact = [replace(one, cohen_dz=np.array([x])).hedges_g_ends for x in dz[::20]]
    np.testing.assert_allclose(low[::20], [ends[0][0] for ends in exact], rtol=1e-6, atol=1e-6 / n**0.5)
    np.testing.assert_allclose(high[::20], [ends[1][0] for ends in exact], rtol=1e-6, atol=1e-6 / n**0.5)
    assert (low[-2], high[-2], low[-1], high[-1]) == (np.inf, np.inf, -np.inf, -np.inf)


def test_many_pairs_at_once_are_each_as_one():
    values = np.round(np.random.default_rng(1).random((6, 30)), 1)
    values[1] = values[0]  # no difference
    values[2] = values[0] + 0.1  # always the same one
    changes = differences(np.repeat(values[:1], 6, axis=0), values)
    together = effect_sizes(changes, level=0.9, bounds=Bounds(0, 1.1))
    for i, row in enumerate(values):
        one = effect_size(values[0], row, level=0.9, bounds=Bounds(0, 1.1))
        assert replace(together.at(i), cliff_delta=one.cliff_delta) == one
        assert one.cliff_delta == pytest.approx(cliff_deltas(values)[0, i])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_cliffs_delta_counts_every_two_values(pairs):
    a, b = zip(*pairs, strict=True)
    counted = sum((y > x) - (y < x) for x in a for y in b) / len(a) ** 2
    assert effect_size(a, b).cliff_delta == pytest.approx(counted)
