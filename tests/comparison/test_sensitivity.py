"""Whether conclusions depend on settings: numbers against direct evaluation, brute force and SciPy."""

import json
import random
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison import alternatives
from ranklens.comparison.alternatives import settled_run
from ranklens.comparison.sensitivity import LEFT_OUT, agreement, worst_agreement
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run
from ranklens.policy import Policy


def made(systems=3, n=25, seed=1):
    draw = random.Random(seed)
    qrels = {
        f"q{i}": {f"d{j}": draw.choice([0, 1, 1, 2]) if j < 8 else 0 for j in range(20)} for i in range(n)
    }
    qrels["q0"] = {"d0": 1, "d1": 0}  # nothing is highly relevant
    runs = {
        f"s{s}": {
            q: {f"d{j}": round(docs.get(f"d{j}", 0) + draw.gauss(0, 1 + 0.4 * s)) for j in range(40)}
            for q, docs in qrels.items()
        }
        for s in range(systems)
    }
    return qrels, runs


@pytest.fixture(scope="module")
def three():
    qrels, runs = made()
    found = rl.compare(qrels, runs, ["nDCG@10", "AP"])
    return qrels, runs, found, found.sensitivity()


def row(found, measure, setting):
    return next(one for one in found.of(measure) if one.setting == setting)


@pytest.mark.parametrize(
    ("setting", "measure", "options"),
    [
        ("ties=ascending", "nDCG@10", {"ties": "ascending"}),
        ("ties=average", "AP", {"ties": "average"}),
        ("depth=10", "AP", {"depth": 10}),
        ("rel=2", "AP", {"rel": 2}),
        ("unjudged documents removed", "nDCG@10", {"judged_only": True}),
    ],
)
def test_means_are_those_of_a_direct_evaluation(three, setting, measure, options):
    qrels, runs, _, found = three
    for system, run in runs.items():
        direct = rl.evaluate(qrels, run, measure, **options).mean
        assert row(found, measure, setting).means[system] == pytest.approx(
            next(iter(direct.values())), abs=1e-12
        )


@pytest.mark.parametrize("other", ["nDCG(gain=exp)@10", "nDCG@5", "nDCG@20"])
def test_parameters_are_those_of_a_direct_evaluation(three, other):
    qrels, runs, _, found = three
    for system, run in runs.items():
        assert row(found, "nDCG@10", other).means[system] == pytest.approx(
            rl.evaluate(qrels, run, other).mean[other], abs=1e-12
        )


def test_tests_and_corrections_are_those_of_a_direct_comparison(three):
    qrels, runs, base, found = three
    for option, value in (("test", "t"), ("test", "sign"), ("correction", "bonferroni")):
        direct = rl.compare(qrels, runs, ["nDCG@10", "AP"], **{option: value})
        for measure in ("nDCG@10", "AP"):
            changed = {*base.pairs.won(measure)} ^ {*direct.pairs.won(measure)}
            assert row(found, measure, f"{option}={value}").pairs_changed == len(changed)


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "RR"])
def test_the_best_and_worst_order_are_those_of_brute_force(measure):
    qrels = {"q": {"a": 2, "b": 1, "c": 0, "d": 1}}
    run = {"q": {"a": 2, "x": 2, "b": 2, "c": 1, "d": 1}}
    orders = [[*one, *two] for one, two in product(permutations("axb"), permutations("cd"))]
    values = [rl.evaluate(qrels, {"q": order}, measure).mean[measure] for order in orders]
    for best, expected in ((True, max(values)), (False, min(values))):
        settled = settled_run(Qrels(qrels), Run(run), Policy(), best=best)
        found = rl.evaluate(qrels, settled, measure, ties="input").mean[measure]
        assert found == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_agreement_is_scipys_tau_b(pairs):
    one, other = zip(*pairs, strict=True)
    expected = kendalltau(one, other).statistic
    found = agreement(one, other)
    assert (found.tau is None) == bool(np.isnan(expected))
    if found.tau is not None:
        assert found.tau == pytest.approx(expected, abs=1e-12)
    places = [(i, j) for i in range(len(one)) for j in range(i)]
    assert found.swaps == sum((one[i] - one[j]) * (other[i] - other[j]) < 0 for i, j in places)


def test_leaving_out_a_query_is_comparing_without_it():
    qrels, runs = made(systems=2, n=12, seed=5)
    base = rl.compare(qrels, runs, "AP")
    won = {*base.pairs.won("AP")}
    changing = [
        query
        for query in qrels
        if {*rl.compare({q: d for q, d in qrels.items() if q != query}, runs, "AP").pairs.won("AP")} != won
    ]
    outcome = row(base.sensitivity(), "AP", LEFT_OUT)
    assert outcome.holds == (not changing)
    assert all(query in outcome.note for query in changing[:3])


def test_the_sentence_counts_settings_and_says_why_one_differs(three):
    qrels, _, _, found = three
    outcomes = found.of("AP")
    held = sum(one.holds for one in outcomes)
    assert f"holds under {held} of {len(outcomes)} settings" in found.sentence("AP")
    empty = sum(max(docs.values()) < 2 for docs in qrels.values())
    assert empty > 1
    assert row(found, "AP", "rel=2").note == f"{empty} queries have no relevant document"
    assert found.holds == all(one.holds for one in found.outcomes)


def test_settings_that_change_no_value_are_counted_apart():
    qrels = {f"q{i}": {"a": 1} for i in range(6)}
    runs = {"good": {q: {"a": 2.0, "b": 1.0} for q in qrels}, "bad": {q: {"b": 2.0, "a": 1.0} for q in qrels}}
    found = rl.compare(qrels, runs, "RR").sensitivity()
    assert {one.kind for one in found.outcomes} == {"judged only", "queries", "test"}
    assert found.idle["RR"] > 5
    assert "change no value" in found.sentence("RR")


def test_frames_hold_every_setting(three):
    _, runs, _, found = three
    frame = found.to_frame()
    assert len(frame) == len(found.outcomes)
    assert frame.filter(setting="test=t")["best"].to_list() == ["s0", "s0"]
    means = found.means_frame()
    assert len(means) == (len(found.outcomes) + 2) * len(runs)
    assert len(found.to_dict()["settings"]) == len(frame)


def test_values_alone_vary_tests_only():
    values = {s: {f"q{i}": {"RR": 1 / (1 + (i * k) % 4)} for i in range(20)} for s, k in (("a", 1), ("b", 3))}
    found = rl.compare_scores(values).sensitivity()
    assert {one.kind for one in found.outcomes} == {"test", "queries"}


def test_the_command_writes_what_the_suffix_says(tmp_path, capsys):
    qrels, runs = made(systems=2, n=8)
    lines = [f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in runs.items():
        rows = [f"{q} Q0 {d} 0 {s} {name}\n" for q, docs in run.items() for d, s in docs.items()]
        (tmp_path / name).write_text("".join(rows))
    words = [
        "sensitivity",
        str(tmp_path / "qrels.txt"),
        str(tmp_path / "s0"),
        str(tmp_path / "s1"),
        "-m",
        "AP",
    ]
    assert main(words) == 0
    assert "Does the conclusion depend on the settings?" in capsys.readouterr().out
    assert main([*words, "-o", str(tmp_path / "found.csv")]) == 0
    header, *rows = (tmp_path / "found.csv").read_text().splitlines()
    assert header == "measure,kind,setting,n,best,tau,swaps,pairs_changed,holds,note"
    assert any(row.startswith("AP,ties,ties=ascending,8,") for row in rows)
    assert main([*words, "-o", str(tmp_path / "found.json")]) == 0
    assert "holds under" in json.loads((tmp_path / "found.json").read_text())["sentences"]["AP"]


def test_one_system_has_no_conclusion():
    with pytest.raises(rl.InputError, match="only one system"):
        rl.compare({"q": {"a": 1}}, {"one": {"q": ["a"]}}, "RR").sensitivity()


def test_who_leads_without_a_query_where_lower_is_better():
    times = np.array([[80.0], [40.0], [60.0]])
    assert worst_agreement(times, lower_is_better=True)[1] == [1]
    assert worst_agreement(np.repeat(times, 3, axis=1), lower_is_better=True)[1] == [1, 1, 1]
    assert worst_agreement(times, lower_is_better=False)[1] == [0]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("measure", ["nDCG@10", "RBP", "Success@5"])
def test_values_of_measures_that_have_parameters(measure, mixed):
    """Given values have no rankings that another gain or cutoff could be applied to; tests can be varied."""
    rng = np.random.default_rng(1)
    qrels = {f"q{i}": {"a": 1, "b": 2} for i in range(12)}
    run = {q: ["a", "c", "b"] for q in qrels}
    given = {q: {measure: float(v > 0.5)} for q, v in zip(qrels, rng.random(12), strict=True)}
    other = rl.evaluate(qrels, run, measure) if mixed else {q: {measure: 1.0} for q in qrels}
    found = rl.compare_scores({"given": given, "other": other}).sensitivity()
    assert {"test", "queries"} == {one.kind for one in found.outcomes}
    assert "this holds under" in found.sentence(measure)


def test_runs_are_read_again_for_a_single_setting(monkeypatch):
    """Only the order of the run itself (``ties=input``) is not known from what was judged."""
    rng = np.random.default_rng(5)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(12)} for q in range(8)}
    runs = {
        name: {q: {f"d{d}": float(rng.integers(0, 5)) for d in range(20)} for q in qrels}
        for name in ("a", "b", "c")
    }
    found = rl.compare(qrels, runs, ["nDCG@5", "AP", "RR", "P@5"])
    read = []

    def counted(gold, run, measures, policy):
        read.append(policy.ties)
        return rl.evaluate(gold, run, measures, policy)

    monkeypatch.setattr(alternatives, "evaluate", counted)
    quick = found.sensitivity()
    assert read == ["input"] * 3
    monkeypatch.setattr(alternatives, "rejudged", lambda *_: None)
    monkeypatch.setattr(alternatives, "settled", lambda *_, **__: None)
    slow = found.sensitivity()
    assert len(read) > 30
    assert quick.to_frame().equals(slow.to_frame())
    assert quick.means_frame().equals(slow.means_frame())
    assert quick.idle == slow.idle
