"""Two one-sided tests against a margin: statsmodels' where they apply, and by simulation where they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from statsmodels.stats.weightstats import ttost_paired

from ranklens.errors import InputError
from ranklens.stats import DECISIONS, Margin, margin_test
from ranklens.stats.margins import careful_p, decide, student_p

scores = st.integers(0, 20).map(lambda step: step / 20)


@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.floats(0.001, 0.5))
def test_t_is_that_of_statsmodels(seed, n, margin):
    rng = np.random.default_rng(seed)
    a = rng.random(n)
    b = a + rng.normal(0.01, 0.1, n)
    larger, (_, low, _), (_, high, _) = ttost_paired(b, a, -margin, margin)
    found = margin_test(a, b, margin, method="t")
    assert found.p_no_worse == pytest.approx(low, rel=1e-6, abs=1e-12)
    assert found.p_no_better == pytest.approx(high, rel=1e-6, abs=1e-12)
    assert found.p_equivalent == pytest.approx(larger, rel=1e-6, abs=1e-12)


def test_a_relative_margin_is_a_share_of_the_first_mean():
    """The test of b - 0.98 a, which knows that the mean of a is uncertain, too."""
    rng = np.random.default_rng(0)
    a = rng.random(40)
    b = a + rng.normal(0, 0.02, 40)
    _, (_, low, _), _ = ttost_paired(b, 0.98 * a, 0, 1)
    _, _, (_, high, _) = ttost_paired(b, 1.02 * a, -1, 0)
    found = margin_test(a, b, "2%", method="t")
    assert found.p_no_worse == pytest.approx(low)
    assert found.p_no_better == pytest.approx(high)


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=40), st.floats(0.005, 0.4))
def test_the_careful_test_is_never_bolder_than_t(pairs, margin):
    a, b = map(np.array, zip(*pairs, strict=True))
    careful, plain = margin_test(a, b, margin), margin_test(a, b, margin, method="t")
    assert careful.p_no_worse >= plain.p_no_worse
    assert careful.p_no_better >= plain.p_no_better
    turned = margin_test(b, a, margin)
    assert turned.p_no_worse == pytest.approx(careful.p_no_better)


@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=40), st.floats(0.005, 0.4))
def test_a_wider_margin_is_never_harder_to_keep(pairs, margin):
    a, b = map(np.array, zip(*pairs, strict=True))
    assert margin_test(a, b, 1.5 * margin).p_no_worse <= margin_test(a, b, margin).p_no_worse + 1e-9


def test_eight_ties_do_not_show_that_all_are_ties():
    ties = np.full(8, 0.5)
    assert margin_test(ties, ties, 0.05, method="t").p_no_worse == 0
    assert margin_test(ties, ties, 0.05).p_no_worse > 0.3
    many = np.full(1000, 0.5)
    assert margin_test(many, many, 0.05).p_equivalent < 0.001


@pytest.mark.parametrize("size", [0.25, 1.0])
@pytest.mark.parametrize("losses", [1, 2, 3, 5, 10, 11, 20, 40])
def test_equal_losses_are_bounded_like_their_number(losses, size):
    """Clopper and Pearson's bound is exact. Ours is not below it, above it by a twentieth at most, and grows with every loss."""
    change = -size * (np.arange(200) < losses)
    exact = size * beta.ppf(0.95, losses + 1, 200 - losses)
    assert careful_p(change, np.full(200, 0.995 * exact)) > 0.05
    assert careful_p(change, np.full(200, 1.06 * exact)) < 0.05


@pytest.mark.parametrize("size", ["equal", "of all sizes"])
@pytest.mark.parametrize("expected", [5, 10, 20])
def test_rare_losses_as_large_as_the_margin_pass_one_time_in_twenty_or_less(expected, size):
    rng = np.random.default_rng(expected)
    lost = rng.random((10_000, 200)) < expected / 200
    change = -np.where(lost, 1.0 if size == "equal" else rng.random(lost.shape), 0.0)
    margin = expected / 200 / (1 if size == "equal" else 2)
    passes = careful_p(change, np.full(200, margin)) <= 0.05
    assert passes[change.any(axis=1)].mean() <= (0.053 if (expected, size) == (5, "of all sizes") else 0.05)


@pytest.mark.parametrize(("size", "often"), [("equal", 0.7), ("of all sizes", 0.5)])
def test_rare_losses_that_are_half_of_the_margin_mostly_pass(size, often):
    rng = np.random.default_rng(1)
    lost = rng.random((10_000, 200)) < 10 / 200
    change = -np.where(lost, 1.0 if size == "equal" else rng.random(lost.shape), 0.0)
    margin = 20 / 200 / (1 if size == "equal" else 2)
    assert (careful_p(change, np.full(200, margin)) <= 0.05).mean() >= often


def test_rows_are_tested_each_for_itself():
    rng = np.random.default_rng(1)
    changes = rng.normal(0, 0.1, (5, 30))
    changes[2] = 0
    for one_sided in (careful_p, student_p):
        together = one_sided(changes, np.full(30, 0.04))
        assert together == pytest.approx([float(one_sided(row, np.full(30, 0.04))) for row in changes])


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_an_inferior_system_passes_one_time_in_twenty_or_less(share):
    """It loses as much as the margin allows: a few queries entirely, which plain t tests let pass far too often."""
    rng = np.random.default_rng(2)
    changes = -(rng.random((20_000, 40)) < share).astype(float)
    reach = np.full(40, share)
    assert (careful_p(changes, reach) <= 0.05).mean() <= 0.05
    assert (student_p(changes, reach) <= 0.05).mean() > 0.07


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (0.01, 0.05, "better"),
        (-0.005, 0.05, "no worse"),
        (-0.005, 0.005, "equivalent"),
        (0.001, 0.005, "equivalent"),
        (-0.005, -0.001, "equivalent"),
        (-0.05, -0.001, "worse"),
        (-0.05, 0.05, "undecided"),
        (-0.05, 0.005, "undecided"),
    ],
)
def test_what_an_interval_decides_with_a_margin_of_a_hundredth(low, high, decision):
    no_worse, no_better = np.array([low > -0.01]), np.array([high < 0.01])
    significant, gain = np.array([low > 0 or high < 0]), np.array([(low + high) / 2])
    assert decide(no_worse, no_worse & no_better, significant, gain) == [decision]
    assert decision in DECISIONS


@pytest.mark.parametrize("margin", [0, -0.1, "x", "0%", "150%", None, float("nan"), True, "", float("inf")])
def test_a_margin_that_is_none_is_refused(margin):
    with pytest.raises(InputError, match=r"margin=.* is not allowed: it must be a number above 0"):
        Margin.of(margin)


def test_a_margin_may_be_written_as_text():
    assert Margin.of("0.02") == Margin.of(0.02) == Margin(0.02)
    assert Margin.of(" 2 %".replace(" %", "%")) == Margin(0.02, relative=True)
