"""Tuning, potential, reranking and sweeps."""

import random

import numpy as np
import pytest

import ranklens as rl
from ranklens.fusion.tuning import judged_elsewhere

QUERIES = [f"q{i}" for i in range(30)]
QRELS = {query: {"x"} for query in QUERIES}


def noisy(seed, noise=1.0):
    rng = random.Random(seed)
    return {
        query: {f"{doc}": (doc == "x") + rng.gauss(0, noise) for doc in ["x", *"abcdefgh"]}
        for query in QUERIES
    }


def test_each_query_is_judged_by_what_the_others_choose():
    """The best setting of each query alone would give 1; no query may choose its own."""
    runs = {"a": noisy(1), "b": noisy(2)}
    tuned = rl.tune(QRELS, runs, "RR", norm="min-max", folds=30 // 2)
    by_setting = {
        tuple(weights): rl.evaluate(QRELS, rl.fuse(runs, "wsum", "min-max", weights), "RR")
        .per_query["RR"]
        .to_list()
        for weights in tuned.settings["weights"].to_list()
    }
    for mean, weights in tuned.settings.select("mean", "weights").iter_rows():
        assert mean == pytest.approx(sum(by_setting[tuple(weights)]) / 30)
    assert tuned.optimistic == pytest.approx(tuned.settings["mean"].max())
    extremes = [(min(values), max(values)) for values in zip(*by_setting.values(), strict=True)]
    assert all(
        low - 1e-9 <= value <= high + 1e-9
        for value, (low, high) in zip(tuned.held_out["RR"], extremes, strict=True)
    )
    assert tuned.settings["chosen"].sum() == pytest.approx(1)
    assert tuned.held_out.mean["RR"] < tuned.optimistic
    assert tuned.fused == rl.fuse(runs, **tuned.params)


def test_no_query_chooses_its_own_setting():
    """Each query is only good under the setting of its own: whatever the others choose gives it 0."""
    surface = np.eye(12)[:, None]
    fold_of = np.arange(12) % 4
    assert judged_elsewhere(surface, [fold_of]).values.tolist() == [0] * 12


def test_the_interval_is_wider_than_the_spread_of_held_out_values():
    """Values chosen on each other vary together: the interval of independent ones would be too narrow."""
    draw = np.random.default_rng(0)
    surface = draw.random((30, 1, 40))
    found = judged_elsewhere(surface, [draw.permutation(40) % 5 for _ in range(5)])
    naive = found.values.std(ddof=1) / 40**0.5
    assert naive <= found.standard_error <= naive * 5**0.5


def test_clusters_stay_together():
    runs = {"a": noisy(1), "b": noisy(2)}
    clusters = {query: f"c{int(query[1:]) // 3}" for query in QUERIES}
    tuned = rl.tune(QRELS, runs, "RR", norm="min-max", clusters=clusters)
    assert tuned.interval is not None
    assert tuned.comparison.cluster_of == clusters


def test_the_simplest_setting_within_an_error():
    runs = {"a": noisy(1), "b": noisy(2)}
    tuned = rl.tune(QRELS, runs, "RR", norm="min-max", simplest_within_error=True)
    assert tuned.params["weights"] == (0.5, 0.5)


@pytest.mark.parametrize("method", ["rrf", "posfuse", "probfuse", "gmnz"])
def test_other_methods_are_tuned(method):
    over = {"window": [5, 9]} if method == "posfuse" else None
    tuned = rl.tune(QRELS, {"a": noisy(1), "b": noisy(2)}, "RR", method=method, over=over)
    assert 0 <= tuned.held_out.mean["RR"] <= 1
    assert "Held out" in str(tuned)


def test_too_few_queries_are_refused():
    with pytest.raises(rl.InputError, match="8 queries are too few for 5 folds"):
        rl.tune(dict(list(QRELS.items())[:8]), {"a": noisy(1), "b": noisy(2)}, "RR")


def test_nothing_to_tune_is_refused():
    with pytest.raises(rl.InputError, match="there is nothing to tune"):
        rl.tune(QRELS, {"a": noisy(1), "b": noisy(2)}, "RR", method="sum")


def test_potential_by_hand():
    qrels = {"q1": {"x", "y"}, "q2": {"z"}}
    runs = {
        "a": {"q1": ["x", "n"], "q2": ["n"]},
        "b": {"q1": ["y", "n"], "q2": ["z"]},
        "c": {"q1": ["x"], "q2": []},
    }
    found = rl.fusion_potential(qrels, runs, "RR")
    assert [(run.run, run.mean, run.recall, run.unique) for run in found.runs] == [
        ("a", 0.5, 0.25, 0),
        ("b", 1.0, 0.75, 2),
        ("c", 0.5, 0.25, 0),
    ]
    assert found.recall == 1.0
    assert found.oracle == 1.0
    pairs = {(pair.a, pair.b): pair for pair in found.pairs}
    assert pairs["a", "b"].recall == 1.0
    assert pairs["a", "b"].gained == 0.25
    assert pairs["a", "b"].jaccard == pytest.approx((1 / 3 + 0) / 2)
    assert pairs["a", "c"].gained == 0.0
    assert "complement each other most" in str(found)


def test_reranking_keeps_what_is_below():
    run = {"q": {"a": 9.0, "b": 8.0, "c": 7.0}}
    reranked = rl.rerank(run, lambda query, texts: [texts.index(text) for text in texts], depth=2)
    assert list(reranked["q"]) == ["b", "a", "c"]
    assert reranked.cut(1) == {"q": {"a": 0.0, "b": -1.0, "c": -2.0}}
    assert rl.evaluate({"q": {"b"}}, reranked, "RR").mean["RR"] == 1.0


def test_reranking_with_texts_pairs_and_failures():
    class Encoder:
        def predict(self, pairs):
            return [len(query) - len(text) for query, text in pairs]

    run = {"q1": ["a", "b"], "q2": ["a", "b"]}
    texts = {"queries": {"q1": "one", "q2": "two"}, "corpus": {"a": "long text", "b": "short"}}
    assert list(rl.rerank(run, Encoder(), **texts)["q1"]) == ["b", "a"]

    def fails(query, documents):
        if query == "two":
            raise ValueError("no model")
        return [len(text) for text in documents]

    with pytest.warns(rl.RankLensWarning, match="1 query could not be reranked"):
        reranked = rl.rerank(run, fails, **texts)
    assert list(reranked["q2"]) == ["a", "b"]
    assert list(reranked.failed) == ["q2"]


def test_asynchronous_scorers():
    async def scorer(query, documents):
        return [-len(text) for text in documents]

    assert list(rl.rerank({"q": ["aaa", "b"]}, scorer, concurrency=2)["q"]) == ["b", "aaa"]


def test_reranking_resumes_from_the_store(tmp_path):
    calls = tmp_path / "calls"

    def scorer(query, documents):
        with calls.open("a") as file:
            file.write(query)
        return [1.0] * len(documents)

    for _ in range(2):
        rl.rerank({"q1": ["a"], "q2": ["b"]}, scorer, store=tmp_path / "store")
    assert calls.read_text() == "q1q2"


def test_the_curve_of_reranking():
    run = {query: ["n1", "n2", "x", "n3"] for query in QUERIES}
    reranked = rl.rerank(run, lambda _, documents: [text == "x" for text in documents], depth=4)
    curve = reranked.curve(QRELS, "RR", [0, 2, 4])
    assert curve["mean"].to_list() == [1 / 3, 1 / 3, 1.0]
    assert curve["documents"].to_list() == [0, 2, 4]


def test_an_index_is_built_as_rarely_as_possible():
    built = []

    def build(size):
        built.append(size)
        return lambda text, k, boost=1: ["x", "n"][:k] if size * boost > 2 else ["n", "x"][:k]

    found = rl.sweep(
        build,
        {"size": [1, 2], "boost": [1, 2], "k": [1, 2]},
        dict.fromkeys(QUERIES, "text"),
        {query: {"x": 1, "n": 0} for query in QUERIES},
        "RR",
        at_query=["boost"],
    )
    assert built == [1, 2]
    assert len(found.tried) == 8
    assert found.params["size"] * found.params["boost"] > 2
    assert found.held_out.mean["RR"] == 1.0
    assert found.comparison.pair("RR", "first", "chosen").significant
