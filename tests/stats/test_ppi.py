"""Prediction-powered means: the values of ppi-python, special cases by hand, and what simulations promise."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

import ranklens as rl
from ranklens.stats import Bounds, interval, ppi_mean
from ranklens.stats.ppi import grouped, powered

HUMAN = [1, 0, 1, 1, 0, 1, 0, 1]
ON_HUMAN = [0.9, 0.2, 0.7, 0.6, 0.4, 0.8, 0.1, 0.5]
ONLY = [0.9, 0.8, 0.3, 0.4, 0.6, 0.7, 0.2, 0.1, 0.5, 0.95, 0.85, 0.15]


@pytest.mark.parametrize(
    ("weight", "estimate", "ends"),
    [(0, 0.625, (0.28953, 0.96047)), (1, 0.6375, (0.37614, 0.89886)), (None, 0.634825, (0.374926, 0.894724))],
)
def test_values_of_ppi_python(weight, estimate, ends):
    found = ppi_mean(HUMAN, ON_HUMAN, ONLY, weight=weight, quantiles="normal")
    assert found.estimate == pytest.approx(estimate, abs=1e-6)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-5)
    if weight is None:
        assert (found.weight, found.error) == pytest.approx((0.785990, 0.132604), abs=1e-6)


def test_ppi_python_itself():
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(3)
    for _ in range(20):
        human = rng.random(25)
        on_human, only = np.clip(human + rng.normal(0, 0.2, 25), 0, 1), rng.random(200)
        found = ppi_mean(human, on_human, only, quantiles="normal")
        assert found.estimate == pytest.approx(float(ppi.ppi_mean_pointestimate(human, on_human, only)[0]))
        low, high = ppi.ppi_mean_ci(human, on_human, only, alpha=0.05)
        assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])))


def test_without_the_model_the_interval_is_students():
    found = ppi_mean(HUMAN, ON_HUMAN, ONLY, weight=0)
    assert (found.low, found.high) == pytest.approx(tuple(interval(HUMAN)))
    assert found.effective == pytest.approx(len(HUMAN))


def test_plain_prediction_powered_inference_by_hand():
    y, f, u = map(np.array, (HUMAN, ON_HUMAN, ONLY))
    error = np.sqrt((y - f).var(ddof=1) / 8 + u.var(ddof=1) / 12)
    found = ppi_mean(HUMAN, ON_HUMAN, ONLY, weight=1)
    half = scipy_stats.t.ppf(0.975, 7) * error
    assert (found.low, found.high) == pytest.approx((0.6375 - half, 0.6375 + half))
    assert found.effective == pytest.approx(y.var(ddof=1) / error**2)


def test_the_error_of_an_estimated_weight_is_that_of_a_regression_line():
    """HC3, as statsmodels has it: the variance of the line at the mean of the model's other values."""
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    f, u = (
        rng.random(30),
        rng.random(100_000),
    )  # so many that the weight is nearly the slope, and their mean is known
    y = 0.9 * f + rng.normal(0, 0.1, 30)
    found = ppi_mean(y, f, u)
    line = api.OLS(y, api.add_constant(f)).fit(cov_type="HC3")
    at = np.array([1, u.mean()])
    assert found.weight == pytest.approx(line.params[1], rel=0.1)
    assert found.error == pytest.approx(float(np.sqrt(at @ line.cov_params() @ at)), rel=0.1)


def test_a_useless_model_is_not_listened_to():
    assert ppi_mean([0, 1, 0, 1], [1, 0, 1, 0], ONLY).weight == 0
    constant = ppi_mean(HUMAN, [0.5] * 8, [0.5] * 12)
    assert (constant.weight, constant.estimate) == (0, 0.625)


def test_an_interval_never_leaves_the_range_and_never_has_no_width():
    found = ppi_mean([1] * 10, [1] * 10, [1] * 50, bounds=Bounds(0, 1))
    assert found.high == 1
    assert found.low == pytest.approx(
        rl.stats.interval([1] * 10, method="score", bounds=Bounds(0, 1)).low, abs=0.02
    )
    nearly = ppi_mean([1] * 9 + [0.9], [1] * 10, [1] * 49 + [0.5], bounds=Bounds(0, 1))
    assert 0 < nearly.low < 0.99
    assert nearly.high <= 1


def test_single_queries_are_clusters_of_one():
    alone = ppi_mean(HUMAN, ON_HUMAN, ONLY)
    labelled = ppi_mean(HUMAN, ON_HUMAN, ONLY, clusters=(range(8), range(8, 20)))
    assert labelled.estimate == pytest.approx(alone.estimate)
    assert labelled.error == pytest.approx(alone.error)


def test_clusters_that_repeat_queries_say_no_more_than_one_of_each():
    twice = [np.repeat(values, 2) for values in (HUMAN, ON_HUMAN, ONLY)]
    labels = np.repeat(range(8), 2).tolist(), np.repeat(range(8, 20), 2).tolist()
    found, once = ppi_mean(*twice, clusters=labels), ppi_mean(HUMAN, ON_HUMAN, ONLY)
    assert found.weight == pytest.approx(once.weight)
    assert (found.low, found.high) == pytest.approx((once.low, once.high), rel=0.02)
    assert found.high - found.low > 1.3 * (ppi_mean(*twice).high - ppi_mean(*twice).low)


def test_clusters_with_queries_of_both_kinds_count_what_they_share():
    rng = np.random.default_rng(1)
    means = []
    errors = []
    for _ in range(400):
        topic = rng.normal(0, 1, 20)
        human, rest = topic.repeat(2) + rng.normal(0, 0.5, 40), topic.repeat(3) + rng.normal(0, 0.5, 60)
        on_human, only = human + rng.normal(0, 0.8, 40), rest + rng.normal(0, 0.8, 60)
        groups = np.repeat(range(20), 2).tolist(), np.repeat(range(20), 3).tolist()
        found = powered(grouped(human, on_human, only, groups), 0.5)
        means.append(float(found.estimate))
        errors.append(float(found.error))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], [1], [1, 0]), "human has 1 values"),
        (([1, 0], [1], [1, 0]), "machine_on_human has 1 values"),
        (([1, 0, 1], [1, 0], [1, 0]), "human has 3 values and machine_on_human 2"),
    ],
)
def test_what_cannot_be_computed_is_refused(arguments, message):
    with pytest.raises(rl.InputError, match=message):
        ppi_mean(*arguments)
    with pytest.raises(rl.InputError, match="weight=2"):
        ppi_mean(HUMAN, ON_HUMAN, ONLY, weight=2)
    with pytest.raises(rl.InputError, match="one cluster"):
        ppi_mean(HUMAN, ON_HUMAN, ONLY, clusters=([0] * 8, range(12)))


def test_intervals_hold_the_truth_with_20_judged_queries_and_a_biased_model():
    """A short form of ``benchmarks/few_labels.py``; of 1,000 samples, chance alone leaves out 2 standard errors."""
    rng = np.random.default_rng(7)
    latent = rng.normal(0, 1, (1000, 20)), rng.normal(0, 1, (1000, 300))
    human = np.clip(np.exp(-1.5 + 0.9 * latent[0]), 0, 1)
    judged = [np.clip(np.exp(-1.0 + 0.9 * (one + rng.normal(0, 0.3, one.shape))), 0, 1) for one in latent]
    truth = np.clip(np.exp(-1.5 + 0.9 * rng.normal(0, 1, 1_000_000)), 0, 1).mean()
    low, high = powered(grouped(human, *judged), reach=1.0).ends(0.95)
    assert ((low <= truth) & (truth <= high)).mean() >= 0.93
    assert powered(grouped(human, *judged)).gain.mean() > 2  # the model's labels help
