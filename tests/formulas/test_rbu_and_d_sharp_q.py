"""Rank-biased utility against its authors' program, and D#-Q by what it is made of."""

import json
from pathlib import Path

import numpy as np
import pytest

import ranklens as rl

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "rbu.json").read_text())


@pytest.mark.parametrize("measure", GOLDEN["values"])
def test_values_are_those_of_the_authors_program(measure):
    judged = rl.Judgments(subtopics=GOLDEN["qrels"], intents=GOLDEN["intents"])
    scores = rl.evaluate(judged, GOLDEN["run"], measure)
    (values,) = scores.mean
    found = dict(zip(scores.queries, np.round(scores[values], 4).tolist(), strict=True))
    assert len(found) == 12
    assert found == pytest.approx(GOLDEN["values"][measure], abs=1.01e-4)


def test_rbu_by_hand():
    """Grade 1 of at most 2 satisfies with (2 - 1) / 4, grade 2 with 3 / 4; effort 0.1 for three documents, p = 0.5."""
    qrels = {"q": {"s": {"a": 1, "b": 2, "c": 2}}}
    found = rl.evaluate(qrels, {"q": ["a", "x", "b"]}, ["RBU(p=0.5, effort=0.1)", "RBU(p=0.5, effort=0.1)@2"])
    whole = 0.5 * (1 / 4 + 0.25 * 3 / 4 * 3 / 4) - 0.1 * (1 - 0.125)
    assert [*found.mean.values()] == pytest.approx([whole, 0.5 / 4 - 0.1 * 0.75])


def test_d_sharp_q():
    """The global gains are those of the worked example of D#-nDCG: intents .7 and .3, ranking B, X, A, C."""
    judged = rl.Judgments(
        subtopics={"q": {"i1": {"A": 3, "B": 1}, "i2": {"B": 2, "C": 3}}},
        intents={"q": {"i1": 0.7, "i2": 0.3}},
    )
    found = rl.evaluate(judged, {"q": ["B", "X", "A", "C"]}, ["D_sharp_Q@4", "D_sharp_Q(gamma=0.2)@1"]).mean
    # Gains: A 2.1, B 1.3, C 0.9. Blended ratios at B, A and C: 2.3 / 3.1, (2 + 3.4) / (3 + 4.3), (3 + 4.3) / (4 + 4.3).
    q = (2.3 / 3.1 + 5.4 / 7.3 + 7.3 / 8.3) / 3
    assert [*found.values()] == pytest.approx([0.5 + 0.5 * q, 0.2 + 0.8 * 2.3 / 3.1])
