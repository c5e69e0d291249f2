"""Whether a collection is fair to new systems: groups left out by hand."""

import json

import numpy as np
import pytest

import ranklens as rl
from ranklens.cli.main import main

QRELS = {"q1": {"a": 1, "b": 1, "n": 0}, "q2": {"c": 1, "d": 1}}
RUNS = {
    "x": {"q1": ["a", "b"], "q2": ["c", "n"]},
    "y": {"q1": ["b", "n"], "q2": ["c", "d"]},
    "z": {"q1": ["b", "n"], "q2": ["d", "c"]},
}


def by_run(found):
    return {one.run: one for one in found.runs}


def test_a_run_with_one_unique_relevant_document():
    """Only x found a: without it x has one relevant document in the first two of q1, of one that is left."""
    found = by_run(rl.reusability(QRELS, RUNS, measure="P@2"))
    assert (found["x"].unique, found["y"].unique, found["z"].unique) == (1, 0, 0)
    assert (found["x"].original, found["x"].without) == (0.75, 0.5)
    assert found["x"].change == pytest.approx(-1 / 3)
    assert (found["y"].original, found["y"].without) == (0.75, 0.75)


def test_a_group_is_left_out_together():
    """Together y and z are the only ones that found d."""
    apart, together = (
        rl.reusability(QRELS, RUNS, groups, measure="P@2") for groups in (None, {"y": "team", "z": "team"})
    )
    assert [one.unique for one in apart.runs] == [1, 0, 0]
    assert [(one.group, one.unique) for one in together.runs] == [("x", 1), ("team", 1), ("team", 1)]
    assert by_run(together)["y"].without == 0.5
    tagged = rl.reusability(QRELS, {"t-1": RUNS["y"], "t-2": RUNS["z"], "u": RUNS["x"]}, "tag", measure="P@2")
    assert [one.group for one in tagged.runs] == ["t", "t", "u"]


def test_documents_below_the_depth_of_the_pool_were_found_by_others():
    deep = {"x": RUNS["x"], "y": {"q1": ["n", "m", "a"], "q2": ["c"]}}
    assert by_run(rl.reusability(QRELS, deep, measure="P@2", depth=2))["x"].unique == 2  # a and b
    assert by_run(rl.reusability(QRELS, deep, measure="P@2"))["x"].unique == 1


def test_the_order_of_systems():
    found = rl.reusability(
        QRELS, {name: RUNS[name] for name in "xy"} | {"w": {"q1": ["b"], "q2": ["n"]}}, measure="R@2"
    )
    assert found.order is not None
    assert found.tau == rl.tau(
        {one.run: one.without for one in found.runs}, {one.run: one.original for one in found.runs}
    )
    single = rl.reusability(QRELS, {"x": RUNS["x"]})
    assert (single.tau, single.largest_rank_change) == (1.0, 0)
    assert "one group of runs alone" in single.verdict()[0]


def collection(unique):
    """A pool to which a new kind of system brings many documents of its own, or none."""
    rng = np.random.default_rng(0)
    qrels, runs = {}, {name: {} for name in ("bm25", "bm25+", "dense")}
    for i in range(40):
        shared, own = [f"s{j}" for j in range(6)], [f"o{j}" for j in range(6)]
        qrels[f"q{i}"] = {doc: int(rng.random() < 0.5) for doc in shared + own}
        runs["bm25"][f"q{i}"] = shared
        runs["bm25+"][f"q{i}"] = rng.permutation(shared).tolist()
        best = sorted(shared + own, key=lambda doc, q=f"q{i}": -qrels[q][doc])
        runs["dense"][f"q{i}"] = (
            best[:6] if unique else sorted(shared, key=lambda doc, q=f"q{i}": -qrels[q][doc])
        )
    return qrels, runs


def test_verdicts():
    fair = rl.reusability(*collection(False), measure="nDCG@5")
    assert fair.verdict()[0].startswith("Reusable")
    assert (fair.flipped, fair.lost, fair.tau) == ((), (), 1.0)
    unfair = rl.reusability(*collection(True), measure="P@5")
    assert unfair.worst.run == "dense"
    assert unfair.worst.change < -0.2
    assert "dense loses" in unfair.verdict()[0]
    assert unfair.pairs == 2


def test_a_pair_that_turns_round_is_named():
    qrels = {f"q{i}": {"a": 1, "b": 1, "u": 1, "n": 0} for i in range(12)}
    runs = {
        "new": {q: ["u", "a", "n", "n2"] for q in qrels},
        "old": {q: ["a", "n", "n3", "n4"] for q in qrels},
        "third": {q: ["n", "a", "b", "n5"] for q in qrels},
    }
    found = rl.reusability(qrels, runs, measure="RR")
    assert found.flipped == ()
    better = rl.reusability(qrels, runs | {"new": {q: ["u", "n", "a", "x"] for q in qrels}}, measure="nDCG@4")
    assert ("new", "old") in better.flipped or ("new", "old") in better.lost
    assert "Judge more" in better.verdict()[0]


def test_groups_of_runs_that_do_not_exist_are_refused():
    with pytest.raises(rl.InputError, match="there is no run 'xx'"):
        rl.reusability(QRELS, RUNS, {"xx": "g"})


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items())
    )
    for name, run in RUNS.items():
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{q} Q0 {d} {i} {-i} {name}\n" for q, docs in run.items() for i, d in enumerate(docs))
        )
    files = [f"{name}.txt" for name in RUNS]
    assert main(["reusability", "qrels.txt", *files, "-m", "P@2", "--depth", "2"]) == 0
    out = capsys.readouterr().out
    assert "left out" in out
    assert "its first 2 documents" in out
    (tmp_path / "teams.csv").write_text("system,team\nx,one\ny,two\nz,two\n")
    assert (
        main(["reusability", "qrels.txt", *files, "-m", "P@2", "--by-team", "teams.csv", "-o", "found.json"])
        == 0
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["unique"] for row in found["runs"]] == [1, 1, 1]
