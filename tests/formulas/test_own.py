"""Measures of one's own: equal to ours where they say the same, and refused in one sentence where they are wrong."""

import numpy as np
import pytest

import ranklens as rl
from ranklens.cli.main import main
from ranklens.metrics import measure, unregister

QRELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1}, "q2": {"a": 1, "x": 3}, "q3": {"a": 1}}
RUN = {"q1": ["z", "a", "c", "b"], "q2": ["x", "y", "a"]}


@pytest.fixture
def named():
    """Names that are registered during a test."""
    yield (names := [])
    for name in names:
        unregister(name)


def test_a_function_of_one_query_equals_the_formula(named):
    def precision(ranked, ideal, *, rel=1):
        return sum(grade >= rel for grade in ranked[:2]) / 2

    def discounted(ranked, ideal):
        def dcg(grades):
            return sum(g / np.log2(r + 1) for r, g in enumerate(grades, 1))

        return dcg(ranked) / dcg(ideal) if any(ideal) else 0.0

    named += ["Own", "OwnGain"]
    rl.measure_from(precision, "Own")
    rl.measure_from(discounted, "OwnGain")
    found = rl.evaluate(QRELS, RUN, ["Own", "P@2", "Own(rel=2)", "P(rel=2)@2", "OwnGain", "nDCG"])
    for mine, ours in (("Own", "P@2"), ("Own(rel=2)", "P(rel=2)@2"), ("OwnGain", "nDCG")):
        assert found[mine].tolist() == pytest.approx(found[ours].tolist())


def test_the_cutoff_cuts_the_ranking_and_unjudged_documents_have_grade_0(named):
    seen = []
    named.append("Seen")
    rl.measure_from(lambda ranked, ideal: float(bool(seen.append((ranked, ideal)))), "Seen")
    rl.evaluate(QRELS, RUN, "Seen@3")
    assert seen == [([0, 2, 0], [2, 1, 1, 0]), ([3, 0, 1], [3, 1]), ([], [1])]


@pytest.mark.parametrize("normalised", [True, False])
def test_gains_and_discounts_of_our_own_measures_give_our_values(named, normalised):
    named.append("Mine")
    rl.cumulated_gain_from("Mine", lambda g: 2**g - 1, lambda r: np.log2(r + 1), normalised=normalised)
    ours = "nDCG(gain=exp)@3" if normalised else "DCG(gain=exp)@3"
    found = rl.evaluate(QRELS, RUN, ["Mine@3", ours])
    assert found["Mine@3"].tolist() == pytest.approx(found[ours].tolist())
    tied = {q: dict.fromkeys(docs, 1.0) for q, docs in RUN.items()}
    averaged = rl.evaluate(QRELS, tied, ["Mine@3", ours], ties="average")
    assert averaged["Mine@3"].tolist() == pytest.approx(averaged[ours].tolist())


WRONG = {
    "short": (lambda judged: np.zeros(1), "Wrong returned 1 values for 3 queries"),
    "matrix": (lambda judged: np.zeros((3, 2)), r"Wrong returned an array of shape \(3, 2\) for 3 queries"),
    "nan": (lambda judged: np.array([0, np.nan, 0]), "returned NaN for query 'q2'; return 0 where"),
    "range": (
        lambda judged: np.array([0, 1, 5.0]),
        "returned 5, outside 0 to 1, for query 'q3'; register it",
    ),
    "infinite": (lambda judged: np.array([0, 1, np.inf]), "returned inf, outside 0 to 1,"),
    "text": (lambda judged: "abc", "returned a str; it must return one number per query"),
    "nothing": (lambda judged: None, "Wrong returned"),
}


@pytest.mark.parametrize("case", WRONG)
def test_values_of_foreign_measures_are_checked(named, case):
    function, message = WRONG[case]
    named.append("Wrong")
    measure("Wrong")(function)
    with pytest.raises(rl.MeasureError, match=message):
        rl.evaluate(QRELS, RUN, "Wrong")


def test_a_range_of_ones_own(named):
    named.append("Wide")
    measure("Wide", high=10)(lambda judged: np.full(3, 5.0))
    assert rl.evaluate(QRELS, RUN, "Wide").mean == {"Wide": 5.0}


@pytest.mark.parametrize("name", ["nDCG", "ndcg", "map", "MRR"])
def test_no_measure_replaces_one_of_ours(name):
    before = rl.evaluate(QRELS, RUN, name).mean
    with pytest.raises(rl.MeasureError, match=f"The name {name!r} is taken by the measure"):
        measure(name)(lambda judged: np.zeros(3))
    with pytest.raises(rl.MeasureError, match="is taken"):
        measure("Fresh", name)(lambda judged: np.zeros(3))
    assert rl.evaluate(QRELS, RUN, name).mean == before


def test_ones_own_measure_may_be_defined_again(named):
    named.append("Again")
    for value in (0.25, 0.5):
        measure("Again")(_constant(value))
    assert rl.evaluate(QRELS, RUN, "Again").mean == {"Again": 0.5}


def _constant(value):
    def constant(judged):
        return np.full(len(judged), value)

    return constant


def test_a_function_that_fails_names_the_query(named):
    named.append("Bad")
    rl.measure_from(lambda ranked, ideal: 1 / len(ranked), "Bad")
    with pytest.raises(rl.MeasureError, match="Bad failed for query 'q3': ZeroDivisionError"):
        rl.evaluate(QRELS, RUN, "Bad")
    named.append("Text")
    rl.measure_from(lambda ranked, ideal: "high", "Text")
    with pytest.raises(rl.MeasureError, match="returned 'high' for query 'q1'"):
        rl.evaluate(QRELS, RUN, "Text")


def test_functions_of_the_wrong_form_are_refused():
    with pytest.raises(rl.MeasureError, match="needs a name"):
        rl.measure_from(lambda ranked, ideal: 0)
    with pytest.raises(rl.MeasureError, match="takes two arguments"):
        rl.measure_from(lambda ranked: 0, "One")


def test_gains_below_0_are_refused(named):
    named.append("Minus")
    rl.cumulated_gain_from("Minus", gain=lambda grade: -1)
    with pytest.raises(rl.MeasureError, match="returned -1 for 1; it must return a number from 0"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "Minus")


def test_the_command_loads_a_file(tmp_path, capsys, named):
    (tmp_path / "q").write_text("q 0 a 1\n")
    (tmp_path / "r").write_text("q Q0 a 1 1 t\n")
    (tmp_path / "beside.py").write_text("VALUE = 0.25\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "import ranklens as rl\nfrom beside import VALUE\nrl.measure_from(lambda ranked, ideal: VALUE, 'Loaded')\n"
    )
    named.append("Loaded")
    paths = [str(tmp_path / "q"), str(tmp_path / "r")]
    assert main(["evaluate", *paths, "-m", "Loaded", "--load", str(file)]) == 0
    assert "0.2500" in capsys.readouterr().out
    assert main(["evaluate", *paths, "--load", str(tmp_path / "none.py")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    file.write_text("1 / 0\n")
    assert main(["measures", "--load", str(file)]) == 2
    assert f"ZeroDivisionError: division by zero ({file}:1)" in capsys.readouterr().err
