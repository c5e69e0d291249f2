"""Intervals of a mean, against SciPy, distributions worked out by hand, and what must hold of any interval."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import stdtrit

import ranklens as rl
from ranklens.stats import INTERVALS, Bounds, interval
from ranklens.stats.student import t_quantile

SKEWED = np.random.default_rng(5).beta(0.4, 1.2, 60) * (np.random.default_rng(6).random(60) > 0.3)
values = st.lists(st.floats(0, 1), min_size=2, max_size=30)
twentieths = st.lists(st.integers(0, 20).map(lambda x: x / 20), min_size=2, max_size=30)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_student_equals_scipy(level):
    expected = stats.t.interval(level, len(SKEWED) - 1, loc=SKEWED.mean(), scale=stats.sem(SKEWED))
    assert tuple(interval(SKEWED, level=level)) == pytest.approx(expected, rel=1e-12)


def test_a_quantile_of_student_known_by_heart():
    assert t_quantile(1, 0.75) == pytest.approx(1, rel=1e-14)  # tan(π / 4)


@pytest.mark.skipif(scipy.__version__.startswith("1.15."), reason="this SciPy gives 1.0000000000134 for it")
@given(
    freedom=st.one_of(st.integers(1, 3000), st.floats(1, 1e7)),
    probability=st.floats(0.5, 0.99999, exclude_min=True),
)
def test_quantiles_of_student_equal_scipy(freedom, probability):
    assert t_quantile(freedom, probability) == pytest.approx(stdtrit(freedom, probability), rel=1e-11)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_equals_scipy_within_its_own_error(method, level):
    resamples = 40_000
    theirs = stats.bootstrap(
        (SKEWED,), np.mean, method=method, confidence_level=level, n_resamples=resamples, random_state=1
    )
    ours = interval(SKEWED, method=method, level=level, rng=2, resamples=resamples)
    means = np.sort(theirs.bootstrap_distribution)
    for mine, end in zip(ours, theirs.confidence_interval, strict=True):
        share = (means <= end).mean()
        # the share of means below an end has a binomial error, and bca adds that of its bias, twice
        error = np.sqrt(share * (1 - share) / resamples)
        error += 2 * stats.norm.pdf(stats.norm.ppf(share)) / stats.norm.pdf(0) * np.sqrt(0.25 / resamples)
        low, high = np.quantile(means, [share - 5 * error, share + 5 * error])
        assert low <= mine <= high
    assert (ours.method, ours.level) == (method, level)


def test_percentile_equals_the_exact_distribution():
    """Means of four draws from 0, 0, 0, 1 are binomial: P(0) = 0.316, P(at most 2/4) = 0.949, P(at most 3/4) = 0.996."""
    assert tuple(interval([0, 0, 0, 1], method="percentile", rng=0)) == (0, 0.75)


def test_bca_corrects_for_skewness():
    """The BCa interval of skewed data reaches farther to the side of the long tail."""
    skewed = [0.0] * 20 + [0.1, 0.1, 0.2, 0.9, 1.0]
    percentile, bca = (interval(skewed, method=m, rng=0) for m in ("percentile", "bca"))
    assert bca.low > percentile.low
    assert bca.high > percentile.high


PLAIN = ("t", "percentile", "bca")  # know nothing of the ends of the range


@pytest.mark.parametrize("method", INTERVALS)
def test_one_score_could_be_anything(method):
    assert tuple(interval([0.3], method=method, bounds=Bounds(0, 1))) == (0, 1)
    assert tuple(interval([0.3], method=method)) == (-np.inf, np.inf)
    assert tuple(interval([], method=method, bounds=Bounds(0, 1))) == (0, 1)


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("score", [0.0, 1.0, 0.1, 1 / 3])
def test_constant_scores_have_no_width(method, score):
    found = interval([score] * 7, method=method, bounds=Bounds(0, 1), rng=0)
    assert tuple(found) == pytest.approx((score, score), abs=1e-15)
    assert found.method == ("percentile" if method == "bca" else method)  # says what was done
    assert not found.clipped


def test_bca_falls_back_where_scores_differ_by_noise_only():
    assert interval([0.1 + 0.2, 0.3, 0.3], method="bca", rng=0).method == "percentile"


def test_clipped_says_that_the_method_reached_beyond_the_measure():
    free, bound = (interval([0, 0, 1], method="t", bounds=b) for b in (Bounds(), Bounds(0, 1)))
    assert free.low < 0
    assert free.high > 1
    assert (bound.low, bound.high, bound.clipped, free.clipped) == (0, 1, True, False)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_seed_repeats_the_interval(method):
    once = interval(SKEWED, method=method, rng=7, resamples=500)
    assert once == interval(SKEWED, method=method, rng=7, resamples=500)
    assert once == interval(SKEWED, method=method, rng=np.random.default_rng(7), resamples=500)
    assert once != interval(SKEWED, method=method, rng=8, resamples=500)


@given(values, st.sampled_from(["percentile", "bca"]))
def test_a_bootstrap_stays_within_the_data(scores, method):
    low, high = interval(scores, method=method, rng=0, resamples=200)
    assert min(scores) - 1e-12 <= low <= high <= max(scores) + 1e-12


@given(twentieths, st.sampled_from(PLAIN), st.floats(-5, 5), st.floats(0.1, 10))
def test_shifted_and_stretched_scores_shift_and_stretch_the_interval(scores, method, shift, factor):
    plain = interval(scores, method=method, rng=0, resamples=200)
    moved = interval(np.array(scores) * factor + shift, method=method, rng=0, resamples=200)
    assert moved.method == plain.method
    assert tuple(moved) == pytest.approx([end * factor + shift for end in plain], abs=1e-9)


@given(values)
def test_more_certainty_needs_a_wider_interval(scores):
    narrow, wide = (interval(scores, level=level) for level in (0.8, 0.95))
    assert wide.low <= narrow.low <= np.mean(scores) + 1e-12
    assert np.mean(scores) - 1e-12 <= narrow.high <= wide.high


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([0.1, np.nan], {}, r"scores\[1\] is nan"),
        ([0.1, np.inf, np.nan], {}, r"scores\[1\] is inf"),
        ([0.1, None], {}, r"scores\[1\] is nan"),
        ([0.1, "x"], {}, "'x' at position 1"),
        ([[0.1, 0.2]], {}, "2 dimensions"),
        ({"q": 0.5}, {}, "scores is a dict"),
        (0.5, {}, "scores is a float"),
        ([0.1, -1e200], {}, r"scores\[1\] is -1e\+200"),
        ([0.1, 0.2], {"method": "BCA"}, "did you mean 'bca'"),
        ([0.1, 0.2], {"level": 95}, "level=95"),
        ([0, 1], {"method": "wilson"}, r"needs the range of the scores: pass bounds"),
        (
            [0, 0.2],
            {"method": "wilson", "bounds": Bounds(0, 1)},
            r"scores\[1\] is 0.2, .* choose 'score' or 't'",
        ),
        ([0.1, 0.2], {"level": "x"}, "level='x'"),
        ([0.1, 0.2], {"method": "bca", "rng": "x"}, "rng='x'"),
        ([0.1, 0.2], {"method": "bca", "resamples": 0}, "resamples=0"),
    ],
)
def test_wrong_input_is_named(scores, options, message):
    with pytest.raises(rl.InputError, match=message):
        interval(scores, **options)


def test_scores_offer_every_method():
    qrels = {f"q{i}": {"a"} for i in range(12)}
    run = {f"q{i}": [f"x{j}" for j in range(i % 5)] + ["a"] for i in range(12)}
    scores = rl.evaluate(qrels, run, ["RR", "gm_AP"])
    for method in (*PLAIN, "auto", "score"):
        direct = interval(scores["RR"], method=method, level=0.9, bounds=Bounds(0, 1), rng=3)
        assert scores.interval("RR", method=method, level=0.9, rng=3) == direct
    logs = interval(np.log(scores["gm_AP"]), method="bca", rng=3)
    assert tuple(scores.interval("gm_AP", method="bca", rng=3)) == pytest.approx(np.exp(tuple(logs)))
    assert scores.interval("gm_AP", method="bca", rng=3).method == "bca of logs"
