"""Every method and normalisation equals ranx on recorded runs; tests/fusion/record_ranx.py records them."""

import json
from pathlib import Path

import pytest

import ranklens as rl
from ranklens.fusion import METHODS, NORMS, TRAINED

RECORDED = json.loads(Path(__file__).with_name("ranx.json").read_text(encoding="utf-8"))
# With Borda's normalisation, ranx puts every candidate into every run, in an arbitrary order: all documents then count as retrieved by all
# runs, and ranks mean nothing. Here a run gives points to documents that it lacks, but does not retrieve them.
DIFFERENT = {
    f"{name}|borda"
    for name in [
        "anz",
        "mnz",
        "gmnz",
        "wmnz",
        "mixed",
        "rrf",
        "isr",
        "log_isr",
        "logn_isr",
        "borda",
        "weighted_borda",
        "rbc",
    ]
}
OURS = {"weighted_borda": "borda", "w_borda": "borda"}


def expected(run):
    return {query: pytest.approx(docs, abs=1e-9) for query, docs in run.items()}


@pytest.mark.parametrize(
    "case", sorted({case for case in RECORDED["results"] if not case.startswith(tuple(TRAINED))} - DIFFERENT)
)
def test_equals_ranx(case):
    name, norm = case.split("|")
    recorded = RECORDED["results"][case]
    fused = rl.fuse(RECORDED["runs"], OURS.get(name, name), norm or None, **recorded["params"])
    assert fused == expected(recorded["run"])


@pytest.mark.parametrize("name", TRAINED)
def test_trained_methods_equal_ranx(name):
    recorded = RECORDED["results"][f"{name}|"]
    fitted = rl.fit_fusion(RECORDED["qrels"], RECORDED["runs"], name, **recorded["params"])
    assert rl.fuse(RECORDED["runs"], fitted) == expected(recorded["run"])


def test_nothing_is_left_out():
    cases = {tuple(case.split("|")) for case in RECORDED["results"]}
    assert {OURS.get(name, name) for name, _ in cases} | {"condorcet", "round_robin"} == {*METHODS, *TRAINED}
    assert {norm for _, norm in cases} == {"", *NORMS}
