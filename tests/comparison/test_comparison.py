"""Comparisons against hand-worked numbers, SciPy and statsmodels, and what must hold for any of them."""

import dataclasses
import pickle
import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

import ranklens as rl
from ranklens.comparison import effort, wording
from ranklens.comparison.alignment import Quantity
from ranklens.comparison.compare import compare, compare_scores
from ranklens.comparison.effort import ComparisonSize, affordable
from ranklens.comparison.settings import Family, HowTested, Settings
from ranklens.scores import total
from ranklens.stats import Bounds, Interval, interval, paired_test, pairwise, resampling_counts
from ranklens.words import several

# Three systems, each better than the one before on all seven queries: every sign pattern but two is less extreme.
LOW, MIDDLE, HIGH = (
    [0.1, 0.2, 0.1, 0.3, 0.2, 0.0, 0.1],
    [0.2, 0.4, 0.3, 0.4, 0.5, 0.3, 0.2],
    [0.5, 0.5, 0.6, 0.9, 0.8, 0.4, 0.7],
)


def by_query(*values, measure="RR"):
    return {f"q{i}": {measure: value} for i, value in enumerate(values)}


def three(**options):
    return compare_scores(
        {"low": by_query(*LOW), "middle": by_query(*MIDDLE), "high": by_query(*HIGH)}, **options
    )


def random_systems(count, queries, seed=0, step=0.05):
    rng = np.random.default_rng(seed)
    difficulty = rng.beta(1, 2, queries)
    noise = rng.normal(0, 0.1, (count, queries))
    return np.clip(difficulty + noise + step * np.arange(count)[:, None], 0, 1)


def compared(values, **options):
    return compare_scores({f"s{i}": by_query(*row) for i, row in enumerate(values)}, **options)


def test_worked_by_hand():
    found = three()
    assert found.systems == ("low", "middle", "high")
    assert found.measures == ("RR",)
    assert found.query_ids == tuple(f"q{i}" for i in range(7))
    assert found.result("RR", "high").mean == pytest.approx(4.4 / 7)
    pair = found.pair("RR", "low", "high")
    assert pair.difference == pytest.approx(3.4 / 7)
    assert (pair.wins, pair.ties, pair.losses, pair.n) == (7, 0, 0, 7)
    assert pair.p_value == 2 / 2**7  # all signs as they are, and all turned
    assert [p.adjusted_p for p in found.pairs] == [3 * 2 / 2**7] * 3  # Holm: 3p, then no smaller
    assert all(p.significant for p in found.pairs)
    assert found.groups("RR") == [["high"], ["middle"], ["low"]]
    assert {r.system: r.group for r in found.results} == {"low": "c", "middle": "b", "high": "a"}


def test_a_baseline_is_compared_with_each_other_system_only():
    found = three(baseline="middle")
    assert [(p.a, p.b) for p in found.pairs] == [("middle", "low"), ("middle", "high")]
    assert [p.adjusted_p for p in found.pairs] == [2 * 2 / 2**7] * 2
    assert found.pair("RR", "high", "middle").difference == -found.pair("RR", "middle", "high").difference
    with pytest.raises(rl.InputError, match="low and high were not compared: only pairs with the baseline"):
        found.pair("RR", "low", "high")


@pytest.mark.parametrize(
    ("test", "oracle"), [("t", scipy.stats.ttest_rel), ("wilcoxon", scipy.stats.wilcoxon)]
)
def test_p_values_are_those_of_scipy_and_corrections_those_of_statsmodels(test, oracle):
    values = np.random.default_rng(0).random((5, 40)) / 2 + 0.05 * np.arange(5)[:, None]
    names = {
        "holm": "holm",
        "bonferroni": "bonferroni",
        "hochberg": "simes-hochberg",
        "bh": "fdr_bh",
        "by": "fdr_by",
    }
    expected = [oracle(values[i], values[j]).pvalue for i in range(5) for j in range(i + 1, 5)]
    for ours, theirs in names.items():
        found = compared(values, test=test, correction=ours)
        np.testing.assert_allclose([p.p_value for p in found.pairs], expected, rtol=1e-6)
        adjusted = multipletests(expected, method=theirs)[1]
        np.testing.assert_allclose([p.adjusted_p for p in found.pairs], adjusted, rtol=1e-6)


def test_randomisation_agrees_with_scipy_within_monte_carlo_error():
    values = random_systems(3, 30, step=0.02)
    found = compared(values)
    for pair, (i, j) in zip(found.pairs, [(0, 1), (0, 2), (1, 2)], strict=True):
        expected = scipy.stats.permutation_test(
            (values[j] - values[i],), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
        ).pvalue
        error = 5 * (expected * (1 - expected) * (1 / 20_000 + 1 / 100_000)) ** 0.5 + 1e-4
        assert pair.p_value == pytest.approx(expected, abs=error)


def test_p_values_are_those_of_single_tests():
    """However many systems and measures share the random numbers."""
    values = random_systems(4, 35)
    systems = {
        f"s{i}": {f"q{j:02}": {"RR": v, "P@1": v / 2} for j, v in enumerate(row)}
        for i, row in enumerate(values)
    }
    found = compare_scores(systems, rng=7)
    for pair in found.pairs:
        a, b = (found.values(pair.measure)[found.systems.index(name)] for name in (pair.a, pair.b))
        assert pair.p_value == pytest.approx(paired_test(a, b, rng=7).p_value, abs=0.005)


def test_intervals_and_means_are_those_of_scipy():
    values = random_systems(2, 25)
    found = compared(values)
    low, high = scipy.stats.t.interval(0.95, 24, values[1].mean(), scipy.stats.sem(values[1]))
    assert tuple(found.result("RR", "s1").interval) == pytest.approx((low, high))
    change = values[1] - values[0]
    low, high = scipy.stats.t.interval(0.95, 24, change.mean(), scipy.stats.sem(change))
    assert tuple(found.pairs[0].interval) == pytest.approx((low, high))
    narrow = compared(values, level=0.5).pairs[0].interval
    assert narrow.level == 0.5
    assert narrow.high - narrow.low < high - low


@pytest.mark.parametrize("options", [{}, {"baseline": "s1"}])
@pytest.mark.parametrize("systems", [1, 2, 3])
def test_a_verdict_without_intervals_says_the_rest(systems, options):
    found = compared(random_systems(systems + 1, 30, step=0.02)[:systems], **(options if systems > 1 else {}))
    whole, brief = (wording.of_measure(found, "RR", intervals=shown).text for shown in (True, False))
    assert "[" in whole
    assert brief == re.sub(r" \[-?[\d.]+, -?[\d.]+\]| \(the interval .*?\)", "", whole)


@pytest.mark.parametrize("test", ["tukey", "tukey-randomized"])
def test_tukey_corrects_by_itself(test):
    values = random_systems(4, 40)
    found = compared(values, test=test)
    assert [p.adjusted_p for p in found.pairs] == [p.p_value for p in found.pairs]
    assert found.correction == "holm"  # asked for, but not used
    assert "Tukey" in found.pairs[-1].verdict
    assert "Holm" not in str(found)
    sliced = compared(values, test=test, by={f"q{i}": i % 2 for i in range(40)})
    for part in sliced.slices:
        assert [p.adjusted_p for p in part.pairs] == pytest.approx(
            [min(1, 2 * p.p_value) for p in part.pairs]
        )


@settings(max_examples=30)
@given(
    st.randoms(use_true_random=False), st.integers(0, 2**16), st.sampled_from(["randomization", "t", "tukey"])
)
def test_the_order_of_queries_and_systems_does_not_matter(random, seed, test):
    values = random_systems(3, 25, seed)
    systems = {f"s{i}": by_query(*row) for i, row in enumerate(values)}
    before = compare_scores(systems, test=test)
    names = list(systems)
    random.shuffle(names)
    shuffled = {}
    for name in names:
        rows = list(systems[name].items())
        random.shuffle(rows)
        shuffled[name] = dict(rows)
    after = compare_scores(shuffled, test=test)
    assert after.verdict() == before.verdict()
    assert after.groups("RR") == before.groups("RR")
    for pair in before.pairs:
        other = after.pair("RR", pair.a, pair.b)
        assert other.adjusted_p == pytest.approx(pair.adjusted_p)
        assert other.difference == pytest.approx(pair.difference)


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.integers(1, 30))
def test_swapping_negates(seed, queries):
    found = compared(random_systems(2, queries, seed))
    one, other = found.pair("RR", "s0", "s1"), found.pair("RR", "s1", "s0")
    assert other.difference == -one.difference
    assert tuple(other.interval) == (-one.interval.high, -one.interval.low)
    assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)
    assert (other.p_value, other.adjusted_p, other.detectable) == (
        one.p_value,
        one.adjusted_p,
        one.detectable,
    )
    assert other.effect.probability == pytest.approx(1 - one.effect.probability)
    assert other.verdict == one.verdict


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4), min_size=1, max_size=5
    ),
    st.booleans(),
)
def test_any_small_comparison_is_printed_without_warnings_or_nan(rows, with_baseline):
    found = compared(rows, baseline="s0" if with_baseline else None, by={f"q{i}": i % 2 for i in range(4)})
    for text in (str(found), found.to_markdown(), found.to_latex(), found.to_json(), found._repr_html_()):
        assert "nan" not in text.lower()
        assert "inf," not in text
    for pair in found.pairs:
        assert 0 < pair.p_value <= pair.adjusted_p <= 1
        assert pair.interval.low <= pair.difference <= pair.interval.high


def test_systems_share_a_letter_exactly_if_they_were_not_told_apart():
    found = compared(random_systems(8, 30, step=0.03))
    different = {frozenset((p.a, p.b)) for p in found.pairs if p.significant}
    assert different
    group = {r.system: set(r.group) for r in found.results}
    for a in found.systems:
        for b in found.systems:
            if a != b:
                assert (not group[a] & group[b]) == (frozenset((a, b)) in different)


def test_the_verdict_reads_as_one_would_say_it():
    pair = dataclasses.replace(
        three().pair("RR", "low", "high"),
        a="bm25",
        b="dense",
        n=50,
        ties=3,
        difference=0.031,
        interval=Interval(0.012, 0.050),
        adjusted_p=0.002,
        significant=True,
        detectable=0.028,
        terms=HowTested(Quantity.named("nDCG@10"), Settings(), Family(3, 3)),
    )
    assert pair.verdict == (
        "dense is better than bm25 by 0.031 [0.012, 0.050], p = 0.002 after Holm over 3 pairs; "
        "with 50 queries, differences under 0.028 go undetected more than 20% of the time"
    )
    lucky = dataclasses.replace(pair, detectable=0.04)
    assert lucky.verdict.endswith(
        "a difference this small goes undetected more than 20% of the time, so its size is probably overstated"
    )
    unsure = dataclasses.replace(
        pair, significant=False, adjusted_p=0.2, difference=-0.031, interval=Interval(-0.07, 0.01)
    )
    assert unsure.verdict == (
        "No significant difference between bm25 and dense: the means differ by 0.031 [-0.010, 0.070], p = 0.200 after Holm over 3 pairs; "
        "with 50 queries, differences under 0.028 go undetected more than 20% of the time"
    )


def test_no_winner_where_the_test_does_not_support_one():
    found = compared(random_systems(4, 30, step=0.0))
    assert found.groups("RR") == [found.ranked("RR")]
    assert "Inconclusive between" in found.verdict("RR")
    assert "is better than" not in str(found)


def test_a_leader_is_named_where_it_beats_all():
    found = three()
    assert found.verdict("RR").startswith(
        "high is better than both others; its lead over the closest, middle, is 0.300"
    )
    assert found.verdict("RR").endswith(
        "Prefer high, with caution: the result hinges on any two of 7 queries (q3, q6, q4 and 4 more)."
    )


def test_a_baseline_that_is_best():
    assert three(baseline="high").verdict("RR") == (
        "No system is significantly better than high. middle and low are worse than high; the difference from middle is 0.300 [0.149, 0.451], "
        "p = 0.031 after Holm over 2 pairs; with 7 queries, differences under 0.243 go undetected more than 20% of the time. Prefer high, with caution: "
        "the result hinges on any two of 7 queries (q3, q6, q4 and 4 more)."
    )


def test_with_a_baseline_nothing_is_said_about_pairs_that_were_not_tested():
    rows = random_systems(4, 30, step=0.0)
    found = compared(rows, baseline="s1", by={f"q{i}": i % 2 for i in range(30)})
    assert found.groups("RR") == []
    assert {r.group for part in (found, *found.slices) for r in part.results} == {""}
    assert found.table().header == ["measure", "system", "mean", "95% interval"]
    for text in (str(found), found.to_markdown(), found.to_latex(), found.verdict(), found._repr_html_()):
        assert "group" not in text
        assert "cheapest" not in text
    assert found.verdict("RR").startswith("No system is significantly better than s1. ")
    others = several([system for system in found.ranked("RR") if system != "s1"])
    assert f"{others} do not differ significantly from s1; the difference from " in found.verdict("RR")
    assert "Only pairs with s1 were tested." in str(found)
    assert "Only pairs with s1 were tested." in found.to_latex()
    assert wording.of_slices(found, "RR") == "no system differs significantly from s1 in any of the 2 slices."


def test_the_one_that_beats_the_baseline_is_not_said_to_beat_the_others():
    near = [abs(value - 0.01 * (-1) ** i) for i, value in enumerate(LOW)]
    systems = {"low": by_query(*LOW), "near": by_query(*near), "high": by_query(*HIGH)}
    text = compare_scores(systems, baseline="low").verdict("RR")
    assert text.startswith("high is better than low by ")
    assert "Prefer high over low, with caution: the result hinges on any one of 7 queries" in text
    assert text.endswith(" high and near were not tested against each other.")


def test_identical_systems():
    found = compare_scores({"one": by_query(*HIGH), "two": by_query(*HIGH)})
    pair = found.pairs[0]
    assert (pair.difference, pair.p_value, pair.significant, pair.ties) == (0, 1, False, 7)
    assert pair.verdict == "one and two have the same value for every query"
    assert "Identical values for all queries: one and two. Are these the same run?" in found.cautions
    assert found.verdict("RR") == "one and two have the same value for every query."


def test_systems_with_the_same_mean():
    found = compare_scores({name: by_query(*HIGH) for name in "abc"})
    assert found.verdict("RR") == "All 3 systems have the same value for every query."


def test_one_system_has_nothing_to_be_compared_with():
    found = compare_scores({"alone": by_query(*HIGH)})
    assert len(found.pairs) == 0
    assert found.groups("RR") == [["alone"]]
    low, high = interval(HIGH, method="score", bounds=Bounds(0, 1))  # near the end of the range
    assert found.verdict("RR").startswith(
        f"0.6286 [{low:.4f}, {high:.4f}] for alone; there is no other system"
    )
    with pytest.raises(rl.InputError, match="only one system"):
        found.queries("RR")


def test_one_query_says_nothing_about_others():
    found = compare_scores({"a": by_query(0.2), "b": by_query(0.9)})
    pair = found.pairs[0]
    assert (pair.p_value, pair.significant, pair.detectable) == (1, False, np.inf)
    assert tuple(pair.interval) == (-1, 1)  # all that a difference of RR can be
    assert "one query is not enough to conclude anything about others" in pair.verdict
    assert any("only one query" in caution for caution in found.cautions)


def test_too_few_queries_to_show_anything_are_told():
    found = compare_scores({"a": by_query(0.1, 0.2, 0.3, 0.1), "b": by_query(0.9, 0.9, 1.0, 0.8)})
    assert any(
        c.startswith("No difference can be significant, however large: with 4 queries")
        for c in found.cautions
    )
    assert found.pairs[0].p_value == 2 / 2**4


def test_geometric_means_are_compared_by_their_logarithms():
    a, b = random_systems(2, 30, step=0.2)
    found = compare_scores({"a": by_query(*a, measure="gm_AP"), "b": by_query(*b, measure="gm_AP")}, test="t")
    logs = [np.log(np.maximum(v, 0.00001)) for v in (a, b)]
    pair = found.pairs[0]
    assert pair.p_value == pytest.approx(scipy.stats.ttest_rel(*logs).pvalue)
    assert pair.mean_b == pytest.approx(scipy.stats.gmean(np.maximum(b, 0.00001)))
    assert np.exp(pair.difference) == pytest.approx(pair.mean_b / pair.mean_a)
    assert "by a factor of" in pair.verdict


def test_counts_are_shown_but_not_tested():
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    found = compare(qrels, {"x": {q: ["a"] for q in qrels}, "y": {q: ["b"] for q in qrels}}, "NumRelRet, RR")
    assert found.result("NumRelRet", "x").mean == 2
    assert found.result("NumRelRet", "x").interval is None
    assert {pair.measure for pair in found.pairs} == {"RR"}
    assert "A count: shown, but not tested." in found.verdict("NumRelRet")
    with pytest.raises(rl.MeasureError, match="is a count"):
        found.groups("NumRelRet")


def test_values_that_are_no_quality_are_higher_not_better():
    qrels = {f"q{i}": {"a": 1} for i in range(8)}
    runs = {"x": {q: ["a", "b"] for q in qrels}, "y": {q: ["b", "a"] for q in qrels}}
    found = compare(qrels, runs, "Judged@1")
    assert found.verdict("Judged@1").startswith("x is higher than y by 1.000")
    assert "Choose" not in found.verdict("Judged@1")


def test_relevance_strings_are_left_out():
    qrels = {f"q{i}": {"a": 1} for i in range(3)}
    scores = {
        name: rl.evaluate(qrels, dict.fromkeys(qrels, docs), "relstring, RR")
        for name, docs in (("x", ["a"]), ("y", ["b"]))
    }
    assert compare_scores(scores).measures == ("RR",)
    named = compare(qrels, {"x": {q: ["a"] for q in qrels}}, "relstring, RR")
    assert named.measures == ("RR",)
    assert "Left out, because they are texts: relstring." in named.cautions
    with pytest.raises(rl.MeasureError, match="Nothing to compare: relstring contains no numbers"):
        compare(qrels, {"x": {q: ["a"] for q in qrels}}, "relstring")


def test_a_measure_for_which_less_is_better():
    from ranklens.metrics import measure, unregister

    @measure("Steps", high=float("inf"), better="lower")
    def steps(judged):
        """The rank of the first relevant document."""
        hits = judged.relevant(1)
        return hits.sum(hits.first() * hits.rank)

    try:
        qrels = {f"q{i}": {"a": 1} for i in range(8)}
        runs = {"slow": {q: ["b", "c", "a"] for q in qrels}, "fast": {q: ["a"] for q in qrels}}
        found = compare(qrels, runs, "Steps")
        assert found.ranked("Steps") == ["fast", "slow"]
        assert found.verdict(
            "Steps"
        ).startswith(
            "fast is better than slow by 2.000 [0.695, 2.505], p = 0.008"  # eight equal differences are not certainty
        )
        assert found.pairs[0].difference == -2
    finally:
        unregister("Steps")


@pytest.mark.parametrize("test", ["sign", "wilcoxon"])
def test_a_test_of_signs_or_ranks_does_not_name_the_system_with_the_worse_mean(test):
    """b wins nearly always, by little, and loses rarely, by much."""
    a, b = [0.1] * 18 + [1.0, 1.0], [0.12] * 18 + [0.0, 0.1]
    found = compare_scores({"a": by_query(*a), "b": by_query(*b)}, test=test)
    pair = found.pairs[0]
    assert pair.p_value < 0.05
    assert pair.difference < 0
    assert not pair.significant
    compared = {"sign": "wins", "wilcoxon": "signed ranks"}[test]
    assert pair.verdict.startswith(
        f"{compared.capitalize()} and means disagree on a and b: {compared} favour b, but a has the better mean; p "
    )
    assert "the means differ by 0.077" in pair.verdict
    assert found.groups("RR") == [["a", "b"]]


def test_a_seed_makes_it_repeatable():
    values = random_systems(2, 40, step=0.01)
    one, two = (compared(values, rng=np.random.default_rng(3)) for _ in range(2))
    assert one.seed == two.seed
    assert one.pairs[0].p_value == two.pairs[0].p_value == compared(values, rng=one.seed).pairs[0].p_value
    assert compared(values, rng=None).seed != compared(values, rng=None).seed


@pytest.mark.slow
def test_a_thousand_systems():
    values = (np.random.default_rng(0).random((1000, 6)) + np.linspace(0, 3, 1000)[:, None]) / 4
    found = compared(values)
    assert len(found.pairs) == 499_500
    assert found.test == "t"
    expected = scipy.stats.ttest_rel(values[3], values[990])
    assert found.pair("RR", "s3", "s990").p_value == pytest.approx(expected.pvalue)
    assert found.pairs[-1].b == "s999"
    text = str(found)
    assert "499,485 more pairs are not shown" in text
    assert "The paired t test was used in place of the randomisation test" in text
    assert re.search(r"There are no group letters\s+for RR", text)
    assert found.groups("RR") == []  # never a letter that says what is not so
    assert "share a group letter" not in text
    assert len(text.splitlines()) < 80
    assert max(map(len, text.splitlines())) < 130
    assert len(compared(values, baseline="s0").pairs) == 999


@pytest.mark.parametrize(
    ("test", "size", "used", "resamples"),
    [
        ("randomization", ComparisonSize(3, 5, 10_000), "randomization", 100_000),
        ("randomization", ComparisonSize(3, 5, 100_000), "randomization", 10_000),
        (
            "randomization",
            ComparisonSize(2, 5, 1_000_000),
            "t",
            10_000,
        ),  # where they agree, and t takes no time
        ("randomization", ComparisonSize(20, 1, 40_000), "randomization", 76_000),  # enough for 190 pairs
        ("randomization", ComparisonSize(20, 1, 400_000), "t", 76_000),
        ("randomization", ComparisonSize(20, 1, 3_000, 30), "t", 100_000),  # 5,700 tests in 30 slices
        ("randomization", ComparisonSize(5, 1, 3_000, 30), "randomization", 100_000),
        ("randomization", ComparisonSize(20, 10, 1_000_000), "t", 76_000),
        ("randomization", ComparisonSize(100, 1, 50), "t", 100_000),  # 4,950 pairs correct everything away
        ("bootstrap", ComparisonSize(3, 5, 10_000), "bootstrap", 100_000),
        ("bootstrap", ComparisonSize(3, 5, 30_000), "bootstrap", 33_000),
        ("bootstrap", ComparisonSize(3, 5, 100_000), "bootstrap", 10_000),
        ("bootstrap", ComparisonSize(20, 5, 100_000), "t", 76_000),
        ("tukey-randomized", ComparisonSize(3, 5, 100_000), "tukey-randomized", 10_000),
        ("tukey-randomized", ComparisonSize(30, 5, 100_000), "tukey", 10_000),
        ("t", ComparisonSize(30, 5, 10**7), "t", 100_000),
    ],
)
def test_resamples_are_planned_from_what_is_compared(test, size, used, resamples):
    plan = affordable(Settings(test=test), size)
    assert (plan.test, plan.resamples) == (used, resamples)
    assert plan == affordable(plan, size)


def test_a_named_test_runs_or_is_refused(monkeypatch):
    with pytest.raises(rl.InputError, match=r'corrected for 4,950 tests\. Omit test, choose test="t"'):
        compared(random_systems(100, 8), test="bootstrap")
    monkeypatch.setattr(effort, "_PATIENCE", 1e-6)
    with pytest.raises(rl.InputError, match="10,000 resamples of 30 queries would take about 1 minute"):
        compared(random_systems(3, 30), test="tukey-randomized")
    monkeypatch.setattr(effort, "_PATIENCE_BY_DEFAULT", 1e-6)
    found = compared(random_systems(3, 30))  # the default one is replaced, which a caution says
    assert found.test == "t"
    assert "The paired t test was used in place of the randomisation test" in found.cautions[0]


def test_the_bootstrap_of_very_many_queries_draws_from_counts(monkeypatch):
    """A million queries take the named test, and counts give the p-value of the values one by one."""
    size = ComparisonSize(2, 1, 1_000_000)
    assert affordable(Settings(test="bootstrap", is_default=False), size).test == "bootstrap"
    rng = np.random.default_rng(0)
    values = (rng.integers(0, 5, (2, 300)) / 4 + np.array([[0.0], [0.1]])) / 2
    plain = compared(values, test="bootstrap").pairs[0].p_value
    monkeypatch.setattr(pairwise, "COUNTED", 100)
    counted = compared(values, test="bootstrap").pairs[0]
    assert counted.p_value == pytest.approx(plain, abs=0.005)
    assert counted.p_value != compared(values, test="t").pairs[0].p_value
    continuous = (rng.random((2, 300)) + np.array([[0.0], [0.04]])) / 2
    monkeypatch.setattr(pairwise, "COUNTED", 10**6)
    plain = compared(continuous, test="bootstrap").pairs[0].p_value
    monkeypatch.setattr(pairwise, "COUNTED", 100)
    monkeypatch.setattr(resampling_counts, "BINS", 64)
    assert compared(continuous, test="bootstrap").pairs[0].p_value == pytest.approx(plain, abs=0.01)


def test_every_attribute_of_the_contract_is_there():
    found = three(alpha=0.01, level=0.9)
    assert (found.baseline, found.test, found.correction, found.alpha, found.level, found.seed) == (
        None, "randomization", "holm", 0.01, 0.9, 0,
    )  # fmt: skip
    assert found.values("mrr").shape == (3, 7)
    assert (found.slices, found.slice_of, found.evidence, found.latencies, found.status) == (
        (),
        None,
        None,
        None,
        None,
    )
    changed = dataclasses.replace(found, latencies={"low": [0.1]}, status={"low": {"ok": 7}})
    assert changed.latencies == {"low": [0.1]}
    assert repr(found) == "Comparison(3 systems, RR; 7 queries)"
    assert found.pairs[:2] == (found.pairs[0], found.pairs[1])
    assert found.pairs[-1] == list(found.pairs)[-1]
    with pytest.raises(IndexError):
        found.pairs[3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "wilcoxn"}, "test='wilcoxn' is not known: did you mean 'wilcoxon'"),
        ({"correction": "homl"}, "correction='homl' is not known: did you mean 'hommel'"),
        ({"alpha": 5}, "alpha=5 is not allowed: it must be a number between 0 and 1"),
        ({"level": 95}, "level=95 is not allowed"),
        ({"baseline": "lou"}, "The baseline 'lou' is not a system: did you mean 'low'"),
        ({"rng": -1}, "rng=-1 is not allowed"),
        ({"missing": "drop"}, "missing='drop' is not allowed"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(rl.RankLensError, match=message):
        three(**options)


def test_names_may_be_numbers():
    found = compare_scores({1: by_query(*LOW), 2: by_query(*HIGH)}, baseline=1)
    assert found.pair("RR", 1, 2).wins == 7
    with pytest.raises(rl.InputError, match="The baseline '3' is not a system"):
        compare_scores({1: by_query(*LOW)}, baseline=3)


def test_wrong_names_are_answered_with_the_nearest():
    found = three()
    with pytest.raises(rl.InputError, match="There is no system 'hihg': did you mean 'high'"):
        found.pair("RR", "low", "hihg")
    with pytest.raises(rl.MeasureError, match="nDCG@10 was not compared"):
        found.groups("nDCG@10")
    with pytest.raises(rl.InputError, match="compared with itself"):
        found.queries("RR", "low", "low")


def test_runs_of_any_shape_and_values_go_together():
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    run = {q: ["a", "b"] for q in qrels}
    table = pl.DataFrame([(q, "a", 1.0) for q in qrels], schema=["query", "doc", "score"], orient="row")
    values = pl.DataFrame({"qid": list(qrels), "recip_rank": [0.5] * 6})
    found = compare(
        qrels, {"run": run, "table": table, "scores": rl.evaluate(qrels, run, "RR"), "values": values}, "RR"
    )
    assert [r.mean for r in found.results] == [1, 1, 1, 0.5]
    assert set(found.scores) == {"run", "table", "scores"}
    assert set(found.evidence.runs) == {"run", "table"}
    assert compare(None, {"scores": found.scores["run"], "values": values}, "RR").evidence is None


def test_the_relevance_level_is_part_of_the_name_everywhere():
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"a": 2}}
    run = {q: ["a", "b"] for q in qrels}
    found = compare(qrels, {"x": run, "y": rl.evaluate(qrels, run, "P@1", rel=2)}, "P@1", rel=2)
    assert found.measures == ("P(rel=2)@1",)


def test_warnings_name_the_system_and_stay_as_cautions():
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"fine": {"q1": ["a"], "q2": ["a"]}, "odd": {"x1": ["a"]}}
    with pytest.warns(rl.RankLensWarning, match="^odd: The run and the judgments have no query in common"):
        found = compare(qrels, runs, "RR")
    assert found.cautions[0].startswith("odd: The run and the judgments have no query in common")


def test_progress_wraps_the_loop_over_runs():
    seen = []

    def watch(items):
        for item in items:
            seen.append(item)
            yield item

    compare({"q": {"a"}}, {"x": {"q": ["a"]}, "y": {"q": ["b"]}}, "RR", progress=watch)
    assert seen == ["x", "y"]


def test_judgments_that_favour_a_system_are_told():
    qrels = {f"q{i}": {**{f"d{j}": 1 for j in range(5)}, "wrong": 0} for i in range(20)}
    known = {q: [f"d{j}" for j in range(5)] for q in qrels}
    other = {q: [f"x{j}" for j in range(3)] + ["d0", "d1"] for q in qrels}
    found = compare(qrels, {"pooled": known, "new": other}, "P@5")
    assert any(
        c.startswith(
            "Judgments favour pooled: 100% of its top 5 documents are judged, but only 40% of new's."
        )
        for c in found.cautions
    )
    relevant = {q: {d: g for d, g in docs.items() if g} for q, docs in qrels.items()}
    better = compare(relevant, {"pooled": known, "new": other}, "P@5")
    assert not any("favour" in c for c in better.cautions)  # it found more, as nothing else is judged
    low = compare(qrels, {"one": other, "two": other}, "P@5")
    assert any("Only 40% of the top 5 documents of one are judged" in c for c in low.cautions)


def test_differences_that_cancel_out_but_for_rounding_have_a_verdict():
    """0.1 + 0.2 - 0.3 is not quite 0, and no number of queries would show that."""
    found = compare_scores({
        "a": {"q1": {"RR": 0.1}, "q2": {"RR": 0.2}, "q3": {"RR": 0.3}},
        "b": {"q1": {"RR": 0.2}, "q2": {"RR": 0.4}, "q3": {"RR": 0.0}},
    })  # fmt: skip
    pair = found.pair("RR", "a", "b")
    assert 0 < abs(pair.effect.difference) < 1e-15
    assert pair.difference == 0
    assert found.queries_needed(pair) is None
    assert "No significant difference" in found.verdict("RR")


def test_the_same_values_in_another_order_have_the_same_mean():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1, one after the other, as trec_eval adds."""
    up, down = ([*values, *[0.0] * 5] for values in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)))
    assert total("mean", np.array(up)) != total("mean", np.array(down))
    found = compare_scores({"a": by_query(*up), "b": by_query(*down)})
    assert found.result("RR", "a").mean == found.result("RR", "b").mean == 0.075
    assert found.pair("RR", "a", "b").difference == found.pair("RR", "b", "a").difference == 0
    assert len({str(row[2]) for row in found.table().rows}) == 1
    text = found.to_latex()
    assert text.count(r"\textbf{0} & \textbf{0750") == 2
    assert "0.0000" in str(found)
    assert "-0.0000 " not in str(found)


def test_a_difference_too_small_for_four_decimals_is_not_shown_as_none():
    found = compare_scores({"a": by_query(*HIGH), "b": by_query(*(value + 1e-5 for value in HIGH))})
    assert "+1e-05" in str(found)


def test_where_test_and_interval_disagree_the_verdict_says_why():
    rows = random_systems(4, 30, step=0.02, seed=6)
    pairs = list(compared(rows, correction="bonferroni").pairs)
    unlike = [
        p for p in pairs if p.p_value <= 0.05 < p.adjusted_p and not p.interval.low <= 0 <= p.interval.high
    ]
    assert unlike
    for pair in pairs:
        clause = "(the interval excludes 0, but is not corrected for the number of pairs)"
        assert (clause in pair.verdict) == (pair in unlike)
    pair = dataclasses.replace(unlike[0], significant=True, adjusted_p=0.01, interval=Interval(-0.01, 0.2))
    how = HowTested(Quantity.named("RR"), Settings(), Family(2, 1))
    assert "(the interval contains 0, but is Student's t, a different method from the test)" in wording.facts(
        dataclasses.replace(pair, terms=how)
    )
    strict = HowTested(Quantity.named("RR"), Settings(alpha=0.01), Family(2, 1))
    assert (
        "(the interval contains 0, but has a level of 0.95, while the test has an alpha of 0.01)"
        in wording.facts(dataclasses.replace(pair, terms=strict))
    )


@pytest.mark.parametrize("test", ["tukey", "tukey-randomized"])
def test_what_tukey_finds_beyond_the_interval_of_a_pair_is_doubted(test):
    """Eight systems hardly vary, two vary much: the common error is too small for these two."""
    rng = np.random.default_rng(5)
    spread = np.array([0.005] * 8 + [0.2] * 2)[:, None]
    rows = np.clip(0.5 + spread * rng.normal(size=(10, 50)), 0, 1)
    rows[-1] += 0.07 - (rows[-1] - rows[-2]).mean()
    found = compared(np.clip(rows, 0, 1), test=test, alpha=0.05)
    doubtful = [p for p in found.pairs if p.significant and p.interval.low <= 0 <= p.interval.high]
    told = [c for c in found.cautions if c.startswith("Tukey's test assumes that all systems vary equally.")]
    assert doubtful
    assert len(told) == 1
    assert f"{doubtful[0].a} and {doubtful[0].b}" in told[0]


def test_queries_left_out_are_not_counted_as_averaged():
    qrels = {f"q{i}": {"a": 1} for i in range(8)}
    every = {q: ["a", "b"] for q in qrels} | {"q0": ["b", "a"]}
    fewer = {q: docs for q, docs in every.items() if q != "q0"}
    runs = {"every": every, "fewer": fewer}
    found = compare(qrels, runs, "RR", missing="skip")
    text = " ".join(str(found).split())
    assert "- 7 queries compared, which all systems have; means are over these." in text
    assert "every: 8 queries evaluated" in text
    assert "8 queries averaged" not in text
    assert "Is it the same run?" not in text
    assert (
        "The same values for all queries that were compared: every and fewer. They may differ for those left out."
        in found.cautions
    )


def test_what_all_evaluations_share_is_said_once():
    qrels = {f"q{i}": {"a": 1} for i in range(8)}
    every = {q: ["a", "b"] for q in qrels}
    fewer = {q: docs for q, docs in every.items() if q != "q0"}
    text = " ".join(str(compare(qrels, {"every": every, "fewer": fewer}, "RR")).split())
    assert (
        " - every: 8 queries averaged. - fewer: 8 queries averaged (1 missing from the run counts as 0). "
        in text
    )
    assert text.count("ties by document id, descending") == 1


def test_results_that_are_made_later_are_the_same():
    given = ({"q1": {"a": 1}, "q2": {"b": 1}}, {"x": {"q1": ["a"]}, "y": {"q2": ["a", "b"]}}, ["RR"])
    one, other = rl.compare(*given), rl.compare(*given)
    assert one.results == other.results == tuple(other.results)
    assert hash(one.results) == hash(other.results)
    assert pickle.loads(pickle.dumps(one)).results == other.results
    assert one.results[:1] == tuple(other.results)[:1]
