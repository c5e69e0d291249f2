"""What a comparison may claim: each test here reproduces a claim that was once false."""

import json
import re

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import ranklens as rl
from ranklens.comparison.alignment import align
from ranklens.stats import queries_needed

RNG = np.random.default_rng(5)


def table(**columns):
    n = len(next(iter(columns.values())))
    return pl.DataFrame({"query": [f"q{i:05}" for i in range(n)], **columns})


def compared(values, measure="nDCG@10", **options):
    return rl.compare_scores({name: table(**{measure: row}) for name, row in values.items()}, **options)


def test_slices_times_systems_do_not_silence_the_default_test():
    n, slices = 30 * 30, 30
    base = RNG.random(n) * 0.2
    values = {f"s{i:02}": np.clip(base + 0.04 * i + RNG.normal(0, 0.01, n), 0, 1) for i in range(20)}
    by = {f"q{i:05}": f"slice {i % slices}" for i in range(n)}
    found = compared(values, by=by)
    assert all(part.pairs.parts[0].significant.all() for part in found.slices)
    text = " ".join(found.cautions)
    assert "In slices, the paired t test was used in place of the randomisation test" in text
    assert "5,700 tests" in text
    assert "this few queries" not in text
    assert found.test == "randomization"  # 190 pairs over all queries can be resampled


def test_successes_have_intervals_with_width_and_a_test_of_their_own():
    a, b = np.repeat([1.0, 1.0, 0.0], [20, 4, 16]), np.repeat([1.0, 0.0, 1.0], [20, 4, 16])
    found = compared({"a": a, "b": b}, "Success@5")
    pair = found.pair("Success@5", "a", "b")
    assert pair.p_value == pytest.approx(
        mcnemar([[20, 4], [16, 0]], exact=True).pvalue - 4845 / 2**20  # the chance of 4 of 20
    )
    assert pair.interval.method == "bonett-price"
    assert found.result("Success@5", "a").interval.method == "wilson"
    assert "McNemar's mid-p test" in str(found)
    all_right = compared({"a": np.ones(8), "b": np.ones(8)}, "Success@5")
    low, high = all_right.result("Success@5", "a").interval
    assert (low, high) == (pytest.approx(0.6756, abs=1e-4), 1)
    low, high = all_right.pair("Success@5", "a", "b").interval
    assert low < 0 < high


def test_a_test_that_was_named_is_the_one_that_is_done():
    a, b = np.repeat([1.0, 1.0, 0.0], [20, 4, 16]), np.repeat([1.0, 0.0, 1.0], [20, 4, 16])
    chosen = compared({"a": a, "b": b}, "Success@5")
    named = compared({"a": a, "b": b}, "Success@5", test="randomization")
    assert (chosen.test, named.test) == ("mcnemar", "randomization")
    assert named.pairs[0].p_value == pytest.approx(mcnemar([[20, 4], [16, 0]], exact=True).pvalue)
    assert "Exact randomisation test" in str(named)
    assert "mid-p" not in str(named)
    for found, test in ((chosen, "mcnemar"), (named, "randomization")):
        assert json.loads(found.to_json())["settings"]["test"] == test
        assert json.loads(found.to_json())["pairs"][0]["test"] == test


def test_the_test_of_each_measure_and_slice_is_named():
    values = np.linspace(0, 1, 30)
    both = {
        name: table(**{"nDCG@10": values * factor, "Success@5": np.repeat([0.0, 1.0], [cut, 30 - cut])})
        for name, factor, cut in (("a", 0.9, 12), ("b", 1.0, 8))
    }
    found = rl.compare_scores(both, by={f"q{i:05}": f"s{i % 2}" for i in range(30)})
    done = {(row["measure"], row["slice"]): row["test"] for row in found.pairs_frame().to_dicts()}
    assert {test for (measure, _), test in done.items() if measure == "Success@5"} == {"mcnemar"}
    assert {test for (measure, _), test in done.items() if measure == "nDCG@10"} == {"randomization"}
    assert {part for _, part in done} == {None, "s0", "s1"}


def test_a_column_of_0_and_1_from_elsewhere_is_a_share_too():
    values = {"a": RNG.integers(0, 2, 30).astype(float), "b": RNG.integers(0, 2, 30).astype(float)}
    assert compared(values, "answered").result("answered", "a").interval.method == "wilson"


def test_frames_and_json_name_the_method_of_every_interval():
    found = compared({"a": np.ones(8), "b": RNG.random(8)})
    assert found.to_frame()["method"].to_list()[0] == "wilson"
    assert found.pairs_frame()["method"].to_list() == ["t"]
    assert json.loads(found.to_json())["pairs"][0]["method"] == "t"
    assert found.pairs_frame(["cliff_delta"]).item() == found.pairs[0].effect.cliff_delta


@pytest.mark.parametrize(("test", "least"), [("randomization", 6), ("sign", None), ("t", 2)])
def test_queries_needed_are_at_least_what_the_test_needs(test, least):
    found = compared({"a": [0.1, 0.2, 0.15], "b": [0.5, 0.62, 0.54]}, test=test)
    pair = found.pairs[0]
    needed = found.queries_needed(pair)
    assert needed == least or (least == 2 and needed >= 2)
    if test == "randomization":
        assert np.isinf(pair.detectable)
        assert "with 3 queries the test cannot show any difference" in pair.verdict


def test_power_is_that_of_the_test_and_the_correction():
    values = {f"s{i}": RNG.random(40) for i in range(3)}
    paired, unpaired = (compared(values, test=test).pairs[0] for test in ("t", "welch"))
    a, b = values["s0"], values["s1"]
    assert paired.deviation == pytest.approx((b - a).std(ddof=1))
    assert unpaired.deviation == pytest.approx((a.var(ddof=1) + b.var(ddof=1)) ** 0.5)
    assert unpaired.interval.method == "welch"
    levels = {"none": 0.05, "holm": 0.05 / 3, "bh": 0.05 / 3, "by": 0.05 / 3 / (1 + 1 / 2 + 1 / 3)}
    for correction, level in levels.items():
        found = compared(values, test="t", correction=correction)
        assert found.contrasts("nDCG@10").alpha == pytest.approx(level)
        pair = found.pairs[0]
        assert found.queries_needed(pair) == queries_needed(pair.difference, pair.deviation, alpha=level)


def test_welchs_interval_is_scipys():
    from scipy.stats import ttest_ind

    a, b = RNG.random(30), RNG.random(30) + 0.2
    found = compared({"a": a, "b": b}, "score", test="welch").pairs[0]
    theirs = ttest_ind(b, a, equal_var=False).confidence_interval()
    assert tuple(found.interval) == pytest.approx((theirs.low, theirs.high))


def test_a_column_can_be_better_where_it_is_lower():
    slow, fast = RNG.random(30) + 120, RNG.random(30) + 100
    given = {"slow": table(latency_ms=slow), "fast": table(latency_ms=fast)[:28]}
    found = rl.compare_scores(given, better={"latency_ms": "lower"})
    assert found.verdict("latency_ms").endswith("Choose fast.")
    assert len(found.query_ids) == 28  # a query that is missing does not count as 0 ms, the best
    assert any(c.startswith("Left out because a system lacks them: 2 queries") for c in found.cautions)
    with pytest.raises(rl.InputError, match="0 would be the best value"):
        rl.compare_scores(given, better={"latency_ms": "lower"}, missing="zero")
    undeclared = rl.compare_scores(given)
    assert undeclared.verdict("latency_ms").startswith("slow is higher than fast by ")
    assert "Choose" not in undeclared.verdict()
    assert len(undeclared.query_ids) == 28
    assert any(
        c.startswith("RankLens does not know whether higher or lower values of latency_ms are better")
        for c in undeclared.cautions
    )
    said = rl.compare_scores(given, better={"latency_ms": "higher"}, missing="zero")
    assert said.verdict("latency_ms").endswith("Choose slow.")


def test_the_system_with_the_lower_costs_wins():
    times = np.array([90.0, 110, 100, 120, 80, 95, 105, 115, 85, 100])
    fast = times - [20, 15, 25, 10, 30, 20, 15, 25, -10, -5]  # faster for eight of ten queries
    given = {"old": table(latency_ms=times), "new": table(latency_ms=fast)}
    found = rl.compare_scores(given, better={"latency_ms": "lower"})
    pair = found.pair("latency_ms", "old", "new")
    assert (pair.wins, pair.ties, pair.losses) == (8, 0, 2)
    assert (pair.effect.wins, pair.effect.losses, pair.effect.probability) == (8, 2, 0.8)
    assert pair.effect.probability_interval.low < 0.8 < pair.effect.probability_interval.high
    assert pair.difference < 0  # which is mean_b - mean_a, whichever end is better
    turned = found.pair("latency_ms", "new", "old")
    assert (turned.wins, turned.losses, turned.effect.probability) == (2, 8, pytest.approx(0.2))
    assert found.pairs_frame(["wins", "losses", "probability"]).row(0) == (8, 2, 0.8)
    assert json.loads(found.to_json())["pairs"][0]["wins"] == 8
    assert re.search(r"new vs old .* 8/0/2 ", str(found))
    higher = rl.compare_scores(given, better={"latency_ms": "higher"}).pair("latency_ms", "old", "new")
    assert (higher.wins, higher.losses) == (2, 8)


def test_wins_of_a_measure_of_errors_are_losses_of_its_reverse():
    ranked = {
        name: {f"q{i}": ["a", "b", "c"] if i % 4 else order for i in range(12)}
        for name, order in (("good", ["a", "b", "c"]), ("bad", ["c", "b", "a"]))
    }
    qrels = {f"q{i}": {"a": 1, "c": 0, "b": 0} for i in range(12)}
    found = rl.compare(qrels, ranked, ["RankingLoss", "RR"])
    loss, rr = (found.pair(name, "bad", "good") for name in ("RankingLoss", "RR"))
    assert (loss.wins, loss.ties, loss.losses) == (rr.wins, rr.ties, rr.losses) == (3, 9, 0)
    assert loss.effect.probability == rr.effect.probability


@pytest.mark.parametrize(
    ("better", "message"),
    [
        ({"latency": "lower"}, "latency is not compared: did you mean 'latency_ms'"),
        ({"latency_ms": "less"}, "'less' is not known for latency_ms"),
        ({"RR": "lower"}, "RR is a measure whose higher values are better"),
    ],
)
def test_what_is_better_is_checked(better, message):
    given = {name: table(latency_ms=RNG.random(5), RR=RNG.random(5)) for name in "ab"}
    with pytest.raises(rl.InputError, match=message):
        rl.compare_scores(given, better=better)


def test_nothing_is_advised_after_one_query():
    assert "Choose" not in compared({"a": [0.1], "b": [0.9]}).verdict()


def test_no_number_of_queries_where_the_difference_is_hardly_more_than_a_guess():
    a = RNG.random(200)
    found = compared({"a": a, "b": np.clip(a + RNG.normal(0.001, 0.2, 200), 0, 1)})
    assert abs(found.pairs[0].difference) < 0.01
    assert "queries would show it" not in found.verdict()


def both(n=60):
    """dense is better by nDCG@10, bm25 by RR."""
    a, noise = RNG.random(n) * 0.5, RNG.normal(0, 0.02, (2, n))
    return {
        "bm25": table(**{"nDCG@10": a, "RR": np.clip(a + 0.2, 0, 1)}),
        "dense": table(**{"nDCG@10": np.clip(a + 0.2 + noise[0], 0, 1), "RR": np.clip(a + noise[1], 0, 1)}),
    }


def test_measures_of_one_family_that_disagree_end_in_one_conclusion():
    found = rl.compare_scores(both(), family="all")
    assert found.primary is None
    assert "Choose" not in found.verdict()
    assert found.conclusion.startswith(
        "The measures disagree on which system to choose: dense by nDCG@10; bm25 by RR."
    )
    assert json.loads(found.to_json())["conclusion"] == found.conclusion
    assert "Conclusion: The measures disagree" in str(found)


@pytest.mark.parametrize("primary", [None, "ndcg_cut_10"])
def test_the_recommendation_rests_on_the_primary_measure_which_is_the_first(primary):
    found = rl.compare_scores(both(), primary=primary)
    assert found.primary == "nDCG@10"
    assert found.verdict("nDCG@10").endswith("Choose dense.")
    assert "Choose" not in found.verdict("RR")
    assert "p < 0.001, not corrected over measures;" in found.verdict("RR")
    assert "corrected over measures" not in found.verdict("nDCG@10")
    assert found.conclusion == (
        "Any recommendation rests on nDCG@10 alone, the primary measure; RR is described only, not corrected over measures. "
        "By RR, however, bm25 is better than dense."
    )
    assert rl.Comparison.from_json(found.to_json()).conclusion == found.conclusion


def test_another_measure_can_be_primary():
    found = rl.compare_scores(both(), primary="RR")
    assert found.verdict("RR").endswith("Choose bm25.")
    assert "Choose" not in found.verdict("nDCG@10")
    assert found.conclusion.endswith("By nDCG@10, however, dense is better than bm25.")
    with pytest.raises(rl.MeasureError, match="primary measure AP is not compared"):
        rl.compare_scores(both(), primary="AP")


def test_the_first_measure_that_can_be_tested_and_rated_is_primary():
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(8)}
    runs = {"a": {q: ["a"] for q in qrels}, "b": {q: ["b", "a"] for q in qrels}}
    assert rl.compare(qrels, runs, ["NumRel", "Judged@5", "RR", "AP"]).primary == "RR"
    assert rl.compare(qrels, runs, "rag").primary == "R@5"
    assert rl.compare(qrels, runs, ["NumRel"]).primary is None


def test_several_measures_are_never_called_a_single_comparison():
    """The text, the methods paragraph and the caption say that nothing is corrected over measures."""
    a = RNG.random(30)
    qrels = {f"q{i}": {"d": 1} for i in range(30)}
    runs = {
        name: {q: ["x"] * 0 + (["d", "e"] if v > cut else ["e", "d"]) for q, v in zip(qrels, a, strict=True)}
        for name, cut in (("one", 0.3), ("two", 0.5))
    }
    found, alone = rl.compare(qrels, runs, ["RR", "AP", "nDCG"]), rl.compare(qrels, runs, "RR")
    for text in (str(found), str(found.methods()), found.to_latex(), found.to_latex(notes="full")):
        assert "not corrected over measures" in " ".join(text.replace("%", " ").split())
        assert "no correction needed" not in text
        assert "nothing to correct" not in text
    assert "a single pair: no correction needed" in " ".join(str(alone).split())
    assert "over measures" not in str(alone)
    family = rl.compare(qrels, runs, ["RR", "AP", "nDCG"], family="all")
    assert "not corrected over measures" not in str(family)


@pytest.mark.slow
def test_equal_systems_are_seldom_recommended_by_default():
    """Three measures that see the same runs, and a recommendation in no more comparisons than one measure gives."""
    rng, advised = np.random.default_rng(4), 0
    for _ in range(400):
        ease = rng.normal(0, 1, 30)
        latent = ease + rng.normal(0, 0.7, (2, 30))
        given = {
            name: table(**{m: row + rng.normal(0, 0.5, 30) for m in ("first", "second", "third")})
            for name, row in zip("ab", latent, strict=True)
        }
        text = rl.compare_scores(given, test="t").verdict()
        advised += "Choose" in text or "Prefer" in text
    assert advised / 400 <= 0.083  # 0.05, and three standard errors


def test_a_family_of_all_measures_is_corrected_together():
    given = {f"s{i}": table(**{m: RNG.random(40) for m in ("nDCG@10", "RR", "AP")}) for i in range(3)}
    found = rl.compare_scores(given, family="all", test="t")
    raw = [pair.p_value for pair in found.pairs]
    assert [pair.adjusted_p for pair in found.pairs] == pytest.approx(multipletests(raw, method="holm")[1])
    assert "Holm over the 9 pairs of all measures" in str(found)
    with pytest.raises(rl.InputError, match="family='every'"):
        rl.compare_scores(given, family="every")


def test_equal_systems_over_six_measures_are_seldom_called_different_by_a_family():
    rng, wrong, plain = np.random.default_rng(0), 0, 0
    measures = ["nDCG@10", "RR", "AP", "P@5", "R@10", "R@100"]
    for _ in range(150):
        given = {name: table(**{m: rng.random(30) for m in measures}) for name in "ab"}
        wrong += any(pair.significant for pair in rl.compare_scores(given, family="all", test="t").pairs)
        plain += any(pair.significant for pair in rl.compare_scores(given, test="t").pairs)
    assert wrong / 150 <= 0.09  # 0.05, and three standard errors
    assert plain > 2 * wrong


def test_effect_sizes_have_intervals_however_many_pairs():
    found = compared({f"s{i:03}": RNG.random(10) for i in range(150)}, test="t")
    frame = found.pairs_frame(["hedges_g", "hedges_g_low", "hedges_g_high"])
    assert len(frame) == 11_175
    assert frame.null_count().row(0) == (0, 0, 0)


def test_judgments_are_compared_at_a_common_depth():
    """Of a longer run a smaller share is judged, though its top is judged just as well."""
    qrels = {f"q{i}": {f"d{j}": int(j % 3 > 0) for j in range(12)} for i in range(10)}
    short = {q: [f"d{j}" for j in range(10)] for q in qrels}
    long = {q: [f"d{j}" for j in range(11, 1, -1)] + [f"x{j}" for j in range(90)] for q in qrels}
    found = rl.compare(qrels, {"short": short, "long": long}, "AP")
    assert not any("favour" in c for c in found.cautions)
    assert align({"a": {"q": {"RR": 1.0}}}).quantities[0].is_known


def test_small_differences_in_few_queries_come_with_a_caution():
    """Equal means: b gains 0.8 in 5% of queries and loses a little in the others, so that samples without a gain look worse."""
    rng, wrong, warned = np.random.default_rng(3), 0, 0
    for _ in range(60):
        a = rng.uniform(0.15, 0.2, 25)
        gains = rng.random(25) < 0.05
        b = np.where(gains, a + 0.8, a - 0.8 * 0.05 / 0.95 * rng.uniform(0.8, 1.2, 25))
        found = compared({"a": a, "b": b})
        if found.pairs[0].significant:
            wrong += 1
            warned += "go undetected 20% of the time" in " ".join(found.cautions)
    assert wrong >= 8
    assert warned == wrong
    large = compared({"a": np.tile([0.1, 0.2], 20), "b": np.tile([0.6, 0.8], 20)})
    assert large.pairs[0].significant
    assert "go undetected" not in " ".join(large.cautions)


def test_skewed_latencies_come_with_a_caution():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.normal(4, 1.5, (2, 40)))
    assert "latency_ms are strongly skewed" in " ".join(compared({"a": a, "b": b}, "latency_ms").cautions)
    even = rng.normal(100, 5, (2, 40))
    assert "skewed" not in " ".join(compared({"a": even[0], "b": even[1]}, "latency_ms").cautions)
    assert "skewed" not in " ".join(compared({"a": a / a.max(), "b": b / b.max()}).cautions)  # nDCG has ends


@pytest.mark.parametrize("n", [4, 8, 20])
def test_values_that_are_not_skewed_rarely_come_with_that_caution(n):
    rng = np.random.default_rng(n)
    found = [compared({"a": rng.normal(100, 10, n)}, "latency_ms").cautions for _ in range(100)]
    assert sum("strongly skewed" in " ".join(said) for said in found) <= 15


def test_slices_are_a_second_chance_of_which_a_caution_says_so():
    rng = np.random.default_rng(0)
    values = {"a": rng.random(40), "b": rng.random(40)}
    by = {f"q{i:05}": "ab"[i % 2] for i in range(40)}
    assert "in up to 10% of comparisons" in " ".join(compared(values, by=by).cautions)
    assert "corrected separately" not in " ".join(compared(values).cautions)


def test_harmless_differences_rarely_come_with_that_caution():
    """Similar systems that win some queries and lose others."""
    rng, shown, warned = np.random.default_rng(5), 0, 0
    for _ in range(60):
        a = rng.beta(2, 2, 25)
        found = compared({"a": a, "b": np.clip(a + rng.normal(0.05, 0.1, 25), 0, 1)}, test="t")
        shown += bool(found.pairs[0].significant)
        warned += "go undetected" in " ".join(found.cautions)
    assert shown >= 30
    assert warned <= 0.1 * shown


def test_cautions_count_clusters_where_queries_come_in_clusters():
    rng = np.random.default_rng(2)
    a = rng.beta(2, 2, 40) * 0.8
    values = {"a": a, "b": a + 0.03 + 0.01 * rng.random(40)}
    found = compared(values, clusters={f"q{i:05}": f"t{i // 5}" for i in range(40)})
    said = " ".join(found.cautions)
    assert "There are only 8 clusters of queries" in said
    assert "differ by at most 0.04 in any query" in said
    assert (
        "With 8 clusters of queries, large differences in 18% of clusters go undetected 20% of the time"
        in said
    )
    assert "n = 40 queries in 8 clusters" in found.methods().text
    found = compared(values, clusters={f"q{i:05}": f"t{i // 10}" for i in range(40)})
    assert "with 4 clusters of queries the test gives no p-value below 0.125" in " ".join(found.cautions)
    found = compared(values, clusters=dict.fromkeys((f"q{i:05}" for i in range(40)), "t"))
    assert "There is only one cluster of queries" in found.cautions[0] + found.cautions[1]


def test_methods_name_every_column_and_cite_what_was_done():
    rng = np.random.default_rng(3)
    times = {name: rng.normal(100, 10, 30) for name in "abc"}
    text = compared(times, "latency_ms", better={"latency_ms": "lower"}, level=0.9).methods().text
    assert text.startswith("We report latency_ms. ")
    assert "90% intervals are Student's t" in text
    tukey = compared({name: rng.random(30) for name in "abc"}, test="tukey").methods().text
    assert "tested with Tukey's HSD" in tukey
    assert "see Carterette 2012." in tukey
    joint = compared({name: rng.random(30) for name in "abc"}, intervals="simultaneous").methods().text
    assert "see Hothorn et al. 2008." in joint
    judged = compared({name: rng.random(30) for name in "ab"}, margin=0.01).methods()
    assert "the bound of Fay and Feuer (1997)" in judged.text
    assert "fay1997" in judged.bibtex
    by = {f"q{i:05}": f"slice {i % 3}" for i in range(30)}
    sliced = compared({name: rng.random(30) for name in "abc"}, by=by).methods().text
    assert "In slices, p-values are corrected over the 9 tests of each measure in all slices." in sliced


def test_methods_count_the_queries_that_were_compared():
    qrels = {q: {"a": 1} for q in "abcd"}
    runs = {"x": {q: ["a"] for q in "abc"}, "y": {q: ["a"] for q in "bcd"}}
    text = rl.compare(qrels, runs, "RR", missing="skip").methods().text
    assert "Means are over 2 queries (1 missing from the run left out)." in text


def test_methods_state_policies_that_differ():
    qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1, "x": 1}, "r": {"b": 1, "x": 1}}
    scores = {ties: rl.evaluate(qrels, run, "RR", ties=ties) for ties in ("ascending", "descending")}
    text = rl.compare_scores(scores).methods().text
    assert "ties is ascending for ascending; descending for descending" in text
    assert "are ordered" not in text


def test_methods_give_the_reason_for_another_test():
    values = {f"s{i:03}": RNG.random(20) for i in range(121)}
    reason = (
        "The paired t test was used in place of the randomisation test: with 100,000 resamples no p-value stays small when corrected "
        "for 7,260 tests. 95% intervals"
    )
    assert reason in compared(values).methods().text
    assert "in place of" not in compared(values, test="t").methods().text


@pytest.mark.parametrize("gains", [(0.07, 0.12, 0.13, 0.16, 0.205), (0.1, 0.12, 0.1, 0.14, 0.2)])
def test_the_number_of_queries_that_is_named_detects_the_difference(gains):
    """With few queries, randomisation finds less than the t test."""
    a = np.array([0.2, 0.3, 0.4, 0.25, 0.32])
    found = compared({"a": a, "b": a + gains})
    said = re.search(r"true difference is ([\d.]+),.* need about (\d+) queries", found.verdict())
    least, n = float(said[1]), int(said[2])
    changes = np.random.default_rng(1).normal(least, found.pairs[0].deviation, (2_000, n))
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    sums = np.abs(changes @ signs.T)
    p = (sums >= np.abs(changes.sum(axis=1))[:, None] - 1e-12).mean(axis=1)
    assert (p <= 0.05).mean() >= 0.77
