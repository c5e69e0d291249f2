"""Recommendations: values that RecBole, recommenders and RecTools publish for their own tests, and by hand."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.data.readers.judgments import Judgments

TRAIN = {"u1": {"a", "b"}, "u2": {"a"}, "u3": {"a", "c"}, "u4": {"a", "b"}}
TEST = {"u1": {"c"}, "u2": {"b", "c"}}
LISTS = {"u1": ["c", "a"], "u2": ["a", "b"]}


def mean(measures, **more):
    return rl.recommend.evaluate(TRAIN, TEST, LISTS, measures, **more).mean


def test_five_meanings_of_novelty():
    """a was used by 4 of 4 users, b by 2, c by 1; there are 7 interactions."""
    found = mean(
        [
            f"Novelty(kind={kind})@2"
            for kind in ("miuf", "surprisal", "self-information", "unseen", "unpopularity")
        ]
    )
    assert list(found.values()) == pytest.approx(
        [
            ((2 + 0) / 2 + (0 + 1) / 2) / 2,
            ((2 + 0) / 2 + (0 + 1) / 2) / 2 / 2,
            np.mean([-np.log2(1 / 7), -np.log2(4 / 7), -np.log2(4 / 7), -np.log2(2 / 7)]),
            (0.5 + 0.5) / 2,
            np.mean([0.75, 0, 0, 0.5]),
        ]
    )


def test_expected_novelty_of_wanted_items():
    """u1 wanted c, recommended first; u2 wanted b, recommended second; 4 users, 7 interactions."""
    found = mean(["Novelty(kind=efd)@2", "Novelty(kind=epc)@2"])
    second = 1 / np.log2(3)
    first_share, second_share = 1 / (1 + second), second / (1 + second)
    assert list(found.values()) == pytest.approx(
        [
            (first_share * -np.log2(1 / 7) + second_share * -np.log2(2 / 7)) / 2,
            (first_share * 0.75 + second_share * 0.5) / 2,
        ]
    )


def test_popularity_and_the_tail():
    assert mean(["ARP@2", "APLT(head=0.5)@2", "nDCG@2"]) == pytest.approx(
        {"ARP@2": (2.5 + 3) / 2, "APLT(head=0.5)@2": 0.5, "nDCG@2": (1 + 0.38685) / 2}, abs=1e-4
    )


def test_the_tail_is_counted_too():
    assert mean(["ACLT(head=0.5)@2", "APLT(head=0.5)@2"]) == {"ACLT(head=0.5)@2": 1, "APLT(head=0.5)@2": 0.5}


def test_whether_popular_items_are_favoured_equals_the_definition_of_zhu_et_al():
    """By sets, user by user, as Elliot counts."""
    rng = random.Random(3)
    items = [f"i{n}" for n in range(30)]
    weights = [1 / (n + 1) for n in range(30)]
    train = {f"u{u}": {*rng.choices(items, weights, k=8)} for u in range(20)}
    test = {user: {*rng.sample(items, 4)} - used for user, used in train.items()}
    lists = {user: rng.sample(sorted({*items} - used), 10) for user, used in train.items()}
    count = Counter(item for used in train.values() for item in used)
    ordered = sorted(count, key=lambda item: (-count[item], item))
    so_far = np.cumsum([count[item] for item in ordered])
    head = {*ordered[: next(i for i, n in enumerate(so_far) if n >= 0.8 * so_far[-1]) + 1]}
    groups = head, {*items} - head
    for name, wanted in [("PopRSP@5", lambda user: {*items}), ("PopREO@5", lambda user: test[user])]:
        rates = [
            sum(len({*lists[user][:5]} & wanted(user) & group) for user in train)
            / sum(len((wanted(user) & group) - train[user]) for user in train)
            for group in groups
        ]
        found = rl.recommend.evaluate(train, test, lists, name, items=items)
        assert found.mean[name] == pytest.approx(np.std(rates) / np.mean(rates))
        assert found.interval(name).low <= found.mean[name] <= found.interval(name).high


def test_counts_of_recbole():
    """RecBole's own test: counts 0, 1, 1, 2, 2, 2, 3, 4 of 8 items."""
    counts = dict(zip("abcdefgh", [0, 1, 1, 2, 2, 2, 3, 4], strict=True))
    lists = {f"u{n}": [item for item, count in counts.items() if n < count] for n in range(4)}
    names = [
        "Gini",
        "Gini(kind=n-1)",
        "Gini(kind=elliot)",
        "Entropy",
        "Entropy(kind=recbole)",
        "Coverage",
    ]
    found = rl.recommend.evaluate(
        {"u0": {"x"}}, {user: {"a"} for user in lists}, lists, names, items=[*counts]
    )
    assert [*found.mean.values()] == pytest.approx(
        [0.341667, 0.390476, 0.609524, 2.656565, 0.263056, 7 / 8], abs=1e-6
    )


def test_the_whole_system():
    found = rl.recommend.evaluate(
        TRAIN, TEST, LISTS, ["Coverage@1", "Gini@2", "Entropy@2", "GAUC"], items="abcdef"
    )
    assert found.mean["Coverage@1"] == pytest.approx(2 / 6)
    assert found.mean["Entropy@2"] == pytest.approx(1.5)
    assert found.mean["GAUC"] == pytest.approx((1 * 1 + 0 * 2) / 3)
    interval = found.interval("Coverage@1")
    assert 1 / 6 <= interval.low <= 2 / 6 <= interval.high + 1e-12
    with pytest.raises(rl.MeasureError, match="no value per user"):
        _ = found.per_user


def test_variety_and_calibration():
    features = {
        "a": {"features": [1, 0], "group": "x"},
        "b": {"features": [0, 1], "group": "y"},
        "c": {"features": [1, 0], "group": "y"},
    }
    found = mean(["ILD@2", "Calibration@2"], features=features)
    assert found["ILD@2"] == pytest.approx((0 + 1) / 2)
    # u1: history x, y half each, list y, x half each: 0; u2: history x, list half and half.
    q = 0.99 * 0.5 + 0.01
    assert found["Calibration@2"] == pytest.approx((0 + np.log(1 / q)) / 2)


def test_calibration_by_hand():
    """Steck: p (.7, .3), q (.5, .5) gives .08069."""
    train = {"u": {f"x{i}" for i in range(7)} | {f"y{i}" for i in range(3)}}
    features = {f"{g}{i}": {"group": g} for g in "xy" for i in range(10)}
    found = rl.recommend.evaluate(
        train, {"u": {"x9"}}, {"u": ["x8", "y8"]}, "Calibration@2", features=features
    )
    assert found.mean["Calibration@2"] == pytest.approx(0.08069, abs=1e-5)


def test_partial_auc_and_serendipity_by_hand():
    """Wanted, other, wanted, other: above the first 2 others are 1 and 2 of 2 wanted items."""
    found = rl.recommend.evaluate(
        {"u": {"z"}}, {"u": {"a", "c"}}, {"u": ["a", "b", "c", "d"]}, ["pAUC@2"]
    ).mean
    assert found["pAUC@2"] == pytest.approx((1 + 2) / (2 * 2))


def test_sampled_metrics_turn_the_order():
    """Krichene and Rendle: among all items C is better than A, among 99 negatives A is."""
    a, c = [100] * 5, [212, 2, 743, 5342, 1548]
    whole = [rl.recommend.sampled_metric(ranks, 10_000, 99, full=True) for ranks in (a, c)]
    among = [rl.recommend.sampled_metric(ranks, 10_000, 99) for ranks in (a, c)]
    assert whole == pytest.approx([0.150, 0.208], abs=1e-3)
    assert among == pytest.approx([0.729, 0.460], abs=1e-3)


def test_exposure_by_hand():
    """Groups A, A, B, B and a target of one half each: e .6388 and .3612."""
    groups = {d: {"group": g} for d, g in zip("abcd", "AABB", strict=True)}
    found = rl.evaluate(
        Judgments({"q": {"a": 1}}, documents=groups), {"q": list("abcd")}, ["AWRF", "EE_D", "EE_R", "EE_L"]
    ).mean
    assert found == pytest.approx({"AWRF": 0.99014, "EE_D": 5.2790, "EE_R": 4.9014, "EE_L": 0.3776}, abs=2e-4)
    apart = {d: {"group": g} for d, g in zip("ab", "AB", strict=True)}
    one = rl.evaluate(
        Judgments({"q": {"a": 1}}, documents=apart), {"q": ["a"]}, ["AWRF(base=2)", "AWRF"]
    ).mean
    # All attention goes to one of two groups: (1, 0) against (0.5, 0.5).
    assert one["AWRF(base=2)"] == pytest.approx(1 - (np.log2(4 / 3) + 0.5 * np.log2(2 / 3) + 0.5) / 2)
    assert one["AWRF"] > one["AWRF(base=2)"]
    with pytest.raises(rl.MeasureError, match="AWRF needs properties of documents"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "AWRF")


def test_shares_in_groups():
    groups = {"a": {"group": {"A": 0.5, "B": 0.5}}, "b": {"group": {"A": 0.5, "B": 0.5}}}
    found = rl.evaluate(Judgments({"q": {"a": 1}}, documents=groups), {"q": ["a", "b"]}, "AWRF").mean
    assert found["AWRF"] == pytest.approx(1)


def test_asking_without_training_data_is_one_clear_sentence():
    with pytest.raises(rl.MeasureError, match="Novelty needs training data"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "Novelty")
    with pytest.raises(rl.InputError, match="train: pass"):
        rl.recommend.evaluate(7, TEST, LISTS, "Novelty@2")


def test_equals_rectools():
    """What RecTools 0.19 gives for the same data: f is in the catalogue but unused, a to e tie in popularity by two and two."""
    train = {"u1": {"a", "b", "c"}, "u2": {"a", "b"}, "u3": {"a", "d"}, "u4": {"c", "e"}}
    test = {"u1": {"d", "f"}, "u2": {"c"}, "u3": {"b", "e", "f"}}
    lists = {"u1": ["d", "a", "f", "e"], "u2": ["b", "c"], "u3": ["f", "e", "b"]}
    features = {
        "a": [0, 1, 1],
        "b": [0, 1, 0],
        "c": [1, 0, 0],
        "d": [1, 1, 1],
        "e": [0, 0, 0],
        "f": [1, 0, 1],
    }
    expected = {
        "Novelty@3": [1.4716791664262814, 1, 5 / 3],
        "Popularity@3": [4 / 3, 2, 1],
        "Popularity(normalize=true)@3": [0.14814814814814814, 0.2222222222222222, 0.1111111111111111],
        "Serendipity@3": [1 / 3, 0, 0.38095238095238093],
        "pAUC@2": [0.75, 0.5, 1],
        "PAP@1": [1, 0, 1],
        "PAP@2": [0.75, 0.5, 1],
        "MCC@2": [0.3, 0.6454972243679028, 0.7302967433402214],
        "MCC@3": [0.7302967433402214, 0.47140452079103173, 1],
        "SufficientReco@4": [1, 0, 0],
        "SufficientReco(deep=true)@4": [1, 0.5, 0.75],
        # RecTools counts the features that differ, where this is their share.
        "ILD(distance=hamming)@3": [4 / 3 / 3, 2 / 3, 2 / 3],
    }
    described = {item: {"features": vector} for item, vector in features.items()}
    found = rl.recommend.evaluate(
        train, test, lists, [*expected, "Coverage@2", "DCG@3"], items="abcdefg", features=described
    )
    for name, values in expected.items():
        assert found.per_user[name].to_list() == pytest.approx(values, abs=1e-12), name
    assert found.mean["Coverage@2"] == pytest.approx(6 / 7)
    # RecTools' NDCG is divided by the gain of k wanted items, however many there are.
    most = 1 + 1 / np.log2(3) + 1 / 2
    of_rectools = [0.7039180890341347, 0.2960819109658652, 1]
    assert (found.per_user["DCG@3"] / most).to_list() == pytest.approx(of_rectools)


def test_serendipity_in_rectools_own_example():
    train = {"u1": {"i1", "i2"}, "u2": {"i1", "i2"}, "u3": {"i1"}}
    test = {"u1": {"i1", "i2"}, "u2": {"i2", "i3"}, "u3": {"i2"}, "u4": {"i2"}}
    lists = {"u1": ["i1", "i2"], "u2": ["i2", "i3"], "u3": ["i3"], "u4": ["i2", "i3"]}
    measures = ["Serendipity@1", "Serendipity@2"]
    found = rl.recommend.evaluate(train, test, lists, measures, items=["i1", "i2", "i3", "i4"]).per_user
    assert found["Serendipity@1"].to_list() == pytest.approx([0, 0.25, 0, 0.25])
    assert found["Serendipity@2"].to_list() == pytest.approx([0, 0.5, 0, 0.125])


def test_serendipity_of_recommenders():
    """The data and the value of its own tests (conftest.py, python_evaluation)."""
    train = {"1": {"1", "2", "4"}, "2": {"3", "4"}, "3": {"3", "4", "5"}}
    test = {"1": {"3"}, "2": {"2", "5"}, "3": {"1"}}
    lists = {"1": ["3", "5"], "2": ["2", "5"], "3": ["1", "2"]}
    found = rl.recommend.evaluate(train, test, lists, "Serendipity(kind=history)@2")
    assert found.mean["Serendipity(kind=history)@2"] == pytest.approx(0.43408, abs=1e-5)
    assert found.interval("Serendipity(kind=history)@2").low >= 0


def test_the_convention_of_rectools():
    """RecTools 0.19 on the same lists."""
    test = {"u1": {"d": 5, "f": 1}, "u2": {"c": 2}, "u3": {"b": 1, "e": 4, "f": 1}}
    lists = {"u1": ["d", "a", "f", "e"], "u2": ["b", "c"], "u3": ["f", "e", "b"]}
    expected = {
        "NDCG@3": [0.7039180890341347, 0.2960819109658652, 1], "MAP@3": [5 / 6, 0.5, 1], "MRR@3": [1, 0.5, 1],
        "Precision@3": [2 / 3, 1 / 3, 1], "Recall@3": [1, 1, 1], "HitRate@1": [1, 0, 1], "F1Beta@3": [0.8, 0.5, 1],
        "PartialAUC@3": [5 / 6, 2 / 3, 1], "PAP@3": [5 / 6, 2 / 3, 1], "CoveredUsers@3": [1, 1, 1], "SufficientReco@3": [1, 0, 1],
    }  # fmt: skip
    found = rl.evaluate(test, lists, [*expected], convention="rectools")
    for name, values in expected.items():
        ours = str(found.measures[[*expected].index(name)])
        assert found.values[ours].tolist() == pytest.approx(values, abs=1e-12), name


def test_overlap_and_repeats_of_rectools():
    lists = {"u1": ["d", "a", "f", "e"], "u2": ["b", "c"], "u3": ["f", "e", "b"]}
    reference = {"u1": ["a", "d", "x"], "u3": ["b", "e"]}
    assert rl.recommend.intersection(lists, reference, k=2) == {"u1": 1, "u2": 0, "u3": 0.5}
    assert rl.recommend.intersection(lists, reference, k=3, reference_k=1) == {
        "u1": 1 / 3,
        "u2": 0,
        "u3": 1 / 3,
    }
    repeated = pl.DataFrame({"user": ["u1"] * 3 + ["u2"] * 2, "item": list("aabcd"), "rank": [1, 2, 3, 1, 2]})
    for given in (repeated, {"u1": ["a", "a", "b"], "u2": ["c", "d"]}):
        assert rl.recommend.unrepeated(given, k=2) == {"u1": 0, "u2": 1}
        assert rl.recommend.unrepeated(given, k=3, deep=True) == {"u1": 2 / 3, "u2": 1}
    with pytest.raises(rl.InputError, match="recommendations: pass"):
        rl.recommend.unrepeated(7)


def test_debiased_test_data_keeps_as_many_users_as_rectools():
    test = {f"u{u}": {f"i{i}" for i in range(12) if u % (i + 1) == 0} for u in range(30)}
    few = rl.recommend.debiased(test, 0.5, seed=3)
    assert Counter(item for items in few.values() for item in items) == {
        "i0": 10, "i1": 10, "i2": 10, "i3": 8, "i4": 6, "i5": 5, "i6": 5, "i7": 4, "i8": 4, "i9": 3, "i10": 3, "i11": 3
    }  # fmt: skip
    assert all({*few[user]} <= test[user] for user in test)
    assert few == rl.recommend.debiased(test, 0.5, seed=3) != rl.recommend.debiased(test, 0.5, seed=4)
