"""How many queries are needed, against statsmodels and by simulation."""

import json

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

import ranklens as rl
from ranklens.cli.main import main
from ranklens.errors import InputError


@pytest.mark.parametrize(("detect", "power", "systems"), [(0.02, 0.8, 2), (0.05, 0.9, 4), (0.1, 0.5, 3)])
def test_the_number_is_that_of_statsmodels(detect, power, systems):
    found = rl.plan(0.2, detect=detect, power=power, systems=systems)
    alpha = 0.05 / (systems * (systems - 1) / 2)
    assert found.queries == np.ceil(TTestPower().solve_power(detect / 0.2, None, alpha, power) - 1e-6)
    assert found.power_at(found.queries) >= power > found.power_at(found.queries - 1)
    assert found.interval is None


def test_a_baseline_needs_fewer_tests():
    assert rl.plan(0.2, detect=0.05, systems=5, baseline=True).tests == 4
    assert rl.plan(0.2, detect=0.05, systems=5).tests == 10


@pytest.fixture
def pilot():
    rng = np.random.default_rng(0)
    a = {f"q{i}": {"AP": float(value)} for i, value in enumerate(rng.random(60))}
    b = {q: {"AP": float(np.clip(v["AP"] + rng.normal(0, 0.2), 0, 1))} for q, v in a.items()}
    return {"a": a, "b": b}


def test_a_pilot_says_how_sure_the_number_is(pilot):
    change = np.array([pilot["b"][q]["AP"] - pilot["a"][q]["AP"] for q in pilot["a"]])
    for given in (pilot, rl.compare_scores(pilot), change.tolist()):
        found = rl.plan(given, detect=0.03)
        assert found.deviation == pytest.approx(change.std(ddof=1))
        low, high = (59 * change.var(ddof=1) / stats.chi2.ppf([0.975, 0.025], 59)) ** 0.5
        assert [*found.deviation_interval] == pytest.approx([low, high])
        assert found.interval == (rl.plan(low, detect=0.03).queries, rl.plan(high, detect=0.03).queries)
        assert found.interval[0] < found.queries < found.interval[1]
        assert "The pilot leaves open" in str(found)


def test_one_system_is_a_pilot_under_an_assumption():
    scores = rl.evaluate(
        {f"q{i}": {"a"} for i in range(9)}, {f"q{i}": [*"xy"[: i % 3], "a"] for i in range(9)}, "RR"
    )
    found = rl.plan(scores, detect=0.1)
    assert found.deviation == pytest.approx(scores["RR"].std(ddof=1))
    assert "as if two systems correlated by 0.5" in found.source


def test_clusters_need_more_queries(pilot):
    cluster_of = {q: f"t{i // 6}" for i, q in enumerate(pilot["a"])}
    found = rl.plan(rl.compare_scores(pilot, clusters=cluster_of), detect=0.03)
    assert found.per_cluster == 6
    assert found.clusters == np.ceil(found.queries / 6)
    stated = rl.plan(0.2, detect=0.05, per_cluster=10, correlation=1.0)
    assert stated.queries == pytest.approx(10 * rl.plan(0.2, detect=0.05).queries, rel=0.02)


def test_so_many_clusters_have_the_power():
    found = rl.plan(1.0, detect=0.4, per_cluster=5, correlation=0.5)
    rng, shown = np.random.default_rng(1), 0
    for _ in range(1500):
        change = (
            0.4
            + rng.normal(0, 0.5**0.5, found.clusters)[:, None]
            + rng.normal(0, 0.5**0.5, (found.clusters, 5))
        )
        shown += stats.ttest_1samp(change.mean(axis=1), 0).pvalue <= 0.05
    assert shown / 1500 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(
    ("pilot", "options", "message"),
    [
        (0.2, {"detect": 0}, "detect=0 is not allowed"),
        (0, {"detect": 0.1}, "The deviation 0 is not allowed"),
        ("x", {"detect": 0.1}, "The pilot is a str"),
        ([0.1], {"detect": 0.1}, "one query"),
        ([0.1, 0.1], {"detect": 0.1}, "nothing varies"),
        (0.2, {"detect": 0.1, "correlation": 0.5}, "pass per_cluster= too"),
        (0.2, {"detect": 0.1, "per_cluster": 5}, "pass correlation="),
        (0.2, {"detect": 0.1, "per_cluster": 0.5, "correlation": 0.5}, "at least one query"),
        (0.2, {"detect": 0.1, "systems": 1}, "systems=1 is not allowed"),
    ],
)
def test_what_is_refused(pilot, options, message):
    with pytest.raises(InputError, match=message):
        rl.plan(pilot, **options)


def test_the_curve_and_the_chart():
    found = rl.plan([0.1, 0.3, -0.2, 0.05, 0.2], detect=0.1)
    assert found.curve.columns == ["queries", "power", "low", "high"]
    assert (found.curve["low"] <= found.curve["high"]).all()
    assert "power to find 0.1" in found.chart().to_json()


@pytest.fixture
def files(tmp_path):
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(12)}
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} 1\n" for q, docs in qrels.items() for d in docs))
    for name, step in (("a", 2), ("b", 3)):
        rows = [
            f"{q} Q0 {doc} {rank} {-rank} {name}\n"
            for i, q in enumerate(qrels)
            for rank, doc in enumerate([*["x", "y"][: i % step], f"d{i}"], 1)
        ]
        (tmp_path / f"{name}.txt").write_text("".join(rows))
    (tmp_path / "queries.csv").write_text("query,topic\n" + "".join(f"q{i},t{i // 3}\n" for i in range(12)))
    return tmp_path


def test_the_command(files, capsys):
    given = [
        "plan",
        str(files / "qrels.txt"),
        str(files / "a.txt"),
        str(files / "b.txt"),
        "-m",
        "RR",
        "--detect",
        "0.05",
    ]
    assert main([*given, "--format", "json", "--cluster", f"{files / 'queries.csv'}:topic"]) == 0
    content = json.loads(capsys.readouterr().out)
    compared = rl.compare(
        str(files / "qrels.txt"), {"a": str(files / "a.txt"), "b": str(files / "b.txt")}, "RR",
        clusters="topic", queries=str(files / "queries.csv"),
    )  # fmt: skip
    assert content["queries"] == rl.plan(compared, detect=0.05).queries
    assert content["per_cluster"] == 3
    assert main(["plan", "--deviation", "0.2", "--detect", "0.05"]) == 0
    assert "128 queries show a difference of 0.05" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give either a pilot"),
        (["qrels.txt", "a.txt"], "two or more runs"),
        (["qrels.txt", "--deviation", "1"], "Give either"),
    ],
)
def test_what_the_command_refuses(capsys, arguments, message):
    assert main(["plan", *arguments, "--detect", "0.1"]) == 2
    assert message in capsys.readouterr().err
