"""Paired tests, against SciPy, complete enumeration, and what must hold of any test."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import ranklens as rl
from ranklens.stats import TESTS, paired_test, randomization

PAIRED = tuple(method for method in TESTS if method != "welch")
DETERMINISTIC = ("t", "wilcoxon", "sign", "welch")


def two_systems(n, seed, shift=0.02):
    """Scores with ties, zeros and a common difficulty of queries."""
    rng = np.random.default_rng(seed)
    a = rng.beta(0.5, 1, n) * (rng.random(n) > 0.2)
    b = np.clip(a + rng.normal(shift, 0.15, n) * (rng.random(n) > 0.3), 0, 1)
    return a, b


def error(p, resamples):
    """Five standard errors of a p-value from so many resamples."""
    return 5 * np.sqrt(p * (1 - p) / resamples) + 1 / resamples


def all_sign_patterns(change):
    sums = np.array([np.dot(signs, change) for signs in itertools.product((1, -1), repeat=len(change))])
    return (np.abs(sums) >= abs(change.sum()) - 1e-9).mean()


def counted_sign_patterns(change):
    """The exact p of whole-numbered differences, by convolution."""
    ways = np.ones(1)
    for step in np.abs(change):
        ways = (np.concatenate((ways, np.zeros(2 * step))) + np.concatenate((np.zeros(2 * step), ways))) / 2
    sums = np.arange(len(ways)) - np.abs(change).sum()
    return ways[np.abs(sums) >= abs(change.sum())].sum()


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_randomization_of_few_queries_equals_enumeration(change):
    result = paired_test(np.zeros(len(change)), np.array(change) / 7)
    assert result.p_value == pytest.approx(all_sign_patterns(np.array(change)), abs=1e-12)
    assert (result.exact, result.resamples, result.n) == (True, None, len(change))


def test_randomization_equals_scipy_exactly_where_all_patterns_are_counted():
    a, b = two_systems(11, seed=1)
    theirs = stats.permutation_test(
        (a, b), lambda x, y: np.mean(y - x), permutation_type="samples", n_resamples=np.inf
    )
    ours = paired_test(a, b)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.statistic == pytest.approx(theirs.statistic)


def test_differences_of_zero_do_not_count_against_enumeration():
    a, b = two_systems(12, seed=2)
    padded = paired_test(np.append(a, np.ones(500)), np.append(b, np.ones(500)))
    assert padded.exact
    assert padded.p_value == paired_test(a, b).p_value
    assert padded.n == 512


@pytest.mark.parametrize(("n", "seed"), [(21, 1), (50, 2), (200, 5), (9000, 4)])
def test_randomization_of_many_queries_equals_the_exact_p_within_its_error(n, seed):
    """9,000 queries need several blocks of random signs; their differences are small so that counting stays possible."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 10, n) if n < 1000 else np.ones(n, int)
    change = np.where(rng.random(n) < 0.5 + 0.6 / np.sqrt(n), sizes, -sizes)
    exact = counted_sign_patterns(change)
    assert 0.001 < exact < 0.9
    result = paired_test(np.zeros(n), change / 10, rng=0, resamples=20_000)
    assert abs(result.p_value - exact) < error(exact, 20_000)
    assert (result.exact, result.resamples) == (False, 20_000)


def test_randomization_equals_scipy_within_the_error_of_both():
    a, b = two_systems(80, seed=6, shift=0.01)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(y - x, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        random_state=1,
    )
    ours = paired_test(a, b, rng=2, resamples=20_000)
    assert 0.001 < theirs.pvalue < 0.9
    assert abs(ours.p_value - theirs.pvalue) < np.sqrt(2) * error(theirs.pvalue, 20_000)


@pytest.mark.parametrize("method", ["randomization", "wilcoxon"])
def test_equal_but_for_rounding_is_equal(method):
    """Tenths cannot be written in binary: 0.3 - 0.2 is less than 0.2 - 0.1."""
    a, b = np.array([1, 2, 3, 6, 0, 8, 7, 2]), np.array([2, 3, 4, 5, 2, 6, 9, 5])
    assert len({0.2 - 0.1, 0.3 - 0.2, 0.4 - 0.3}) == 3
    assert paired_test(a / 10, b / 10, method=method).p_value == paired_test(a, b, method=method).p_value


def test_p_is_never_zero():
    result = paired_test(np.zeros(60), np.linspace(0.5, 1, 60), rng=0, resamples=999)
    assert result.p_value == 1 / 1000
    assert (
        paired_test(np.zeros(60), np.linspace(0.5, 1, 60), method="bootstrap", rng=0, resamples=999).p_value
        > 0
    )


def test_a_seed_gives_the_same_p_on_every_machine():
    change = (37 * np.arange(100) % 101 - 45) / 100
    once = paired_test(np.zeros(100), change, rng=0, resamples=9_999)
    assert once.p_value == 0.1048  # drawn once; it may change only if NumPy's random bytes do
    assert once == paired_test(np.zeros(100), change, rng=np.random.default_rng(0), resamples=9_999)
    assert once != paired_test(np.zeros(100), change, rng=1, resamples=9_999)


def test_student_equals_scipy():
    a, b = two_systems(40, seed=7)
    theirs, ours = stats.ttest_rel(b, a), paired_test(a, b, method="t")
    assert (ours.p_value, ours.statistic) == pytest.approx((theirs.pvalue, theirs.statistic))
    assert (ours.method, ours.n, ours.exact) == ("t", 40, False)


def test_welch_equals_scipy_also_for_different_numbers_of_queries():
    a, b = two_systems(40, seed=8)
    for second in (b, b[:25]):
        theirs, ours = stats.ttest_ind(second, a, equal_var=False), paired_test(a, second, method="welch")
        assert (ours.p_value, ours.statistic) == pytest.approx((theirs.pvalue, theirs.statistic))
        assert (ours.method, ours.n) == ("welch", len(second))


@pytest.mark.parametrize("n", [1, 5, 20, 50, 51, 300])
def test_wilcoxon_without_ties_equals_scipy(n):
    change = np.random.default_rng(n).normal(0.2, 1, n)
    theirs, ours = stats.wilcoxon(change), paired_test(np.zeros(n), change, method="wilcoxon")
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert n * (n + 1) / 2 - abs(ours.statistic) == pytest.approx(2 * theirs.statistic)
    assert ours.exact == (n <= 50)


def test_wilcoxon_with_ties_equals_scipy():
    few = np.array([0, 0, 1, 1, -1, 2, 3, -2, 4, 4, 5])
    theirs = stats.wilcoxon(few, method=stats.PermutationMethod(n_resamples=np.inf))
    ours = paired_test(np.zeros(11), few, method="wilcoxon")
    assert ours.p_value == pytest.approx(theirs.pvalue)
    many = np.random.default_rng(1).integers(-4, 6, 90)
    theirs, ours = stats.wilcoxon(many), paired_test(np.zeros(90), many, method="wilcoxon")
    assert ours.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(
    ("wins", "ties", "losses"), [(9, 3, 2), (5, 0, 5), (0, 4, 6), (300, 10, 240), (1, 0, 0)]
)
def test_sign_equals_the_binomial_test(wins, ties, losses):
    change = np.repeat([0.3, 0.0, -0.2], [wins, ties, losses])
    result = paired_test(np.full(len(change), 0.4), 0.4 + change, method="sign")
    assert result.p_value == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    assert (result.statistic, result.n, result.exact) == (wins - losses, len(change), True)


def test_bootstrap_equals_the_enumeration_of_all_resamples():
    change = np.array([0.1, -0.05, 0.3, 0.2, 0.15])
    drawn = np.array(list(itertools.product(change, repeat=5)))
    t = change.mean() / stats.sem(change)
    gaps, errors = np.abs(drawn.mean(axis=1) - change.mean()), stats.sem(drawn, axis=1)
    exact = (gaps >= abs(t) * errors - 1e-12).mean()
    result = paired_test(np.zeros(5), change, method="bootstrap", rng=0)
    assert abs(result.p_value - exact) < error(exact, 100_000)
    assert result.statistic == pytest.approx(t)


def test_bootstrap_agrees_with_student_where_differences_are_normal():
    change = stats.norm.ppf((np.arange(400) + 0.5) / 400, loc=0.1)
    t = paired_test(np.zeros(400), change, method="t").p_value
    p = paired_test(np.zeros(400), change, method="bootstrap", rng=0, resamples=20_000).p_value
    assert abs(p - t) < error(t, 20_000)


# What must hold of any test

scores = st.integers(0, 20).map(lambda x: x / 20)
systems = st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.lists(scores, min_size=n, max_size=n)] * 2))


@given(systems, st.sampled_from(TESTS))
def test_exchanging_the_systems_negates_the_statistic_and_keeps_p(pair, method):
    there = paired_test(*pair, method=method, rng=0, resamples=300)
    back = paired_test(*pair[::-1], method=method, rng=0, resamples=300)
    assert there.p_value == pytest.approx(back.p_value, rel=1e-9)
    assert there.statistic == pytest.approx(-back.statistic, abs=1e-12)
    assert 0 < there.p_value <= 1


@given(systems, st.sampled_from(DETERMINISTIC), st.randoms(use_true_random=False))
def test_the_order_of_queries_does_not_matter(pair, method, random):
    order = random.sample(range(len(pair[0])), len(pair[0]))
    a, b = np.array(pair)[:, order]
    assert paired_test(a, b, method=method).p_value == pytest.approx(
        paired_test(*pair, method=method).p_value, rel=1e-6
    )


@given(systems, st.sampled_from(TESTS), st.sampled_from([-3.0, 0.1, 7.3]), st.sampled_from([0.1, 3.0]))
def test_shifting_and_stretching_both_systems_keeps_p(pair, method, shift, factor):
    moved = (np.array(x) * factor + shift for x in pair)
    plain = paired_test(*pair, method=method, rng=0, resamples=300)
    assert paired_test(*moved, method=method, rng=0, resamples=300).p_value == pytest.approx(
        plain.p_value, rel=1e-6
    )


# Little or strange data


@pytest.mark.parametrize("method", TESTS)
@pytest.mark.parametrize("scores", [[0.4], [0.0] * 30, [1 / 3] * 5, list(np.linspace(0, 1, 40))])
def test_identical_systems_do_not_differ(method, scores):
    result = paired_test(scores, scores, method=method, rng=0)
    assert (result.p_value, result.statistic, result.n) == (1, 0, len(scores))


@pytest.mark.parametrize("method", TESTS)
def test_systems_that_differ_by_noise_do_not_differ(method):
    a = np.random.default_rng(1).random(30)
    assert paired_test(a, a + 1e-16 * np.arange(30), method=method, rng=0).p_value == pytest.approx(1)


@pytest.mark.parametrize("method", TESTS)
def test_one_query_proves_nothing(method):
    p = paired_test([0.1], [0.9], method=method, rng=0).p_value
    assert p == (
        0.5 if method == "mcnemar" else 1
    )  # mid-p counts the one outcome, which is as likely as its opposite, half


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 0), (0, 6), (5, 5), (9, 4), (2, 40)])
def test_mid_p_is_the_exact_p_of_statsmodels_less_the_chance_of_the_outcome(wins, losses):
    a = np.array([0] * wins + [1] * losses + [1, 0])
    b = np.array([1] * wins + [0] * losses + [1, 0])
    exact = mcnemar([[1, losses], [wins, 1]], exact=True).pvalue
    outcome = stats.binom.pmf(wins, wins + losses, 0.5)
    found = paired_test(a, b, method="mcnemar")
    assert found.p_value == pytest.approx(1.0 if wins == losses else exact - outcome)
    assert found.statistic == wins - losses


@pytest.mark.parametrize("method", PAIRED)
def test_constant_differences_are_as_surprising_as_their_signs(method):
    a = np.linspace(0, 0.5, 6)
    result = paired_test(a, a + 0.3, method=method, rng=0)
    assert result.p_value == (1 if method == "mcnemar" else 2) / 2**6
    assert result.method == ("sign" if method in ("t", "bootstrap") else method)


def test_constant_samples_without_pairs_are_as_surprising_as_their_arrangement():
    result = paired_test([0.2] * 4, [0.4] * 4, method="welch")
    assert (result.p_value, result.method) == (2 / 70, "permutation")  # 70 ways to choose 4 of 8
    assert paired_test([0.2, 0.3], [0.4], method="welch").p_value == 1
    assert paired_test([0.1 + 0.2] * 3, [0.3] * 3, method="welch").p_value == 1


@pytest.mark.slow
def test_a_million_queries_need_little_memory_and_no_warning():
    change = np.random.default_rng(0).normal(0.001, 1, 1_000_000)
    result = paired_test(np.zeros(len(change)), change, rng=0, resamples=50)
    assert abs(result.p_value - paired_test(np.zeros(len(change)), change, method="t").p_value) < error(
        0.3, 50
    )


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([0.1, np.nan], [0.1, 0.2], {}, r"a\[1\] is nan"),
        ([0.1, 0.2], [0.1, None], {}, r"b\[1\] is nan"),
        ([0.1, 0.2], [0.1], {}, "a has 2 queries, b has 1"),
        ([], [], {}, "a is empty"),
        ([], [0.1], {"method": "welch"}, "a is empty"),
        ([0.1], [0.2], {"method": "fisher"}, "method='fisher' is not known.*'randomization'"),
        ([0.1], [0.2], {"method": "wilcox"}, "did you mean 'wilcoxon'"),
        ([0.1], [0.2], {"method": None}, "method=None"),
        ([0.1], [0.2], {"resamples": 0}, "resamples=0"),
        ([0.1], [0.2], {"resamples": 1e5}, "resamples=100000.0"),
        ([0.1], [0.2], {"rng": -1}, "rng=-1"),
        ("abc", "abd", {}, "a is a str"),
    ],
)
def test_wrong_input_is_named(a, b, options, message):
    with pytest.raises(rl.InputError, match=message):
        paired_test(a, b, **options)


def test_every_table_of_signs_holds_all_of_them():
    steps = np.arange(1, 12)
    first, last = randomization._sums_by_byte(np.stack([steps, 100 * steps]))
    assert first.shape == last.shape == (256, 2)
    signs = itertools.product((1, -1), repeat=8)
    assert first.tolist() == [[np.dot(s, steps[:8]), np.dot(s, 100 * steps[:8])] for s in signs]
    assert set(last[:, 0]) == {np.dot(s, steps[8:]) for s in itertools.product((1, -1), repeat=3)}
