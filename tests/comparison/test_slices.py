"""Groups of queries: their means, tests corrected over all of them, and macro-averages."""

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

import ranklens as rl
from ranklens.comparison.slices import slices_of
from ranklens.stats import Bounds
from ranklens.stats.strata import macro_interval

RNG = np.random.default_rng(0)
IDS = [f"q{i}" for i in range(30)]
VALUES = {
    name: np.clip(RNG.beta(2, 2, 30) + shift, 0, 1) for name, shift in (("a", 0), ("b", 0.1), ("c", 0.5))
}
KIND = {q: "how" if i < 18 else "who" for i, q in enumerate(IDS)}


def sliced(by=KIND, **options):
    systems = {name: {q: {"RR": v} for q, v in zip(IDS, row, strict=True)} for name, row in VALUES.items()}
    return rl.compare_scores(systems, by=by, **options)


def test_each_slice_is_a_comparison_of_its_own_queries():
    found = sliced(test="t")
    assert [(part.name, part.n) for part in found.slices] == [("how", 18), ("who", 12)]
    how = found.slices[0]
    assert how.results[1].mean == pytest.approx(VALUES["b"][:18].mean())
    assert how.results[1].slice == how.pairs[0].slice == "how"
    low, high = scipy.stats.t.interval(0.95, 17, VALUES["b"][:18].mean(), scipy.stats.sem(VALUES["b"][:18]))
    assert tuple(how.results[1].interval) == pytest.approx((low, high))
    assert found.slice_of["q29"] == "who"


def test_p_values_are_corrected_over_pairs_and_slices():
    found = sliced(test="t")
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    raw = [
        scipy.stats.ttest_rel(VALUES[x][rows], VALUES[y][rows]).pvalue
        for rows in (slice(18), slice(18, 30))
        for x, y in pairs
    ]
    ours = [pair.adjusted_p for part in found.slices for pair in part.pairs]
    np.testing.assert_allclose(ours, multipletests(raw, method="holm")[1])
    assert "after Holm over 3 pairs in 2 slices" in found.slices[0].pairs[0].verdict
    assert [p.adjusted_p for p in found.pairs] == [p.adjusted_p for p in sliced(by=None, test="t").pairs]


def test_macro_averages_count_each_slice_the_same():
    found = sliced()
    how, who = VALUES["a"][:18], VALUES["a"][18:]
    macro = found.macro[0]
    assert macro.mean == pytest.approx((how.mean() + who.mean()) / 2)
    # Half the sum varies as half the difference does, whose interval is Welch's.
    welch = scipy.stats.ttest_ind(how, who, equal_var=False).confidence_interval(0.95)
    assert macro.interval.high - macro.interval.low == pytest.approx((welch.high - welch.low) / 2)
    assert (macro.interval.high + macro.interval.low) / 2 == pytest.approx(macro.mean)


def test_macro_intervals_of_odd_groups():
    values = RNG.random(8)
    assert macro_interval([values]) == rl.stats.interval(values)
    assert macro_interval([values[i : i + 1] for i in range(8)]) == rl.stats.interval(values)
    constant = macro_interval([np.full(3, 0.5), np.full(2, 0.7)])
    assert constant.low < 0.5  # five queries without variation within groups are not certainty
    assert constant.high > 0.7
    single = macro_interval([values[:5], values[5:6]], bounds=Bounds(0, 1))
    assert 0 <= single.low < (values[:5].mean() + values[5]) / 2 < single.high <= 1


@pytest.mark.parametrize("sizes", [[1, 2], [1, 2] * 5, [2] * 10, [1, 1, 1, 50], [1, 2, 50], [4, 4, 30]])
def test_macro_intervals_of_small_groups_cover_the_truth(sizes):
    """A pooled variance, taken as if each group had its own, covered 0.70 here."""
    rng = np.random.default_rng(2)
    found = (macro_interval([rng.normal(0, 1, n) for n in sizes]) for _ in range(1000))
    assert np.mean([low <= 0 <= high for low, high in found]) >= 0.93


def test_macro_intervals_cover_the_truth():
    """Two groups of unlike size and spread; 95% should cover about 95% of the time."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        low, high = macro_interval([rng.normal(0.3, 0.05, 40), rng.normal(0.5, 0.2, 8)])
        inside += low <= 0.4 <= high
    assert 0.93 <= inside / 2000 <= 0.97


SUCCESSES = {  # sizes of slices, their true shares
    "nearly all succeed": ([1] * 10 + [5] * 10, np.linspace(0.9, 0.99, 20)),
    "small slices are harder": ([10, 90], np.array([0.5, 0.98])),
    "large slices are harder": ([1, 2, 5, 10, 30, 60], np.repeat([0.98, 0.5], 3)),
    "easy and hard": ([100, 100, 100], np.array([0.97, 0.05, 0.97])),
}


@pytest.mark.parametrize("case", SUCCESSES)
def test_macro_intervals_of_successes_cover_the_truth(case):
    """What other scores get covers 0.86 of the first."""
    rng, (sizes, truth) = np.random.default_rng(3), SUCCESSES[case]
    drawn = (
        [rng.binomial(1, p, n).astype(float) for p, n in zip(truth, sizes, strict=True)] for _ in range(1500)
    )
    found = [macro_interval(groups, bounds=Bounds(0, 1)) for groups in drawn]
    assert {one.method for one in found} == {"wilson"}
    assert np.mean([low <= truth.mean() <= high for low, high in found]) >= 0.93


def test_successes_alone_count_for_as_many_queries_as_the_slices_tell_of():
    equal = macro_interval([np.ones(20)] * 5, bounds=Bounds(0, 1))
    assert tuple(equal) == pytest.approx(proportion_confint(100, 100, method="wilson"))
    unequal = macro_interval([np.ones(n) for n in [1] * 10 + [5] * 10], bounds=Bounds(0, 1))
    effective = 20**2 / (10 + 10 / 5)  # as one share over so many queries would vary
    assert tuple(unequal) == pytest.approx(proportion_confint(effective, effective, method="wilson"))


def test_slices_that_differ_have_an_interval_of_their_own_variance():
    """One share for all slices would make it 2.3 times as wide."""
    rng = np.random.default_rng(5)
    groups = [(rng.permutation(200) < hits).astype(float) for hits in (190, 10)]
    low, high = macro_interval(groups, bounds=Bounds(0, 1))
    student = 2 * 1.96 * np.sqrt(sum(group.var(ddof=1) / 200 for group in groups)) / 2
    assert student < high - low < 1.1 * student


def test_geometric_macro_averages():
    systems = {"a": {q: {"gm_AP": v} for q, v in zip(IDS, VALUES["a"], strict=True)}}
    macro = rl.compare_scores(systems, by=KIND).macro[0]
    floored = np.maximum(VALUES["a"], 0.00001)
    assert macro.mean == pytest.approx(
        (scipy.stats.gmean(floored[:18]) * scipy.stats.gmean(floored[18:])) ** 0.5
    )
    assert macro.interval.low < macro.mean < macro.interval.high


def test_slices_of_one_query():
    found = sliced(by={q: i for i, q in enumerate(IDS)})
    assert len(found.slices) == 30
    assert [part.name for part in found.slices][:3] == ["0", "1", "2"]  # numbers by size
    assert all(pair.p_value == 1 for part in found.slices for pair in part.pairs)
    assert found.macro[0].interval == found.results[0].interval
    assert any(
        c.startswith("No difference can be significant over 90 pairs in slices with this few")
        for c in found.cautions
    )
    assert "… " in str(found)


def test_queries_without_a_slice_are_named_and_counted():
    found = sliced(by={q: kind for q, kind in KIND.items() if q not in ("q0", "q1")})
    assert [part.name for part in found.slices] == ["how", "who", "(none)"]
    assert found.slices[-1].n == 2
    assert "2 queries have no value to slice by: they form the slice (none)." in found.cautions


def test_what_differs_in_which_slice_is_told():
    assert "RR by slice: c is better than b in how and who; c is better than a in how and who." in str(
        sliced()
    )
    same = sliced(by={q: i % 10 for i, q in enumerate(IDS)}, alpha=1e-6)
    assert "no two systems differ significantly in any of the 10 slices" in str(same)


ROWS = [{"query": q, "kind": k} for q, k in KIND.items()]
BEIR = [{"_id": q, "text": "…", "metadata": {"kind": k}} for q, k in KIND.items()]


@pytest.mark.parametrize(
    "queries",
    [
        ROWS,
        BEIR,
        pl.DataFrame(ROWS),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS).set_index("query"),
        pl.DataFrame(ROWS).to_arrow(),
        {q: {"kind": k} for q, k in KIND.items()},
    ],
    ids=["rows", "beir", "polars", "pandas", "indexed", "arrow", "mapping"],
)
def test_a_column_of_queries_of_any_shape(queries):
    assert slices_of("kind", queries, IDS) == KIND
    assert sliced(by="kind", queries=queries).slice_of == KIND


def test_ids_are_told_from_texts():
    rows = [{"id": "q0", "query": "how far is the moon", "topic": "space"}]
    assert slices_of("topic", rows, ["q0"]) == {"q0": "space"}
    assert slices_of("topic", [{"query": "q0", "topic": "space"}], ["q0"]) == {"q0": "space"}


def test_a_column_of_a_file(tmp_path):
    frame = pl.DataFrame(ROWS)
    frame.write_csv(tmp_path / "q.csv")
    frame.write_csv(tmp_path / "q.tsv", separator="\t")
    frame.write_parquet(tmp_path / "q.parquet")
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, BEIR)) + "\n")
    (tmp_path / "q.json").write_text(json.dumps({q: {"kind": k} for q, k in KIND.items()}))
    for name in ("q.csv", "q.tsv", "q.parquet", "queries.jsonl", "q.json", "."):
        assert slices_of("kind", tmp_path / name, IDS) == KIND, name


@pytest.mark.parametrize(
    ("by", "queries", "message"),
    [
        ("kind", None, "by='kind' names a column, but no table was given"),
        ("knid", ROWS, "there is no 'knid': did you mean 'kind'"),
        ("kind", [{"kind": "how"}], "queries: no query among"),
        ("kind", 3, "queries is an int"),
        (3, None, "by is an int; pass the name of a column"),
        ({"x1": "how"}, None, "none of the queries .* has a slice; there is one for 'x1'"),
        ({"q0": ["how", "who"]}, None, "is not a slice; each query belongs to one"),
        ("kind", "nowhere.csv", "nowhere.csv does not exist"),
    ],
)
def test_wrong_slices_are_named(by, queries, message):
    with pytest.raises(rl.InputError, match=message):
        sliced(by=by, queries=queries)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", \n')
    with pytest.raises(rl.InputError, match=r"q\.jsonl"):
        slices_of("kind", tmp_path / "q.jsonl", IDS)


def signed_mean(values, signs):
    return (values * signs).sum(axis=1)


def test_the_difference_of_macro_averages_is_tested_by_exchanging_names():
    """All 2**12 ways to exchange the systems in single queries, counted; a slice of 3 and one of 9 queries weigh the same."""
    rng = np.random.default_rng(3)
    a = rng.random(12)
    b = np.clip(a + rng.normal(0.1, 0.15, 12), 0, 1)
    slice_of = {f"q{i:02}": "small" if i < 3 else "large" for i in range(12)}
    given = {
        name: {f"q{i:02}": {"nDCG@10": float(v)} for i, v in enumerate(row)}
        for name, row in (("a", a), ("b", b))
    }
    found = rl.compare_scores(given, by=slice_of)
    (pair,) = found.macro_pairs
    weights = np.repeat([1 / 6, 1 / 18], [3, 9])
    change = weights * (b - a)
    signs = np.array(list(itertools.product([1, -1], repeat=12)))
    flipped = np.abs(signed_mean(change, signs))
    assert pair.difference == pytest.approx(change.sum())
    assert pair.p_value == pytest.approx((flipped >= abs(change.sum()) - 1e-9).mean())
    assert pair.interval.low <= pair.difference <= pair.interval.high
    assert "macro-average" in str(found)
    assert rl.Comparison.from_json(found.to_json()).macro_pairs == found.macro_pairs


def test_whole_clusters_are_exchanged_in_macro_averages():
    rng = np.random.default_rng(4)
    a, topic = rng.random(24), np.repeat(np.arange(8), 3)
    b = a + np.repeat(rng.normal(0.05, 0.1, 8), 3)
    ids = [f"q{i:02}" for i in range(24)]
    given = {
        name: {q: {"score": float(v)} for q, v in zip(ids, row, strict=True)}
        for name, row in (("a", a), ("b", b))
    }
    slice_of = {q: f"type {i % 3}" for i, q in enumerate(ids)}  # each topic has a query in each slice
    found = rl.compare_scores(
        given, by=slice_of, clusters={q: str(t) for q, t in zip(ids, topic, strict=True)}
    )
    (pair,) = found.macro_pairs
    by_topic = np.bincount(topic, b - a) / 24
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    flipped = np.abs(signed_mean(by_topic, signs))
    assert pair.p_value == pytest.approx((flipped >= abs(by_topic.sum()) - 1e-9).mean())


@pytest.mark.parametrize(("nested", "each"), [(True, 5), (False, 2)])
def test_macro_intervals_of_clusters_cover_the_truth(nested, each):
    """Queries of a topic go together: within a slice, or across all slices."""
    rng, held = np.random.default_rng(6), 0
    means = np.array([0.3, 0.45, 0.6])
    for _ in range(600):
        topics = rng.normal(0, 0.15, (3, 12)) if nested else np.tile(rng.normal(0, 0.15, 12), (3, 1))
        groups = [
            np.repeat(mean + own, each) + rng.normal(0, 0.05, 12 * each)
            for mean, own in zip(means, topics, strict=True)
        ]
        labels = [[(s if nested else 0, topic) for topic in np.repeat(range(12), each)] for s in range(3)]
        low, high = macro_interval(groups, clusters=labels)
        held += low <= means.mean() <= high
    assert held / 600 >= 0.93


def test_macro_intervals_of_differences_stay_in_their_range():
    low, high = macro_interval(
        [np.array([0.9, 1, 1, 0.2, 1]), np.array([1, 1, 0.1, 1, 1.0])], bounds=Bounds(-1, 1)
    )
    assert -1 <= low < high <= 1
