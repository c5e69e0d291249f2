"""Margins, clusters and simultaneous intervals in comparisons, with what they do to words, tables and JSON."""

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import ranklens as rl
from ranklens.errors import InputError, MeasureError
from ranklens.stats import Clusters, margin_test, paired_test

N = 200
_RNG = np.random.default_rng(0)


def centred(deviation):
    """Differences with a mean of exactly 0."""
    drawn = _RNG.normal(0, deviation, N)
    return drawn - drawn.mean()


BASE = np.clip(_RNG.normal(0.5, 0.2, N), 0, 1)
SYSTEMS = {
    "base": BASE,
    "same": np.clip(BASE + _RNG.normal(0, 0.02, N), 0, 1),
    "better": np.clip(BASE + _RNG.normal(0.06, 0.05, N), 0, 1),
    "worse": np.clip(BASE - _RNG.normal(0.06, 0.05, N), 0, 1),
    "wild": BASE + centred(0.5),
    "hopeful": BASE + 0.006 + centred(0.1),
}


def table(values, name="score"):
    return {f"q{i}": {name: float(value)} for i, value in enumerate(values)}


def compared(*names, **options):
    return rl.compare_scores({name: table(SYSTEMS[name]) for name in ("base", *names)}, **options)


@pytest.mark.parametrize(
    ("system", "decision", "turned"),
    [
        ("same", "equivalent", "equivalent"),
        ("better", "better", "worse"),
        ("worse", "worse", "better"),
        ("wild", "undecided", "undecided"),
        ("hopeful", "no worse", "undecided"),
    ],
)
def test_the_decision_on_a_pair(system, decision, turned):
    found = compared(system, margin=0.01)
    assert found.pair("score", "base", system).decision == decision
    assert found.pair("score", system, "base").decision == turned
    assert compared(system).pair("score", "base", system).decision is None


def test_it_is_the_decision_of_the_tests():
    found = compared("hopeful", margin=0.01, test="t")
    test = margin_test(SYSTEMS["base"], SYSTEMS["hopeful"], 0.01)
    assert test.p_no_worse <= 0.05 < test.p_equivalent
    assert found.pair("score", "base", "hopeful").decision == "no worse"


def test_several_pairs_are_corrected():
    """With a p-value just below alpha, one pair passes and one of five does not."""
    margins = np.linspace(0.01, 0.2, 1000)
    alone = np.array([margin_test(SYSTEMS["base"], SYSTEMS["wild"], m).p_no_worse for m in margins])
    margin = float(margins[np.flatnonzero(alone <= 0.05)[0]])
    one = compared("wild", margin=margin, baseline="base")
    many = compared("wild", "worse", "hopeful", margin=margin, baseline="base", correction="bonferroni")
    assert one.pair("score", "base", "wild").decision in ("no worse", "equivalent")
    assert many.pair("score", "base", "wild").decision == "undecided"


def test_lower_may_be_better():
    found = compared("better", "worse", margin=0.01, better={"score": "lower"})
    assert found.pair("score", "base", "better").decision == "worse"
    assert found.pair("score", "base", "worse").decision == "better"
    hopeful = rl.compare_scores(
        {"base": table(-SYSTEMS["base"]), "b": table(-SYSTEMS["hopeful"])},
        margin=0.01,
        better={"score": "lower"},
    )
    assert hopeful.pair("score", "base", "b").decision == "no worse"


def test_a_margin_for_each_measure():
    both = {
        name: {q: {"x": row["score"], "y": row["score"]} for q, row in table(SYSTEMS[name]).items()}
        for name in ("base", "same")
    }
    found = rl.compare_scores(both, margin={"x": "5%"})
    assert found.pair("x", "base", "same").decision == "equivalent"
    assert found.pair("y", "base", "same").decision is None
    with pytest.raises(MeasureError, match="margin: z is not compared"):
        rl.compare_scores(both, margin={"z": 0.1})


def test_what_has_no_better_end_has_no_margin():
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x", "b"]}
    found = rl.compare(qrels, {"a": run, "b": run}, ["RR", "Judged@5", "gm_AP"], margin=0.1)
    assert set(found.settings.margins) == {"RR"}
    other = {"q1": ["x", "a"], "q2": ["b"]}
    relative = rl.compare(qrels, {"a": run, "b": other}, ["gm_AP"], margin="5%")
    assert relative.pair("gm_AP", "a", "b").decision == "undecided"


@pytest.mark.parametrize("n", [1, 5, 40])
def test_what_changed_nothing_passes_the_gate_and_is_equivalent_but_no_more_is_claimed(n):
    qrels = {f"q{i}": {"a": 1} for i in range(n)}
    runs = {"old": {q: ["a"] for q in qrels}, "new": {q: ["a"] for q in qrels}}
    found = rl.compare(qrels, runs, "RR", margin=0.01)
    assert found.pair("RR", "old", "new").decision == "equivalent"
    assert rl.gate(
        rl.evaluate(qrels, runs["new"], "RR"),
        "RR drop <= 0.01 @ 95%",
        baseline=rl.evaluate(qrels, runs["old"], "RR"),
    ).passed
    where = "every query" if n > 1 else "the one query"
    assert found.verdict("RR") == f"new and old have the same value for {where}."
    assert "same values" in str(found)


def test_words_and_tables_say_it():
    found = compared("same", margin=0.01)
    assert found.pair("score", "base", "same").verdict.endswith(
        "; up to the margin of 0.01 they are equivalent"
    )
    assert "Choose the cheaper of" in found.verdict("score")
    assert "if they differ at all, it is by less than the margin" in found.verdict("score")
    assert "equivalent" in str(found)
    assert "Margin: 0.01 for score. Two one-sided tests" in " ".join(str(found).split())
    undecided = compared("wild", margin=0.01)
    assert "Within the margin of 0.01, it is undecided whether " in undecided.verdict("score")
    several = compared("same", "hopeful", "wild", margin=0.01, baseline="base")
    assert (
        "Within the margin of 0.01, same is equivalent to base; hopeful is no worse than base; it is undecided whether wild is as good as base."
        in several.verdict("score")
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"margin": "2%"}, {"clusters": {f"q{i}": i // 10 for i in range(N)}}, {"intervals": "simultaneous"}],
)
def test_the_json_is_as_described(options):
    found = compared("same", "better", **options)
    schema = json.loads(
        files("ranklens").joinpath("comparison/comparison.schema.json").read_text(encoding="utf-8")
    )
    content = json.loads(found.to_json())
    jsonschema.validate(content, schema)
    assert (content["pairs"][0]["decision"] is None) == ("margin" not in options)
    assert (content["cluster_of"] is None) == ("clusters" not in options)


# Clusters


CLUSTER_OF = {f"q{i}": f"t{i // 10}" for i in range(N)}


def test_tests_and_intervals_are_by_cluster():
    topics = np.repeat(np.random.default_rng(1).normal(0, 0.1, N // 10), 10)
    b = table(SYSTEMS["base"] + topics + 0.03)
    plain = rl.compare_scores({"a": table(SYSTEMS["base"]), "b": b})
    found = rl.compare_scores({"a": table(SYSTEMS["base"]), "b": b}, clusters=CLUSTER_OF)
    pair = found.pair("score", "a", "b")
    assert pair.difference == plain.pair("score", "a", "b").difference
    width = [one.interval.high - one.interval.low for one in (pair, plain.pair("score", "a", "b"))]
    assert width[0] > 2 * width[1]
    means = [row.reshape(-1, 10).mean(axis=1) for row in (SYSTEMS["base"], SYSTEMS["base"] + topics + 0.03)]
    expected = paired_test(*means, rng=0).p_value
    assert pair.p_value == pytest.approx(expected, abs=0.005)
    by_t = rl.compare_scores({"a": table(SYSTEMS["base"]), "b": b}, clusters=CLUSTER_OF, test="t")
    assert by_t.pair("score", "a", "b").p_value == pytest.approx(paired_test(*means, method="t").p_value)
    assert "200 queries in 20 clusters say as much about differences as about 20 independent queries" in str(
        found
    )
    assert "by cluster" in str(found)


def test_a_query_on_its_own_is_a_cluster_of_one():
    found = compared("better", clusters={"q0": "x", "q1": "x"}, test="t")
    labels = ["x", "x", *range(2, N)]
    shares = Clusters.of(labels).shares(np.stack([SYSTEMS["base"], SYSTEMS["better"]]))
    assert found.pair("score", "base", "better").p_value == pytest.approx(
        paired_test(*shares, method="t").p_value
    )


@pytest.mark.parametrize(
    ("measure", "before", "gain"), [("nDCG@10", 0.5 * BASE, 0.5), ("Success@5", 0 * BASE, 1)]
)
def test_clusters_that_all_change_alike_leave_an_interval_with_width(measure, before, gain):
    for change in (0, gain):
        systems = {"old": table(before, measure), "new": table(before + change, measure)}
        (pair,) = rl.compare_scores(systems, clusters=CLUSTER_OF).pairs
        low, high = pair.interval
        assert -1 <= low < high <= 1
        assert low <= change <= high


def test_clusters_from_a_column_and_in_slices():
    rows = [{"query": q, "topic": topic, "half": int(q[1:]) % 2} for q, topic in CLUSTER_OF.items()]
    found = compared("better", clusters="topic", by="half", queries=rows)
    assert found.cluster_of == CLUSTER_OF
    part = found.slices[0].pairs[0]
    assert (part.n, part.interval.method) == (N // 2, "cluster t")
    with pytest.raises(InputError, match="clusters='topic' names a column, but no table was given"):
        compared("better", clusters="topic")
    with pytest.raises(InputError, match=r"clusters: none of the queries .* has a cluster"):
        compared("better", clusters={"z": 1})


@pytest.mark.parametrize(
    "test", ["randomization", "t", "bootstrap", "wilcoxon", "sign", "welch", "tukey", "tukey-randomized"]
)
def test_every_test_takes_clusters(test):
    found = compared("better", clusters=CLUSTER_OF, test=test)
    assert found.pair("score", "base", "better").significant


@pytest.mark.parametrize(
    ("ids", "suggests"),
    [
        ([f"q{i}-{letter}" for i in range(10) for letter in "abc"], True),
        ([f"{i}_{j}" for i in range(31, 41) for j in range(1, 6)], True),
        ([f"{i}{letter}" for i in range(10) for letter in "ab"], True),
        ([f"q{i}" for i in range(30)], False),
        ([f"q-{i}" for i in range(30)], False),
        ([f"topic_{i}" for i in range(30)], False),
        ([f"{lang}-{i}" for lang in ("en", "de") for i in range(20)], False),
        ([str(i) for i in range(401, 451)], False),
        ([f"2023-{i:03}" for i in range(40)], False),
    ],
)
def test_ids_may_suggest_clusters(ids, suggests):
    rng = np.random.default_rng(0)
    systems = {name: {q: {"AP": float(rng.random())} for q in ids} for name in "ab"}
    said = " ".join(rl.compare_scores(systems).cautions)
    assert ("look as if they belong together" in said) == suggests
    if suggests:
        declared = rl.compare_scores(systems, clusters={q: q[:-1] for q in ids})
        assert "look as if" not in " ".join(declared.cautions)


def test_texts_may_suggest_clusters():
    from ranklens.comparison.clusters import suggested

    ids = [str(i) for i in range(6)]
    texts = {str(i): ["reset my password?", "My password: reset!"][i % 2] + f" {i // 2}" for i in range(6)}
    assert suggested(ids, texts) == (3, "0", "1")
    assert suggested(ids, {i: f"question number {i}" for i in ids}) is None


def test_paraphrases_suggest_clusters():
    from ranklens.comparison.clusters import suggested

    asked = [
        "How do I reset my password?", "password reset", "reset the password",
        "Where can I find my invoice?", "find invoice",
        "Please cancel order", "How to cancel an order", "Why was the parcel late?",
    ]  # fmt: skip
    texts = {str(i): text for i, text in enumerate(asked)}
    assert suggested([*texts], texts) == (4, "0", "1")
    assert (
        suggested([*texts], {q: f"the {text} {q}" for q, text in texts.items()}) is None
    )  # a word of its own each
    assert suggested([*texts], dict.fromkeys(texts, "What is this?")) is None  # one cluster is a slice


# Simultaneous intervals


@pytest.mark.parametrize("seed", range(8))
def test_intervals_and_tests_agree(seed):
    rng = np.random.default_rng(seed)
    base = rng.random(30)
    systems = {f"s{i}": table(base + rng.normal(0.03 * i, 0.15, 30)) for i in range(4)}
    found = rl.compare_scores(systems, intervals="simultaneous")
    for pair in found.pairs:
        excludes = pair.interval.low > 0 or pair.interval.high < 0
        assert excludes == pair.significant
        assert "the interval" not in pair.verdict
        turned = found.pair("score", pair.b, pair.a)
        assert (turned.interval.low, turned.interval.high) == (-pair.interval.high, -pair.interval.low)
    assert "hold together and agree with the tests" in str(found)


@pytest.mark.parametrize(
    "options", [{"test": "wilcoxon"}, {"test": "tukey"}, {"correction": "bh"}, {"correction": "none"}]
)
def test_what_does_not_go_with_simultaneous_intervals(options):
    with pytest.raises(InputError, match=r'intervals="simultaneous" and .* cannot be combined'):
        compared("better", intervals="simultaneous", **options)
    with pytest.raises(InputError, match="intervals='joint' is not known"):
        compared("better", intervals="joint")


def test_a_system_that_is_worse_by_less_than_the_margin_is_said_to_be():
    base = np.linspace(0.3, 0.7, 60)
    values = {
        "base": base,
        "good": base + 0.1 + base / 50,
        "close": base - 0.005 - base / 500,
        "bad": base / 2,
    }
    scores = {name: {f"q{i}": {"score": float(v)} for i, v in enumerate(row)} for name, row in values.items()}
    said = rl.compare_scores(scores, margin=0.02, baseline="base").verdict("score")
    assert "close and bad are worse than base, but close by less than the margin." in said
    assert "close is equivalent to base" in said
    del scores["bad"]
    said = rl.compare_scores(scores, margin=0.02, baseline="base").verdict("score")
    assert "close is worse than base, but by less than the margin." in said
