"""Intervals for those who peek: they hold at every look."""

import numpy as np
import pytest

from ranklens.errors import InputError
from ranklens.stats import confidence_sequence, interval


def capital(values, mean, alpha):
    """The betting game for one candidate mean, as Waudby-Smith and Ramdas write it (2024, theorem 3 and equation 26)."""
    up = down = 1.0
    seen, squares, variance = 0.5, 0.25, 0.25
    for t, value in enumerate(values, 1):
        bet = np.sqrt(2 * np.log(2 / alpha) / (variance * t * np.log(t + 1)))
        up *= 1 + min(bet, 0.5 / mean) * (value - mean)
        down *= 1 - min(bet, 0.5 / (1 - mean)) * (value - mean)
        seen += value
        squares += (value - seen / (t + 1)) ** 2
        variance = squares / (t + 1)
        yield max(up, down) / 2


def test_it_is_the_game_as_published():
    values = np.random.default_rng(0).beta(2, 5, 60)
    found = confidence_sequence(values)
    for mean in np.arange(1, 100) / 100:
        rich = np.array([*capital(values, mean, 0.05)]) >= 1 / 0.05
        out = np.maximum.accumulate(rich)
        outside = (mean < found.low - 1e-9) | (mean > found.high + 1e-9)
        assert (out >= outside).all()  # what is outside was excluded; the grid may keep a neighbour
        near = (mean < found.low + 0.0021) | (mean > found.high - 0.0021)
        assert (near | ~out).all()


@pytest.mark.parametrize("p", [0.02, 0.3, 0.98])
def test_all_looks_hold_at_once(p):
    rng, missed = np.random.default_rng(1), 0
    for _ in range(300):
        found = confidence_sequence((rng.random(200) < p).astype(float))
        missed += bool(((found.low > p) | (found.high < p)).any())
    assert missed <= 0.05 * 300


def test_peeking_at_ordinary_intervals_does_not():
    rng, missed = np.random.default_rng(2), 0
    for _ in range(300):
        values = rng.random(200)
        ends = [interval(values[:n]) for n in range(5, 201, 5)]
        missed += any(not end.low <= 0.5 <= end.high for end in ends)
    assert missed > 0.2 * 300


def test_it_only_ever_narrows_and_ends_near_the_mean():
    values = np.random.default_rng(3).uniform(-0.2, 0.4, 3000)
    found = confidence_sequence(values, bounds=(-1, 1))
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()
    assert found.last.low < 0.1 < found.last.high
    assert found.last.high - found.last.low < 0.05
    assert found.first_excluding(0) < 500
    assert found.first_excluding(0.1) is None


def test_values_outside_the_bounds_are_refused():
    with pytest.raises(InputError, match=r"values\[1\] is 1.5, outside the bounds from 0 to 1: pass bounds"):
        confidence_sequence([0.1, 1.5])


def test_one_value():
    found = confidence_sequence([0.7])
    assert (len(found), [*found.last]) == (1, [0, 1])
