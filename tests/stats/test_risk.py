"""Risk against a baseline, by the formulas of the papers."""

import math

import pytest
from scipy import stats as sp

from ranklens import stats

A, B = [0.5, 0.2, 0.9, 0.4], [0.4, 0.4, 0.6, 0.4]


def test_urisk_by_hand():
    """Gains .1, -.2, .3, 0; with alpha 5 the loss counts six times."""
    assert stats.urisk(A, B, alpha=0) == pytest.approx(0.05)
    assert stats.urisk(A, B, alpha=5) == pytest.approx((0.1 - 1.2 + 0.3) / 4)


def test_trisk_is_a_t_statistic():
    weighted = [0.1, -0.4, 0.3, 0.0]
    assert stats.trisk(A, B, alpha=1) == pytest.approx(sp.ttest_1samp(weighted, 0).statistic)


def test_georisk_by_its_formula():
    systems = {"a": A, "b": B}
    total = sum(A) + sum(B)
    z = 0.0
    for x, y in zip(A, B, strict=True):
        expected = sum(A) * (x + y) / total
        one = (x - expected) / math.sqrt(expected)
        z += one if one > 0 else 2 * one
    assert stats.georisk(systems)["a"] == pytest.approx(math.sqrt(sum(A) / 4 * sp.norm.cdf(z / 4)))


def test_wrong_values_get_one_clear_error():
    with pytest.raises(ValueError, match="alpha=-1"):
        stats.urisk(A, B, alpha=-1)
    with pytest.raises(ValueError, match="two queries"):
        stats.trisk([1.0], [0.5])
    with pytest.raises(ValueError, match="0 or more"):
        stats.georisk({"a": [-1.0]})
