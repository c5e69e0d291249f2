"""Risk against a baseline, by the formulas of the papers."""

import math
from pathlib import Path

import numpy as np
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


def test_trisk_of_equal_systems_is_negative_so_no_page_calls_it_a_test():
    """Losses count twice: -2 is nothing unusual where neither system is better."""
    rng = np.random.default_rng(0)
    found = [stats.trisk(*rng.random((2, 100)), alpha=1) for _ in range(200)]
    assert np.mean(np.array(found) < -2) > 0.4
    page = Path(__file__).parents[2] / "docs" / "comparing.md"
    for text in (stats.trisk.__doc__, page.read_text(encoding="utf-8")):
        assert "not a test" in text
        assert "chance would" not in text
        assert "hardly chance" not in text


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
