"""Queries that belong together, against enumeration, a published table and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ranklens.errors import InputError
from ranklens.stats import (
    Bounds,
    Clusters,
    cluster_interval,
    effective_queries,
    interval,
    intraclass_correlation,
)
from ranklens.stats.clusters import cluster_ends

labelled = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), min_size=3, max_size=40)


def leaving_one_out(values, labels):
    names = sorted(set(labels))
    means = [values[labels != name].mean() for name in names]
    return np.sqrt((len(names) - 1) / len(names) * ((np.array(means) - values.mean()) ** 2).sum())


@given(labelled)
def test_the_error_is_the_jackknife_over_clusters(rows):
    labels, values = np.array([row[0] for row in rows]), np.array([row[1] / 20 for row in rows])
    clusters = Clusters.of(labels.tolist())
    if len(clusters) > 1:
        assert clusters.error(values) == pytest.approx(leaving_one_out(values, labels), abs=1e-12)


def test_clusters_of_one_query_are_independent_queries():
    values = np.random.default_rng(0).random(30)
    single = Clusters.of(range(30))
    assert single.freedom == pytest.approx(29)
    assert [*cluster_interval(values, single)] == pytest.approx([*interval(values)])
    assert effective_queries(values, single) == 30


def test_equal_clusters_are_as_good_as_their_means():
    values = np.random.default_rng(1).random(60)
    labels = np.repeat(np.arange(12), 5)
    assert Clusters.of(labels.tolist()).freedom == pytest.approx(11)
    means = values.reshape(12, 5).mean(axis=1)
    expected = stats.t.interval(0.95, 11, means.mean(), stats.sem(means))
    assert [*cluster_interval(values, labels.tolist())] == pytest.approx(expected)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12))
def test_the_degrees_of_freedom_are_bell_and_mccaffreys(sizes):
    """From the whole matrix: the jackknife's residuals when each cluster says one thing."""
    size, n = np.array(sizes, float), sum(sizes)
    residuals = np.diag(1 / (n - size)) @ (np.outer(size, np.ones(len(size))) / n - np.eye(len(size)))
    covariance = residuals @ np.diag(size**2) @ residuals.T
    expected = np.trace(covariance) ** 2 / (covariance**2).sum()
    labels = np.repeat(np.arange(len(sizes)), sizes).tolist()
    assert Clusters.of(labels).freedom == pytest.approx(np.clip(expected, 1, len(sizes) - 1))


def test_the_correlation_of_shrout_and_fleiss():
    """Their table of six targets and four judges (1979), for which they give ICC(1, 1) = 0.17."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    labels = np.repeat(np.arange(6), 4).tolist()
    assert intraclass_correlation(np.ravel(ratings), Clusters.of(labels)) == pytest.approx(0.17, abs=0.005)


def test_copies_count_once():
    values = np.repeat(np.random.default_rng(2).random(10), 10)
    clusters = Clusters.of(np.repeat(np.arange(10), 10).tolist())
    assert intraclass_correlation(values, clusters) == pytest.approx(1)
    assert effective_queries(values, clusters) == pytest.approx(10)


@given(labelled)
def test_shares_have_the_mean_of_the_queries(rows):
    clusters, values = Clusters.of([row[0] for row in rows]), np.array([row[1] / 20 for row in rows])
    assert clusters.shares(values).mean() == pytest.approx(values.mean())
    assert clusters.shares(np.stack([values, 2 * values]))[1] == pytest.approx(2 * clusters.shares(values))
    assert 0 < effective_queries(values, clusters) <= clusters.n + 1e-9


def test_one_cluster_says_nothing():
    assert [*cluster_interval([0.2, 0.4], ["a", "a"], bounds=Bounds(0, 1))] == [0, 1]
    assert np.isnan(intraclass_correlation([0.2, 0.4], Clusters.of(["a", "a"])))


def test_clusters_that_do_not_vary_get_the_interval_of_their_means():
    found = cluster_interval(np.ones(8), list("aabbccdd"), bounds=Bounds(0, 1))
    assert found == interval(np.ones(4), bounds=Bounds(0, 1))


def test_a_label_is_needed_for_every_query():
    with pytest.raises(InputError, match="3 values and 2 labels"):
        cluster_interval([0.1, 0.2, 0.3], ["a", "b"])


def test_many_zeros_are_covered():
    """A mean near the end of the range, where t itself covers 0.91."""
    rng, held = np.random.default_rng(4), 0
    labels = np.repeat(np.arange(20), 10)

    def draw(topics):
        return (
            np.clip(0.1 + 0.35 * (rng.normal(0, 1.2, topics) + rng.normal(0, 0.3, (10, topics))), 0, 1).T
            ** 1.25
        )

    truth = draw(400_000).mean()
    for _ in range(1000):
        low, high = cluster_interval(draw(20).ravel(), Clusters.of(labels.tolist()), bounds=Bounds(0, 1))
        held += low <= truth <= high
    assert held >= 930


@pytest.mark.parametrize("uneven", [False, True])
def test_twenty_clusters_are_covered(uneven):
    rng, held = np.random.default_rng(3), 0
    for _ in range(1000):
        sizes = rng.integers(1, 20, 20) if uneven else np.full(20, 10)
        labels = np.repeat(np.arange(20), sizes)
        values = rng.normal(0, 1, 20)[labels] + rng.normal(0, 0.5, len(labels))
        low, high, _ = cluster_ends(values, Clusters.of(labels.tolist()), 0.95, Bounds())
        held += low <= 0 <= high
    assert held >= 930
