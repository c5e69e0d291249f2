"""Against values of pyNTCIREVAL 0.0.3, Sakai's NTCIREVAL in Python (see golden/README.md)."""

import json
import random
from pathlib import Path

import pytest

import ranklens as rl

CASES = json.loads((Path(__file__).parents[1] / "golden" / "ntcireval.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_measures_of_ntcireval(case):
    gold = {f"d{i}": g for i, g in enumerate(case["run"]) if g is not None}
    gold |= {f"missed {i}": g for i, g in enumerate(case["missed"])}
    run = [f"d{i}" for i in range(len(case["run"]))]
    scores = rl.evaluate({"q": gold}, {"q": run}, list(case["values"]))
    for name, value in case["values"].items():
        assert scores[name][0] == pytest.approx(value, abs=1e-12), name


GRADES, STOPS = {1: 2, 2: 3, 3: 7}, {1: 1, 2: 3, 3: 4}


def families(judged, ranked):
    """Measures of pyNTCIREVAL, which take the numbers of documents by grade and a list of (document, grade)."""
    from pyNTCIREVAL.metrics import MSnDCG, PMeasure, PPlusMeasure, QMeasure
    from pyNTCIREVAL.metrics.ncu import NCU, NCUguBR, NCUguP, NCUrbBR, NCUrbP, p_u

    grades, stops = list(GRADES.values()), list(STOPS.values())
    return {
        "Q(gains={1: 2, 2: 3, 3: 7}, beta=2)": QMeasure(judged, grades, 2.0),
        "P_plus(gains={1: 2, 2: 3, 3: 7})": PPlusMeasure(judged, grades, 1.0),
        "P_measure(gains={1: 2, 2: 3, 3: 7})": PMeasure(judged, grades, 1.0),
        "NCU(gains={1: 2, 2: 3, 3: 7})": NCU(judged, grades, 1.0, p_u()),
        "NCU(stop=gu, utility=P, stops={1: 1, 2: 3, 3: 4})": NCUguP(judged, grades, stops),
        "NCU(stop=gu, gains={1: 2, 2: 3, 3: 7}, stops={1: 1, 2: 3, 3: 4})": NCUguBR(
            judged, grades, stops, 1.0
        ),
        "NCUrbP(gamma=0.8)": NCUrbP(judged, grades, 0.8),
        "NCUrbBR(gamma=0.8, gains={1: 2, 2: 3, 3: 7})": NCUrbBR(judged, grades, 0.8, 1.0),
        "MSnDCG(gains={1: 2, 2: 3, 3: 7})@10": MSnDCG(judged, grades, 10),
    }


@pytest.mark.parametrize("seed", range(20))
def test_families_of_ntcireval_live(seed):
    pytest.importorskip("pyNTCIREVAL")
    rng = random.Random(seed)
    run = [rng.choice([None, 0, 0, 1, 2, 3]) for _ in range(rng.randint(1, 15))]
    missed = [rng.randint(0, 3) for _ in range(4)] + [2]
    every = [g for g in run if g is not None] + missed
    counts = [every.count(level) for level in range(4)]
    gold = {f"d{i}": g for i, g in enumerate(run) if g is not None} | {
        f"m{i}": g for i, g in enumerate(missed)
    }
    theirs = families(counts, run)
    ours = rl.evaluate({"q": gold}, {"q": [f"d{i}" for i in range(len(run))]}, list(theirs))
    for name, metric in theirs.items():
        value = metric.compute([(f"d{i}", g) for i, g in enumerate(run)])
        assert ours[rl.measure(name)][0] == pytest.approx(value, abs=1e-9), name
