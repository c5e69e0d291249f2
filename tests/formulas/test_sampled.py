"""Judgments of sampled pools: against NIST's programs, over all possible samples, and every way in."""

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import ranklens as rl
from ranklens.data.files.writing import convert

GOLDEN = Path(__file__).parents[1] / "golden" / "sampled"
MEASURES = ["xinfAP", "infNDCG", "statAP"]
POOL = {"a": 1, "b": 0, "c": 2, "d": 1, "e": 0, "f": 1}  # as if all of it had been judged
RANKING = {"q": ["c", "x", "a", "e", "f", "y", "b", "d"]}


def theirs(name, measure):
    lines = [line.split() for line in (GOLDEN / name).read_text().splitlines()]
    return {query: float(value) for label, query, value in lines if label == measure and query != "all"}


@pytest.mark.parametrize(
    ("qrels", "output", "label", "measure", "digits"),
    [
        ("qrels.txt", "sample_eval.txt", "infAP", "xinfAP", 4),
        ("qrels.txt", "sample_eval.txt", "infNDCG", "infNDCG", 4),
        ("qrels.txt", "sample_eval.txt", "infNDCG", "infNDCG@1000", 4),
        ("prels.txt", "statap.txt", "statAP", "statAP", 6),
    ],
)
def test_values_are_those_of_the_programs_of_trec(qrels, output, label, measure, digits):
    expected = theirs(output, label)
    scores = rl.evaluate(GOLDEN / qrels, GOLDEN / "run.txt", measure)
    found = dict(zip(scores.queries, np.round(scores[measure], digits).tolist(), strict=True))
    assert len(expected) == 8
    assert found == pytest.approx(expected, abs=10**-digits * 0.51)


def test_the_worked_example_of_sample_eval():
    grades = {"a": 1, "b": 0, "c": 1, "d": 1, "e": -1, "f": 0, "g": -1, "h": -1}
    judged = rl.Judgments({"q": grades}, strata={"q": {doc: 1 if doc in "abc" else 2 for doc in grades}})
    measures = ["xinfAP", "infNDCG(rounding=down)", "infNDCG"]
    found = rl.evaluate(judged, {"q": ["a", "e", "c", "z", "d", "b", "f"]}, measures)
    assert [round(value, 4) for value in found.mean.values()] == [0.7654, 0.8121, 0.7055]


def test_a_pool_that_is_judged_in_full_has_the_usual_values():
    strata = {"q": {doc: doc in "abc" for doc in POOL}}
    judged = rl.Judgments({"q": POOL}, strata=strata, probabilities={"q": dict.fromkeys(POOL, 1.0)})
    usual = rl.evaluate({"q": POOL}, RANKING, ["AP", "nDCG", "nDCG@3", "AP(rel=2)"]).mean
    found = rl.evaluate(judged, RANKING, ["statAP", "infNDCG", "infNDCG@3", "statAP(rel=2)", "xinfAP"]).mean
    assert [*found.values()][:4] == pytest.approx([*usual.values()], abs=1e-12)
    assert found["xinfAP"] == pytest.approx(usual["AP"], abs=1e-4)  # smoothed


def test_stat_ap_is_right_on_average_over_all_samples():
    """Its sum of precisions and its number of relevant documents are unbiased if documents are drawn independently."""
    chance = dict(zip(POOL, [0.2, 0.9, 0.5, 0.7, 0.4, 0.3], strict=True))
    total = relevant = 0.0
    for drawn in product([False, True], repeat=len(POOL)):
        sample = [doc for doc, here in zip(POOL, drawn, strict=True) if here]
        probability = np.prod([chance[doc] if doc in sample else 1 - chance[doc] for doc in POOL])
        judged = rl.Judgments(
            {"q": {doc: POOL[doc] for doc in sample}},
            probabilities={"q": {doc: chance[doc] for doc in sample}},
        )
        estimate = sum(1 / chance[doc] for doc in sample if POOL[doc] > 0)
        total += (
            probability * estimate * rl.evaluate(judged, RANKING, "statAP", missing="zero").mean["statAP"]
        )
        relevant += probability * estimate
    assert relevant == pytest.approx(4)
    assert total / relevant == pytest.approx(rl.evaluate({"q": POOL}, RANKING, "AP").mean["AP"])


SUMS = ["DCG", "DCG(gain=exp)@3", "P@3", "RBP", "CG@2", "SetP"]


def test_sums_of_samples_are_right_on_average():
    """Horvitz and Thompson, over all samples with their probabilities."""
    chance = dict(zip(POOL, [0.2, 0.9, 0.5, 0.7, 0.4, 0.3], strict=True))
    means = np.zeros(len(SUMS))
    for drawn in product([False, True], repeat=len(POOL)):
        sample = [doc for doc, here in zip(POOL, drawn, strict=True) if here]
        probability = np.prod([chance[doc] if doc in sample else 1 - chance[doc] for doc in POOL])
        judged = rl.Judgments(
            {"q": {doc: POOL[doc] for doc in sample}},
            probabilities={"q": {doc: chance[doc] for doc in sample}},
        )
        found = rl.evaluate(judged, RANKING, [f"HT({name})" for name in SUMS]).mean
        means += probability * np.array([*found.values()])
    assert means.tolist() == pytest.approx([*rl.evaluate({"q": POOL}, RANKING, SUMS).mean.values()])


def test_the_ideal_ranking_of_a_sample_has_parts_of_documents():
    """One document of grade 2 that represents 2.5, and one of grade 1 that represents 2: ranks 1 and 2, half of 3; half of 3, 4 and half of 5."""
    judged = rl.Judgments({"q": {"a": 2, "b": 1}}, probabilities={"q": {"a": 0.4, "b": 0.5}})
    best = 2 + 2 / np.log2(3) + (1 + 0.5) / 2 + 1 / np.log2(5) + 0.5 / np.log2(6)
    found = rl.evaluate(judged, {"q": ["a", "x", "b"]}, ["HT(nDCG)", "HT(R)", "HT(nDCG@1)"]).mean
    assert found["HT(nDCG)"] == pytest.approx((2.5 * 2 + 2 * 1 / 2) / best)
    assert found["HT(R)"] == 1
    assert found["HT(nDCG@1)"] == pytest.approx(2.5)


def test_a_pool_that_is_judged_in_full_gives_the_usual_sums():
    judged = rl.Judgments({"q": POOL}, probabilities={"q": dict.fromkeys(POOL, 1.0)})
    names = [*SUMS, "nDCG@4", "R@4", "nCG@3", "SetR"]
    found = rl.evaluate(judged, RANKING, [f"HT({name})" for name in names]).mean
    assert [*found.values()] == pytest.approx([*rl.evaluate({"q": POOL}, RANKING, names).mean.values()])


def test_what_is_no_sum_is_refused():
    judged = rl.Judgments({"q": POOL}, probabilities={"q": dict.fromkeys(POOL, 1.0)})
    with pytest.raises(rl.MeasureError, match=r"HT\(RR\) is not available: RR is no sum over documents"):
        rl.evaluate(judged, RANKING, "HT(RR)")


def test_the_gain_of_inf_ndcg_is_right_on_average_over_all_samples():
    """Two of the three documents of each stratum are drawn; the ideal ranking of each sample is worked out here."""
    strata = [["a", "b", "c"], ["d", "e", "f"]]
    gains = []
    for one, two in product(combinations(strata[0], 2), combinations(strata[1], 2)):
        grades = {doc: POOL[doc] for doc in [*one, *two]}
        judged = rl.Judgments(
            {"q": grades}, strata={"q": {doc: i for i, docs in enumerate(strata) for doc in docs}}
        )
        ideal, start = 0.0, 0
        for grade in (2, 1):
            many = int(sum(g == grade for g in grades.values()) * 3 / 2 + 0.5)
            ideal += sum(grade / np.log2(rank + 1) for rank in range(start + 1, start + many + 1))
            start += many
        gains.append(rl.evaluate(judged, RANKING, "infNDCG").mean["infNDCG"] * ideal)
    assert len(gains) == 9
    assert np.mean(gains) == pytest.approx(rl.evaluate({"q": POOL}, RANKING, "DCG").mean["DCG"])


def test_strata_give_stat_ap_the_rates_of_sampling():
    grades = {"q": {"a": 1, "b": 0, "c": 2, "d": 1}}
    strata = {"q": {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2, "f": 2}}
    chances = {"q": {"a": 1, "b": 1, "c": 0.5, "d": 0.5}}
    found = [
        rl.evaluate(judged, RANKING, "statAP").mean
        for judged in (rl.Judgments(grades, strata=strata), rl.Judgments(grades, probabilities=chances))
    ]
    assert found[0] == pytest.approx(found[1])
    assert found[0] != pytest.approx(rl.evaluate(grades, RANKING, "AP").mean)


def test_prepared_judgments_some_queries_and_a_depth():
    qrels, run = GOLDEN / "qrels.txt", GOLDEN / "run.txt"
    expected = rl.evaluate(qrels, run, MEASURES)
    assert rl.evaluate(rl.judgments(qrels), run, MEASURES).mean == expected.mean
    few = rl.evaluate(qrels, {"3": [f"d{i}" for i in range(60)]}, MEASURES, missing="skip")
    every = rl.evaluate(qrels, {"3": [f"d{i}" for i in range(60)], "1": ["d1"]}, MEASURES)
    assert [few[name][0] for name in MEASURES] == [every[name][every.queries.index("3")] for name in MEASURES]
    cut = rl.evaluate(qrels, run, ["infNDCG", "infNDCG@7"], depth=7)
    assert cut["infNDCG@7"].tolist() == rl.evaluate(qrels, run, "infNDCG@7")["infNDCG@7"].tolist()


@pytest.mark.parametrize(
    ("measure", "needs"),
    [("xinfAP", "strata"), ("infNDCG", "strata"), ("statAP", "sample"), ("HT(P@3)", "sample")],
)
def test_plain_judgments_are_refused_in_one_sentence(measure, needs):
    with pytest.raises(
        rl.MeasureError, match=f"{re.escape(measure)} needs .*{needs}.*pass Judgments.*or a file of the lines"
    ):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, measure)


def test_measures_of_whole_pools_warn():
    with pytest.warns(
        rl.RankLensWarning, match=r"in AP and nDCG@5 all other documents count as not relevant"
    ):
        rl.evaluate(GOLDEN / "qrels.txt", GOLDEN / "run.txt", ["AP", "xinfAP", "nDCG@5", "infAP", "Judged@5"])


@pytest.mark.filterwarnings("error::ranklens.RankLensWarning")
def test_measures_of_samples_do_not_warn():
    rl.evaluate(GOLDEN / "qrels.txt", GOLDEN / "run.txt", MEASURES)


def test_comparisons_do_not_say_that_unjudged_documents_count_as_not_relevant():
    runs = {"a": GOLDEN / "run.txt", "b": {str(query): [f"d{i}" for i in range(60)] for query in range(1, 9)}}
    assert "not relevant" not in str(rl.compare(GOLDEN / "qrels.txt", runs, MEASURES))


def test_methods_and_missing_probabilities_of_prels(tmp_path):
    path = tmp_path / "prels"
    path.write_text("1 a 1 0 NA\n1 b 1 2 0.1\n1 c 1 1 NA\n1 d 1 1 0.5\n")
    found = rl.evaluate(path, {"1": ["a", "c", "b", "d"]}, "statAP").mean["statAP"]
    # a and b are certain, c is not part of the sample, d stands for two documents: R is 4.
    assert found == pytest.approx((1 / 1 + (1 + 1) / 3 + 2 * (1 + 2) / 4) / 4)
    with pytest.warns(rl.RankLensWarning):
        assert rl.evaluate(path, {"1": ["c"]}, "P@1").mean["P@1"] == 1  # but it has a grade


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 0 a 1 0.5\n", "the grade is 0.5, not a whole number"),
        ("1 0 a 1 1\n1 0 a 2 1\n", "query 1 has document a twice"),
        ("1 a 1 1 0\n", "the probability is 0; it must be above 0"),
        ("1 a 1 1 1.5\n", "the probability is 1.5; it must be above 0"),
        ("1 a 1 1 x\n", "the probability is x; it must be above 0"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path, text, says):
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(rl.InputError, match=says):
        rl.evaluate(path, {"1": ["a"]}, "statAP")


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"strata": {"q": {"b": 1}}}, "document 'a' of query 'q' has a grade and no stratum"),
        ({"probabilities": {"q": {"b": 1}}}, "document 'b' of query 'q' has no grade"),
        ({"probabilities": {"q": {"a": 0}}}, "a probability is above 0 and at most 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, says):
    with pytest.raises(rl.InputError, match=says):
        rl.Judgments({"q": {"a": 1}}, **parts)


@pytest.mark.parametrize("name", ["qrels.txt", "prels.txt"])
def test_they_are_not_converted_into_other_grades(name, tmp_path):
    with pytest.raises(rl.InputError, match="contains judgments of a sampled pool"):
        convert(GOLDEN / name, tmp_path / "out.csv", "qrels")
    assert not (tmp_path / "out.csv").exists()
