"""Oracle: scikit-learn's measures of rankings, on rankings without ties; and ir_measures' pairwise accuracy."""

import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)

import ranklens as rl


def one(labels):
    docs = [f"d{i}" for i in range(len(labels))]
    return {"q": dict(zip(docs, labels, strict=True))}, {"q": docs}


@given(
    labels=st.lists(st.integers(0, 1), min_size=2, max_size=30).filter(
        lambda labels: 0 < sum(labels) < len(labels)
    )
)
def test_binary_rankings(labels):
    qrels, run = one(labels)
    scores = [-float(i) for i in range(len(labels))]
    ours = rl.evaluate(qrels, run, ["AUC", "LRAP", "RankingLoss", "CoverageError"]).mean
    assert ours["AUC"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert ours["LRAP"] == pytest.approx(label_ranking_average_precision_score([labels], [scores]), abs=1e-12)
    assert ours["RankingLoss"] == pytest.approx(label_ranking_loss([labels], [scores]), abs=1e-12)
    assert ours["CoverageError"] == coverage_error([labels], [scores])


@given(grades=st.lists(st.integers(0, 3), min_size=2, max_size=12))
def test_ordered_pairs_by_counting(grades):
    pairs = [(a, b) for i, a in enumerate(grades) for b in grades[i + 1 :] if a != b]
    expected = sum(a > b for a, b in pairs) / len(pairs) if pairs else 0
    assert rl.evaluate(*one(grades), "OPA").mean["OPA"] == pytest.approx(expected, abs=1e-12)


def test_the_accuracy_of_ir_measures_is_the_area_under_the_curve():
    rng, qrels, run = random.Random(3), {}, {}
    for q in range(50):
        docs = [f"d{i}" for i in range(12)]
        qrels[f"q{q}"] = {doc: rng.randint(0, 2) for doc in docs[:8]} | {"d0": 2, "d1": 0}
        run[f"q{q}"] = {doc: rng.random() for doc in docs}
    theirs = {m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.Accuracy(rel=2)], qrels, run)}
    scores = rl.evaluate(qrels, run, "AUC(rel=2)")
    ours = dict(zip(scores.queries, scores["AUC(rel=2)"].tolist(), strict=True))
    assert len(theirs) == 50
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_average_relevance_position_by_hand():
    """Grades 0, 2, 1 at ranks 1, 2, 3: (2 · 2 + 1 · 3) / 3."""
    assert rl.evaluate(*one([0, 2, 1]), "ARP").mean["ARP"] == pytest.approx(7 / 3)


def test_stopping_measures_by_hand():
    """Grades 2, 1 of at most 2: the user stops with chance 3/4, then 1/4 · 1/4; blended ratios 1 and (2 + 3) / (2 + 3)."""
    qrels, run = one([2, 1])
    found = rl.evaluate(qrels, run, ["iRBU(p=0.9)", "EBR", "ERR(gain=linear)"]).mean
    assert found["iRBU(p=0.9)"] == pytest.approx(0.75 * 0.9 + 0.0625 * 0.81)
    assert found["EBR"] == pytest.approx(0.8125)
    assert found["ERR(gain=linear)"] == pytest.approx(2 / 3 + 1 / 3 * 1 / 3 / 2)
