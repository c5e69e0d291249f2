"""More than sixty constructed comparisons and what is said of them, to be read as a hostile referee would.

No sentence claims more than its test supports, and none contradicts another; what must hold of all of them is checked below.
"""

import re

import numpy as np
import pytest

import ranklens as rl
from ranklens.comparison import wording
from ranklens.stats import power_of

RNG = np.random.default_rng(11)
EASY = np.round(np.clip(RNG.normal(0.5, 0.2, 400), 0, 1), 2)  # how easy each query is, for all systems
LUCK = np.round(RNG.normal(0, 0.1, (6, 400)), 2)


def system(n, better=0.0, luck=0, noise=1.0):
    """A system over n queries: easy ones are easy for all, and each system has its own luck."""
    return np.round(np.clip(EASY[:n] + better + noise * LUCK[luck][:n], 0, 1), 3)


def compared(values, measure="nDCG@10", **options):
    """Systems, each with one value per query; or with several measures."""
    tables = {
        name: {
            f"q{i:03}": {
                m: float(v[i]) for m, v in (rows if isinstance(rows, dict) else {measure: rows}).items()
            }
            for i in range(len(next(iter(rows.values())) if isinstance(rows, dict) else rows))
        }
        for name, rows in values.items()
    }
    return rl.compare_scores(tables, **options)


def two(n, better, **options):
    return compared({"bm25": system(n), "dense": system(n, better, 1)}, **options)


def halves(n):
    return {f"q{i:03}": "long" if i < n // 2 else "short" for i in range(n)}


def several_systems(n, gains, **options):
    return compared({f"s{i}": system(n, gain, i) for i, gain in enumerate(gains)}, **options)


def success(a_only, b_only, both, neither):
    """Paired successes and failures of two systems."""
    a = np.repeat([1.0, 0.0, 1.0, 0.0], [a_only, b_only, both, neither])
    b = np.repeat([0.0, 1.0, 1.0, 0.0], [a_only, b_only, both, neither])
    return compared({"bm25": a, "dense": b}, "Success@5")


def lottery(n, **options):
    """dense wins nearly always, by little, and loses rarely, by much."""
    a = np.full(n, 0.1)
    b = a + 0.02
    a[-2:], b[-2:] = 1.0, 0.0
    return compared({"bm25": a, "dense": b}, **options)


def latency(n, **options):
    times = 100 * system(n)
    return compared(
        {"old": times + 20, "new": times + 5 * LUCK[2][:n]},
        "latency_ms",
        better={"latency_ms": "lower"},
        **options,
    )


def conflicting(n, **options):
    """dense has the better nDCG@10, bm25 the better R@100."""
    return compared(
        {
            "bm25": {"nDCG@10": system(n), "R@100": system(n, 0.1, 2)},
            "dense": {"nDCG@10": system(n, 0.1, 1), "R@100": system(n, 0.0, 3)},
        },
        None,
        **options,
    )


def agreeing(n, **options):
    return compared(
        {
            "bm25": {"nDCG@10": system(n), "R@100": system(n, 0.0, 2)},
            "dense": {"nDCG@10": system(n, 0.1, 1), "R@100": system(n, 0.1, 3)},
        },
        None,
        **options,
    )


def turned_in_a_slice(n):
    """dense is much better for the first half of the queries and a little worse for the others."""
    b = system(n, 0.2, 1)
    b[n // 2 :] = system(n, -0.08, 1)[n // 2 :]
    return compared({"bm25": system(n), "dense": b}, by=halves(n))


def with_unjudged():
    """new retrieves documents that nobody judged, old does not."""
    qrels = {f"q{i:03}": {f"d{j}": int(j < 4) for j in range(8)} for i in range(30)}
    old = {q: ["d0", "d5", "d1", "d6"] if i % 5 else ["d0", "d1", "d2", "d5"] for i, q in enumerate(qrels)}
    new = {q: ["d0", "x1", "x2", "d7"] for q in qrels}
    return rl.compare(qrels, {"old": old, "new": new}, "P@4")


def measured(n, gains, **options):
    """Two systems by several measures: what dense gains in each."""
    return compared(
        {
            "bm25": {m: system(n, 0.0, 2 * i) for i, m in enumerate(gains)},
            "dense": {m: system(n, gain, 2 * i + 1) for i, (m, gain) in enumerate(gains.items())},
        },
        None,
        **options,
    )


def topics(clusters, each, better, noise=1.0, **options):
    """Queries of a topic gain the same; topics differ."""
    gains = better + noise * np.repeat(LUCK[5][:clusters], each)
    n = clusters * each
    return compared(
        {"bm25": np.full(n, 0.4), "dense": np.round(0.4 + gains, 3)},
        clusters={f"q{i:03}": f"topic {i // each}" for i in range(n)},
        **options,
    )


def gains(*by_query, **options):
    """What dense gains in each query."""
    return compared({"bm25": np.full(len(by_query), 0.3), "dense": 0.3 + np.array(by_query)}, **options)


def counted():
    qrels = {f"q{i}": {"d1": 1, "d2": 1} for i in range(5)}
    return rl.compare(
        qrels, {"a": {q: ["d1"] for q in qrels}, "b": {q: ["d2", "d1"] for q in qrels}}, "NumRelRet"
    )


BUILD = {
    "a clear difference": lambda: two(100, 0.05),
    "a difference that was lucky to be found": lambda: two(50, 0.03),
    "no difference, and none is shown": lambda: two(50, 0.0),
    "a difference that more queries would show": lambda: two(30, 0.025),
    "three queries": lambda: two(3, 0.1),
    "one query": lambda: two(1, 0.1),
    "the same values throughout": lambda: compared({"bm25": system(20), "copy": system(20)}),
    "always the same difference": lambda: compared({"bm25": np.full(8, 0.5), "dense": np.full(8, 0.6)}),
    "means that are equal, values that are not": lambda: compared(
        {"bm25": np.tile([0.2, 0.4], 10), "dense": np.tile([0.4, 0.2], 10)}
    ),
    "successes: a clear difference": lambda: success(2, 15, 20, 13),
    "successes: all of both": lambda: success(0, 0, 8, 0),
    "successes: three more of fifty": lambda: success(0, 3, 44, 3),
    "the t test": lambda: two(100, 0.05, test="t"),
    "unpaired": lambda: two(100, 0.05, test="welch"),
    "Wilcoxon, where means agree": lambda: two(60, 0.05, test="wilcoxon"),
    "Wilcoxon against the means": lambda: lottery(20, test="wilcoxon"),
    "signs, where means agree": lambda: two(60, 0.05, test="sign"),
    "signs against the means": lambda: lottery(20, test="sign"),
    "three systems, one best": lambda: several_systems(80, [0.0, 0.02, 0.15]),
    "three systems, two ahead": lambda: several_systems(80, [0.0, 0.1, 0.1]),
    "three systems, none apart": lambda: several_systems(20, [0.0, 0.0, 0.0]),
    "Tukey's test": lambda: several_systems(80, [0.0, 0.02, 0.15], test="tukey"),
    "against a baseline: one better": lambda: several_systems(80, [0.0, 0.0, 0.15], baseline="s0"),
    "against a baseline: none better": lambda: several_systems(80, [0.1, 0.0, 0.1], baseline="s0"),
    "against a baseline: all worse": lambda: several_systems(80, [0.2, 0.0, 0.0], baseline="s0"),
    "less is better": lambda: latency(40),
    "two measures agree": lambda: agreeing(80),
    "two measures disagree": lambda: conflicting(80),
    "two measures disagree, one is primary": lambda: conflicting(80, primary="nDCG@10"),
    "two measures as one family": lambda: agreeing(80, family="all"),
    "a slice against the whole": lambda: turned_in_a_slice(120),
    "a difference inside the margin": lambda: compared(
        {"bm25": 0.8 * system(200), "dense": 0.8 * system(200) + 0.004 + 0.1 * LUCK[3][:200]}, margin=0.02
    ),
    "a difference that rests on one query": lambda: compared(
        {"bm25": np.full(12, 0.3), "dense": 0.3 + np.r_[0.09, np.full(5, 0.05), np.full(5, 0.02), -0.07]}
    ),
    "a margin that shows two to be equivalent": lambda: compared(
        {"bm25": 0.1 + 0.8 * system(200), "dense": 0.1 + 0.8 * system(200) + 0.1 * LUCK[4][:200]}, margin=0.02
    ),
    "equivalent by the primary measure, apart by another": lambda: compared(
        {
            "bm25": {"nDCG@10": 0.1 + 0.8 * system(200), "R@100": system(200, 0.1, 2)},
            "dense": {"nDCG@10": 0.1 + 0.8 * system(200) + 0.1 * LUCK[4][:200], "R@100": system(200, 0.0, 3)},
        },
        None,
        margin={"nDCG@10": 0.02},
    ),
    "a margin that does not help": lambda: two(30, 0.025, margin=0.01),
    "no worse than the baseline": lambda: compared(
        {"bm25": 0.1 + 0.8 * system(60), "dense": 0.105 + 0.8 * system(60) + 0.3 * LUCK[4][:60]},
        margin=0.01,
        baseline="bm25",
    ),
    "a cheaper system that is a little worse": lambda: compared(
        {"large": 0.105 + 0.8 * system(200), "small": 0.1 + 0.8 * system(200) + 0.1 * LUCK[3][:200]},
        margin=0.02,
        baseline="large",
    ),
    "queries that belong together": lambda: two(
        80, 0.05, clusters={f"q{i:03}": f"topic {i // 8}" for i in range(80)}
    ),
    "a result that rests on one topic": lambda: compared(
        {"bm25": np.full(40, 0.3), "dense": 0.3 + np.repeat([0.2, *[0.05] * 6, 0.01, -0.02, -0.02], 4)},
        clusters={f"q{i:03}": f"topic {i // 4}" for i in range(40)},
    ),
    "documents that nobody judged": with_unjudged,
    "a share of false discoveries": lambda: several_systems(40, [0.0, 0.02, 0.04], correction="bh"),
    "three measures, nothing to find": lambda: measured(20, {"nDCG@10": 0.0, "RR": 0.0, "R@100": 0.0}),
    "three measures, one that is not the first finds something": lambda: measured(
        60, {"nDCG@10": -0.04, "RR": 0.06, "R@100": 0.0}
    ),
    "three measures, the first finds something": lambda: measured(
        60, {"nDCG@10": 0.06, "RR": 0.0, "R@100": 0.0}
    ),
    "the last measure is primary": lambda: measured(
        60, {"nDCG@10": -0.04, "RR": 0.06, "R@100": 0.0}, primary="RR"
    ),
    "one family, one of two finds something": lambda: measured(20, {"nDCG@10": 0.0, "RR": 0.0}, family="all"),
    "one family that disagrees": lambda: conflicting(80, family="all"),
    "one family with a primary measure": lambda: agreeing(80, family="all", primary="R@100"),
    "two measures against a baseline": lambda: conflicting(80, baseline="bm25"),
    "four clusters": lambda: topics(4, 10, 0.1),
    "clusters, and nothing is shown": lambda: topics(12, 5, 0.0),
    "clusters of which few more would be enough": lambda: topics(5, 8, 0.2, 0.5),
    "a win that was unlikely, by cluster": lambda: topics(12, 5, 0.06),
    "less is better, and nothing is shown": lambda: compared(
        {"old": 100 * system(30), "new": 100 * system(30, 0.0, 1)},
        "latency_ms",
        better={"latency_ms": "lower"},
    ),
    "less is better, by wins": lambda: latency(40, test="sign"),
    "nobody said what is better": lambda: compared(
        {"old": 100 * system(40) + 20, "new": 100 * system(40)}, "latency_ms"
    ),
    "nobody said what is better, and nothing is shown": lambda: compared(
        {"old": 100 * system(30), "new": 100 * system(30, 0.0, 1)}, "latency_ms"
    ),
    "a geometric mean": lambda: compared(
        {"bm25": 0.05 + 0.5 * system(60), "dense": 0.1 + 0.5 * system(60)}, "gm_AP"
    ),
    "a geometric mean, and nothing is shown": lambda: compared(
        {"bm25": 0.1 + 0.8 * system(30), "dense": 0.1 + 0.8 * system(30, 0.0, 1)}, "gm_AP"
    ),
    "simultaneous intervals": lambda: several_systems(80, [0.0, 0.02, 0.15], intervals="simultaneous"),
    "simultaneous intervals, and nothing is shown": lambda: several_systems(
        20, [0.0, 0.0, 0.0], intervals="simultaneous"
    ),
    "simultaneous intervals of a difference that is always the same": lambda: compared(
        {"bm25": np.array([0.2, 0.5, 0.9, 0.4]), "dense": np.array([0.3, 0.6, 1.0, 0.5])},
        intervals="simultaneous",
    ),
    "three systems, not corrected": lambda: several_systems(40, [0.0, 0.02, 0.04], correction="none"),
    "an interval that is not corrected": lambda: several_systems(40, [0.0, 0.03, 0.03, 0.055]),
    "a count": counted,
    "one system": lambda: compared({"bm25": system(20)}),
    "three systems with the same values": lambda: compared({name: system(20) for name in "abc"}),
    "two of three systems have the same values": lambda: compared(
        {"a": system(40), "b": system(40, 0.1, 1), "c": system(40, 0.1, 1)}
    ),
    "the same values, with a margin": lambda: compared({"bm25": system(20), "copy": system(20)}, margin=0.01),
    "one query with the same value, with a margin": lambda: compared({"a": [0.5], "b": [0.5]}, margin=0.01),
    "one of three is the same, with a margin": lambda: compared(
        {"a": 0.8 * system(200), "b": 0.8 * system(200), "c": 0.8 * system(200) + 0.02 + 0.1 * LUCK[4][:200]},
        margin=0.05,
    ),
    "any one of several queries decides": lambda: gains(*[0.1] * 6, *[0.0] * 6),
    "successes that hinge on any win": lambda: success(0, 5, 20, 15),
    "few queries, each of which decides": lambda: gains(*[0.1] * 6),
    "against a baseline: two better": lambda: several_systems(80, [0.0, 0.1, 0.15], baseline="s0"),
    "against a baseline: none apart": lambda: several_systems(20, [0.0, 0.0, 0.0], baseline="s0"),
    "a tiny difference over many queries": lambda: compared(
        {"bm25": 0.8 * system(400), "dense": 0.8 * system(400) + 0.0008}
    ),
    "a level of 0.99": lambda: two(40, 0.02, level=0.99),
    "the bootstrap": lambda: two(60, 0.05, test="bootstrap"),
    "slices that agree": lambda: compared({"bm25": system(80), "dense": system(80, 0.15, 1)}, by=halves(80)),
    "slices, and nothing is shown": lambda: compared(
        {"bm25": system(40), "dense": system(40, 0.0, 1)}, by=halves(40)
    ),
}

# What is said, by case: one line per measure, and the conclusion where there is one.
SAID = {
    "a clear difference": [
        "nDCG@10: dense is better than bm25 by 0.068 [0.040, 0.097], p < 0.001; with 100 queries, differences under 0.041 go undetected more than 20% of the time. Choose dense.",
    ],
    "a difference that was lucky to be found": [
        "nDCG@10: dense is better than bm25 by 0.064 [0.022, 0.106], p = 0.003; with 50 queries, differences under 0.059 go undetected more than 20% of the time. Choose dense.",
    ],
    "no difference, and none is shown": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.034 [-0.008, 0.076], p = 0.110; with 50 queries, differences under 0.059 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "a difference that more queries would show": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.034 [-0.018, 0.086], p = 0.198; with 30 queries, differences under 0.074 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "three queries": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.247 [0.035, 0.458], p = 0.250 (the interval excludes 0, but is Student's t, a different method from the test); with 3 queries the test cannot show any difference. Inconclusive: the data show neither a difference nor equivalence. If the true difference is 0.035, the near end of its interval, you would need about 48 queries to detect it.",
    ],
    "one query": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.280 [-1.000, 1.000], p = 1.000; one query is not enough to conclude anything about others. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "the same values throughout": [
        "nDCG@10: bm25 and copy have the same value for every query.",
    ],
    "always the same difference": [
        "nDCG@10: dense is better than bm25 by 0.100 [0.006, 0.154], p = 0.008. Choose dense.",
    ],
    "means that are equal, values that are not": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.000 [-0.096, 0.096], p = 1.000; with 20 queries, differences under 0.136 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "successes: a clear difference": [
        "Success@5: dense is better than bm25 by 0.260 [0.100, 0.400], p = 0.001; with 50 queries, differences under 0.213 go undetected more than 20% of the time. Choose dense.",
    ],
    "successes: all of both": [
        "Success@5: bm25 and dense have the same value for every query.",
    ],
    "successes: three more of fifty": [
        "Success@5: No significant difference between dense and bm25: the means differ by 0.060 [-0.025, 0.141], p = 0.125; with 50 queries, differences under 0.097 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "the t test": [
        "nDCG@10: dense is better than bm25 by 0.068 [0.040, 0.097], p < 0.001; with 100 queries, differences under 0.041 go undetected more than 20% of the time. Choose dense.",
    ],
    "unpaired": [
        "nDCG@10: dense is better than bm25 by 0.068 [0.006, 0.130], p = 0.031; with 100 queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated. Prefer dense, with caution: the result hinges on any two of 4 queries (q021, q096, q040 and q043).",
    ],
    "Wilcoxon, where means agree": [
        "nDCG@10: dense is better by signed ranks than bm25, p = 0.002 for signed ranks; the means differ by 0.065 [0.027, 0.103]. Choose dense.",
    ],
    "Wilcoxon against the means": [
        "nDCG@10: Signed ranks and means disagree on bm25 and dense: signed ranks favour dense, but bm25 has the better mean; p = 0.008 for signed ranks; the means differ by 0.082 [-0.065, 0.229].",
    ],
    "signs, where means agree": [
        "nDCG@10: dense is better by wins than bm25, p = 0.036 for wins (38 to 21); the means differ by 0.065 [0.027, 0.103]. Prefer dense, with caution: the result hinges on any two of 20 queries (q021, q040, q043 and 17 more).",
    ],
    "signs against the means": [
        "nDCG@10: Wins and means disagree on bm25 and dense: wins favour dense, but bm25 has the better mean; p < 0.001 for wins (18 to 2); the means differ by 0.082 [-0.065, 0.229].",
    ],
    "three systems, one best": [
        "nDCG@10: s2 is better than both others; its lead over the closest, s1, is 0.102 [0.071, 0.133], p < 0.001 after Holm over 3 pairs; with 80 queries, differences under 0.051 go undetected more than 20% of the time. Choose s2.",
    ],
    "three systems, two ahead": [
        "nDCG@10: s1 has the best mean, but is not significantly better than s2: the difference is 0.026 [-0.005, 0.056], p = 0.098 after Holm over 3 pairs; with 80 queries, differences under 0.050 go undetected more than 20% of the time. s1 is better than s0. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "three systems, none apart": [
        "nDCG@10: s0 has the best mean, but is not significantly better than s1 and s2: the difference from s1 is 0.017 [-0.043, 0.077], p = 0.738 after Holm over 3 pairs; with 20 queries, differences under 0.101 go undetected more than 20% of the time. Inconclusive between s0 and s1: the data show neither a difference nor equivalence.",
    ],
    "Tukey's test": [
        "nDCG@10: s2 is better than both others; its lead over the closest, s1, is 0.102 [0.071, 0.133], p < 0.001 by Tukey's HSD over 3 systems; with 80 queries, differences under 0.051 go undetected more than 20% of the time. Choose s2.",
    ],
    "against a baseline: one better": [
        "nDCG@10: s2 is better than s0 by 0.140 [0.108, 0.171], p < 0.001 after Holm over 2 pairs; with 80 queries, differences under 0.050 go undetected more than 20% of the time. s1 does not differ significantly from s0; the difference from s1 is 0.018 [-0.013, 0.049], p = 0.265 after Holm over 2 pairs; with 80 queries, differences under 0.049 go undetected more than 20% of the time. Choose s2 over s0. s2 and s1 were not tested against each other.",
    ],
    "against a baseline: none better": [
        "nDCG@10: No system is significantly better than s0. s2 does not differ significantly from s0; the difference from s2 is 0.008 [-0.024, 0.040], p = 0.621 after Holm over 2 pairs; with 80 queries, differences under 0.050 go undetected more than 20% of the time. s1 is worse than s0. Nothing here justifies replacing s0.",
    ],
    "against a baseline: all worse": [
        "nDCG@10: No system is significantly better than s0. s1 and s2 are worse than s0; the difference from s1 is 0.176 [0.146, 0.207], p < 0.001 after Holm over 2 pairs; with 80 queries, differences under 0.048 go undetected more than 20% of the time. Choose s0.",
    ],
    "less is better": [
        "latency_ms: new is better than old by 20.091 [19.920, 20.262], p < 0.001; with 40 queries, differences under 0.243 go undetected more than 20% of the time. Choose new.",
    ],
    "two measures agree": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001; with 80 queries, differences under 0.044 go undetected more than 20% of the time. Choose dense.",
        "R@100: dense is better than bm25 by 0.100 [0.071, 0.130], p < 0.001, not corrected over measures; with 80 queries, differences under 0.042 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; R@100 is described only, not corrected over measures.",
    ],
    "two measures disagree": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001; with 80 queries, differences under 0.044 go undetected more than 20% of the time. Choose dense.",
        "R@100: bm25 is better than dense by 0.097 [0.066, 0.127], p < 0.001, not corrected over measures; with 80 queries, differences under 0.043 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; R@100 is described only, not corrected over measures. By R@100, however, bm25 is better than dense.",
    ],
    "two measures disagree, one is primary": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001; with 80 queries, differences under 0.044 go undetected more than 20% of the time. Choose dense.",
        "R@100: bm25 is better than dense by 0.097 [0.066, 0.127], p < 0.001, not corrected over measures; with 80 queries, differences under 0.043 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; R@100 is described only, not corrected over measures. By R@100, however, bm25 is better than dense.",
    ],
    "two measures as one family": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.048 go undetected more than 20% of the time. Choose dense.",
        "R@100: dense is better than bm25 by 0.100 [0.071, 0.130], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.047 go undetected more than 20% of the time. Choose dense.",
    ],
    "a slice against the whole": [
        "nDCG@10: dense is better than bm25 by 0.075 [0.041, 0.110], p < 0.001; with 120 queries, differences under 0.050 go undetected more than 20% of the time.",
        "Conclusion: By nDCG@10, dense is better over all queries, but not everywhere: bm25 is better in short. Choose by slice if you can tell the slice of a new query, else by how often each slice occurs.",
    ],
    "a difference inside the margin": [
        "nDCG@10: dense is better than bm25 by 0.003 [0.002, 0.005], p < 0.001; with 200 queries, differences under 0.002 go undetected more than 20% of the time. Choose the cheaper of dense and bm25: they differ, but by less than the margin. Within the margin of 0.02, bm25 is equivalent to dense.",
    ],
    "a difference that rests on one query": [
        "nDCG@10: dense is better than bm25 by 0.031 [0.007, 0.055], p = 0.028; with 12 queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated. Prefer dense, with caution: the result hinges on query q000.",
    ],
    "a margin that shows two to be equivalent": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.00042 [-0.00098, 0.00182], p = 0.560; with 200 queries, differences under 0.002 go undetected more than 20% of the time. Choose the cheaper of dense and bm25: if they differ at all, it is by less than the margin. Within the margin of 0.02, bm25 is equivalent to dense.",
    ],
    "equivalent by the primary measure, apart by another": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.00042 [-0.00098, 0.00182], p = 0.560; with 200 queries, differences under 0.002 go undetected more than 20% of the time. Choose the cheaper of dense and bm25: if they differ at all, it is by less than the margin. Within the margin of 0.02, bm25 is equivalent to dense.",
        "R@100: bm25 is better than dense by 0.096 [0.076, 0.115], p < 0.001, not corrected over measures; with 200 queries, differences under 0.028 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; R@100 is described only, not corrected over measures. By R@100, however, bm25 is better than dense.",
    ],
    "a margin that does not help": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.034 [-0.018, 0.086], p = 0.198; with 30 queries, differences under 0.074 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence. Within the margin of 0.01, it is undecided whether bm25 is as good as dense.",
    ],
    "no worse than the baseline": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.004 [-0.004, 0.011], p = 0.329; with 60 queries, differences under 0.010 go undetected more than 20% of the time. Inconclusive whether dense or bm25 is better: the data show neither a difference nor equivalence. Within the margin of 0.01, dense is no worse than bm25.",
    ],
    "a cheaper system that is a little worse": [
        "nDCG@10: large is better than small by 0.006 [0.004, 0.007], p < 0.001; with 200 queries, differences under 0.002 go undetected more than 20% of the time. Choose the cheaper of large and small: they differ, but by less than the margin. Within the margin of 0.02, small is equivalent to large.",
    ],
    "queries that belong together": [
        "nDCG@10: dense is better than bm25 by 0.068 [0.028, 0.108], p = 0.008; with 10 clusters of queries, differences under 0.056 go undetected more than 20% of the time. Choose dense.",
    ],
    "a result that rests on one topic": [
        "nDCG@10: dense is better than bm25 by 0.047 [0.003, 0.091], p = 0.014; with 10 clusters of queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated. Prefer dense, with caution: the result hinges on any two of 7 clusters (topic 0, topic 1, topic 2 and 4 more).",
    ],
    "documents that nobody judged": [
        "P@4: old is better than new by 0.300 [0.262, 0.338], p < 0.001; with 30 queries, differences under 0.054 go undetected more than 20% of the time. Prefer old, with caution: unjudged documents could reverse their order.",
    ],
    "a share of false discoveries": [
        "nDCG@10: s1 has the best mean, but is not significantly better than s2 and s0: the difference from s2 is 0.015 [-0.030, 0.060], p = 0.507 after Benjamini-Hochberg over 3 pairs; with 40 queries, differences under 0.074 go undetected more than 20% of the time. Inconclusive between s1 and s2: the data show neither a difference nor equivalence.",
    ],
    "three measures, nothing to find": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.017 [-0.043, 0.077], p = 0.572; with 20 queries, differences under 0.085 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
        "RR: dense is better than bm25 by 0.071 [0.020, 0.122], p = 0.012, not corrected over measures; with 20 queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated.",
        "R@100: No significant difference between bm25 and dense: the means differ by 0.002 [-0.065, 0.070], p = 0.951, not corrected over measures; with 20 queries, differences under 0.095 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; RR and R@100 are described only, not corrected over measures.",
    ],
    "three measures, one that is not the first finds something": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.024 [-0.014, 0.062], p = 0.222; with 60 queries, differences under 0.054 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
        "RR: dense is better than bm25 by 0.069 [0.033, 0.106], p < 0.001, not corrected over measures; with 60 queries, differences under 0.052 go undetected more than 20% of the time.",
        "R@100: No significant difference between bm25 and dense: the means differ by 0.006 [-0.030, 0.041], p = 0.758, not corrected over measures; with 60 queries, differences under 0.051 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; RR and R@100 are described only, not corrected over measures.",
    ],
    "three measures, the first finds something": [
        "nDCG@10: dense is better than bm25 by 0.075 [0.037, 0.113], p < 0.001; with 60 queries, differences under 0.054 go undetected more than 20% of the time. Choose dense.",
        "RR: No significant difference between dense and bm25: the means differ by 0.010 [-0.027, 0.047], p = 0.594, not corrected over measures; with 60 queries, differences under 0.053 go undetected more than 20% of the time.",
        "R@100: No significant difference between bm25 and dense: the means differ by 0.006 [-0.030, 0.041], p = 0.758, not corrected over measures; with 60 queries, differences under 0.051 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; RR and R@100 are described only, not corrected over measures.",
    ],
    "the last measure is primary": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.024 [-0.014, 0.062], p = 0.222, not corrected over measures; with 60 queries, differences under 0.054 go undetected more than 20% of the time.",
        "RR: dense is better than bm25 by 0.069 [0.033, 0.106], p < 0.001; with 60 queries, differences under 0.052 go undetected more than 20% of the time. Choose dense.",
        "R@100: No significant difference between bm25 and dense: the means differ by 0.006 [-0.030, 0.041], p = 0.758, not corrected over measures; with 60 queries, differences under 0.051 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on RR alone, the primary measure; nDCG@10 and R@100 are described only, not corrected over measures.",
    ],
    "one family, one of two finds something": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.017 [-0.043, 0.077], p = 0.572 after Holm over 1 pair on 2 measures; with 20 queries, differences under 0.095 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
        "RR: dense is better than bm25 by 0.071 [0.020, 0.122], p = 0.024 after Holm over 1 pair on 2 measures; with 20 queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated. Prefer dense, with caution: the result hinges on any two of 11 queries (q006, q010, q014 and 8 more).",
    ],
    "one family that disagrees": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.048 go undetected more than 20% of the time.",
        "R@100: bm25 is better than dense by 0.097 [0.066, 0.127], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.048 go undetected more than 20% of the time.",
        "Conclusion: The measures disagree on which system to choose: dense by nDCG@10; bm25 by R@100. Decide which measure counts, and name it with primary= before you look at new queries.",
    ],
    "one family with a primary measure": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.048 go undetected more than 20% of the time.",
        "R@100: dense is better than bm25 by 0.100 [0.071, 0.130], p < 0.001 after Holm over 1 pair on 2 measures; with 80 queries, differences under 0.047 go undetected more than 20% of the time. Choose dense.",
        "Conclusion: Any recommendation rests on R@100 alone, the primary measure.",
    ],
    "two measures against a baseline": [
        "nDCG@10: dense is better than bm25 by 0.116 [0.086, 0.147], p < 0.001; with 80 queries, differences under 0.044 go undetected more than 20% of the time. Choose dense.",
        "R@100: bm25 is better than dense by 0.097 [0.066, 0.127], p < 0.001, not corrected over measures; with 80 queries, differences under 0.043 go undetected more than 20% of the time.",
        "Conclusion: Any recommendation rests on nDCG@10 alone, the primary measure; R@100 is described only, not corrected over measures. By R@100, however, bm25 is better than dense.",
    ],
    "four clusters": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.140 [-0.023, 0.303], p = 0.250; with 4 clusters of queries the test cannot show any difference. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "clusters, and nothing is shown": [
        "nDCG@10: No significant difference between bm25 and dense: the means differ by 0.004 [-0.056, 0.065], p = 0.903; with 12 clusters of queries, differences under 0.085 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "clusters of which few more would be enough": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.214 [0.157, 0.271], p = 0.062 (the interval excludes 0, but is Student's t by cluster, a different method from the test); with 5 clusters of queries the test cannot show any difference. Inconclusive: the data show neither a difference nor equivalence. If the true difference is 0.157, the near end of its interval, you would need about 6 clusters of queries to detect it.",
    ],
    "a win that was unlikely, by cluster": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.056 [-0.005, 0.116], p = 0.078; with 12 clusters of queries, differences under 0.085 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "less is better, and nothing is shown": [
        "latency_ms: No significant difference between old and new: the means differ by 0.900 [-4.334, 6.134], p = 0.739; with 30 queries, differences under 7.419 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "less is better, by wins": [
        "latency_ms: new is better by wins than old, p < 0.001 for wins (40 to 0); the means differ by 20.091 [19.920, 20.262]. Choose new.",
    ],
    "nobody said what is better": [
        "latency_ms: old is higher than new by 20.000 [17.124, 20.971], p < 0.001.",
    ],
    "nobody said what is better, and nothing is shown": [
        "latency_ms: No significant difference between new and old: the means differ by 0.900 [-4.334, 6.134], p = 0.739; with 30 queries, differences under 7.419 go undetected more than 20% of the time.",
    ],
    "a geometric mean": [
        "gm_AP: dense is better than bm25 by a factor of 1.216 [1.177, 1.256], p < 0.001; with 60 queries, factors under 1.048 go undetected more than 20% of the time. Choose dense.",
    ],
    "a geometric mean, and nothing is shown": [
        "gm_AP: No significant difference between dense and bm25: the means differ by a factor of 1.050 [0.925, 1.191], p = 0.453; with 30 queries, factors under 1.196 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "simultaneous intervals": [
        "nDCG@10: s2 is better than both others; its lead over the closest, s1, is 0.102 [0.065, 0.139], p < 0.001 by the max-t test over 3 pairs; with 80 queries, differences under 0.051 go undetected more than 20% of the time. Choose s2.",
    ],
    "simultaneous intervals, and nothing is shown": [
        "nDCG@10: s0 has the best mean, but is not significantly better than s1 and s2: the difference from s1 is 0.017 [-0.057, 0.091], p = 0.868 by the max-t test over 3 pairs; with 20 queries, differences under 0.101 go undetected more than 20% of the time. Inconclusive between s0 and s1: the data show neither a difference nor equivalence.",
    ],
    "simultaneous intervals of a difference that is always the same": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.100 [-0.172, 0.305], p = 0.448 by the max-t test over 1 pair. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "three systems, not corrected": [
        "nDCG@10: s1 has the best mean, but is not significantly better than s2 and s0: the difference from s2 is 0.015 [-0.030, 0.060], p = 0.507, not corrected for 3 pairs; with 40 queries, differences under 0.063 go undetected more than 20% of the time. Inconclusive between s1 and s2: the data show neither a difference nor equivalence.",
    ],
    "an interval that is not corrected": [
        "nDCG@10: s3 has the best mean, but is not significantly better than s1 and s2: the difference from s1 is 0.017 [-0.027, 0.061], p = 0.897 after Holm over 6 pairs; with 40 queries, differences under 0.079 go undetected more than 20% of the time. s3 is better than s0. Inconclusive between s3 and s1: the data show neither a difference nor equivalence.",
    ],
    "a count": [
        "NumRelRet: A count: shown, but not tested.",
    ],
    "one system": [
        "nDCG@10: 0.5500 [0.4632, 0.6368] for bm25; there is no other system to compare it with.",
    ],
    "three systems with the same values": [
        "nDCG@10: All 3 systems have the same value for every query.",
    ],
    "two of three systems have the same values": [
        "nDCG@10: b and c have the best mean and the same value for every query. b is better than a.",
    ],
    "the same values, with a margin": [
        "nDCG@10: bm25 and copy have the same value for every query.",
    ],
    "one query with the same value, with a margin": [
        "nDCG@10: a and b have the same value for the one query.",
    ],
    "one of three is the same, with a margin": [
        "nDCG@10: c is better than both others; its lead over the closest, a, is 0.020 [0.019, 0.022], p < 0.001 after Holm over 3 pairs; with 200 queries, differences under 0.002 go undetected more than 20% of the time. Choose the cheapest of c, a and b: they differ, but by less than the margin. Within the margin of 0.05, a and b are equivalent to c.",
    ],
    "any one of several queries decides": [
        "nDCG@10: dense is better than bm25 by 0.050 [-0.017, 0.103], p = 0.031 (the interval contains 0, but is Student's t with a win and a loss added, a different method from the test). Prefer dense, with caution: the result hinges on any one of 6 queries (q000, q001, q002 and 3 more).",
    ],
    "successes that hinge on any win": [
        "Success@5: dense is better than bm25 by 0.125 [0.001, 0.237], p = 0.031; with 40 queries, a difference this small goes undetected more than 20% of the time, so its size is probably overstated. Prefer dense, with caution: the result hinges on any one of 5 queries (q000, q001, q002 and 2 more).",
    ],
    "few queries, each of which decides": [
        "nDCG@10: dense is better than bm25 by 0.100 [-0.034, 0.184], p = 0.031 (the interval contains 0, but is Student's t with a win and a loss added, a different method from the test). Prefer dense, with caution: the result hinges on any one of 6 queries (q000, q001, q002 and 3 more).",
    ],
    "against a baseline: two better": [
        "nDCG@10: s2 and s1 are better than s0; s2 by 0.140 [0.108, 0.171], p < 0.001 after Holm over 2 pairs; with 80 queries, differences under 0.050 go undetected more than 20% of the time. Only pairs with the baseline were tested: those that beat it may be equally good.",
    ],
    "against a baseline: none apart": [
        "nDCG@10: No system is significantly better than s0. s1 and s2 do not differ significantly from s0; the difference from s1 is 0.017 [-0.043, 0.077], p = 0.572 after Holm over 2 pairs; with 20 queries, differences under 0.095 go undetected more than 20% of the time. Nothing here justifies replacing s0; the others were not tested against each other.",
    ],
    "a tiny difference over many queries": [
        "nDCG@10: dense is better than bm25 by 0.00080 [0.00077, 0.00082], p < 0.001. Choose dense.",
    ],
    "a level of 0.99": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.044 [-0.018, 0.105], p = 0.062; with 40 queries, differences under 0.065 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
    "the bootstrap": [
        "nDCG@10: dense is better than bm25 by 0.065 [0.027, 0.103], p = 0.001; with 60 queries, differences under 0.054 go undetected more than 20% of the time. Choose dense.",
    ],
    "slices that agree": [
        "nDCG@10: dense is better than bm25 by 0.165 [0.134, 0.195], p < 0.001; with 80 queries, differences under 0.043 go undetected more than 20% of the time. Choose dense.",
    ],
    "slices, and nothing is shown": [
        "nDCG@10: No significant difference between dense and bm25: the means differ by 0.024 [-0.022, 0.069], p = 0.308; with 40 queries, differences under 0.065 go undetected more than 20% of the time. Inconclusive: the data show neither a difference nor equivalence.",
    ],
}


@pytest.mark.parametrize("case", BUILD)
def test_every_verdict_is_the_one_in_the_table(case):
    assert BUILD[case]().verdict().splitlines() == SAID[case]


def test_the_table_is_complete():
    assert [*BUILD] == [*SAID]
    assert len(SAID) >= 60


@pytest.mark.parametrize("case", SAID)
def test_no_sentence_contradicts_another(case):
    text = " ".join(SAID[case])
    chosen = set(re.findall(r"(?:Choose|Prefer) (\w+?)(?:\.|,| over)", text)) - {"by"}
    assert len(chosen) <= 1
    for line in SAID[case]:
        if "Choose the cheap" in line:
            assert "equivalent to" in line
        elif "Choose" in line or "Prefer" in line:
            assert "Choose by slice" in line or " better " in line or "are worse than" in line
            assert "Inconclusive" not in line
        if "No significant difference" in line:
            assert "better than" not in line
            is_rated = "not corrected over measures" not in line and "nobody said" not in case
            assert is_rated == ("Inconclusive" in line or "Choose the cheap" in line)
            assert "Inconclusive" not in line or "Choose the cheap" not in line
        if "not corrected over measures" in line and not line.startswith("Conclusion"):
            assert not re.search("Choose|Prefer|Inconclusive", line)
        if "overstated" in line:
            assert " better " in line or " higher " in line
        for needed, units in re.findall(r"you would need about ([\d,]+) (queries|clusters)", line):
            have = re.search(r"with ([\d,]+) (queries|clusters)", line)
            assert (have is None) or have[2] == units
            assert have is None or int(needed.replace(",", "")) > int(have[1].replace(",", ""))
    assert "cheape" not in text or "margin" in text
    assert not re.search("told apart|would show it|with care|rather than|one time in", text)
    if "signed ranks" in text or "for wins" in text:
        assert "better than" not in text  # the test is not about the mean


@pytest.mark.parametrize("case", SAID)
def test_advice_rests_on_the_primary_measure_alone(case):
    found = BUILD[case]()
    for measure in found.measures:
        if found.primary not in (None, measure):
            assert not re.search("Choose|Prefer|Inconclusive", found.verdict(measure))


@pytest.mark.parametrize("case", SAID)
def test_a_number_of_queries_is_named_only_where_the_interval_excludes_no_difference(case):
    """Its size is then what the interval guarantees, and the power at that number is what is promised."""
    found = BUILD[case]()
    text = found.verdict()
    for needed, units in re.findall(r"you would need about ([\d,]+) (queries|clusters)", text):
        (pair,) = [p for p in found.pairs if not p.significant and not p.interval.low <= 0 <= p.interval.high]
        have = pair.terms.clusters or pair.n
        assert (units == "clusters") == (pair.terms.clusters is not None)
        smallest = min(abs(pair.interval.low), abs(pair.interval.high))
        spread = pair.deviation * (have / pair.n) ** 0.5
        alpha = found.contrasts(pair.measure).alpha
        assert power_of(smallest, spread, int(needed.replace(",", "")), alpha=alpha) >= 0.8


@pytest.mark.parametrize("case", SAID)
def test_the_words_of_the_table_say_no_more_than_the_verdict(case):
    found = BUILD[case]()
    for pair in found.pairs:
        words = wording.in_a_word(pair, pair.terms.quantity)
        if words in ("better", "worse") and pair.decision is None:
            assert pair.significant
        if pair.ties == pair.n:
            assert words == "same values"


@pytest.mark.parametrize("case", SAID)
def test_no_interval_is_without_width_or_beyond_the_range(case):
    for pair in BUILD[case]().pairs:
        low, high = pair.interval
        reach = pair.terms.quantity.bounds.high - pair.terms.quantity.bounds.low
        assert low < high
        if not pair.terms.quantity.is_geometric:
            assert -reach <= low <= pair.difference <= high <= reach


@pytest.mark.parametrize("case", [case for case in SAID if "cheape" in " ".join(SAID[case])])
def test_the_cheaper_one_is_advised_inside_the_margin_only(case):
    found = BUILD[case]()
    margin = found.settings.margins["nDCG@10"].size
    for pair in (one for one in found.pairs if one.measure == "nDCG@10"):
        assert (pair.decision, pair.reverse_decision) == ("equivalent", "equivalent")
        assert pair.ties == pair.n or -margin < pair.interval.low < pair.interval.high < margin


@pytest.mark.parametrize("case", SAID)
def test_better_is_said_of_significant_pairs_only(case):
    found = BUILD[case]()
    for pair in found.pairs:
        said = re.search(
            rf"({pair.b} is (better|higher) than {pair.a}|{pair.a} is (better|higher) than {pair.b})",
            pair.verdict,
        )
        assert bool(said) == (pair.significant and pair.terms.done not in ("sign", "wilcoxon"))
