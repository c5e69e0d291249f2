"""Few human and many machine labels in scores and comparisons."""

import json

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison.reading import from_json
from ranklens.scores.history.record import Record
from ranklens.stats import ppi_mean

MEASURES = ["nDCG@5", "P@3"]


def collection(queries=120, bias=0.25, seed=0):
    """What people say of all queries, what a model says (too much), and two systems."""
    rng = np.random.default_rng(seed)
    truth = {f"q{i:03}": {f"d{j}": int(rng.random() < 0.4) for j in range(8)} for i in range(queries)}
    labels = {
        q: {d: int(rng.random() < (0.95 if g else bias)) for d, g in docs.items()}
        for q, docs in truth.items()
    }
    runs = {
        name: {q: {d: g + rng.normal(0, noise) for d, g in docs.items()} for q, docs in truth.items()}
        for name, noise in (("weak", 2.0), ("strong", 0.6))
    }
    return truth, labels, runs


TRUTH, LABELS, RUNS = collection()
HUMAN = {query: TRUTH[query] for query in [*TRUTH][:25]}


def test_scores_use_both_kinds_of_judgments():
    scores = rl.evaluate(HUMAN, RUNS["weak"], MEASURES, machine=LABELS)
    people, model = rl.evaluate(HUMAN, RUNS["weak"], MEASURES), rl.evaluate(LABELS, RUNS["weak"], MEASURES)
    for name in MEASURES:
        by_model = dict(zip(model.queries, model[name], strict=True))
        expected = ppi_mean(
            people[name],
            [by_model[q] for q in people.queries],
            [value for q, value in by_model.items() if q not in HUMAN],
            bounds=rl.stats.Bounds(0, 1),
        )
        assert scores.mean[name] == expected.estimate
        assert scores.interval(name) == expected.interval
        assert scores.interval(name).method == "ppi++"
        assert scores.powered(name) == expected
    assert scores.per_query.rows() == people.per_query.rows()
    note = scores.note
    assert "95 queries with machine labels alone" in note
    assert f"{scores.powered('P@3').weight:.2f} for P@3 (worth {scores.powered('P@3').effective:.0f})" in note
    assert "PPI++ intervals" in note


def test_the_estimate_is_closer_than_either_kind_alone():
    """Over several samples of queries that people judge."""
    truth = rl.evaluate(TRUTH, RUNS["weak"], "P@3").mean["P@3"]
    biased = rl.evaluate(LABELS, RUNS["weak"], "P@3").mean["P@3"]
    rng, gaps = np.random.default_rng(0), []
    for _ in range(12):
        human = {q: TRUTH[q] for q in rng.choice([*TRUTH], 25, replace=False)}
        both = rl.evaluate(human, RUNS["weak"], "P@3", machine=LABELS).mean["P@3"]
        gaps.append((abs(both - truth), abs(rl.evaluate(human, RUNS["weak"], "P@3").mean["P@3"] - truth)))
    ours, people = np.mean(gaps, axis=0)
    assert ours < people
    assert ours < abs(biased - truth)


def test_pairs_are_estimated_on_differences():
    found = rl.compare(HUMAN, RUNS, MEASURES, machine=LABELS)
    pair = found.pair("P@3", "weak", "strong")
    human, model = ({name: rl.evaluate(q, run, "P@3") for name, run in RUNS.items()} for q in (HUMAN, LABELS))
    change = human["strong"]["P@3"] - human["weak"]["P@3"]
    whole = dict(zip(model["weak"].queries, model["strong"]["P@3"] - model["weak"]["P@3"], strict=True))
    expected = ppi_mean(
        change,
        [whole[q] for q in HUMAN],
        [v for q, v in whole.items() if q not in HUMAN],
        bounds=rl.stats.Bounds(-1, 1),
    )
    assert (pair.difference, pair.interval.low, pair.interval.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )
    assert pair.interval.method == "ppi++"
    turned = found.pair("P@3", "strong", "weak")
    assert (turned.difference, turned.interval.high) == pytest.approx((-pair.difference, -pair.interval.low))
    assert found.result("P@3", "weak").mean == pytest.approx(
        rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS).mean["P@3"]
    )
    assert found.result("P@3", "weak").interval.method == "ppi++"
    assert found.test == "ppi++"
    assert "prediction-powered t test" in str(found).lower()
    assert "strong is better than weak" in found.verdict("nDCG@5")


def test_p_value_and_interval_agree():
    found = rl.compare(HUMAN, RUNS, MEASURES, machine=LABELS)
    for pair in found.pairs:
        assert (pair.p_value < 0.05) == (not pair.interval.low <= 0 <= pair.interval.high)
    same = rl.compare(HUMAN, {"a": RUNS["weak"], "b": dict(RUNS["weak"])}, "P@3", machine=LABELS)
    assert same.pair("P@3", "a", "b").p_value == 1


def test_margins_and_clusters():
    clusters = {query: query[:-1] for query in TRUTH}
    found = rl.compare(HUMAN, RUNS, "P@3", machine=LABELS, clusters=clusters, margin=0.5)
    plain = rl.compare(HUMAN, RUNS, "P@3", machine=LABELS, margin=0.9)
    assert plain.pair("P@3", "weak", "strong").decision in ("better", "no worse", "equivalent")
    assert "Two one-sided prediction-powered t tests" in str(plain)
    assert found.pair("P@3", "weak", "strong").interval != plain.pair("P@3", "weak", "strong").interval
    assert "by cluster" in str(found)


def test_it_is_written_and_read_again(tmp_path):
    scores = rl.evaluate(HUMAN, RUNS["weak"], MEASURES, machine=LABELS)
    again = rl.Scores.from_json(scores.to_json())
    assert again.mean == scores.mean
    assert again.interval("P@3") == scores.interval("P@3")
    damaged = json.loads(scores.to_json())
    damaged["machine"]["values"]["P@3"][0] += 0.1
    with pytest.raises(rl.InputError, match=r"measures\[1\].mean"):
        rl.Scores.from_json(json.dumps(damaged))
    del damaged["machine"]["values"]["P@3"]
    with pytest.raises(rl.InputError, match=r"machine\.values lacks 'P@3'"):
        rl.Scores.from_json(json.dumps(damaged))
    found = rl.compare(HUMAN, RUNS, MEASURES, machine=LABELS)
    read = from_json(found.to_json())
    assert [*read.pairs] == [*found.pairs]
    assert read.result("P@3", "weak") == found.result("P@3", "weak")
    found.to_html(tmp_path / "report.html")
    compared = rl.compare_scores(
        {name: rl.evaluate(HUMAN, run, MEASURES, machine=LABELS) for name, run in RUNS.items()}
    )
    assert [*compared.pairs] == [*found.pairs]
    assert "prediction-powered t test" in str(found.methods())
    assert "PPI++" in found.methods().bibtex


def test_measures_can_be_added():
    scores = rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS).with_measures(["RR"])
    assert scores.mean["RR"] == rl.evaluate(HUMAN, RUNS["weak"], "RR", machine=LABELS).mean["RR"]


def test_too_few_human_judged_queries():
    nine, fifteen = ({q: HUMAN[q] for q in [*HUMAN][:n]} for n in (9, 15))
    with pytest.raises(rl.InputError, match=r"9 queries are judged by people; .* at least 10"):
        rl.evaluate(nine, RUNS["weak"], "P@3", machine=LABELS)
    with pytest.warns(rl.RankLensWarning, match="Only 15 queries are judged by people; below 20"):
        rl.evaluate(fifteen, RUNS["weak"], "P@3", machine=LABELS)


@pytest.mark.parametrize(
    ("machine", "measures", "message"),
    [
        (
            {q: d for q, d in LABELS.items() if q != "q003"},
            "P@3",
            "1 human-judged query has no machine labels, such as 'q003'",
        ),
        ({q: LABELS[q] for q in HUMAN}, "P@3", "no other queries than people have"),
        (LABELS, "NumRel", "only means can use .* leave out NumRel"),
        (LABELS, "gm_AP", "only means can use"),
    ],
)
def test_what_cannot_be_used_is_refused(machine, measures, message):
    with pytest.raises(ValueError, match=message):
        rl.evaluate(HUMAN, RUNS["weak"], measures, machine=machine)


def test_both_kinds_of_judgments_average_over_the_same_queries():
    with pytest.raises(rl.InputError, match='empty="skip" would average over different ones'):
        rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS, empty="skip")
    some = {q: docs for q, docs in RUNS["weak"].items() if q not in ("q001", "q100")}
    found = rl.evaluate(HUMAN, some, "P@3", machine=LABELS, missing="skip")
    assert (found.powered().human, found.powered().machine) == (24, 94)


def test_a_model_that_judged_another_pool_is_noticed():
    thin = {q: {d: g for d, g in docs.items() if d < "d3"} for q, docs in LABELS.items()}
    with pytest.warns(rl.RankLensWarning, match="let the model label the same pool"):
        rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=thin)


def test_what_needs_one_kind_of_judgments_is_refused():
    found = rl.compare(HUMAN, RUNS, "P@3", machine=LABELS)
    for call in (found.influence, found.sensitivity, found.probabilities):
        with pytest.raises(rl.InputError, match="compare without machine"):
            call()
    for options in ({"test": "wilcoxon"}, {"intervals": "simultaneous"}, {"by": dict.fromkeys(TRUTH, "x")}):
        with pytest.raises(rl.InputError, match="not available together with machine"):
            rl.compare(HUMAN, RUNS, "P@3", machine=LABELS, **options)
    scores = rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS)
    with pytest.raises(rl.InputError, match="history and gates rest on one kind"):
        Record.of(scores, "weak")
    with pytest.raises(rl.InputError, match="cannot be merged"):
        rl.Scores.concat([scores])
    with pytest.raises(rl.InputError, match="Only some systems have values by the labels"):
        rl.compare_scores({"a": scores, "b": rl.evaluate(HUMAN, RUNS["strong"], "P@3")})
    with pytest.raises(rl.InputError, match="rest on one kind of judgments"):
        rl.evaluate(HUMAN, RUNS["weak"], "P@3").powered()


def test_a_run_that_can_be_read_once():
    rows = [{"query": q, "doc": d, "score": s} for q, docs in RUNS["weak"].items() for d, s in docs.items()]
    once = rl.evaluate(HUMAN, iter([pl.DataFrame(rows)]), "P@3", machine=LABELS)
    assert once.mean == rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS).mean


def test_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, qrels in (("people", HUMAN), ("model", LABELS)):
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())
        )
    for name, run in RUNS.items():
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, docs in run.items() for d, s in docs.items())
        )
    assert (
        main(
            ["evaluate", "people.txt", "weak.txt", "--machine", "model.txt", "-m", "P@3", "-o", "scores.json"]
        )
        == 0
    )
    written = json.loads((tmp_path / "scores.json").read_text())["weak"]
    assert written["measures"][0]["mean"] == pytest.approx(
        rl.evaluate(HUMAN, RUNS["weak"], "P@3", machine=LABELS).mean["P@3"]
    )
    assert rl.read_scores(tmp_path / "scores.json")["weak"].interval("P@3").method == "ppi++"
    assert (
        main(["compare", "people.txt", "weak.txt", "strong.txt", "--machine", "model.txt", "-m", "P@3"]) == 0
    )
    assert "A model alone has labelled 95 more queries" in " ".join(capsys.readouterr().out.split())
    assert main(["evaluate", "people.txt", "weak.txt", "--machine", "people.txt", "-m", "P@3"]) == 2
    assert "adds nothing" in capsys.readouterr().err
