"""One set of judgments from several assessors: published estimates, votes by hand, and whose judgment it is."""

import numpy as np
import pytest
from assessors import anaesthetists

import ranklens as rl
from ranklens.assessment.assessors import dawid_skene, mace

ASSESSORS = {
    "ann": {"q": {"a": 2, "b": 0, "c": 1}},
    "bob": {"q": {"a": 1, "b": 0, "c": 2}},
    "eve": {"q": {"a": 2, "b": 1}},
}


def test_the_estimates_of_dawid_and_skene():
    fit = dawid_skene(anaesthetists())
    assert fit.prevalence == pytest.approx([0.3996, 0.4220, 0.1118, 0.0667], abs=5e-5)
    assert fit.likelihood == pytest.approx(-192.8909, abs=5e-5)
    assert fit.errors[0, 0] == pytest.approx([0.889, 0.111, 0, 0], abs=6e-4)
    assert fit.posterior[35].argmax() == 3
    assert fit.posterior.sum(axis=1) == pytest.approx(1)


def test_the_estimates_of_mace():
    """Those of crowd-kit 1.4.2, given its rows in the order of labels: it mixes labels up otherwise."""
    fit = mace(anaesthetists())
    assert fit.posterior[2, :2] == pytest.approx([0.135108, 0.864840], abs=2e-6)
    assert fit.posterior[35, 2:] == pytest.approx([0.948984, 0.050997], abs=2e-6)


def test_crowd_kit_itself():
    aggregation = pytest.importorskip("crowdkit.aggregation")
    pandas = pytest.importorskip("pandas")
    rows = [
        (g, a, i) for i, a, g in np.argwhere(anaesthetists()) for _ in range(int(anaesthetists()[i, a, g]))
    ]
    table = pandas.DataFrame(sorted(rows), columns=["label", "worker", "task"])
    found = aggregation.MACE(n_restarts=1).fit_predict_proba(table).sort_index()
    assert np.array(found[sorted(found.columns)]) == pytest.approx(mace(anaesthetists()).posterior, abs=1e-6)


@pytest.mark.parametrize("model", [dawid_skene, mace])
def test_models_find_the_truth_and_the_assessor_who_guesses(model):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    right = np.array([0.9, 0.85, 0.8, 0.34, 0.34])
    given = np.where(rng.random((400, 5)) < right, truth[:, None], rng.integers(0, 3, (400, 5)))
    counts = (given[:, :, None] == np.arange(3)) * 1.0
    fit = model(counts)
    votes = counts.sum(axis=1).argmax(axis=1)
    assert (fit.posterior.argmax(axis=1) == truth).mean() > (votes == truth).mean()
    assert fit.competence[:3].min() > fit.competence[3:].max() + 0.2
    assert fit.likelihood <= 0


@pytest.mark.parametrize(
    ("method", "ties", "expected"),
    [
        ("majority", "higher", {"a": 2, "b": 0, "c": 2}),
        ("majority", "lower", {"a": 2, "b": 0, "c": 1}),
        ("median", "higher", {"a": 2, "b": 0, "c": 2}),
        ("median", "lower", {"a": 2, "b": 0, "c": 1}),
        ("mean", "higher", {"a": 5 / 3, "b": 1 / 3, "c": 1.5}),
    ],
)
def test_votes_by_hand(method, ties, expected):
    merged = rl.merge_judgments(ASSESSORS, method, ties=ties)
    assert merged["q"] == pytest.approx(expected)
    assert merged.qrels == {"q": pytest.approx(expected)}
    assert merged.sources["q"] == {"a": "ann, bob and eve", "b": "ann, bob and eve", "c": "ann and bob"}
    assert merged.disputed == (method == "majority")


def test_quality_and_posterior():
    merged = rl.merge_judgments([*ASSESSORS.values()], names=[*ASSESSORS])
    assert merged.quality.rows() == [
        ("ann", 3, pytest.approx(2 / 3), None),
        ("bob", 3, pytest.approx(2 / 3), None),
        ("eve", 2, 0.5, None),
    ]
    assert merged.posterior is None
    model = rl.merge_judgments(ASSESSORS, "dawid-skene")
    assert model.posterior.columns == ["query", "doc", "0", "1", "2"]
    assert model.posterior.select("0", "1", "2").sum_horizontal().to_list() == pytest.approx([1, 1, 1])
    assert "gave the merged grade" in str(model)


def test_merged_judgments_are_judgments_like_any_others():
    merged = rl.merge_judgments(ASSESSORS)
    run = {"q": ["c", "a", "b"]}
    assert rl.evaluate(merged, run, "nDCG").mean == rl.evaluate(merged.qrels, run, "nDCG").mean
    scores = rl.evaluate(rl.judgments(merged), run, "nDCG")
    assert "judgments: 67% ann, bob and eve and 33% ann and bob" in str(scores)
    assert rl.Scores.from_json(scores.to_json()).applied == scores.applied


HUMAN = {"q": {"a": 2, "b": 0}, "p": {"x": 1}}
LABELS = {"q": {"a": 0, "b": 3, "c": 1, "d": 3}, "p": {"y": 0}, "other": {"z": 1}}


def test_machine_labels_fill_what_people_did_not_judge():
    filled = rl.fill(HUMAN, {"q": ["c", "a", "b", "e"], "p": ["x", "y"], "other": ["z"]}, LABELS)
    assert filled.qrels == {
        "q": {"a": 2, "b": 0, "c": 1},
        "p": {"x": 1, "y": 0},
    }  # nothing that people judged
    assert filled.sources["q"] == {"a": "human", "b": "human", "c": "machine"}
    assert (filled.added, filled.unjudged) == (2, 1)
    assert filled.shares == {"human": 0.6, "machine": 0.4}
    assert "judgments: 60% human and 40% machine" in str(rl.evaluate(filled, {"q": ["c"], "p": ["x"]}, "RR"))
    assert HUMAN == {"q": {"a": 2, "b": 0}, "p": {"x": 1}}


def test_only_what_was_retrieved_is_filled_and_down_to_a_depth():
    run = {"q": ["c", "d"], "p": ["x"]}
    assert rl.fill(HUMAN, run, LABELS, depth=1)["q"] == {"a": 2, "b": 0, "c": 1}
    several = rl.fill(HUMAN, {"one": {"q": ["c"]}, "two": {"q": {"d": 0.5}}}, LABELS)
    assert several["q"] == {"a": 2, "b": 0, "c": 1, "d": 3}


def test_a_comparison_states_the_sources():
    filled = rl.fill(HUMAN, {"q": ["c"]}, LABELS)
    found = rl.compare(filled, {"one": {"q": ["c"], "p": ["x"]}, "two": {"q": ["a"], "p": ["x"]}}, "RR")
    assert "75% human and 25% machine" in str(found)
    assert "75% human and 25% machine" in found.to_json()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.merge_judgments(ASSESSORS, "vote"), "method='vote' is not known"),
        (lambda: rl.merge_judgments(ASSESSORS, ties="up"), "ties='up' is not known"),
        (lambda: rl.merge_judgments([{"q": {"a": 1}}]), "two or more assessors"),
        (lambda: rl.fill({}, {"q": ["a"]}, LABELS), "no judgments to fill up"),
    ],
)
def test_mistakes_are_refused(call, message):
    with pytest.raises(rl.InputError, match=message):
        call()
