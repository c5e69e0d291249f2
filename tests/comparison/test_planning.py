"""How many queries are needed, against statsmodels and by simulation."""

import json

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

import ranklens as rl
from ranklens.cli.main import main
from ranklens.errors import InputError
from ranklens.stats import Bounds, interval
from ranklens.stats.power import deviation_interval


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


def test_a_comparison_brings_its_family(pilot):
    four = {**pilot, "c": pilot["a"], "d": pilot["b"]}
    assert rl.plan(rl.compare_scores(four), detect=0.05).tests == 6
    assert rl.plan(rl.compare_scores(four, baseline="a"), detect=0.05).tests == 3
    assert rl.plan(rl.compare_scores(four), detect=0.05, baseline=True).tests == 3
    assert rl.plan(rl.compare_scores(four), detect=0.05, systems=2).tests == 1
    assert rl.plan(rl.compare_scores(four, correction="none"), detect=0.05).tests == 1
    assert rl.plan(rl.compare_scores(pilot, alpha=0.01), detect=0.05).alpha == 0.01


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
        low, high = found.deviation_interval
        squares = (change - change.mean()) ** 2 * 60 / 59
        assert (low**2, high**2) == pytest.approx((*interval(squares, bounds=Bounds(0, 1)),))
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


def test_no_power_is_promised_where_the_test_has_none():
    """Over five queries, or clusters of them, the smallest p-value is 0.0625."""
    assert rl.plan(0.01, detect=0.5).queries == 6
    assert rl.plan(0.2, detect=0.5).power_at(5) == 0
    clustered = rl.plan(0.2, detect=0.5, per_cluster=10, correlation=0.5)
    assert (clustered.clusters, clustered.queries) == (6, 60)
    assert clustered.power_at(59) == 0  # five whole clusters
    assert rl.plan(0.01, detect=0.5, systems=5).queries == 9  # 2/2**9 is below 0.05/10


@pytest.mark.parametrize(("detect", "systems"), [(0.15, 2), (0.12, 2), (0.1, 2), (0.16, 3), (0.15, 5)])
def test_the_default_test_has_the_planned_power(detect, systems):
    """Few queries, where the p-values of the randomisation test are coarse."""
    found = rl.plan(0.1, detect=detect, systems=systems)
    signs = np.array(np.meshgrid(*[[1, -1]] * (found.queries - 1))).reshape(found.queries - 1, -1)
    change = np.random.default_rng(0).normal(detect, 0.1, (1000, found.queries))
    sums = np.abs(np.abs(change[:, 1:]) @ signs + np.abs(change[:, :1]))
    p = (sums >= np.abs(change.sum(axis=1, keepdims=True)) - 1e-12).mean(axis=1)
    assert 6 <= found.queries <= 14
    assert (p <= found.alpha).mean() == pytest.approx(found.power_at(found.queries), abs=0.05)


@pytest.mark.parametrize("gap", [0.15, 0.25])
def test_successes_are_planned_for_mcnemars_test(gap):
    """By counting: of the queries, 30% differ."""
    from ranklens.stats.paired import mid_p

    pilot = [1.0] * round(50 * (0.3 + gap)) + [-1.0] * round(50 * (0.3 - gap))
    found = rl.plan([*pilot, *[0.0] * (100 - len(pilot))], detect=gap)
    rng = np.random.default_rng(0)
    wins = rng.binomial(found.queries, (0.3 + gap) / 2, 20_000)
    losses = rng.binomial(found.queries - wins, (0.3 - gap) / 2 / (1 - (0.3 + gap) / 2))
    shown = (mid_p(wins, losses) <= 0.05).mean()
    assert shown == pytest.approx(found.power_at(found.queries), abs=0.02)
    assert 0.8 <= found.power_at(found.queries) < 0.86


def test_queries_that_do_not_differ_do_not_count():
    """Half of the pilot's queries tie, so that six differ in about twelve."""
    some = rl.plan([0.3, 0.0, 0.28, 0.0, 0.31, 0.0, 0.29, 0.0], detect=0.15)
    assert some.differing == 0.5
    assert some.power_at(6) == pytest.approx(0.5**6, abs=1e-6)  # all six must differ
    rng, n = np.random.default_rng(0), some.queries
    found = np.where(rng.random((4000, n)) < 0.5, rng.normal(0.3, some.deviation / 10, (4000, n)), 0.0)
    alone = stats.binom.sf(5, n, 0.5)  # the share in which six or more differ
    assert (np.count_nonzero(found, axis=1) >= 6).mean() == pytest.approx(alone, abs=0.03)
    assert some.power_at(n) == pytest.approx(alone, abs=0.03)


@pytest.mark.parametrize("n", [10, 25, 100])
def test_the_deviation_of_a_pilot_is_covered(n):
    """Differences are 0 but for one query in ten; the chi-square interval holds the truth in half of the pilots."""
    rng = np.random.default_rng(n)
    change = np.where(rng.random((400, n)) < 0.1, rng.choice([-0.7, 0.8], (400, n)), 0.0)
    change = change[np.ptp(change, axis=1) > 0]
    truth = (0.1 * (0.7**2 + 0.8**2) / 2 - (0.1 * 0.05) ** 2) ** 0.5
    ends = np.array([[*deviation_interval(row[None], most=1.0)] for row in change])
    held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert held.mean() >= 0.92
    squares = change.var(axis=1, ddof=1) * (n - 1)
    low, high = (squares[:, None] / stats.chi2.ppf([0.975, 0.025], n - 1)).T ** 0.5
    assert ((low <= truth) & (truth <= high)).mean() < 0.85


def test_the_deviation_of_a_column_without_ends():
    """Latencies may take any value."""
    change = np.random.default_rng(0).normal(0, 100, (400, 40))
    ends = np.array([[*deviation_interval(row[None])] for row in change])
    assert ((ends[:, 0] <= 100) & (ends[:, 1] >= 100)).mean() > 0.92
    assert rl.plan((change[0] + 5).tolist(), detect=20).deviation_interval.method == "bonett"


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
