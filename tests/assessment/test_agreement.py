"""How far assessors agree: textbook values, other packages, and what is said of it."""

import json

import numpy as np
import polars as pl
import pytest
from assessors import KRIPPENDORFF, judgments
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.assessment import coefficients
from ranklens.assessment.ratings import Ratings
from ranklens.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:Only .* documents that two assessors judged")

TABLE = np.array([[30, 8, 2, 0], [6, 12, 5, 1], [1, 4, 10, 5], [0, 1, 3, 12]])


def two_assessors(table):
    """Judgments whose table of grades is this."""
    pairs = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    parts = [{}, {}]
    for number, grades in enumerate(pairs):
        for part, grade in zip(parts, grades, strict=True):
            part.setdefault(f"q{number % 11}", {})[f"d{number}"] = grade
    return parts


def test_kappa_of_textbooks():
    assert coefficients.kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)
    found = rl.agreement(*two_assessors(TABLE))
    values = (found.kappa, found.kappa_linear, found.kappa_quadratic)
    assert values == pytest.approx((0.5022, 0.6647, 0.7947), abs=5e-5)
    assert found.tables["A", "B"].tolist() == TABLE.tolist()
    assert found.confusion.rows()[0] == ("0", 30, 8, 2, 0)


def test_kappa_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 200)
    b = np.clip(a + rng.integers(-1, 2, 200), 0, 3)
    judged = [{f"q{i % 20}": {} for i in range(200)} for _ in range(2)]
    for part, grades in zip(judged, (a, b), strict=True):
        for i, grade in enumerate(grades.tolist()):
            part[f"q{i % 20}"][f"d{i}"] = grade
    found = rl.agreement(*judged)
    for weights, value in (
        (None, found.kappa),
        ("linear", found.kappa_linear),
        ("quadratic", found.kappa_quadratic),
    ):
        assert value == pytest.approx(metrics.cohen_kappa_score(a, b, weights=weights))
    assert found.tables["A", "B"].tolist() == metrics.confusion_matrix(a, b).tolist()


def test_a_missing_grade_is_still_a_step():
    """Of grades 0, 1 and 3, the last two are two steps apart."""
    parts = two_assessors([[5, 0, 0, 0], [0, 3, 0, 2], [0, 0, 0, 0], [0, 1, 0, 4]])
    assert rl.agreement(*parts).ratings.scale.tolist() == [0, 1, 2, 3]
    assert rl.agreement(*parts).kappa_linear == pytest.approx(
        float(coefficients.kappa(np.array([[5, 0, 0, 0], [0, 3, 0, 2], [0] * 4, [0, 1, 0, 4]]), "linear"))
    )


FLEISS = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]  # fmt: skip


def fourteen_assessors():
    parts = [{} for _ in range(14)]
    for item, counts in enumerate(FLEISS):
        grades = [grade for grade, count in enumerate(counts) for _ in range(count)]
        for part, grade in zip(parts, grades, strict=True):
            part.setdefault(f"q{item}", {})["d"] = grade
    return parts


def test_fleiss_of_the_textbook_and_of_statsmodels():
    found = rl.agreement(*fourteen_assessors())
    assert found.fleiss == pytest.approx(0.209931, abs=1e-6)
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    assert found.fleiss == pytest.approx(raters.fleiss_kappa(np.array(FLEISS)))


@pytest.mark.parametrize("example", KRIPPENDORFF)
def test_alpha_of_published_examples(example):
    found = rl.agreement(*judgments(example.grades))
    for level, value in example.alpha.items():
        assert found.alpha(level) == pytest.approx(value, abs=example.digits)


@given(
    st.lists(st.lists(st.sampled_from([np.nan, 0, 1, 2, 3]), min_size=3, max_size=3), min_size=2, max_size=12)
)
def test_alpha_is_that_of_krippendorff(rows):
    krippendorff = pytest.importorskip("krippendorff")
    grades = np.array(rows, float)
    paired = grades[(~np.isnan(grades)).sum(axis=1) > 1]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        return
    found = rl.agreement(*judgments(grades.T))
    for level in coefficients.LEVELS:
        # The package looks at documents that one assessor judged for the distances of ordinal grades, too.
        assert found.alpha(level) == pytest.approx(
            krippendorff.alpha(reliability_data=paired.T, level_of_measurement=level)
        )


def test_shares_by_hand():
    ann = {"q1": {"a": 2, "b": 0, "c": 1, "x": 1}, "q2": {"d": 0, "e": 2}}
    bob = {"q1": {"a": 2, "b": 0, "c": 0}, "q2": {"d": 0, "e": 1, "y": 3}}
    found = rl.agreement(ann, bob, names=["ann", "bob"])
    assert (len(found.ratings), found.left_out) == (5, 2)
    assert found.overlap == pytest.approx(2 / 3)  # a and e of a, c and e
    assert found.values["positive"] == pytest.approx(2 * 2 / 5)
    assert found.values["negative"] == pytest.approx(2 * 2 / 5)
    assert found.values["raw"] == pytest.approx(3 / 5)
    assert found.prevalence == {"ann": 0.6, "bob": 0.4}
    assert found.queries.rows() == [
        ("q2", 2, 0.5, 0.5),
        ("q1", 3, pytest.approx(2 / 3), pytest.approx(1 / 3)),
    ]
    strict = rl.agreement(ann, bob, rel=2)
    assert strict.overlap == 0.5
    assert [round(found.interval(name).low, 3) for name in ("overlap",)] == [0.5]


def test_a_document_that_was_pooled_and_not_judged_does_not_count():
    found = rl.agreement({"q": {"a": 1, "b": -1, "c": 0}}, {"q": {"a": 1, "b": 1, "c": 0}})
    assert found.ratings.docs == ("a", "c")


def test_intervals_are_over_queries():
    """Documents of one query that all disagree widen the interval more than as many of several queries."""
    rng = np.random.default_rng(0)
    same = {f"q{i}": {f"d{j}": int(rng.integers(0, 3)) for j in range(10)} for i in range(20)}
    other = {query: dict(docs) for query, docs in same.items()}
    spread = {query: dict(docs) for query, docs in same.items()}
    for i in range(20):
        other[f"q{i // 10}"][f"d{i % 10}"] = 2 - same[f"q{i // 10}"][f"d{i % 10}"]
        spread[f"q{i}"]["d0"] = 2 - spread[f"q{i}"]["d0"]
    widths = [
        high - low for low, high in (rl.agreement(same, one).interval("kappa") for one in (other, spread))
    ]
    assert widths[0] > 1.5 * widths[1]
    assert rl.agreement(same, other).intervals == rl.agreement(same, other).intervals
    with pytest.raises(rl.InputError, match="name='kapa' is not known: did you mean 'kappa'"):
        rl.agreement(same, other).interval("kapa")


def test_high_agreement_that_is_chance_is_called_that():
    ann = {f"q{i}": {"a": int(i == 0), **{f"d{j}": 0 for j in range(8)}} for i in range(20)}
    bob = {f"q{i}": {"a": int(i == 1), **{f"d{j}": 0 for j in range(8)}} for i in range(20)}
    found = rl.agreement(ann, bob)
    assert found.values["raw"] > 0.98
    assert found.kappa < 0.01
    assert "chance alone explains most of that" in " ".join(found.verdict())
    assert "Not reliable" in found.verdict()[0]


def test_grades_that_are_all_the_same_say_nothing():
    found = rl.agreement({"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1}})
    assert np.isnan(found.kappa)
    assert "nothing can be said" in found.verdict()[0]
    assert found.to_dict()["coefficients"]["kappa"]["value"] is None


def test_one_table_of_all_assessors(tmp_path):
    rows = {
        "query": ["q"] * 4,
        "doc": ["a", "b"] * 2,
        "grade": [1, 0, 1, 1],
        "assessor": ["x", "x", "y", "y"],
    }
    table = pl.DataFrame(rows)
    table.write_csv(tmp_path / "all.csv")
    for given_judgments in (table, tmp_path / "all.csv", table.to_pandas()):
        found = rl.agreement(given_judgments)
        assert found.ratings.assessors == ("x", "y")
        assert found.ratings.grades.tolist() == [[1, 1], [0, 1]]


def test_systems_by_the_judgments_of_each_assessor():
    ann = {f"q{i}": {"a": 1, "b": 0} for i in range(12)}
    bob = {f"q{i}": {"a": 0, "b": 1} for i in range(12)} | {"only": {"a": 1}}
    runs = {"first": {q: ["a", "b"] for q in ann}, "second": {q: ["b", "a"] for q in ann}}
    found = rl.agreement(ann, bob, names=["ann", "bob"], runs=runs, measure="RR")
    assert found.systems.means == {"ann": {"first": 1, "second": 0.5}, "bob": {"first": 0.5, "second": 1}}
    assert found.systems.orders["ann", "bob"].tau == -1
    assert found.systems.spread == (0.5, "first")
    assert "tau -1.00" in " ".join(found.verdict())


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (({"q": {"a": 1}},), "two or more assessors"),
        (({"q": {"a": 1}}, {"p": {"a": 1}}), "No document was judged by two assessors"),
    ],
)
def test_what_cannot_be_compared_is_refused(sets, message):
    with pytest.raises(rl.InputError, match=message):
        rl.agreement(*sets)
    with pytest.raises(rl.InputError, match="2 assessors but 1 different names"):
        rl.agreement({"q": {"a": 1}}, {"q": {"a": 1}}, names=["x", "x"])


def test_the_chart_shows_grades_against_grades():
    pytest.importorskip("altair")
    drawn = json.loads(rl.agreement(*two_assessors(TABLE)).chart().to_json())
    (rows,) = drawn["datasets"].values()
    assert sum(row["documents"] for row in rows) == TABLE.sum()


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, part in zip(("ann", "bob"), two_assessors(TABLE), strict=True):
        lines = [f"{q} 0 {d} {grade}" for q, docs in part.items() for d, grade in docs.items()]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    assert main(["agreement", "ann.txt", "you=bob.txt", "-o", "found.json"]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["assessors"] == ["ann", "you"]
    assert found["coefficients"]["kappa"]["value"] == pytest.approx(0.5022, abs=5e-5)
    assert main(["agreement", "ann.txt", "bob.txt", "--worst", "1"]) == 0
    out = capsys.readouterr().out
    assert "Krippendorff's alpha, ordinal" in out
    assert "Verdict" in out
    assert main(["agreement", "ann.txt"]) == 2
    assert main(["agreement", "ann.txt", "bob.txt", "--format", "csv"]) == 0
    assert "kappa,0.50" in capsys.readouterr().out
    (tmp_path / "run.txt").write_text("q0 Q0 d0 1 1 r\nq1 Q0 d1 1 1 r\n")
    assert main(["agreement", "ann.txt", "bob.txt", "--run", "run.txt", "-m", "RR", "-o", "ann.txt"]) == 2
    assert main(["agreement", "ann.txt", "bob.txt", "--run", "run.txt", "-m", "RR"]) == 0
    assert "RR by the judgments of each assessor" in capsys.readouterr().out


def test_ratings_know_who_judged_what():
    ratings = Ratings.of([{"q": {"a": 1.5}}, {"q": {"a": 0, "b": 2}}], ["x", "y"])
    assert ratings.scale.tolist() == [0, 1.5, 2]
    assert ratings.by_query(ratings.grades[:, 0]) == {"q": {"a": 1.5}}
