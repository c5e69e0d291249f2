"""Measures and presets of single fields, against the code of the field, written down here, and by brute force."""

import random

import numpy as np
import polars as pl
import pytest

import ranklens as rl

RUN = {"q1": {"a": 3.0, "b": 2.0, "x": 1.0}, "q2": {"c": 3.0, "y": 2.0}, "q3": {"a": 1.0}}
QRELS = {"q1": {"a": 1, "c": 0}, "q2": {"b": 1}, "q3": {"z": 1}}


def hole_of_beir(qrels, results, k):
    """What BEIR's hole adds up: documents of the top k that no query's judgments hold, over k; the mean over judged queries."""
    annotated = {doc for docs in qrels.values() for doc in docs}
    found = 0.0
    for scores in results.values():
        top = sorted(scores, key=scores.get, reverse=True)[:k]
        found += sum(doc not in annotated for doc in top) / k
    return found / len(qrels)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_holes_are_those_of_beir(k):
    found = rl.evaluate(QRELS, RUN, [f"Hole@{k}", f"Unjudged@{k}"]).mean
    assert found[f"Hole@{k}"] == pytest.approx(hole_of_beir(QRELS, RUN, k))
    assert found[f"Hole@{k}"] <= found[f"Unjudged@{k}"]


def test_holes_are_explained_rank_by_rank():
    found = rl.explain("Hole@3", QRELS, RUN, query="q1").to_frame()
    assert found["contribution"].to_list() == pytest.approx([0, 0, 1 / 3])
    assert rl.explain("Hole@3", QRELS, {"q1": ["x", "a", "y"]}, query="q1").to_frame()[
        "contribution"
    ].to_list() == pytest.approx([1 / 3, 0, 1 / 3])


def test_medians_are_shown_but_not_tested():
    compared = rl.compare(QRELS, {"a": RUN, "b": {"q1": ["x", "a"]}}, "MedR")
    assert "A median: shown, but not tested." in compared.verdict()
    assert '"median"' in compared.to_json()


def test_holes_of_random_runs_from_every_input(tmp_path):
    rng = random.Random(3)
    docs = [f"d{i}" for i in range(40)]
    qrels = {f"q{q}": dict.fromkeys(rng.sample(docs, 5), 1) for q in range(4)}
    run = {q: {doc: rng.random() for doc in rng.sample(docs, 20)} for q in qrels}
    wanted = hole_of_beir(qrels, run, 10)
    rows = [(q, d, s) for q, found in run.items() for d, s in found.items()]
    table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    path = tmp_path / "run.parquet"
    table.write_parquet(path)
    for given in (run, table, path):
        assert rl.evaluate(qrels, given, "Hole@10").mean["Hole@10"] == pytest.approx(wanted)
    compared = rl.compare(qrels, {"a": run, "b": table}, "Hole@10")
    assert compared.values("Hole@10").mean(axis=1) == pytest.approx([wanted, wanted])


def test_the_median_of_ranks():
    """vsepp: floor(median of places from 0) + 1; the same unless the median lies halfway."""
    ranks = [1, 3, 4, 8, 20]
    qrels = {f"q{i}": {"right"} for i in range(len(ranks))}
    run = {f"q{i}": [*(f"x{j}" for j in range(rank - 1)), "right"] for i, rank in enumerate(ranks)}
    scores = rl.evaluate(qrels, run, ["MedR", "MnR"])
    assert scores.mean == {"MedR": np.floor(np.median(np.array(ranks) - 1)) + 1, "MnR": np.mean(ranks)}
    even = rl.evaluate({q: qrels[q] for q in list(qrels)[:4]}, run, "MedR").mean["MedR"]
    assert even == 3.5  # where vsepp rounds down to 3


def test_the_interval_of_a_median_covers_it_as_often_as_it_says():
    from ranklens.stats.intervals import median_interval

    rng = np.random.default_rng(1)
    true = np.log(2)  # of the exponential distribution
    covered = [
        low <= true <= high for low, high in (median_interval(rng.exponential(size=30)) for _ in range(2000))
    ]
    assert 0.94 <= np.mean(covered) <= 0.98
    few = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "MedR").interval("MedR")
    assert (few.low, few.high) == (1, np.inf)


def test_image_text_in_both_directions():
    """Two images with two captions each; similarities as vsepp has them, rows are images."""
    similar = np.array([[0.9, 0.2, 0.5, 0.1], [0.3, 0.4, 0.8, 0.7]])
    captions = {"i0": {"c0", "c1"}, "i1": {"c2", "c3"}}
    texts = {caption: {image} for image, found in captions.items() for caption in found}
    to_text = {f"i{i}": {f"c{j}": similar[i, j] for j in range(4)} for i in range(2)}
    to_image = {f"c{j}": {f"i{i}": similar[i, j] for i in range(2)} for j in range(4)}
    found = [
        rl.evaluate(captions, to_text, "image-text").mean,
        rl.evaluate(texts, to_image, "image-text").mean,
    ]
    # c1 is nearer to the wrong image; both images have a right caption first.
    assert [one["Success@1"] for one in found] == [1.0, 0.75]
    assert sum(one[f"Success@{k}"] for one in found for k in (1, 5, 10)) == pytest.approx(5.75)  # rsum / 100
    assert [one["MedR"] for one in found] == [1, 1]


def test_cameras_of_re_identification_are_junk():
    """A gallery image of the same person by the same camera does not count, right or wrong."""
    person = {"q": "ann", "g1": "ann", "g2": "bob", "g3": "ann"}
    camera = {"q": 1, "g1": 1, "g2": 2, "g3": 2}
    gallery = ["g1", "g2", "g3"]
    right = {g for g in gallery if person[g] == person["q"] and camera[g] != camera["q"]}
    same = {g for g in gallery if person[g] == person["q"] and camera[g] == camera["q"]}
    judged = rl.Judgments({"q": right}, junk={"q": same})
    found = rl.evaluate(judged, {"q": gallery}, "re-id").mean
    assert found["CMC"] == 0
    assert found["CMC@5"] == 1
    assert found["AP"] == 0.5


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_levels_of_landmarks(level):
    """Easy counts easy images and leaves out hard ones; medium counts both; hard counts hard ones and leaves out easy ones."""
    easy, hard, junk = {"e"}, {"h"}, {"j"}
    right = {"easy": easy, "medium": easy | hard, "hard": hard}[level]
    out = {"easy": junk | hard, "medium": junk, "hard": junk | easy}[level]
    ranking = ["j", "x", "e", "h"]
    clean = [doc for doc in ranking if doc not in out]
    judged = rl.Judgments({"q": right}, junk={"q": out})
    measure = "AP(interpolation=trapezoid)"
    found = rl.evaluate(judged, {"q": ranking}, measure).mean[measure]
    places = [i for i, doc in enumerate(clean) if doc in right]
    assert found == pytest.approx(compute_ap_of_revisitop(places, len(right)))


def compute_ap_of_revisitop(ranks, nres):
    """The trapezoids of the Oxford and Paris evaluation; ranks are places from 0."""
    ap = 0.0
    for found, rank in enumerate(ranks):
        before = 1.0 if rank == 0 else found / rank
        ap += (before + (found + 1) / (rank + 1)) / nres / 2
    return ap
