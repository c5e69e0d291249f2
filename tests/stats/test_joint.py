"""Intervals that hold together: they agree with their tests, are narrower than Bonferroni's, and hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ranklens.errors import InputError
from ranklens.stats import simultaneous


def pairs(systems):
    return np.triu_indices(systems, 1)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(4, 60), st.sampled_from([0.9, 0.95, 0.99]))
def test_an_interval_excludes_0_exactly_if_its_test_rejects(seed, systems, queries, level):
    rng = np.random.default_rng(seed)
    scores = rng.random((systems, queries)) + 0.2 * np.arange(systems)[:, None]
    found = simultaneous(scores, *pairs(systems), level=level, rng=0, resamples=999)
    excludes = (found.low > 0) | (found.high < 0)
    assert (excludes == (found.adjusted_p <= 1 - level + 1e-12)).all()


def test_one_pair_needs_no_correction():
    scores = np.random.default_rng(0).uniform(0, 1, (2, 200))
    found = simultaneous(scores, *pairs(2), rng=0, resamples=20_000)
    low, high = stats.t.interval(0.95, 199, found.difference[0], stats.sem(scores[1] - scores[0]))
    assert [found.low[0], found.high[0]] == pytest.approx([low, high], abs=0.004)
    assert found.adjusted_p[0] == pytest.approx(stats.ttest_rel(*scores).pvalue, abs=0.01)


def test_the_critical_value_is_tukeys_where_tukey_is_right():
    """All pairs of equally varying systems: the studentised range over the root of 2."""
    scores = np.random.default_rng(1).normal(0, 1, (5, 2000))
    found = simultaneous(scores, *pairs(5), rng=0, resamples=20_000)
    assert found.critical == pytest.approx(stats.studentized_range.ppf(0.95, 5, 1e6) / 2**0.5, abs=0.04)
    assert found.critical < stats.norm.ppf(1 - 0.025 / 10)


def test_more_parts_need_a_wider_interval():
    scores = np.random.default_rng(2).random((3, 30))
    one, three = (simultaneous(scores, *pairs(3), rng=0, parts=parts) for parts in (1, 3))
    assert three.critical > one.critical
    assert three.adjusted_p == pytest.approx(np.minimum(3 * one.adjusted_p, 1))


def test_all_hold_at_once_nineteen_times_in_twenty():
    rng, held = np.random.default_rng(3), 0
    gaps = np.array([0, 0.5, 0.1, 0.3])
    first, second = pairs(4)
    for _ in range(600):
        scores = gaps[:, None] + rng.normal(0, 1, 30) + rng.normal(0, 0.5, (4, 30))
        found = simultaneous(scores, first, second, rng=rng, resamples=999)
        truth = gaps[second] - gaps[first]
        held += ((found.low <= truth) & (truth <= found.high)).all()
    assert held / 600 >= 0.93


def test_systems_that_do_not_differ_and_systems_that_always_differ():
    """No interval is without width: eight equal differences do not say that the ninth would be the same."""
    scores = np.array([[0.5] * 8, [0.5] * 8, [0.6] * 8])
    found = simultaneous(scores, *pairs(3), rng=0, reach=1.0)
    assert found.adjusted_p[0] == 1
    assert found.adjusted_p[1] == found.adjusted_p[2] > 2 / 2**8
    assert (found.high - found.low > 0.05).all()
    unlimited = simultaneous(scores[:2], *pairs(2), rng=0)
    assert (unlimited.low[0], unlimited.high[0]) == (
        -np.inf,
        np.inf,
    )  # nothing is known of how large a difference may be


def test_differences_that_are_all_the_same_have_an_interval():
    a = np.array([0.2, 0.5, 0.9, 0.4])
    found = simultaneous(np.stack([a, a + 0.1]), *pairs(2), rng=0, reach=1.0)
    assert found.low[0] < 0
    assert found.high[0] > 0.1
    assert found.adjusted_p[0] > 0.05


def test_no_interval_is_beyond_the_range():
    scores = np.array([[0, 0, 0, 1, 0.0], [1, 1, 1, 1, 0.2], [0, 0, 1, 0, 0]])
    found = simultaneous(scores, *pairs(3), rng=0, reach=1.0)
    assert (found.low >= -1).all()
    assert (found.high <= 1).all()


SHAPES = {
    "Success, p = 0.98": lambda latent: (latent > -2.507) * 1.0,
    "many zeros": lambda latent: np.clip(0.35 * (latent - 1.3), 0, 1),
    "AP-like, mean 0.05": lambda latent: np.clip(np.exp(-3.9 + 1.1 * latent), 0, 1),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_they_hold_with_25_queries_whose_values_are_near_an_end(shape):
    rng, seen, held = np.random.default_rng(5), SHAPES[shape], 0
    gaps, (first, second) = np.array([0, 0.25, 0.5])[:, None], pairs(3)
    means = seen(rng.normal(0, 1, 400_000) + rng.normal(0, 0.7, (3, 400_000)) + gaps).mean(axis=1)
    truth = means[second] - means[first]
    for _ in range(400):
        scores = seen(rng.normal(0, 1, 25) + rng.normal(0, 0.7, (3, 25)) + gaps)
        found = simultaneous(scores, first, second, rng=rng, resamples=499, reach=1.0)
        assert (found.low < found.high).all()
        held += ((found.low <= truth) & (truth <= found.high)).all()
    assert held / 400 >= 0.93


def test_one_query_is_not_enough():
    with pytest.raises(InputError, match="at least two queries"):
        simultaneous(np.array([[0.1], [0.2]]), *pairs(2))
