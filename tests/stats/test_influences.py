"""One query left out at a time, against leaving it out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.stats import Clusters, influence, paired_test
from ranklens.stats.leave_one_out import mean_without

scores = st.integers(0, 10).map(lambda step: step / 10)
samples = st.lists(st.tuples(scores, scores), min_size=4, max_size=18)


@given(samples, st.sampled_from(["randomization", "wilcoxon", "sign"]))
def test_it_is_what_leaving_the_query_out_gives(rows, method):
    a, b = map(np.array, zip(*rows, strict=True))
    found = influence(a, b, method=method)
    assert found.p_value == pytest.approx(paired_test(a, b, method=method).p_value)
    for i in range(len(a)):
        rest = np.delete(a, i), np.delete(b, i)
        assert found.difference_without[i] == pytest.approx((rest[1] - rest[0]).mean())
        assert found.p_without[i] == pytest.approx(paired_test(*rest, method=method).p_value)


def test_t_in_closed_form():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 40))
    found = influence(a, b)
    assert found.p_value == pytest.approx(paired_test(a, b, method="t").p_value)
    expected = [paired_test(np.delete(a, i), np.delete(b, i), method="t").p_value for i in range(40)]
    assert found.p_without == pytest.approx(expected)


def test_drawn_signs_agree_with_the_test():
    rng = np.random.default_rng(1)
    a = rng.random(60)
    b = a + rng.normal(0.03, 0.1, 60)
    found = influence(a, b, method="randomization", resamples=100_000)
    expected = [paired_test(np.delete(a, i), np.delete(b, i), rng=i).p_value for i in (0, 30, 59)]
    assert found.p_without[[0, 30, 59]] == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("method", ["t", "randomization"])
def test_a_query_leaves_its_cluster(method):
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 12))
    labels = np.array([0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 5, 5])
    found = influence(a, b, method=method, clusters=Clusters.of(labels.tolist()))
    for i in range(12):
        rest = Clusters.of(np.delete(labels, i).tolist())
        totals = rest.sums(np.stack([np.delete(a, i), np.delete(b, i)]))
        assert found.p_without[i] == pytest.approx(paired_test(*totals, method=method).p_value)


def test_the_loudest_queries_come_first():
    found = influence(np.zeros(5), np.array([0.0, 0.1, 0.9, -0.2, 0.1]))
    assert found.order[:2].tolist() == [2, 3]
    loudest, rest = mean_without(np.array([-0.9, 0.1, -0.5, 0.2]))
    assert (loudest.tolist(), rest) == ([0, 2], pytest.approx(0.15))


def test_two_queries_rest_on_each_other():
    assert influence([0.1, 0.2], [0.3, 0.2]).p_without.tolist() == [1, 1]
