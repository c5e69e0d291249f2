"""Oracle: cwl_eval's own classes, with all that they expect of a user and their residuals."""

import random

import numpy as np
import pytest

import ranklens as rl

cwl = pytest.importorskip("cwl.ruler.ranking")
from cwl.ruler.measures import (  # noqa: E402
    cwl_ap,
    cwl_bpm,
    cwl_dcg,
    cwl_ift,
    cwl_insq,
    cwl_inst,
    cwl_nerr,
    cwl_npv,
    cwl_precision,
    cwl_rbp,
    cwl_rr,
    cwl_set,
    cwl_tbg,
    cwl_umeasure,
)

MODELS = {
    "INST(T=2)": cwl_inst.INSTCWLMetric(2),
    "INST": cwl_inst.INSTCWLMetric(1.0),
    "INSQ(T=3)": cwl_insq.INSQCWLMetric(3),
    "BPM(T=1.5)@7": cwl_bpm.BPMCWLMetric(1.5, 7),
    "SDCG@5": cwl_dcg.NDCGCWLMetric(5),
    "TBG(halflife=10)": cwl_tbg.TBGCWLMetric(10),
    "UMeasure(L=20)": cwl_umeasure.UMeasureCWLMetric(20),
    "IFT(kind=goal)": cwl_ift.IFTGoalCWLMetric(2.0, 0.9, 1.0),
    "IFT(kind=rate)": cwl_ift.IFTRateCWLMetric(0.2, 0.9, 1.0),
    "IFT(T=3, R1=10)": cwl_ift.IFTGoalRateCWLMetric(3.0, 0.9, 10.0, 0.2, 0.9, 1.0),
    "NERR8@6": cwl_nerr.NERReq8CWLMetric(6),
    "NERR9@6": cwl_nerr.NERReq9CWLMetric(6),
    "NERR10(p=0.8)": cwl_nerr.NERReq10CWLMetric(0.8),
    "NERR11(T=2)": cwl_nerr.NERReq11CWLMetric(2.0),
    "TrAP": cwl_ap.TrAPCWLMetric(),
    "BPMD(T=1.5, hb=0.7, hc=0)@7": cwl_bpm.BPMDCWLMetric(1.5, 7, hb=0.7),
    "NPV(rate=0.2)": cwl_npv.NPVCWLMetric(0.2),
    "SET(beta=0.3)@6": cwl_set.SETCWLMetric(0.3, 6),
    "P(expect=EU)@5": cwl_precision.PrecisionCWLMetric(5),
    "RR(expect=EU)": cwl_rr.RRCWLMetric(),
    "AP(expect=EU)": cwl_ap.APCWLMetric(),
    "RBP(p=0.7, expect=EU)": cwl_rbp.RBPCWLMetric(0.7),
}
for _metric in MODELS.values():
    _metric.residuals = True  # which some have no value for until it is set
EXPECTED = ("EU", "ETU", "EC", "ETC", "ED")


def collection(seed):
    rng, qrels, run = random.Random(seed), {}, {}
    for q in range(12):
        docs = [f"d{i}" for i in range(rng.randint(1, 40))]
        qrels[f"q{q}"] = {doc: rng.choice([0, 0, 1, 2, 4]) for doc in docs if rng.random() < 0.7} | {
            "missed": 4
        }
        run[f"q{q}"] = rng.sample(docs, rng.randint(1, len(docs)))
    return qrels, run


@pytest.mark.parametrize("name", MODELS)
def test_equals_cwl_eval(name):
    qrels, run = collection(name)
    metric = MODELS[name]
    for i, expect in enumerate(EXPECTED):
        measure = rl.measure(name).replace(max_grade=4, expect=expect, max_n=100)
        scores = rl.evaluate(qrels, run, [measure, measure.replace(residual=True)])
        for q, value, rest in zip(
            scores.queries, scores[measure], scores[measure.replace(residual=True)], strict=True
        ):
            gains = np.array([qrels[q].get(doc, np.nan) / 4 for doc in run[q]])
            ranking = cwl.Ranking(q, gains, np.ones(len(gains)), max_n=100)
            ranking.total_qrel_rels = float(sum(grade > 0 for grade in qrels[q].values()))
            ranking.total_qrel_gain = sum(qrels[q].values()) / 4
            metric.measure(ranking)
            theirs = metric.get_scores()[i]
            residual = [
                metric.residual_expected_utility,
                metric.residual_expected_total_utility,
                metric.residual_expected_cost,
                metric.residual_expected_total_cost,
                metric.residual_expected_items,
            ][i]
            assert value == pytest.approx(theirs, abs=1e-9), (expect, q)
            assert rest == pytest.approx(residual, abs=1e-9), (expect, q)


def test_ir_measures_spells_them_alike():
    assert str(rl.measure("INST(T=2, min_rel=0, max_rel=3)")) == "INST(T=2, max_grade=3)"
    assert str(rl.measure("NERR8(max_rel=3)@5")) == "NERR8(max_grade=3)@5"
    assert str(rl.measure("NERR10")) == "NERR10"


def test_a_continuation_of_ones_own():
    """A user who always goes on with chance 0.8 is RBP, up to the ranks beyond the end."""
    mine = rl.user_model(lambda seen: np.full(seen.gain.shape, 0.8), "MyUser")
    qrels, run = collection(1)
    found = rl.evaluate(
        {q: {d: int(g > 0) for d, g in docs.items()} for q, docs in qrels.items()}, run, [mine, "RBP(p=0.8)"]
    )
    assert found.mean["MyUser"] == pytest.approx(found.mean["RBP"], abs=1e-9)
    rl.registry.unregister("MyUser")


@pytest.mark.parametrize(
    "name", ["TBG(halflife=10)", "UMeasure(L=20)", "IFT(kind=rate)", "BPM(T=1.5)@7", "TrAP", "INST"]
)
def test_costs_of_documents_equal_those_of_cwl_eval(name):
    qrels, run = collection(name)
    rng = random.Random(name)
    costs = {doc: rng.choice([0.5, 1, 2, 3.5]) for docs in run.values() for doc in docs}
    judged = rl.Judgments(qrels, documents={doc: {"cost": cost} for doc, cost in costs.items()})
    for i, expect in enumerate(EXPECTED):
        measure = rl.measure(name).replace(max_grade=4, expect=expect, max_n=100)
        scores = rl.evaluate(judged, run, measure)
        for q, value in zip(scores.queries, scores[measure], strict=True):
            gains = np.array([qrels[q].get(doc, np.nan) / 4 for doc in run[q]])
            ranking = cwl.Ranking(q, gains, np.array([costs[doc] for doc in run[q]]), max_n=100)
            ranking.total_qrel_rels = float(sum(grade > 0 for grade in qrels[q].values()))
            ranking.total_qrel_gain = sum(qrels[q].values()) / 4
            MODELS[name].measure(ranking)
            assert value == pytest.approx(MODELS[name].get_scores()[i], abs=1e-9), (expect, q)


def test_the_limit_of_the_dynamic_model_moves():
    """By hand: the limit of 2 becomes 2.5 after a gain of 1, so that the user looks at a third document."""
    run, gold = {"q": ["a", "x", "y", "b"]}, {"q": {"a": 1, "b": 1}}
    found = rl.evaluate(
        gold, run, ["BPMD(T=9, hb=0, hc=0, expect=ED)@2", "BPMD(T=9, hb=0, hc=1, expect=ED)@2"]
    )
    assert [*found.mean.values()] == [2, 3]


def test_models_of_usual_measures():
    assert str(rl.measure("P(expect=ETU)@5")) == "P_CWL(expect=ETU)@5"
    gold, run = {"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "y", "b"]}
    names = ["P@4", "P_CWL@4", "RR", "RR_CWL", "AP", "AP_CWL", "RBP(p=0.5)", "RBP_CWL(p=0.5)"]
    values = [*rl.evaluate(gold, run, names).mean.values()]
    assert values[1::2] == pytest.approx(values[::2])
