"""Corrections for many tests, against statsmodels, SciPy and the papers' own arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

import ranklens as rl
from ranklens.stats import CORRECTIONS, adjust

THEIRS = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.05]), min_size=1, max_size=30)


@settings(max_examples=40)  # theirs is slow
@given(p_values, st.sampled_from(sorted(THEIRS)))
def test_equals_statsmodels(p, method):
    assert adjust(p, method=method) == pytest.approx(multipletests(p, method=THEIRS[method])[1], abs=1e-15)


@given(p_values, st.sampled_from(["bh", "by"]))
def test_equals_scipy(p, method):
    assert adjust(p, method=method) == pytest.approx(false_discovery_control(p, method=method), abs=1e-15)


def test_none_changes_nothing_and_gives_a_copy():
    p = np.array([0.2, 0.1])
    adjusted = adjust(p, method="none")
    adjusted[0] = 1
    assert p.tolist() == [0.2, 0.1]


def test_worked_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjust(p, method="bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # 3 x 0.01, then 2 x 0.03 for both
    assert adjust(p, method="holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust(p, method="hochberg") == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert adjust(p, method="bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjust(p, method="by") == pytest.approx(
        np.array([0.02, 0.04, 0.04, 0.02]) * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    )


@given(p_values, st.sampled_from(CORRECTIONS), st.randoms(use_true_random=False))
def test_adjusted_values_keep_their_order_and_never_shrink(p, method, random):
    p = np.array(p)
    adjusted = adjust(p, method=method)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[p.argsort()]) >= 0).all()
    shuffled = random.sample(range(len(p)), len(p))
    assert adjust(p[shuffled], method=method).tolist() == adjusted[shuffled].tolist()


def test_one_and_no_test():
    for method in CORRECTIONS:
        assert adjust([0.03], method=method).tolist() == [0.03]
        assert adjust([], method=method).tolist() == []


@pytest.mark.parametrize(
    ("p", "method", "message"),
    [
        ([0.1, 1.2], "holm", r"p_values\[1\] is 1.2"),
        ([-0.1], "bh", r"p_values\[0\] is -0.1"),
        ([0.1, np.nan], "holm", r"p_values\[1\] is nan"),
        ([0.1], "holms", "did you mean 'holm'"),
        ([0.1], "fdr", "choose from 'bonferroni', 'holm'"),
    ],
)
def test_wrong_input_is_named(p, method, message):
    with pytest.raises(rl.InputError, match=message):
        adjust(p, method=method)
