"""Against values of pyNTCIREVAL 0.0.3, Sakai's NTCIREVAL in Python (see golden/README.md)."""

import json
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
