"""Exposure of groups: values by hand, several rankings of a query, shares in several groups; and what else documents know."""

from itertools import permutations

import numpy as np
import pytest

import ranklens as rl

GROUPS = {"a": {"group": "A"}, "b": {"group": "A"}, "c": {"group": "B"}, "d": {"group": "B"}}
GRADES = {"q": {"a": 1, "c": 1}}
FAIR = ["AWRF", "EE_D", "EE_R", "EE_L"]


def test_values_by_hand():
    """Attention is 1, 1, 1 / log2(3), 1 / 2: group A gets 2 of 3.1309."""
    found = rl.evaluate(rl.Judgments(GRADES, documents=GROUPS), {"q": ["a", "b", "c", "d"]}, FAIR).mean
    wanted = {"AWRF": 0.99014, "EE_D": 5.2790, "EE_R": 4.9014, "EE_L": 0.3776}
    assert found == pytest.approx(wanted, abs=1e-4)


def test_disjoint_groups_have_the_natural_logarithm_of_2_as_distance():
    judged = rl.Judgments({"q": {"a": 1, "c": 1}}, documents={"a": {"group": "A"}, "c": {"group": "B"}})
    run = {"q": ["a", "c"]}
    assert rl.evaluate(judged, run, "AWRF@1").mean["AWRF@1"] < 1
    one = rl.Judgments({"q": {"c": 1}}, documents={"a": {"group": "A"}, "c": {"group": "B"}})
    found = rl.evaluate(one, run, ["AWRF(target=relevant)@1", "AWRF(target=relevant, base=2)@1"]).mean
    # Only a is seen, only c is relevant; c is not in the first rank, but in the run.
    assert list(found.values()) == pytest.approx([1 - np.log(2), 0])


def test_a_group_that_is_never_shown_counts():
    """Only A is shown; half of the attention should go to B, also where another query shows B or nobody does."""
    alone = rl.evaluate(rl.Judgments({"q": {"a": 1}}, documents=GROUPS), {"q": ["a"]}, FAIR).mean
    assert alone == pytest.approx({"AWRF": 0.78424, "EE_D": 1, "EE_R": 0.5, "EE_L": 0.5}, abs=1e-5)
    both = rl.evaluate(
        rl.Judgments({"q": {"a": 1}, "r": {}}, documents=GROUPS), {"q": ["a"], "r": ["c"]}, FAIR
    )
    assert {name: both[name][0] for name in FAIR} == pytest.approx(alone)


def test_relevant_documents_that_are_not_retrieved_have_a_target():
    """One relevant document in each group, and all attention goes to A."""
    judged = rl.Judgments({"q": {"a": 1, "c": 1}}, documents=GROUPS)
    found = rl.evaluate(judged, {"q": ["a"]}, ["EE_L(target=relevant)", "EE_L"]).mean
    assert found == pytest.approx({"EE_L(target=relevant)": 0.5, "EE_L": 0.5})


def test_a_document_may_belong_to_several_groups():
    half = {doc: {"group": {"A": 0.5, "B": 0.5}} for doc in "abcd"}
    found = rl.evaluate(rl.Judgments(GRADES, documents=half), {"q": ["a", "b", "c", "d"]}, FAIR).mean
    assert found["AWRF"] == pytest.approx(1)
    assert found["EE_L"] == pytest.approx(0)


def test_over_all_orders_every_group_is_seen_alike():
    judged = rl.Judgments(GRADES, documents=GROUPS)
    runs = [{"q": list(order)} for order in permutations("abcd")]
    found = rl.evaluate_rankings(judged, runs, [*FAIR, "RR"])
    assert found.mean["AWRF"] == pytest.approx(1)
    assert found.mean["EE_L"] == pytest.approx(0, abs=1e-12)
    # Disparity is at its lowest: the exposures are equal, and as high as their target.
    assert found.mean["EE_D"] == pytest.approx(found.mean["EE_R"])
    alone = [rl.evaluate(judged, run, [*FAIR, "RR"]).mean for run in runs]
    assert found.mean["RR"] == pytest.approx(np.mean([one["RR"] for one in alone]))
    assert found.mean["EE_L"] < np.mean([one["EE_L"] for one in alone])


def test_expected_exposure_by_brute_force():
    judged = rl.Judgments(GRADES, documents=GROUPS)
    runs = [{"q": ["a", "b", "c", "d"]}, {"q": ["c", "a", "d", "b"]}, {"q": ["d", "c"]}]
    exposure = {"A": 0.0, "B": 0.0}
    for run in runs:
        for rank, doc in enumerate(run["q"], 1):
            exposure[GROUPS[doc]["group"]] += 1 / np.log2(max(rank, 2)) / len(runs)
    target = sum(exposure.values()) / 2
    found = rl.evaluate_rankings(judged, runs, FAIR).mean
    assert found["EE_D"] == pytest.approx(sum(e**2 for e in exposure.values()))
    assert found["EE_R"] == pytest.approx(sum(e * target for e in exposure.values()))
    assert found["EE_L"] == pytest.approx(sum((e - target) ** 2 for e in exposure.values()))


def test_one_run_is_what_evaluate_gives():
    judged, run = rl.Judgments(GRADES, documents=GROUPS), {"q": ["c", "a", "d", "b"]}
    measures = [*FAIR, "nDCG@3"]
    assert rl.evaluate_rankings(judged, [run], measures).mean == rl.evaluate(judged, run, measures).mean


def test_a_single_run_is_no_list_of_runs():
    with pytest.raises(rl.InputError, match="pass a list of runs"):
        rl.evaluate_rankings(GRADES, {"q": ["a"]}, "RR")


def test_junk_moves_up_what_groups_get():
    run = {"q": ["d", "a", "b", "c"]}
    clean = rl.evaluate(rl.Judgments(GRADES, documents=GROUPS), {"q": ["a", "b", "c"]}, FAIR).mean
    junk = rl.Judgments(GRADES, documents=GROUPS, junk={"q": {"d"}})
    assert rl.evaluate(junk, run, FAIR).mean == pytest.approx(clean)


def test_understandability_by_hand():
    documents = {"a": {"understandability": 0.5}, "b": {"understandability": 1.0}, "c": {}}
    judged = rl.Judgments({"q": {"a": 1, "b": 2, "c": 1, "x": 0}}, documents=documents)
    run = {"q": ["x", "a", "c", "b"]}
    found = rl.evaluate(judged, run, ["uRBP", "uRBP(p=0.5, rel=2)", "uRBP@2", "RBP"]).mean
    wanted = [0.2 * (0.8 * 0.5 + 0.8**3), 0.5 * 0.5**3, 0.2 * 0.8 * 0.5]
    assert list(found.values())[:3] == pytest.approx(wanted)
    assert found["uRBP"] <= found["RBP"]
    with pytest.raises(rl.MeasureError, match="from 0 to 1"):
        rl.evaluate(
            rl.Judgments({"q": {"a": 1}}, documents={"a": {"understandability": 7}}), {"q": ["a"]}, "uRBP"
        )
