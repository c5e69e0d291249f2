"""Whether a model can judge: bias, consistency, order and probes by hand, and the verdict."""

import json

import numpy as np
import pytest

import ranklens as rl
from ranklens.assessment.trust import family_of
from ranklens.cli.main import main

QUERIES = 30


def judged(seed=0):
    rng = np.random.default_rng(seed)
    return {f"q{i}": {f"d{j}": int(rng.integers(0, 3)) for j in range(6)} for i in range(QUERIES)}


def changed(human, share, by, seed=1):
    """Labels that differ from people's in a share of the documents."""
    rng = np.random.default_rng(seed)
    return {
        query: {doc: int(np.clip(grade + by * (rng.random() < share), 0, 2)) for doc, grade in docs.items()}
        for query, docs in human.items()
    }


RUNS = {
    "good": {q: sorted(docs, key=lambda d: -docs[d]) for q, docs in judged().items()},
    "plain": {q: [*docs] for q, docs in judged().items()},
    "bad": {q: sorted(docs, key=docs.get) for q, docs in judged().items()},
}


def test_a_model_that_agrees_is_trusted():
    human = judged()
    found = rl.trust(human, changed(human, 0.1, 1), RUNS)
    assert found.level == "high"
    assert found.tau == found.tau_ap == 1
    assert [(grade, n) for grade, n, _ in found.by_grade] == [
        (g, sum(v == g for d in human.values() for v in d.values())) for g in (0, 1, 2)
    ]
    assert "can stand in for people's" in found.verdict()[0]
    assert "over-rates" in " ".join(found.verdict())


def test_the_bias_is_the_mean_difference_of_grades():
    human = {f"q{i}": {"a": 0, "b": 1, "c": 2} for i in range(12)}
    found = rl.trust(human, {q: {"a": 1, "b": 1, "c": 2} for q in human})
    assert found.bias == pytest.approx(1 / 3)
    assert found.by_grade == ((0, 12, 1), (1, 12, 1), (2, 12, 2))
    assert tuple(found.over_rating) == pytest.approx((1 / 3, 1 / 3))  # the same in all queries


def test_a_model_that_guesses_is_not_trusted():
    human = judged()
    found = rl.trust(human, judged(9), RUNS)
    assert found.level == "none"
    assert "Do not use its labels" in found.verdict()[0]


def test_an_unsteady_model_is_not_trusted_alone():
    human = judged()
    labels = changed(human, 0.02, 1)
    found = rl.trust(human, labels, again=[changed(human, 0.3, 1, seed=5)])
    same = np.mean(
        [
            labels[q][d] == grade
            for q, docs in changed(human, 0.3, 1, seed=5).items()
            for d, grade in docs.items()
        ]
    )
    assert found.consistency == pytest.approx(same)
    assert found.level == "limited"


def test_probes_are_made_of_what_is_not_relevant():
    pairs = [("q", "a", "why?", "one"), ("q", "b", "why?", "two"), ("p", "c", "how?", "three")]
    made = rl.probes(pairs, {"q": {"a": 0, "b": 2}, "p": {"c": 0}})
    assert {(query, doc.partition(" #")[0]) for query, doc, _, _ in made} == {("q", "a"), ("p", "c")}
    assert len(made) == 8
    assert ("q", "a #empty", "why?", "") in made
    assert ("q", "a #duplicated", "why?", "one one") in made
    assert rl.probes(pairs, {"q": {"a": 0, "b": 2}, "p": {"c": 0}}, n=1, seed=1) == rl.probes(
        pairs, {"q": {"a": 0, "b": 2}, "p": {"c": 0}}, n=1, seed=1
    )
    with pytest.raises(rl.InputError, match="None of the pairs was labelled as not relevant"):
        rl.probes(pairs, {"q": {"a": 1, "b": 2}, "p": {"c": 1}})


def test_a_model_that_obeys_documents_is_not_trusted_alone():
    human = judged()
    pairs = [(q, d, "why?", f"text of {d}") for q, docs in human.items() for d in docs]
    made = rl.probes(pairs, human, n=10)
    labels = {}
    for query, doc, _, text in made:
        labels.setdefault(query, {})[doc] = 2 if "perfectly relevant" in text else 0
    found = rl.trust(human, human, probed=labels)
    assert found.probes == {"stuffed": (0, 10), "injected": (10, 10), "empty": (0, 10), "duplicated": (0, 10)}
    assert found.level == "limited"
    assert "the label rises for 10 of 10" in str(found)
    with pytest.raises(rl.InputError, match="is no probe"):
        rl.trust(human, human, probed={"q0": {"d0": 1}})


def test_a_judge_of_the_family_of_a_system_is_named():
    human = judged()
    found = rl.trust(
        human, human, RUNS, judge="gpt-4o", models={"good": "text-embedding-3-large", "bad": "bm25"}
    )
    assert found.relatives == ("good",)
    assert "one family of models" in str(found)
    assert family_of("meta-llama/Llama-3-8B") == "meta"
    assert family_of("dense") is None


def test_documents_without_a_label_are_counted():
    human = judged()
    labels = {q: {d: g for d, g in docs.items() if d != "d0"} for q, docs in human.items()}
    found = rl.trust(human, labels)
    assert found.unlabelled == QUERIES
    assert f"{QUERIES} documents judged by people have no label" in str(found)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    human = judged()
    for name, one in (("people", human), ("model", changed(human, 0.1, 1))):
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{q} 0 {d} {g}\n" for q, docs in one.items() for d, g in docs.items())
        )
    for name, run in RUNS.items():
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{q} Q0 {d} {i} {-i} {name}\n" for q, docs in run.items() for i, d in enumerate(docs))
        )
    assert (
        main(
            ["trust", "people.txt", "model.txt", "--run", "good.txt", "--run", "bad.txt", "--judge", "gpt-4o"]
        )
        == 0
    )
    assert "Can this model judge?" in capsys.readouterr().out
    assert main(["trust", "people.txt", "model.txt", "--again", "people.txt", "-o", "found.json"]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["level"] in ("high", "limited")
    assert found["consistency"] == pytest.approx(found["agreement"]["coefficients"]["raw"]["value"])
    assert main(["trust", "people.txt", "good.txt"]) == 2
    assert "looks like a run" in capsys.readouterr().err
